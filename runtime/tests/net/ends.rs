//! What a node says of the ends of its actors to a peer that gives little credit, for which a test stands; in simulated worlds.

use greenroom::net::{
    Export, Frame, FrameBuf, Identity, Incarnation, Link, LinkEnd, Loopback, Node, NodeId, Order,
    Transport,
};
use greenroom::sim::{World, WorldClock};
use greenroom::{Actor, Builder, Context, Ref, Scheduler, System, handlers};
use std::future::poll_fn;
use std::task::{Poll, Waker};
use std::time::Duration;

/// What is at the other end, which the test stands for.
#[derive(Actor)]
struct Sink;

#[handlers(wire = "test.sink/2")]
impl Sink {
    #[tell]
    fn take(&mut self, number: u8) {
        let _ = number;
    }
}

/// Tells it numbers, and ends.
#[derive(Actor)]
struct Speaker {
    to: Ref<Sink>,
}

#[handlers(wire = "test.speaker/4")]
impl Speaker {
    #[tell]
    async fn speak(&mut self, first: u8, end: u8, cx: &mut Context<Self>) {
        for number in first..end {
            self.to.take(number).await.unwrap();
        }
        cx.stop();
    }
}

/// Has a speaker speak, and lets others find it before it can have begun.
#[derive(Actor)]
struct Usher {
    node: Node,
    speaker: Ref<Speaker>,
}

#[handlers]
impl Usher {
    #[tell]
    fn begin(&mut self, end: u8) {
        self.speaker.speak(0, end).try_send().unwrap();
        self.node.export("speaker", Export::of(&self.speaker)).unwrap();
    }
}

/// What the other end hears, but for who it is that has ended: they end one after the other.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Said {
    Found,
    NotFound,
    Told(u8),
    Held,
    Ended,
    Released(u64),
}

use Said::{Ended, Found, Held, NotFound, Released, Told};

/// The number of the sink.
const SINK: u64 = 7;
/// As long as everything takes that happens by itself.
const SOON: Duration = Duration::from_secs(1);
/// How many ends are released when the actor is held no more.
const ALL: u64 = u64::MAX;

/// The other end of a connection.
struct Spy {
    system: System,
    node: Node,
    link: Box<dyn Link>,
    sink: Ref<Sink>,
    clock: WorldClock,
    /// Speakers so far.
    speakers: std::cell::Cell<u64>,
}

fn identity(number: u64) -> Identity {
    Identity { node: NodeId(number), incarnation: Incarnation(1) }
}

impl Spy {
    fn say(&self, frame: &Frame<'_>) {
        self.link.submit(Order::Free, &frame.to_bytes()).unwrap();
    }

    fn grant(&self, messages: u64) {
        self.say(&Frame::Credit { actor: SINK, messages });
    }

    async fn receive(&self) -> Vec<u8> {
        let mut frame = FrameBuf::default();
        poll_fn(|cx| self.link.poll_receive(cx, &mut frame)).await.unwrap();
        frame.into_own()
    }

    /// A speaker of whose end the other end is to hear.
    async fn speaker(&self) -> Ref<Speaker> {
        let speaker = Speaker { to: self.sink.clone() };
        let speaker = self.system.spawn::<Speaker>(speaker).await.unwrap();
        let correlation = self.speakers.get();
        self.speakers.set(correlation + 1);
        let name = format!("speaker {correlation}");
        self.node.export(&name, Export::of(&speaker)).unwrap();
        self.say(&Frame::Find { correlation, protocol: "test.speaker", name: &name });
        let found = self.receive().await;
        assert!(matches!(Frame::parse(&found), Ok(Frame::Found { .. })), "{found:?}");
        speaker
    }

    /// A speaker says what it says, and ends.
    async fn speaks(&self, first: u8, end: u8) {
        let speaker = self.speaker().await;
        speaker.speak(first, end).await.unwrap();
        speaker.ended().await;
    }

    /// What comes by itself.
    async fn hears(&self) -> Vec<Said> {
        let mut heard = Vec::new();
        let mut frame = FrameBuf::default();
        loop {
            self.clock.sleep(SOON).await;
            let mut cx = std::task::Context::from_waker(Waker::noop());
            let before = heard.len();
            // What finds no room before this was read comes later.
            while let Poll::Ready(Ok(())) = self.link.poll_receive(&mut cx, &mut frame) {
                read(&frame, &mut heard);
            }
            if heard.len() == before {
                return heard;
            }
        }
    }
}

fn read(frame: &[u8], heard: &mut Vec<Said>) {
    match Frame::parse(frame) {
        Ok(Frame::Found { .. }) => heard.push(Found),
        Ok(Frame::NotFound { .. }) => heard.push(NotFound),
        Ok(Frame::Tell(envelope)) => heard.push(Told(envelope.arguments[0])),
        Ok(Frame::Tells(all)) => heard.extend(all.map(|one| Told(one.arguments[0]))),
        Ok(Frame::Held { actor: SINK }) => heard.push(Held),
        Ok(Frame::Ended { .. }) => heard.push(Ended),
        Ok(Frame::Released { actor: SINK, ends }) => heard.push(Released(ends)),
        other => panic!("{other:?}"),
    }
}

/// Runs `test` with the other end of a connection, which gives credit for so many messages and of which each direction
/// holds so many frames.
fn in_world(seed: u64, window: u32, frames: usize, test: impl AsyncFnOnce(&Spy)) {
    in_world_of(seed, |system| system, window, frames, test);
}

/// As [`in_world`], with a system of such settings.
fn in_world_of(
    seed: u64,
    settings: fn(Builder) -> Builder,
    window: u32,
    frames: usize,
    test: impl AsyncFnOnce(&Spy),
) {
    let mut world = World::new(seed);
    let here = world.node("here").settings(settings).start();
    let clock = world.clock();
    world.run(async {
        let (system, network) = (here.system(), Loopback::new().frames_max(frames));
        let node = Node::start(&system, network.node("here", identity(1))).unwrap();
        let spy = network.node("spy", identity(2));
        let peer = node.connect(&"loopback:spy".parse().unwrap()).await.unwrap();
        let link = poll_fn(|cx| spy.poll_link(cx)).await.unwrap();
        let finding = tokio::spawn(async move { peer.find::<Sink>("sink").await.unwrap() });
        let mut asked = FrameBuf::default();
        poll_fn(|cx| link.poll_receive(cx, &mut asked)).await.unwrap();
        let Ok(Frame::Find { correlation, .. }) = Frame::parse(&asked) else { panic!("{asked:?}") };
        let found = Frame::Found { correlation, actor: SINK, window };
        link.submit(Order::Free, &found.to_bytes()).unwrap();
        let sink = finding.await.unwrap();
        test(&Spy { system, node, link, sink, clock, speakers: Default::default() }).await;
    });
}

// [ENV-12]
#[test]
fn while_there_is_credit_an_end_comes_behind_all_that_was_said() {
    for (seed, frames) in [(0, 1), (1, 2), (2, 100)] {
        in_world(seed, 100, frames, async |spy| {
            spy.speaks(0, 4).await;
            assert_eq!(spy.hears().await, [Told(0), Told(1), Told(2), Told(3), Ended]);
        });
    }
}

/// Messages of who ends as it is found.
const SAID: u8 = 4;

// [ENV-12]: one that ends as it is found may have had another worker than the connection, and its last messages may be
// between the two.
#[test]
fn the_end_of_who_is_found_just_then_comes_behind_all_that_was_said() {
    let settings = |system: Builder| system.workers(3).scheduler(Scheduler::per_core());
    let mut found = 0;
    for seed in 0..300 {
        in_world_of(seed, settings, 100, 100, async |spy| {
            let speaker = Speaker { to: spy.sink.clone() };
            let speaker = spy.system.spawn::<Speaker>(speaker).on(1).await.unwrap();
            let usher = Usher { node: spy.node.clone(), speaker };
            let usher = spy.system.spawn::<Usher>(usher).on(0).await.unwrap();
            usher.begin(SAID).await.unwrap();
            for correlation in 0..3 {
                spy.say(&Frame::Find { correlation, protocol: "test.speaker", name: "speaker" });
                tokio::task::yield_now().await;
            }
            let mut heard = spy.hears().await;
            let is_found = heard.contains(&Found);
            found += usize::from(is_found);
            heard.retain(|said| !matches!(said, Found | NotFound));
            let mut all: Vec<_> = (0..SAID).map(Told).collect();
            all.extend(is_found.then_some(Ended));
            assert_eq!(heard, all, "seed {seed}");
        });
    }
    assert!(found > 0);
}

// [ENV-12] [ENV-25]
#[test]
fn an_end_does_not_wait_for_credit_and_the_other_node_is_told_what_comes_later() {
    for seed in 0..8 {
        in_world(seed, 1, 100, async |spy| {
            spy.speaks(0, 3).await;
            assert_eq!(spy.hears().await, [Told(0), Held, Ended]);
            // It is held still.
            spy.speaks(3, 5).await;
            assert_eq!(spy.hears().await, [Ended]);
            spy.speaks(5, 6).await;
            assert_eq!(spy.hears().await, [Ended]);
            spy.grant(100);
            let rest = [Told(1), Told(2), Released(1), Told(3), Told(4), Told(5), Released(ALL)];
            assert_eq!(spy.hears().await, rest);
            spy.speaks(6, 8).await;
            assert_eq!(spy.hears().await, [Told(6), Told(7), Ended]);
        });
    }
}

// [ENV-12] [ENV-25]
#[test]
fn an_end_that_waits_for_room_does_not_go_on_to_wait_for_credit() {
    for seed in 0..8 {
        in_world(seed, 2, 1, async |spy| {
            let speakers = [spy.speaker().await, spy.speaker().await];
            speakers[0].speak(0, 3).await.unwrap();
            speakers[0].ended().await;
            speakers[1].speak(3, 5).await.unwrap();
            speakers[1].ended().await;
            assert_eq!(spy.hears().await, [Told(0), Told(1), Held, Ended, Ended]);
            spy.grant(100);
            let rest = spy.hears().await;
            let told: Vec<_> =
                rest.iter().copied().filter(|said| matches!(said, Told(_))).collect();
            assert_eq!(told, [Told(2), Told(3), Told(4)]);
            assert_eq!(rest.last(), Some(&Released(ALL)));
        });
    }
}

// [ENV-12]
#[test]
fn who_has_ended_is_held_no_more() {
    in_world(0, 1, 100, async |spy| {
        spy.speaks(0, 3).await;
        assert_eq!(spy.hears().await, [Told(0), Held, Ended]);
        spy.say(&Frame::Ended { actor: SINK, how: 1, text: "" });
        spy.clock.sleep(SOON).await;
        assert!(spy.sink.is_closed());
        let mut heard = Vec::new();
        for _ in 0..2 {
            let frame = spy.receive().await;
            match Frame::parse(&frame) {
                Ok(Frame::Open { actor: SINK, protocol: "", .. }) => {}
                _ => read(&frame, &mut heard),
            }
        }
        assert_eq!(heard, [Released(ALL)]);
    });
}

/// Is started at the other end.
#[derive(Actor)]
struct Started;

#[handlers(wire = "test.started/1")]
impl Started {
    #[start]
    fn start((): ()) -> Self {
        Self
    }
}

// [G-REMOTE-10]: its node may keep it when the connection is gone.
#[test]
fn of_an_actor_that_is_stopped_and_closed_behind_the_other_end_hears_before_the_close() {
    in_world(0, 1, 1, async |spy| {
        let peer = spy.node.peer(NodeId(2)).unwrap();
        let by = peer.clone();
        let spawning = tokio::spawn(async move { by.spawn::<Started>("started", ()).await });
        let asked = spy.receive().await;
        let Ok(Frame::Spawn { correlation, .. }) = Frame::parse(&asked) else {
            panic!("{asked:?}")
        };
        spy.say(&Frame::Found { correlation, actor: 9, window: 1 });
        let started = spawning.await.unwrap().unwrap();
        // While nobody reads this, there is no way for more.
        let by = peer.clone();
        tokio::spawn(async move { by.find::<Sink>("another").await });
        spy.clock.sleep(SOON).await;
        assert!(peer.stop(&started));
        let closing = tokio::spawn(async move { peer.close().await });
        spy.clock.sleep(SOON).await;
        let asked = spy.receive().await;
        assert!(matches!(Frame::parse(&asked), Ok(Frame::Find { .. })), "{asked:?}");
        assert_eq!(Frame::parse(&spy.receive().await), Ok(Frame::Stop { actor: 9 }));
        let mut frame = FrameBuf::default();
        let end = poll_fn(|cx| spy.link.poll_receive(cx, &mut frame)).await;
        assert_eq!(end, Err(LinkEnd::Closed));
        closing.await.unwrap();
    });
}
