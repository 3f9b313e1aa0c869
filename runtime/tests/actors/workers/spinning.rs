//! Workers that spin before they sleep, and what they leave their threads to meanwhile.

#![allow(clippy::unwrap_used, reason = "what goes wrong in a test may panic")]

use super::host;
use crate::support::{Builds, LONG, SCHEDULERS, SHARING, run, soon, until};
use greenroom::{Idle, System};
use std::sync::mpsc;
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
