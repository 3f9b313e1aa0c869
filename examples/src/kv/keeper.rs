//! What makes a shard outlive the process: the commands that change it, in a journal.
//!
//! A shard changes at once, and what it did is on its way to the disk while it goes on. A job takes along what must be
//! over before its client may read the replies: the commit of everything that the shard had done by then, so neither
//! what a command did nor what a later one saw of it is shown before it is durable.

use std::borrow::Cow;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fs, io};

use greenroom::journal::{Commit, Journal, Record, RecoverError, Store, StoreError, Stream};
use greenroom::{Actor, Context};

use super::server::SHARDS_MAX;
use super::shared::Shared;
use super::store::{LogError, Shard};

/// The name and the version under which commands are kept.
const COMMANDS: (&str, u32) = ("commands", 1);
/// A shard that uses more is not written as a whole: what the journal's store takes in one piece is limited.
const SNAPSHOT_BYTES_MAX: usize = 1 << 30;
/// The file that says how many shards the data is of and, behind that, whose it is; nothing if it is a server's that is
/// alone.
const SHARDS_FILE: &str = "shards";
/// Whose data it is if there are no other nodes.
pub(crate) const ALONE: &str = "a server that is alone";

/// Keeps one shard.
#[derive(Debug)]
pub(crate) struct Keeper {
    stream: Stream,
    shared: Arc<Shared>,
    index: usize,
    sizes: Sizes,
}

/// What a shard has in the journal, which says when it is to be written as a whole.
#[derive(Debug, Default)]
struct Sizes {
    /// Bytes of commands behind the last snapshot.
    log_bytes: u64,
    /// Bytes of that snapshot.
    base_bytes: u64,
    /// Bytes of commands before which it is not tried, after it was too large.
    wait_bytes: u64,
    /// Whether it was said that it is too large.
    is_said: bool,
}

impl Sizes {
    /// Returns whether the commands take more than the shard does, and enough to be worth the work.
    fn is_due(&self, bytes_min: u64) -> bool {
        self.log_bytes >= self.base_bytes.max(bytes_min).max(self.wait_bytes)
    }

    /// Waits until there are twice as many commands: the shard was written, which is much work, and is too large.
    fn put_off(&mut self) {
        self.wait_bytes = self.log_bytes.saturating_mul(2);
    }

    /// Returns whether it is to be said that the shard is too large.
    fn is_news(&mut self) -> bool {
        !std::mem::replace(&mut self.is_said, true)
    }
}

/// Why a shard's data cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum KeepError {
    #[error(transparent)]
    Recover(#[from] RecoverError),
    #[error("the data is of another version of kv: it keeps {name:?} version {version}")]
    Unknown { name: String, version: u32 },
    #[error(transparent)]
    Log(#[from] LogError),
}

impl Keeper {
    /// Fills a new shard with what is kept of it, and begins to keep what changes.
    pub(crate) async fn recover<A: Actor>(
        journal: &Journal,
        index: usize,
        shard: &mut Shard,
        shared: Arc<Shared>,
        cx: &Context<A>,
    ) -> Result<Self, KeepError> {
        let mut recovery = journal.stream(key(index), cx).await?;
        let (mut base_bytes, mut log_bytes) = (0, 0);
        if let Some(snapshot) = recovery.snapshot().await? {
            check(COMMANDS.0, snapshot.version)?;
            shard.replay(&snapshot.payload)?;
            recovery.skip_to(snapshot.sequence);
            base_bytes = snapshot.payload.len() as u64;
        }
        while let Some((_, record)) = recovery.next().await? {
            check(&record.name, record.version)?;
            shard.replay(&record.payload)?;
            log_bytes += record.payload.len() as u64;
        }
        shard.begin_log();
        shared.kept.log_bytes.add(log_bytes);
        shared.kept.base_bytes.add(base_bytes);
        let sizes = Sizes { log_bytes, base_bytes, ..Sizes::default() };
        Ok(Self { stream: recovery.finish(), shared, index, sizes })
    }

    /// Hands in what the shard has done. Returns what must be over before anybody may know.
    pub(crate) fn keep(&mut self, shard: &mut Shard) -> Option<Commit> {
        if let Some(payload) = shard.take_log() {
            let bytes = payload.len() as u64;
            self.sizes.log_bytes += bytes;
            self.shared.kept.log_bytes.add(bytes);
            let (name, version) = COMMANDS;
            // What it is over with covers what comes before, too.
            let record = Record { name: Cow::Borrowed(name), version, payload };
            drop(self.stream.append(vec![record]).expect("the name is short"));
            self.snapshot_if_due(shard);
        }
        let commit = self.stream.commit();
        (!commit.is_over()).then_some(commit)
    }

    /// Writes the shard as a whole once its commands take more than it does.
    fn snapshot_if_due(&mut self, shard: &Shard) {
        if !self.sizes.is_due(self.shared.limits.rewrite_bytes_min) {
            return;
        }
        let fits = shard.used() <= SNAPSHOT_BYTES_MAX;
        let payload = fits.then(|| shard.dump()).filter(|all| all.len() <= Stream::BYTES_MAX);
        let Some(payload) = payload else {
            if fits {
                self.sizes.put_off();
            }
            if self.sizes.is_news() {
                self.complain();
            }
            return;
        };
        let kept = &self.shared.kept;
        kept.log_bytes.subtract(self.sizes.log_bytes);
        kept.base_bytes.subtract(self.sizes.base_bytes);
        kept.rewrites.add(1);
        self.sizes = Sizes { base_bytes: payload.len() as u64, ..Sizes::default() };
        kept.base_bytes.add(self.sizes.base_bytes);
        self.stream.snapshot(COMMANDS.1, payload, true);
    }

    fn complain(&self) {
        let (index, max) = (self.index, SNAPSHOT_BYTES_MAX >> 20);
        // Nobody may be listening.
        let _ = writeln!(
            io::stderr(),
            "kv: shard {index} has more than {max} MiB and is not written as a whole: until it has less, the directory \
             grows with every write; more shards have less each"
        );
    }
}

/// What the stream of a shard is called.
fn key(index: usize) -> String {
    format!("shard-{index}")
}

fn check(name: &str, version: u32) -> Result<(), KeepError> {
    if (name, version) == COMMANDS {
        return Ok(());
    }
    Err(KeepError::Unknown { name: name.to_owned(), version })
}

/// Why a directory cannot be served from.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DirError {
    /// It cannot be made or read.
    #[error("{}: {source}", path.display())]
    Io {
        /// The directory, or the file in it.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// What lies in it was not written by kv.
    #[error("{}: this is not a number of shards", .0.display())]
    Damaged(PathBuf),
    /// There are keys, and it is not known over how many shards they are spread.
    #[error("{}: this is missing, which says how many shards the data beside it is of", .0.display())]
    Missing(PathBuf),
    /// The journal in it cannot be read.
    #[error(transparent)]
    Journal(#[from] StoreError),
    /// Keys are spread over shards by their number, which cannot be changed later.
    #[error("the data is of {kept} shards: start with --shards {kept}, or without --shards")]
    Shards {
        /// How many there are.
        kept: usize,
    },
    /// Which keys a server has follows from its node and the others, which cannot be changed later.
    #[error(
        "the data is of {kept}, not of {here}: started so, it would miss keys that it was given"
    )]
    Owner {
        /// Whose data it is.
        kept: String,
        /// Who was to serve from it.
        here: String,
    },
}

/// Returns how many shards the data in `dir` is of, which `store` has, if it is that of `owner`. A directory without data
/// becomes its own, for `wanted` shards, or else for `usual`. No other process has the directory meanwhile.
pub(crate) fn shards_of(
    dir: &Path,
    store: &mut impl Store,
    owner: &str,
    wanted: Option<usize>,
    usual: usize,
) -> Result<usize, DirError> {
    let path = dir.join(SHARDS_FILE);
    let failed = |source| DirError::Io { path: path.clone(), source };
    match fs::read_to_string(&path) {
        Ok(text) => {
            let (count, whose) = text.split_once('\n').unwrap_or((&text, ""));
            let kept = count.trim().parse().ok().filter(|kept| (1..=SHARDS_MAX).contains(kept));
            let kept = kept.ok_or_else(|| DirError::Damaged(path.clone()))?;
            let whose = Some(whose.trim()).filter(|whose| !whose.is_empty()).unwrap_or(ALONE);
            if whose != owner {
                let (kept, here) = (whose.to_owned(), owner.to_owned());
                return Err(DirError::Owner { kept, here });
            }
            if wanted.is_some_and(|wanted| wanted != kept) {
                return Err(DirError::Shards { kept });
            }
            Ok(kept)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            if has_data(store)? {
                return Err(DirError::Missing(path));
            }
            let shards = wanted.unwrap_or(usual);
            let whose = if owner == ALONE { String::new() } else { format!("{owner}\n") };
            write_whole(dir, &format!("{shards}\n{whose}")).map_err(failed)?;
            Ok(shards)
        }
        Err(error) => Err(failed(error)),
    }
}

/// Returns whether a store has data of a shard, however many of them there are.
fn has_data(store: &mut impl Store) -> Result<bool, StoreError> {
    for key in (0..SHARDS_MAX).map(key) {
        if store.snapshot(&key)?.is_some() || !store.read(&key, 0, 1)?.is_empty() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Writes the file so that after a crash it is there as a whole or not at all.
fn write_whole(dir: &Path, text: &str) -> io::Result<()> {
    let draft = dir.join("shards.new");
    let mut file = fs::File::create(&draft)?;
    io::Write::write_all(&mut file, text.as_bytes())?;
    file.sync_all()?;
    fs::rename(draft, dir.join(SHARDS_FILE))?;
    fs::File::open(dir)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::Sizes;

    #[test]
    fn a_shard_that_is_too_large_is_tried_again_when_twice_as_much_was_done() {
        let mut sizes = Sizes { log_bytes: 100, ..Sizes::default() };
        assert!(sizes.is_due(100) && !sizes.is_due(101));
        sizes.put_off();
        assert!(!sizes.is_due(100));
        sizes.log_bytes = 200;
        assert!(sizes.is_due(100));
        assert!(sizes.is_news() && !sizes.is_news(), "it is said once");
        assert_eq!(sizes.log_bytes, 200, "what is there is still there");
        sizes = Sizes { log_bytes: 200, base_bytes: 300, ..Sizes::default() };
        assert!(!sizes.is_due(100));
    }
}
