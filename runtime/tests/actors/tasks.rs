//! tokio tasks on a worker's thread: their questions end in time though the worker has nothing to run.

#![allow(clippy::unwrap_used, reason = "what goes wrong in a test may panic")]

use crate::support::{Builds, LONG, SCHEDULERS, SHARING, everywhere, on, run, soon};
use greenroom::{Actor, AskError, Ref, System, handlers};
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::sleep;

/// Too short for anything but its own end.
const SHORT: Duration = Duration::from_millis(50);

/// Asks in tasks of its worker, and answers late.
#[derive(Actor)]
struct Host;

#[handlers]
impl Host {
    #[ask]
    async fn when(&self, gate: oneshot::Receiver<()>) -> bool {
        gate.await.is_ok()
    }
    #[ask]
    async fn sleep(&self, time: Duration) {
        sleep(time).await;
    }
    /// Asks what is not answered, in a task that begins after `wait`.
    #[ask]
    fn ask_in_vain(&self, other: Ref<Self>, wait: Duration) -> oneshot::Receiver<AskError> {
        let (done, outcome) = oneshot::channel();
        tokio::spawn(async move {
            sleep(wait).await;
            let (_gate, is_open) = oneshot::channel();
            let _ = done.send(other.when(is_open).within(SHORT).await.unwrap_err());
        });
        outcome
    }
    /// Asks for a sleep, in a task that begins after `wait`, with the default deadline.
    #[ask]
    fn ask_sleep(
        &self,
        other: Ref<Self>,
        wait: Duration,
    ) -> oneshot::Receiver<Result<(), AskError>> {
        let (done, outcome) = oneshot::channel();
        tokio::spawn(async move {
            sleep(wait).await;
            let _ = done.send(other.sleep(SHORT).await);
        });
        outcome
    }
}

#[test]
fn a_question_from_a_task_of_an_idle_worker_expires() {
    everywhere(async |system| {
        let other = system.spawn::<Host>(Host).await.unwrap();
        let host = system.spawn::<Host>(Host).await.unwrap();
        for wait in [Duration::ZERO, SHORT] {
            let outcome = host.ask_in_vain(other.clone(), wait).await.unwrap();
            assert_eq!(soon(outcome).await.unwrap(), AskError::Expired);
        }
    });
}

/// The deadline counts from the question, not from when the worker last ran an actor.
#[test]
fn a_question_from_a_task_of_a_worker_idle_for_long_has_all_its_time() {
    const TIMEOUT: Duration = Duration::from_secs(5);
    run(async {
        // All at once: they wait for long.
        let mut waiting = Vec::new();
        for scheduler in SCHEDULERS {
            let built = System::builder().workers(1).scheduler(scheduler()).ask_timeout(TIMEOUT);
            let system = built.own_as_set();
            let other = system.spawn::<Host>(Host).await.unwrap();
            let host = system.spawn::<Host>(Host).await.unwrap();
            let outcome = host.ask_sleep(other, TIMEOUT + SHORT).await.unwrap();
            waiting.push((system, outcome));
        }
        for (system, outcome) in waiting {
            assert_eq!(soon(outcome).await.unwrap(), Ok(()));
            system.shutdown(LONG).await.unwrap();
        }
    });
}

/// Holds its worker's thread in a task until told.
#[derive(Actor)]
struct Holder;

#[handlers]
impl Holder {
    #[ask]
    fn hold_in_a_task(&self, held: oneshot::Sender<()>, release: std::sync::mpsc::Receiver<()>) {
        tokio::spawn(async move {
            // By then the worker has fallen asleep.
            sleep(SHORT).await;
            let _ = held.send(());
            let _ = release.recv();
        });
    }
    #[ask]
    fn is_there(&self) {}
}

#[test]
fn a_worker_held_in_a_task_keeps_no_other_from_waking() {
    for scheduler in SHARING {
        on(2, scheduler(), async |system| {
            let holder = system.spawn::<Holder>(Holder).await.unwrap();
            for _ in 0..10 {
                let (held, is_held) = oneshot::channel();
                let (release, until) = std::sync::mpsc::channel();
                holder.hold_in_a_task(held, until).await.unwrap();
                soon(is_held).await.unwrap();
                for _ in 0..100 {
                    let answer = holder.is_there().within(LONG).await;
                    // Whatever came of it, let the task end.
                    if answer.is_err() {
                        release.send(()).unwrap();
                    }
                    assert_eq!(answer, Ok(()));
                }
                release.send(()).unwrap();
            }
        });
    }
}
