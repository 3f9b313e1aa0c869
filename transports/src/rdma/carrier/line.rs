//! Whose queue pair is connected next: for each peer one at a time, and in turn.

use crate::rdma::connected::ConnectionId;
use crate::secure::key::PublicKey;
use crate::station::Terms;
use std::collections::{BTreeMap, VecDeque};

/// So many queue pairs are connected at a time, each by a thread of the system's, which may take a second; and one more of a
/// peer that is known.
pub(super) const AT_A_TIME: usize = 4;

/// A queue pair that is to be connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Attempt {
    /// Whom it is for.
    pub(super) who: PublicKey,
    pub(super) id: ConnectionId,
    /// The number by which the peer knows it.
    pub(super) number: u64,
    /// The peer's end.
    pub(super) peer: Terms,
}

/// What became of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Made {
    Connected,
    Not,
}

/// Those that wait, and those that are being connected. When one of these is over, all others of its peer go behind those
/// that wait: so whoever waits does so for one of each other peer at most. Peers whose last one was connected are known, and
/// have a place that no others take, however many of those are nowhere. [RDMA-51]
#[derive(Debug)]
pub(super) struct Line {
    waiting: VecDeque<Attempt>,
    under_way: Vec<Attempt>,
    /// Those that are known, with when that was.
    known: BTreeMap<PublicKey, u64>,
    /// So many of them at most.
    known_max: usize,
    /// How often one was connected.
    connected: u64,
}

impl Line {
    /// Nobody waits. So many peers are known at most: as many as have a connection at a time.
    pub(super) fn new(known_max: u16) -> Self {
        Self {
            waiting: VecDeque::new(),
            under_way: Vec::new(),
            known: BTreeMap::new(),
            known_max: known_max.into(),
            connected: 0,
        }
    }

    pub(super) fn push(&mut self, attempt: Attempt) {
        self.waiting.push_back(attempt);
    }

    /// It is not to be connected any more. If it is being connected, that goes on.
    pub(super) fn forget(&mut self, id: ConnectionId) {
        self.waiting.retain(|attempt| attempt.id != id);
    }

    /// None of them is to be connected any more, nor told of again.
    pub(super) fn clear(&mut self) {
        self.waiting.clear();
        self.under_way.clear();
    }

    /// The next one whose turn it is, which is being connected from now on; `left` are that a device had which was closed.
    pub(super) fn begin(&mut self, left: usize) -> Option<Attempt> {
        let left = crate::planted!("rdma-line-forgets-left": left => 0);
        if left + self.under_way.len() > AT_A_TIME {
            return None;
        }
        let unknown = self.under_way.iter().filter(|attempt| !self.is_known(attempt.who)).count();
        let is_full = left + unknown >= AT_A_TIME;
        let is_next = |attempt: &Attempt| {
            let is_under_way = self.under_way.iter().any(|other| other.who == attempt.who);
            !is_under_way && (!is_full || self.is_known(attempt.who))
        };
        let at = self.waiting.iter().position(is_next)?;
        let next = self.waiting.remove(at)?;
        self.under_way.push(next);
        Some(next)
    }

    /// That is over.
    pub(super) fn end(&mut self, id: ConnectionId, made: Made) -> Option<Attempt> {
        let at = self.under_way.iter().position(|attempt| attempt.id == id)?;
        let over = self.under_way.swap_remove(at);
        match made {
            Made::Connected => self.know(over.who),
            Made::Not => _ = self.known.remove(&over.who),
        }
        if crate::planted!("rdma-line-unfair": true => false) {
            let is_other = |attempt: &Attempt| attempt.who != over.who;
            let (others, own): (Vec<_>, Vec<_>) = self.waiting.drain(..).partition(is_other);
            self.waiting.extend(others.into_iter().chain(own));
        }
        Some(over)
    }

    fn is_known(&self, who: PublicKey) -> bool {
        crate::planted!("rdma-line-knows-nobody": self.known.contains_key(&who) => false)
    }

    /// One that is new takes the place of the one that was connected longest ago, if there is no other.
    fn know(&mut self, who: PublicKey) {
        if self.known.len() >= self.known_max && !self.known.contains_key(&who) {
            let oldest = self.known.iter().min_by_key(|(_, since)| **since);
            if let Some(oldest) = oldest.map(|(oldest, _)| *oldest) {
                self.known.remove(&oldest);
            }
        }
        self.connected += 1;
        self.known.insert(who, self.connected);
    }
}

#[cfg(test)]
mod tests;
