//! Children that come and go while their supervisor runs.

use crate::supervision::family::*;
use crate::support::until_async;
use crate::support::{LONG, SCHEDULERS, everywhere, exit_of, hold_worker, on, poll_once, soon};
use greenroom::{
    Actor, AskError, Context, ExitReason, Ref, RestartKind, Shutdown, SpawnError, StartError,
    System, handlers,
};
use std::sync::atomic::Ordering;

#[test]
fn a_first_start_that_fails_adds_no_child() {
    everywhere(async |system| {
        let company = company::<OneForAll>(system, 2, |plan| plan).await;
        let plan = Plan::new(2, &company.sender);
        plan.bad_starts.store(1, Ordering::SeqCst);
        let refused = company.boss.hire(plan.clone()).await;
        assert!(
            matches!(refused, Err(AskError::Failed(SpawnError::StartFailed(_)))),
            "{refused:?}"
        );
        let ids: Vec<_> = company.members.iter().map(Ref::id).collect();
        until_async(async || company.boss.supervised().await.unwrap() == ids).await;
        // Nobody was restarted for that.
        assert_eq!(company.incarnations().await, [Some(0); 2]);
        let hired = company.boss.hire(plan).await.unwrap();
        assert_eq!(company.boss.supervised().await.unwrap().last(), Some(&hired.id()));
    });
}

// [G-SUPERVISE-3]
#[test]
fn a_first_start_that_nobody_awaits_is_tried_again_and_counts() {
    everywhere(async |system| {
        let mut events = system.events();
        for (bad_starts, starts) in [(2, true), (3, false)] {
            let company = company::<OneForOneTwice>(system, 0, |plan| plan).await;
            let plan = Plan::new(0, &company.sender);
            plan.bad_starts.store(bad_starts, Ordering::SeqCst);
            let hired = company.boss.hire_blindly(plan).await.unwrap();
            if starts {
                assert_eq!(hired.incarnation().within(LONG).await, Ok(2));
                company.close().await;
            } else {
                let reason = exit_of(&company.boss, &mut events).await;
                assert!(matches!(reason, ExitReason::TooManyRestarts { .. }), "{reason}");
            }
        }
    });
}

// [G-SUPERVISE-6]
#[test]
fn a_child_that_is_removed_ends_alone_and_for_good() {
    everywhere(async |system| {
        let mut company = company::<OneForAll>(system, 3, |plan| plan).await;
        let removed = company.members[1].clone();
        assert_eq!(company.boss.remove(removed.clone()).await, Ok(true));
        soon(removed.ended()).await;
        assert_eq!(company.boss.remove(removed.clone()).await, Ok(false), "it is gone");
        assert_eq!(company.boss.restart(removed.clone()).await, Ok(false), "it is gone");
        company.expect(&[Stopped(1, ExitReason::Stopped), Dropped(1)]).await;
        company.members[0].panic().await.unwrap();
        company
            .expect(&[
                Stopped(0, panicked()),
                Dropped(0),
                Stopped(2, ExitReason::Restarted),
                Dropped(2),
                Started(0),
                Started(2),
            ])
            .await;
        assert_eq!(removed.note(1).try_send().err().map(|_| ()), Some(()));
    });
}

// [G-SUPERVISE-6]
#[test]
fn a_child_of_another_is_neither_removed_nor_restarted() {
    everywhere(async |system| {
        let company = company::<OneForOne>(system, 1, |plan| plan).await;
        let stranger = system.spawn::<Member>(Plan::new(9, &company.sender)).await.unwrap();
        assert_eq!(company.boss.remove(stranger.clone()).await, Ok(false));
        assert_eq!(company.boss.restart(stranger.clone()).await, Ok(false));
        assert_eq!(stranger.incarnation().await, Ok(0));
    });
}

// [G-SUPERVISE-6] [G-RESTART-2] [G-RESTART-3]
#[test]
fn a_child_is_restarted_on_request_with_its_mail() {
    everywhere(async |system| {
        let mut company = company::<RestForOneTwice>(system, 3, |plan| plan).await;
        for incarnation in 1..=5 {
            assert_eq!(company.boss.restart(company.members[1].clone()).await, Ok(true));
            company.members[1].note(incarnation).await.unwrap();
            // The note is handled by the old one or the new one, but once.
            let expected = [Stopped(1, ExitReason::Restarted), Dropped(1), Started(1)];
            let mut noted = Vec::new();
            while noted.len() < 4 {
                noted.push(soon(company.notes.recv()).await.unwrap());
            }
            let handled = noted.iter().position(|note| *note == Handled(1, incarnation)).unwrap();
            noted.remove(handled);
            assert_eq!(noted, expected);
        }
        let incarnations = company.incarnations().await;
        assert_eq!(incarnations, [Some(0), Some(5), Some(0)], "and nothing was counted");
    });
}

// [G-SUPERVISE-3] [G-SUPERVISE-6]
#[test]
fn a_restart_on_request_that_fails_is_tried_again_and_counts() {
    everywhere(async |system| {
        let mut events = system.events();
        for (bad_starts, starts) in [(2, true), (3, false)] {
            let mut company = company::<OneForOneTwice>(system, 1, |plan| plan).await;
            company.plans[0].bad_starts.store(bad_starts, Ordering::SeqCst);
            assert_eq!(company.boss.restart(company.members[0].clone()).await, Ok(true));
            let ended = [Stopped(0, ExitReason::Restarted), Dropped(0)];
            company.expect(&ended).await;
            company.expect(&vec![StartFailed(0); bad_starts as usize]).await;
            if starts {
                company.expect(&[Started(0)]).await;
                assert_eq!(company.incarnations().await, [Some(3)]);
                company.close().await;
            } else {
                let reason = exit_of(&company.boss, &mut events).await;
                assert!(matches!(reason, ExitReason::TooManyRestarts { .. }), "{reason}");
            }
        }
    });
}

// [G-SUPERVISE-6]
#[test]
fn restarts_on_request_do_not_wait_for_one_another() {
    everywhere(async |system| {
        let mut company =
            company::<OneForOne>(system, 2, |plan| plan.shutdown(Shutdown::Forever)).await;
        company.plans[0].hangs.store(true, Ordering::SeqCst);
        for member in &company.members {
            assert_eq!(company.boss.restart(member.clone()).await, Ok(true));
        }
        let restarted =
            |number| [Stopped(number, ExitReason::Restarted), Dropped(number), Started(number)];
        company.expect(&restarted(1)).await;
        company.plans[0].hangs.store(false, Ordering::SeqCst);
        company.plans[0].release.notify_one();
        company.expect(&restarted(0)).await;
        assert_eq!(company.incarnations().await, [Some(1); 2]);
    });
}

/// Asks for the restart of a member that is about to fail: the order meets one that has, and says so later.
async fn restart_as_it_fails<P: Policy>(system: &System, company: &Company<P>, number: usize) {
    let member = &company.members[number];
    let mut asked = Box::pin(async { company.boss.restart(member.clone()).await });
    {
        let _hold = hold_worker(system).await;
        member.panic().tell().unwrap();
        assert!(poll_once(&mut asked).is_pending());
    }
    // A boss that gives up meanwhile does not answer.
    let _ = soon(asked).await;
}

// [G-SUPERVISE-1] [G-SUPERVISE-6]
#[test]
fn a_failure_that_meets_a_restart_on_request_restarts_the_others_too() {
    for scheduler in SCHEDULERS {
        on(1, scheduler(), async |system| {
            let company = company::<OneForAll>(system, 3, |plan| plan).await;
            restart_as_it_fails(system, &company, 1).await;
            until_async(async || {
                let all = company.incarnations().await;
                [all[0], all[2]] == [Some(1); 2]
            })
            .await;
            company.close().await;
        });
    }
}

// [G-SUPERVISE-3] [G-SUPERVISE-6]
#[test]
fn failures_that_meet_restarts_on_request_are_counted() {
    for scheduler in SCHEDULERS {
        on(1, scheduler(), async |system| {
            let mut events = system.events();
            let company = company::<OneForOneTwice>(system, 1, |plan| plan).await;
            for _ in 0..3 {
                restart_as_it_fails(system, &company, 0).await;
                // Behind what it fails of.
                let _ = company.members[0].incarnation().within(LONG).await;
            }
            let reason = exit_of(&company.boss, &mut events).await;
            assert!(matches!(reason, ExitReason::TooManyRestarts { .. }), "{reason}");
        });
    }
}

/// Starts again by its own policy.
#[derive(Actor)]
#[actor(restart = transient(1 in "1h"))]
struct Hardy;

#[handlers]
impl Hardy {
    #[start]
    fn start() -> Self {
        Self
    }
    #[stop]
    async fn stop(&mut self) {
        tokio::task::yield_now().await;
    }
    #[tell]
    fn panic(&mut self) {
        panic!("as told")
    }
    #[ask]
    fn incarnation(&self, cx: &mut Context<Self>) -> u32 {
        cx.incarnation()
    }
}

/// Supervises two of them, which go together.
#[derive(Actor)]
#[actor(supervise = one_for_all(1 in "1h"))]
struct Pair {
    crew: [Ref<Hardy>; 2],
}

#[handlers]
impl Pair {
    #[start]
    async fn start(cx: &mut Context<Self>) -> Result<Self, StartError> {
        let first = cx.supervise::<Hardy>(()).await?;
        Ok(Self { crew: [first, cx.supervise::<Hardy>(()).await?] })
    }
    #[ask]
    fn crew(&self) -> [Ref<Hardy>; 2] {
        self.crew.clone()
    }
    #[ask]
    fn restart_last(&mut self, cx: &mut Context<Self>) -> bool {
        cx.restart(&self.crew[1])
    }
}

// [G-SUPERVISE-1] [G-SUPERVISE-3]
#[test]
fn what_an_own_policy_deals_with_counts_for_nothing_though_a_restart_was_asked_for() {
    for scheduler in SCHEDULERS {
        on(1, scheduler(), async |system| {
            let pair = system.spawn::<Pair>(()).await.unwrap();
            let [first, last] = pair.crew().await.unwrap();
            let mut asked = Box::pin(async { pair.restart_last().await });
            {
                let _hold = hold_worker(system).await;
                last.panic().tell().unwrap();
                assert!(poll_once(&mut asked).is_pending());
            }
            assert_eq!(soon(asked).await, Ok(true));
            assert!(last.incarnation().within(LONG).await.unwrap() > 0);
            assert_eq!(first.incarnation().await, Ok(0));
        });
    }
}

// [G-SUPERVISE-6]
#[test]
fn a_temporary_child_is_not_restarted_on_request() {
    everywhere(async |system| {
        let company = company::<OneForOne>(system, 1, |plan| plan.kind(RestartKind::Never)).await;
        assert_eq!(company.boss.restart(company.members[0].clone()).await, Ok(false));
        assert_eq!(company.incarnations().await, [Some(0)]);
    });
}

// [G-SUPERVISE-4]
#[test]
fn children_are_stopped_in_the_reverse_order_in_which_they_came() {
    everywhere(async |system| {
        let mut company = company::<OneForOne>(system, 50, |plan| plan).await;
        for number in (0..50).step_by(3) {
            assert_eq!(company.boss.remove(company.members[number].clone()).await, Ok(true));
            soon(company.members[number].ended()).await;
        }
        for number in 50..60 {
            company.boss.hire(Plan::new(number, &company.sender)).await.unwrap();
        }
        all(&mut company.notes);
        let there = (0..60).rev().filter(|number| *number >= 50 || number % 3 != 0);
        let mut expected: Vec<_> = there
            .flat_map(|number| [Stopped(number, ExitReason::Stopped), Dropped(number)])
            .collect();
        expected.push(BossStopped);
        assert_eq!(company.close().await, expected);
    });
}

#[test]
fn a_supervisor_that_is_ending_takes_no_child() {
    everywhere(async |system| {
        let company =
            company::<OneForOne>(system, 1, |plan| plan.shutdown(Shutdown::Forever)).await;
        company.plans[0].hangs.store(true, Ordering::SeqCst);
        company.boss.stop();
        let late = company.boss.hire(Plan::new(1, &company.sender)).await;
        assert_eq!(late.err(), Some(AskError::Closed));
        company.plans[0].release.notify_one();
        soon(company.boss.ended()).await;
    });
}

// [G-SUPERVISE-1]
#[test]
fn children_are_restarted_while_a_handler_of_their_supervisor_waits() {
    everywhere(async |system| {
        let company = company::<OneForAll>(system, 3, |plan| plan).await;
        let member = company.members[1].clone();
        let restarted = company.boss.wait_for_restart(member).within(LONG).await;
        assert_eq!(restarted, Ok(1));
        assert_eq!(company.incarnations().await, [Some(1); 3]);
    });
}
