//! Fairness in simulated worlds: between becoming ready and running, an actor waits for a bounded number of
//! activations, under every scheduler and whoever the world favours.
//!
//! `GREENROOM_SEEDS` says how many seeds each scheduler gets.
#![allow(clippy::unwrap_used, reason = "what goes wrong in a test may panic")]

use crate::support::{Scheduling, scheduled};
use greenroom::sim::{Explore, Policy, World};
use greenroom::{Actor, Context, Ref, Scheduler, handlers};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const SEEDS: u64 = if cfg!(sanitized) { 6 } else { 30 };
/// Actors that are ready all the time.
const RUNNERS: u64 = 8;
/// Activations of a world: enough that every bound below can be passed.
const ACTIVATIONS: u64 = 3 * 2 * FAIR * READY * 3;
/// A world lets whoever waited longest run at least once in so many steps, and so does its own ready queue.
const FAIR: u64 = 61;

/// Activations so far, and the most that anybody waited for.
#[derive(Default)]
struct Track {
    activations: AtomicU64,
    longest: AtomicU64,
}

/// Has always something to do: it sends itself the next message when it handles one.
#[derive(Actor)]
struct Runner {
    track: Arc<Track>,
}

#[handlers]
impl Runner {
    /// Since activation `since` the actor is ready.
    #[tell]
    fn go_on(&mut self, since: u64, cx: &mut Context<Self>) {
        let now = self.track.activations.fetch_add(1, Ordering::Relaxed);
        self.track.longest.fetch_max(now - since, Ordering::Relaxed);
        if now < ACTIVATIONS {
            cx.me().go_on(now).tell().unwrap();
        }
    }
}

/// Wakes others, which then want to run next.
#[derive(Actor)]
struct Waker {
    other: Option<Ref<Self>>,
    track: Arc<Track>,
}

#[handlers]
impl Waker {
    #[tell]
    fn meet(&mut self, other: Ref<Self>) {
        self.other = Some(other);
    }
    #[tell]
    fn wake(&mut self) {
        let now = self.track.activations.fetch_add(1, Ordering::Relaxed);
        if let Some(other) = self.other.as_ref().filter(|_| now < ACTIVATIONS) {
            other.wake().tell().unwrap();
        }
    }
}

/// The most activations that anybody waited for in a world, and its workers.
fn play(world: &mut World, scheduler: Scheduling) -> (u64, u64) {
    let workers = 1 + world.pick(3);
    let node = world
        .node("track")
        .settings(move |builder| scheduled(builder.workers(workers).batch(1), scheduler));
    let system = node.start().system();
    let track = Arc::new(Track::default());
    world.run(async {
        for _ in 0..RUNNERS {
            let runner = Runner { track: Arc::clone(&track) };
            let runner = system.spawn::<Runner>(runner).await.unwrap();
            runner.go_on(track.activations.load(Ordering::Relaxed)).tell().unwrap();
        }
        let mut pair = Vec::new();
        for _ in 0..2 {
            let waker = Waker { other: None, track: Arc::clone(&track) };
            pair.push(system.spawn::<Waker>(waker).await.unwrap());
        }
        pair[0].meet(pair[1].clone()).await.unwrap();
        pair[1].meet(pair[0].clone()).await.unwrap();
        pair[0].wake().await.unwrap();
    });
    world.settle();
    assert!(track.activations.load(Ordering::Relaxed) >= ACTIVATIONS);
    (track.longest.load(Ordering::Relaxed), workers as u64)
}

/// The most that `bound` allows is never passed. Where each worker has a queue of its own, the world may
/// give it a turn only when it has waited longest, and all that is ready may be before an actor there.
fn is_fair(scheduler: Scheduling, bound: fn(u64) -> u64) {
    check(&Explore::new().seeds(SEEDS), scheduler, bound);
    // Nobody in the world is favoured or starved: what is left is the ready queue's own.
    let in_turns = Explore::new().seeds(SEEDS).policy(Policy::RoundRobin);
    check(&in_turns, scheduler, |workers| bound(workers).min(IN_TURNS * READY * workers));
}

/// Rounds of all that can be ready that somebody waits for in a world where all have their turns: twice what rare paths, by
/// which an actor is put behind all others again and again, were seen to take.
const IN_TURNS: u64 = 20;

fn check(explore: &Explore, scheduler: Scheduling, bound: impl Fn(u64) -> u64) {
    explore.run(|world| {
        let (longest, workers) = play(world, scheduler);
        let bound = bound(workers);
        assert!(bound * 3 <= ACTIVATIONS, "{bound} cannot be passed");
        assert!(longest <= bound, "{longest} activations with {workers} workers, {bound} allowed");
        world.sometimes("somebody waits for a round", longest >= RUNNERS);
    });
}

/// All that can be ready at once: a waker that has used up its turn is, until it sees that it has no more mail.
const READY: u64 = RUNNERS + 2;

#[test]
fn the_worlds_own_queue() {
    is_fair(None, |_| FAIR * READY);
}

#[test]
fn locked() {
    is_fair(Some(Scheduler::locked), |workers| READY + workers);
}

#[test]
fn lock_free() {
    is_fair(Some(Scheduler::lock_free), |workers| FAIR * READY * workers);
}

#[test]
fn stealing() {
    // Three who were made ready last, as the wakers are, may come before each from a ring.
    is_fair(Some(Scheduler::stealing), |_| FAIR * READY * 4);
}

#[test]
fn per_core() {
    // Who is handed over waits at the back once more.
    is_fair(Some(Scheduler::per_core), |workers| 2 * FAIR * READY * workers);
}

/// One of those above: it has rings for a single worker, and steals otherwise.
#[test]
fn auto() {
    is_fair(Some(Scheduler::auto), |_| FAIR * READY * 4);
}
