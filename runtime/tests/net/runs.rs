//! Messages that come in one frame are handed in as one, and each is what it would be in a frame of its own; in
//! simulated worlds, where a test stands at the other end of the connection.

use greenroom::net::{
    Envelope, Export, Frame, FrameBuf, Identity, Incarnation, Link, Loopback, Node, NodeId, Order,
    Peer, Transport,
};
use greenroom::sim::World;
use greenroom::{Actor, Undelivered, handlers};
use proptest::prelude::*;
use serde::{Deserialize, Deserializer, Serialize, de};
use std::future::poll_fn;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// A number whose decoder panics at 13, and takes no 14.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Moody(u8);

impl<'de> Deserialize<'de> for Moody {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        match u8::deserialize(from)? {
            13 => panic!("not that one"),
            14 => Err(de::Error::custom("nor that one")),
            number => Ok(Self(number)),
        }
    }
}

/// Notes what it is told, and has room for few.
#[derive(Actor)]
#[actor(mailbox = bounded(5))]
struct Tally(Vec<u8>);

#[handlers(wire = "test.tally/1")]
impl Tally {
    #[start]
    fn start(_: ()) -> Self {
        Self(Vec::new())
    }
    #[tell]
    fn note(&mut self, number: Moody) {
        self.0.push(number.0);
    }
    #[ask]
    fn notes(&self) -> Vec<u8> {
        self.0.clone()
    }
}

const SOON: Duration = Duration::from_millis(100);

/// The other end of a connection.
struct Spy(Box<dyn Link>);

/// What is said of messages: those that were refused, with why, and for how many there is credit altogether.
type Heard = (Vec<(u32, Undelivered)>, u64);

impl Spy {
    fn say(&self, frame: &[u8]) {
        self.0.submit(Order::Free, frame).unwrap();
    }

    /// The next frame, which has come.
    fn next(&self) -> Option<Vec<u8>> {
        let mut frame = FrameBuf::default();
        let polled = self.0.poll_receive(&mut Context::from_waker(Waker::noop()), &mut frame);
        matches!(polled, Poll::Ready(Ok(()))).then(|| frame.into_own())
    }

    /// Which message a note is, and what it looks like, as a node says it that tells one.
    async fn learn(&self, peer: &Peer) -> (u32, u32) {
        let mut finding = Box::pin(peer.find::<Tally>("tally"));
        assert!(finding.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        let asked = self.next().unwrap();
        let Ok(Frame::Find { correlation, .. }) = Frame::parse(&asked) else { panic!("{asked:?}") };
        self.say(&Frame::Found { correlation, actor: 7, window: 1 }.to_bytes());
        finding.await.unwrap().note(Moody(1)).await.unwrap();
        let mut told = FrameBuf::default();
        poll_fn(|cx| self.0.poll_receive(cx, &mut told)).await.unwrap();
        let Ok(Frame::Tell(Envelope { message, schema, .. })) = Frame::parse(&told) else {
            panic!("{told:?}")
        };
        (message, schema)
    }

    /// Searches for the tally; returns its number, and for how many messages there is credit.
    async fn find(&self) -> (u64, u64) {
        self.say(&Frame::Find { correlation: 1, protocol: "test.tally", name: "tally" }.to_bytes());
        let mut found = FrameBuf::default();
        poll_fn(|cx| self.0.poll_receive(cx, &mut found)).await.unwrap();
        match Frame::parse(&found) {
            Ok(Frame::Found { correlation: 1, actor, window }) => (actor, window.into()),
            other => panic!("{other:?}"),
        }
    }

    fn hear(&self, (refused, granted): &mut Heard) {
        while let Some(frame) = self.next() {
            match Frame::parse(&frame) {
                Ok(Frame::Undelivered { message, why, .. }) => refused.push((message, why)),
                Ok(Frame::Credit { messages, .. }) => *granted = messages,
                other => panic!("{other:?}"),
            }
        }
    }
}

/// As one frame, each number a note; 15 is one of another shape, and 16 no message of the tally's.
fn tells(actor: u64, (message, schema): (u32, u32), numbers: &[u8]) -> Vec<u8> {
    let mut bytes = vec![17];
    bytes.extend(actor.to_le_bytes());
    bytes.extend(1_u16.to_le_bytes());
    for number in numbers {
        let message = if *number == 16 { message ^ 1 } else { message };
        let schema = if *number == 15 { schema ^ 1 } else { schema };
        bytes.extend((1 | 1_u32 << 31).to_le_bytes());
        bytes.push(*number);
        bytes.extend(message.to_le_bytes());
        bytes.extend(schema.to_le_bytes());
    }
    bytes
}

fn identity(number: u64) -> Identity {
    Identity { node: NodeId(number), incarnation: Incarnation(1) }
}

/// What becomes of those messages, of which those in one list come in one frame: what is noted, and what is said.
fn history(seed: u64, frames: &[Vec<u8>]) -> (Vec<u8>, Heard) {
    let mut world = World::new(seed);
    let here = world.node("here").start();
    let clock = world.clock();
    world.run(async {
        let system = here.system();
        let network = Loopback::new().frames_max(1024);
        let node = Node::start(&system, network.node("here", identity(1))).unwrap();
        let tally = system.spawn::<Tally>(()).await.unwrap();
        node.export("tally", Export::of(&tally)).unwrap();
        let spy = network.node("spy", identity(2));
        let peer = node.connect(&"loopback:spy".parse().unwrap()).await.unwrap();
        let spy = Spy(poll_fn(|cx| spy.poll_link(cx)).await.unwrap());
        let note = spy.learn(&peer).await;
        let (actor, window) = spy.find().await;
        let mut heard = (Vec::new(), window);
        let mut sent = 0;
        for numbers in frames {
            sent += numbers.len() as u64;
            assert!(sent <= heard.1, "half of the credit is renewed in time");
            spy.say(&tells(actor, note, numbers));
            clock.sleep(SOON).await;
            spy.hear(&mut heard);
        }
        assert!(heard.1 - sent > window / 2, "{} of {sent} messages", heard.1);
        heard.1 = 0;
        (tally.notes().await.unwrap(), heard)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(sanitized) { 8 } else { 64 }))]

    /// Whatever is in which frames: what is right is noted in order, what is wrong is refused for its own reason, and
    /// each as if it had come by itself.
    // [ENV-8] [ENV-11] [ENV-18]
    #[test]
    fn together_each_is_what_it_is_alone(
        frames in prop::collection::vec(
            prop::collection::vec(prop_oneof![6 => 0..13_u8, 1 => 13..17_u8], 1..20),
            1..16,
        ),
        seed in any::<u64>(),
    ) {
        let alone: Vec<_> = frames.concat().into_iter().map(|number| vec![number]).collect();
        let (noted, heard) = history(seed, &frames);
        let right: Vec<u8> = alone.concat().into_iter().filter(|number| *number < 13).collect();
        prop_assert_eq!(&noted, &right);
        prop_assert_eq!((noted, heard), history(seed, &alone));
    }
}
