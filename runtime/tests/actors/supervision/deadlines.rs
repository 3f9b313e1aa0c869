//! How long children may take to stop, and ends that come in the middle of a restart.

use crate::supervision::family::*;
use crate::support::{Builds, everywhere, exit_of, on, soon};
use greenroom::{Event, ExitReason, Ref, Scheduler, Shutdown, System};
use std::sync::atomic::Ordering;
use std::time::Duration;

const BRIEF: Shutdown = Shutdown::Within(Duration::from_millis(5));

// [G-SUPERVISE-5]
#[test]
fn a_child_that_does_not_stop_in_time_is_killed() {
    everywhere(async |system| {
        // The others have time, however slow the machine is.
        let brief = |plan: Plan| if plan.number == 1 { plan.shutdown(BRIEF) } else { plan };
        let mut company = company::<OneForAll>(system, 3, brief).await;
        company.plans[1].hangs.store(true, Ordering::SeqCst);
        // In a restart.
        company.members[2].panic().await.unwrap();
        company
            .expect(&[
                Stopped(2, panicked()),
                Dropped(2),
                Dropped(1),
                Stopped(0, ExitReason::Restarted),
                Dropped(0),
                Started(0),
                Started(1),
                Started(2),
            ])
            .await;
        assert_eq!(company.incarnations().await, [Some(1); 3]);
        // And for good.
        let expected = [
            Stopped(2, ExitReason::Stopped),
            Dropped(2),
            Dropped(1),
            Stopped(0, ExitReason::Stopped),
            Dropped(0),
            BossStopped,
        ];
        assert_eq!(company.close().await, expected);
    });
}

// [G-SUPERVISE-5]
#[test]
fn a_child_that_may_take_for_ever_is_waited_for() {
    everywhere(async |system| {
        let mut company =
            company::<OneForAll>(system, 2, |plan| plan.shutdown(Shutdown::Forever)).await;
        company.plans[1].hangs.store(true, Ordering::SeqCst);
        company.members[0].panic().await.unwrap();
        company.expect(&[Stopped(0, panicked()), Dropped(0)]).await;
        for _ in 0..10 {
            tokio::task::yield_now().await;
            assert_eq!(all(&mut company.notes), []);
        }
        company.plans[1].hangs.store(false, Ordering::SeqCst);
        company.plans[1].release.notify_one();
        let rest = [Stopped(1, ExitReason::Restarted), Dropped(1), Started(0), Started(1)];
        company.expect(&rest).await;
        company.close().await;
    });
}

// [G-SUPERVISE-5]
#[test]
fn the_time_for_one_stop_does_not_run_on_into_the_next_incarnation() {
    on(2, Scheduler::stealing(), async |system| {
        let company = company::<OneForOne>(system, 1, |plan| plan.shutdown(BRIEF)).await;
        for _ in 0..20 {
            assert_eq!(company.boss.restart(company.members[0].clone()).await, Ok(true));
            crate::support::until_async(async || company.incarnations().await != [Some(0)]).await;
        }
        let before = company.incarnations().await;
        tokio::time::sleep(Duration::from_millis(20)).await;
        assert_eq!(company.incarnations().await, before);
        assert_eq!(system.counts().ended, 0);
    });
}

// [G-STOP-1] [G-STOP-3]
#[test]
fn a_child_that_waits_for_its_restart_can_be_ended() {
    everywhere(async |system| {
        for (end, reason) in [
            (Ref::stop as fn(&Ref<Member>) -> bool, ExitReason::Stopped),
            (Ref::kill, ExitReason::Killed),
        ] {
            let mut events = system.events();
            let mut company = company::<OneForAllSlowly>(system, 3, |plan| plan).await;
            company.members[2].panic().await.unwrap();
            wait_for_backoff(&mut events, &company.members[0]).await;
            // The first one backs off, the others wait for it.
            all(&mut company.notes);
            assert!(end(&company.members[0]));
            assert_eq!(exit_of(&company.members[0], &mut events).await, reason);
            // What it waited for is no longer waited for.
            company.expect(&[Started(1), Started(2)]).await;
            assert_eq!(company.incarnations().await, [None, Some(1), Some(1)]);
            company.close().await;
        }
    });
}

// [G-SUPERVISE-6]
#[test]
fn a_child_in_its_back_off_is_restarted_at_once_on_request() {
    everywhere(async |system| {
        let mut events = system.events();
        let mut company = company::<OneForAllSlowly>(system, 3, |plan| plan).await;
        company.members[2].panic().await.unwrap();
        wait_for_backoff(&mut events, &company.members[0]).await;
        all(&mut company.notes);
        // The one that waits for the first goes on doing so.
        for number in [1, 0] {
            assert_eq!(company.boss.restart(company.members[number].clone()).await, Ok(true));
        }
        company.expect(&[Started(0), Started(1), Started(2)]).await;
        company.close().await;
    });
}

// [G-SUPERVISE-6]
#[test]
fn children_that_wait_for_a_restart_are_removed_at_once() {
    everywhere(async |system| {
        let mut events = system.events();
        let mut company = company::<OneForAllSlowly>(system, 3, |plan| plan).await;
        company.members[2].panic().await.unwrap();
        wait_for_backoff(&mut events, &company.members[0]).await;
        all(&mut company.notes);
        for number in [1, 0] {
            assert_eq!(company.boss.remove(company.members[number].clone()).await, Ok(true));
        }
        company.expect(&[Started(2)]).await;
        assert_eq!(company.incarnations().await, [None, None, Some(1)]);
        company.close().await;
    });
}

// [G-SUPERVISE-6]
#[test]
fn a_child_that_is_stopping_is_restarted_once_whoever_asks_for_it() {
    everywhere(async |system| {
        let mut company =
            company::<OneForAll>(system, 2, |plan| plan.shutdown(Shutdown::Forever)).await;
        company.plans[1].hangs.store(true, Ordering::SeqCst);
        company.members[0].panic().await.unwrap();
        company.expect(&[Stopped(0, panicked()), Dropped(0)]).await;
        for member in &company.members {
            assert_eq!(company.boss.restart(member.clone()).await, Ok(true));
        }
        company.plans[1].hangs.store(false, Ordering::SeqCst);
        company.plans[1].release.notify_one();
        let rest = [Stopped(1, ExitReason::Restarted), Dropped(1), Started(0), Started(1)];
        company.expect(&rest).await;
        assert_eq!(company.incarnations().await, [Some(1); 2]);
        company.close().await;
    });
}

async fn wait_for_backoff(events: &mut greenroom::EventStream, member: &Ref<Member>) {
    loop {
        match soon(events.next()).await.unwrap() {
            Event::Restarting { actor, .. } if actor == member.id() => return,
            _ => {}
        }
    }
}

// [G-SUPERVISE-4]
#[test]
fn a_supervisor_ends_in_the_middle_of_a_restart() {
    everywhere(async |system| {
        for kill in [false, true] {
            let mut events = system.events();
            let mut company = company::<OneForAllSlowly>(system, 3, |plan| plan).await;
            company.members[1].panic().await.unwrap();
            wait_for_backoff(&mut events, &company.members[0]).await;
            all(&mut company.notes);
            if kill {
                company.boss.kill();
            } else {
                company.boss.stop();
            }
            soon(company.boss.ended()).await;
            let expected: &[Note] = if kill { &[] } else { &[BossStopped] };
            assert_eq!(all(&mut company.notes), expected, "nobody starts again");
            assert_eq!(company.incarnations().await, [None; 3]);
        }
    });
}

// [G-SUPERVISE-6]
#[test]
fn children_that_wait_for_a_restart_are_among_the_supervised() {
    everywhere(async |system| {
        let mut events = system.events();
        let company = company::<OneForAllSlowly>(system, 3, |plan| plan).await;
        let ids: Vec<_> = company.members.iter().map(Ref::id).collect();
        company.members[1].panic().await.unwrap();
        wait_for_backoff(&mut events, &company.members[0]).await;
        assert_eq!(company.boss.supervised().await, Ok(ids), "in the order of their start");
        company.close().await;
    });
}

// [G-SUPERVISE-4]
#[test]
fn a_supervisor_whose_child_never_starts_again_can_be_ended() {
    everywhere(async |system| {
        let mut events = system.events();
        let mut company = company::<RestForOneAlways>(system, 3, |plan| plan).await;
        company.plans[1].bad_starts.store(u32::MAX, Ordering::SeqCst);
        company.members[1].panic().await.unwrap();
        while soon(company.notes.recv()).await != Some(StartFailed(1)) {}
        company.boss.stop();
        assert_eq!(exit_of(&company.boss, &mut events).await, ExitReason::Stopped);
        let noted = all(&mut company.notes);
        let others: Vec<_> = noted.into_iter().filter(|note| *note != StartFailed(1)).collect();
        assert_eq!(others, [Stopped(0, ExitReason::Stopped), Dropped(0), BossStopped]);
    });
}

// [G-SUPERVISE-4]
#[test]
fn a_supervisor_that_is_killed_kills_its_children() {
    everywhere(async |system| {
        let mut events = system.events();
        let mut company = company::<OneForOne>(system, 4, |plan| plan).await;
        company.boss.kill();
        let mut ends = 0;
        while ends < 5 {
            if let Some(Event::Ended { reason, .. }) = soon(events.next()).await {
                assert_eq!(reason, ExitReason::Killed);
                ends += 1;
            }
        }
        let mut noted = all(&mut company.notes);
        noted.sort_by_key(|note| format!("{note:?}"));
        assert_eq!(noted, (0..4).map(Dropped).collect::<Vec<_>>(), "no stop hook runs");
    });
}

// [G-SHUTDOWN-1]
#[test]
fn a_system_that_ends_in_the_middle_of_a_round_leaves_nothing_behind() {
    for graceful in [false, true] {
        let system = System::builder().workers(2).own();
        crate::support::run(async {
            let mut events = system.events();
            let company = company::<OneForAllSlowly>(&system, 3, |plan| plan).await;
            company.members[1].panic().await.unwrap();
            wait_for_backoff(&mut events, &company.members[0]).await;
            if graceful {
                system.shutdown(crate::support::LONG).await.unwrap();
            }
            drop((company, system));
            // The stream ends when the last part of the system is freed.
            while soon(events.next()).await.is_some() {}
        });
    }
}

// [G-RESTART-5]
#[test]
fn the_same_seed_shortens_the_same_waits() {
    fn waits(seed: u64) -> Vec<Duration> {
        let system = System::builder().workers(1).seed(seed).own();
        crate::support::run(async {
            let mut events = system.events();
            let company = company::<Jittery>(&system, 2, |plan| plan).await;
            let mut waits = Vec::new();
            for incarnation in 1..=6 {
                company.members[1].panic().await.unwrap();
                loop {
                    let event = soon(events.next()).await.unwrap();
                    if let Event::Restarting { actor, delay, .. } = event {
                        assert_eq!(actor, company.members[1].id());
                        break waits.push(delay);
                    }
                }
                let back = company.members[1].incarnation().within(crate::support::LONG).await;
                assert_eq!(back, Ok(incarnation));
            }
            system.shutdown(crate::support::LONG).await.unwrap();
            waits
        })
    }
    let millis = Duration::from_millis;
    assert_eq!(waits(7), waits(7));
    assert_ne!(waits(7), waits(8));
    for wait in waits(9) {
        assert!((millis(1)..=millis(2)).contains(&wait), "{wait:?}");
    }
}
