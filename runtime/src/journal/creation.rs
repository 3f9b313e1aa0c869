//! The file of an embedded store is there whole or not at all, wherever its first process is killed.
//!
//! redb makes its file longer and writes to it before it writes the magic, and takes no file without one
//! ever after. So the file is made under another name, which it loses when it can be opened.
//!
//! Invariants:
//! 1. Only who has locked the file under its first name writes to it or renames it, and only while there is
//!    none under its last name that was finished.
//! 2. A file is only replaced if redb has never committed to it.

use redb::backends::FileBackend;
use redb::{Database, DatabaseError, StorageBackend};
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::path::Path;

/// The file in the directory.
const FILE: &str = "journal.redb";
/// What it is called until it is finished.
const UNFINISHED: &str = "journal.redb.unfinished";

/// Bytes of redb's magic, at the start of its file.
const MAGIC: usize = 9;
/// Bytes of redb's header: 64, and two slots for commits.
const HEADER: usize = 320;
/// Where each slot says whether its commit has a table.
const HAS_TABLES: [usize; 2] = [64 + 1, 192 + 1];
/// Bytes read at once.
const CHUNK: usize = 64 << 10;

/// Opens the database in the directory, and makes it if it was never finished.
pub(super) fn open_or_create(directory: &Path) -> Result<Database, DatabaseError> {
    match is_finished(&directory.join(FILE))? {
        true => open(directory),
        false => create(directory),
    }
}

/// Opens the database in the directory, which must be there.
pub(super) fn open(directory: &Path) -> Result<Database, DatabaseError> {
    let file = OpenOptions::new().read(true).write(true).open(directory.join(FILE))?;
    let backend = FileBackend::new(file)?;
    if backend.len()? == 0 {
        return Err(io::Error::from(ErrorKind::InvalidData).into());
    }
    Database::builder().create_with_backend(Kept(backend))
}

/// A file in which a failed sync is never for want of room, whatever the system says: what was written before may be lost
/// by then, and looks well to whoever reads it from memory.
#[derive(Debug)]
pub(super) struct Kept<File>(pub(super) File);

impl<File: StorageBackend> StorageBackend for Kept<File> {
    fn len(&self) -> io::Result<u64> {
        self.0.len()
    }
    fn read(&self, offset: u64, len: usize) -> io::Result<Vec<u8>> {
        self.0.read(offset, len)
    }
    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }
    fn sync_data(&self, eventual: bool) -> io::Result<()> {
        self.0.sync_data(eventual).map_err(io::Error::other)
    }
    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.0.write(offset, data)
    }
}

fn create(directory: &Path) -> Result<Database, DatabaseError> {
    let (unfinished, file) = (directory.join(UNFINISHED), directory.join(FILE));
    let mut options = OpenOptions::new();
    let opened = options.read(true).write(true).create(true).truncate(false).open(&unfinished)?;
    // Which locks it, as redb does.
    let backend = FileBackend::new(opened)?;
    if is_finished(&file)? {
        // Another process was faster, and what was locked may be its file.
        drop(backend);
        return open(directory);
    }
    // What a killed process left in it is of no use.
    backend.set_len(0)?;
    let database = Database::builder().create_with_backend(Kept(backend))?;
    std::fs::rename(unfinished, file)?;
    sync(directory)?;
    Ok(database)
}

/// Has the names in the directory outlast a power cut.
fn sync(directory: &Path) -> io::Result<()> {
    // Elsewhere a directory is no file that can be opened.
    if cfg!(unix) { File::open(directory)?.sync_all() } else { Ok(()) }
}

/// Whether there is a file, and it is none that redb was killed over before it had written the magic, as
/// versions before this one leave it. One that may be damaged counts as finished: redb says what is wrong with it.
fn is_finished(path: &Path) -> io::Result<bool> {
    let mut file = match File::open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        file => file?,
    };
    let mut header = [0; HEADER];
    if file.metadata()?.len() >= HEADER as u64 {
        file.read_exact(&mut header)?;
    }
    if !are_zeros(&header[..MAGIC]) {
        return Ok(true);
    }
    match are_zeros(&header) {
        // Opening the store commits its tables before anything else.
        false => Ok(HAS_TABLES.iter().any(|&place| header[place] != 0)),
        true => has_bytes(file),
    }
}

/// Whether anything in the file is not zero.
fn has_bytes(mut file: File) -> io::Result<bool> {
    file.seek(SeekFrom::Start(0))?;
    let mut chunk = vec![0; CHUNK];
    loop {
        match file.read(&mut chunk)? {
            0 => return Ok(false),
            read if !are_zeros(&chunk[..read]) => return Ok(true),
            _ => {}
        }
    }
}

fn are_zeros(bytes: &[u8]) -> bool {
    bytes.iter().all(|&byte| byte == 0)
}
