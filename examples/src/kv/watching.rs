//! Which shards know that a client watches keys, as its session sees it.
//!
//! A session is ahead of the shards: it has planned the end of a watch before a shard hears of it, which it never does
//! if the client goes, or its node, within the turn. So a shard is taken to know until a turn that told it is over.

use std::collections::BTreeSet;

/// Bytes that one watched key takes beside its own: its places on the shard and here.
const KEY_BYTES: usize = 250;

/// The watch of one client, and the traces of earlier ones.
#[derive(Debug, Default)]
pub(crate) struct Watching {
    /// The shard of the watched keys.
    home: Option<usize>,
    /// The shards that may know of a watch, each with about how many bytes it holds at most for those that were ended.
    knowing: Vec<(usize, usize)>,
    /// Those that this turn tells of its end.
    told: Vec<usize>,
    /// The databases and the hashes of the watched keys.
    keys: BTreeSet<(usize, u64)>,
    /// About how many bytes the shard holds for them.
    bytes: usize,
}

impl Watching {
    /// Returns the shard of the watched keys, if some are.
    pub(crate) fn home(&self) -> Option<usize> {
        self.home
    }

    /// Watches keys on `home`; returns whether others are watched already.
    pub(crate) fn begin(&mut self, home: usize) -> bool {
        if !self.knowing.iter().any(|(shard, _)| *shard == home) {
            self.knowing.push((home, 0));
        }
        self.home.replace(home).is_some()
    }

    /// Counts one of the keys, unless it was.
    pub(crate) fn add(&mut self, db: usize, hash: u64, key_bytes: usize) {
        if self.keys.insert((db, hash)) {
            // The shard looks it up by the key, and by the client.
            self.bytes += KEY_BYTES + 2 * key_bytes;
        }
    }

    /// Returns about how many bytes are held for what is watched.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes + self.knowing.iter().map(|(_, bytes)| bytes).sum::<usize>()
    }

    /// Ends the watch; returns the shard that this turn is to tell so, if there is one.
    pub(crate) fn end(&mut self) -> Option<usize> {
        let home = self.home.take()?;
        self.told.push(home);
        self.keys.clear();
        let ended = std::mem::take(&mut self.bytes);
        if let Some((_, bytes)) = self.knowing.iter_mut().find(|(shard, _)| *shard == home) {
            // A shard that hears of the next watch forgets this one.
            *bytes = ended.max(*bytes);
        }
        Some(home)
    }

    /// Ends a turn, which has not reached the shards in `missed`.
    pub(crate) fn settle(&mut self, missed: &[usize]) {
        for shard in std::mem::take(&mut self.told) {
            if missed.contains(&shard) {
                continue;
            }
            self.knowing.retain(|(knows, _)| *knows != shard);
            if self.home == Some(shard) {
                self.knowing.push((shard, 0));
            }
        }
    }

    /// Takes the shards out that are to be told when the client is gone.
    pub(crate) fn leave(&mut self) -> impl Iterator<Item = usize> + use<> {
        std::mem::take(self).knowing.into_iter().map(|(shard, _)| shard)
    }
}

#[cfg(test)]
mod tests {
    use super::Watching;

    #[test]
    fn a_shard_knows_of_a_watch_until_it_was_told_of_its_end() {
        let mut watching = Watching::default();
        assert!(!watching.begin(3));
        watching.settle(&[]);
        assert!(watching.begin(3));
        assert_eq!((watching.end(), watching.end(), watching.home()), (Some(3), None, None));
        // It was not there.
        watching.settle(&[3]);
        watching.begin(5);
        watching.end();
        watching.settle(&[]);
        // The end of one and the beginning of the next in one turn.
        watching.begin(7);
        watching.end();
        watching.begin(7);
        watching.settle(&[]);
        assert!(watching.leave().eq([3, 7]));
        assert_eq!(watching.leave().next(), None);
    }

    #[test]
    fn watches_that_are_over_are_not_counted_though_a_shard_has_missed_an_end() {
        let mut watching = Watching::default();
        let mut watch = |home, missed: &[usize]| {
            watching.begin(home);
            watching.add(0, 1, 10);
            watching.end();
            assert!(watching.bytes() > 0, "until the turn is over the shard has it");
            watching.settle(missed);
            watching.bytes()
        };
        let one = watch(5, &[5]);
        assert!(one > 0);
        for _ in 0..100 {
            assert_eq!(watch(3, &[]), one);
            assert_eq!(watch(5, &[5]), one);
        }
        assert_eq!(watch(5, &[]), 0);
    }
}
