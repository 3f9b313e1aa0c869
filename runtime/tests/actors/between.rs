//! Results that come while there is always mail: they wait for a message, and not for all of them.

#![allow(clippy::unwrap_used, reason = "what is not there fails the test")]

use crate::support::{LONG, hold_worker, on, soon};
use greenroom::{Actor, Context, Interleaved, Ref, Scheduler, handlers};
use std::future::ready;
use std::time::Duration;
use tokio::sync::oneshot;

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
