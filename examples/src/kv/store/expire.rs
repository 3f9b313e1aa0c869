//! Takes out keys that have expired and that nobody asks for.

use super::Shard;
use super::db::{SEGMENTS, hash};

impl Shard {
    /// Looks at up to about `budget` keys, going on where the last call ended; returns how many were taken out.
    ///
    /// Costs nothing while no key has an expiry.
    pub(crate) fn sweep(&mut self, budget: usize) -> usize {
        let mut left = budget;
        let mut taken = 0;
        for _ in 0..self.dbs.len() * SEGMENTS {
            if left == 0 {
                break;
            }
            let (db, segment) = (self.swept / SEGMENTS, self.swept % SEGMENTS);
            if self.dbs[db].volatile() == 0 {
                // Nothing can have expired in this database: on to the next.
                self.swept = (db + 1) % self.dbs.len() * SEGMENTS;
                left -= 1;
                continue;
            }
            self.swept = (self.swept + 1) % (self.dbs.len() * SEGMENTS);
            let mut seen = 1;
            let mut dead: Vec<Box<[u8]>> = Vec::new();
            for entry in self.dbs[db].segment(segment) {
                seen += 1;
                if entry.expires <= self.now {
                    dead.push(entry.key.clone());
                }
            }
            taken += dead.len();
            for key in dead {
                self.expire(db, hash(&key), &key);
            }
            left = left.saturating_sub(seen);
        }
        taken
    }
}
