//! A worker that takes nothing in: who awaits its tells gives way, who cannot wait is not refused, and
//! nothing is lost or overtaken.

#![allow(clippy::unwrap_used, reason = "what goes wrong in a test may panic")]

use crate::support::{Builds, LONG, on, run, soon};
use greenroom::{Actor, Ref, Scheduler, System, TellError, handlers};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use tokio::sync::oneshot;

/// Notes what it was sent by whom, unless it blocks its worker.
#[derive(Actor)]
struct Sink {
    next: [u64; 2],
    is_in_order: bool,
}

#[handlers]
impl Sink {
    #[start]
    fn start() -> Self {
        Self { next: [0; 2], is_in_order: true }
    }
    #[tell]
    fn block(&mut self, entered: oneshot::Sender<()>, gate: mpsc::Receiver<()>) {
        entered.send(()).unwrap();
        // An error says that the gate is open.
        let _ = gate.recv();
    }
    #[tell]
    fn take(&mut self, sender: usize, number: u64) {
        self.is_in_order &= self.next[sender] == number;
        self.next[sender] = number + 1;
    }
    #[ask]
    fn taken(&self) -> ([u64; 2], bool) {
        (self.next, self.is_in_order)
    }
}

#[derive(Actor)]
struct Source {
    sink: Ref<Sink>,
    sent: Arc<AtomicU64>,
}

#[handlers]
impl Source {
    #[ask]
    async fn pour(&mut self, count: u64) {
        for number in 0..count {
            self.sink.take(0, number).await.unwrap();
            self.sent.store(number + 1, Ordering::Relaxed);
        }
    }
    /// Sends without waiting.
    #[ask]
    fn throw(&mut self, count: u64) {
        for number in 0..count {
            self.sink.take(1, number).try_send().unwrap();
        }
    }
    #[ask]
    fn throw_one(&mut self, number: u64) {
        self.sink.take(1, number).try_send().unwrap();
    }
    /// Sends to both in turn, so that each message is a parcel of its own, until one is refused.
    #[ask]
    fn fill(&mut self, other: Ref<Sink>) -> u64 {
        for count in 0.. {
            let sink = if count % 2 == 0 { &self.sink } else { &other };
            if let Err(error) = sink.take(1, count / 2).try_send() {
                assert!(matches!(error, TellError::SystemFull(_)), "{error}");
                return count;
            }
        }
        unreachable!("there is a budget")
    }
    #[cfg(target_os = "linux")]
    #[ask]
    fn rests(&self) -> u64 {
        rests()
    }
    /// Gives those who are ready on this worker a turn.
    #[ask]
    fn turn(&self) {}
}

async fn source(system: &System, sink: &Ref<Sink>, sent: &Arc<AtomicU64>) -> Ref<Source> {
    let source = Source { sink: sink.clone(), sent: Arc::clone(sent) };
    system.spawn::<Source>(source).on(0).await.unwrap()
}

// [G-BOUND-4]
#[test]
fn who_awaits_tells_gives_way_while_the_ring_to_the_receiver_is_full() {
    // Parcels that a ring holds, and messages in one: those of a turn.
    const RING: u64 = 256;
    const TURN: u64 = 64;
    const COUNT: u64 = 100_000;
    const THROWN: u64 = 40_000;
    on(2, Scheduler::per_core(), async |system| {
        let sink = system.spawn::<Sink>(()).on(1).await.unwrap();
        let sent = Arc::default();
        let pouring = source(system, &sink, &sent).await;
        let other = source(system, &sink, &sent).await;
        let (entered, is_in) = oneshot::channel();
        let (open, gate) = mpsc::channel();
        sink.block(entered, gate).await.unwrap();
        soon(is_in).await.unwrap();

        let poured = tokio::spawn(async move { pouring.pour(COUNT).within(LONG).await });
        // In so many turns it would have sent everything.
        for _ in 0..2 * COUNT / TURN {
            other.turn().within(LONG).await.unwrap();
        }
        let waiting = sent.load(Ordering::Relaxed);
        assert!(waiting >= RING, "{waiting} were sent, though there was room");
        assert!(waiting <= (RING + 2) * TURN, "{waiting} were sent, though there was no room");
        other.throw(THROWN).within(LONG).await.unwrap();
        drop(open);
        soon(poured).await.unwrap().unwrap();
        // What this thread asks goes another way, and may overtake what the sources have sent.
        soon(async {
            while sink.taken().within(LONG).await.unwrap() != ([COUNT, THROWN], true) {
                tokio::task::yield_now().await;
            }
        })
        .await;
    });
}

/// Takes so many messages, which are more than a ring does.
#[derive(Actor)]
#[actor(mailbox = bounded(400))]
struct Narrow {
    next: u64,
}

#[handlers]
impl Narrow {
    #[start]
    fn start() -> Self {
        Self { next: 0 }
    }
    #[tell]
    fn block(&mut self, entered: oneshot::Sender<()>, gate: mpsc::Receiver<()>) {
        entered.send(()).unwrap();
        // An error says that the gate is open.
        let _ = gate.recv();
    }
    #[tell]
    fn take(&mut self, number: u64) {
        assert_eq!(number, self.next);
        self.next += 1;
    }
    #[ask]
    fn taken(&self) -> u64 {
        self.next
    }
}

#[derive(Actor)]
struct Thrower(Ref<Narrow>);

#[handlers]
impl Thrower {
    /// Whether it was taken. A turn for each message: each is a parcel of its own.
    #[ask]
    fn throw(&mut self, number: u64) -> bool {
        match self.0.take(number).try_send() {
            Ok(()) => true,
            Err(TellError::Full(_)) => false,
            Err(error) => panic!("{error}"),
        }
    }
    #[ask]
    async fn wait(&mut self, number: u64) {
        self.0.take(number).await.unwrap();
    }
}

// [G-BOUND-1] [G-BOUND-4]
#[test]
fn what_has_no_room_in_a_ring_has_its_room_in_the_mailbox() {
    const BOUND: u64 = 400;
    const MORE: u64 = 100;
    on(2, Scheduler::per_core(), async |system| {
        let narrow = system.spawn::<Narrow>(()).on(1).await.unwrap();
        let thrower = system.spawn::<Thrower>(Thrower(narrow.clone())).on(0).await.unwrap();
        let waiter = system.spawn::<Thrower>(Thrower(narrow.clone())).on(0).await.unwrap();
        let (entered, is_in) = oneshot::channel();
        let (open, gate) = mpsc::channel();
        narrow.block(entered, gate).await.unwrap();
        soon(is_in).await.unwrap();
        for number in 0..BOUND + MORE {
            let is_taken = thrower.throw(number).within(LONG).await.unwrap();
            assert_eq!(is_taken, number < BOUND, "{number} were thrown before");
        }
        let waiting = tokio::spawn(async move { waiter.wait(BOUND).within(LONG).await });
        assert!(!thrower.throw(BOUND).within(LONG).await.unwrap(), "there is no room");
        drop(open);
        soon(waiting).await.unwrap().unwrap();
        soon(async {
            while narrow.taken().within(LONG).await.unwrap() != BOUND + 1 {
                tokio::task::yield_now().await;
            }
        })
        .await;
    });
}

// [G-BUDGET-1] [G-BOUND-4]
#[test]
fn what_has_no_room_in_a_ring_is_in_the_budget_of_the_system() {
    const BUDGET: u64 = 400;
    let system = System::builder().workers(2).scheduler(Scheduler::per_core());
    let system = system.budget_messages(BUDGET as usize).own();
    run(async {
        let sink = system.spawn::<Sink>(()).on(1).await.unwrap();
        let other = system.spawn::<Sink>(()).on(1).await.unwrap();
        let source = source(&system, &sink, &Arc::default()).await;
        let (entered, is_in) = oneshot::channel();
        let (open, gate) = mpsc::channel();
        sink.block(entered, gate).await.unwrap();
        soon(is_in).await.unwrap();
        let taken = source.fill(other.clone()).within(LONG).await.unwrap();
        assert!(taken <= BUDGET, "{taken} were taken");
        assert!(taken + 2 >= BUDGET, "{taken} were taken");
        drop(open);
        soon(async {
            for (sink, taken) in [(sink, taken.div_ceil(2)), (other, taken / 2)] {
                while sink.taken().within(LONG).await.unwrap() != ([0, taken], true) {
                    tokio::task::yield_now().await;
                }
            }
        })
        .await;
        system.shutdown(LONG).await.unwrap();
    });
}

#[test]
fn two_workers_that_are_congested_by_each_other_go_on() {
    const COUNT: u64 = if cfg!(sanitized) { 10_000 } else { 50_000 };
    on(2, Scheduler::per_core(), async |system| {
        let mut done = Vec::new();
        for worker in [0, 1] {
            let sink = system.spawn::<Sink>(()).on(1 - worker).await.unwrap();
            for _ in 0..3 {
                let source = Source { sink: sink.clone(), sent: Arc::default() };
                let source = system.spawn::<Source>(source).on(worker).await.unwrap();
                done.push(tokio::spawn(async move { source.pour(COUNT).within(LONG).await }));
            }
        }
        for done in done {
            soon(done).await.unwrap().unwrap();
        }
    });
}

/// How often the calling thread has given its processor away because it had nothing to do.
#[cfg(target_os = "linux")]
fn rests() -> u64 {
    let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
    line.unwrap().trim().parse().unwrap()
}

#[cfg(all(target_os = "linux", not(sanitized)))]
#[test]
fn a_worker_that_can_do_nothing_but_wait_for_room_leaves_its_core_to_others() {
    // More than a ring holds: each turn's are a parcel.
    const TURNS: u64 = 400;
    // One for each millisecond, if others leave it the processor.
    const A_WHILE: std::time::Duration = std::time::Duration::from_millis(300);
    const RESTS_MIN: u64 = 20;
    const WHILES_MAX: usize = 20;
    on(2, Scheduler::per_core(), async |system| {
        let sink = system.spawn::<Sink>(()).on(1).await.unwrap();
        let source = source(system, &sink, &Arc::default()).await;
        let (entered, is_in) = oneshot::channel();
        let (open, gate) = mpsc::channel();
        sink.block(entered, gate).await.unwrap();
        soon(is_in).await.unwrap();
        for turn in 0..TURNS {
            source.throw_one(turn).within(LONG).await.unwrap();
        }
        let mut most = 0;
        for _ in 0..WHILES_MAX {
            let before = source.rests().within(LONG).await.unwrap();
            tokio::time::sleep(A_WHILE).await;
            most = most.max(source.rests().within(LONG).await.unwrap() - before);
            if most >= RESTS_MIN {
                break;
            }
        }
        assert!(most >= RESTS_MIN, "in no while it gave its core away more than {most} times");
        drop(open);
        soon(async {
            while sink.taken().within(LONG).await.unwrap() != ([0, TURNS], true) {
                tokio::task::yield_now().await;
            }
        })
        .await;
    });
}
