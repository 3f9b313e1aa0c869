//! How many messages an actor handles before others have their turn.

#![allow(clippy::unwrap_used, reason = "what goes wrong in a test may panic")]

use crate::support::{LONG, SCHEDULERS, hold_worker, run, until};
use greenroom::{Actor, Builder, Ref, Scheduler, System, handlers};
use parking_lot::Mutex;
use std::sync::Arc;

/// Who has handled a message, in order.
type Log = Arc<Mutex<Vec<usize>>>;

#[derive(Actor)]
struct Writer {
    number: usize,
    log: Log,
}

#[handlers]
impl Writer {
    #[tell]
    fn write(&mut self) {
        self.log.lock().push(self.number);
    }
}

async fn writer(system: &System, number: usize, log: &Log) -> Ref<Writer> {
    system.spawn::<Writer>(Writer { number, log: Arc::clone(log) }).await.unwrap()
}

/// One worker, whose turns are not cut short by time.
fn built(scheduler: Scheduler, set: fn(Builder) -> Builder) -> System {
    set(System::builder().workers(1).slice(LONG).scheduler(scheduler)).build().unwrap()
}

/// The lengths of the turns of writers that all have `each` messages before the first one begins.
async fn turns(system: &System, writers: usize, each: usize) -> Vec<usize> {
    let log = Log::default();
    let mut actors = Vec::new();
    for number in 0..writers {
        actors.push(writer(system, number, &log).await);
    }
    let held = hold_worker(system).await;
    for _ in 0..each {
        for actor in &actors {
            actor.write().try_send().unwrap();
        }
    }
    drop(held);
    until(|| log.lock().len() == writers * each).await;
    let log = log.lock();
    log.chunk_by(|one, next| one == next).map(<[usize]>::len).collect()
}

/// Asserts how long turns are under each scheduler, whether one other waits or many do.
fn assert_turns(set: fn(Builder) -> Builder, length: usize) {
    for scheduler in SCHEDULERS {
        let system = built(scheduler(), set);
        run(async {
            for writers in [2, 60] {
                let turns = turns(&system, writers, 10 * length).await;
                assert!(turns.iter().all(|&turn| turn == length), "{turns:?}");
            }
            system.shutdown(LONG).await.unwrap();
        });
    }
}

#[test]
fn a_turn_is_64_messages_however_many_wait() {
    assert_turns(|builder| builder, 64);
}

#[test]
fn a_batch_that_was_set_is_the_length_of_each_turn() {
    assert_turns(|builder| builder.batch(10), 10);
}
