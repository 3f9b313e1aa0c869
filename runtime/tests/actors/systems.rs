//! Systems beside each other, and inside any runtime or none.

#![allow(clippy::unwrap_used, reason = "what goes wrong in a test may panic")]

use crate::support::{LONG, Ledger, OwnSystem, Parcel, block_on, own_system, run};
use greenroom::{Actor, Ref, Scheduler, handlers};
use std::thread;

#[derive(Actor)]
struct Porter;

#[handlers]
impl Porter {
    #[tell]
    fn take(&mut self, parcel: Parcel) {
        parcel.handled();
    }
}

/// Asks on in another system.
#[derive(Actor)]
struct Relay {
    next: Option<Ref<Self>>,
}

#[handlers]
impl Relay {
    #[ask]
    async fn hops(&self) -> usize {
        match &self.next {
            Some(next) => 1 + next.hops().await.unwrap_or(100),
            None => 0,
        }
    }
}

#[test]
fn actors_of_several_systems_talk_until_one_ends() {
    run(async {
        let schedulers =
            [Scheduler::locked(), Scheduler::lock_free(), Scheduler::stealing(), Scheduler::auto()];
        let systems = schedulers.map(|scheduler| own_system(2, scheduler));
        let mut next = None;
        for system in &systems {
            next = Some(system.spawn::<Relay>(Relay { next }).await.unwrap());
        }
        let last = next.unwrap();
        for _ in 0..200 {
            assert_eq!(last.hops().await, Ok(3));
        }
        systems[0].shutdown(LONG).await.unwrap();
        assert_eq!(last.hops().await, Ok(2 + 1 + 100), "the first has ended, the others live");
        for system in &systems[1..] {
            system.shutdown(LONG).await.unwrap();
        }
    });
}

/// What works anywhere: spawn, tell, ask, wait for an end, shut down.
async fn lives(system: OwnSystem) {
    let ledger = Ledger::new(1);
    let porter = system.spawn::<Porter>(Porter).await.unwrap();
    porter.take(ledger.issue()).await.unwrap();
    let relay = system.spawn::<Relay>(Relay { next: None }).await.unwrap();
    assert_eq!(relay.hops().await, Ok(0));
    porter.drain();
    porter.ended().await;
    assert_eq!(ledger.tally().handled, 1);
    system.shutdown(LONG).await.unwrap();
}

#[test]
fn a_system_lives_inside_any_runtime_or_none() {
    for workers in [1, 2] {
        run(lives(own_system(workers, Scheduler::auto())));
        block_on(lives(own_system(workers, Scheduler::auto())));
        let threads = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build();
        threads.unwrap().block_on(async {
            // Built inside a task of that runtime, too.
            let task =
                tokio::spawn(async move { lives(own_system(workers, Scheduler::auto())).await });
            task.await.unwrap();
        });
        let plain = thread::spawn(move || block_on(lives(own_system(workers, Scheduler::auto()))));
        plain.join().unwrap();
    }
}
