//! Wakers of those who wait for a node that panic, as those of an executor that is gone: the node goes on for all others.

use crate::calls::{Book, end, settings, started};
use crate::support::until;
use crate::{LONG, soon};
use greenroom::Ref;
use greenroom::net::{Address, ConnectError, Connecting, Drive, Export, Transport};
use greenroom_transports::link::Ecn;
use greenroom_transports::secure::endpoint::Arrival;
use greenroom_transports::secure::entropy::System as Entropy;
use greenroom_transports::secure::identity::Identity;
use greenroom_transports::secure::key::Key;
use greenroom_transports::udp::socket::SendError;
use greenroom_transports::udp::{Datagrams, Udp};
use std::future::{Future, poll_fn};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroUsize;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;
use tokio::sync::oneshot;
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

// [G-PANIC-1]
#[test]
fn of_who_waits_for_a_connection() {
    soon(async {
        let (here, there) = (started(LONG, bound(1, &[2, 3])), started(LONG, bound(2, &[1])));
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
        let late = started(LONG, late);
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

/// Connects again as soon as it is woken.
struct Again {
    udp: Udp,
    to: Address,
    tries: Mutex<Vec<Connecting>>,
}

impl Wake for Again {
    fn wake(self: Arc<Self>) {
        let again = self.udp.connect(&self.to);
        self.tries.lock().unwrap().push(again);
    }
}

/// Breaks at its first use, during which something happens.
struct Breaking(Box<dyn FnMut() + Send>);

impl Datagrams for Breaking {
    fn poll_receive(
        &mut self,
        _: &mut Context<'_>,
        _: &mut dyn FnMut(Arrival, &mut [u8]),
    ) -> Poll<io::Result<()>> {
        (self.0)();
        Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()))
    }

    fn send(
        &mut self,
        _: Option<IpAddr>,
        _: SocketAddr,
        _: Ecn,
        _: &[u8],
        _: NonZeroUsize,
    ) -> Result<(), (usize, SendError)> {
        Ok(())
    }

    fn send_cut(&mut self, _: Option<IpAddr>, _: SocketAddr, _: &[u8]) -> Result<(), SendError> {
        Ok(())
    }

    fn poll_writable(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn segments_max(&self) -> usize {
        1
    }
}

/// Has four connect, by turns with wakers that panic and that connect again at once.
fn connect(udp: &Udp, broken: &Arc<Broken>, to: &str) -> Vec<Connecting> {
    let to: Address = to.parse().unwrap();
    let again = Again { udp: udp.clone(), to: to.clone(), tries: Mutex::default() };
    let wakers = [Waker::from(Arc::clone(broken)), Waker::from(Arc::new(again))];
    let waits = wakers.iter().cycle().take(4).map(|waker| {
        let mut connecting = udp.connect(&to);
        assert!(connecting.as_mut().poll(&mut Context::from_waker(waker)).is_pending());
        connecting
    });
    waits.collect()
}

/// Whoever waits for a connection of a transport that ends hears of it, with no lock held.
async fn ends(
    udp: Udp,
    broken: Arc<Broken>,
    waiting: usize,
    end: impl FnOnce(Udp) -> Vec<Connecting> + Send + 'static,
) {
    let (done, outcome) = oneshot::channel();
    // A thread of its own is the one that may hang.
    thread::spawn(move || soon(async { done.send(end(udp)) }));
    let told = outcome.await.expect("nobody's panic gets that far");
    assert_eq!((told.len(), broken.count()), (waiting, waiting as u32 / 2));
    for connecting in told {
        assert_eq!(connecting.await, Err(ConnectError::Closed));
    }
}

// [G-PANIC-1]
#[test]
fn of_who_waits_for_a_connection_of_a_transport_that_is_closed() {
    soon(async {
        let (udp, broken) = (bound(1, &[]), Arc::new(Broken::default()));
        let told = Arc::clone(&broken);
        ends(udp, broken, 4, move |udp| {
            let waiting = connect(&udp, &told, "udp:127.0.0.1:9");
            udp.close();
            waiting
        })
        .await;
    });
}

// [G-PANIC-1]
#[test]
fn of_who_waits_for_a_connection_of_a_transport_that_breaks() {
    soon(async {
        let broken = Arc::new(Broken::default());
        let (late, waits) = mpsc::channel();
        let (sender, itself) = mpsc::channel::<Udp>();
        let told = Arc::clone(&broken);
        // In the midst of a turn.
        let during = move || {
            let waiting = connect(&itself.recv().unwrap(), &told, "udp:127.0.0.1:9");
            late.send(waiting).unwrap();
        };
        let (socket, at) = (Breaking(Box::new(during)), "127.0.0.1:7".parse().unwrap());
        let udp = Udp::over(settings(1), socket, at, Box::new(Entropy), Duration::ZERO).unwrap();
        sender.send(udp.clone()).unwrap();
        let told = Arc::clone(&broken);
        ends(udp, broken, 8, move |udp| {
            // It is looked up when the socket breaks.
            let mut waiting = connect(&udp, &told, "udp:nowhere");
            let driven = udp.drive(&mut Context::from_waker(Waker::noop()), Duration::ZERO);
            assert_eq!(driven, Drive::Ended);
            waiting.extend(waits.recv().unwrap());
            waiting
        })
        .await;
    });
}
