//! What restarts, how, and how often.

use crate::supervision::patient::*;
use crate::support::{everywhere, exit_of, on, soon};
use greenroom::{
    Actor, Behavior, Context, Event, ExitReason, Options, Ref, Restart, Scheduler, System, handlers,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Whether an actor under `P` comes back after it was told `what`; if so, it is ended.
async fn comes_back<P: Policy>(system: &System, what: impl Fn(&Ref<Patient<P>>)) -> bool {
    let (patient, _entries) = patient::<P>(system).await;
    what(&patient);
    match patient.incarnation().within(crate::support::LONG).await {
        Ok(incarnation) => {
            assert_eq!(incarnation, 1);
            patient.stop();
            soon(patient.ended()).await;
            true
        }
        Err(_) => {
            soon(patient.ended()).await;
            false
        }
    }
}

// [G-RESTART-1] [G-RESTART-3]
#[test]
fn each_policy_restarts_after_what_it_says() {
    async fn by<P: Policy>(system: &System) -> [bool; 7] {
        [
            comes_back::<P>(system, |it| it.panic().try_send().expect("it lives")).await,
            comes_back::<P>(system, |it| it.panic_later().try_send().expect("it lives")).await,
            comes_back::<P>(system, |it| it.fail().try_send().expect("it lives")).await,
            comes_back::<P>(system, |it| it.leave().try_send().expect("it lives")).await,
            comes_back::<P>(system, |it| assert!(it.stop())).await,
            comes_back::<P>(system, |it| assert!(it.drain())).await,
            comes_back::<P>(system, |it| assert!(it.kill())).await,
        ]
    }
    everywhere(async |system| {
        assert_eq!(by::<Never>(system).await, [false; 7]);
        assert_eq!(by::<Transient>(system).await, [true, true, true, false, false, false, false]);
        assert_eq!(by::<Permanent>(system).await, [true, true, true, true, false, false, false]);
    });
}

// [G-RESTART-1]
#[test]
fn the_old_incarnation_ends_wholly_before_the_new_one_starts() {
    everywhere(async |system| {
        let (patient, mut entries) = patient::<Transient>(system).await;
        patient.bear().await.unwrap();
        patient.panic().await.unwrap();
        assert_eq!(patient.incarnation().await, Ok(1));
        assert_eq!(
            all(&mut entries),
            [
                Started(0),
                ChildStarted,
                ChildStopped,
                Stopped(0, panicked()),
                Dropped(0),
                Started(1)
            ]
        );
    });
}

// [G-RESTART-1]
#[test]
fn children_that_hang_hold_the_restart_back() {
    everywhere(async |system| {
        let (patient, mut entries) = patient::<Transient>(system).await;
        let mut events = system.events();
        patient.bear().await.unwrap();
        patient.fail().await.unwrap();
        assert_eq!(patient.incarnation().await, Ok(1));
        let mut started = 0;
        // The child ends before the restart is even announced.
        loop {
            match soon(events.next()).await.unwrap() {
                Event::Ended { actor, .. } => {
                    assert!(actor.to_string().starts_with("Child#"), "{actor}");
                    started += 1;
                }
                Event::Restarting { actor, .. } => {
                    assert_eq!(actor, patient.id());
                    break;
                }
                _ => {}
            }
        }
        assert_eq!(started, 1);
        assert_eq!(all(&mut entries)[..3], [Started(0), ChildStarted, ChildStopped]);
    });
}

// [G-RESTART-2]
#[test]
fn mail_waits_for_the_restart_in_order() {
    on(1, Scheduler::locked(), async |system| {
        for panic in [PatientCalls::<Transient>::panic, PatientCalls::panic_later] {
            let mut letters = system.dead_letters();
            let (patient, mut entries) = patient::<Transient>(system).await;
            // One turn finds them all in the mailbox.
            let hold = crate::support::hold_worker(system).await;
            for number in 0..10 {
                patient.note(number).try_send().unwrap();
                panic(&patient).try_send().unwrap();
            }
            drop(hold);
            patient.drain();
            soon(patient.ended()).await;
            let handled: Vec<_> =
                all(&mut entries).into_iter().filter(|it| matches!(it, Handled(..))).collect();
            let expected: Vec<_> = (0..10).map(|number| Handled(number, number)).collect();
            assert_eq!(handled, expected, "each incarnation handles one and falls over the next");
            let mut crashed = 0;
            while let Some(letter) = letters.try_next() {
                assert_eq!(letter.reason, greenroom::DeadLetterReason::Crashed);
                assert_eq!(letter.actor, patient.id());
                crashed += 1;
            }
            assert_eq!(crashed, 10, "each that failed is reported, and none is tried again");
        }
    });
}

// [G-RESTART-3]
#[test]
fn references_outlive_restarts() {
    everywhere(async |system| {
        let (patient, _entries) = patient::<Transient>(system).await;
        let (copy, id) = (patient.clone(), patient.id());
        for incarnation in 1..=20 {
            copy.panic().await.unwrap();
            assert_eq!(patient.incarnation().await, Ok(incarnation));
        }
        assert_eq!(patient.id(), id);
        assert_eq!(system.counts().restarts, 20);
        assert_eq!(system.counts().started, 1);
    });
}

// [G-RESTART-4]
#[test]
fn the_first_n_failures_restart_and_one_more_ends() {
    async fn check<P: Policy>(system: &System, allowed: u32) {
        let mut events = system.events();
        let (patient, _entries) = patient::<P>(system).await;
        fail_times(&patient, allowed).await;
        patient.panic().await.expect("it lives");
        let reason = exit_of(&patient, &mut events).await;
        let ExitReason::TooManyRestarts { last, .. } = reason else { panic!("{reason}") };
        assert!(last.to_string().contains("as told"), "{last}");
    }
    everywhere(async |system| {
        check::<ThreeInAnHour>(system, 3).await;
        check::<ThreeWithBackoff>(system, 3).await;
        check::<None1>(system, 0).await;
        assert_eq!(system.counts().restarts, 6);
    });
}

// [G-RESTART-4]
#[test]
fn failures_that_are_far_apart_do_not_add_up() {
    on(1, Scheduler::locked(), async |system| {
        let (patient, _entries) = patient::<TwoIn50Ms>(system).await;
        for incarnation in 1..=6 {
            patient.panic().await.unwrap();
            assert_eq!(patient.incarnation().await, Ok(incarnation));
            // No two failures but neighbours are within the window.
            tokio::time::sleep(Duration::from_millis(30)).await;
        }
    });
}

/// A value that an aborted future leaves behind panics when it is dropped.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        assert!(std::thread::panicking(), "bomb");
    }
}

struct Piper {
    incarnation: u32,
}

impl Actor for Piper {
    const OPTIONS: Options = Options::new().restart(Restart::transient(1, HOUR));

    fn keep_args(_args: &<Self as Behavior>::Args) -> Option<<Self as Behavior>::Args> {
        Some(())
    }
}

#[handlers]
impl Piper {
    #[start]
    fn start(cx: &mut Context<Self>) -> Self {
        Self { incarnation: cx.incarnation() }
    }
    /// Begins something that panics when it is given up.
    #[tell]
    fn pipe(&mut self, begun: Arc<AtomicBool>, over: Arc<AtomicBool>, cx: &mut Context<Self>) {
        let future = async move {
            begun.store(true, Ordering::SeqCst);
            let _over = OnDrop(over);
            let _bomb = Bomb;
            std::future::pending::<()>().await;
        };
        cx.pipe(future, Self::piped);
    }
    #[tell]
    fn panic(&mut self) {
        panic!("as told")
    }
    #[local]
    fn piped(&mut self, (): ()) {}
    #[ask]
    fn incarnation(&self) -> u32 {
        self.incarnation
    }
}

struct OnDrop(Arc<AtomicBool>);

impl Drop for OnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

// [G-PANIC-1]
#[test]
fn what_an_old_incarnation_began_does_not_fail_the_new_one() {
    everywhere(async |system| {
        let piper = system.spawn::<Piper>(()).await.unwrap();
        let (begun, over) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        piper.pipe(Arc::clone(&begun), Arc::clone(&over)).await.unwrap();
        crate::support::until(|| begun.load(Ordering::SeqCst)).await;
        piper.panic().await.unwrap();
        assert_eq!(piper.incarnation().within(crate::support::LONG).await, Ok(1));
        crate::support::until(|| over.load(Ordering::SeqCst)).await;
        // Whatever its panic sent is here before the answer to a question that is asked later on.
        for _ in 0..20 {
            assert_eq!(piper.incarnation().within(crate::support::LONG).await, Ok(1));
            tokio::task::yield_now().await;
        }
    });
}
