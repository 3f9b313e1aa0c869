//! Places for which the kernel has refused something of late, so that it is not asked again for each datagram. To be told
//! so takes many calls each time: some that fail, and those that take segmentation and marks back into use.

use super::{SendError, Socket};
use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// So many are known; each that is not costs some calls more whenever something goes there.
pub(super) const PLACES_MAX: usize = 1024;

/// For how long the kernel is not asked again to cut what goes to a place. By then the way there may be another one.
pub(super) const UNCUT_FOR: Duration = Duration::from_secs(60);

/// Those of late, with when that was.
#[derive(Debug)]
pub(super) struct Places {
    pub(super) known: BTreeMap<SocketAddr, Instant>,
    /// What is longer ago than that is not of late.
    span: Duration,
}

impl Places {
    pub(super) fn new(span: Duration) -> Self {
        Self { known: BTreeMap::new(), span }
    }

    /// Whether the kernel refused it for that place a moment ago.
    pub(super) fn has(&self, place: SocketAddr) -> bool {
        self.known.get(&place).is_some_and(|since| since.elapsed() < self.span)
    }

    /// One that is new takes the place of the one that is known for longest, if there is no other.
    pub(super) fn insert(&mut self, place: SocketAddr) {
        if self.known.len() >= PLACES_MAX && !self.known.contains_key(&place) {
            let oldest = self.known.iter().min_by_key(|(_, since)| **since);
            if let Some(oldest) = oldest.map(|(oldest, _)| *oldest) {
                self.known.remove(&oldest);
            }
        }
        self.known.insert(place, Instant::now());
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
        match &sent {
            Err((_, error)) => {
                let is_invalid = error.kind() == ErrorKind::InvalidInput;
                if is_invalid {
                    self.invalid.insert(to);
                }
                if is_invalid || self.is_halted() {
                    self.regain();
                }
            }
            // It left without a mark, after it was refused with one. That may be otherwise elsewhere.
            Ok(()) if self.is_halted() => {
                if self.uncut.has(way(to)) {
                    self.unmarked = Some(way(to));
                } else {
                    self.uncut.insert(way(to));
                    self.regain();
                }
            }
            Ok(()) => {}
        }
        sent.map_err(|(sent, error)| (sent, error.into()))
    }

    /// Whether the socket does without segmentation and marks for the sake of another place.
    pub(super) fn is_halted_elsewhere(&self, to: SocketAddr) -> bool {
        let is_here = self.unmarked == Some(way(to)) && self.uncut.has(way(to));
        crate::planted!("halted-for-others": self.is_halted() && !is_here => false)
    }

    /// Whether the kernel took segmentation back, and marks with it.
    pub(super) fn is_halted(&self) -> bool {
        self.offload && self.state.max_gso_segments() == 1
    }
}
