//! A link on which some frames are late, and whatever may overtake them does.

use crate::stage::{Book, Place, identity, open};
use crate::support::{Builds, LONG, OwnSystem, run, soon, until};
use crate::wrapped::Wrapped;
use greenroom::net::{
    ConnectionEnd, Frame, FrameBuf, Identity, Link, LinkEnd, Loopback, Node, Order, SubmitError,
};
use greenroom::{Scheduler, System};
use parking_lot::Mutex;
use std::sync::Arc;
use std::task::{self, Poll};

/// Whether a frame is to be late.
type Which = fn(&Frame<'_>) -> bool;

/// The way to another node, which has one link.
#[derive(Clone)]
pub(crate) struct Way {
    which: Which,
    held: Arc<Mutex<Held>>,
}

#[derive(Default)]
struct Held {
    link: Option<Arc<Box<dyn Link>>>,
    /// Those that are late, and those that they hold up.
    frames: Vec<(Order, Vec<u8>)>,
    /// How many frames were submitted, and how many before the first that is late.
    submitted: u64,
    before: u64,
    /// Whether none is late any more.
    is_clear: bool,
}

impl Held {
    /// Whether a frame of that order must not overtake what is held.
    fn holds_up(&self, order: Order) -> bool {
        match order {
            Order::Free => false,
            Order::BehindAll => !self.frames.is_empty(),
            _ => self.frames.iter().any(|(held, _)| *held == order),
        }
    }
}

impl Way {
    pub(crate) fn new(which: Which) -> Self {
        Self { which, held: Arc::default() }
    }

    /// A node there that has such a way to others.
    pub(crate) fn node(&self, network: &Loopback, name: &'static str) -> (OwnSystem, Node) {
        let way = self.clone();
        let transport = Wrapped::new(network.node(name, identity(name)), move |link| {
            let link = Arc::new(link);
            way.held.lock().link = Some(Arc::clone(&link));
            Overtaken { link, way: way.clone() }
        });
        let system = System::builder().workers(2).scheduler(Scheduler::stealing()).own();
        let node = Node::start(&system, transport).unwrap();
        (system, node)
    }

    /// How many frames are held.
    pub(crate) fn held(&self) -> usize {
        self.held.lock().frames.len()
    }

    /// What was late arrives, in order, and nothing is late any more.
    pub(crate) fn clear(&self) {
        let mut held = self.held.lock();
        held.is_clear = true;
        let link = held.link.take().unwrap();
        for (order, frame) in std::mem::take(&mut held.frames) {
            // Or the other node has ended the connection.
            assert_ne!(link.submit(order, &frame), Err(SubmitError::Full));
        }
    }
}

/// See the [module](self).
struct Overtaken {
    link: Arc<Box<dyn Link>>,
    way: Way,
}

impl Link for Overtaken {
    fn peer(&self) -> Identity {
        self.link.peer()
    }

    fn submit(&self, order: Order, frame: &[u8]) -> Result<(), SubmitError> {
        let mut held = self.way.held.lock();
        let is_late = Frame::parse(frame).is_ok_and(|frame| (self.way.which)(&frame));
        if !held.is_clear && is_late || held.holds_up(order) {
            if held.frames.is_empty() {
                held.before = held.submitted;
            }
            held.frames.push((order, frame.to_vec()));
        } else {
            self.link.submit(order, frame)?;
        }
        held.submitted += 1;
        Ok(())
    }

    fn poll_room(&self, cx: &mut task::Context<'_>) -> Poll<()> {
        self.link.poll_room(cx)
    }

    fn poll_receive(
        &self,
        cx: &mut task::Context<'_>,
        frame: &mut FrameBuf,
    ) -> Poll<Result<(), LinkEnd>> {
        self.link.poll_receive(cx, frame)
    }

    fn delivered(&self) -> u64 {
        let held = self.way.held.lock();
        let delivered = self.link.delivered();
        if held.frames.is_empty() { delivered } else { delivered.min(held.before) }
    }

    fn close(&self) {
        self.link.close();
    }
}

// [G-REMOTE-12] [ENV-15]
#[test]
fn who_joins_in_the_place_of_another_is_not_heard_of_first() {
    const MEMBERS: usize = 4096;
    let network = Loopback::new().frames_max(2 * MEMBERS);
    run(async {
        let there = Place::new(&network, "there", Scheduler::stealing());
        let way = Way::new(|frame| matches!(frame, Frame::Left { .. }));
        let (here, node) = way.node(&network, "here");
        let group = |node: &Node, name: &str| node.group::<Book>(name).unwrap();
        let old = here.spawn::<Book>(open()).await.unwrap();
        for number in 0..MEMBERS {
            assert!(group(&node, &number.to_string()).join(&old));
        }
        let new = here.spawn::<Book>(open()).await.unwrap();
        assert!(!group(&node, "new").join(&new), "there are too many");
        soon(node.connect(&"loopback:there".parse().unwrap())).await.unwrap();
        // The last of which it hears at first.
        let last = group(&there.node, "999");
        until(|| last.group().members().len() == 1).await;
        assert!(group(&node, "0").leave(&old) && group(&node, "new").join(&new));
        assert_ne!(way.held(), 0);
        way.clear();
        let joined = group(&there.node, "new");
        until(|| joined.group().members().len() == 1 || there.node.peers().is_empty()).await;
        assert_eq!(there.node.ended(ConnectionEnd::Misbehaved), 0);
        assert!(group(&there.node, "0").group().members().is_empty());
        here.shutdown(LONG).await.unwrap();
        there.shut().await;
    });
}
