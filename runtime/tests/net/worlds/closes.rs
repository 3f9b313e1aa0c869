//! A peer that closes the connection while one has no room for what it sent, in simulated worlds.

use super::{connect, node, pair};
use crate::stage::{Book, Log, Seen, Watch, Watcher, open, shut};
use greenroom::ExitReason;
use greenroom::net::{Export, Loopback, NodeId};
use greenroom::sim::World;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

/// Messages to a book that handles one and has four in its mailbox.
const SENT: u64 = 20;
const HANDED_IN: u64 = 5;
/// As long as everything takes that happens by itself.
const SOON: Duration = Duration::from_secs(1);
const SEEDS: u64 = if cfg!(sanitized) { 4 } else { 20 };

/// What of a connection that was closed has become of it at the other node.
#[derive(Debug, PartialEq)]
struct Became {
    /// What who watches an actor of it was told.
    seen: Vec<Seen>,
    is_connected: bool,
    /// Messages that were reported as lost.
    lost: u64,
}

/// Looks at what has become of it after each of these times, when the book has room from the one of that number on; and
/// what it was told in the end.
fn closed(seed: u64, looks: &[Duration], opens: Option<usize>) -> (Vec<Became>, u64) {
    let mut world = World::new(seed);
    let (here, there) = (world.node("here").start(), world.node("there").start());
    let clock = world.clock();
    let network = Loopback::new();
    world.run(async {
        let [near, far] = pair(&here, &there, &network);
        let gate = shut();
        let book = there.system().spawn::<Book>(Arc::clone(&gate)).await.unwrap();
        far.export("book", Export::of(&book)).unwrap();
        let own = here.system().spawn::<Book>(shut()).await.unwrap();
        near.export("own", Export::of(&own)).unwrap();
        let peer = connect(&near).await;
        let to = peer.find::<Book>("book").await.unwrap();
        let watched = far.peer(NodeId(1)).unwrap().find::<Book>("own").await.unwrap();
        let watcher = there.system().spawn::<Watcher>(()).await.unwrap();
        watcher.tell(Watch(watched)).await.unwrap();
        for number in 0..SENT {
            to.note(1, number).await.unwrap();
        }
        clock.sleep(SOON).await;
        peer.close().await;
        let mut became = Vec::new();
        for (number, time) in (0..).zip(looks) {
            if opens == Some(number) {
                gate.add_permits(1);
            }
            clock.sleep(*time).await;
            let seen = watcher.ask(Log).await.unwrap();
            let lost = there.system().counts().undelivered;
            became.push(Became { seen, is_connected: !far.peers().is_empty(), lost });
        }
        gate.add_permits(1);
        let told = book.notes().await.unwrap();
        let prefix: Vec<_> = (0..told.len() as u64).map(|number| (1, number)).collect();
        assert_eq!(told, prefix, "seed {seed}: no holes");
        (became, told.len() as u64)
    })
}

fn going_on() -> Became {
    Became { seen: Vec::new(), is_connected: true, lost: 0 }
}

fn over(lost: u64) -> Became {
    Became { seen: vec![Seen::Down(ExitReason::NodeDown)], is_connected: false, lost }
}

// [G-REMOTE-4] [G-REMOTE-6] [G-REMOTE-7]
#[test]
fn the_end_of_a_connection_does_not_wait_for_room_for_ever() {
    for seed in 0..SEEDS {
        let (became, told) = closed(seed, &[9 * SOON, 2 * SOON], None);
        assert_eq!(became, [going_on(), over(SENT - HANDED_IN)], "seed {seed}");
        assert_eq!(told, HANDED_IN, "seed {seed}");
    }
}

// [G-REMOTE-4]
#[test]
fn what_finds_room_in_time_is_handed_in_and_then_the_end_is_told() {
    for seed in 0..SEEDS {
        let (became, told) = closed(seed, &[8 * SOON, SOON], Some(1));
        assert_eq!(became, [going_on(), over(0)], "seed {seed}");
        assert_eq!(told, SENT, "seed {seed}");
    }
}

/// Messages to a book that handles one: more than there is credit for, and no more than a proxy holds.
const MANY: u64 = 300;

// [G-REMOTE-6] [G-REMOTE-7]
#[test]
fn a_close_waits_for_credit_as_long_as_for_an_answer_and_sends_all_else() {
    for seed in 0..SEEDS {
        let mut world = World::new(seed);
        let (here, there) = (world.node("here").start(), world.node("there").start());
        let clock = world.clock();
        let network = Loopback::new();
        world.run(async {
            let [near, far] = pair(&here, &there, &network);
            let (gate, free) = (shut(), open());
            let book = there.system().spawn::<Book>(Arc::clone(&gate)).await.unwrap();
            let other = there.system().spawn::<Book>(free).await.unwrap();
            far.export("book", Export::of(&book)).unwrap();
            far.export("other", Export::of(&other)).unwrap();
            let peer = connect(&near).await;
            let to_full = peer.find::<Book>("book").await.unwrap();
            let to_free = peer.find::<Book>("other").await.unwrap();
            for number in 0..MANY {
                to_full.note(1, number).await.unwrap();
                to_free.note(1, number).await.unwrap();
            }
            let before = clock.now();
            peer.close().await;
            let took = clock.now() - before;
            assert!(took < 6 * SOON, "seed {seed}: {took:?}");
            gate.add_permits(1);
            clock.sleep(SOON).await;
            let all: Vec<_> = (0..MANY).map(|number| (1, number)).collect();
            assert_eq!(other.notes().await.unwrap(), all, "seed {seed}");
            let told = book.notes().await.unwrap();
            assert_eq!(told, all[..told.len()], "seed {seed}: no holes");
            assert!(here.system().counts().undelivered > 0, "seed {seed}");
        });
    }
}

// [G-REMOTE-6] [G-REMOTE-7]
#[test]
fn a_node_that_closes_leaves_nobody_waiting_for_another_peer() {
    for seed in 0..SEEDS {
        let mut world = World::new(seed);
        let [here, full, free] = ["here", "full", "free"].map(|name| world.node(name).start());
        let clock = world.clock();
        let network = Loopback::new();
        world.run(async {
            let near = node(&here.system(), &network, "here", 1);
            let gate = shut();
            let mut far = Vec::new();
            for (place, name, number, gate) in
                [(&full, "full", 2, Arc::clone(&gate)), (&free, "free", 3, open())]
            {
                let far_node = node(&place.system(), &network, name, number);
                let book = place.system().spawn::<Book>(gate).await.unwrap();
                far_node.export("book", Export::of(&book)).unwrap();
                let peer = near.connect(&format!("loopback:{name}").parse().unwrap()).await;
                let to = peer.unwrap().find::<Book>("book").await.unwrap();
                for number in 0..MANY {
                    to.note(1, number).await.unwrap();
                }
                far.push((far_node, book));
            }
            let before = clock.now();
            let closing = near.clone();
            let closing = tokio::spawn(async move { closing.close().await });
            clock.sleep(SOON).await;
            assert!(!far[0].0.peers().is_empty(), "seed {seed}: it waits for credit");
            assert!(far[1].0.peers().is_empty(), "seed {seed}: nobody else does");
            let all: Vec<_> = (0..MANY).map(|number| (1, number)).collect();
            assert_eq!(far[1].1.notes().await.unwrap(), all, "seed {seed}");
            closing.await.unwrap();
            let took = clock.now() - before;
            assert!(took < 6 * SOON, "seed {seed}: {took:?}");
            assert!(near.peers().is_empty(), "seed {seed}");
            gate.add_permits(1);
        });
    }
}

#[test]
fn who_connects_as_a_node_closes_is_not_left_connected() {
    let mut world = World::new(0);
    let (here, there) = (world.node("here").start(), world.node("there").start());
    let clock = world.clock();
    let network = Loopback::new();
    world.run(async {
        let [near, far] = pair(&here, &there, &network);
        clock.sleep(SOON).await;
        let address = "loopback:here".parse().unwrap();
        let mut connecting = pin!(far.connect(&address));
        // There is a link, and neither node has looked at it.
        assert!(poll_fn(|cx| Poll::Ready(connecting.as_mut().poll(cx).is_pending())).await);
        near.close().await;
        assert!(near.peers().is_empty());
        clock.sleep(SOON).await;
        assert!(near.peers().is_empty());
        assert!(far.peers().is_empty());
    });
}
