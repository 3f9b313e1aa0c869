//! A ready queue of one's own that panics, or loses actors: the system goes on without it, or without them, says so, and
//! ends. In a program of its own, because actors that such a queue has lost never end, and keep their system's threads.

#![allow(clippy::unwrap_used, reason = "what goes wrong in a test may panic")]

mod support;

use greenroom::{
    Actor, Batch, Context, Event, EventStream, Hint, Origin, Ready, ReadyQueue, Ref, Scheduler,
    System, WorkerId, handlers,
};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;
use support::{LONG, hold_worker, run, soon, until};

/// A line that panics where it was told to.
#[derive(Debug, Default)]
struct Brittle {
    line: Mutex<VecDeque<Ready>>,
    breaks: Arc<AtomicU8>,
}

const NOWHERE: u8 = 0;
const PUSH: u8 = 1;
const POP: u8 = 2;
const HAS_WORK: u8 = 3;
const LEN: u8 = 4;
/// Here it does not panic, but loses what it is given.
const LOSE: u8 = 5;

impl Brittle {
    fn reach(&self, place: u8) {
        assert_ne!(self.breaks.load(Ordering::SeqCst), place, "as told");
    }
}

impl ReadyQueue for Brittle {
    fn push(&self, _from: Origin, ready: Ready, _hint: Hint) {
        self.reach(PUSH);
        if self.breaks.load(Ordering::SeqCst) != LOSE {
            self.line.lock().push_back(ready);
        }
    }
    fn pop(&self, _worker: WorkerId, batch: &mut Batch) {
        self.reach(POP);
        if let Some(ready) = self.line.lock().pop_front() {
            batch.push(ready);
        }
    }
    fn has_work(&self, _worker: WorkerId) -> bool {
        self.reach(HAS_WORK);
        !self.line.lock().is_empty()
    }
    fn len(&self) -> usize {
        self.reach(LEN);
        self.line.lock().len()
    }
}

#[derive(Actor)]
struct Echo;

#[handlers]
impl Echo {
    #[tell]
    fn hear(&mut self) {}
    /// Without end.
    #[tell]
    fn hum(&mut self, cx: &mut Context<Self>) {
        // An error means that it is to stop.
        let _ = cx.me().hum().tell();
    }
    #[ask]
    fn answer(&mut self, number: u64) -> u64 {
        number
    }
}

fn system(workers: usize) -> (System, Arc<AtomicU8>) {
    let breaks = Arc::new(AtomicU8::new(NOWHERE));
    let queue = Brittle { breaks: Arc::clone(&breaks), ..Brittle::default() };
    let scheduler = Scheduler::custom(move |_| queue);
    (System::builder().workers(workers).scheduler(scheduler).build().unwrap(), breaks)
}

/// Actors that have started and rest.
async fn resting<const COUNT: usize>(system: &System) -> [Ref<Echo>; COUNT] {
    let mut actors = Vec::new();
    for number in 0..COUNT {
        let actor = system.spawn::<Echo>(Echo).named(format!("echo {number}")).await.unwrap();
        assert_eq!(actor.answer(1).within(LONG).await, Ok(1));
        actors.push(actor);
    }
    system.await_idle(LONG).await.unwrap();
    actors.try_into().unwrap_or_else(|_| unreachable!("so many were made"))
}

async fn panicked(events: &mut EventStream) -> String {
    loop {
        if let Event::QueuePanicked { text } = soon(events.next()).await.unwrap() {
            return text;
        }
    }
}

/// What is lost does not end in any time.
const BRIEF: Duration = Duration::from_millis(100);

/// Ends the system within that time, and says what was lost, which cannot run any more.
async fn lost(system: &System, within: Duration) -> Vec<String> {
    match system.shutdown(within).await {
        Ok(()) => Vec::new(),
        Err(error) => error.hanging,
    }
}

// [G-SHUTDOWN-1]
#[test]
fn a_queue_that_panics_is_told_of_and_done_without() {
    let places = [PUSH, POP, HAS_WORK, LEN].into_iter();
    for (place, workers) in places.flat_map(|place| [(place, 1), (place, 3)]) {
        run(async {
            let (system, breaks) = system(workers);
            let mut events = system.events();
            let [victim, other] = resting(&system).await;
            breaks.store(place, Ordering::SeqCst);
            victim.hear().try_send().unwrap();
            assert!(panicked(&mut events).await.contains("as told"), "{place}");
            for number in 0..100 {
                assert_eq!(other.answer(number).within(LONG).await, Ok(number), "{place}");
            }
            other.stop();
            until(|| system.counts().ended == 1).await;
            // Where nothing may be lost it has time.
            let within = if place == LEN { LONG } else { BRIEF };
            let lost = lost(&system, within).await;
            // Elsewhere the queue has handed the victim out before it is asked, or it has not.
            let is_lost = lost == ["echo 0 (Echo#1)"];
            let may_be_right = match place {
                PUSH | POP => is_lost,
                LEN => lost.is_empty(),
                _ => is_lost || lost.is_empty(),
            };
            assert!(may_be_right, "{place}: {lost:?}");
        });
    }
}

#[test]
fn what_waits_in_a_queue_that_takes_no_more_is_run() {
    run(async {
        let (system, breaks) = system(1);
        let mut events = system.events();
        let [before, victim, after] = resting(&system).await;
        let hold = hold_worker(&system).await;
        before.hear().try_send().unwrap();
        breaks.store(PUSH, Ordering::SeqCst);
        victim.hear().try_send().unwrap();
        after.hum().try_send().unwrap();
        assert!(panicked(&mut events).await.contains("as told"));
        drop(hold);
        for actor in [before, after] {
            assert_eq!(actor.answer(2).within(LONG).await, Ok(2));
            actor.stop();
        }
        until(|| system.counts().ended == 3).await;
        assert_eq!(lost(&system, BRIEF).await, ["echo 1 (Echo#2)"]);
    });
}

// [G-SHUTDOWN-1]
#[test]
fn what_a_queue_loses_is_named_and_delays_nobody() {
    run(async {
        let (system, breaks) = system(2);
        let [victim, other] = resting(&system).await;
        breaks.store(LOSE, Ordering::SeqCst);
        victim.hear().try_send().unwrap();
        breaks.store(NOWHERE, Ordering::SeqCst);
        for number in 0..100 {
            assert_eq!(other.answer(number).within(LONG).await, Ok(number));
        }
        other.stop();
        until(|| system.counts().ended == 1).await;
        assert_eq!(lost(&system, BRIEF).await, ["echo 0 (Echo#1)"]);
    });
}
