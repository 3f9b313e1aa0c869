//! Workers that look for work before they sleep, spinning or not, and what they leave their threads to meanwhile.

#![allow(clippy::unwrap_used, reason = "what goes wrong in a test may panic")]

use super::host;
use super::queues::Line;
use crate::support::{Builds, LONG, SCHEDULERS, SHARING, run, soon, until};
use greenroom::{
    Actor, Batch, Hint, Idle, Origin, Ready, ReadyQueue, Scheduler, System, WorkerId, handlers,
};
use parking_lot::Mutex;
use std::sync::{Arc, mpsc};
use std::thread::{self, ThreadId};
use std::time::Duration;
use tokio::sync::oneshot;

#[test]
fn workers_that_spin_before_they_sleep_miss_nothing() {
    run(async {
        let built = System::builder().workers(2).idle(Idle::Spin(Duration::from_micros(50)));
        let system = built.own();
        let host = host(&system).await;
        for number in 0..200 {
            assert_eq!(host.spawn_inside(number).await, Ok(number + 1));
        }
        let time = Duration::from_millis(2);
        assert!(host.sleep(time).await.unwrap() >= time);
        host.drain();
        until(|| system.counts().ended == 1).await;
        system.shutdown(LONG).await.unwrap();
    });
}

/// They would not sleep while the test lasts.
#[test]
fn workers_that_spin_hear_their_sockets_and_timers() {
    for scheduler in SCHEDULERS {
        let built = System::builder().workers(1).scheduler(scheduler());
        let system = built.idle(Idle::Spin(LONG * 1000)).own();
        run(async {
            let host = host(&system).await;
            for text in ["one", "two"] {
                let port = host.listen().await.unwrap();
                assert_eq!(host.connect(port, text.to_owned()).await.unwrap(), text);
            }
            let time = Duration::from_millis(2);
            assert!(host.sleep(time).await.unwrap() >= time);
            host.drain();
            until(|| system.counts().ended == 1).await;
            system.shutdown(LONG).await.unwrap();
        });
    }
}

/// They leave their threads to tokio in between, which may have more to do than to look at its sockets.
#[test]
fn a_task_that_keeps_the_thread_of_a_worker_that_spins_keeps_no_other_asleep() {
    for scheduler in SHARING {
        let built = System::builder().workers(2).scheduler(scheduler());
        // So short that the other one sleeps when the next question comes.
        let system = built.idle(Idle::Spin(Duration::from_micros(10))).own();
        run(async {
            let (keeper, other) = (host(&system).await, host(&system).await);
            let (begins, begun) = oneshot::channel();
            let (release, released) = mpsc::channel();
            keeper.keep_thread(begins, released).await.unwrap();
            soon(begun).await.unwrap();
            for number in 0..200 {
                assert_eq!(other.spawn_inside(number).await, Ok(number + 1));
            }
            drop(release);
            system.shutdown(LONG).await.unwrap();
        });
    }
}

/// The worker, by its thread, that is told of work once more which another one has taken.
type Outrun = Arc<Mutex<Option<ThreadId>>>;

/// A line in which a worker is outrun.
#[derive(Debug)]
struct Race {
    line: Line,
    outrun: Outrun,
}

impl ReadyQueue for Race {
    fn push(&self, from: Origin, ready: Ready, hint: Hint) {
        self.line.push(from, ready, hint);
    }
    fn pop(&self, worker: WorkerId, batch: &mut Batch) {
        self.line.pop(worker, batch);
    }
    fn has_work(&self, worker: WorkerId) -> bool {
        let is_here = |outrun: &mut ThreadId| *outrun == thread::current().id();
        self.outrun.lock().take_if(is_here).is_some() || self.line.has_work(worker)
    }
    fn len(&self) -> usize {
        self.line.len()
    }
}

/// Has tokio run a task that keeps the thread, whose worker is outrun before it gets there.
#[derive(Actor)]
struct Keeper {
    outrun: Outrun,
}

#[handlers]
impl Keeper {
    #[tell]
    fn keep_thread(&mut self, begins: oneshot::Sender<()>, until: mpsc::Receiver<()>) {
        *self.outrun.lock() = Some(thread::current().id());
        tokio::spawn(async move {
            let _ = begins.send(());
            let _ = until.recv();
        });
    }
}

/// Who has seen work leaves its thread to tokio before it takes that, too.
#[test]
fn a_task_that_keeps_the_thread_of_a_worker_that_was_outrun_keeps_no_other_asleep() {
    let outrun = Outrun::default();
    let race = Race { line: Line::default(), outrun: Arc::clone(&outrun) };
    // Of one slice: after one that is over nobody looks for work.
    let built = System::builder().workers(2).slice(LONG).scheduler(Scheduler::custom(|_| race));
    let system = built.own();
    run(async {
        let keeper = system.spawn::<Keeper>(Keeper { outrun }).await.unwrap();
        let other = host(&system).await;
        let (begins, begun) = oneshot::channel();
        let (release, released) = mpsc::channel();
        keeper.keep_thread(begins, released).await.unwrap();
        soon(begun).await.unwrap();
        for number in 0..200 {
            assert_eq!(other.spawn_inside(number).await, Ok(number + 1));
        }
        drop(release);
        system.shutdown(LONG).await.unwrap();
    });
}
