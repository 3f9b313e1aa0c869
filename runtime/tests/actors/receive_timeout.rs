//! Receive timeouts: once for each silence, never early, never while mail waits.

#![allow(clippy::unwrap_used, reason = "what is not there fails the test")]

use crate::support::{LONG, everywhere, soon};
use greenroom::{Actor, Context, Ref, System, handlers};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

const MILLISECOND: Duration = Duration::from_millis(1);
const SPAN: Duration = Duration::from_millis(10);

type Calls = mpsc::UnboundedReceiver<Call>;

#[derive(Clone, Copy, Debug)]
struct Call {
    at: Instant,
    /// Messages that had been handled.
    handled: u32,
    incarnation: u32,
}

/// Reports each silence.
#[derive(Actor)]
#[actor(restart = transient(9 in "1h"))]
struct Listener {
    calls: mpsc::UnboundedSender<Call>,
    handled: u32,
}

#[handlers]
impl Listener {
    #[start]
    fn start(calls: mpsc::UnboundedSender<Call>, in_start: bool, cx: &mut Context<Self>) -> Self {
        if in_start {
            cx.receive_timeout(SPAN, Self::silence);
        }
        Self { calls, handled: 0 }
    }
    #[local]
    fn silence(&mut self, cx: &mut Context<Self>) {
        let (at, incarnation) = (Instant::now(), cx.incarnation());
        let _ = self.calls.send(Call { at, handled: self.handled, incarnation });
    }
    #[local]
    fn nothing(&mut self) {}
    #[local]
    async fn silence_later(&mut self, cx: &mut Context<Self>) {
        tokio::task::yield_now().await;
        self.silence(cx);
    }
    #[ask]
    fn listen(&mut self, span: Duration, cx: &mut Context<Self>) {
        cx.receive_timeout(span, Self::silence);
    }
    #[ask]
    fn listen_later(&mut self, span: Duration, cx: &mut Context<Self>) {
        cx.receive_timeout(span, Self::silence_later);
    }
    #[ask]
    fn deafen(&mut self, cx: &mut Context<Self>) -> bool {
        cx.cancel_receive_timeout()
    }
    #[ask]
    fn tick(&mut self, period: Duration, cx: &mut Context<Self>) {
        cx.every(period, Self::nothing);
    }
    /// Returns when it was handled.
    #[ask]
    fn note(&mut self) -> Instant {
        self.handled += 1;
        Instant::now()
    }
    #[ask]
    async fn hold_up(&mut self, span: Duration) -> Instant {
        tokio::time::sleep(span).await;
        self.handled += 1;
        Instant::now()
    }
    /// Returns after it is certain that the timeout is due.
    #[tell]
    async fn wait(&mut self, entered: oneshot::Sender<()>, go_on: oneshot::Receiver<()>) {
        entered.send(()).unwrap();
        go_on.await.unwrap();
        tokio::time::sleep(3 * MILLISECOND).await;
    }
    /// Cancels one that is certain to be due.
    #[ask]
    async fn cancel_what_is_due(&mut self, cx: &mut Context<Self>) -> bool {
        cx.receive_timeout(MILLISECOND, Self::silence);
        tokio::time::sleep(20 * MILLISECOND).await;
        cx.cancel_receive_timeout()
    }
    #[tell]
    fn fall(&mut self) {
        panic!("as told")
    }
}

async fn listener(system: &System, in_start: bool) -> (Ref<Listener>, Calls) {
    let (sender, calls) = mpsc::unbounded_channel();
    (system.spawn::<Listener>((sender, in_start)).await.unwrap(), calls)
}

// [G-TIMER-3]
#[test]
fn a_silence_is_reported_once_and_never_early() {
    everywhere(async |system| {
        let (listener, mut calls) = listener(system, true).await;
        for handled in 0..5 {
            let call = soon(calls.recv()).await.unwrap();
            assert_eq!(call.handled, handled);
            tokio::time::sleep(2 * SPAN).await;
            assert!(calls.try_recv().is_err(), "once for each silence");
            // Nothing is due if it takes long to get from one of these to the next.
            listener.deafen().await.unwrap();
            let last = listener.note().await.unwrap();
            listener.listen_later(SPAN).await.unwrap();
            let call = soon(calls.recv()).await.unwrap();
            assert!(call.at - last >= SPAN, "{:?}", call.at - last);
            listener.listen(SPAN).await.unwrap();
        }
    });
}

// [G-TIMER-3]
#[test]
fn it_counts_from_the_end_of_the_last_handler() {
    everywhere(async |system| {
        let (listener, mut calls) = listener(system, false).await;
        listener.listen(SPAN).await.unwrap();
        for _ in 0..3 {
            listener.note().await.unwrap();
            let end = listener.hold_up(2 * SPAN).within(LONG).await.unwrap();
            let call = loop {
                let call = soon(calls.recv()).await.unwrap();
                if call.at >= end {
                    break call;
                }
                // Between two of the messages the test itself was slow.
            };
            assert!(call.at - end >= SPAN, "{:?}", call.at - end);
        }
    });
}

// [G-TIMER-3]
#[test]
fn it_is_not_called_while_mail_waits() {
    everywhere(async |system| {
        let (listener, mut calls) = listener(system, false).await;
        let (entered, is_in) = oneshot::channel();
        let (release, go_on) = oneshot::channel();
        listener.listen(MILLISECOND).await.unwrap();
        listener.wait(entered, go_on).await.unwrap();
        soon(is_in).await.unwrap();
        while calls.try_recv().is_ok() {}
        let asks: Vec<_> = (0..5).map(|_| listener.note()).collect();
        let noted = async {
            let mut asks: Vec<_> = asks.into_iter().map(IntoFuture::into_future).collect();
            for ask in &mut asks {
                assert!(crate::support::poll_once(ask).is_pending());
            }
            release.send(()).unwrap();
            for ask in asks {
                ask.await.unwrap();
            }
        };
        soon(noted).await;
        assert_eq!(soon(calls.recv()).await.unwrap().handled, 5);
    });
}

#[test]
fn timers_do_not_break_the_silence() {
    everywhere(async |system| {
        let (listener, mut calls) = listener(system, true).await;
        listener.tick(MILLISECOND).await.unwrap();
        soon(calls.recv()).await.unwrap();
        tokio::time::sleep(2 * SPAN).await;
        // The second is there if the ask came after the first.
        assert!(calls.try_recv().is_err() || calls.try_recv().is_err());
    });
}

// [G-TIMER-2]
#[test]
fn cancelled_or_replaced_it_is_not_called() {
    everywhere(async |system| {
        let (listener, mut calls) = listener(system, false).await;
        assert_eq!(listener.deafen().await, Ok(false));
        listener.listen(LONG).await.unwrap();
        listener.listen(Duration::MAX).await.unwrap();
        assert_eq!(listener.deafen().await, Ok(true));
        assert_eq!(listener.deafen().await, Ok(false));
        assert_eq!(listener.cancel_what_is_due().within(LONG).await, Ok(true));
        listener.note().await.unwrap();
        tokio::time::sleep(2 * SPAN).await;
        assert!(calls.try_recv().is_err());
    });
}

// [G-TIMER-4]
#[test]
fn it_ends_with_its_incarnation() {
    everywhere(async |system| {
        let (listener, mut calls) = listener(system, true).await;
        listener.listen(MILLISECOND).await.unwrap();
        listener.fall().await.unwrap();
        let mut call = soon(calls.recv()).await.unwrap();
        // The old one may have been called before the fall, in the silence since its start and in that since `listen`.
        while call.incarnation == 0 {
            call = soon(calls.recv()).await.unwrap();
        }
        assert_eq!(call.incarnation, 1);
        listener.stop();
        soon(listener.ended()).await;
        assert!(calls.recv().await.is_none());
    });
}

#[test]
fn an_actor_that_listens_drains_and_is_stopped_like_others() {
    everywhere(async |system| {
        for end in [Ref::<Listener>::stop, Ref::drain, Ref::kill] {
            let (listener, _calls) = listener(system, true).await;
            listener.note().await.unwrap();
            assert!(end(&listener));
            soon(listener.ended()).await;
        }
        let (listener, _calls) = listener(system, true).await;
        let asks: Vec<_> = (0..100)
            .map(|_| {
                let mut ask = listener.note().into_future();
                let _ = crate::support::poll_once(&mut ask);
                ask
            })
            .collect();
        listener.drain();
        drop(asks);
        soon(listener.ended()).await;
        assert_eq!(system.counts().dead_stopped, 0, "it handled what it had accepted");
    });
}
