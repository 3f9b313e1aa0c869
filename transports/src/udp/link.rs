//! One link, as a node has it.

use super::transport::Shared;
use crate::secure::endpoint::AssociationId;
use crate::wake::wake_quietly;
use greenroom::net::{FrameBuf, Identity, Link, LinkEnd, Order, SubmitError};
use std::sync::Arc;
use std::task::{Context, Poll};

/// See the [module](self).
pub(super) struct UdpLink {
    pub(super) shared: Arc<Shared>,
    pub(super) id: AssociationId,
    pub(super) peer: Identity,
}

impl Link for UdpLink {
    fn peer(&self) -> Identity {
        self.peer
    }

    /// Wakes the driver alone: a node may hold locks meanwhile, which the wakers of others may want. Whoever has caused
    /// that they are woken is about to do it.
    fn submit(&self, order: Order, frame: &[u8]) -> Result<(), SubmitError> {
        let mut station = self.shared.station.lock();
        let submitted = station.submit(self.id, order, frame);
        let driver = station.take_driver_wake();
        drop(station);
        driver.into_iter().for_each(wake_quietly);
        submitted
    }

    fn poll_room(&self, cx: &mut Context<'_>) -> Poll<()> {
        self.shared.station.lock().poll_room(self.id, cx)
    }

    fn poll_receive(
        &self,
        cx: &mut Context<'_>,
        frame: &mut FrameBuf,
    ) -> Poll<Result<(), LinkEnd>> {
        self.shared.with(|station| station.poll_receive(self.id, cx, frame))
    }

    fn delivered(&self) -> u64 {
        self.shared.station.lock().arrived(self.id)
    }

    fn close(&self) {
        self.shared.with(|station| station.close_line(self.id));
    }
}

impl Drop for UdpLink {
    fn drop(&mut self) {
        self.shared.with(|station| station.disown(self.id));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secure::key::Key;
    use crate::udp::{Settings, Udp};
    use greenroom::net::Transport;
    use std::pin::pin;
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
    use std::task::{Wake, Waker};

    /// Counts how often it is woken.
    #[derive(Default)]
    struct Woken(AtomicUsize);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Relaxed);
        }
    }

    impl Woken {
        fn count(&self) -> usize {
            self.0.load(Relaxed)
        }
    }

    #[test]
    fn who_submits_wakes_the_driver_and_nobody_else() {
        let settings = Settings::new(crate::secure::identity::Identity::new(Key::new([2; 32])));
        let udp = Udp::bind(settings, "127.0.0.1:0".parse().unwrap()).unwrap();
        let [driver, watcher] = [0; 2].map(|_| Arc::new(Woken::default()));
        let mut changes = udp.carrier_changes();
        let mut next = pin!(changes.next());
        let waker = Waker::from(Arc::clone(&watcher));
        assert!(next.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        // Somebody else has ended the wait of both, and is about to wake them.
        let mut station = udp.shared.station.lock();
        station.set_driver(&Waker::from(Arc::clone(&driver)));
        station.close();
        drop(station);
        let (shared, id) = (Arc::clone(&udp.shared), AssociationId::of_nobody(0));
        let link = UdpLink { shared, id, peer: udp.identity() };
        assert_eq!(link.submit(Order::Free, b"frame"), Err(SubmitError::Ended));
        assert_eq!((driver.count(), watcher.count()), (1, 0));
        udp.shared.with(|_| ());
        assert_eq!((driver.count(), watcher.count()), (1, 1));
    }
}
