//! A transport whose links are handed out when they go by a queue pair, so that what is checked goes there.

use greenroom::net::{Address, Connecting, Drive, Identity, Link, Transport};
use greenroom_transports::secure::identity::Identity as Keys;
use greenroom_transports::secure::key::{Key, PublicKey};
use greenroom_transports::station::Carrier;
use greenroom_transports::udp::{Settings, Udp};
use std::sync::Mutex;
use std::task::{Context, Poll};
use std::time::Duration;

/// When a node's turn is at the latest, for what its device does at that time: now, and until when without it.
pub(crate) type Until = fn(Duration, Option<Duration>) -> Option<Duration>;

/// See the [module](self).
pub(crate) struct ByPairs {
    udp: Udp,
    peer: PublicKey,
    until: Until,
    /// A link that is up and goes by UDP still.
    held: Mutex<Option<Box<dyn Link>>>,
}

fn keys(who: u8) -> Keys {
    Keys::new(Key::new([who; 32]))
}

/// Two that know each other, and where they are. `make` binds one, which has a number.
pub(crate) fn two(until: Until, make: impl Fn(usize, Settings) -> Udp) -> [(ByPairs, Address); 2] {
    [0, 1].map(|at: usize| {
        let [own, other] = [at, 1 - at].map(|who| keys(1 + who as u8));
        let peer = other.public();
        let udp = make(at, Settings::new(own).peer(peer, None));
        let address = udp.node_address();
        (ByPairs { udp, peer, until, held: Mutex::new(None) }, address)
    })
}

impl Transport for ByPairs {
    fn identity(&self) -> Identity {
        self.udp.identity()
    }

    fn connect(&self, to: &Address) -> Connecting {
        self.udp.connect(to)
    }

    fn connect_told(&self, to: &Address) -> Connecting {
        self.udp.connect_told(to)
    }

    fn drive(&self, cx: &mut Context<'_>, now: Duration) -> Drive {
        match self.udp.drive(cx, now) {
            Drive::Until(until) => Drive::Until((self.until)(now, until)),
            ended @ Drive::Ended => ended,
        }
    }

    fn poll_link(&self, cx: &mut Context<'_>) -> Poll<Option<Box<dyn Link>>> {
        let mut held = self.held.lock().expect("nobody panics here");
        if held.is_none() {
            match self.udp.poll_link(cx) {
                Poll::Ready(Some(link)) => *held = Some(link),
                other => return other,
            }
        }
        if self.udp.carrier(&self.peer) == Some(Carrier::Rdma) {
            return Poll::Ready(held.take());
        }
        // Nobody is woken when a link moves.
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    fn close(&self) {
        self.udp.close();
    }

    fn depart(&self) {
        self.udp.depart();
    }
}
