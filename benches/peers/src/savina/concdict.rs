//! Concurrent dictionary: 20 workers read and write the entries of one dictionary.

use super::random::{Random, mix};
use crate::sizes::share;
use std::collections::{BTreeMap, BTreeSet};

/// How many workers there are.
pub const WORKERS: u64 = 20;
/// How many of a hundred requests are writes.
const WRITES_PERCENT: u64 = 10;
/// Keys lie below this.
const KEYS: u64 = 1 << 19;

/// What a worker wants from the dictionary.
#[derive(Clone, Copy, Debug)]
pub enum Request {
    /// The value of a key.
    Read(u64),
    /// The key gets its value, the only one that it can have.
    Write(u64),
}

impl Request {
    /// Whether a dictionary may answer so.
    #[must_use]
    pub fn allows(self, answer: u64) -> bool {
        match self {
            Self::Read(key) => answer == 0 || answer == value_of(key),
            Self::Write(key) => answer == value_of(key),
        }
    }
}

const fn value_of(key: u64) -> u64 {
    mix(key) | 1
}

/// The requests of one worker, one after the other.
#[derive(Debug)]
pub struct Requests {
    random: Random,
    left: u64,
}

impl Requests {
    /// Those of that worker when all workers have `n` together.
    #[must_use]
    pub const fn of(worker: u64, n: u64) -> Self {
        Self { random: Random::new(worker), left: share(n, WORKERS, worker) }
    }
}

impl Iterator for Requests {
    type Item = Request;

    fn next(&mut self) -> Option<Request> {
        self.left = self.left.checked_sub(1)?;
        let is_write = self.random.below(100) < WRITES_PERCENT;
        let key = self.random.below(KEYS);
        Some(if is_write { Request::Write(key) } else { Request::Read(key) })
    }
}

/// What the dictionary's actor keeps.
#[derive(Debug, Default)]
pub struct Dictionary {
    values: BTreeMap<u64, u64>,
    answered: u64,
}

impl Dictionary {
    /// Does what the request says; the answer is the value of its key, or 0.
    pub fn answer(&mut self, request: Request) -> u64 {
        self.answered += 1;
        match request {
            Request::Read(key) => self.values.get(&key).copied().unwrap_or(0),
            Request::Write(key) => *self.values.entry(key).or_insert_with(|| value_of(key)),
        }
    }

    /// How many requests were answered, and how many keys are written.
    #[must_use]
    pub fn contents(&self) -> (u64, usize) {
        (self.answered, self.values.len())
    }
}

/// What the contents have to be after `n` requests.
#[must_use]
pub fn contents(n: u64) -> (u64, usize) {
    let requests = (0..WORKERS).flat_map(|worker| Requests::of(worker, n));
    let written = requests.filter_map(|request| match request {
        Request::Read(_) => None,
        Request::Write(key) => Some(key),
    });
    (n, written.collect::<BTreeSet<_>>().len())
}
