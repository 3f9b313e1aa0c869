//! A system that has nothing to do takes no processor time.

#![allow(clippy::unwrap_used, reason = "what goes wrong in a test may panic")]

use crate::support::{Builds, LONG, SCHEDULERS, run, soon};
use greenroom::{Actor, System, handlers};
use std::time::Duration;

#[derive(Actor)]
struct Sleeper;

#[handlers]
impl Sleeper {
    #[ask]
    fn nod(&self) {}
}

/// Every so often somebody looks after handlers that take too long, while there are any.
const BUDGET: Duration = Duration::from_millis(1);

/// Waits until no thread of the system has been woken for far longer than anybody who looks at something again and
/// again would sleep; returns how often any was.
async fn still(system: &System) -> u64 {
    soon(async {
        let mut before = system.counts().wakings;
        loop {
            tokio::time::sleep(BUDGET * 40).await;
            let now = system.counts().wakings;
            if now == before {
                return now;
            }
            before = now;
        }
    })
    .await
}

#[test]
fn nobody_wakes_up_where_there_is_nothing_to_do() {
    for scheduler in SCHEDULERS {
        for workers in [1, 3] {
            let system = System::builder().workers(workers).scheduler(scheduler());
            let system = system.handler_budget(BUDGET).own();
            run(async {
                let mut sleepers = Vec::new();
                for _ in 0..100 {
                    sleepers.push(system.spawn::<Sleeper>(Sleeper).await.unwrap());
                }
                let mut before = still(&system).await;
                for sleeper in &sleepers[..3] {
                    // Somebody is woken for it, unless that worker has not fallen asleep yet.
                    soon(async {
                        while still(&system).await == before {
                            sleeper.nod().within(LONG).await.unwrap();
                        }
                    })
                    .await;
                    before = still(&system).await;
                }
                system.shutdown(LONG).await.unwrap();
            });
        }
    }
}
