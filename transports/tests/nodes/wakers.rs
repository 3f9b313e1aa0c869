//! Wakers of those who wait for a node that panic, as those of an executor that is gone: the node goes on for all others.

use crate::calls::{Book, Place, end, settings};
use crate::support::until;
use crate::{LONG, soon};
use greenroom::net::{Drive, Export, Node, Transport};
use greenroom::{Ref, System};
use greenroom_transports::secure::identity::Identity;
use greenroom_transports::secure::key::Key;
use greenroom_transports::udp::Udp;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;
use tokio::task::unconstrained;

/// Counts how often it was woken, and panics each time.
#[derive(Default)]
struct Broken {
    woken: AtomicU32,
}

impl Wake for Broken {
    fn wake(self: Arc<Self>) {
        self.woken.fetch_add(1, Ordering::Relaxed);
        panic!("nobody is there to be woken");
    }
}

impl Broken {
    fn count(&self) -> u32 {
        self.woken.load(Ordering::Relaxed)
    }

    /// Polls `future` once, and leaves itself there.
    fn waits_for<F: Future + ?Sized>(self: &Arc<Self>, future: Pin<&mut F>) {
        let waker = Waker::from(Arc::clone(self));
        let polled = pin!(unconstrained(future)).poll(&mut Context::from_waker(&waker));
        assert!(polled.is_pending(), "it has to wait");
    }
}

fn bound(host: u8, peers: &[u8]) -> Udp {
    let public = |host| Identity::new(Key::new([host; 32])).public();
    let settings = peers.iter().fold(settings(host), |it, peer| it.peer(public(*peer), None));
    Udp::bind(settings, "127.0.0.1:0".parse().unwrap()).unwrap()
}

fn started(udp: Udp) -> Place {
    let system = System::builder().workers(1).ask_timeout(LONG).build().unwrap();
    let node = Node::start(&system, udp.clone()).unwrap();
    Place { system, udp, node }
}

// [G-PANIC-1]
#[test]
fn of_who_waits_for_a_connection() {
    soon(async {
        let (here, there) = (started(bound(1, &[2, 3])), started(bound(2, &[1])));
        let book = there.system.spawn::<Book>(Book::default()).await.unwrap();
        there.node.export("book", Export::of(&book)).unwrap();
        let peer = here.node.connect(&there.udp.node_address()).await.unwrap();
        let far: Ref<Book> = peer.find("book").await.unwrap();
        far.note(1).await.unwrap();

        // It does not answer before it is started.
        let late = bound(3, &[1]);
        let broken = Arc::new(Broken::default());
        let to = late.node_address();
        let mut connecting = Box::pin(here.node.connect(&to));
        broken.waits_for(connecting.as_mut());
        let late = started(late);
        until(|| broken.count() > 0).await;
        far.note(2).await.unwrap();
        assert_eq!(far.notes().within(LONG).await, Ok(vec![1, 2]), "it serves others");
        here.node.connect(&to).await.unwrap();
        assert_eq!(
            connecting.await.map(|peer| peer.identity()).unwrap().node,
            late.udp.identity().node
        );
        end([here, there, late]).await;
    });
}

/// Drives a transport until that is so.
async fn drive(udp: &Udp, until: impl Fn() -> bool) {
    poll_fn(|cx| {
        assert!(matches!(udp.drive(cx, Duration::ZERO), Drive::Until(_)));
        if until() { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}

// [G-PANIC-1]
#[test]
fn of_who_waits_for_a_name() {
    soon(async {
        let udp = bound(1, &[]);
        let broken = Arc::new(Broken::default());
        // No name with a port, so that nobody is asked for it.
        let to = format!("udp:nowhere#{}", bound(2, &[]).public()).parse().unwrap();
        let mut waiting: Vec<_> = (0..3).map(|_| udp.connect(&to)).collect();
        waiting.iter_mut().for_each(|connecting| broken.waits_for(connecting.as_mut()));
        drive(&udp, || broken.count() == 3).await;
        for connecting in waiting {
            assert!(connecting.await.is_err());
        }
    });
}

// [G-PANIC-1]
#[test]
fn of_who_waits_for_a_change_of_carriers() {
    soon(async {
        let udp = bound(1, &[]);
        let broken = Arc::new(Broken::default());
        let mut watchers: Vec<_> = (0..3).map(|_| udp.carrier_changes()).collect();
        for changes in &mut watchers {
            broken.waits_for(pin!(changes.next()));
        }
        udp.close();
        assert_eq!(broken.count(), 3, "each is told, whoever was told before");
    });
}
