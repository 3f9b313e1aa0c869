//! Which worker of a pool a message goes to.

use super::Worker;
use crate::actor::traits::{Behavior, Protocol};
use crate::sync::Arc;
use crate::task::random::{below, nth, spread};
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Which worker of a [`Pool`](super::Pool) a message goes to.
pub struct Routing<A: Behavior>(Kind<A>);

/// Tells the key of a message.
type KeyOf<A> = Arc<Box<dyn Fn(&<A as Protocol>::Message) -> u64 + Send + Sync>>;

enum Kind<A: Behavior> {
    /// Where the next one goes.
    RoundRobin(usize),
    /// The seed, and how many numbers of it were drawn.
    Random(u64, u64),
    /// Where the search begins, so that equals take turns.
    LeastLoaded(usize),
    Hash(KeyOf<A>),
}

impl<A: Behavior> Routing<A> {
    /// To one after the other.
    #[must_use]
    pub const fn round_robin() -> Self {
        Self(Kind::RoundRobin(0))
    }

    /// To any, by a generator that makes the same choices for the same `seed` (SplitMix64:
    /// Steele, Lea and Flood 2014).
    #[must_use]
    pub const fn random(seed: u64) -> Self {
        Self(Kind::Random(seed, 0))
    }

    /// To the one with the fewest messages of this pool that it has not handled. Costs one more node in
    /// its mailbox for each message.
    #[must_use]
    pub const fn least_loaded() -> Self {
        Self(Kind::LeastLoaded(0))
    }

    /// All messages of one key to the same one, as long as it is there: in order, where one sender
    /// sends them. When the number of workers changes, the keys of those stay that stay themselves
    /// (rendezvous hashing, Thaler and Ravishankar 1998). O(n) in the number of workers.
    #[must_use]
    pub fn consistent_hash<K: Hash>(
        key: impl Fn(&A::Message) -> K + Send + Sync + 'static,
    ) -> Self {
        Self(Kind::Hash(Arc::new(Box::new(move |message| {
            // The same in every process: nothing is added to the keys.
            let mut hasher = DefaultHasher::new();
            key(message).hash(&mut hasher);
            hasher.finish()
        }))))
    }

    /// Where `message` goes, as an index of `workers`, of which there is one at least.
    pub(super) fn choose(&mut self, message: &A::Message, workers: &[Worker<A>]) -> usize {
        let count = workers.len();
        match &mut self.0 {
            Kind::RoundRobin(next) => {
                let chosen = *next % count;
                *next = chosen + 1;
                chosen
            }
            Kind::Random(seed, drawn) => {
                let chosen = below(nth(*seed, *drawn), count as u64);
                *drawn += 1;
                usize::try_from(chosen).expect("below a number that fits")
            }
            Kind::LeastLoaded(first) => {
                let turns = (0..count).map(|turn| (*first + turn) % count);
                let chosen = turns.min_by_key(|&index| workers[index].load.count()).unwrap_or(0);
                *first = chosen + 1;
                chosen
            }
            Kind::Hash(key) => {
                let key = key(message);
                let weight = |index: &usize| spread(key ^ spread(workers[*index].number));
                (0..count).max_by_key(weight).unwrap_or(0)
            }
        }
    }

    /// Notes that a message went to `worker`.
    pub(super) fn note(&self, worker: &Worker<A>) {
        if matches!(self.0, Kind::LeastLoaded(_)) {
            worker.load.add(worker.actor.cell());
        }
    }
}

/// The same choices from the same state on; a key is told by the same function.
impl<A: Behavior> Clone for Routing<A> {
    fn clone(&self) -> Self {
        Self(match &self.0 {
            Kind::RoundRobin(next) => Kind::RoundRobin(*next),
            Kind::Random(seed, drawn) => Kind::Random(*seed, *drawn),
            Kind::LeastLoaded(first) => Kind::LeastLoaded(*first),
            Kind::Hash(key) => Kind::Hash(key.clone()),
        })
    }
}

impl<A: Behavior> fmt::Debug for Routing<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Kind::RoundRobin(_) => "RoundRobin",
            Kind::Random(..) => "Random",
            Kind::LeastLoaded(_) => "LeastLoaded",
            Kind::Hash(_) => "ConsistentHash",
        })
    }
}
