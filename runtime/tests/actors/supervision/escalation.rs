//! Failures that are one too many: who ends, why, and who is told.

use crate::supervision::family::*;
use crate::supervision::patient::HOUR;
use crate::support::{everywhere, exit_of, on, soon};
use greenroom::{
    Actor, Context, ExitReason, Ref, RestartKind, Scheduler, Shutdown, SpawnError, StartError,
    Supervision, Supervisor, System, handlers,
};
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::sync::mpsc;

// [G-SUPERVISE-3] [G-SUPERVISE-4]
#[test]
fn one_failure_more_than_allowed_ends_all_and_the_supervisor() {
    async fn check<P: Policy>(system: &System) {
        let mut events = system.events();
        let mut company = company::<P>(system, 3, |plan| plan).await;
        // Whoever they are of, failures add up.
        for (nth, member) in [0, 2].into_iter().enumerate() {
            let before = company.incarnations().await;
            company.members[member].panic().await.unwrap();
            crate::support::until(|| company.notes.len() >= 3 * nth + 3).await;
            let after = company.incarnations().await;
            assert!(after[member] > before[member], "{after:?}");
        }
        all(&mut company.notes);
        company.members[1].panic().await.unwrap();
        let reason = exit_of(&company.boss, &mut events).await;
        let actor = company.members[1].id();
        assert_eq!(reason, ExitReason::TooManyRestarts { actor, last: Box::new(panicked()) });
        let expected = [
            Stopped(1, panicked()),
            Dropped(1),
            Stopped(2, ExitReason::Stopped),
            Dropped(2),
            Stopped(0, ExitReason::Stopped),
            Dropped(0),
            BossStopped,
        ];
        assert_eq!(all(&mut company.notes), expected);
        assert_eq!(company.incarnations().await, [None; 3]);
    }
    everywhere(async |system| {
        check::<OneForOneTwice>(system).await;
        check::<OneForAllTwice>(system).await;
        check::<RestForOneTwice>(system).await;
    });
}

// [G-SUPERVISE-3]
#[test]
fn failures_of_children_that_are_far_apart_do_not_add_up() {
    on(1, Scheduler::locked(), async |system| {
        let company = company::<OneForAllTwiceIn50Ms>(system, 2, |plan| plan).await;
        for incarnation in 1..=6 {
            company.members[0].panic().await.unwrap();
            crate::support::until_async(async || {
                company.incarnations().await == [Some(incarnation); 2]
            })
            .await;
            // No two failures but neighbours are within the window.
            tokio::time::sleep(Duration::from_millis(30)).await;
        }
        assert!(!company.close().await.is_empty());
    });
}

// [G-SUPERVISE-3]
#[test]
fn whoever_watches_a_child_is_told_why_that_child_ended() {
    everywhere(async |system| {
        let mut events = system.events();
        let company = company::<OneForOneTwice>(system, 2, |plan| plan).await;
        company.plans[0].bad_starts.store(9, Ordering::SeqCst);
        company.members[0].panic().await.unwrap();
        let reason = exit_of(&company.members[0], &mut events).await;
        assert_eq!(reason, ExitReason::StartFailed("not today".to_owned()));
        soon(company.boss.ended()).await;
        // The panic, and two starts.
        assert_eq!(company.plans[0].bad_starts.load(Ordering::SeqCst), 7);
    });
}

/// Supervises supervisors.
struct Owner {
    company: Ref<Boss<OneForOneTwice>>,
    other: Ref<Member>,
}

impl Actor for Owner {}

impl Supervisor for Owner {
    const SUPERVISION: Supervision = Supervision::rest_for_one(1, HOUR);
}

#[handlers]
impl Owner {
    #[start]
    async fn start(
        notes: mpsc::UnboundedSender<Note>,
        cx: &mut Context<Self>,
    ) -> Result<Self, StartError> {
        let plans = [0, 1].map(|number| Plan::new(number, &notes)).to_vec();
        let company = cx.supervise::<Boss<OneForOneTwice>>((notes.clone(), plans)).await?;
        let other = cx.supervise::<Member>(Plan::new(9, &notes)).await?;
        Ok(Self { company, other })
    }
    #[ask]
    fn parts(&self) -> (Ref<Boss<OneForOneTwice>>, Ref<Member>) {
        (self.company.clone(), self.other.clone())
    }
}

// [G-SUPERVISE-3] [G-RESTART-1]
#[test]
fn a_supervisor_that_gives_up_is_restarted_by_its_own() {
    everywhere(async |system| {
        let mut events = system.events();
        let (sender, mut notes) = mpsc::unbounded_channel();
        let owner = system.spawn::<Owner>(sender.clone()).await.unwrap();
        let (boss, other) = owner.parts().await.unwrap();
        let start = [Started(0), Started(1), Started(9)];
        assert_eq!(all(&mut notes), start);
        let hired = boss.hire(Plan::new(2, &sender)).await.unwrap();
        for _ in 0..3 {
            hired.panic().await.unwrap();
        }
        // The hired one is not in the plans that the supervisor starts from.
        soon(hired.ended()).await;
        crate::support::until_async(async || other.incarnation().await == Ok(1)).await;
        assert!(boss.supervised().within(crate::support::LONG).await.unwrap().len() == 2);
        let noted = all(&mut notes);
        let end = [
            Stopped(2, panicked()),
            Dropped(2),
            Stopped(1, ExitReason::Stopped),
            Dropped(1),
            Stopped(0, ExitReason::Stopped),
            Dropped(0),
            BossStopped,
            Stopped(9, ExitReason::Restarted),
            Dropped(9),
        ];
        assert_eq!(noted[noted.len() - start.len() - end.len()..][..end.len()], end);
        assert_eq!(noted[noted.len() - start.len()..], start);

        // Once is allowed here; the second time goes up.
        let hired = boss.hire(Plan::new(2, &sender)).await.unwrap();
        for _ in 0..3 {
            hired.panic().await.unwrap();
        }
        let ExitReason::TooManyRestarts { actor, last } = exit_of(&owner, &mut events).await else {
            panic!("it fails")
        };
        assert_eq!(actor, boss.id());
        let inner = ExitReason::TooManyRestarts { actor: hired.id(), last: Box::new(panicked()) };
        assert_eq!(*last, inner);
    });
}

#[test]
fn a_supervisor_whose_children_do_not_start_does_not_start() {
    everywhere(async |system| {
        let (sender, mut notes) = mpsc::unbounded_channel();
        let plans: Vec<_> = (0..4).map(|number| Plan::new(number, &sender)).collect();
        plans[2].bad_starts.store(1, Ordering::SeqCst);
        let refused = system.spawn::<Boss<OneForAll>>((sender, plans)).await;
        let Err(SpawnError::StartFailed(text)) = refused else { panic!("{refused:?}") };
        assert!(text.contains("not today"), "{text}");
        let expected = [
            Started(0),
            Started(1),
            StartFailed(2),
            Stopped(1, ExitReason::Stopped),
            Dropped(1),
            Stopped(0, ExitReason::Stopped),
            Dropped(0),
        ];
        assert_eq!(all(&mut notes), expected);
    });
}

// [G-SUPERVISE-3]
#[test]
fn a_child_that_its_own_policy_gives_up_is_its_supervisors() {
    everywhere(async |system| {
        let owner = system.spawn::<Keeper>(()).await.unwrap();
        let child = owner.child().await.unwrap();
        let mut events = system.events();
        for incarnation in 1..=2 {
            child.panic().await.unwrap();
            assert_eq!(child.incarnation().within(crate::support::LONG).await, Ok(incarnation));
        }
        assert_eq!(owner.failures(child.clone()).await, Ok(1), "one restart was its own");
        child.panic().await.unwrap();
        child.panic().await.unwrap();
        let reason = exit_of(&owner, &mut events).await;
        let actor = child.id();
        let own = ExitReason::TooManyRestarts { actor, last: Box::new(panicked()) };
        assert_eq!(reason, ExitReason::TooManyRestarts { actor, last: Box::new(own) });
    });
}

/// Comes back once by itself.
#[derive(Actor)]
#[actor(restart = transient(1 in "1h"))]
struct Tough;

#[handlers]
impl Tough {
    #[start]
    fn start() -> Self {
        Self
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

#[derive(Actor)]
#[actor(supervise = one_for_one(1 in "1h"))]
struct Keeper {
    child: Ref<Tough>,
}

#[handlers]
impl Keeper {
    #[start]
    async fn start(cx: &mut Context<Self>) -> Result<Self, StartError> {
        let child = cx.supervise::<Tough>(()).shutdown(Shutdown::Kill).await?;
        Ok(Self { child })
    }
    #[ask]
    fn child(&self) -> Ref<Tough> {
        self.child.clone()
    }
    /// How often it was restarted from here.
    #[ask]
    async fn failures(&self, child: Ref<Tough>) -> u32 {
        child.incarnation().await.expect("it lives") - 1
    }
}

// [G-SUPERVISE-3]
#[test]
fn restarts_of_a_temporary_child_are_never_counted() {
    everywhere(async |system| {
        let mut company =
            company::<OneForAllTwice>(system, 1, |plan| plan.kind(RestartKind::Permanent)).await;
        for number in 1..10 {
            let plan = Plan::new(number, &company.sender).kind(RestartKind::Never);
            let brief = company.boss.hire(plan).await.unwrap();
            brief.panic().await.unwrap();
            soon(brief.ended()).await;
        }
        assert_eq!(company.incarnations().await, [Some(0)]);
        all(&mut company.notes);
        let closed = company.close().await;
        assert_eq!(closed, [Stopped(0, ExitReason::Stopped), Dropped(0), BossStopped]);
    });
}
