//! The actor that knows who listens to what.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;
use greenroom::{Actor, handlers};

use super::client::{Client, Event};
use super::shared::Shared;
use super::store::matches;

type Listeners = BTreeMap<u64, Arc<Client>>;

/// Delivers messages to the clients that listen.
#[derive(Actor)]
pub(crate) struct Broker {
    shared: Arc<Shared>,
    channels: BTreeMap<Bytes, Listeners>,
    patterns: BTreeMap<Bytes, Listeners>,
    /// What each client listens to: channels, and patterns.
    clients: BTreeMap<u64, [BTreeSet<Bytes>; 2]>,
}

/// What to begin or end to listen to.
#[derive(Debug)]
pub(crate) struct Listening {
    pub(crate) names: Vec<Box<[u8]>>,
    pub(crate) patterns: bool,
    pub(crate) listen: bool,
}

#[handlers]
impl Broker {
    #[start]
    fn start(shared: Arc<Shared>) -> Self {
        let (channels, patterns, clients) = Default::default();
        Self { shared, channels, patterns, clients }
    }

    /// Begins or ends to listen.
    #[ask]
    fn listen(&mut self, client: Arc<Client>, to: Listening) {
        let listeners = if to.patterns { &mut self.patterns } else { &mut self.channels };
        let own = self.clients.entry(client.id).or_default();
        let mine = &mut own[usize::from(to.patterns)];
        for name in to.names.into_iter().map(Bytes::from) {
            if to.listen {
                mine.insert(name.clone());
                listeners.entry(name).or_default().insert(client.id, Arc::clone(&client));
            } else {
                mine.remove(&name);
                remove(listeners, &name, client.id);
            }
        }
        if own.iter().all(BTreeSet::is_empty) {
            self.clients.remove(&client.id);
        }
        self.show();
    }

    /// Takes a client that is gone out.
    #[tell]
    fn leave(&mut self, client: u64) {
        let Some([channels, patterns]) = self.clients.remove(&client) else { return };
        channels.iter().for_each(|name| remove(&mut self.channels, name, client));
        patterns.iter().for_each(|name| remove(&mut self.patterns, name, client));
        self.show();
    }

    /// Sends a message to all who listen; returns to how many.
    #[ask]
    fn publish(&mut self, channel: Bytes, message: Bytes) -> usize {
        let mut count = 0;
        for client in self.channels.get(&channel).into_iter().flat_map(BTreeMap::values) {
            let (channel, message) = (channel.clone(), message.clone());
            self.shared.send(client, Event::Message { pattern: None, channel, message });
            count += 1;
        }
        for (pattern, listeners) in &self.patterns {
            if !matches(pattern, &channel) {
                continue;
            }
            for client in listeners.values() {
                let (pattern, channel, message) =
                    (Some(pattern.clone()), channel.clone(), message.clone());
                self.shared.send(client, Event::Message { pattern, channel, message });
                count += 1;
            }
        }
        count
    }

    /// Returns the channels listened to.
    #[ask]
    fn channels(&self, pattern: Option<Box<[u8]>>) -> Vec<Bytes> {
        let wanted = |name: &&Bytes| pattern.as_ref().is_none_or(|pattern| matches(pattern, name));
        self.channels.keys().filter(wanted).cloned().collect()
    }

    /// Returns how many listen to each of these channels.
    #[ask]
    fn listeners(&self, names: Vec<Box<[u8]>>) -> Vec<(Box<[u8]>, usize)> {
        let count = |name: &[u8]| self.channels.get(name).map_or(0, BTreeMap::len);
        names.into_iter().map(|name| (name.clone(), count(&name))).collect()
    }

    /// Returns how many patterns are listened to.
    #[ask]
    fn patterns(&self) -> usize {
        self.patterns.len()
    }
}

impl Broker {
    /// Lets `INFO` see what is listened to.
    fn show(&self) {
        self.shared.channels.set(self.channels.len() as u64);
        self.shared.patterns.set(self.patterns.len() as u64);
    }
}

fn remove(listeners: &mut BTreeMap<Bytes, Listeners>, name: &[u8], client: u64) {
    if let Some(clients) = listeners.get_mut(name) {
        clients.remove(&client);
        if clients.is_empty() {
            listeners.remove(name);
        }
    }
}
