//! The streams of one connection, by number. Each node numbers those that it sends.

use super::excess::Excess;
use super::source::Allowance;
use crate::actor::Cut;
use crate::event::Undelivered;
use crate::net::outlet::Outlet;
use crate::net::remote::Fence;
use crate::net::transport::Order;
use crate::sync::{Arc, Mutex, planted};
use std::collections::{BTreeMap, BTreeSet};

/// Streams at most that go by one connection at a time. [ENV-20]
const GOING_MAX: usize = 1024;
/// Streams at most that come by one, and that go by it with those of whose end the other node may not have heard: a message
/// with another stream may overtake word of that. [ENV-20]
const COMING_MAX: usize = 2 * GOING_MAX;
/// Bytes that may be under way in one stream, and wait to be read, at most.
const WINDOW_BYTES_MAX: u64 = 4 << 20;
/// The same of all streams that come by one connection, as long as each may have the least.
const WINDOWS_BYTES: u64 = 64 << 20;
const WINDOW_BYTES_MIN: u64 = 64 << 10;

/// See the [module](self).
#[derive(Default)]
pub(in crate::net) struct Streams(Mutex<Table>, Excess);

#[derive(Default)]
struct Table {
    is_closed: bool,
    /// The number that was given last.
    last: u64,
    /// Those that go to the other node.
    going: BTreeMap<u64, Arc<Allowance>>,
    /// The last frames of those that went, of which the other node may not have all.
    ended: BTreeSet<u64>,
    /// Those that come from it.
    coming: BTreeMap<u64, Arc<Box<dyn Coming>>>,
}

/// What takes the items of a stream, whatever they are.
pub(super) trait Coming: Send + Sync {
    /// Takes an item.
    fn item(&self, bytes: &[u8], by: &Arc<Outlet>) -> Result<(), Refused>;
    /// Takes the end.
    fn end(&self, end: Result<(), Cut>);
}

/// Why an item is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// Nothing was granted for it.
    Overrun,
    /// It ends its stream.
    Cut(Cut),
}

impl Streams {
    /// A new stream to the other node, which has so many frames for certain.
    pub(super) fn depart(
        &self,
        delivered: impl FnOnce() -> u64,
    ) -> Result<(u64, Arc<Allowance>), Undelivered> {
        let mut table = self.0.lock();
        if table.is_closed {
            return Err(Undelivered::NodeDown);
        }
        // The other node would refuse it.
        let are_too_many = table.going.len() >= GOING_MAX || !table.has_room(delivered);
        if planted!("net-streams-leave-unbounded": are_too_many => false) {
            return Err(Undelivered::OverLimit);
        }
        table.last += 1;
        let (stream, allowance) = (table.last, Arc::new(Allowance::default()));
        table.going.insert(stream, allowance.clone());
        Ok((stream, allowance))
    }

    /// Forgets a stream to the other node, whose last frame had that number among all that were submitted; 0 for none.
    pub(super) fn forget(&self, stream: u64, last: u64) {
        let mut table = self.0.lock();
        table.going.remove(&stream);
        if last > 0 {
            table.ended.insert(last);
        }
    }

    /// Ends streams to the other node, which is not going to read the message that they were in, unless it does.
    pub(in crate::net) fn lose(&self, streams: &[u64]) {
        for stream in streams {
            let allowance = self.going(*stream);
            if let Some(allowance) = allowance.filter(|allowance| !allowance.has_begun()) {
                allowance.end(Cut::Abandoned);
            }
        }
    }

    /// Whether none of these streams to the other node is there any more.
    pub(super) fn are_over(&self, streams: &[u64]) -> bool {
        let table = self.0.lock();
        !streams.iter().any(|stream| table.going.contains_key(stream))
    }

    fn going(&self, stream: u64) -> Option<Arc<Allowance>> {
        self.0.lock().going.get(&stream).cloned()
    }

    /// Lets `fence` go when the streams are sent to which nothing is added any more.
    pub(in crate::net) fn fence(&self, fence: &Fence) {
        for allowance in self.0.lock().going.values() {
            allowance.fence(fence.clone());
        }
    }

    /// The other node reads a stream; `false` if that is over.
    pub(super) fn grant(&self, stream: u64, bytes: u64) -> bool {
        let allowance = self.going(stream);
        allowance.is_some_and(|allowance| {
            allowance.grant(bytes);
            true
        })
    }

    /// The other node does not read a stream any more.
    pub(super) fn left(&self, stream: u64) {
        if let Some(allowance) = self.going(stream) {
            allowance.end(Cut::Abandoned);
        }
    }

    /// Takes in a stream from the other node; returns what may be under way in it.
    pub(super) fn arrive(
        &self,
        stream: u64,
        sink: Arc<Box<dyn Coming>>,
    ) -> Result<u64, Undelivered> {
        let mut table = self.0.lock();
        if table.is_closed {
            return Err(Undelivered::NodeDown);
        }
        let are_too_many = table.coming.len() >= COMING_MAX;
        if planted!("net-streams-unbounded": are_too_many => false) || self.1.is_too_much() {
            return Err(Undelivered::OverLimit);
        }
        if table.coming.contains_key(&stream) {
            return Err(Undelivered::Malformed);
        }
        table.coming.insert(stream, sink);
        Ok(table.window())
    }

    /// What waits of the streams from the other node beyond their windows.
    pub(super) fn excess(&self) -> &Excess {
        &self.1
    }

    /// What may be under way in a stream from the other node.
    pub(super) fn window(&self) -> u64 {
        self.0.lock().window()
    }

    /// Forgets a stream from the other node; `false` if it was over.
    pub(super) fn leave(&self, stream: u64) -> bool {
        self.0.lock().coming.remove(&stream).is_some()
    }

    /// Takes an item; `false` if there was no grant for it, or too much is to be said.
    pub(super) fn item(&self, outlet: &Arc<Outlet>, stream: u64, bytes: &[u8]) -> bool {
        let sink = self.0.lock().coming.get(&stream).cloned();
        // Its reader has left, and the other node has not heard yet.
        let Some(sink) = sink else { return true };
        match sink.item(bytes, outlet) {
            Ok(()) => true,
            Err(Refused::Overrun) => false,
            Err(Refused::Cut(why)) => {
                self.end(stream, Err(why));
                super::say(outlet, Order::Free, super::LEFT, stream, &[])
            }
        }
    }

    /// Takes the end of a stream from the other node.
    pub(super) fn end(&self, stream: u64, end: Result<(), Cut>) {
        let sink = self.0.lock().coming.remove(&stream);
        if let Some(sink) = sink {
            sink.end(end);
        }
    }

    /// Ends all of them, with the connection.
    pub(in crate::net) fn close(&self) {
        let mut table = self.0.lock();
        table.is_closed = true;
        let going = std::mem::take(&mut table.going);
        let coming = std::mem::take(&mut table.coming);
        drop(table);
        for allowance in planted!("net-sources-outlive": going => BTreeMap::new()).into_values() {
            allowance.end(Cut::NodeDown);
        }
        for sink in coming.into_values() {
            sink.end(Err(Cut::NodeDown));
        }
    }
}

impl Table {
    /// Whether the other node takes one more stream, also if it has heard of no end but of those that it has for certain.
    fn has_room(&mut self, delivered: impl FnOnce() -> u64) -> bool {
        let others = COMING_MAX - self.going.len();
        if self.ended.len() >= others {
            self.ended = self.ended.split_off(&(delivered() + 1));
        }
        planted!("net-stream-overtakes-end": self.ended.len() < others => true)
    }

    fn window(&self) -> u64 {
        let each = WINDOWS_BYTES / (self.coming.len() as u64).max(1);
        each.clamp(WINDOW_BYTES_MIN, WINDOW_BYTES_MAX)
    }
}
