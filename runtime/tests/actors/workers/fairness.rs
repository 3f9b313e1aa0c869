//! Fairness between actors: who is always busy, or long for once, keeps no other from its turn.

#![allow(clippy::unwrap_used, reason = "what goes wrong in a test may panic")]

use super::{Host, host};
use crate::support::{Builds, LONG, SCHEDULERS, SHARING, on, run, soon, until};
use greenroom::{Actor, Context, Ref, Scheduler, System, handlers};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;
use tokio::sync::oneshot;

/// Mails itself for ever.
#[derive(Actor)]
struct Busy {
    turns: Arc<AtomicUsize>,
}

#[handlers]
impl Busy {
    #[tell]
    fn again(&mut self, cx: &mut Context<Self>) {
        self.turns.fetch_add(1, Ordering::Relaxed);
        cx.me().again().try_send().unwrap();
    }
    /// As `again`, for longer than a slice each time.
    #[tell]
    fn labour(&mut self, cx: &mut Context<Self>) {
        let begun = tokio::time::Instant::now();
        while begun.elapsed() < Duration::from_micros(100) {
            std::hint::spin_loop();
        }
        self.turns.fetch_add(1, Ordering::Relaxed);
        // An error says that it is to stop.
        let _ = cx.me().labour().try_send();
    }
    /// As `again`, by waking itself in one handler that never ends.
    #[tell]
    async fn spin(&mut self) {
        loop {
            self.turns.fetch_add(1, Ordering::Relaxed);
            tokio::task::yield_now().await;
        }
    }
}

#[test]
fn an_actor_that_mails_itself_for_ever_starves_no_other() {
    for batch in [1, 64, u32::MAX] {
        for scheduler in SCHEDULERS {
            starve_none(1, batch, scheduler());
        }
    }
}

#[test]
fn where_every_worker_has_an_actor_that_mails_itself_for_ever_nobody_starves() {
    for workers in [2, 4] {
        for scheduler in SCHEDULERS {
            starve_none(workers, 64, scheduler());
        }
    }
}

/// Each worker has actors that are always ready, and each of many others has its turn.
fn starve_none(workers: usize, batch: u32, scheduler: Scheduler) {
    run(async {
        let built = System::builder().workers(workers).batch(batch).scheduler(scheduler);
        let system = built.own();
        let turns = Arc::new(AtomicUsize::new(0));
        let mut spinning = Vec::new();
        for worker in 0..workers {
            let [again, spin] = [(); 2].map(|()| Busy { turns: Arc::clone(&turns) });
            let again = system.spawn::<Busy>(again).on(worker).await.unwrap();
            let spin = system.spawn::<Busy>(spin).on(worker).await.unwrap();
            again.again().await.unwrap();
            spin.spin().await.unwrap();
            spinning.push(spin);
        }
        let mut hosts = Vec::new();
        for number in 0..1000 {
            let host = system.spawn::<Host>(Host).on(number % workers);
            hosts.push(host.start().unwrap());
        }
        for host in &hosts {
            host.drain();
        }
        for host in &hosts {
            soon(host.ended()).await;
        }
        let host = host(&system).await;
        // Neither does it keep tokio from its timers.
        assert!(host.sleep(Duration::from_millis(2)).within(LONG).await.is_ok());
        assert!(turns.load(Ordering::Relaxed) > 0);
        for spin in &spinning {
            spin.kill();
        }
        system.shutdown(LONG).await.unwrap();
    });
}

// [G-FAIR-1]
/// They have to stay where they are, though another worker has nothing to do.
#[test]
fn actors_that_are_placed_on_one_worker_do_not_starve_each_other() {
    for scheduler in SCHEDULERS {
        on(2, scheduler(), async |system| {
            let mut all_turns = Vec::new();
            for _ in 0..2 {
                let turns = Arc::new(AtomicUsize::new(0));
                let busy = Busy { turns: Arc::clone(&turns) };
                let busy = system.spawn::<Busy>(busy).on(0).await.unwrap();
                busy.labour().await.unwrap();
                all_turns.push(turns);
            }
            until(|| all_turns.iter().all(|turns| turns.load(Ordering::Relaxed) > 20)).await;
        });
    }
}

/// Works on until somebody else has run.
#[derive(Actor)]
struct Worker {
    helper: Option<Ref<Self>>,
    helped: Arc<AtomicBool>,
}

#[handlers]
impl Worker {
    #[tell]
    fn work(&mut self, done: oneshot::Sender<()>) {
        // Long enough for the other worker to fall asleep again.
        let begun = tokio::time::Instant::now();
        while begun.elapsed() < Duration::from_millis(50) {
            thread::yield_now();
        }
        self.helper.as_ref().unwrap().help().try_send().unwrap();
        while !self.helped.load(Ordering::SeqCst) {
            thread::yield_now();
        }
        let _ = done.send(());
    }
    #[tell]
    fn help(&mut self) {
        self.helped.store(true, Ordering::SeqCst);
    }
}

#[test]
fn what_a_long_handler_tells_is_handled_by_a_worker_that_sleeps() {
    for scheduler in SHARING {
        run(async {
            // The slice is long, so that the tell is early in it.
            let built = System::builder().workers(2).slice(LONG).scheduler(scheduler());
            let system = built.own();
            let helped = Arc::new(AtomicBool::new(false));
            let helper = Worker { helper: None, helped: Arc::clone(&helped) };
            let helper = system.spawn::<Worker>(helper).await.unwrap();
            let worker = Worker { helper: Some(helper), helped: Arc::clone(&helped) };
            let worker = system.spawn::<Worker>(worker).await.unwrap();
            let (done, is_done) = oneshot::channel();
            worker.work(done).await.unwrap();
            let in_time = tokio::time::timeout(LONG, is_done).await;
            // Whatever came of it, let the handler end.
            helped.store(true, Ordering::SeqCst);
            assert!(in_time.is_ok(), "the helper waits for the end of the handler");
            system.shutdown(LONG).await.unwrap();
        });
    }
}

/// Counts what it is told, or tells a counter; and sees how many are on their way.
#[derive(Actor)]
struct Flow {
    to: Option<Ref<Self>>,
    seen: Arc<AtomicUsize>,
    behind_most: usize,
}

#[handlers]
impl Flow {
    #[tell]
    fn drop_in(&mut self) {
        self.seen.fetch_add(1, Ordering::Relaxed);
    }
    #[ask]
    async fn pour(&mut self, count: usize) -> usize {
        for sent in 0..count {
            let to = self.to.as_ref().unwrap();
            to.drop_in().await.unwrap();
            let behind = sent + 1 - self.seen.load(Ordering::Relaxed);
            self.behind_most = self.behind_most.max(behind);
        }
        self.behind_most
    }
}

#[test]
fn a_handler_that_awaits_many_tells_gives_way_to_their_receiver() {
    for scheduler in SCHEDULERS {
        run(async {
            let built = System::builder().workers(1).batch(10).slice(LONG).scheduler(scheduler());
            let system = built.own();
            let seen = Arc::new(AtomicUsize::new(0));
            let flow = |to| Flow { to, seen: Arc::clone(&seen), behind_most: 0 };
            let basin = system.spawn::<Flow>(flow(None)).await.unwrap();
            let source = system.spawn::<Flow>(flow(Some(basin))).await.unwrap();
            let behind = source.pour(1000).within(LONG).await.unwrap();
            // Eight batches, as nothing is known of the receiver yet.
            assert!(behind <= 80, "{behind} messages waited for the sender's turn to end");
            system.shutdown(LONG).await.unwrap();
        });
    }
}
