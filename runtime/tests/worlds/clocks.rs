//! Time in a world: as fine as its links are, the same for tokio's tasks, and slow on a slow node alone.
#![allow(clippy::unwrap_used, reason = "what goes wrong in a test may panic")]

use super::fabric::Pair;
use greenroom::sim::{Explore, Link, Node};
#[cfg(feature = "test-util")]
use greenroom::{Actor, handlers};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
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
fn work(on: &Node) -> Arc<AtomicU64> {
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
