//! Workers that look for work before they sleep, spinning or not, and what they leave their threads to meanwhile.

#![allow(clippy::unwrap_used, reason = "what goes wrong in a test may panic")]

use super::host;
use super::queues::Line;
use crate::support::{Builds, LONG, SCHEDULERS, SHARING, run, soon, until};
use greenroom::{
    Actor, Batch, Hint, Idle, Origin, Ready, ReadyQueue, Ref, Scheduler, System, WorkerId, handlers,
};
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, mpsc};
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

/// The worker, by its thread, that is told of work so often which another one has taken.
type Outrun = Arc<Mutex<Option<(ThreadId, u32)>>>;

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
        match &mut *self.outrun.lock() {
            Some((there, left @ 1..)) if *there == thread::current().id() => {
                *left -= 1;
                true
            }
            _ => self.line.has_work(worker),
        }
    }
    fn len(&self) -> usize {
        self.line.len()
    }
}

/// Has tokio run a task that keeps the thread, whose worker is outrun before it gets there.
#[derive(Actor)]
struct Keeper {
    outrun: Outrun,
    times: u32,
}

#[handlers]
impl Keeper {
    #[tell]
    fn keep_thread(&mut self, begins: oneshot::Sender<()>, until: mpsc::Receiver<()>) {
        *self.outrun.lock() = Some((thread::current().id(), self.times));
        tokio::spawn(async move {
            let _ = begins.send(());
            let _ = until.recv();
        });
    }
}

/// Who has seen work, and found none, leaves its thread to tokio, too.
#[test]
fn a_task_that_keeps_the_thread_of_a_worker_that_was_outrun_keeps_no_other_asleep() {
    for times in [1, 2] {
        let outrun = Outrun::default();
        let race = Race { line: Line::default(), outrun: Arc::clone(&outrun) };
        // Of one slice: after one that is over nobody looks for work.
        let built = System::builder().workers(2).slice(LONG);
        let system = built.scheduler(Scheduler::custom(|_| race)).own();
        run(async {
            let keeper = system.spawn::<Keeper>(Keeper { outrun, times }).await.unwrap();
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
}

/// How a line is looked into.
#[derive(Debug, Default)]
struct Looks {
    /// Whether the next one that could find something finds nothing.
    is_early: AtomicBool,
    /// How many each of two workers has taken.
    counts: [AtomicUsize; 2],
}

/// A line in which an actor may come just after a worker has looked for it.
#[derive(Debug, Default)]
struct Late {
    line: Line,
    looks: Arc<Looks>,
}

impl ReadyQueue for Late {
    fn push(&self, from: Origin, ready: Ready, hint: Hint) {
        self.line.push(from, ready, hint);
    }
    fn pop(&self, worker: WorkerId, batch: &mut Batch) {
        self.looks.counts[worker.index()].fetch_add(1, Ordering::SeqCst);
        if self.line.is_empty() || !self.looks.is_early.swap(false, Ordering::SeqCst) {
            self.line.pop(worker, batch);
        }
    }
    fn has_work(&self, worker: WorkerId) -> bool {
        self.line.has_work(worker)
    }
    fn len(&self) -> usize {
        self.line.len()
    }
}

/// Leaves a task to tokio that does nothing.
#[derive(Actor)]
struct Resident;

#[handlers]
impl Resident {
    /// When both are there, each on its worker.
    #[ask]
    fn settle(&mut self, both: Arc<Barrier>) {
        both.wait();
        tokio::spawn(std::future::pending::<()>());
    }
    #[ask]
    fn nod(&self) {}
}

/// Whether both workers look for work when there is some for one.
async fn wakes_both(system: &System, resident: &Ref<Resident>, looks: &Looks) -> bool {
    system.await_idle(LONG).await.unwrap();
    looks.counts.iter().for_each(|count| count.store(0, Ordering::SeqCst));
    looks.is_early.store(true, Ordering::SeqCst);
    assert_eq!(resident.nod().within(LONG).await, Ok(()));
    system.await_idle(LONG).await.unwrap();
    looks.counts.iter().all(|count| count.load(Ordering::SeqCst) > 0)
}

/// Whatever tasks it has beside: one would be for nothing. (Decision 0010.)
#[test]
fn a_worker_that_takes_what_it_has_found_wakes_no_other() {
    const ROUNDS: usize = 100;
    const SERIES: usize = 20;
    let late = Late::default();
    let looks = Arc::clone(&late.looks);
    let system = System::builder().workers(2).scheduler(Scheduler::custom(|_| late)).own();
    run(async {
        let (both, mut settling) = (Arc::new(Barrier::new(2)), Vec::new());
        for _ in 0..2 {
            let resident = system.spawn::<Resident>(Resident).await.unwrap();
            let both = Arc::clone(&both);
            settling.push(tokio::spawn(async move { resident.settle(both).within(LONG).await }));
        }
        for settled in settling {
            assert_eq!(soon(settled).await.unwrap(), Ok(()));
        }
        let resident = system.spawn::<Resident>(Resident).await.unwrap();
        // The timekeeper may have called some, where the machine is busy; but not for ever.
        let mut least = ROUNDS;
        for _ in 0..SERIES {
            let mut woken = 0;
            for _ in 0..ROUNDS {
                woken += usize::from(wakes_both(&system, &resident, &looks).await);
            }
            least = least.min(woken);
            if least < ROUNDS / 2 {
                break;
            }
        }
        assert!(least < ROUNDS / 2, "{least} times of {ROUNDS} at least");
        system.shutdown(LONG).await.unwrap();
    });
}
