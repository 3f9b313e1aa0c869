//! What happens in the network, and when.

use super::super::verbs::{Completion, Endpoint};
use crate::link::Time;
use std::cmp::Ordering;
use std::task::Waker;

/// What happens at its time.
#[derive(Debug)]
pub(super) enum Event {
    /// The device looks at the first send of a queue pair.
    Send(usize),
    /// A datagram arrives.
    Datagram(Datagram),
    /// A completion shows.
    Complete(usize, Completion),
    /// The system is done with a queue pair that nobody has any more.
    LetGo(usize),
    /// Somebody waits for that time.
    Wake(Waker),
}

#[derive(Debug)]
pub(super) struct Datagram {
    pub(super) from: Endpoint,
    pub(super) gid: [u8; 16],
    pub(super) qpn: u32,
    pub(super) qkey: u32,
    pub(super) bytes: Vec<u8>,
}

/// An event in the heap: by time, then in the order in which it was put there.
#[derive(Debug)]
pub(super) struct Timed(pub(super) Time, pub(super) u64, pub(super) Event);

impl PartialEq for Timed {
    fn eq(&self, other: &Self) -> bool {
        (self.0, self.1) == (other.0, other.1)
    }
}

impl Eq for Timed {}

impl PartialOrd for Timed {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Timed {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.0, self.1).cmp(&(other.0, other.1))
    }
}
