//! Places for which the kernel has refused something of late, so that it is not asked again for each datagram. To be told
//! so takes many calls each time: two that fail, and those that take segmentation and marks back into use.

use super::{SendError, Socket};
use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// So many are known.
pub(super) const PLACES_MAX: usize = 8;

/// For how long the kernel is not asked again to cut what goes to a place. By then the way there may be another one.
pub(super) const UNCUT_FOR: Duration = Duration::from_secs(60);

/// Those of late, with when that was, the latest first.
#[derive(Debug)]
pub(super) struct Places {
    pub(super) known: VecDeque<(SocketAddr, Instant)>,
    /// What is longer ago than that is not of late.
    span: Duration,
}

impl Places {
    pub(super) fn new(span: Duration) -> Self {
        Self { known: VecDeque::with_capacity(PLACES_MAX), span }
    }

    /// Whether the kernel refused it for that place a moment ago.
    pub(super) fn has(&self, place: SocketAddr) -> bool {
        self.known.iter().any(|(known, since)| *known == place && since.elapsed() < self.span)
    }

    /// Whether one more would take the place of another one.
    fn is_full(&self) -> bool {
        let oldest = self.known.get(PLACES_MAX - 1);
        oldest.is_some_and(|(_, since)| since.elapsed() < self.span)
    }

    pub(super) fn insert(&mut self, place: SocketAddr) {
        self.known.retain(|(known, _)| *known != place);
        self.known.truncate(PLACES_MAX - 1);
        self.known.push_front((place, Instant::now()));
    }
}

/// What the ways to all ports of a host are known by: the kernel chooses them by address.
pub(super) fn way(to: SocketAddr) -> SocketAddr {
    SocketAddr::new(to.ip(), 0)
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
        self.settle_segments(to);
        sent.map_err(|(sent, error)| (sent, error.into()))
    }

    /// The kernel took segmentation back, and marks with it, if it could not cut what was to go to that place: its way leads
    /// through a tunnel that seals, or by a device that does not add checksums. Others are sent to as before, and that one
    /// datagram by datagram for a while. Where that is so of many places it is left at that until it is long ago.
    fn settle_segments(&mut self, to: SocketAddr) {
        let to = way(to);
        let is_halted = self.offload && self.state.max_gso_segments() == 1;
        let is_halted = crate::planted!("one-way-halts-all": is_halted => false);
        if is_halted && !self.uncut.has(to) && !self.uncut.is_full() {
            self.uncut.insert(to);
            self.regain();
        }
    }
}
