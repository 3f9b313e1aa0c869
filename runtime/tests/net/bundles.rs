//! Messages that wait in a proxy together leave in one frame, and each is what it would be in a frame of its own; in
//! simulated worlds, where a test stands at the other end of the connection.

use greenroom::net::{
    Frame, FrameBuf, Identity, Incarnation, Link, Loopback, Node, NodeId, Order, Transport,
};
use greenroom::sim::{World, WorldClock};
use greenroom::{Actor, AskError, Ref, System, handlers};
use proptest::prelude::*;
use serde::{Deserialize, Serialize, Serializer};
use std::cell::RefCell;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// A number that cannot be sent if it is 13.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct Lucky(u8);

impl Serialize for Lucky {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0 == 13 {
            return Err(serde::ser::Error::custom("not that one"));
        }
        serializer.serialize_u8(self.0)
    }
}

/// What is at the other end, which the test stands for.
#[derive(Actor)]
struct Sink;

#[handlers(wire = "test.sink/1")]
impl Sink {
    #[tell]
    fn short(&mut self, number: Lucky) {
        let _ = number;
    }
    #[tell]
    fn long(&mut self, bytes: Vec<u8>) {
        let _ = bytes;
    }
    #[ask]
    fn sum(&self, number: u8) -> u8 {
        number
    }
}

/// What is told or asked.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Said {
    Short(u8),
    Long(usize),
    Asked(u8),
}

const NUMBER: u64 = 7;

type Asking = Pin<Box<dyn Future<Output = Result<u8, AskError>>>>;

/// The other end of a connection.
struct Spy {
    link: Box<dyn Link>,
    sink: Ref<Sink>,
    /// Keeps the connection.
    _node: Node,
    /// Questions that wait for their answers.
    asking: RefCell<Vec<Asking>>,
}

fn identity(number: u64) -> Identity {
    Identity { node: NodeId(number), incarnation: Incarnation(1) }
}

impl Spy {
    /// Connects a node of `system` with the test, which gives credit for so many messages.
    async fn new(system: &System, window: u32) -> Self {
        let network = Loopback::new().frames_max(1024);
        let node = Node::start(system, network.node("here", identity(1))).unwrap();
        let spy = network.node("spy", identity(2));
        let peer = node.connect(&"loopback:spy".parse().unwrap()).await.unwrap();
        let link = poll_fn(|cx| spy.poll_link(cx)).await.unwrap();
        let mut finding = Box::pin(peer.find::<Sink>("sink"));
        assert!(finding.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        let mut asked = FrameBuf::default();
        poll_fn(|cx| link.poll_receive(cx, &mut asked)).await.unwrap();
        let Ok(Frame::Find { correlation, .. }) = Frame::parse(&asked) else { panic!("{asked:?}") };
        let found = Frame::Found { correlation, actor: NUMBER, window };
        link.submit(Order::Free, &found.to_bytes()).unwrap();
        let sink = finding.await.unwrap();
        Self { link, sink, _node: node, asking: RefCell::default() }
    }

    /// The frames that have come by now: what is said in each.
    fn frames(&self) -> Vec<Vec<Said>> {
        let mut cx = Context::from_waker(Waker::noop());
        let mut frames = Vec::new();
        let mut frame = FrameBuf::default();
        while let Poll::Ready(Ok(())) = self.link.poll_receive(&mut cx, &mut frame) {
            frames.push(read(&frame));
        }
        frames
    }

    /// Gives credit for so many messages altogether.
    fn grant(&self, messages: u64) {
        let credit = Frame::Credit { actor: NUMBER, messages };
        self.link.submit(Order::Free, &credit.to_bytes()).unwrap();
    }

    /// Says it to the sink, and lets nobody run meanwhile.
    fn say(&self, said: Said) {
        match said {
            Said::Short(number) => self.sink.short(Lucky(number)).try_send().unwrap(),
            Said::Long(bytes) => self.sink.long(vec![7; bytes]).try_send().unwrap(),
            Said::Asked(number) => {
                let sink = self.sink.clone();
                let mut asking = Box::pin(async move { sink.sum(number).await });
                let polled = asking.as_mut().poll(&mut Context::from_waker(Waker::noop()));
                assert!(polled.is_pending());
                self.asking.borrow_mut().push(asking);
            }
        }
    }
}

/// What a frame says.
fn read(frame: &[u8]) -> Vec<Said> {
    let told = |arguments: &[u8]| match *arguments {
        [number] => Said::Short(number),
        // Behind its length.
        _ => Said::Long(arguments.len() - if arguments.len() < 129 { 1 } else { 2 }),
    };
    match Frame::parse(frame) {
        Ok(Frame::Tell(envelope)) => vec![told(envelope.arguments)],
        Ok(Frame::Tells(envelopes)) => envelopes.map(|envelope| told(envelope.arguments)).collect(),
        Ok(Frame::Ask { envelope, .. }) => vec![Said::Asked(envelope.arguments[0])],
        other => panic!("{other:?}"),
    }
}

/// Runs `test` in a world with a system and the other end of its connection.
fn in_world<T>(
    seed: u64,
    window: u32,
    test: impl AsyncFnOnce(&System, &Spy, &WorldClock) -> T,
) -> T {
    let mut world = World::new(seed);
    let here = world.node("here").start();
    let clock = world.clock();
    world.run(async {
        let system = here.system();
        let spy = Spy::new(&system, window).await;
        test(&system, &spy, &clock).await
    })
}

/// As long as everything takes that happens by itself.
const SOON: Duration = Duration::from_secs(1);

fn shorts(numbers: std::ops::Range<u8>) -> Vec<Said> {
    numbers.map(Said::Short).collect()
}

// [ENV-18]
#[test]
fn what_waits_together_leaves_together() {
    let alone = |said| vec![said];
    let cases = [
        (alone(Said::Short(1)), vec![alone(Said::Short(1))]),
        (shorts(0..10), vec![shorts(0..10)]),
        // What is long, or asked, is alone, and nothing overtakes it.
        (
            [shorts(0..3), alone(Said::Long(2000)), shorts(3..5)].concat(),
            vec![shorts(0..3), alone(Said::Long(2000)), shorts(3..5)],
        ),
        (
            [shorts(0..3), alone(Said::Asked(9)), shorts(3..5)].concat(),
            vec![shorts(0..3), alone(Said::Asked(9)), shorts(3..5)],
        ),
        // What cannot be sent holds nothing up.
        ([shorts(0..3), alone(Said::Short(13)), shorts(3..5)].concat(), vec![shorts(0..5)]),
        ([shorts(0..3), alone(Said::Short(13))].concat(), vec![shorts(0..3)]),
        (alone(Said::Short(13)), vec![]),
        // Those of another kind are in the same frame.
        (
            [shorts(0..2), alone(Said::Long(20)), alone(Said::Long(30)), shorts(2..3)].concat(),
            vec![
                [shorts(0..2), alone(Said::Long(20)), alone(Said::Long(30)), shorts(2..3)].concat(),
            ],
        ),
    ];
    for seed in 0..8 {
        for (said, expected) in &cases {
            let frames = in_world(seed, 1000, async |_, spy, clock| {
                said.iter().for_each(|said| spy.say(*said));
                clock.sleep(SOON).await;
                spy.frames()
            });
            assert_eq!(frames, *expected, "seed {seed}, {said:?}");
        }
    }
}

// [ENV-18]
#[test]
fn a_frame_has_no_more_than_its_share() {
    let lengths = in_world(0, 1000, async |_, spy, clock| {
        (0..200).for_each(|_| spy.say(Said::Short(1)));
        clock.sleep(SOON).await;
        (0..10).for_each(|_| spy.say(Said::Long(300)));
        clock.sleep(SOON).await;
        spy.frames().iter().map(Vec::len).collect::<Vec<_>>()
    });
    assert_eq!(lengths, [64, 64, 64, 8, 3, 3, 3, 1]);
}

// [G-REMOTE-6] [ENV-11] [ENV-18]
#[test]
fn a_frame_waits_for_credit_for_all_that_is_in_it() {
    in_world(0, 1, async |_, spy, clock| {
        shorts(0..11).into_iter().for_each(|said| spy.say(said));
        clock.sleep(SOON).await;
        assert_eq!(spy.frames(), [shorts(0..1)]);
        for granted in [3, 10] {
            spy.grant(granted);
            clock.sleep(SOON).await;
            assert_eq!(spy.frames(), Vec::<Vec<_>>::new(), "{granted} granted");
        }
        spy.grant(11);
        clock.sleep(SOON).await;
        assert_eq!(spy.frames(), [shorts(1..11)]);
    });
}

// [ENV-11] [ENV-18]
#[test]
fn credit_is_used_up_before_more_is_waited_for() {
    for unsent in [false, true] {
        in_world(0, 4, async |_, spy, clock| {
            spy.say(Said::Short(0));
            clock.sleep(SOON).await;
            if unsent {
                spy.say(Said::Short(13));
                clock.sleep(SOON).await;
            }
            shorts(1..6).into_iter().for_each(|said| spy.say(said));
            clock.sleep(SOON).await;
            assert_eq!(spy.frames(), [shorts(0..1), shorts(1..4)]);
            spy.grant(6);
            clock.sleep(SOON).await;
            assert_eq!(spy.frames(), [shorts(4..6)]);
        });
    }
}

// [G-REMOTE-7] [ENV-12]
#[test]
fn who_waits_for_credit_to_ask_hears_that_the_actor_has_ended() {
    in_world(0, 0, async |system, spy, clock| {
        let mut letters = system.dead_letters();
        shorts(0..5).into_iter().for_each(|said| spy.say(said));
        spy.say(Said::Asked(1));
        clock.sleep(Duration::from_millis(1)).await;
        let ended = Frame::Ended { actor: NUMBER, how: 1, text: "" };
        spy.link.submit(Order::BehindAll, &ended.to_bytes()).unwrap();
        clock.sleep(SOON).await;
        let mut asking = spy.asking.take().pop().unwrap();
        let outcome = asking.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        let Poll::Ready(Err(error)) = outcome else { panic!("{outcome:?}") };
        assert_eq!(error, AskError::Closed);
        // Who asked has been told already.
        assert_eq!(std::iter::from_fn(|| letters.try_next()).count(), 5);
    });
}

// [G-REMOTE-7]
#[test]
fn what_waits_for_credit_when_the_system_ends_is_reported_once() {
    let waiting = [
        vec![],
        vec![Said::Long(2000)],
        vec![Said::Short(13)],
        vec![Said::Asked(1)],
        [vec![Said::Asked(1)], shorts(5..9)].concat(),
    ];
    for behind in waiting {
        let said = [shorts(0..5), behind].concat();
        in_world(0, 0, async |system, spy, clock| {
            let mut letters = system.dead_letters();
            said.iter().for_each(|said| spy.say(*said));
            clock.sleep(Duration::from_millis(1)).await;
            let _ = system.shutdown(Duration::from_millis(5)).await;
            let reported = std::iter::from_fn(|| letters.try_next()).count();
            assert_eq!(reported, said.len(), "{said:?}");
            for mut asking in spy.asking.take() {
                let outcome = asking.as_mut().poll(&mut Context::from_waker(Waker::noop()));
                assert!(matches!(outcome, Poll::Ready(Err(_))), "{said:?}: {outcome:?}");
            }
        });
    }
}

/// What happens to a connection.
#[derive(Clone, Copy, Debug)]
enum Deed {
    Say(Said),
    Pause,
    Grant(u64),
    Read,
}

fn deed() -> impl Strategy<Value = Deed> {
    prop_oneof![
        6 => (0..30_u8).prop_map(|number| Deed::Say(Said::Short(number))),
        2 => (0..1500_usize).prop_map(|bytes| Deed::Say(Said::Long(bytes + 2))),
        1 => any::<u8>().prop_map(|number| Deed::Say(Said::Asked(number))),
        2 => Just(Deed::Pause),
        1 => (0..40_u64).prop_map(Deed::Grant),
        1 => Just(Deed::Read),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(sanitized) { 20 } else { 200 }))]

    /// Whatever is said, and whenever there is credit: everything leaves in order, within its credit. When the
    /// connection ends in the middle, what has not come is reported, each message once.
    // [G-REMOTE-1] [G-REMOTE-2] [G-REMOTE-7] [ENV-18]
    #[test]
    fn every_message_comes_in_order_or_is_reported(
        seed in any::<u64>(),
        deeds in prop::collection::vec(deed(), 1..120),
        window in 0..20_u32,
        breaks in any::<bool>(),
    ) {
        in_world(seed, window, async |system, spy, clock| {
            let mut letters = system.dead_letters();
            let mut granted = u64::from(window);
            let (mut said, mut came) = (Vec::new(), Vec::new());
            for deed in deeds {
                match deed {
                    // Who asks hears by itself what becomes of it.
                    Deed::Say(Said::Asked(_)) if breaks => {}
                    Deed::Say(it) => {
                        spy.say(it);
                        said.push(it);
                    }
                    Deed::Pause => clock.sleep(Duration::from_micros(20)).await,
                    Deed::Grant(more) => {
                        granted += more;
                        spy.grant(granted);
                    }
                    Deed::Read => came.extend(spy.frames().concat()),
                }
                assert!(came.len() as u64 <= granted);
            }
            if breaks {
                came.extend(spy.frames().concat());
                spy.link.close();
            } else {
                spy.grant(1_000_000);
            }
            clock.sleep(SOON).await;
            came.extend(spy.frames().concat());
            let mut reported = 0;
            while letters.try_next().is_some() {
                reported += 1;
            }
            let missing = said.len() - came.len();
            said.retain(|said| *said != Said::Short(13));
            assert_eq!(came, said[..came.len()]);
            assert!(breaks || came.len() == said.len(), "{came:?}");
            assert_eq!(reported, missing);
        });
    }
}
