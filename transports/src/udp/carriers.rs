//! By what the links of a node go, and why not by RDMA.

use super::Udp;
use super::transport::{Driver, Shared};
use crate::secure::key::PublicKey;
use crate::station::{Carrier, Change};
use std::task::{Context, Waker};
use std::thread;
use std::time::{Duration, Instant};

/// How long a node that departs lets packets leave by queue pairs: a peer that does not take them is not waited for.
const LEAVES_FOR: Duration = Duration::from_millis(5);

impl Udp {
    /// By what packets to a node go; `None` without a link to it.
    #[must_use]
    pub fn carrier(&self, peer: &PublicKey) -> Option<Carrier> {
        self.shared.station.lock().carrier(peer)
    }

    /// The latest changes of what carries links, the oldest first, with
    /// [RDMA](super::Settings::rdma).
    #[must_use]
    pub fn carriers(&self) -> Vec<Change> {
        self.shared.station.lock().changes().copied().collect()
    }

    /// Why there is no RDMA device, or what it refused last; `None` if nothing is wrong as far as it was tried.
    #[must_use]
    pub fn rdma_failure(&self) -> Option<String> {
        let driver = self.shared.driver.lock();
        driver.pairs.as_ref().map_or_else(|| driver.pairs_failure.clone(), |pairs| pairs.failure())
    }
}

impl Driver {
    /// Closes the device: its memory is pinned, and nobody has a use for it when all links have ended. [RDMA-9]
    pub(super) fn end_pairs(&mut self) {
        if let Some(pairs) = self.pairs.take() {
            self.pairs_failure = pairs.failure();
        }
    }

    /// Sends what there is by queue pairs, as far as they have room at once, and lets it leave: those that are closed
    /// throw away what has not. [RDMA-9]
    pub(super) fn send_last_paired(&mut self, shared: &Shared) {
        let now = shared.station.lock().now();
        let Some(pairs) = &mut self.pairs else { return };
        pairs.send(&shared.station, &mut Context::from_waker(Waker::noop()), now);
        let began = Instant::now();
        let mut is_sending = || pairs.is_sending(&shared.station, now);
        while crate::planted!("rdma-closed-at-once": is_sending() => false)
            && began.elapsed() < LEAVES_FOR
        {
            thread::yield_now();
        }
    }
}
