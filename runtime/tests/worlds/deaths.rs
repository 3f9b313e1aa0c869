//! Of a node that is down nothing goes on, and of one that is paused nothing does until it is resumed: not what its
//! actors have begun beside themselves, either.
#![allow(clippy::unwrap_used, reason = "what goes wrong in a test may panic")]

use greenroom::sim::{Explore, Fault, Node, SocketError, World, WorldClock};
use greenroom::{Actor, Context, handlers};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

pub(super) const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);

/// Counts beside itself, in each way that there is.
#[derive(Actor)]
struct Busy(Arc<AtomicU64>);

#[handlers]
impl Busy {
    #[tell]
    fn task(&mut self, clock: WorldClock, cx: &mut Context<Self>) {
        let count = Arc::clone(&self.0);
        cx.task(async move {
            loop {
                count.fetch_add(1, Ordering::Relaxed);
                clock.sleep(MS).await;
            }
        });
    }
    #[tell]
    fn pipe(&mut self, clock: WorldClock, cx: &mut Context<Self>) {
        let count = Arc::clone(&self.0);
        let work = async move {
            clock.sleep(MS).await;
            count.fetch_add(1, Ordering::Relaxed);
            clock
        };
        cx.pipe(work, Self::again);
    }
    #[local]
    fn again(&mut self, clock: WorldClock, cx: &mut Context<Self>) {
        self.pipe(clock, cx);
    }
    #[tell]
    async fn block(&mut self, clock: WorldClock, cx: &mut Context<Self>) {
        loop {
            let count = Arc::clone(&self.0);
            cx.blocking(move || count.fetch_add(1, Ordering::Relaxed)).await;
            clock.sleep(MS).await;
        }
    }
}

/// An actor that counts beside itself, once in a millisecond if it can, in one of three ways.
pub(super) fn busy(world: &mut World, node: &Node, way: usize) -> Arc<AtomicU64> {
    let count = Arc::new(AtomicU64::new(0));
    let (clock, busy) = (world.clock(), Busy(Arc::clone(&count)));
    world.run(async {
        let busy = node.system().spawn::<Busy>(busy).await.unwrap();
        match way {
            0 => busy.task(clock).await.unwrap(),
            1 => busy.pipe(clock).await.unwrap(),
            _ => busy.block(clock).await.unwrap(),
        }
    });
    count
}

#[test]
fn what_actors_have_begun_rests_and_ends_with_their_node() {
    Explore::new().seeds(10).twice().run(|world| {
        for (way, slowness) in [(0, 1), (1, 1), (2, 1), (0, 10), (1, 10), (2, 10)] {
            let node = world.node("one").start();
            let count = busy(world, &node, way);
            node.slow_down(slowness);
            let counted = |world: &mut World| {
                let before = count.load(Ordering::Relaxed);
                world.run_for(100 * MS);
                count.load(Ordering::Relaxed) - before
            };
            assert!(counted(world) > 10);
            node.pause();
            world.settle();
            assert_eq!(counted(world), 0, "the node is paused, way {way}");
            node.resume();
            assert!(counted(world) > 10, "it goes on, way {way}");
            node.kill();
            world.settle();
            assert_eq!(counted(world), 0, "the node is dead, way {way}");
        }
    });
}

#[test]
fn blocking_work_does_not_begin_on_a_node_that_was_killed_before() {
    Explore::new().seeds(50).run(|world| {
        let node = world.node("one").start();
        let count = Arc::new(AtomicU64::new(0));
        let (clock, busy) = (world.clock(), Busy(Arc::clone(&count)));
        let steps = world.range(0..12);
        let before = world.run(async {
            let busy = node.system().spawn::<Busy>(busy).await.unwrap();
            busy.block(clock).await.unwrap();
            for _ in 0..steps {
                tokio::task::yield_now().await;
            }
            node.kill();
            // The order is obeyed before the next step.
            count.load(Ordering::Relaxed)
        });
        world.run_for(SECOND);
        assert_eq!(count.load(Ordering::Relaxed), before);
    });
}

#[test]
fn who_waits_for_a_packet_is_told_that_the_node_is_down() {
    for ends in [Node::kill, |node: &Node| node.stop(SECOND), Node::restart] {
        let mut world = World::new(1);
        let node = world.node("one").start();
        let socket = node.bind(1).unwrap();
        let clock = world.clock();
        world.spawn(async move {
            clock.sleep(SECOND).await;
            ends(&node);
        });
        let received = world.run_within(10 * SECOND, async { socket.receive().await });
        assert_eq!(received, Err(SocketError::Down));
    }
}

#[test]
fn a_storm_starts_a_node_again_whose_stop_hangs() {
    Explore::new().seeds(20).run(|world| {
        let node = world.node("one").start();
        let storm = world.storm(std::slice::from_ref(&node), &[Fault::Stop]);
        // So it does not end.
        node.pause();
        world.run_for(300 * SECOND);
        assert_eq!(node.incarnation() > 0, storm.has(Fault::Stop));
        world.sometimes("it was told to stop", storm.has(Fault::Stop));
    });
}
