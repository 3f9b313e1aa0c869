//! Messages from channels that come in the middle of a reply that is not to be parted, as to `EXEC`.
//!
//! A client that listened before expects them, and they go ahead of the reply. Those of what it began to listen to
//! within the reply go behind it, if it still listens then: before, it would not know what they are.

use std::collections::BTreeMap;

use super::client::Event;
use super::resp::Proto;

/// Messages that wait for the end of a reply.
#[derive(Debug, Default)]
pub(super) struct Aside {
    ahead: Vec<u8>,
    behind: Vec<Event>,
    /// The channels, and the patterns, that the client began to listen to within the reply; whether it still does.
    begun: [BTreeMap<Box<[u8]>, bool>; 2],
}

impl Aside {
    /// Notes that the client, within the reply, begins or ends to listen.
    pub(super) fn listen(&mut self, names: &[Box<[u8]>], patterns: bool, listen: bool) {
        let begun = &mut self.begun[usize::from(patterns)];
        for name in names {
            if listen {
                begun.insert(name.clone(), true);
            } else if let Some(listens) = begun.get_mut(name) {
                *listens = false;
            }
        }
    }

    /// Adds a message; `proto` is how those ahead of the reply are written.
    pub(super) fn push(&mut self, event: &Event, proto: Proto) {
        match self.listens(event) {
            Some(_) => self.behind.push(event.clone()),
            None => event.write(&mut self.ahead, proto),
        }
    }

    /// Puts what came where it belongs, now that the reply, which begins at `from`, is whole. `proto` is how messages
    /// behind it are written.
    pub(super) fn put(&mut self, from: usize, proto: Proto, out: &mut Vec<u8>) {
        out.splice(from..from, std::mem::take(&mut self.ahead));
        let behind = std::mem::take(&mut self.behind);
        let heard = behind.iter().filter(|event| self.listens(event) == Some(true));
        heard.for_each(|event| event.write(out, proto));
        self.begun.iter_mut().for_each(BTreeMap::clear);
    }

    /// Returns whether the client still listens to what it hears this by, if it began to within the reply.
    fn listens(&self, event: &Event) -> Option<bool> {
        let Event::Message { pattern, channel, .. } = event else { return None };
        let begun = &self.begun[usize::from(pattern.is_some())];
        begun.get(&pattern.as_ref().unwrap_or(channel)[..]).copied()
    }
}
