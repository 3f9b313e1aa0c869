//! What happened that bears on security: a ring of the last events, and counters of all.
//!
//! Nothing is written per packet. A rejection moves its counter, and so does what the kernel does not take; into the ring
//! it comes at most once a second for each reason, with how many there have been. So does what happens with a peer, for each
//! kind of it: one that moves or comes back without end leaves room for the others. Recording neither allocates nor waits.

use super::key::PublicKey;
use super::reject::Reject;
use crate::link::{CloseReason, End, Time};
use std::net::SocketAddr;
use std::time::Duration;

/// Why the kernel did not take a datagram. It is lost, as any may be on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum SendFailure {
    /// It is longer than the path takes, as probes of the path's length may be.
    #[error("too long for the path")]
    TooBig,
    /// There is no network, no way to the address, or nobody there.
    #[error("no way to the address")]
    Unreachable,
    /// The kernel says no, and firewalls do.
    #[error("not permitted")]
    Denied,
    /// Anything else that the kernel says.
    #[error("refused by the kernel")]
    Other,
}

impl SendFailure {
    /// Every reason, in the order of the counters.
    pub const ALL: [Self; 4] = [Self::TooBig, Self::Unreachable, Self::Denied, Self::Other];
}

/// One thing that happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum What {
    /// A handshake with a node began an association.
    Associated {
        /// The node.
        peer: PublicKey,
    },
    /// An association got fresh keys.
    Rekeyed {
        /// The node.
        peer: PublicKey,
    },
    /// A first contact taught us the key of a node that knows the cluster key.
    Learned {
        /// The node.
        peer: PublicKey,
    },
    /// A node has heard of this one at a later time than this one's clock shows, which was set back: handshakes with it
    /// go on from the time that it knows.
    SetBack {
        /// The node.
        peer: PublicKey,
    },
    /// A node proved that it is now at the event's address.
    Moved {
        /// The node.
        peer: PublicKey,
    },
    /// Two programs run with one key: one of them was heard of before the other, and again after it. [UDP-64]
    SharedKey {
        /// The node that both say they are.
        peer: PublicKey,
        /// Where the other one is; this one is at the event's address.
        other: SocketAddr,
    },
    /// An association ended.
    Ended {
        /// The node.
        peer: PublicKey,
    },
    /// A link ended otherwise than in order.
    LinkEnded {
        /// The node at its other end.
        peer: PublicKey,
        /// Why.
        end: End,
    },
    /// The node began to ask for cookies, or ceased to.
    Load {
        /// Whether it asks now.
        asking: bool,
    },
    /// So many packets under one key did not open that somebody must be forging.
    Forgeries {
        /// The node whose association it is.
        peer: PublicKey,
    },
    /// Datagrams were not sent, as the kernel did not take them.
    SendFailed {
        /// Why.
        why: SendFailure,
        /// How many for this reason since the start.
        count: u64,
    },
    /// Datagrams were dropped.
    Rejected {
        /// Why.
        reason: Reject,
        /// How many for this reason since the start.
        count: u64,
    },
}

impl What {
    /// Whether it is the same, whatever a peer may have made up of it.
    fn is_as(&self, other: &Self) -> bool {
        match (*self, *other) {
            (Self::LinkEnded { peer, end }, Self::LinkEnded { peer: other, end: by }) => {
                peer == other && end.index() == by.index()
            }
            (one, other) => one == other,
        }
    }
}

/// An entry of the ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// When, by the time that was passed in.
    pub at: Time,
    /// From or to where, if an address has to do with it.
    pub address: Option<SocketAddr>,
    /// What.
    pub what: What,
}

/// The ring and the counters.
#[derive(Debug)]
pub struct Audit {
    ring: Box<[Option<Entry>]>,
    written: u64,
    associated: u64,
    ended: u64,
    rejected: [u64; Reject::ALL.len()],
    noted: [Option<Time>; Reject::ALL.len()],
    unsent: u64,
    failed: [u64; SendFailure::ALL.len()],
    /// When each failure was noted last.
    noted_failed: [Option<Time>; SendFailure::ALL.len()],
    shared_keys: u64,
    noted_shared: Option<Time>,
    link_ends: [u64; End::COUNT],
}

/// How often at most a reason comes into the ring, or the same of one peer.
const NOTE_INTERVAL: Duration = Duration::from_secs(1);

impl Audit {
    /// A ring with room for `capacity` entries, at least one.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        Self {
            ring: vec![None; capacity.max(1)].into_boxed_slice(),
            written: 0,
            associated: 0,
            ended: 0,
            rejected: [0; Reject::ALL.len()],
            noted: [None; Reject::ALL.len()],
            unsent: 0,
            failed: [0; SendFailure::ALL.len()],
            noted_failed: [None; SendFailure::ALL.len()],
            shared_keys: 0,
            noted_shared: None,
            link_ends: [0; End::COUNT],
        }
    }

    /// Records an event, unless the same was recorded within the last second. Associations are counted all the same.
    pub fn record(&mut self, at: Time, address: Option<SocketAddr>, what: What) {
        match what {
            What::Associated { .. } => self.associated += 1,
            What::Ended { .. } => self.ended += 1,
            _ => {}
        }
        let is_late = |entry: &&Entry| at.since(entry.at) < NOTE_INTERVAL;
        if self.entries().rev().take_while(is_late).any(|entry| entry.what.is_as(&what)) {
            return;
        }
        let place = (self.written % self.ring.len() as u64) as usize;
        self.ring[place] = Some(Entry { at, address, what });
        self.written += 1;
    }

    /// Counts a rejection, and notes it if none for its reason was noted for a second.
    pub fn reject(&mut self, at: Time, from: SocketAddr, reason: Reject) {
        let index = reason as usize;
        self.rejected[index] += 1;
        if self.noted[index].is_none_or(|noted| at.since(noted) >= NOTE_INTERVAL) {
            self.noted[index] = Some(at);
            let count = self.rejected[index];
            self.record(at, Some(from), What::Rejected { reason, count });
        }
    }

    /// Counts that one key was seen in two places, and notes it if none was noted for a second.
    pub(super) fn share(&mut self, at: Time, [from, other]: [SocketAddr; 2], peer: PublicKey) {
        self.shared_keys += 1;
        if self.noted_shared.is_none_or(|noted| at.since(noted) >= NOTE_INTERVAL) {
            self.noted_shared = Some(at);
            self.record(at, Some(from), What::SharedKey { peer, other });
        }
    }

    /// How often a program was heard of again after another one with its key.
    #[must_use]
    pub fn shared_keys(&self) -> u64 {
        self.shared_keys
    }

    /// Counts that a link ended, and notes it unless that was in order: the end of its association is noted then.
    pub(super) fn end_link(
        &mut self,
        at: Time,
        address: Option<SocketAddr>,
        peer: PublicKey,
        end: End,
    ) {
        self.link_ends[end.index()] += 1;
        let shutdown = CloseReason::Shutdown;
        if end != End::Closed(shutdown) && end != End::ClosedByPeer(shutdown) {
            self.record(at, address, What::LinkEnded { peer, end });
        }
    }

    /// How many links have ended so. Reasons that this version does not know count together.
    #[must_use]
    pub fn link_ended(&self, end: End) -> u64 {
        self.link_ends[end.index()]
    }

    /// How many datagrams were dropped for a reason.
    #[must_use]
    pub fn rejected(&self, reason: Reject) -> u64 {
        self.rejected[reason as usize]
    }

    /// How many datagrams were dropped in all.
    #[must_use]
    pub fn rejected_in_all(&self) -> u64 {
        self.rejected.iter().sum()
    }

    /// Counts datagrams that the kernel did not take, and notes it if that was not noted for a second.
    pub(super) fn fail_to_send(&mut self, at: Time, to: SocketAddr, why: SendFailure) {
        let index = why as usize;
        self.failed[index] += 1;
        if self.noted_failed[index].is_none_or(|noted| at.since(noted) >= NOTE_INTERVAL) {
            self.noted_failed[index] = Some(at);
            let count = self.failed[index];
            self.record(at, Some(to), What::SendFailed { why, count });
        }
    }

    /// Counts a datagram that was never sent.
    pub(super) fn drop_unsent(&mut self) {
        self.unsent += 1;
    }

    /// How many datagrams of handshakes were dropped because too many waited to be sent.
    #[must_use]
    pub fn unsent(&self) -> u64 {
        self.unsent
    }

    /// How many datagrams the kernel did not take for a reason.
    #[must_use]
    pub fn send_failed(&self, why: SendFailure) -> u64 {
        self.failed[why as usize]
    }

    /// How many associations have begun, each of them.
    #[must_use]
    pub fn associated(&self) -> u64 {
        self.associated
    }

    /// How many associations have ended, each of them.
    #[must_use]
    pub fn ended(&self) -> u64 {
        self.ended
    }

    /// How many events were recorded, those that the ring has lost included.
    #[must_use]
    pub fn written(&self) -> u64 {
        self.written
    }

    /// The entries that the ring still has, oldest first.
    #[must_use]
    pub fn entries(&self) -> impl DoubleEndedIterator<Item = &Entry> {
        let start = (self.written % self.ring.len() as u64) as usize;
        let (newer, older) = self.ring.split_at(start);
        older.iter().chain(newer).flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from() -> SocketAddr {
        "192.0.2.1:9".parse().unwrap()
    }

    #[test]
    fn the_ring_keeps_the_last_and_the_counters_all() {
        let mut audit = Audit::new(4);
        for second in 0..10 {
            audit.reject(Time::from_nanos(second * 1_000_000_000), from(), Reject::Forged);
        }
        let counts: Vec<_> = audit.entries().map(|entry| entry.what).collect();
        let of = |count| What::Rejected { reason: Reject::Forged, count };
        assert_eq!(counts, [of(7), of(8), of(9), of(10)]);
        assert_eq!((audit.rejected(Reject::Forged), audit.written()), (10, 10));
    }

    #[test]
    fn a_flood_is_noted_once_a_second() {
        let mut audit = Audit::new(64);
        for micros in 0..3_000 {
            audit.reject(Time::from_nanos(micros * 1_000_000), from(), Reject::Mac1);
        }
        assert_eq!(audit.rejected(Reject::Mac1), 3_000);
        assert_eq!(audit.rejected_in_all(), 3_000);
        assert_eq!(audit.entries().count(), 3);
    }

    #[test]
    fn one_peer_does_not_take_the_place_of_the_others() {
        let mut audit = Audit::new(16);
        let [one, peer] = [1, 2].map(|byte| PublicKey([byte; 32]));
        audit.record(Time::default(), Some(from()), What::Associated { peer });
        for millis in 0..3_000 {
            let at = Time::from_nanos(millis * 1_000_000);
            audit.record(at, Some(from()), What::Associated { peer: one });
            audit.record(at, Some(from()), What::Moved { peer: one });
            audit.record(at, Some(from()), What::Ended { peer: one });
        }
        assert_eq!(audit.written(), 1 + 3 * 3);
        let first = audit.entries().next().map(|entry| entry.what);
        assert_eq!(first, Some(What::Associated { peer }));
        assert_eq!((audit.associated(), audit.ended()), (1 + 3_000, 3_000));
    }

    #[test]
    fn a_peer_that_makes_up_reasons_does_not_take_the_place_of_the_others() {
        let mut audit = Audit::new(16);
        let peer = PublicKey([1; 32]);
        for millis in 0..1_000 {
            let end = End::ClosedByPeer(CloseReason::Other(1_000 + millis));
            audit.end_link(Time::from_nanos(millis * 1_000_000), Some(from()), peer, end);
            let in_order = End::ClosedByPeer(CloseReason::Shutdown);
            audit.end_link(Time::from_nanos(millis * 1_000_000), Some(from()), peer, in_order);
        }
        assert_eq!(audit.written(), 1);
        assert_eq!(audit.link_ended(End::ClosedByPeer(CloseReason::Other(99))), 1_000);
    }

    #[test]
    fn every_reason_has_a_counter_of_its_own() {
        let mut audit = Audit::new(1);
        for reason in Reject::ALL {
            audit.reject(Time::default(), from(), reason);
        }
        assert!(Reject::ALL.iter().all(|&reason| audit.rejected(reason) == 1));
    }
}
