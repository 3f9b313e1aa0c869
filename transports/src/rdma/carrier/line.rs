//! Whose queue pair is connected next: for each peer one at a time, and in turn.

use crate::rdma::connected::ConnectionId;
use crate::secure::key::PublicKey;
use crate::station::Terms;
use std::collections::VecDeque;

/// So many queue pairs are connected at a time, each by a thread of the system's, which may take a second.
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

/// Those that wait, and those that are being connected. When one of these is over, all others of its peer go behind those
/// that wait: so whoever waits does so for one of each other peer at most. [RDMA-51]
#[derive(Debug, Default)]
pub(super) struct Line {
    waiting: VecDeque<Attempt>,
    under_way: Vec<Attempt>,
}

impl Line {
    pub(super) fn push(&mut self, attempt: Attempt) {
        self.waiting.push_back(attempt);
    }

    /// It is not to be connected any more. If it is being connected, that goes on.
    pub(super) fn forget(&mut self, id: ConnectionId) {
        self.waiting.retain(|attempt| attempt.id != id);
    }

    /// The next one whose turn it is, which is being connected from now on; `left` are that a device had which was closed.
    pub(super) fn begin(&mut self, left: usize) -> Option<Attempt> {
        if crate::planted!("rdma-line-forgets-left": left => 0) + self.under_way.len() >= AT_A_TIME {
            return None;
        }
        let is_under_way = |who| self.under_way.iter().any(|attempt| attempt.who == who);
        let at = self.waiting.iter().position(|attempt| !is_under_way(attempt.who))?;
        let next = self.waiting.remove(at)?;
        self.under_way.push(next);
        Some(next)
    }

    /// That is over, whatever became of it.
    pub(super) fn end(&mut self, id: ConnectionId) -> Option<Attempt> {
        let at = self.under_way.iter().position(|attempt| attempt.id == id)?;
        let over = self.under_way.swap_remove(at);
        if crate::planted!("rdma-line-unfair": true => false) {
            let is_other = |attempt: &Attempt| attempt.who != over.who;
            let (others, own): (Vec<_>, Vec<_>) = self.waiting.drain(..).partition(is_other);
            self.waiting.extend(others.into_iter().chain(own));
        }
        Some(over)
    }
}

#[cfg(test)]
mod tests;
