//! A process is killed while it makes its journal, and its successor opens it.

use super::stores::{Folder, append, claim, kept, named};
use greenroom::journal::{Embedded, Store};
use parking_lot::Mutex;
use redb::backends::InMemoryBackend;
use redb::{Database, StorageBackend};
use std::io;
use std::path::Path;
use std::sync::Arc;

const FILE: &str = "journal.redb";
const UNFINISHED: &str = "journal.redb.unfinished";
/// Of so many states one is looked at: under a sanitizer each takes long, and all that is new in most is what redb writes.
const STRIDE: usize = if cfg!(sanitized) { 16 } else { 1 };

/// Notes what the file is after each change.
#[derive(Clone, Debug)]
struct Recorder {
    file: Arc<InMemoryBackend>,
    states: Arc<Mutex<Vec<Vec<u8>>>>,
}

impl Recorder {
    fn note(&self) -> io::Result<()> {
        let state = self.file.read(0, usize::try_from(self.file.len()?).expect("a small file"))?;
        self.states.lock().push(state);
        Ok(())
    }
}

impl StorageBackend for Recorder {
    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }
    fn read(&self, offset: u64, len: usize) -> io::Result<Vec<u8>> {
        self.file.read(offset, len)
    }
    fn set_len(&self, len: u64) -> io::Result<()> {
        self.file.set_len(len)?;
        self.note()
    }
    fn sync_data(&self, eventual: bool) -> io::Result<()> {
        self.file.sync_data(eventual)
    }
    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.file.write(offset, data)?;
        self.note()
    }
}

/// What a process may leave that is killed while redb makes a file.
fn leftovers() -> Vec<Vec<u8>> {
    let states = Arc::new(Mutex::new(vec![Vec::new()]));
    let recorder = Recorder { file: Arc::new(InMemoryBackend::new()), states: Arc::clone(&states) };
    let made = Database::builder().create_with_backend(recorder).expect("it has all it needs");
    let leftovers = std::mem::take(&mut *states.lock());
    drop(made);
    leftovers
}

/// Opens the store in the folder, which is empty, and sees that it keeps what it is told.
fn works(folder: &Path) {
    let mut store = Embedded::open(folder).expect("it opens after any crash");
    assert_eq!(kept(&mut store, "a"), 0);
    store.commit(&[claim("a"), append("a", 1, named(3))]).expect("it is kept");
    drop(store);
    let mut store = Embedded::open(folder).expect("it was closed");
    assert_eq!(kept(&mut store, "a"), 3);
    assert!(!folder.join(UNFINISHED).exists(), "nothing is left over");
}

/// Whether the header is gone from before other bytes, or not yet there: nobody can tell.
fn looks_damaged(file: &[u8]) -> bool {
    let (header, rest) = file.split_at(file.len().min(320));
    header.iter().all(|byte| *byte == 0) && rest.iter().any(|byte| *byte != 0)
}

// [G-JOURNAL-2]
#[test]
fn a_file_that_a_killed_process_did_not_finish_is_made_anew() {
    let leftovers = leftovers();
    assert!(leftovers.iter().any(|file| !file.is_empty() && !file.starts_with(b"redb")));
    for (step, leftover) in leftovers.iter().enumerate().step_by(STRIDE) {
        // Versions before this one made it under its last name.
        let names = if looks_damaged(leftover) { &[UNFINISHED][..] } else { &[FILE, UNFINISHED] };
        for name in names {
            eprintln!("step {step} of {name}, {} bytes", leftover.len());
            let folder = Folder::new("leftover");
            std::fs::write(folder.path().join(name), leftover).expect("a file");
            works(folder.path());
        }
    }
}

// [G-JOURNAL-2]
#[test]
fn a_file_that_lost_its_start_is_not_made_anew() {
    for zeros in [9, 4096] {
        let folder = Folder::new("damaged");
        works(folder.path());
        let file = folder.path().join(FILE);
        let mut bytes = std::fs::read(&file).expect("the journal");
        bytes[..zeros].fill(0);
        std::fs::write(&file, &bytes).expect("it is ours");
        Embedded::open(folder.path()).expect_err("events may be in it");
        assert_eq!(std::fs::read(&file).expect("it is there"), bytes, "it is as it was");
    }
}
