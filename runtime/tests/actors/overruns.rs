//! Handlers that keep their worker for too long are told of, each once.

#![allow(clippy::unwrap_used, reason = "what goes wrong in a test may panic")]

use crate::support::{Builds, LONG, OwnSystem, SCHEDULERS, run, soon};
use greenroom::{Actor, ActorId, Event, EventStream, Ref, Scheduler, System, handlers};
use std::sync::mpsc;
use std::time::Duration;
use tokio::sync::oneshot;

const BUDGET: Duration = Duration::from_millis(50);

/// What blocks until the sender is dropped.
type Gate = mpsc::Receiver<()>;

fn gate() -> (mpsc::Sender<()>, Gate) {
    mpsc::channel()
}

fn pass(gate: &Gate) {
    // An error says that the gate is open.
    let _ = gate.recv();
}

#[derive(Actor)]
struct Blocker {
    inner: Option<Ref<Self>>,
    in_stop: Option<Gate>,
}

#[handlers]
impl Blocker {
    #[start]
    fn start(in_start: Option<Gate>, in_stop: Option<Gate>, inner: Option<Ref<Self>>) -> Self {
        if let Some(gate) = in_start {
            pass(&gate);
        }
        Self { inner, in_stop }
    }
    #[tell]
    fn block(&mut self, gate: Gate) {
        pass(&gate);
    }
    /// Blocks when it goes on after an await, during which it has its time.
    #[tell]
    async fn block_later(&mut self, go: oneshot::Receiver<()>, gate: Gate) {
        let _ = go.await;
        pass(&gate);
    }
    /// Blocks inside the turn of the asker, if workers run what is asked at once.
    #[ask]
    fn block_asked(&mut self, gate: Gate) {
        pass(&gate);
    }
    #[tell]
    async fn ask_and_block(&mut self, asked: Gate, own: Gate) {
        self.inner.as_ref().unwrap().block_asked(asked).within(LONG).await.unwrap();
        pass(&own);
    }
    #[stop]
    fn stop(&mut self) {
        if let Some(gate) = self.in_stop.take() {
            pass(&gate);
        }
    }
}

async fn blocker(system: &System) -> Ref<Blocker> {
    system.spawn::<Blocker>((None, None, None)).await.unwrap()
}

fn built(workers: usize, scheduler: Scheduler, budget: Duration) -> OwnSystem {
    let builder = System::builder().workers(workers).scheduler(scheduler);
    builder.handler_budget(budget).own()
}

/// The next overrun: whose, of what, and for how long.
async fn overrun(events: &mut EventStream) -> (ActorId, &'static str, Duration) {
    loop {
        if let Event::Overrun { actor, message, so_far } = soon(events.next()).await.unwrap() {
            return (actor, message, so_far);
        }
    }
}

#[test]
fn each_handler_that_blocks_is_told_once_while_it_blocks() {
    for scheduler in SCHEDULERS {
        run(async {
            let system = built(2, scheduler(), BUDGET);
            let mut events = system.events();
            let first = system.spawn::<Blocker>((None, None, None)).on(0).await.unwrap();
            let second = system.spawn::<Blocker>((None, None, None)).on(1).await.unwrap();
            let (open_first, in_first) = gate();
            first.block(in_first).await.unwrap();
            let (actor, message, so_far) = overrun(&mut events).await;
            assert_eq!(actor, first.id());
            assert!(message.contains("Blocker"), "{message}");
            assert!(so_far >= BUDGET, "{so_far:?}");
            for _ in 0..3 {
                // Each of these takes a budget at least, in which the first one is seen again.
                let (open, shut) = gate();
                second.block(shut).await.unwrap();
                assert_eq!(overrun(&mut events).await.0, second.id());
                drop(open);
            }
            assert_eq!(system.counts().overruns, 4);
            drop(open_first);
            // The same actor again is another overrun.
            let (open, shut) = gate();
            first.block(shut).await.unwrap();
            assert_eq!(overrun(&mut events).await.0, first.id());
            drop(open);
            system.shutdown(LONG).await.unwrap();
            assert_eq!(system.counts().overruns, 5);
        });
    }
}

#[test]
fn hooks_and_handlers_that_go_on_are_watched_as_well() {
    run(async {
        let system = built(1, Scheduler::stealing(), BUDGET);
        let mut events = system.events();
        let (open, in_start) = gate();
        let (open_stop, in_stop) = gate();
        let args = (Some(in_start), Some(in_stop), None);
        let starting = system.spawn::<Blocker>(args).start().unwrap();
        let (actor, what, _) = overrun(&mut events).await;
        assert_eq!((actor, what), (starting.id(), "a start or stop hook"));
        drop(open);

        let (go, goes) = oneshot::channel();
        let (open, shut) = gate();
        starting.block_later(goes, shut).await.unwrap();
        // It awaits meanwhile, which is no overrun, while another handler overruns.
        let other = blocker(&system).await;
        let (open_other, shut) = gate();
        other.block(shut).await.unwrap();
        assert_eq!(overrun(&mut events).await.0, other.id());
        drop(open_other);
        go.send(()).unwrap();
        let (actor, message, _) = overrun(&mut events).await;
        assert_eq!(actor, starting.id());
        assert!(message.contains("Blocker"), "{message}");
        drop(open);

        starting.stop();
        let (actor, what, _) = overrun(&mut events).await;
        assert_eq!((actor, what), (starting.id(), "a start or stop hook"));
        drop(open_stop);
        system.shutdown(LONG).await.unwrap();
        assert_eq!(system.counts().overruns, 4);
    });
}

#[test]
fn a_handler_inside_another_one_is_told_of_as_itself() {
    for scheduler in SCHEDULERS {
        run(async {
            // One worker, which nobody could help: what is asked runs inside the asking turn.
            let system = built(1, scheduler(), BUDGET);
            let mut events = system.events();
            let inner = blocker(&system).await;
            let args = (None, None, Some(inner.clone()));
            let outer = system.spawn::<Blocker>(args).await.unwrap();
            let ((open_asked, asked), (open_own, own)) = (gate(), gate());
            outer.ask_and_block(asked, own).await.unwrap();
            assert_eq!(overrun(&mut events).await.0, inner.id());
            drop(open_asked);
            assert_eq!(overrun(&mut events).await.0, outer.id());
            drop(open_own);
            system.shutdown(LONG).await.unwrap();
        });
    }
}

#[test]
fn who_rests_is_called_when_work_comes_again() {
    run(async {
        let system = built(2, Scheduler::auto(), Duration::from_millis(1));
        let mut events = system.events();
        for _ in 0..30 {
            let actor = blocker(&system).await;
            // Long enough for everybody to have nothing to do.
            tokio::time::sleep(Duration::from_millis(4)).await;
            let (open, shut) = gate();
            actor.block(shut).await.unwrap();
            // With so short a budget, whoever the kernel interrupts may overrun as well.
            while overrun(&mut events).await.0 != actor.id() {}
            drop(open);
        }
        system.shutdown(LONG).await.unwrap();
    });
}

#[test]
fn nobody_watches_without_a_budget() {
    run(async {
        let watched = built(1, Scheduler::auto(), BUDGET);
        let unwatched = built(1, Scheduler::auto(), Duration::ZERO);
        let mut events = watched.events();
        let free = blocker(&unwatched).await;
        let (open_free, in_free) = gate();
        free.block(in_free).await.unwrap();
        for _ in 0..3 {
            let actor = blocker(&watched).await;
            let (open, shut) = gate();
            actor.block(shut).await.unwrap();
            assert_eq!(overrun(&mut events).await.0, actor.id());
            drop(open);
        }
        assert_eq!(unwatched.counts().overruns, 0);
        drop(open_free);
        watched.shutdown(LONG).await.unwrap();
        unwatched.shutdown(LONG).await.unwrap();
    });
}
