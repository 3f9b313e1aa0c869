//! Addresses to be asked who is there, in turn, each for as long as somebody wants that.
//!
//! Members of a cluster may name thousands: what is done for one takes time logarithmic in them.

use super::connecting::Attempt;
use std::collections::BTreeMap;
use std::net::SocketAddr;

/// See the [module](self).
#[derive(Default)]
pub(super) struct Meets {
    /// The first have their turn.
    turns: BTreeMap<u64, SocketAddr>,
    /// The turn of each, and how many want it.
    wanted: BTreeMap<SocketAddr, (u64, usize)>,
    /// The last turn that was given.
    last: u64,
    /// Those that nobody wants any more, and who may be asked still.
    left: Vec<SocketAddr>,
}

impl Meets {
    pub(super) fn len(&self) -> usize {
        self.turns.len()
    }

    pub(super) fn is_wanted(&self, at: SocketAddr) -> bool {
        self.wanted.contains_key(&at)
    }

    /// An attempt wants its addresses to be asked; whether one of them is new.
    pub(super) fn want(&mut self, attempt: &Attempt) -> bool {
        let mut is_new = false;
        for at in attempt.meets() {
            let next = self.last + 1;
            let (turn, count) = self.wanted.entry(*at).or_insert((next, 0));
            *count += 1;
            if *turn == next {
                self.last = next;
                self.turns.insert(next, *at);
                is_new = true;
            }
        }
        is_new
    }

    /// An attempt that wanted its addresses to be asked does so no more.
    pub(super) fn forgo(&mut self, attempt: &Attempt) {
        attempt.meets().iter().for_each(|at| self.forgo_at(*at));
    }

    /// One of those who wanted an address does so no more.
    pub(super) fn forgo_at(&mut self, at: SocketAddr) {
        let Some((turn, count)) = self.wanted.get_mut(&at) else { return };
        *count -= 1;
        if *count == 0 {
            self.turns.remove(turn);
            self.wanted.remove(&at);
            self.left.push(at);
        }
    }

    /// The addresses that have their turn, so many at a time.
    pub(super) fn first(&self, at_once: usize) -> Vec<SocketAddr> {
        self.turns.values().copied().take(at_once).collect()
    }

    /// Those who had their turn have another one behind all others.
    pub(super) fn rotate(&mut self, at_once: usize) {
        for at in self.first(at_once) {
            let Some((turn, _)) = self.wanted.get_mut(&at) else { continue };
            self.turns.remove(turn);
            self.last += 1;
            *turn = self.last;
            self.turns.insert(self.last, at);
        }
    }

    /// Whether there may be some to be asked no more.
    pub(super) fn has_left(&self) -> bool {
        !self.left.is_empty()
    }

    /// Those to be asked no more.
    pub(super) fn take_left(&mut self) -> Vec<SocketAddr> {
        let mut left = std::mem::take(&mut self.left);
        left.retain(|at| !self.is_wanted(*at));
        left
    }
}
