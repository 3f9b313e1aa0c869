//! Starts that fail, and ends that come in the middle of one.

use crate::supervision::patient::HOUR;
use crate::support::{LONG, everywhere, exit_of, poll_once, soon, until};
use greenroom::{
    Actor, Behavior, Context, ExitReason, Options, Ref, Restart, SpawnError, StartError,
    Supervision, Supervisor, handlers,
};
use std::future::IntoFuture;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use tokio::sync::Semaphore;

/// Starts as often as it is told to.
struct Starter;

impl Actor for Starter {
    const OPTIONS: Options = Options::new().restart(Restart::transient(3, HOUR));

    fn keep_args(args: &<Self as Behavior>::Args) -> Option<<Self as Behavior>::Args> {
        Some(Arc::clone(args))
    }
}

#[handlers]
impl Starter {
    #[start]
    fn start(left: Arc<AtomicU32>) -> Result<Self, StartError> {
        if left.load(Ordering::SeqCst) == 0 {
            return Err(StartError::new("not today"));
        }
        left.fetch_sub(1, Ordering::SeqCst);
        Ok(Self)
    }
    #[tell]
    fn panic(&mut self) {
        panic!("as told")
    }
}

#[test]
fn a_first_start_that_fails_is_told_to_the_spawner() {
    everywhere(async |system| {
        let left = Arc::new(AtomicU32::new(0));
        let error = system.spawn::<Starter>(Arc::clone(&left)).named("it").await.unwrap_err();
        let SpawnError::StartFailed(text) = &error else { panic!("{error}") };
        assert!(text.contains("not today"), "{text}");
        assert_eq!(system.counts().restarts, 0, "it is the spawner's to try again");
        // The name is free again.
        left.store(1, Ordering::SeqCst);
        system.spawn::<Starter>(left).named("it").await.unwrap();
    });
}

// [G-RESTART-4]
#[test]
fn a_restart_that_fails_counts_as_a_failure() {
    everywhere(async |system| {
        let mut events = system.events();
        let left = Arc::new(AtomicU32::new(1));
        let starter = system.spawn::<Starter>(left).await.unwrap();
        starter.panic().await.unwrap();
        let reason = exit_of(&starter, &mut events).await;
        let ExitReason::TooManyRestarts { last, .. } = reason else { panic!("{reason}") };
        assert!(last.to_string().contains("not today"), "{last}");
        assert_eq!(system.counts().restarts, 0);
    });
}

/// Starts when the test says so, and then does what the test says.
#[derive(Actor)]
struct Late;

#[handlers]
impl Late {
    #[start]
    async fn start(go: tokio::sync::oneshot::Receiver<bool>) -> Result<Self, StartError> {
        assert!(go.await?, "as told");
        Ok(Self)
    }
    #[tell]
    fn note(&mut self, handled: Arc<AtomicBool>) {
        handled.store(true, Ordering::SeqCst);
    }
}

/// Lives where another one does.
#[derive(Actor)]
struct Neighbour;

#[handlers]
impl Neighbour {
    #[ask]
    fn has_its_turn(&self) {}
}

// [G-STOP-1] [G-STOP-2] [G-STOP-3]
#[test]
fn an_actor_that_starts_can_be_ended() {
    type End = fn(&Ref<Late>) -> bool;
    let cases: [(End, Option<bool>, ExitReason, bool); 7] = [
        (Ref::stop, Some(true), ExitReason::Stopped, false),
        (Ref::stop, Some(false), ExitReason::Stopped, false),
        (Ref::stop, None, ExitReason::Stopped, false),
        (Ref::drain, Some(true), ExitReason::Drained, true),
        (Ref::drain, Some(false), ExitReason::Panicked("as told".to_owned()), false),
        (Ref::kill, Some(true), ExitReason::Killed, false),
        (Ref::kill, Some(false), ExitReason::Killed, false),
    ];
    everywhere(async |system| {
        let neighbour = system.spawn::<Neighbour>(Neighbour).on(0).await.unwrap();
        for (end, go_on, expected, handles) in cases.clone() {
            let mut events = system.events();
            let (go, gone) = tokio::sync::oneshot::channel();
            let late = system.spawn::<Late>(gone).on(0).start().unwrap();
            let handled = Arc::new(AtomicBool::new(false));
            late.note(Arc::clone(&handled)).await.unwrap();
            end(&late);
            // The order may be on its way to where the actor lives; what is asked there comes behind it.
            neighbour.has_its_turn().await.unwrap();
            if expected == ExitReason::Killed {
                // A kill does not wait for the start hook.
                soon(late.ended()).await;
            }
            match go_on {
                Some(go_on) => drop(go.send(go_on)),
                None => drop(go),
            }
            assert_eq!(exit_of(&late, &mut events).await, expected);
            assert_eq!(handled.load(Ordering::SeqCst), handles);
        }
    });
}

/// Fails to start at first, when it is let.
#[derive(Actor)]
struct Reluctant;

#[handlers]
impl Reluctant {
    #[start]
    async fn start(starts: Arc<AtomicU32>, gate: Arc<Semaphore>) -> Result<Self, StartError> {
        if starts.fetch_add(1, Ordering::SeqCst) == 0 {
            gate.acquire().await.expect("it stays open").forget();
            return Err(StartError::new("not at first"));
        }
        Ok(Self)
    }
}

/// Gives up waiting for the start of its child.
#[derive(Actor)]
struct Hasty;

impl Supervisor for Hasty {
    const SUPERVISION: Supervision = Supervision::one_for_one(3, HOUR);
}

#[handlers]
impl Hasty {
    #[ask]
    fn begin(
        &mut self,
        starts: Arc<AtomicU32>,
        gate: Arc<Semaphore>,
        cx: &mut Context<Self>,
    ) -> bool {
        let mut starting = Box::pin(cx.supervise::<Reluctant>((starts, gate)).into_future());
        poll_once(&mut starting).is_pending()
    }
    #[ask]
    fn children(&mut self, cx: &mut Context<Self>) -> usize {
        cx.supervised().len()
    }
}

// [G-SUPERVISE-1]
#[test]
fn a_first_start_that_nobody_awaits_any_more_counts_as_a_failure_of_the_child() {
    everywhere(async |system| {
        let (starts, gate) = (Arc::default(), Arc::new(Semaphore::new(0)));
        let hasty = system.spawn::<Hasty>(Hasty).await.unwrap();
        assert_eq!(
            hasty.begin(Arc::clone(&starts), Arc::clone(&gate)).within(LONG).await,
            Ok(true)
        );
        gate.add_permits(1);
        until(|| starts.load(Ordering::SeqCst) == 2).await;
        assert_eq!(hasty.children().within(LONG).await, Ok(1));
    });
}
