//! Calls and mail of an actor that always has both: each waits for one of the others, and not for all of them.

#![allow(clippy::unwrap_used, reason = "what is not there fails the test")]

use crate::support::{Builds, LONG, everywhere, hold_worker, on, run, soon};
use greenroom::{Actor, Context, Interleaved, Ref, Scheduler, System, handlers};
use std::future::ready;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

const MESSAGES: u32 = 20_000;
const RESULTS: usize = 20;

/// Handles messages, and notes how many it had handled when each result came.
#[derive(Actor)]
#[actor(interleave = 4)]
struct Desk {
    handled: u32,
    came: Vec<u32>,
}

#[handlers]
impl Desk {
    /// Waits for a first result, and for silence, so that each message is attended to.
    #[tell]
    fn begin(&mut self, first: oneshot::Receiver<()>, cx: &mut Context<Self>) {
        cx.receive_timeout(Duration::from_secs(3600), Self::is_silent);
        cx.pipe(async { drop(first.await) }, Self::come);
    }
    #[tell]
    async fn wait(&mut self) {
        tokio::task::yield_now().await;
        self.handled += 1;
    }
    #[tell]
    #[interleave]
    async fn begin_aside(cx: &mut Interleaved<Self>) {
        cx.with(|me, _| me.handled += 1);
    }
    #[ask]
    fn came(&self) -> Vec<u32> {
        self.came.clone()
    }
    #[local]
    fn come(&mut self, (): (), cx: &mut Context<Self>) {
        self.came.push(self.handled);
        if self.came.len() < RESULTS {
            cx.pipe(ready(()), Self::come);
        }
    }
    #[local]
    fn is_silent(&mut self) {}
}

/// Asserts that results come in between the messages that `send` sends.
fn come_in_between(send: fn(&Ref<Desk>)) {
    on(1, Scheduler::stealing(), async |system| {
        let desk = system.spawn::<Desk>(Desk { handled: 0, came: Vec::new() }).await.unwrap();
        let (come, first) = oneshot::channel();
        desk.begin(first).await.unwrap();
        let held = hold_worker(system).await;
        for _ in 0..MESSAGES {
            send(&desk);
        }
        come.send(()).unwrap();
        drop(held);
        let came = soon(desk.came().within(LONG).into_future()).await.unwrap();
        assert_eq!(came.len(), RESULTS);
        assert!(came[RESULTS - 1] < MESSAGES, "{came:?}");
    });
}

// [G-TIMER-5]
#[test]
fn results_come_between_messages_that_wait() {
    come_in_between(|desk| desk.wait().try_send().unwrap());
}

// [G-TIMER-5]
#[test]
fn results_come_between_messages_of_interleaved_handlers() {
    come_in_between(|desk| desk.begin_aside().try_send().unwrap());
}

const MILLISECOND: Duration = Duration::from_millis(1);

/// How long each call of a timer takes, all of which are longer than it is to the next.
#[derive(Clone, Copy)]
enum Takes {
    Waiting,
    Working,
}

/// Has timers that are always due, and notes what it is told.
#[derive(Actor)]
struct Late {
    notes: u32,
    called: mpsc::UnboundedSender<()>,
    stopped: Option<oneshot::Sender<u32>>,
}

#[handlers]
impl Late {
    #[start]
    fn start(
        timers: usize,
        takes: Takes,
        called: mpsc::UnboundedSender<()>,
        stopped: oneshot::Sender<u32>,
        cx: &mut Context<Self>,
    ) -> Self {
        for _ in 0..timers {
            match takes {
                Takes::Waiting => cx.every(MILLISECOND, Self::wait),
                Takes::Working => cx.every(MILLISECOND, Self::work),
            };
        }
        Self { notes: 0, called, stopped: Some(stopped) }
    }
    #[stop]
    fn stop(&mut self) {
        self.stopped.take().unwrap().send(self.notes).unwrap();
    }
    #[local]
    async fn wait(&mut self) {
        let _ = self.called.send(());
        tokio::time::sleep(MILLISECOND * 2).await;
    }
    #[local]
    fn work(&mut self) {
        let _ = self.called.send(());
        let begun = Instant::now();
        while begun.elapsed() < MILLISECOND * 3 {
            std::hint::spin_loop();
        }
    }
    #[tell]
    fn note(&mut self) {
        self.notes += 1;
    }
    #[ask]
    fn notes(&self) -> u32 {
        self.notes
    }
}

/// Asserts that what such an actor is told is handled, before it is drained and after that.
async fn mail_is_let_in(system: &System, timers: usize, takes: Takes) {
    let (stopped, notes) = oneshot::channel();
    let (called, mut calls) = mpsc::unbounded_channel();
    let late = system.spawn::<Late>((timers, takes, called, stopped)).await.unwrap();
    for _ in 0..timers {
        soon(calls.recv()).await.unwrap();
    }
    late.note().await.unwrap();
    assert_eq!(late.notes().within(LONG).await, Ok(1));
    for _ in 0..9 {
        late.note().await.unwrap();
    }
    late.drain();
    soon(late.ended()).await;
    assert_eq!(notes.await, Ok(10), "all that was accepted is handled");
}

// [G-TIMER-5] [G-STOP-2]
#[test]
fn a_timer_that_is_always_due_lets_mail_in() {
    everywhere(async |system| mail_is_let_in(system, 1, Takes::Waiting).await);
}

// [G-TIMER-5] [G-STOP-2]
#[test]
fn timers_that_fill_whole_turns_let_mail_in() {
    for (workers, batch, timers) in [(1, 1, 1), (1, 2, 3), (2, 64, 2)] {
        let system = System::builder().workers(workers).batch(batch).own();
        run(async {
            mail_is_let_in(&system, timers, Takes::Working).await;
            system.shutdown(LONG).await.unwrap();
        });
    }
}
