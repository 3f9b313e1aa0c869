//! One database of one shard: a hash table in 1,024 segments.
//!
//! Segments bound the pause when a table grows (each grows alone, as Redis moves a few buckets at a time), and a key
//! never leaves its segment, which is what lets [`super::scan`] promise that it misses nothing.

use std::hash::{BuildHasher, DefaultHasher, Hasher, RandomState};
use std::sync::LazyLock;

use hashbrown::HashTable;
use hashbrown::hash_table::OccupiedEntry;

use super::value::{ALLOCATION_BYTES, Value};

/// Segments of a database; they are made when its first key is.
pub(crate) const SEGMENTS: usize = 1 << SEGMENT_BITS;
const SEGMENT_BITS: u32 = 10;

/// The time a key without expiry has.
pub(crate) const NEVER: i64 = i64::MAX;

/// A key with all that belongs to it.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) key: Box<[u8]>,
    pub(crate) value: Value,
    /// When the key ends, in milliseconds since 1970, or [`NEVER`].
    pub(crate) expires: i64,
}

impl Entry {
    /// Returns the bytes the entry takes, about.
    pub(crate) fn cost(&self) -> usize {
        size_of::<Self>() + self.key.len() + ALLOCATION_BYTES + self.value.cost()
    }
}

/// The keys of one database on one shard.
#[derive(Debug, Default)]
pub(crate) struct Db {
    segments: Vec<HashTable<Entry>>,
    len: usize,
    volatile: usize,
}

impl Db {
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Returns how many keys have an expiry.
    pub(crate) fn volatile(&self) -> usize {
        self.volatile
    }

    pub(crate) fn find(&self, hash: u64, key: &[u8]) -> Option<&Entry> {
        self.segments.get(segment_of(hash))?.find(hash, |entry| *entry.key == *key)
    }

    pub(crate) fn find_mut(&mut self, hash: u64, key: &[u8]) -> Option<&mut Entry> {
        self.segments.get_mut(segment_of(hash))?.find_mut(hash, |entry| *entry.key == *key)
    }

    /// Adds a key that is not there.
    pub(crate) fn insert(&mut self, entry: Entry) -> &mut Entry {
        if self.segments.is_empty() {
            self.segments.resize_with(SEGMENTS, HashTable::new);
        }
        self.len += 1;
        self.volatile += usize::from(entry.expires != NEVER);
        let hash = hash(&entry.key);
        let segment = &mut self.segments[segment_of(hash)];
        segment.insert_unique(hash, entry, |entry| self::hash(&entry.key)).into_mut()
    }

    pub(crate) fn remove(&mut self, hash: u64, key: &[u8]) -> Option<Entry> {
        let segment = self.segments.get_mut(segment_of(hash))?;
        let entry =
            segment.find_entry(hash, |entry| *entry.key == *key).ok().map(OccupiedEntry::remove)?.0;
        self.len -= 1;
        self.volatile -= usize::from(entry.expires != NEVER);
        Some(entry)
    }

    /// Tells that an entry's expiry went from `before` to `after`.
    pub(crate) fn expiry_changed(&mut self, before: i64, after: i64) {
        self.volatile -= usize::from(before != NEVER);
        self.volatile += usize::from(after != NEVER);
    }

    /// Returns the entries of one segment.
    pub(crate) fn segment(&self, index: usize) -> impl Iterator<Item = &Entry> {
        self.segments.get(index).into_iter().flat_map(HashTable::iter)
    }

    /// Returns all entries.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Entry> {
        self.segments.iter().flat_map(HashTable::iter)
    }
}

/// Where the hash of each key begins: SipHash with a secret of this process, for who can tell which keys collide can
/// make a table slow. Tests have none, so that they can be repeated.
static BEGUN: LazyLock<DefaultHasher> = LazyLock::new(|| {
    if cfg!(test) { DefaultHasher::new() } else { RandomState::new().build_hasher() }
});

/// Hashes a key for the tables of this process.
pub(crate) fn hash(key: &[u8]) -> u64 {
    let mut hasher = BEGUN.clone();
    hasher.write(key);
    hasher.finish()
}

/// Hashes a key the same in every process and every version, for kept data and other nodes follow from it.
fn stable_hash(key: &[u8]) -> u64 {
    let mut hasher = rustc_hash::FxHasher::default();
    hasher.write(key);
    hasher.finish()
}

/// Returns the shard of `shards` that holds `key`; keys with the same `{tag}` lie together, as in Redis Cluster.
pub(crate) fn route(key: &[u8], shards: usize) -> usize {
    if shards == 1 {
        return 0;
    }
    let spread = u128::from(stable_hash(tag(key)).rotate_left(20)) * shards as u128;
    usize::try_from(spread >> 64).unwrap_or(0)
}

/// Returns what of `key` decides its shard: the text in its first `{}` unless that is empty.
pub(crate) fn tag(key: &[u8]) -> &[u8] {
    // Most keys have none, and all bytes side by side are looked at sooner than one after the other.
    if !key.iter().fold(false, |found, &byte| found | (byte == b'{')) {
        return key;
    }
    let Some(open) = key.iter().position(|&byte| byte == b'{') else { return key };
    let inside = key.get(open + 1..).unwrap_or_default();
    match inside.iter().position(|&byte| byte == b'}') {
        Some(len) if len > 0 => inside.get(..len).unwrap_or(key),
        Some(_) | None => key,
    }
}

/// Returns the place of a key in the order of [`super::scan`]: its top bits are the segment.
///
/// Rotated so that neither the bits that pick a bucket (low) nor those that tag it (high) pick the segment too.
pub(crate) fn scan_order(hash: u64) -> u64 {
    hash.rotate_left(20)
}

/// Returns the segment of a place in the scan order.
pub(crate) fn segment_at(order: u64) -> usize {
    usize::try_from(order >> (64 - SEGMENT_BITS)).unwrap_or(0)
}

fn segment_of(hash: u64) -> usize {
    segment_at(scan_order(hash))
}
