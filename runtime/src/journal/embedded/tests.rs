//! A disk that is full for a while.

use super::*;
use crate::journal::creation::Kept;
use crate::sync::{Arc, AtomicBool, Ordering};
use redb::StorageBackend;
use redb::backends::FileBackend;
use std::io::{self, ErrorKind};

/// A folder that goes when the test does.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let name = format!("greenroom-{name}-{}", std::process::id());
        Self(std::env::temp_dir().join(name))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A file on a disk that takes nothing while it is full, or fails otherwise.
#[derive(Debug)]
struct Limited {
    file: FileBackend,
    is_full: Arc<AtomicBool>,
    error: ErrorKind,
}

impl Limited {
    fn take(&self) -> io::Result<()> {
        // Relaxed: one thread sets and reads it.
        match self.is_full.load(Ordering::Relaxed) {
            true => Err(self.error.into()),
            false => Ok(()),
        }
    }
}

impl StorageBackend for Limited {
    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }
    fn read(&self, offset: u64, len: usize) -> io::Result<Vec<u8>> {
        self.file.read(offset, len)
    }
    fn set_len(&self, len: u64) -> io::Result<()> {
        self.take()?;
        self.file.set_len(len)
    }
    fn sync_data(&self, eventual: bool) -> io::Result<()> {
        self.take()?;
        self.file.sync_data(eventual)
    }
    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.take()?;
        self.file.write(offset, data)
    }
}

fn append(first: u64) -> Write {
    let record = Record { name: "event".into(), version: 1, payload: vec![7; 100] };
    Write::Append { key: "a".to_owned(), epoch: 1, first, records: vec![record] }
}

/// A file that takes nothing, for want of room.
fn full(folder: &Folder) -> Limited {
    std::fs::create_dir_all(&folder.0).expect("a folder");
    let mut options = std::fs::OpenOptions::new();
    let file = options.read(true).write(true).create_new(true).open(folder.0.join("file"));
    let file = FileBackend::new(file.expect("it is new")).expect("nobody else has it");
    Limited { file, is_full: Arc::new(AtomicBool::new(true)), error: ErrorKind::StorageFull }
}

// [G-JOURNAL-2]
#[test]
fn a_disk_that_keeps_nothing_is_not_one_that_is_full() {
    let kept = Kept(full(&Folder::new("full-sync")));
    let kind = |done: io::Result<()>| done.expect_err("it takes nothing").kind();
    assert_eq!(kind(kept.write(0, b"event")), ErrorKind::StorageFull);
    assert_eq!(kind(kept.sync_data(false)), ErrorKind::Other, "what was written is lost");
}

/// A store with one event, which a full disk has kept from taking a second one.
fn failed_once(folder: &Folder) -> Embedded {
    failed_by(folder, ErrorKind::StorageFull).0
}

/// The same where that error of the disk did, and what says whether that still goes on.
fn failed_by(folder: &Folder, error: ErrorKind) -> (Embedded, Arc<AtomicBool>) {
    let mut store = Embedded::open(&folder.0).expect("nobody else has it open");
    store.commit(&[Write::Claim { key: "a".to_owned() }, append(1)]).expect("there is room");
    store.database = None;
    let mut options = std::fs::OpenOptions::new();
    let file = options.read(true).write(true).open(folder.0.join("journal.redb"));
    let file = FileBackend::new(file.expect("it is there")).expect("it was closed");
    let is_full = Arc::new(AtomicBool::new(false));
    let limited = Limited { file, is_full: is_full.clone(), error };
    let database = Database::builder().create_with_backend(limited).expect("there is room");
    is_full.store(true, Ordering::Relaxed);
    store.database = Some(database);
    store.commit(&[append(2)]).expect_err("the disk is full");
    (store, is_full)
}

fn events(store: &mut Embedded) -> usize {
    store.read("a", 0, usize::MAX).expect("it reads").len()
}

// [G-JOURNAL-4]
#[test]
fn what_a_full_disk_did_not_take_is_taken_once_there_is_room() {
    let folder = Folder::new("full-write");
    let mut store = failed_once(&folder);
    assert_eq!(store.commit(&[append(2)]), Ok(vec![Ok(Written::Done)]));
    assert_eq!(events(&mut store), 2);
}

// [G-JOURNAL-4]
#[test]
fn what_was_there_before_the_disk_was_full_is_read() {
    let folder = Folder::new("full-read");
    assert_eq!(events(&mut failed_once(&folder)), 1);
}

// [G-JOURNAL-3]
#[test]
fn a_journal_that_is_taken_away_is_not_begun_anew() {
    let folder = Folder::new("full-away");
    let mut store = failed_once(&folder);
    std::fs::remove_dir_all(&folder.0).expect("nobody has it open");
    store.read("a", 0, usize::MAX).expect_err("it is gone");
    store.commit(&[append(2)]).expect_err("it is gone");
}

// [G-JOURNAL-2]
#[test]
fn a_disk_that_has_failed_otherwise_is_not_trusted_again() {
    let folder = Folder::new("failed-disk");
    let (mut store, is_failing) = failed_by(&folder, ErrorKind::Other);
    is_failing.store(false, Ordering::Relaxed);
    store.commit(&[append(2)]).expect_err("what it has lost is not known");
    drop(store);
    let mut store = Embedded::open(&folder.0).expect("it was closed");
    assert_eq!(events(&mut store), 1, "whoever opens it anew takes what is there");
}

// [G-JOURNAL-4]
#[test]
fn a_disk_that_is_still_full_is_not_looked_through_at_every_try() {
    let folder = Folder::new("full-still");
    let mut store = failed_once(&folder);
    assert_eq!(events(&mut store), 1);
    // As if it had been full once more.
    store.database = None;
    store.commit(&[append(2)]).expect_err("it was opened a moment ago");
    store.closed_until = Time(0);
    assert_eq!(store.commit(&[append(2)]), Ok(vec![Ok(Written::Done)]));
}
