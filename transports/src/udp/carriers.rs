//! By what the links of a node go, and why not by RDMA.

use super::Udp;
use super::transport::{Driver, Shared};
use crate::rdma::carrier::Failure;
use crate::secure::key::PublicKey;
use crate::station::{Carrier, Change};
use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
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

    /// The changes of what carries links from now on, to wait for.
    #[must_use]
    pub fn carrier_changes(&self) -> CarrierChanges {
        let (watcher, seen) = self.shared.station.lock().watch();
        CarrierChanges { shared: Arc::clone(&self.shared), watcher, seen }
    }

    /// Why there is no RDMA device, or what it refused last, which may be the fault of the node that is named then; `None` if it
    /// has refused nothing since it connected a queue pair, to whomever: where it serves some peers and not others,
    /// [`carriers`](Self::carriers) says of whom it refused what. Waits for nobody, also not while a device is being opened.
    #[must_use]
    pub fn rdma_failure(&self) -> Option<String> {
        self.shared.rdma_failure.as_ref().and_then(Failure::get)
    }
}

/// The changes of what carries the links of a node, one by one, with [RDMA](super::Settings::rdma).
///
/// ```
/// # async fn wait(udp: &greenroom_transports::udp::Udp) {
/// use greenroom_transports::station::Carrier;
///
/// let mut changes = udp.carrier_changes();
/// while let Some(change) = changes.next().await {
///     if let Carrier::Udp(why) = change.to {
///         println!("links to {} go by UDP: {why}", change.peer);
///     }
/// }
/// # }
/// ```
pub struct CarrierChanges {
    shared: Arc<Shared>,
    watcher: u64,
    /// How many changes were before the next one.
    seen: u64,
}

impl CarrierChanges {
    /// The next change, once there is one; `None` when the node is closed. Who is slow misses those before the latest 256.
    /// If it is dropped before it is ready nothing is missed.
    pub async fn next(&mut self) -> Option<Change> {
        let Self { shared, watcher, seen } = self;
        poll_fn(|cx| {
            let (change, _replaced) = shared.station.lock().poll_change(cx, *watcher, seen);
            change
        })
        .await
    }
}

impl Drop for CarrierChanges {
    fn drop(&mut self) {
        let _waker = self.shared.station.lock().unwatch(self.watcher);
    }
}

impl fmt::Debug for CarrierChanges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CarrierChanges({} seen)", self.seen)
    }
}

impl Driver {
    /// Closes the device: its memory is pinned, and nobody has a use for it when all links have ended. [RDMA-9]
    pub(super) fn end_pairs(&mut self) {
        self.pairs = None;
    }

    /// Sends what there is by queue pairs, as far as they have room at once, and lets it leave: those that are closed
    /// throw away what has not. [RDMA-9]
    pub(super) fn send_last_paired(&mut self, shared: &Shared) {
        let now = shared.station.lock().now();
        let Some(pairs) = &mut self.pairs else { return };
        pairs.send_last(&shared.station, now);
        let began = Instant::now();
        let mut is_sending = || pairs.is_sending(&shared.station, now);
        while crate::planted!("rdma-closed-at-once": is_sending() => false)
            && began.elapsed() < LEAVES_FOR
        {
            thread::yield_now();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secure::identity::Identity;
    use crate::secure::key::Key;
    use crate::udp::Settings;
    use std::pin::pin;
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
    use std::task::{Context, Wake, Waker};

    /// Counts how many of it are dropped while the station is free.
    struct Counted {
        shared: Arc<Shared>,
        free: Arc<AtomicUsize>,
    }

    impl Wake for Counted {
        fn wake(self: Arc<Self>) {}
    }

    impl Drop for Counted {
        fn drop(&mut self) {
            let is_free = self.shared.station.try_lock().is_some();
            self.free.fetch_add(usize::from(is_free), Relaxed);
        }
    }

    // [RDMA-46]
    #[test]
    fn wakers_of_those_who_wait_for_changes_are_dropped_outside_of_the_lock() {
        let settings = Settings::new(Identity::new(Key::new([1; 32])));
        let udp = Udp::bind(settings, "127.0.0.1:0".parse().unwrap()).unwrap();
        let free = Arc::new(AtomicUsize::new(0));
        let mut changes = udp.carrier_changes();
        for _ in 0..2 {
            let (shared, free) = (Arc::clone(&udp.shared), Arc::clone(&free));
            let waker = Waker::from(Arc::new(Counted { shared, free }));
            let mut next = pin!(changes.next());
            assert!(next.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        }
        assert_eq!(free.load(Relaxed), 1, "the second has replaced the first");
        drop(changes);
        assert_eq!(free.load(Relaxed), 2);
    }
}
