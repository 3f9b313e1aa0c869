//! A queue pair, as its device has it.

use super::super::verbs::{Endpoint, QueuePairConfig, QueuePairState, SendRing, Timing, WorkId};
use super::handles::SimSlot;
use crate::link::Time;
use std::collections::VecDeque;
use std::ops::Range;

/// What is sent.
#[derive(Debug)]
pub(super) enum Payload {
    Inline(Vec<u8>),
    Slot(Range<usize>),
}

/// Whom a datagram is for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Target {
    pub(super) gid: [u8; 16],
    pub(super) qpn: u32,
    pub(super) qkey: u32,
}

/// One send that was pushed.
#[derive(Debug)]
pub(super) struct Send {
    pub(super) work: WorkId,
    pub(super) payload: Payload,
    pub(super) target: Option<Target>,
    pub(super) signalled: bool,
    /// When the device looks at it, once it has been rung.
    pub(super) due: Time,
}

#[derive(Debug)]
pub(super) enum Kind {
    Connected { peer: Option<Endpoint>, timing: Timing },
    Datagram { qkey: u32 },
}

#[derive(Debug)]
pub(super) struct Pair {
    pub(super) host: usize,
    /// Of its port, when the device was opened.
    pub(super) gid: [u8; 16],
    pub(super) qpn: u32,
    /// Of its port, too.
    pub(super) mtu_bytes: u16,
    pub(super) kind: Kind,
    pub(super) config: QueuePairConfig,
    pub(super) state: QueuePairState,
    pub(super) completions: usize,
    pub(super) receives: usize,
    pub(super) slots: SendRing<SimSlot>,
    /// Pushed, and not yet rung.
    pub(super) waiting: VecDeque<Send>,
    /// The device's, oldest first.
    pub(super) outgoing: VecDeque<Send>,
    /// The last time at which the device looks at one of its sends.
    pub(super) last_due: Time,
    /// The last time at which a completion of it shows.
    pub(super) last_shown: Time,
    /// Until when nothing of it moves, because the peer is not ready or does not answer.
    pub(super) blocked_until: Time,
    /// Until when the system looks for its peer.
    pub(super) searched_until: Time,
    /// How often the first send was tried: while the peer was not ready, and without an answer.
    pub(super) tries: [u8; 2],
}

impl Pair {
    pub(super) fn is_datagram(&self) -> bool {
        matches!(self.kind, Kind::Datagram { .. })
    }

    pub(super) fn is_connected_to(&self, other: &Endpoint) -> bool {
        let Kind::Connected { peer: Some(peer), .. } = &self.kind else { return false };
        // A peer that counts from another packet is not heard.
        (peer.gid, peer.qpn, peer.psn) == (other.gid, other.qpn, other.psn)
    }
}
