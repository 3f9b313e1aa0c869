//! A storm ends what it has begun, and nothing that the test itself has told a node or made of a link.
#![allow(clippy::unwrap_used, reason = "what goes wrong in a test may panic")]

use super::clocks::work;
use super::explore::failure_of;
use super::fabric::{MS, Pair};
use greenroom::sim::{Explore, Fault, Link, Node, World};
use greenroom::{Actor, Context, handlers};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

/// A node that counts once in a millisecond, in each of its lives.
fn counting(world: &mut World) -> (Node, Arc<AtomicU64>) {
    let (count, clock) = (Arc::new(AtomicU64::new(0)), world.clock());
    let counted = Arc::clone(&count);
    let boot = move |_: Node| {
        let (count, clock) = (Arc::clone(&counted), clock.clone());
        async move {
            loop {
                count.fetch_add(1, Ordering::Relaxed);
                clock.sleep(MS).await;
            }
        }
    };
    (world.node("one").boot(boot).start(), count)
}

/// Lets a storm of these faults rage at a node for half a minute.
fn rage(world: &mut World, node: &Node, among: &[Fault]) {
    let storm = world.storm(std::slice::from_ref(node), among);
    world.run_for(30 * SECOND);
    for &fault in among {
        world.sometimes(format!("{fault:?}"), storm.has(fault));
    }
}

#[test]
fn a_storm_lets_nobody_go_on_whom_the_test_has_paused() {
    Explore::new().seeds(20).run(|world| {
        let (node, count) = counting(world);
        world.run_for(10 * MS);
        node.pause();
        world.settle();
        let before = count.load(Ordering::Relaxed);
        rage(world, &node, &[Fault::Pause, Fault::Kill, Fault::Stop]);
        assert_eq!(count.load(Ordering::Relaxed), before, "it is paused");
        world.sometimes("it has started again", node.incarnation() > 0);
        world.heal();
        world.run_for(10 * MS);
        assert!(count.load(Ordering::Relaxed) > before, "it goes on");
    });
}

#[test]
fn a_storm_makes_nobody_fast_whom_the_test_has_slowed() {
    Explore::new().seeds(20).run(|world| {
        let (node, count) = counting(world);
        node.slow_down(100_000);
        rage(world, &node, &[Fault::Slow]);
        let count = count.load(Ordering::Relaxed);
        assert!(count <= 30_000 / 5, "{count} turns, and each takes 5 ms at least");
    });
}

/// Counts the seconds of its node's clock.
#[derive(Actor)]
struct Ticker(u64);

#[handlers]
impl Ticker {
    #[start]
    fn start(cx: &mut Context<Self>) -> Self {
        cx.every(SECOND, Self::tick);
        Self(0)
    }
    #[local]
    fn tick(&mut self) {
        self.0 += 1;
    }
    #[ask]
    fn ticks(&self) -> u64 {
        self.0
    }
}

#[test]
fn a_storm_lets_no_clock_go_on_that_the_test_has_frozen() {
    Explore::new().seeds(20).run(|world| {
        let node = world.node("one").start();
        let ticker = world.run(async { node.system().spawn::<Ticker>(()).await.unwrap() });
        node.freeze_clock();
        rage(world, &node, &[Fault::Freeze, Fault::Drift]);
        assert_eq!(world.run(async { ticker.ticks().await }), Ok(0));
        node.drift_clock(0);
        world.heal();
        world.run_for(2 * SECOND);
        assert_ne!(world.run(async { ticker.ticks().await }), Ok(0));
    });
}

#[test]
fn a_failure_where_a_clock_drifts_is_made_small_to_one_that_does_not() {
    let text = failure_of(&Explore::new().seeds(20), |world| {
        let node = world.node("one").start();
        let ticker = world.run(async { node.system().spawn::<Ticker>(()).await.unwrap() });
        let storm = world.storm(&[node], &[Fault::Drift]);
        world.run_for(100 * SECOND + SECOND / 2);
        let ticks = world.run(async { ticker.ticks().await.unwrap() });
        if storm.has(Fault::Drift) {
            world.fail_with("it drifts", format!("{ticks} ticks"));
        }
    });
    assert!(text.lines().any(|line| line == "  100 ticks"), "{text}");
}

#[test]
fn a_storm_starts_nobody_whom_the_test_has_ended() {
    for end in [Node::kill, |node: &Node| node.stop(SECOND)] {
        Explore::new().seeds(20).run(|world| {
            let (node, _count) = counting(world);
            world.run_for(10 * MS);
            end(&node);
            rage(world, &node, &[Fault::Kill, Fault::Stop]);
            assert!(node.try_system().is_none() && node.incarnation() == 0);
            world.heal();
            assert!(node.try_system().is_some());
        });
    }
}

#[test]
fn what_a_test_tells_a_node_ends_what_a_storm_has_done_to_it() {
    type Case = (Fault, fn(&Node));
    let cases: [Case; 7] = [
        (Fault::Pause, Node::resume),
        (Fault::Slow, |node| node.slow_down(1)),
        (Fault::Freeze, |node| node.drift_clock(0)),
        (Fault::Drift, |node| node.drift_clock(0)),
        (Fault::Slow, Node::restart),
        (Fault::Freeze, Node::restart),
        (Fault::Drift, Node::restart),
    ];
    for (fault, tell) in cases {
        Explore::new().seeds(20).run(|world| {
            let node = world.node("one").start();
            let storm = world.storm(std::slice::from_ref(&node), &[fault]);
            // The first strike is at once.
            world.settle();
            world.sometimes(format!("{fault:?}"), storm.has(fault));
            // It is not in the core, and stays as it is.
            world.calm(&[]);
            tell(&node);
            world.settle();
            let ticker = world.run(async { node.system().spawn::<Ticker>(()).await.unwrap() });
            world.run_for(100 * SECOND + SECOND / 2);
            assert_eq!(world.run(async { ticker.ticks().await }), Ok(100), "{fault:?}");
            let turns = work(&node);
            world.run_for(MS / 5);
            let turns = turns.load(Ordering::Relaxed);
            // On a rare path any step may be slow.
            if !world.rare_paths().any(|(name, times)| name == "slow turn" && times > 0) {
                assert!(turns > 500, "{turns} turns, {fault:?}");
            }
        });
    }
}

#[test]
fn a_storm_at_a_single_node_has_no_faults_of_links() {
    let own = [Fault::Kill, Fault::Stop, Fault::Pause, Fault::Offset, Fault::Drift];
    let more = [Fault::Jump, Fault::Freeze, Fault::Slow, Fault::Rebind];
    let own = [&own[..], &more[..]].concat();
    Explore::new().seeds(20).run(|world| {
        let node = world.node("one").start();
        let storm = world.storm(&[node], &Fault::ALL);
        for fault in Fault::ALL {
            assert!(!storm.has(fault) || own.contains(&fault), "{fault:?}");
            world.sometimes(format!("{fault:?}"), storm.has(fault) || !own.contains(&fault));
        }
    });
}

#[test]
fn what_strikes_a_link_strikes_one_between_two_nodes() {
    Explore::new().seeds(20).run(|world| {
        let pair = Pair::new(world, Link::default());
        let storm = world.storm(&pair.nodes, &[Fault::OneWay]);
        // The first strike is at once.
        world.settle();
        for [from, to] in [[0, 1], [1, 0]] {
            pair.sockets[from].send(pair.sockets[to].address(), b"x");
        }
        let cut_off = world.traffic().cut_off;
        assert_eq!(cut_off, u64::from(storm.has(Fault::OneWay)));
        world.sometimes("it is cut", cut_off > 0);
    });
}

#[test]
fn a_storm_makes_no_link_better() {
    let mut narrow = Link::default().latency(MS);
    narrow.narrowed = Some(1000);
    for (link, fault) in [(narrow, Fault::Narrow), (Link::default().loss(1000), Fault::Loss)] {
        Explore::new().seeds(20).run(|world| {
            let pair = Pair::new(world, link);
            let storm = world.storm(&pair.nodes, &[fault]);
            for _ in 0..200 {
                pair.sockets[0].send(pair.sockets[1].address(), &[7; 2000]);
                world.run_for(100 * MS);
                assert!(pair.sockets[1].try_receive().unwrap().is_none(), "it is as it was set");
            }
            world.sometimes(format!("{fault:?}"), storm.has(fault));
        });
    }
}
