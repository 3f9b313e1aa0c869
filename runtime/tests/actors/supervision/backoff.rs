//! The wait before a restart.

use crate::supervision::patient::*;
use crate::support::{Builds, everywhere, exit_of, on, soon};
use greenroom::{Event, EventStream, ExitReason, Ref, Scheduler, System};
use std::time::{Duration, Instant};

/// Says how long each restart was held back.
async fn delays(events: &mut EventStream, count: usize) -> Vec<Duration> {
    let mut delays = Vec::new();
    while delays.len() < count {
        if let Event::Restarting { delay, .. } = soon(events.next()).await.expect("it lives") {
            delays.push(delay);
        }
    }
    delays
}

// [G-RESTART-5]
#[test]
fn backoff_doubles_from_its_shortest_to_its_longest() {
    on(1, Scheduler::locked(), async |system| {
        let mut events = system.events();
        let (patient, _entries) = patient::<ThreeWithBackoff>(system).await;
        fail_times(&patient, 3).await;
        let millis: Vec<_> = delays(&mut events, 3).await.iter().map(Duration::as_millis).collect();
        assert_eq!(millis, [2, 4, 5]);
    });
}

#[test]
fn backoff_is_waited_for() {
    everywhere(async |system| {
        let (patient, _entries) = patient::<SlowBackoff>(system).await;
        let began = Instant::now();
        patient.panic().await.unwrap();
        assert_eq!(patient.incarnation().within(crate::support::LONG).await, Ok(1));
        assert!(began.elapsed() >= Duration::from_millis(40), "{:?}", began.elapsed());
    });
}

// [G-STOP-1] [G-STOP-3]
#[test]
fn an_actor_that_backs_off_can_be_ended() {
    everywhere(async |system| {
        for (end, reason) in [
            (Ref::stop as fn(&Ref<_>) -> bool, ExitReason::Stopped),
            (Ref::kill, ExitReason::Killed),
        ] {
            let mut events = system.events();
            let (patient, mut entries) = patient::<HourOfBackoff>(system).await;
            patient.panic().await.unwrap();
            delays(&mut events, 1).await;
            patient.note(1).await.unwrap();
            assert!(end(&patient));
            assert_eq!(exit_of(&patient, &mut events).await, reason);
            assert!(!all(&mut entries).contains(&Started(1)));
        }
        assert_eq!(system.counts().dead_stopped, 2);
    });
}

// [G-SHUTDOWN-1]
#[test]
fn a_system_that_ends_in_the_middle_of_a_backoff_leaves_nothing_behind() {
    let system = System::builder().workers(1).own();
    crate::support::run(async {
        let mut events = system.events();
        let (patient, _entries) = patient::<HourOfBackoff>(&system).await;
        patient.panic().await.unwrap();
        delays(&mut events, 1).await;
        system.shutdown(crate::support::LONG).await.unwrap();
        drop((patient, system));
        // The stream ends when the last part of the system is freed.
        while soon(events.next()).await.is_some() {}
    });
}
