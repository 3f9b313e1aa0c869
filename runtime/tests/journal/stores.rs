//! Every store keeps what it is told, and one of ours can be told to misbehave.

use greenroom::journal::{
    Embedded, Memory, Record, Refused, Snapshot, Store, StoreError, Write, Written, store_conforms,
};
use parking_lot::{Condvar, Mutex};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A folder that goes when the test does.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("greenroom-{name}-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).expect("a temporary folder");
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A store that can be held before its commits, and made to fail.
#[derive(Clone)]
pub(crate) struct Puppet {
    pub(crate) memory: Memory,
    strings: Arc<(Mutex<Strings>, Condvar)>,
}

#[derive(Default)]
struct Strings {
    is_held: bool,
    is_waiting: bool,
    is_broken: bool,
    commits: u64,
}

impl Puppet {
    pub(crate) fn new() -> Self {
        Self { memory: Memory::new(), strings: Arc::default() }
    }

    fn pull<T>(&self, pull: impl FnOnce(&mut Strings) -> T) -> T {
        let result = pull(&mut self.strings.0.lock());
        self.strings.1.notify_all();
        result
    }

    /// Lets the next commit wait until [`Puppet::release`].
    pub(crate) fn hold(&self) {
        self.pull(|strings| strings.is_held = true);
    }

    pub(crate) fn release(&self) {
        self.pull(|strings| strings.is_held = false);
    }

    /// Whether a commit waits.
    pub(crate) fn is_waiting(&self) -> bool {
        self.pull(|strings| strings.is_waiting)
    }

    /// Lets all commits fail, or no longer.
    pub(crate) fn set_broken(&self, is_broken: bool) {
        self.pull(|strings| strings.is_broken = is_broken);
    }

    pub(crate) fn commits(&self) -> u64 {
        self.pull(|strings| strings.commits)
    }
}

impl Store for Puppet {
    fn commit(&mut self, writes: &[Write]) -> Result<Vec<Result<Written, Refused>>, StoreError> {
        let mut strings = self.strings.0.lock();
        while strings.is_held {
            strings.is_waiting = true;
            self.strings.1.wait(&mut strings);
        }
        strings.is_waiting = false;
        strings.commits += 1;
        if strings.is_broken {
            return Err(StoreError::new("no space left on device"));
        }
        self.memory.commit(writes)
    }

    fn snapshot(&mut self, key: &str) -> Result<Option<Snapshot>, StoreError> {
        self.memory.snapshot(key)
    }

    fn read(
        &mut self,
        key: &str,
        after: u64,
        bytes_max: usize,
    ) -> Result<Vec<(u64, Record)>, StoreError> {
        self.memory.read(key, after, bytes_max)
    }
}

// [G-JOURNAL-5]
#[test]
fn the_store_in_memory_conforms() {
    let memory = Memory::new();
    store_conforms(|| memory.clone());
}

// [G-JOURNAL-5]
#[test]
fn the_embedded_store_conforms() {
    let folder = Folder::new("conforms");
    store_conforms(|| Embedded::open(folder.path()).expect("nobody else has it open"));
}

#[test]
fn one_at_a_time_has_a_folder_open() {
    let folder = Folder::new("locked");
    let first = Embedded::open(folder.path()).expect("nobody else has it open");
    let second = Embedded::open(folder.path()).expect_err("the first has it open");
    assert!(second.to_string().contains("already open"), "{second}");
    drop(first);
    Embedded::open(folder.path()).expect("the first has gone");
}

#[test]
fn what_is_no_store_is_an_error() {
    let folder = Folder::new("garbage");
    std::fs::write(folder.path().join("journal.redb"), "not a database").unwrap();
    Embedded::open(folder.path()).expect_err("the file is no database");
    Embedded::open(folder.path().join("journal.redb")).expect_err("a file is no folder");
}

pub(crate) fn claim(key: &str) -> Write {
    Write::Claim { key: key.to_owned() }
}

pub(crate) fn append(key: &str, first: u64, names: Vec<String>) -> Write {
    let record = |name: String| Record { name: name.into(), version: 1, payload: vec![1] };
    let records = names.into_iter().map(record).collect();
    Write::Append { key: key.to_owned(), epoch: 1, first, records }
}

/// Of the state after event `sequence`, with which the events up to it may go.
fn snapshot(key: &str, sequence: u64) -> Write {
    let snapshot = Snapshot { sequence, version: 1, payload: vec![1] };
    Write::Snapshot { key: key.to_owned(), epoch: 1, snapshot, prune: true }
}

pub(crate) fn named(count: usize) -> Vec<String> {
    vec!["moved".to_owned(); count]
}

pub(crate) fn kept(store: &mut impl Store, key: &str) -> usize {
    store.read(key, 0, usize::MAX).expect("it is readable").len()
}

// [G-JOURNAL-2]
#[test]
fn a_snapshot_that_was_not_kept_costs_no_event() {
    const MANY: usize = 5_000;
    let folder = Folder::new("unkept");
    let mut store = Embedded::open(folder.path()).unwrap();
    store.commit(&[claim("a"), claim("b"), append("a", 1, named(MANY))]).unwrap();
    // No store of ours keeps such a name, and so nothing of this commit.
    let unkept = append("b", 1, vec!["n".repeat(1 << 16)]);
    store.commit(&[snapshot("a", MANY as u64), unkept]).unwrap_err();
    assert_eq!(store.snapshot("a").unwrap(), None);
    for first in 1..5 {
        store.commit(&[append("b", first, named(1))]).unwrap();
    }
    assert_eq!(kept(&mut store, "a"), MANY);
}

#[test]
fn superfluous_events_do_not_pile_up() {
    const KEYS: usize = 50;
    let folder = Folder::new("superfluous");
    let mut store = Embedded::open(folder.path()).unwrap();
    let keys: Vec<_> = (0..KEYS).map(|key| key.to_string()).collect();
    store.commit(&keys.iter().map(|key| claim(key)).collect::<Vec<_>>()).unwrap();
    for round in 0..4 {
        let writes = keys.iter().flat_map(|key| {
            [append(key, round * 100 + 1, named(100)), snapshot(key, round * 100 + 100)]
        });
        store.commit(&writes.collect::<Vec<_>>()).unwrap();
        let left: usize = keys.iter().map(|key| kept(&mut store, key)).sum();
        assert_eq!(left, 0, "in round {round}");
    }
}

#[test]
fn more_keys_than_are_kept_in_mind_are_kept() {
    const KEYS: usize = 10_500;
    let folder = Folder::new("keys");
    let mut store = Embedded::open(folder.path()).unwrap();
    let keys: Vec<_> = (0..KEYS).map(|key| key.to_string()).collect();
    store.commit(&keys.iter().map(|key| claim(key)).collect::<Vec<_>>()).unwrap();
    for first in 1..=2 {
        let writes: Vec<_> = keys.iter().map(|key| append(key, first, named(1))).collect();
        let outcomes = store.commit(&writes).unwrap();
        assert_eq!(outcomes, vec![Ok(Written::Done); KEYS]);
    }
    assert!(keys.iter().step_by(100).all(|key| kept(&mut store, key) == 2));
}
