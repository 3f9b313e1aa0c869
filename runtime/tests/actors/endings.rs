//! Ends that overtake each other, and watches that are given up.

#![allow(clippy::unwrap_used, reason = "what is not there fails the test")]

use crate::support::{LONG, everywhere, exit_of, soon};
use greenroom::{Actor, Context, Down, ExitReason, Ref, System, WatchId, handlers};
use tokio::sync::{mpsc, oneshot};

type Notes = mpsc::UnboundedSender<String>;

/// Waits wherever it is told to, and notes which hooks are called.
#[derive(Actor)]
struct Sleeper {
    notes: Notes,
    child: Option<Ref<Self>>,
    is_slow_to_stop: bool,
}

#[handlers]
impl Sleeper {
    #[start]
    fn start(notes: Notes, is_slow_to_stop: bool) -> Self {
        Self { notes, child: None, is_slow_to_stop }
    }
    #[stop]
    async fn stop(&mut self, reason: ExitReason) {
        self.notes.send(format!("stop hook: {reason}")).unwrap();
        if self.is_slow_to_stop {
            std::future::pending::<()>().await;
        }
    }
    #[tell]
    fn leave(&mut self, cx: &mut Context<Self>) {
        cx.stop();
    }
    #[ask]
    async fn bear(&mut self, cx: &mut Context<Self>) -> Ref<Self> {
        let child = cx.spawn::<Self>((self.notes.clone(), true)).await.unwrap();
        self.child = Some(child.clone());
        child
    }
    #[tell]
    async fn wait(&mut self, entered: oneshot::Sender<()>) {
        entered.send(()).unwrap();
        std::future::pending::<()>().await;
    }
}

async fn sleeper(
    system: &System,
    is_slow_to_stop: bool,
) -> (Ref<Sleeper>, mpsc::UnboundedReceiver<String>) {
    let (notes, noted) = mpsc::unbounded_channel();
    (system.spawn::<Sleeper>((notes, is_slow_to_stop)).await.unwrap(), noted)
}

// [G-STOP-3]
#[test]
fn a_kill_after_a_stop_runs_no_stop_hook() {
    everywhere(async |system| {
        let mut events = system.events();
        let (sleeper, mut noted) = sleeper(system, false).await;
        let (entered, is_in) = oneshot::channel();
        sleeper.wait(entered).await.unwrap();
        soon(is_in).await.unwrap();
        sleeper.stop();
        sleeper.kill();
        assert_eq!(exit_of(&sleeper, &mut events).await, ExitReason::Killed);
        assert_eq!(soon(noted.recv()).await, None, "its state is gone, and no hook ran");
        assert_eq!(system.counts().dead_crashed, 1);
    });
}

// [G-STOP-3]
#[test]
fn a_kill_ends_a_stop_hook_that_waits() {
    everywhere(async |system| {
        let mut events = system.events();
        let (sleeper, mut noted) = sleeper(system, true).await;
        sleeper.stop();
        assert_eq!(soon(noted.recv()).await.unwrap(), "stop hook: stopped");
        sleeper.kill();
        assert_eq!(exit_of(&sleeper, &mut events).await, ExitReason::Killed);
        assert_eq!(soon(noted.recv()).await, None);
    });
}

// [G-STOP-3]
#[test]
fn a_kill_after_a_stop_reaches_children_that_stop() {
    everywhere(async |system| {
        let mut events = system.events();
        let (sleeper, mut noted) = sleeper(system, false).await;
        let child = sleeper.bear().within(LONG).await.unwrap();
        sleeper.stop();
        assert_eq!(soon(noted.recv()).await.unwrap(), "stop hook: stopped");
        sleeper.kill();
        assert_eq!(exit_of(&child, &mut events).await, ExitReason::Killed);
        assert_eq!(exit_of(&sleeper, &mut events).await, ExitReason::Killed);
        assert_eq!(soon(noted.recv()).await, None, "only the child's hook ran");
    });
}

/// Watches as it is told to.
#[derive(Actor)]
#[actor(restart = transient(9 in "1h"))]
struct Guard {
    downs: mpsc::UnboundedSender<Down>,
    watches: Vec<WatchId>,
}

#[handlers]
impl Guard {
    #[start]
    fn start(downs: mpsc::UnboundedSender<Down>) -> Self {
        Self { downs, watches: Vec::new() }
    }
    #[ask]
    fn watch(&mut self, target: Ref<Sleeper>, cx: &mut Context<Self>) {
        self.watches.push(cx.watch(&target, Self::down));
    }
    /// Ends its watches when the target has ended, with the news certainly on their way.
    #[ask]
    async fn unwatch_after(&mut self, target: Ref<Sleeper>, cx: &mut Context<Self>) {
        target.stop();
        target.ended().await;
        for watch in self.watches.drain(..) {
            cx.unwatch(watch);
        }
    }
    #[ask]
    fn watch_count(&self) -> usize {
        self.watches.len()
    }
    #[tell]
    fn fall(&mut self) {
        panic!("as told")
    }
    #[down]
    fn down(&mut self, down: Down) {
        self.downs.send(down).unwrap();
    }
}

async fn guard(system: &System) -> (Ref<Guard>, mpsc::UnboundedReceiver<Down>) {
    let (sender, downs) = mpsc::unbounded_channel();
    (system.spawn::<Guard>(sender).await.unwrap(), downs)
}

/// What else a guard is told before it ends.
async fn rest(guard: &Ref<Guard>, downs: &mut mpsc::UnboundedReceiver<Down>) -> usize {
    guard.drain();
    soon(guard.ended()).await;
    std::iter::from_fn(|| downs.try_recv().ok()).count()
}

#[test]
fn news_on_their_way_are_dropped_with_the_watch() {
    everywhere(async |system| {
        let (guard, mut downs) = guard(system).await;
        let (sleeper, _noted) = sleeper(system, false).await;
        for _ in 0..3 {
            guard.watch(sleeper.clone()).await.unwrap();
        }
        guard.unwatch_after(sleeper).within(LONG).await.unwrap();
        assert_eq!(guard.watch_count().await, Ok(0));
        assert_eq!(rest(&guard, &mut downs).await, 0);
    });
}

#[test]
fn each_watch_of_the_same_actor_is_told_once() {
    everywhere(async |system| {
        let (guard, mut downs) = guard(system).await;
        let (sleeper, _noted) = sleeper(system, false).await;
        for _ in 0..3 {
            guard.watch(sleeper.clone()).await.unwrap();
        }
        sleeper.kill();
        for _ in 0..3 {
            let down = soon(downs.recv()).await.unwrap();
            assert_eq!((down.actor, down.reason), (sleeper.id(), ExitReason::Killed));
        }
        assert_eq!(rest(&guard, &mut downs).await, 0);
    });
}

#[test]
fn a_watch_ends_with_the_watchers_incarnation() {
    everywhere(async |system| {
        let (guard, mut downs) = guard(system).await;
        let (sleeper, _noted) = sleeper(system, false).await;
        guard.watch(sleeper.clone()).await.unwrap();
        guard.fall().await.unwrap();
        assert_eq!(guard.watch_count().within(LONG).await, Ok(0), "it is another one");
        sleeper.stop();
        soon(sleeper.ended()).await;
        assert_eq!(rest(&guard, &mut downs).await, 0);
    });
}

// [G-STOP-1]
#[test]
fn an_actor_that_ends_itself_for_good_takes_no_more_mail() {
    everywhere(async |system| {
        let group = system.group::<Sleeper>("sleepers");
        let (sleeper, mut noted) = sleeper(system, true).await;
        assert!(group.join(&sleeper));
        sleeper.leave().await.unwrap();
        assert_eq!(soon(noted.recv()).await.unwrap(), "stop hook: stopped");
        assert!(sleeper.is_closed(), "its hook waits, and nothing can follow");
        assert_eq!(group.members(), []);
        let refused = sleeper.leave().try_send().map_err(|error| error.to_string());
        assert_eq!(refused, Err("the actor has ended".to_owned()));
        sleeper.kill();
        soon(sleeper.ended()).await;
        assert_eq!(system.counts().dead_stopped, 0);
    });
}
