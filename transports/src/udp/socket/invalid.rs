//! Places that the kernel sends nothing to, as invalid. To be told so takes many calls each time: two that fail, and those that
//! take segmentation and marks back into use.

use super::{REFUSED_FOR, SendError, Socket};
use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::time::Instant;

/// So many are known.
pub(super) const INVALID_MAX: usize = 8;

/// Those of late, with when that was, the latest first.
#[derive(Debug)]
pub(super) struct Invalid(pub(super) VecDeque<(SocketAddr, Instant)>);

impl Invalid {
    pub(super) fn new() -> Self {
        Self(VecDeque::with_capacity(INVALID_MAX))
    }

    /// Whether the kernel would send nothing there a moment ago.
    pub(super) fn has(&self, place: SocketAddr) -> bool {
        self.0.iter().any(|(known, since)| *known == place && since.elapsed() < REFUSED_FOR)
    }

    pub(super) fn insert(&mut self, place: SocketAddr) {
        self.0.retain(|(known, _)| *known != place);
        self.0.truncate(INVALID_MAX - 1);
        self.0.push_front((place, Instant::now()));
    }
}

impl Socket {
    /// Says what became of datagrams that were last sent without a source. What the kernel does not send then, for all that
    /// it was asked for less, it does not send to that place, where nothing goes for a while.
    pub(super) fn settle(
        &mut self,
        to: SocketAddr,
        sent: Result<(), (usize, io::Error)>,
    ) -> Result<(), (usize, SendError)> {
        if matches!(&sent, Err((_, error)) if error.kind() == ErrorKind::InvalidInput) {
            self.regain();
            self.invalid.insert(to);
        }
        sent.map_err(|(sent, error)| (sent, error.into()))
    }
}
