//! Rates at which other nodes may send, and the buckets that keep them.

use crate::stage::{Book, once, open};
use crate::support::{until, until_async};
use greenroom::net::{
    Bucket, Export, Identity, Incarnation, Loopback, Node, NodeId, Orphans, Rate, RemoteSpawnError,
};
use greenroom::sim::{self, World};
use greenroom::{Actor, AskError, Undelivered, handlers};
use proptest::prelude::*;
use std::time::Duration;

const MS: u64 = 1_000_000;

/// Nodes of a network in these places of a world.
fn nodes(places: [&sim::Node; 2]) -> [Node; 2] {
    let network = Loopback::new();
    let mut ends = [("here", 1), ("there", 2)].into_iter();
    places.map(|place| {
        let (name, number) = ends.next().expect("one for each");
        let identity = Identity { node: NodeId(number), incarnation: Incarnation(1) };
        Node::start(&place.system(), network.node(name, identity)).unwrap()
    })
}

#[test]
fn a_burst_and_then_one_each_interval() {
    let rate = Rate::per_second(10, 5);
    let mut bucket = Bucket::default();
    let now = 7_000 * MS;
    assert_eq!((0..9).filter(|_| bucket.take(&rate, now, 1)).count(), 5);
    assert!(!bucket.take(&rate, now + 99 * MS, 1));
    assert!(bucket.take(&rate, now + 100 * MS, 1));
    assert!(!bucket.take(&rate, now + 100 * MS, 1));
    assert!(!bucket.take(&rate, now + 10_000 * MS, 6), "never more than a burst");
    assert!(bucket.take(&rate, now + 10_000 * MS, 5));
}

#[test]
fn a_rate_of_zero_lets_nothing_pass_and_the_end_of_time_does_no_harm() {
    assert!(!Bucket::default().take(&Rate::per_second(0, 8), u64::MAX / 2, 1));
    assert!(Bucket::default().take(&Rate::per_second(1, 1), u64::MAX - 1, 1));
}

proptest! {
    /// Never more than a burst and what has come since, in any stretch of time.
    #[test]
    fn the_rate_holds_over_every_stretch(steps in proptest::collection::vec((0..400_u64, 1..4_u32), 1..80)) {
        let rate = Rate::per_second(20, 6);
        let (mut bucket, mut now) = (Bucket::default(), 0);
        let mut taken: Vec<(u64, u64)> = Vec::new();
        for (pause, count) in steps {
            now += pause * MS;
            if bucket.take(&rate, now, count) {
                taken.push((now, u64::from(count)));
            }
        }
        for from in 0..taken.len() {
            let mut sum = 0;
            for &(at, count) in &taken[from..] {
                sum += count;
                prop_assert!(sum <= 6 + (at - taken[from].0) / (50 * MS));
            }
        }
    }
}

/// A book that may be told ten messages each second by each node, five of them at once; each node may send twenty.
fn history(each: u64) -> Vec<u64> {
    let mut world = World::new(3);
    let (here, there) = (world.node("here").start(), world.node("there").start());
    let clock = world.clock();
    world.run(async {
        let [near, far] = nodes([&here, &there]);
        far.limit_peers(Rate::per_second(20, 12));
        let mut books = Vec::new();
        for name in ["one", "two", "free"] {
            let book = there.system().spawn::<Book>(open()).await.unwrap();
            let export = Export::of(&book);
            let limited = export.limit(Rate::per_second(10, 5));
            let export = if name == "free" { Export::of(&book) } else { limited };
            far.export(name, export).unwrap();
            books.push(book);
        }
        let peer = near.connect(&"loopback:there".parse().unwrap()).await.unwrap();
        let mut told = Vec::new();
        for name in ["one", "two", "free"] {
            let book = peer.find::<Book>(name).await.unwrap();
            for number in 0..each {
                book.note(1, number).await.unwrap();
            }
        }
        clock.sleep(Duration::from_millis(600)).await;
        for book in &books {
            told.push(book.notes().await.unwrap().len() as u64);
        }
        let (sent, came) = (here.system().counts(), there.system().counts());
        let refused = 3 * each - told.iter().sum::<u64>();
        // Each is counted and reported at both ends.
        assert_eq!((sent.over_limit, came.over_limit), (refused, refused));
        assert_eq!((sent.undelivered, came.undelivered), (0, 0));
        // An asker is told; by now the actor's bucket is full again, and the peer's has what came since.
        let one = peer.find::<Book>("one").await.unwrap();
        let mut answers = Vec::new();
        for _ in 0..6 {
            answers.push(one.divide(4, 2).await);
        }
        let over = Err(AskError::Undelivered(Undelivered::OverLimit));
        assert_eq!(answers.iter().filter(|answer| **answer == Ok(2)).count(), 5);
        assert_eq!(answers.last(), Some(&over));
        told
    })
}

// [G-REMOTE-13]
#[test]
fn a_peer_sends_no_faster_than_it_may_to_each_actor_and_to_all() {
    assert_eq!(history(4), [4, 4, 4]);
    // What an actor refuses costs the peer nothing, so two of its twelve are left for the last one.
    assert_eq!(history(20), [5, 5, 2]);
}

// [G-REMOTE-13]
#[test]
fn what_is_refused_leaves_order_credit_and_the_connection_alone() {
    once(Loopback::new(), async |_, here, there| {
        let near = there.system.spawn::<Book>(open()).await.unwrap();
        let export = Export::of(&near).limit(Rate::new(Duration::from_secs(3600), 100));
        there.node.export("book", export).unwrap();
        let far = here.reach(there).await.find::<Book>("book").await.unwrap();
        for number in 0..1000 {
            far.note(1, number).await.unwrap();
        }
        until(|| here.system.counts().over_limit == 900).await;
        let expected: Vec<_> = (0..100).map(|number| (1, number)).collect();
        until_async(async || near.notes().await.unwrap() == expected).await;
        assert!(!far.is_closed());
    });
}

// [G-REMOTE-13] [ENV-16]
#[test]
fn what_the_limit_of_all_refuses_costs_an_actor_nothing() {
    let mut world = World::new(3);
    let (here, there) = (world.node("here").start(), world.node("there").start());
    let clock = world.clock();
    world.run(async {
        let [near, far] = nodes([&here, &there]);
        far.limit_peers(Rate::per_second(10, 2));
        let book = there.system().spawn::<Book>(open()).await.unwrap();
        // Four for ever.
        let rate = Rate::new(Duration::from_secs(1 << 20), 4);
        far.export("book", Export::of(&book).limit(rate)).unwrap();
        let peer = near.connect(&"loopback:there".parse().unwrap()).await.unwrap();
        let distant = peer.find::<Book>("book").await.unwrap();
        for _ in 0..3 {
            for number in 0..4 {
                distant.note(1, number).await.unwrap();
            }
            clock.sleep(Duration::from_secs(1)).await;
        }
        assert_eq!(book.notes().await.unwrap(), [(1, 0), (1, 1), (1, 0), (1, 1)]);
    });
}

/// Starts nothing else.
#[derive(Actor)]
struct Idle;

#[handlers(wire = "test.idle/1")]
impl Idle {
    #[start]
    fn start((): ()) -> Self {
        Self
    }
}

// [G-REMOTE-13] [ENV-16]
#[test]
fn a_peer_starts_no_more_than_it_may_send_messages() {
    let mut world = World::new(1);
    let (here, there) = (world.node("here").start(), world.node("there").start());
    let clock = world.clock();
    world.run(async {
        let [near, far] = nodes([&here, &there]);
        far.limit_peers(Rate::per_second(1, 3));
        far.allow_spawn::<Idle>("idle", Orphans::Stop).unwrap();
        let peer = near.connect(&"loopback:there".parse().unwrap()).await.unwrap();
        let mut started = Vec::new();
        for _ in 0..5 {
            started.push(peer.spawn::<Idle>("idle", ()).await.map(drop));
        }
        let over = Err(RemoteSpawnError::OverLimit);
        assert_eq!(started, [Ok(()), Ok(()), Ok(()), over.clone(), over]);
        clock.sleep(Duration::from_secs(1)).await;
        assert_eq!(peer.spawn::<Idle>("idle", ()).await.map(drop), Ok(()));
    });
}
