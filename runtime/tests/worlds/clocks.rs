//! Time in a world: as fine as its links are, the same for tokio's tasks, and slow on a slow node alone.
#![allow(clippy::unwrap_used, reason = "what goes wrong in a test may panic")]

use super::deaths::{MS, busy};
use super::fabric::Pair;
use greenroom::sim::{Explore, Link, Node, Policy, World};
#[cfg(feature = "test-util")]
use greenroom::{Actor, handlers};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const MICRO: Duration = Duration::from_micros(1);

#[test]
fn an_idle_world_knows_times_of_less_than_a_millisecond() {
    Explore::new().seeds(20).run(|world| {
        let pair = Pair::new(world, Link::default().latency(300 * MICRO));
        world.settle();
        for number in 0..10 {
            let began = world.now();
            pair.send(number);
            world.run_for(299 * MICRO);
            assert_eq!(pair.arrived(), []);
            world.run_for(2 * MICRO);
            assert_eq!(pair.arrived(), [number]);
            assert!(world.now() - began < 400 * MICRO, "{:?}", world.now() - began);
        }
        let began = world.now();
        pair.send(1);
        world.run(async { pair.sockets[1].receive().await.unwrap() });
        let took = world.now() - began;
        assert!(took >= 300 * MICRO && took < 400 * MICRO, "{took:?}");
    });
}

/// Works all the time, and counts.
pub(super) fn work(on: &Node) -> Arc<AtomicU64> {
    let done = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&done);
    on.spawn(async move {
        loop {
            counted.fetch_add(1, Ordering::Relaxed);
            tokio::task::yield_now().await;
        }
    });
    done
}

#[test]
fn a_slow_node_takes_no_time_from_the_others() {
    Explore::new().seeds(20).run(|world| {
        let [slow, other] = ["slow", "other"].map(|name| world.node(name).start());
        let done = [&slow, &other].map(work);
        slow.slow_down(1000);
        world.run_for(Duration::from_millis(2));
        let done = done.map(|done| done.load(Ordering::Relaxed));
        assert!(done[0] <= 40, "{done:?}: each turn takes 50 us at least");
        // On a rare path any step may be slow.
        if !world.rare_paths().any(|(name, times)| name == "slow turn" && times > 0) {
            assert!(done[1] > 5_000, "{done:?}: nobody else is slow");
        }
    });
}

#[test]
fn whose_turn_began_on_a_slow_node_has_it() {
    const TURNS: usize = 600;
    Explore::new().seeds(20).policy(Policy::Newest).run(|world| {
        let node = world.node("slow").start();
        world.settle();
        node.slow_down(10);
        let turns = Arc::new(Mutex::new(Vec::new()));
        for me in 0..3 {
            let turns = Arc::clone(&turns);
            node.spawn(async move {
                while turns.lock().unwrap().len() < TURNS {
                    turns.lock().unwrap().push(me);
                    tokio::task::yield_now().await;
                }
            });
        }
        world.run_for(Duration::from_secs(10));
        let turns = turns.lock().unwrap();
        assert_eq!(turns.len(), TURNS);
        // The newest is the one that has just run, but once in 61 steps; a turn is two of them.
        let changes = turns.windows(2).filter(|pair| pair[0] != pair[1]).count();
        assert!((1..=2 * TURNS / 61 + 1).contains(&changes), "{changes} changes");
    });
}

#[test]
fn what_actors_have_begun_is_as_slow_as_their_node() {
    Explore::new().seeds(10).twice().run(|world| {
        // A turn takes 50 ms at least, and so many are taken for each count.
        for (way, turns) in [1, 3, 3].into_iter().enumerate() {
            let node = world.node("slow").start();
            let count = busy(world, &node, way);
            let counted = |world: &mut World, span| {
                let before = count.load(Ordering::Relaxed);
                world.run_for(span);
                count.load(Ordering::Relaxed) - before
            };
            node.slow_down(1_000_000);
            let slow = counted(world, 3_000 * MS);
            assert!(slow <= 3_000 / 50 / turns + 1, "{slow} in three seconds, way {way}");
            node.slow_down(1);
            assert!(counted(world, 100 * MS) > 10, "it is fast again, way {way}");
            node.kill();
        }
    });
}

#[test]
fn a_node_that_is_slow_no_longer_goes_on_at_once() {
    Explore::new().seeds(20).run(|world| {
        let node = world.node("slow").start();
        node.slow_down(u32::MAX);
        let done = work(&node);
        world.run_for(Duration::from_millis(1));
        assert_eq!(done.load(Ordering::Relaxed), 0);
        node.slow_down(1);
        world.run_for(Duration::from_millis(1));
        let done = done.load(Ordering::Relaxed);
        assert!(done > 5, "{done} turns");
    });
}

/// Answers.
#[cfg(feature = "test-util")]
#[derive(Actor)]
struct Teller;

#[cfg(feature = "test-util")]
#[handlers]
impl Teller {
    #[ask]
    fn say(&self) -> u32 {
        7
    }
}

#[cfg(feature = "test-util")]
#[test]
fn tasks_of_tokio_run_when_the_world_shows_their_time() {
    const SECOND: Duration = Duration::from_secs(1);
    Explore::new().seeds(20).twice().run(|world| {
        let node = world.node("one").start();
        let clock = world.clock();
        let teller = world.run(async { node.system().spawn::<Teller>(Teller).await.unwrap() });
        let began = world.now();
        let (then, told) = world.run(async {
            let task = tokio::spawn(async move {
                tokio::time::sleep(10 * SECOND).await;
                // Its deadline is long past by the clock of a world that has stood still.
                (clock.now(), teller.say().within(5 * SECOND).await)
            });
            task.await.unwrap()
        });
        assert!(then >= began + 10 * SECOND, "{then:?}");
        assert_eq!(told, Ok(7));
        let clock = world.clock();
        let ticks = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&ticks);
        let began = world.now();
        world.run(async {
            tokio::spawn(async move {
                for tick in 1..=100 {
                    tokio::time::sleep(SECOND).await;
                    assert!(clock.now() >= began + tick * SECOND, "{:?}", clock.now());
                    counted.fetch_add(1, Ordering::Relaxed);
                }
            });
        });
        world.run_for(50 * SECOND + SECOND / 2);
        assert_eq!(ticks.load(Ordering::Relaxed), 50);
    });
}
