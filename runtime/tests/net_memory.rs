//! What a node keeps of connections, and of actors of other nodes, that are no more: nothing. And what it keeps of ends of which a
//! peer is still to hear: each once.
//!
//! The count is of the whole process, so this binary has one test, which measures one thing after the other. The
//! sanitizers keep blocks for themselves.

#![cfg(not(sanitized))]
#![allow(clippy::unwrap_used, reason = "what goes wrong in a test may panic")]

#[path = "support/counting.rs"]
mod counting;
mod support;

use counting::{BYTES, PEAK};
use greenroom::net::{
    Envelope, Export, Frame, FrameBuf, Identity, Incarnation, Link, Loopback, LoopbackNode, Node,
    NodeId, Order, Orphans, Peer, Transport,
};
use greenroom::{Actor, Items, Ref, System, handlers};
use std::collections::BTreeSet;
use std::future::poll_fn;
use std::sync::atomic::Ordering;
use support::{Builds, LONG, OwnSystem, poll_once, run, soon, until};

#[derive(Actor)]
struct Echo;

#[handlers(wire = "test.echo/1")]
impl Echo {
    #[start]
    fn start((): ()) -> Self {
        Self
    }
    #[ask]
    fn echo(&self, number: u64) -> u64 {
        number
    }
}

/// A node of a system with one worker.
fn place(network: &Loopback, name: &str, number: u64) -> (OwnSystem, Node) {
    let system = System::builder().workers(1).own();
    let node = Node::start(&system, network.node(name, identity(number))).unwrap();
    (system, node)
}

fn identity(number: u64) -> Identity {
    Identity { node: NodeId(number), incarnation: Incarnation(1) }
}

/// A link to `there` by which a test says what it likes.
async fn link(from: &LoopbackNode) -> Box<dyn Link> {
    from.connect(&"loopback:there".parse().unwrap()).await.unwrap();
    poll_fn(|cx| from.poll_link(cx)).await.unwrap()
}

fn say(link: &dyn Link, frame: &Frame<'_>) {
    link.submit(Order::Free, &frame.to_bytes()).unwrap();
}

async fn receive(link: &dyn Link) -> Vec<u8> {
    let mut frame = FrameBuf::default();
    soon(poll_fn(|cx| link.poll_receive(cx, &mut frame))).await.unwrap();
    frame.into_own()
}

/// How many bytes more each call leaves in use: the median of five rounds of 200, after as many calls that fill what is
/// kept for use. A table that grows does so in one round, whichever that is; a leak is in all of them.
async fn kept_by_each(mut call: impl AsyncFnMut()) -> isize {
    const CALLS: isize = 200;
    let mut kept = Vec::new();
    for _ in 0..6 {
        let before = BYTES.load(Ordering::Relaxed);
        for _ in 0..CALLS {
            call().await;
        }
        kept.push(BYTES.load(Ordering::Relaxed).wrapping_sub(before).cast_signed() / CALLS);
    }
    kept.remove(0);
    kept.sort_unstable();
    kept[kept.len() / 2]
}

async fn connected(from: &Node) -> Peer {
    from.connect(&"loopback:there".parse().unwrap()).await.unwrap()
}

/// The actor that is found lives on, and is told of no end.
async fn a_connection_leaves_nothing_behind(here: &Node, there: &Node) {
    let each = kept_by_each(async || {
        let peer = connected(here).await;
        let far: Ref<Echo> = peer.find("echo").await.unwrap();
        assert_eq!(far.echo(7).await, Ok(7));
        peer.close().await;
        until(|| there.peers().is_empty()).await;
    });
    // One watcher is 64 bytes and its closure, a connection some thousand.
    let kept = each.await;
    assert!(kept < 32, "{kept} bytes of each connection");
}

async fn an_actor_that_was_started_and_ended_leaves_nothing_behind(here: &Node, there: &Node) {
    there.allow_spawn::<Echo>("echo", Orphans::Stop).unwrap();
    let peer = connected(here).await;
    let each = kept_by_each(async || {
        let far = peer.spawn::<Echo>("echo", ()).await.unwrap();
        assert_eq!(far.echo(7).await, Ok(7));
        peer.stop(&far);
        far.ended().await;
    });
    let kept = each.await;
    assert!(kept < 32, "{kept} bytes of each actor");
}

/// They end before anything of them is answered, but for each hundredth, whose answer says that all before it were taken: no more
/// than a hundred wait to be accepted, however late that is, and the queue of those keeps its room.
async fn connections_that_are_left_at_once_leave_nothing_behind(network: &Loopback, there: &Node) {
    let attacker = network.node("attacker", identity(3));
    let attack = async |times: u32| {
        for number in 1..=times {
            let link = link(&attacker).await;
            say(&*link, &Frame::Find { correlation: 1, protocol: "test.echo", name: "echo" });
            if number % 100 == 0 {
                receive(&*link).await;
                drop(link);
                until(|| there.peer(NodeId(3)).is_none()).await;
            }
        }
    };
    attack(1_000).await;
    let before = BYTES.load(Ordering::Relaxed);
    attack(10_000).await;
    // Less than ten bytes of each; the last ones may not be gone yet.
    until(|| BYTES.load(Ordering::Relaxed) < before + (96 << 10)).await;
}

async fn looks_for_what_is_not_there_leave_nothing_behind(network: &Loopback) {
    let attacker = network.node("attacker", identity(4));
    let link = link(&attacker).await;
    let look = async |times: u64| {
        for correlation in 0..times {
            // No actor has such a number, and of none an end was told.
            let protocol = if correlation % 2 == 0 { "test.echo" } else { "" };
            say(&*link, &Frame::Open { correlation, actor: 1 << 50 | correlation, protocol });
            if correlation % 100 == 99 {
                for correlation in correlation - 99..=correlation {
                    let answer = receive(&*link).await;
                    let expected = Frame::NotFound { correlation, speaks: "" };
                    assert_eq!(Frame::parse(&answer), Ok(expected));
                }
            }
        }
    };
    look(1_000).await;
    let before = BYTES.load(Ordering::Relaxed);
    look(100_000).await;
    let kept = BYTES.load(Ordering::Relaxed).wrapping_sub(before).cast_signed();
    assert!(kept < 64 << 10, "{kept} bytes");
}

// [G-REMOTE-6]
/// Whoever looks for actors there waits no longer than it likes, and the peer answers nothing, or later.
async fn searches_that_were_given_up_leave_nothing_behind(network: &Loopback, here: &Node) {
    let silent = network.node("silent", identity(6));
    let link = {
        silent.connect(&"loopback:here".parse().unwrap()).await.unwrap();
        poll_fn(|cx| silent.poll_link(cx)).await.unwrap()
    };
    until(|| here.peer(NodeId(6)).is_some()).await;
    let peer = here.peer(NodeId(6)).unwrap();
    let each = kept_by_each(async || {
        let mut finding = Box::pin(peer.find::<Echo>("echo"));
        assert!(poll_once(&mut finding).is_pending());
        receive(&*link).await;
        let mut starting = Box::pin(peer.spawn::<Echo>("echo", ()));
        assert!(poll_once(&mut starting).is_pending());
        receive(&*link).await;
    });
    let kept = each.await;
    assert!(kept < 32, "{kept} bytes of each search");
    peer.close().await;
}

async fn an_actor_that_is_exported_and_withdrawn_in_turn_keeps_nothing(
    system: &System,
    node: &Node,
) {
    let echo = system.spawn::<Echo>(()).await.unwrap();
    let each = kept_by_each(async || {
        node.export("now and then", Export::of(&echo)).unwrap();
        node.withdraw("now and then");
        assert_eq!(echo.echo(7).await, Ok(7));
    });
    let kept = each.await;
    assert!(kept < 32, "{kept} bytes of each export");
    node.export("at last", Export::of(&echo)).unwrap();
    echo.stop();
    // The name is free again when it has ended.
    let next = system.spawn::<Echo>(()).await.unwrap();
    until(|| node.export("at last", Export::of(&next)).is_ok()).await;
    next.stop();
}

/// Takes streams.
#[derive(Actor)]
struct Taker;

#[handlers(wire = "test.taker/1")]
impl Taker {
    #[tell]
    fn take(&mut self, content: Items<u8>) {
        drop(content);
    }
}

/// The other node reads them, and never says that it has the messages in which they came.
// [ENV-21]
async fn streams_that_are_over_wait_for_no_answer(network: &Loopback, there: &Node) {
    let reader = network.node("reader", identity(6));
    let link = link(&reader).await;
    until(|| there.peer(NodeId(6)).is_some()).await;
    let peer = there.peer(NodeId(6)).unwrap();
    let mut finding = Box::pin(peer.find::<Taker>("taker"));
    assert!(poll_once(&mut finding).is_pending());
    let asked = receive(&*link).await;
    let Ok(Frame::Find { correlation, .. }) = Frame::parse(&asked) else { panic!("{asked:?}") };
    say(&*link, &Frame::Found { correlation, actor: 5, window: u32::MAX });
    let taker = soon(finding).await.unwrap();
    let mut stream = 0_u64;
    let mut send = async |times: u32| {
        for _ in 0..times {
            let (emitter, content) = Items::bounded(1);
            emitter.finish();
            taker.take(content).await.unwrap();
            stream += 1;
            let asked = receive(&*link).await;
            assert!(matches!(Frame::parse(&asked), Ok(Frame::Ask { .. })), "{asked:?}");
            let arguments = [stream.to_le_bytes(), 1000_u64.to_le_bytes()].concat();
            let (version, schema) = (1, 0);
            let grant = Envelope { actor: 0, version, message: 4, schema, arguments: &arguments };
            say(&*link, &Frame::Tell(grant));
            // That was all of it.
            let finished = receive(&*link).await;
            assert!(matches!(Frame::parse(&finished), Ok(Frame::Tell(_))), "{finished:?}");
        }
    };
    send(2_000).await;
    let before = BYTES.load(Ordering::Relaxed);
    send(6_000).await;
    let kept = BYTES.load(Ordering::Relaxed).wrapping_sub(before).cast_signed();
    // Those of the last ones, which are looked through together; a hundred bytes of each would be more.
    assert!(kept < 256 << 10, "{kept} bytes");
}

// [ENV-25]
/// Actors end, of whom a peer is to hear that behind mail to as many of its own, for which there is no room.
async fn ends_that_wait_are_kept_once() {
    const MANY: u64 = 512;
    let network = Loopback::new().frames_max(4);
    let (system, there) = place(&network, "there", 2);
    let spy = network.node("spy", identity(5));
    let link = link(&spy).await;
    let mut ending = Vec::new();
    for correlation in 0..MANY {
        let actor = system.spawn::<Echo>(()).await.unwrap();
        let name = format!("echo {correlation}");
        there.export(&name, Export::of(&actor)).unwrap();
        say(&*link, &Frame::Find { correlation, protocol: "test.echo", name: &name });
        let found = receive(&*link).await;
        assert!(matches!(Frame::parse(&found), Ok(Frame::Found { .. })), "{found:?}");
        ending.push(actor);
    }
    let peer = there.peer(NodeId(5)).unwrap();
    let mut others = Vec::new();
    for number in 0..MANY {
        let mut finding = Box::pin(peer.find::<Echo>("echo"));
        assert!(poll_once(&mut finding).is_pending());
        let asked = receive(&*link).await;
        let Ok(Frame::Find { correlation, .. }) = Frame::parse(&asked) else { panic!("{asked:?}") };
        say(&*link, &Frame::Found { correlation, actor: 1 << 50 | number, window: 128 });
        others.push(soon(finding).await.unwrap());
    }
    let mut asking: Vec<_> =
        others.iter().map(|other| Box::pin(other.echo(7).into_future())).collect();
    assert!(asking.iter_mut().all(|asking| poll_once(asking).is_pending()));

    let before = BYTES.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    for actor in &ending {
        assert!(actor.stop());
    }
    for actor in &ending {
        soon(actor.ended()).await;
    }
    let mut heard = BTreeSet::new();
    while (heard.len() as u64) < MANY {
        let frame = receive(&*link).await;
        match Frame::parse(&frame) {
            Ok(Frame::Ended { actor, .. }) => assert!(heard.insert(actor), "{actor} ended twice"),
            Ok(Frame::Ask { .. }) => {}
            other => panic!("{other:?}"),
        }
    }
    // Eight bytes of each of them with each of the others would be twice as much.
    let taken = PEAK.load(Ordering::Relaxed) - before;
    assert!(taken < 1 << 20, "{taken} bytes");
    drop(asking);
    system.shutdown(LONG).await.unwrap();
}

#[test]
fn what_is_over_takes_no_memory() {
    let network = Loopback::new();
    let (here, near) = place(&network, "here", 1);
    let (there, far) = place(&network, "there", 2);
    run(async {
        let echo = there.spawn::<Echo>(()).await.unwrap();
        far.export("echo", Export::of(&echo)).unwrap();
        a_connection_leaves_nothing_behind(&near, &far).await;
        an_actor_that_was_started_and_ended_leaves_nothing_behind(&near, &far).await;
        connections_that_are_left_at_once_leave_nothing_behind(&network, &far).await;
        looks_for_what_is_not_there_leave_nothing_behind(&network).await;
        searches_that_were_given_up_leave_nothing_behind(&network, &near).await;
        an_actor_that_is_exported_and_withdrawn_in_turn_keeps_nothing(&there, &far).await;
        streams_that_are_over_wait_for_no_answer(&network, &far).await;
        ends_that_wait_are_kept_once().await;
        here.shutdown(LONG).await.unwrap();
        there.shutdown(LONG).await.unwrap();
    });
}
