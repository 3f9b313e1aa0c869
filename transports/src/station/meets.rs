//! Addresses to be asked who is there, in turn, each for as long as somebody wants that.
//!
//! Members of a cluster may name thousands: what is done for one takes time logarithmic in them, and none of them holds
//! up those that the owner gives, which wait in a line of their own. [UDP-79]

use super::connecting::{Attempt, By};
use std::collections::BTreeMap;
use std::net::SocketAddr;

/// See the [module](self).
#[derive(Default)]
pub(super) struct Meets {
    /// Those that the owner wants, and those that only others do. The first of each have their turn.
    lines: [BTreeMap<u64, SocketAddr>; 2],
    wanted: BTreeMap<SocketAddr, Wanted>,
    /// The last turn that was given.
    last: u64,
    /// Whether one has left its line, since the first ones were looked at.
    has_left: bool,
}

#[derive(Default)]
struct Wanted {
    turn: u64,
    /// How many want it of each [`By`].
    count: [usize; 2],
}

impl Wanted {
    fn line(&self) -> Option<usize> {
        let first = self.count.iter().position(|count| *count > 0)?;
        Some(crate::planted!("meets-in-one-line": first => By::Others as usize))
    }
}

impl Meets {
    pub(super) fn len(&self) -> usize {
        self.wanted.len()
    }

    /// An attempt wants its addresses to be asked; whether one of them is new in its line.
    pub(super) fn want(&mut self, attempt: &Attempt) -> bool {
        let by = attempt.by as usize;
        let enter = |is_new, at: &SocketAddr| self.change(*at, |count| count[by] += 1) || is_new;
        attempt.meets().iter().fold(false, enter)
    }

    /// An attempt that wanted its addresses to be asked does so no more.
    pub(super) fn forgo(&mut self, attempt: &Attempt) {
        attempt.meets().iter().for_each(|at| self.forgo_at(*at, attempt.by));
    }

    /// One of those who wanted an address does so no more.
    pub(super) fn forgo_at(&mut self, at: SocketAddr, by: By) {
        let by = by as usize;
        self.change(at, |count| count[by] = count[by].saturating_sub(1));
    }

    /// Changes how many want an address; whether it is behind all others of a line now.
    fn change(&mut self, at: SocketAddr, how: impl FnOnce(&mut [usize; 2])) -> bool {
        let wanted = self.wanted.entry(at).or_default();
        let before = wanted.line();
        how(&mut wanted.count);
        let after = wanted.line();
        if before != after {
            if let Some(line) = before {
                self.lines[line].remove(&wanted.turn);
                self.has_left = true;
            }
            if let Some(line) = after {
                self.last += 1;
                wanted.turn = self.last;
                self.lines[line].insert(self.last, at);
            }
        }
        if after.is_none() {
            self.wanted.remove(&at);
        }
        before != after && after.is_some()
    }

    /// How many of each line have their turn, so many in all: half of them, or more where the other line needs fewer.
    fn shares(&self, at_once: usize) -> [usize; 2] {
        let [owners, others] = [0, 1].map(|line| self.lines[line].len());
        let owners = owners.min(at_once.saturating_sub(others).max(at_once.div_ceil(2)));
        [owners, others.min(at_once - owners)]
    }

    /// The addresses that have their turn, so many at a time.
    pub(super) fn first(&self, at_once: usize) -> Vec<SocketAddr> {
        let shares = self.lines.iter().zip(self.shares(at_once));
        shares.flat_map(|(line, share)| line.values().copied().take(share)).collect()
    }

    /// Those who had their turn have another one behind all others of their line, where some wait in it.
    pub(super) fn rotate(&mut self, at_once: usize) {
        let shares = self.shares(at_once);
        let Self { lines, wanted, last, .. } = self;
        for (line, share) in lines.iter_mut().zip(shares) {
            if line.len() <= share {
                continue;
            }
            for _ in 0..share {
                let Some((_, at)) = line.pop_first() else { break };
                *last += 1;
                wanted.entry(at).or_default().turn = *last;
                line.insert(*last, at);
            }
        }
    }

    /// Whether there may be some to be asked no more.
    pub(super) fn has_left(&self) -> bool {
        self.has_left
    }

    /// The first ones are looked at.
    pub(super) fn looked_at(&mut self) {
        self.has_left = false;
    }
}
