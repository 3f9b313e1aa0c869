//! Interleaved handlers that never wait for long, and the mail that comes meanwhile.

use super::Asked;
use crate::support::{LONG, everywhere, hold_worker, on, soon};
use greenroom::{Actor, AskError, Context, Interleaved, Ref, Scheduler, System, handlers};
use std::task::Poll;

/// Takes what it is sent.
#[derive(Actor)]
struct Sink;

#[handlers]
impl Sink {
    #[tell]
    fn take(&mut self) {}
}

/// Has a handler that never waits for long.
#[derive(Actor)]
#[actor(interleave = 2, stash = 10)]
struct Busy {
    sink: Ref<Sink>,
    halted: bool,
    /// How often `spin` was polled, and was before each mark.
    polls: usize,
    marks: Vec<usize>,
}

#[handlers]
impl Busy {
    #[ask]
    #[interleave]
    async fn flood(cx: &mut Interleaved<Self>) {
        let sink = cx.with(|me, _| me.sink.clone());
        while !cx.with(|me, _| me.halted) {
            sink.take().await.unwrap();
        }
    }
    /// Wakes itself for ever.
    #[ask]
    #[interleave]
    async fn spin(cx: &mut Interleaved<Self>) {
        std::future::poll_fn(|polled| {
            let halted = cx.with(|me, _| {
                me.polls += 1;
                me.halted
            });
            if halted {
                return Poll::Ready(());
            }
            polled.waker().wake_by_ref();
            Poll::Pending
        })
        .await;
    }
    #[ask]
    fn is_halted(&self) -> bool {
        self.halted
    }
    #[ask]
    #[stash(while = !self.halted)]
    fn last(&self) {}
    #[tell]
    fn mark(&mut self) {
        self.marks.push(self.polls);
    }
    #[ask]
    fn marks(&self) -> Vec<usize> {
        self.marks.clone()
    }
    #[tell]
    fn halt(&mut self, cx: &mut Context<Self>) {
        self.halted = true;
        cx.unstash();
    }
}

async fn busy(system: &System) -> Ref<Busy> {
    let sink = system.spawn::<Sink>(Sink).await.unwrap();
    let busy = Busy { sink, halted: false, polls: 0, marks: Vec::new() };
    system.spawn::<Busy>(busy).await.unwrap()
}

// [G-INTERLEAVE-1] [G-INTERLEAVE-5]
#[test]
fn one_that_never_waits_for_long_lets_others_be_handled() {
    everywhere(async |system| {
        for count in [1, 2] {
            let busy = busy(system).await;
            let begin = |number| {
                let busy = busy.clone();
                Asked::new(async move {
                    match number {
                        0 => busy.flood().within(LONG).await,
                        _ => busy.spin().within(LONG).await,
                    }
                })
            };
            let begun: Vec<_> = (0..count).map(begin).collect();
            for _ in 0..200 {
                assert_eq!(soon(busy.is_halted().into_future()).await, Ok(false));
            }
            let last = busy.clone();
            let last = Asked::new(async move { last.last().within(LONG).await });
            soon(busy.halt().into_future()).await.unwrap();
            last.answer().await.unwrap();
            for handler in begun {
                handler.answer().await.unwrap();
            }
        }
    });
}

// [G-INTERLEAVE-5]
#[test]
fn one_that_wakes_itself_is_polled_seldom_while_mail_waits() {
    on(1, Scheduler::stealing(), async |system| {
        let busy = busy(system).await;
        let asked = busy.clone();
        let spin = Asked::new(async move { asked.spin().within(LONG).await });
        soon(busy.is_halted().into_future()).await.unwrap();
        let held = hold_worker(system).await;
        for _ in 0..640 {
            busy.mark().try_send().unwrap();
        }
        drop(held);
        let marks = soon(busy.marks().into_future()).await.unwrap();
        let polls = marks[639] - marks[0];
        assert!(polls < 64, "polled {polls} times between 640 messages");
        soon(busy.halt().into_future()).await.unwrap();
        spin.answer().await.unwrap();
    });
}

// [G-INTERLEAVE-4] [G-INTERLEAVE-5]
#[test]
fn one_that_has_given_way_is_cut_off_or_goes_on_like_any() {
    everywhere(async |system| {
        let stopped = busy(system).await;
        let asked = stopped.clone();
        let flood = Asked::new(async move { asked.flood().within(LONG).await });
        soon(stopped.is_halted().into_future()).await.unwrap();
        stopped.stop();
        assert_eq!(flood.answer().await, Err(AskError::NoReply));
        soon(stopped.ended()).await;
        let drained = busy(system).await;
        let asked = drained.clone();
        let flood = Asked::new(async move { asked.flood().within(LONG).await });
        soon(drained.halt().into_future()).await.unwrap();
        drained.drain();
        assert_eq!(flood.answer().await, Ok(()));
        soon(drained.ended()).await;
    });
}
