//! A peer that does with streams what it must not.

use super::{Feeder, Store, bytes};
use crate::stage::{Place, identity, once};
use crate::support::{Builds, OwnSystem, run, soon, until, until_async};
use crate::wrapped::Wrapped;
use greenroom::net::{
    Bytes, ConnectionEnd, Envelope, Export, Frame, FrameBuf, Identity, Link, LinkEnd, Loopback,
    Node, Order, SubmitError, Transport,
};
use greenroom::sim::World;
use greenroom::{
    Actor, AskError, EmitError, Emitter, Items, Ref, Scheduler, System, Undelivered, handlers,
};
use std::future::poll_fn;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::Semaphore;

const ITEM: u32 = 1;
const CUT: u32 = 3;
const GRANT: u32 = 4;
const LEFT: u32 = 5;

/// What is said of a stream.
fn of_stream(message: u32, arguments: &[u8]) -> Vec<u8> {
    Frame::Tell(Envelope { actor: 0, version: 1, message, schema: 0, arguments }).to_bytes()
}

fn numbers(numbers: &[u64]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

// [ENV-5] [ENV-20]
#[test]
fn whoever_says_of_streams_what_nobody_may_is_cut_off() {
    let network = Loopback::new();
    let there = Place::new(&network, "there", Scheduler::stealing());
    run(async {
        let arguments = numbers(&[7]);
        let envelope =
            Envelope { actor: 0, version: 1, message: GRANT, schema: 0, arguments: &arguments };
        let breaches: [Vec<u8>; 4] = [
            of_stream(9, &numbers(&[7])),
            of_stream(ITEM, &[1, 2, 3]),
            of_stream(GRANT, &numbers(&[7])),
            Frame::Ask { envelope, correlation: 1, remaining_us: 9 }.to_bytes(),
        ];
        // Streams that are over are another matter: this node cannot have known.
        let late = [
            of_stream(ITEM, &numbers(&[7, 1])),
            of_stream(GRANT, &numbers(&[7, 1])),
            of_stream(LEFT, &numbers(&[7])),
        ];
        for breach in breaches {
            let attacker = network.node("attacker", identity("attacker"));
            attacker.connect(&"loopback:there".parse().unwrap()).await.unwrap();
            let link = soon(poll_fn(|cx| attacker.poll_link(cx))).await.unwrap();
            for frame in &late {
                link.submit(Order::Free, frame).unwrap();
            }
            let find = Frame::Find { correlation: 1, protocol: "none", name: "nobody" };
            link.submit(Order::Free, &find.to_bytes()).unwrap();
            let mut frame = FrameBuf::default();
            let mut said = Vec::new();
            for _ in 0..2 {
                soon(poll_fn(|cx| link.poll_receive(cx, &mut frame))).await.unwrap();
                said.push(frame.to_vec());
            }
            assert!(said.contains(&of_stream(CUT, &numbers(&[7]))), "nothing comes of it");
            link.submit(Order::Free, &breach).unwrap();
            soon(poll_fn(|cx| link.poll_receive(cx, &mut frame))).await.unwrap_err();
            until(|| there.node.peers().is_empty()).await;
        }
        there.shut().await;
    });
}

// [ENV-5] [ENV-20]
#[test]
fn who_asks_for_streams_and_never_reads_the_answers_is_cut_off() {
    let network = Loopback::new();
    let there = Place::new(&network, "there", Scheduler::stealing());
    run(async {
        let attacker = network.node("attacker", identity("attacker"));
        attacker.connect(&"loopback:there".parse().unwrap()).await.unwrap();
        let link = soon(poll_fn(|cx| attacker.poll_link(cx))).await.unwrap();
        let grant = of_stream(GRANT, &numbers(&[7, 1]));
        let mut said = 0;
        while said < 200_000 {
            match link.submit(Order::Free, &grant) {
                Ok(()) => said += 1,
                Err(SubmitError::Full) => soon(poll_fn(|cx| link.poll_room(cx))).await,
                Err(error) => {
                    assert_eq!(error, SubmitError::Ended);
                    break;
                }
            }
        }
        assert!(said < 200_000, "it may say as much as it likes");
        until(|| there.node.peers().is_empty()).await;
        assert_eq!(there.node.ended(ConnectionEnd::Behind), 1);
        there.shut().await;
    });
}

/// Changes what its node says of streams.
type Change = fn(&mut Envelope<'_>, &mut Vec<u8>) -> u32;

struct LyingLink {
    link: Box<dyn Link>,
    change: Change,
}

impl Link for LyingLink {
    fn peer(&self) -> Identity {
        self.link.peer()
    }

    fn submit(&self, order: Order, frame: &[u8]) -> Result<(), SubmitError> {
        let Ok(Frame::Tell(mut envelope)) = Frame::parse(frame) else {
            return self.link.submit(order, frame);
        };
        if envelope.actor != 0 {
            return self.link.submit(order, frame);
        }
        let mut arguments = envelope.arguments.to_vec();
        for _ in 0..(self.change)(&mut envelope, &mut arguments) {
            let changed = Envelope { arguments: &arguments, ..envelope };
            self.link.submit(order, &Frame::Tell(changed).to_bytes())?;
        }
        Ok(())
    }

    fn poll_room(&self, cx: &mut Context<'_>) -> Poll<()> {
        self.link.poll_room(cx)
    }

    fn poll_receive(
        &self,
        cx: &mut Context<'_>,
        frame: &mut FrameBuf,
    ) -> Poll<Result<(), LinkEnd>> {
        self.link.poll_receive(cx, frame)
    }

    fn delivered(&self) -> u64 {
        self.link.delivered()
    }

    fn close(&self) {
        self.link.close();
    }
}

/// A node that lies, and the store that it found.
async fn liar(network: &Loopback, there: &Place, change: Change) -> (OwnSystem, Node, Ref<Store>) {
    let system = System::builder().workers(1).own();
    let node = network.node("here", identity("here"));
    let node =
        Node::start(&system, Wrapped::new(node, move |link| LyingLink { link, change })).unwrap();
    let near = there.system.spawn::<Store>(Arc::new(Semaphore::new(0))).await.unwrap();
    there.node.export("store", Export::of(&near)).unwrap();
    let peer = node.connect(&"loopback:there".parse().unwrap()).await.unwrap();
    let far = peer.find::<Store>("store").await.unwrap();
    (system, node, far)
}

// [G-STREAM-4] [ENV-20]
#[test]
fn who_sends_more_than_was_granted_is_cut_off() {
    let network = Loopback::new().frames_max(4096);
    let there = Place::new(&network, "there", Scheduler::stealing());
    run(async {
        // Each item comes a hundred times.
        let change: Change = |envelope, _| if envelope.message == ITEM { 100 } else { 1 };
        let (system, node, far) = liar(&network, &there, change).await;
        let (emitter, content) = Items::bounded(1);
        far.hold(content).await.unwrap();
        emitter.emit(bytes(0, 100_000)).await.unwrap();
        until(|| node.peers().is_empty() && there.node.peers().is_empty()).await;
        system.shutdown(crate::support::LONG).await.unwrap();
        there.shut().await;
    });
}

// [ENV-20]
#[test]
fn what_is_no_item_cuts_its_stream_alone() {
    let network = Loopback::new();
    let there = Place::new(&network, "there", Scheduler::stealing());
    run(async {
        let change: Change = |envelope, arguments| {
            if envelope.message == ITEM {
                arguments.push(0);
            }
            1
        };
        let (system, _node, far) = liar(&network, &there, change).await;
        let (emitter, content) = Items::bounded(1);
        far.take(content).await.unwrap();
        emitter.emit(bytes(0, 10)).await.unwrap();
        soon(async { while emitter.emit(bytes(0, 10)).await.is_ok() {} }).await;
        until_async(async || far.taken().await == Ok((0, Some(false)))).await;
        system.shutdown(crate::support::LONG).await.unwrap();
        there.shut().await;
    });
}

/// Nothing tells that an answer was not read.
// [ENV-21]
#[test]
fn a_stream_in_an_answer_that_nobody_reads_ends_by_itself() {
    const SECOND: Duration = Duration::from_secs(1);
    let mut world = World::new(1);
    let (here, there) = (world.node("here").start(), world.node("there").start());
    let clock = world.clock();
    let network = Loopback::new();
    world.run(async {
        // It never says that it reads.
        let change: Change = |envelope, _| u32::from(envelope.message != GRANT);
        let place = network.node("here", identity("here"));
        let near = Node::start(
            &here.system(),
            Wrapped::new(place, move |link| LyingLink { link, change }),
        )
        .unwrap();
        let place = network.node("there", identity("there"));
        let far = Node::start(&there.system(), place).unwrap();
        let store = there.system().spawn::<Store>(Arc::new(Semaphore::new(0))).await.unwrap();
        far.export("store", Export::of(&store)).unwrap();
        let peer = near.connect(&"loopback:there".parse().unwrap()).await.unwrap();
        let seen = peer.find::<Store>("store").await.unwrap();
        let (emitter, content) = Items::bounded(4);
        store.hold(content).await.unwrap();
        let unread = seen.give_back().await.unwrap();
        clock.sleep(50 * SECOND).await;
        emitter.emit(bytes(0, 1)).await.unwrap();
        clock.sleep(20 * SECOND).await;
        assert!(matches!(emitter.try_emit(bytes(0, 1)), Err(EmitError::Closed(_))));
        drop(unread);
    });
}

/// Takes many streams at once.
#[derive(Actor)]
struct Hoard {
    held: Arc<Mutex<Vec<Items<Bytes>>>>,
}

#[handlers(wire = "test.hoard/1")]
impl Hoard {
    #[ask]
    fn hold(&mut self, streams: Vec<Items<Bytes>>) {
        self.held.lock().unwrap().extend(streams);
    }
}

// [ENV-20]
#[test]
fn a_connection_has_so_many_streams_and_no_more() {
    once(Loopback::new(), async |_, here, there| {
        let held = Arc::default();
        let near = there.system.spawn::<Hoard>(Hoard { held: Arc::clone(&held) }).await.unwrap();
        there.node.export("hoard", Export::of(&near)).unwrap();
        let far = here.reach(there).await.find::<Hoard>("hoard").await.unwrap();
        let streams = |count| (0..count).map(|_| Items::bounded(1)).unzip();
        let (emitters, some): (Vec<_>, Vec<_>) = streams(1000);
        assert_eq!(far.hold(some).await, Ok(()));
        let (refused, more): (Vec<_>, Vec<_>) = streams(25);
        assert_eq!(far.hold(more).await, Err(AskError::NoReply));
        until(|| here.system.counts().over_limit == 1).await;
        for emitter in &refused {
            soon(async { while emitter.emit(bytes(0, 1)).await.is_ok() {} }).await;
        }
        let (last, some): (Vec<_>, Vec<_>) = streams(24);
        assert_eq!(far.hold(some).await, Ok(()));
        // What the first ones hold is read, and they end.
        let reading = std::mem::take(&mut *held.lock().unwrap());
        let feeder = here.system.spawn::<Feeder>(Feeder).await.unwrap();
        for (emitter, mut stream) in emitters.into_iter().chain(last).zip(reading).take(3) {
            assert_eq!(feeder.feed(emitter, 10, 10).await, Ok(10));
            assert_eq!(soon(stream.next()).await, Some(bytes(0, 10)));
            assert_eq!(soon(stream.try_next()).await, Ok(None));
        }
    });
}

// [ENV-20]
#[test]
fn who_opens_streams_that_never_end_is_refused_more() {
    let network = Loopback::new();
    let there = Place::new(&network, "there", Scheduler::stealing());
    run(async {
        let near = there.system.spawn::<Hoard>(Hoard { held: Arc::default() }).await.unwrap();
        there.node.export("hoard", Export::of(&near)).unwrap();
        // It never says that a stream is over, but something that means nothing, and forgets that itself.
        let change: Change = |envelope, _| {
            if envelope.message == CUT {
                envelope.message = LEFT;
            }
            1
        };
        let system = System::builder().workers(1).own();
        let node = network.node("here", identity("here"));
        let node = Node::start(&system, Wrapped::new(node, move |link| LyingLink { link, change }))
            .unwrap();
        let peer = node.connect(&"loopback:there".parse().unwrap()).await.unwrap();
        let far = peer.find::<Hoard>("hoard").await.unwrap();
        // Everything that the node is called by has started when it has been called once.
        assert_eq!(far.hold(Vec::new()).await, Ok(()));
        let streams = |count| (0..count).map(|_| Items::bounded(1).1).collect::<Vec<_>>();
        for _ in 0..2 {
            let ended = system.counts().ended;
            assert_eq!(far.hold(streams(1000)).await, Ok(()));
            until(|| system.counts().ended == ended + 1000).await;
            // All that was said of them has come.
            assert_eq!(far.hold(Vec::new()).await, Ok(()));
        }
        let answer = far.hold(streams(49)).await;
        assert_eq!(answer, Err(AskError::Undelivered(Undelivered::OverLimit)));
        system.shutdown(crate::support::LONG).await.unwrap();
        there.shut().await;
    });
}

/// Of whoever does not read them, each may hold one item that began below what it granted.
// [G-STREAM-4] [ENV-20]
#[test]
#[cfg_attr(sanitized, ignore = "takes much memory, and only counts")]
fn long_items_that_nobody_reads_are_bounded_for_all_streams_together() {
    const LEN: usize = 12 << 20;
    once(Loopback::new(), async |_, here, there| {
        let held = Arc::default();
        let near = there.system.spawn::<Hoard>(Hoard { held: Arc::clone(&held) }).await.unwrap();
        there.node.export("hoard", Export::of(&near)).unwrap();
        let far = here.reach(there).await.find::<Hoard>("hoard").await.unwrap();
        let (emitters, streams): (Vec<_>, Vec<_>) = (0..1000).map(|_| Items::bounded(1)).unzip();
        assert_eq!(far.hold(streams).await, Ok(()));
        // The last ones, which may have 64 KiB or little more under way.
        let emitters = &emitters[970..];
        for emitter in emitters {
            emitter.emit(bytes(0, LEN)).await.unwrap();
        }
        // 21 of them have less than 256 MiB, and the others are cut.
        let is_over = |emitter: &&Emitter<Bytes>| {
            matches!(emitter.try_emit(bytes(0, 1)), Err(EmitError::Closed(_)))
        };
        until(|| emitters.iter().filter(is_over).count() == 9).await;
        let reading = held.lock().unwrap().split_off(970);
        let mut cuts = Vec::new();
        for mut stream in reading {
            match soon(stream.try_next()).await {
                Ok(item) => assert_eq!(item.unwrap().len(), LEN),
                Err(cut) => cuts.push(cut.to_string()),
            }
        }
        assert_eq!(cuts, ["too much of the streams of the connection waits to be read"; 9]);
    });
}

/// Little of each of their items is beyond what was granted, and that is free.
// [G-STREAM-4] [ENV-20]
#[test]
#[cfg_attr(sanitized, ignore = "takes much memory, and only counts")]
fn streams_of_short_items_go_on_beside_long_ones_that_nobody_reads() {
    const LONG: usize = 12 << 20;
    const SHORT: usize = 125_000;
    const MANY: usize = 250;
    once(Loopback::new(), async |_, here, there| {
        let held = Arc::default();
        let near = there.system.spawn::<Hoard>(Hoard { held: Arc::clone(&held) }).await.unwrap();
        there.node.export("hoard", Export::of(&near)).unwrap();
        let far = here.reach(there).await.find::<Hoard>("hoard").await.unwrap();
        let (mut emitters, streams): (Vec<_>, Vec<_>) =
            (0..1000).map(|_| Items::bounded(1)).unzip();
        assert_eq!(far.hold(streams).await, Ok(()));
        let long = emitters.split_off(970);
        for emitter in &long {
            emitter.emit(bytes(0, LONG)).await.unwrap();
        }
        let is_over = |emitter: &&Emitter<Bytes>| {
            matches!(emitter.try_emit(bytes(0, 1)), Err(EmitError::Closed(_)))
        };
        until(|| long.iter().filter(is_over).count() == 9).await;
        // Each begins in what its stream may have under way, of 69 KB to 93 KB, and ends beyond that.
        let short = emitters.split_off(970 - MANY);
        for emitter in &short {
            emitter.emit(bytes(0, SHORT)).await.unwrap();
        }
        // There is room for another one when that has left.
        for emitter in &short {
            soon(emitter.emit(bytes(1, 1))).await.unwrap();
        }
        assert_eq!(far.hold(Vec::new()).await, Ok(()));
        let reading = held.lock().unwrap().split_off(970 - MANY);
        for mut stream in reading.into_iter().take(MANY) {
            assert_eq!(soon(stream.try_next()).await, Ok(Some(bytes(0, SHORT))));
            assert_eq!(soon(stream.try_next()).await, Ok(Some(bytes(1, 1))));
        }
    });
}

// [G-STREAM-4] [ENV-20]
#[test]
#[cfg_attr(sanitized, ignore = "takes much memory, and only counts")]
fn who_leaves_streams_unread_that_are_over_is_given_no_more() {
    const LEN: usize = 4_000_000;
    once(Loopback::new(), async |_, here, there| {
        let held = Arc::default();
        let near = there.system.spawn::<Hoard>(Hoard { held: Arc::clone(&held) }).await.unwrap();
        there.node.export("hoard", Export::of(&near)).unwrap();
        let far = here.reach(there).await.find::<Hoard>("hoard").await.unwrap();
        assert_eq!(far.hold(Vec::new()).await, Ok(()));
        let mut taken = 0;
        loop {
            let ended = here.system.counts().ended;
            let (emitter, stream) = Items::bounded(1);
            if far.hold(vec![stream]).await.is_err() {
                break;
            }
            emitter.emit(bytes(0, LEN)).await.unwrap();
            emitter.finish();
            // All of it has left.
            until(|| here.system.counts().ended == ended + 1).await;
            taken += 1;
            assert!(taken < 100, "it takes any number of them");
        }
        assert_eq!(taken, (256 << 20) / LEN + 1);
        held.lock().unwrap().clear();
        assert_eq!(far.hold(vec![Items::bounded(1).1]).await, Ok(()));
    });
}
