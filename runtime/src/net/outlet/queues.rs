//! Proxies and streams that wait for room, in queues by the length of what they have to send. [ENV-24]
//!
//! Whoever was served longest ago is first, and until it is served nobody with a frame of about that length is: or one with
//! much to send would be there before all others whenever there is room. Only the first of each queue is woken. When it
//! has sent its frame it is behind all others, and wakes the next one.
//!
//! Invariants:
//! 1. Whoever was woken comes again, or leaves. It keeps its place until then.
//! 2. The first of a queue was woken, or was refused by the link, which tells of room.

use super::backlog::{LINES_COUNT, line_by};
use crate::sync::planted;
use std::collections::BTreeMap;
use std::task::Waker;

/// See the [module](self).
#[derive(Default)]
pub(super) struct Queues {
    /// By when each was served last, and whose frames they are. Who was woken has no waker.
    queues: [BTreeMap<Key, Option<Waker>>; LINES_COUNT],
}

/// How many frames had been submitted when one was served last, and its order.
type Key = (u64, u64);

/// The place of somebody who has a frame to send.
pub(super) struct Place {
    queue: usize,
    key: Key,
    /// Whether it may ask for room.
    pub(super) is_first: bool,
}

impl Queues {
    /// Somebody comes, perhaps not for the first time, to send a frame of that length, when so many were submitted. `served`
    /// says how many had been when it was served last; of those that never were, who comes first is first.
    pub(super) fn come(
        &mut self,
        served: &mut u64,
        order: u64,
        len: usize,
        submitted: u64,
    ) -> Place {
        if *served == 0 {
            *served = submitted.max(1);
        }
        let (queue, key) = (line_by(len), (*served, order));
        let waiting = &mut self.queues[queue];
        waiting.remove(&key);
        let is_first = waiting.first_key_value().is_none_or(|(first, _)| key < *first);
        Place { queue, key, is_first: planted!("net-turn-ignored": is_first => true) }
    }

    /// It waits, unless it has no waker.
    pub(super) fn wait(&mut self, place: &Place, waker: Option<&Waker>) {
        if let Some(waker) = waker {
            self.queues[place.queue].insert(place.key, Some(waker.clone()));
        }
    }

    /// It does not wait any more; returns whose turn it is, to be woken.
    pub(super) fn pass(&mut self, place: &Place) -> Option<Waker> {
        let next = planted!("net-turn-kept": true => false);
        if next { first_of(&mut self.queues[place.queue]) } else { None }
    }

    /// There is room: returns whose turns it is.
    pub(super) fn call(&mut self) -> Vec<Waker> {
        self.queues.iter_mut().filter_map(first_of).collect()
    }

    /// Somebody who was served last then does not wait any more; returns whose turn it is.
    pub(super) fn leave(&mut self, served: u64, order: u64) -> Option<Waker> {
        let key = (served, order);
        let queue = self.queues.iter_mut().find(|queue| queue.contains_key(&key))?;
        let was_first = queue.first_key_value().is_some_and(|(first, _)| *first == key);
        queue.remove(&key);
        if was_first { first_of(queue) } else { None }
    }

    /// Nobody waits any more; returns all who did.
    pub(super) fn end(&mut self) -> Vec<Waker> {
        let queues = std::mem::take(&mut self.queues);
        queues.into_iter().flat_map(BTreeMap::into_values).flatten().collect()
    }
}

/// The first of a queue, unless it was woken before.
fn first_of(queue: &mut BTreeMap<Key, Option<Waker>>) -> Option<Waker> {
    queue.first_entry()?.get_mut().take()
}

#[cfg(test)]
mod tests;
