//! Simulated worlds: unchanged actors, one thread, one seed.
#![allow(clippy::unwrap_used, reason = "what goes wrong in a test may panic")]

use greenroom::sim::{Fault, Node, Socket, SocketError, World, WorldClock};
use greenroom::{Actor, AskError, Context, Ref, handlers};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

#[derive(Actor)]
struct Counter {
    total: u64,
}

#[handlers]
impl Counter {
    #[tell]
    fn add(&mut self, amount: u64) {
        self.total += amount;
    }
    #[ask]
    fn total(&self) -> u64 {
        self.total
    }
}

#[test]
fn an_actor_runs_in_a_world() {
    let mut world = World::new(1);
    let node = world.node("one").start();
    let total = world.run(async {
        let counter = node.system().spawn::<Counter>(Counter { total: 0 }).await.unwrap();
        for amount in 1..=10 {
            counter.add(amount).await.unwrap();
        }
        counter.total().await.unwrap()
    });
    assert_eq!(total, 55);
    world.finish();
}

/// Ticks, and asks nobody for ever.
#[derive(Actor)]
struct Waiter {
    ticks: u64,
}

#[handlers]
impl Waiter {
    #[start]
    fn start(cx: &mut Context<Self>) -> Self {
        cx.every(Duration::from_secs(1), Self::tick);
        Self { ticks: 0 }
    }
    #[local]
    fn tick(&mut self) {
        self.ticks += 1;
    }
    #[ask]
    fn ticks(&self) -> u64 {
        self.ticks
    }
    #[ask]
    async fn never(&mut self) {
        std::future::pending::<()>().await;
    }
}

#[test]
fn time_jumps_to_what_happens_next() {
    let mut world = World::new(2);
    let node = world.node("one").start();
    let waiter: Ref<Waiter> = world.run(async { node.system().spawn::<Waiter>(()).await.unwrap() });
    world.run_for(Duration::from_secs(3600));
    let ticks = world.run(async { waiter.ticks().await.unwrap() });
    assert!((3599..=3600).contains(&ticks), "{ticks} ticks in an hour");
    let began = world.now();
    let expired = world.run(async { waiter.never().within(Duration::from_secs(60)).await });
    assert!(matches!(expired, Err(AskError::Expired)), "{expired:?}");
    let took = world.now() - began;
    assert!(took >= Duration::from_secs(60) && took < Duration::from_secs(61), "{took:?}");
}

/// Draws random numbers.
#[derive(Actor)]
struct Gambler;

#[handlers]
impl Gambler {
    #[ask]
    fn draw(&self, cx: &mut Context<Self>) -> [u64; 4] {
        std::array::from_fn(|_| cx.random())
    }
}

#[test]
fn what_actors_draw_follows_from_the_seed() {
    let draw = |seed| {
        let mut world = World::new(seed);
        let nodes = [world.node("one").start(), world.node("two").start()];
        world.run(async {
            let mut drawn = Vec::new();
            for node in &nodes {
                let gambler = node.system().spawn::<Gambler>(Gambler).await.unwrap();
                drawn.extend(gambler.draw().await.unwrap());
            }
            drawn
        })
    };
    let drawn = draw(7);
    assert_eq!(draw(7), drawn, "one seed");
    let other = draw(8);
    let all: std::collections::BTreeSet<_> = drawn.iter().chain(&other).collect();
    assert_eq!(all.len(), 16, "no two nodes, and no two seeds, draw alike: {drawn:?} {other:?}");
}

/// Counts its starts on the node's disk, and answers over the wire with what it is asked.
async fn echo(node: Node) {
    let starts = node.stored("starts").map_or(0, |bytes| bytes[0]);
    node.store("starts", [starts + 1]);
    let socket = node.bind(7).unwrap();
    while let Ok(datagram) = socket.receive().await {
        socket.send(datagram.from, &datagram.bytes);
    }
}

/// Sends until something comes back; how often it sent.
async fn call(from: &Socket, to: SocketAddr, clock: &WorldClock) -> u32 {
    for attempt in 1.. {
        from.send(to, b"hello");
        clock.sleep(Duration::from_millis(100)).await;
        if let Some(answer) = from.try_receive().unwrap() {
            assert_eq!(answer.bytes, b"hello");
            assert_eq!(answer.from, to);
            return attempt;
        }
        assert!(attempt < 1000, "no answer");
    }
    unreachable!()
}

#[test]
fn nodes_crash_and_start_again_with_what_they_stored() {
    let mut world = World::new(4);
    let server = world.node("server").boot(echo).start();
    let client = world.node("client").start();
    let clock = world.clock();
    let socket = client.bind(1000).unwrap();
    let to = SocketAddr::new(server.host(), 7);
    world.run(async {
        assert!(call(&socket, to, &clock).await <= 2);
        let (killed, system) = (server.clone(), server.system());
        let _actor = system.spawn::<Counter>(Counter { total: 0 }).await.unwrap();
        killed.kill();
        clock.sleep(Duration::from_secs(1)).await;
        assert!(server.try_system().is_none());
        assert_eq!(server.bind(8).unwrap_err(), SocketError::Down);
        socket.send(to, b"anyone?");
        clock.sleep(Duration::from_secs(1)).await;
        assert_eq!(socket.try_receive().unwrap(), None);
        assert_eq!(system.counts().ended, 0, "of the dead nothing runs, not even the end");
        server.restart();
        assert!(call(&socket, to, &clock).await <= 2);
        assert_eq!(server.incarnation(), 1);
        assert_eq!(server.stored("starts").unwrap(), [2]);
        server.stop(Duration::from_secs(5));
        clock.sleep(Duration::from_secs(10)).await;
        assert!(server.try_system().is_none());
    });
    world.heal();
    let attempts = world.run(call(&socket, to, &clock));
    assert!(attempts <= 2, "{attempts} attempts");
    assert_eq!(server.incarnation(), 2);
    assert!(world.traffic().unclaimed >= 1);
}

#[test]
fn a_stop_drops_actors_and_a_world_buries_its_dead() {
    #[derive(Actor)]
    struct Guest(#[expect(dead_code, reason = "it counts who is there")] Arc<()>);
    #[handlers]
    impl Guest {
        #[ask]
        async fn stay(&mut self) {
            std::future::pending::<()>().await;
        }
    }
    let here = Arc::new(());
    let mut world = World::new(5);
    for name in ["stops", "dies", "stays"] {
        let node = world.node(name).start();
        let guest = Arc::clone(&here);
        let guest = world.run(async { node.system().spawn::<Guest>(Guest(guest)).await.unwrap() });
        world.spawn(async move { assert!(guest.stay().await.is_err()) });
        world.settle();
        match name {
            "stops" => node.stop(Duration::from_millis(500)),
            "dies" => node.kill(),
            _ => {}
        }
        world.run_for(Duration::from_secs(2));
    }
    assert_eq!(Arc::strong_count(&here), 3, "one was dropped by its stop");
    drop(world);
    assert_eq!(Arc::strong_count(&here), 1);
}

#[test]
fn a_paused_node_does_nothing_until_it_goes_on() {
    let mut world = World::new(6);
    let node = world.node("tired").start();
    let waiter = world.run(async { node.system().spawn::<Waiter>(()).await.unwrap() });
    world.run_for(Duration::from_millis(10_500));
    node.pause();
    world.run_for(Duration::from_secs(100));
    node.resume();
    world.run_for(Duration::from_secs(10));
    let ticks = world.run(async { waiter.ticks().await.unwrap() });
    assert!((20..=21).contains(&ticks), "{ticks}: missed ticks are not made up for");
}

#[test]
fn clocks_of_nodes_run_fast_stand_still_and_jump() {
    let mut world = World::new(7);
    let fast = world.node("fast").start();
    let frozen = world.node("frozen").start();
    let waiters = world.run(async {
        let fast = fast.system().spawn::<Waiter>(()).await.unwrap();
        let frozen = frozen.system().spawn::<Waiter>(()).await.unwrap();
        (fast, frozen)
    });
    fast.drift_clock(1_000_000);
    frozen.freeze_clock();
    world.run_for(Duration::from_millis(10_400));
    let ticks = world.run(async { (waiters.0.ticks().await, waiters.1.ticks().await) });
    assert_eq!(ticks, (Ok(20), Ok(0)));
    frozen.drift_clock(0);
    frozen.jump_clock(Duration::from_secs(1));
    world.run_for(Duration::from_millis(500));
    let ticks = world.run(async { waiters.1.ticks().await });
    assert_eq!(ticks, Ok(1));
}

#[test]
fn tasks_of_tokio_and_blocking_work_are_steps() {
    #[derive(Actor)]
    struct Busy;
    #[handlers]
    impl Busy {
        #[ask]
        async fn work(&mut self, cx: &mut Context<Self>) -> u32 {
            let spawned = tokio::spawn(async {
                for _ in 0..1000 {
                    tokio::task::yield_now().await;
                }
                20
            });
            cx.blocking(|| 2).await + spawned.await.unwrap()
        }
        #[ask]
        async fn sleep(&mut self) {
            tokio::time::sleep(Duration::from_secs(3600)).await;
        }
    }
    let mut world = World::new(8);
    let node = world.node("one").start();
    let busy = world.run(async { node.system().spawn::<Busy>(Busy).await.unwrap() });
    assert_eq!(world.run(async { busy.work().await }), Ok(22));
    world.settle();
    if cfg!(feature = "test-util") {
        let slept = world.run(async { busy.sleep().within(Duration::from_secs(4000)).await });
        assert_eq!(slept, Ok(()));
        assert!(world.now() >= Duration::from_secs(3600));
        let cut = world.run(async { busy.sleep().within(Duration::from_secs(100)).await });
        assert_eq!(cut, Err(AskError::Expired));
        assert!(world.now() < Duration::from_secs(3800));
    } else {
        let refused = std::panic::AssertUnwindSafe(|| {
            world.run(async { busy.sleep().await }).unwrap();
        });
        let refused = std::panic::catch_unwind(refused).unwrap_err();
        let refused = refused.downcast::<String>().unwrap();
        assert!(refused.contains("timers are disabled"), "{refused}");
    }
}

#[test]
fn tasks_of_a_node_run_while_it_does() {
    let mut world = World::new(6);
    let node = world.node("one").start();
    let clock = world.clock();
    let ticks = Arc::new(AtomicU64::new(0));
    let tick = |to: &Node| {
        let (ticks, clock) = (Arc::clone(&ticks), clock.clone());
        to.spawn(async move {
            loop {
                ticks.fetch_add(1, Ordering::Relaxed);
                clock.sleep(Duration::from_millis(1)).await;
            }
        });
    };
    let ticked = |world: &mut World| {
        let before = ticks.load(Ordering::Relaxed);
        world.run_for(Duration::from_millis(10));
        ticks.load(Ordering::Relaxed) > before
    };
    tick(&node);
    assert!(ticked(&mut world));
    node.pause();
    world.settle();
    assert!(!ticked(&mut world), "it rests with its node");
    node.resume();
    assert!(ticked(&mut world));
    node.kill();
    world.settle();
    assert!(!ticked(&mut world), "it has ended with its node");
    tick(&node);
    assert!(!ticked(&mut world), "the node is down");
    node.restart();
    world.settle();
    assert!(!ticked(&mut world), "tasks belong to a life");
    tick(&node);
    assert!(ticked(&mut world));
    node.stop(Duration::from_secs(1));
    world.run_for(Duration::from_millis(10));
    assert!(!ticked(&mut world), "the node has stopped");
    world.finish();
}

#[test]
fn boot_may_use_its_node_before_its_future_runs() {
    let mut world = World::new(8);
    let boots = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&boots);
    let boot = move |node: Node| {
        assert_eq!(node.incarnation(), counted.load(Ordering::Relaxed));
        let (system, counted) = (node.system(), Arc::clone(&counted));
        node.spawn(async move {
            system.spawn::<Counter>(Counter { total: 0 }).named("one").await.unwrap();
            counted.fetch_add(1, Ordering::Relaxed);
        });
        async {}
    };
    let node = world.node("one").boot(boot).start();
    for times in 1..=3 {
        world.settle();
        assert_eq!(boots.load(Ordering::Relaxed), times);
        assert!(node.system().find::<Counter>("one").is_ok());
        node.restart();
    }
}

#[test]
fn time_passes_though_somebody_is_always_busy() {
    #[derive(Actor)]
    struct Restless;
    #[handlers]
    impl Restless {
        #[tell]
        fn go_on(&mut self, cx: &mut Context<Self>) {
            cx.me().go_on().tell().unwrap();
        }
    }
    let mut world = World::new(9);
    let node = world.node("one").start();
    let restless = world.run(async { node.system().spawn::<Restless>(Restless).await.unwrap() });
    restless.go_on().tell().unwrap();
    let began = world.now();
    world.run_for(Duration::from_millis(1));
    let took = world.now() - began;
    assert!(took >= Duration::from_millis(1) && took < Duration::from_micros(1001), "{took:?}");
    assert!((5_000..=20_000).contains(&world.steps()), "{} steps", world.steps());
}

#[test]
fn a_slow_node_takes_longer_and_calm_puts_the_core_right() {
    let mut world = World::new(10);
    let [slow, other] = ["slow", "other"].map(|name| world.node(name).start());
    let counters = world.run(async {
        let slow = slow.system().spawn::<Counter>(Counter { total: 0 }).await.unwrap();
        (slow, other.system().spawn::<Counter>(Counter { total: 0 }).await.unwrap())
    });
    let took = |world: &mut World, counter: &Ref<Counter>| {
        let began = world.now();
        world.run(async { counter.total().await.unwrap() });
        world.now() - began
    };
    let before = took(&mut world, &counters.0);
    slow.slow_down(1_000_000);
    assert!(took(&mut world, &counters.0) > 1000 * before, "a turn takes 50 ms at least");
    other.pause();
    other.freeze_clock();
    world.calm(&[slow]);
    assert!(took(&mut world, &counters.0) < Duration::from_millis(1));
    let late = std::panic::AssertUnwindSafe(|| {
        world.run_within(Duration::from_secs(3), async { counters.1.total().await.unwrap() })
    });
    let late = *std::panic::catch_unwind(late).unwrap_err().downcast::<String>().unwrap();
    assert!(late.contains("not done in time"), "{late}");
    assert!(late.contains("node \"other\", paused"), "{late}");
}

#[test]
fn a_storm_rages_until_it_is_calm_and_is_the_same_for_the_same_seed() {
    let storm = |seed| {
        let mut world = World::new(seed);
        let nodes = ["one", "two", "three"].map(|name| world.node(name).boot(echo).start());
        let storm = world.storm(&nodes, &Fault::ALL);
        world.run_for(Duration::from_secs(10));
        world.calm(&nodes);
        world.run_for(Duration::from_secs(1));
        assert!(nodes.iter().all(|node| node.try_system().is_some()), "all are up");
        let lives: Vec<_> = nodes.iter().map(Node::incarnation).collect();
        world.run_for(Duration::from_secs(300));
        assert!(lives.iter().copied().eq(nodes.iter().map(Node::incarnation)), "it is over");
        assert!(storm.has(Fault::Kill) || storm.has(Fault::Stop) || lives == [0; 3]);
        (storm.faults().collect::<Vec<_>>(), lives, world.trace_hash())
    };
    let drawn: Vec<_> = (0..20).map(storm).collect();
    assert_eq!(drawn, (0..20).map(storm).collect::<Vec<_>>());
    assert!(drawn.iter().any(|(_, lives, _)| *lives != [0; 3]), "somebody was killed");
    let counts: Vec<_> = drawn.iter().map(|(faults, ..)| faults.len()).collect();
    assert!(counts.iter().all(|&count| count < Fault::ALL.len()), "{counts:?}");
}
