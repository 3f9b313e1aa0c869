//! Why a file is not what it should be.

use super::key_file::KeyFileError;
use std::fmt;
use std::io;
use std::net::AddrParseError;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// A node's file cannot be used. Written as `a.toml:7: peer.key: a key has 64 hexadecimal digits`.
#[derive(Debug, thiserror::Error)]
pub struct ConfigError {
    /// The file.
    pub file: PathBuf,
    /// The line, counted from 1, if one is to blame.
    pub line: Option<usize>,
    /// The key, if one is to blame: `listen`, or `peer.address`.
    pub key: Option<String>,
    /// What is wrong.
    #[source]
    pub why: Why,
}

/// What is wrong with a node's file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Why {
    /// It cannot be read.
    #[error("it cannot be read: {0}")]
    Read(#[from] io::Error),
    /// It is longer than a megabyte, so that it is another kind of file.
    #[error("it is longer than a megabyte: it is no node's file")]
    TooLong,
    /// It is no TOML, or a key is missing, unknown or of another type; the text says which.
    #[error("{0}")]
    Malformed(String),
    /// There should be an IP address and a port.
    #[error("an address to listen on is an IP address and a port, such as 10.0.0.1:7000")]
    NotAnAddress(#[from] AddrParseError),
    /// There should be a host and a port.
    #[error("a place is a name or an IP address, and a port, such as node-b.example:7000")]
    NotAPlace,
    /// It is told to others, and leads nowhere.
    #[error(
        "nobody reaches a node there: set advertise to where others do, such as node-a.example:7000"
    )]
    Nowhere,
    /// A peer is at no place of its own.
    #[error("no node is there: a peer is at an address of its own, such as 10.0.0.2:7000")]
    NoPeer,
    /// There should be a public key.
    #[error("a public key has 64 hexadecimal digits: `greenroom keygen` prints it")]
    NotAKey,
    /// A seed is no address.
    #[error(transparent)]
    NotANode(#[from] greenroom::net::ParseError),
    /// A seed is an address of another transport.
    #[error("nodes are sought by UDP, at addresses such as udp:10.0.0.1:7000")]
    NotUdp,
    /// A seed without a key takes a cluster key, or a peer at the same address.
    #[error(
        "nobody there is known: name its key, as in udp:10.0.0.1:7000#85..., or set cluster-key-file"
    )]
    NobodyKnown,
    /// A name, a key or an address stands twice where each may stand once.
    #[error("another peer has it, or this node itself")]
    Twice,
    /// What would have no end, or would be no name.
    #[error("it must not be empty")]
    Empty,
    /// A number is too small or too large.
    #[error("it must be from {min} to {max}")]
    OutOfRange {
        /// The smallest.
        min: u64,
        /// The largest.
        max: u64,
    },
    /// Names are asked for whose nodes' keys are not known, which takes a cluster key.
    #[error("who is found by the DNS is known by the cluster key alone: set cluster-key-file")]
    NoClusterKey,
    /// Trust is for packets by RDMA, which the node does not use.
    #[error("it is for packets by RDMA: set rdma")]
    NoRdma,
    /// A key's file cannot be used.
    #[error(transparent)]
    KeyFile(#[from] KeyFileError),
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        if let Some(key) = &self.key {
            write!(f, ": {key}")?;
        }
        write!(f, ": {}", self.why)
    }
}

/// A file's text, to say where in it something is wrong.
pub(super) struct Source<'a> {
    pub(super) file: &'a Path,
    pub(super) text: &'a str,
}

impl Source<'_> {
    /// Says that what stands there under `key` is wrong.
    pub(super) fn blame(&self, key: &str, at: Range<usize>, why: impl Into<Why>) -> ConfigError {
        let line = Some(self.line(at.start));
        let (file, key) = (self.file.to_owned(), Some(key.to_owned()));
        ConfigError { file, line, key, why: why.into() }
    }

    /// Says what the reader of TOML found.
    pub(super) fn malformed(&self, error: &toml::de::Error) -> ConfigError {
        let at = error.span().map(|span| span.start);
        let key = at.and_then(|at| self.key(at));
        let why = Why::Malformed(error.message().to_owned());
        ConfigError { file: self.file.to_owned(), line: at.map(|at| self.line(at)), key, why }
    }

    fn line(&self, at: usize) -> usize {
        1 + self.text.bytes().take(at).filter(|byte| *byte == b'\n').count()
    }

    /// What stands before the equals sign of the line, if there is one.
    fn key(&self, at: usize) -> Option<String> {
        let line = self.text.lines().nth(self.line(at) - 1)?;
        let key = line.split_once('=')?.0.trim();
        (!key.is_empty()).then(|| key.to_owned())
    }
}
