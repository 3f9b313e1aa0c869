//! A busy worker hands actors to one that has nothing to do.

use super::Talker;
use crate::support::{Builds, LONG, on, run, soon};
use greenroom::{Actor, Context, Idle, Ref, Scheduler, System, handlers};
use std::collections::BTreeSet;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// A busy worker hands ready actors to one that sleeps or spins; nobody is told to move.
#[test]
fn a_busy_worker_hands_actors_over() {
    // Who spins so long does not sleep while the test lasts.
    for idle in [Idle::Park, Idle::Spin(LONG * 1000)] {
        let system = System::builder().workers(2).slice(Duration::from_micros(20)).idle(idle);
        let system = system.scheduler(Scheduler::per_core()).own();
        run(async {
            soon(spread_out(&system)).await;
            system.shutdown(LONG).await.unwrap();
        });
    }
}

/// Has actors made that are always busy, and waits until both workers have some.
async fn spread_out(system: &System) {
    let mut workers = Vec::new();
    for _ in 0..8 {
        workers.push(system.spawn::<Busy>(()).await.expect("it starts"));
    }
    for worker in &workers {
        worker.work(u64::MAX).await.expect("it lives");
    }
    while places(&workers).await.len() < 2 {}
}

/// Where they are.
async fn places(workers: &[Ref<Busy>]) -> BTreeSet<String> {
    let mut places = BTreeSet::new();
    for worker in workers {
        places.insert(worker.place().within(LONG).await.expect("it lives"));
    }
    places
}

/// Who is handed over waits for all workers, so nobody is while one of them is in a handler.
#[test]
fn who_could_be_handed_over_does_not_wait_for_who_does_not_listen() {
    on(3, Scheduler::per_core(), async |system| {
        let mut workers = Vec::new();
        for _ in 0..8 {
            let worker = system.spawn::<Busy>(()).await.unwrap();
            worker.migrate(0).unwrap();
            soon(async { while worker.place().await.unwrap() != "greenroom-0" {} }).await;
            workers.push(worker);
        }
        let deaf = system.spawn::<Talker>(()).on(2).await.unwrap();
        let (begins, begun) = mpsc::channel();
        let (release, released) = mpsc::channel();
        deaf.listens_to_nobody(begins, released).tell().unwrap();
        begun.recv_timeout(LONG).unwrap();
        for worker in &workers {
            worker.work(u64::MAX).await.unwrap();
        }
        for _ in 0..200 {
            assert_eq!(places(&workers).await.len(), 1);
        }
        release.send(()).unwrap();
        soon(async { while places(&workers).await.len() < 2 {} }).await;
    });
}

/// Works in short turns for ever.
#[derive(Actor)]
struct Busy;

#[handlers]
impl Busy {
    #[start]
    fn start() -> Self {
        Self
    }

    #[tell]
    fn work(&mut self, left: u64, cx: &mut Context<Self>) {
        let sum = (0..100_u64).fold(left, |sum, number| sum.wrapping_mul(31) ^ number);
        std::hint::black_box(sum);
        // An error means that it is to stop.
        let _ = cx.me().work(left - 1).tell();
    }

    #[ask]
    fn place(&self) -> String {
        thread::current().name().unwrap_or_default().to_owned()
    }
}
