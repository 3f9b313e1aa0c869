//! Files with a secret key: one line, which names its kind, so that none is taken for another.
//!
//! ```text
//! # comments and empty lines are passed over
//! greenroom-node-key 64 hexadecimal digits
//! ```
//!
//! They are made for their owner alone (mode 0600), and one that others may read is refused. What was read is wiped.

use crate::secure::entropy::{Entropy, NoEntropy};
use crate::secure::identity::Identity;
use crate::secure::key::{KEY_BYTES, Key, PublicKey};
use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

const NODE: &str = "greenroom-node-key";
const CLUSTER: &str = "greenroom-cluster-key";
/// Longer than any such file.
const FILE_BYTES_MAX: u64 = 4096;
/// What anybody but the owner may do with it.
const OTHERS: u32 = 0o077;

/// A file with a secret key cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeyFileError {
    /// It cannot be read, or made.
    #[error("{}: {why}", file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// Why.
        #[source]
        why: io::Error,
    },
    /// It is there already, and a key that is overwritten is gone.
    #[error("{}: the file is there already, and is not overwritten", .0.display())]
    Exists(PathBuf),
    /// Others than its owner may use it.
    #[error("{0}: others may use the file (mode {mode:o}): chmod 600 {0}", file.display())]
    Open {
        /// The file.
        file: PathBuf,
        /// Its mode.
        mode: u32,
    },
    /// It holds no key of that kind.
    #[error("{}: the file holds no `{kind}` of 64 hexadecimal digits", file.display())]
    NoKey {
        /// The file.
        file: PathBuf,
        /// The kind.
        kind: &'static str,
    },
    /// No key can be drawn.
    #[error(transparent)]
    NoEntropy(#[from] NoEntropy),
}

/// Draws a node's secret key and writes it to a new file; returns its public key.
///
/// # Errors
/// [`KeyFileError`]; a file that is there already stays as it is.
pub fn create_node(file: &Path, entropy: &mut dyn Entropy) -> Result<PublicKey, KeyFileError> {
    Ok(Identity::new(create(file, NODE, entropy)?).public())
}

/// Draws the key that a cluster shares and writes it to a new file, to be copied to each node.
///
/// # Errors
/// As [`create_node`].
pub fn create_cluster(file: &Path, entropy: &mut dyn Entropy) -> Result<(), KeyFileError> {
    create(file, CLUSTER, entropy).map(drop)
}

/// Reads a node's key.
///
/// # Errors
/// [`KeyFileError`].
pub fn read_node(file: &Path) -> Result<Identity, KeyFileError> {
    read(file, NODE).map(Identity::new)
}

/// Reads the key that a cluster shares.
///
/// # Errors
/// [`KeyFileError`].
pub fn read_cluster(file: &Path) -> Result<Key, KeyFileError> {
    read(file, CLUSTER)
}

fn create(file: &Path, kind: &str, entropy: &mut dyn Entropy) -> Result<Key, KeyFileError> {
    let mut bytes = Zeroizing::new([0; KEY_BYTES]);
    entropy.fill(&mut *bytes)?;
    // Large enough that it is never moved and leaves nothing behind.
    let mut text = Zeroizing::new(String::with_capacity(kind.len() + 2 * KEY_BYTES + 2));
    text.push_str(kind);
    text.push(' ');
    for byte in bytes.iter() {
        write!(text, "{byte:02x}").expect("a string takes what is written");
    }
    text.push('\n');
    let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(file);
    let failed = |why: io::Error| match why.kind() {
        io::ErrorKind::AlreadyExists => KeyFileError::Exists(file.to_owned()),
        _ => KeyFileError::File { file: file.to_owned(), why },
    };
    let mut made = made.map_err(failed)?;
    let written = made.write_all(text.as_bytes()).and_then(|()| made.sync_all());
    written.map_err(failed)?;
    Ok(Key::new(*bytes))
}

fn read(file: &Path, kind: &'static str) -> Result<Key, KeyFileError> {
    let failed = |why| KeyFileError::File { file: file.to_owned(), why };
    let opened = File::open(file).map_err(failed)?;
    let mode = opened.metadata().map_err(failed)?.mode() & 0o777;
    if mode & OTHERS != 0 {
        return Err(KeyFileError::Open { file: file.to_owned(), mode });
    }
    let most = usize::try_from(FILE_BYTES_MAX).expect("it fits");
    let mut text = Zeroizing::new(String::with_capacity(most));
    opened.take(FILE_BYTES_MAX).read_to_string(&mut text).map_err(failed)?;
    let lines = text.lines().map(str::trim);
    let mut keys = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    let key = match (keys.next(), keys.next()) {
        (Some(line), None) => line.strip_prefix(kind),
        _ => None,
    };
    let key = key.and_then(|digits| digits.trim().parse().ok());
    key.ok_or_else(|| KeyFileError::NoKey { file: file.to_owned(), kind })
}
