//! Timers: never early, as often as asked, and not beyond the incarnation that set them.

#![allow(clippy::unwrap_used, reason = "what is not there fails the test")]

use crate::support::{LONG, everywhere, exit_of, on, soon};
use greenroom::{Actor, Context, ExitReason, Ref, Scheduler, System, TimerId, handlers};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

const MILLISECOND: Duration = Duration::from_millis(1);

/// A call of a timer's method: its name, when it was, and by which incarnation.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Call {
    name: &'static str,
    at: Instant,
    incarnation: u32,
}

type Calls = mpsc::UnboundedReceiver<Call>;

/// Sets timers and reports what they call.
#[derive(Actor)]
#[actor(restart = transient(9 in "1h"))]
struct Ticker {
    calls: mpsc::UnboundedSender<Call>,
    incarnation: u32,
    left: u32,
    timer: Option<TimerId>,
}

#[handlers]
impl Ticker {
    #[start]
    fn start(calls: mpsc::UnboundedSender<Call>, in_start: bool, cx: &mut Context<Self>) -> Self {
        if in_start {
            cx.after(MILLISECOND, Self::plain);
        }
        Self { calls, incarnation: cx.incarnation(), left: 0, timer: None }
    }

    #[local]
    fn plain(&mut self) {
        self.report("plain");
    }
    #[local]
    fn with_context(&mut self, cx: &mut Context<Self>) {
        assert_eq!(cx.incarnation(), self.incarnation);
        self.report("with_context");
    }
    #[local]
    async fn later(&mut self) {
        tokio::task::yield_now().await;
        self.report("later");
    }
    #[local]
    async fn later_with_context(&mut self, cx: &mut Context<Self>) {
        tokio::task::yield_now().await;
        assert_eq!(cx.incarnation(), self.incarnation);
        self.report("later_with_context");
    }
    #[local]
    fn last(&mut self) {
        self.report("last");
    }
    /// Ends its own timer at the last of `left` calls.
    #[local]
    fn count_down(&mut self, cx: &mut Context<Self>) {
        self.report("count_down");
        self.left -= 1;
        if self.left == 0 {
            assert!(cx.cancel(self.timer.unwrap()));
        }
    }
    fn report(&self, name: &'static str) {
        let _ = self.calls.send(Call { name, at: Instant::now(), incarnation: self.incarnation });
    }

    /// Sets one timer of each shape and returns when.
    #[ask]
    fn once_each(&mut self, delay: Duration, cx: &mut Context<Self>) -> Instant {
        let now = Instant::now();
        cx.after(delay, Self::plain);
        cx.after(delay, Self::with_context);
        cx.after(delay, Self::later);
        cx.after(delay, Self::later_with_context);
        now
    }
    /// As `once_each`, again and again.
    #[ask]
    fn every_each(&mut self, period: Duration, cx: &mut Context<Self>) -> Instant {
        let now = Instant::now();
        cx.every(period, Self::plain);
        cx.every(period, Self::with_context);
        cx.every(period, Self::later);
        cx.every(period, Self::later_with_context);
        now
    }
    #[ask]
    fn last_after(&mut self, delay: Duration, cx: &mut Context<Self>) {
        cx.after(delay, Self::last);
    }
    #[ask]
    fn count_down_every(&mut self, period: Duration, count: u32, cx: &mut Context<Self>) {
        self.left = count;
        self.timer = Some(cx.every(period, Self::count_down));
    }
    #[ask]
    fn set(&mut self, delay: Duration, cx: &mut Context<Self>) {
        self.timer = Some(cx.after(delay, Self::plain));
    }
    #[ask]
    fn cancel(&mut self, cx: &mut Context<Self>) -> bool {
        cx.cancel(self.timer.unwrap())
    }
    /// Cancels timers whose calls are certain to wait already.
    #[ask]
    async fn cancel_what_is_due(&mut self, cx: &mut Context<Self>) -> bool {
        let once = cx.after(MILLISECOND, Self::plain);
        let often = cx.every(MILLISECOND, Self::later);
        tokio::time::sleep(20 * MILLISECOND).await;
        cx.cancel(once) && cx.cancel(often)
    }
    /// Keeps all others waiting, and returns until when.
    #[ask]
    async fn hold_up(&mut self, span: Duration) -> Instant {
        tokio::time::sleep(span).await;
        Instant::now()
    }
    #[tell]
    fn fall(&mut self) {
        panic!("as told")
    }
}

async fn ticker(system: &System) -> (Ref<Ticker>, Calls) {
    let (sender, calls) = mpsc::unbounded_channel();
    (system.spawn::<Ticker>((sender, false)).await.unwrap(), calls)
}

/// All calls until the next one of `last`, for which it waits.
async fn until_last(calls: &mut Calls) -> Vec<Call> {
    let mut seen = Vec::new();
    loop {
        let call = soon(calls.recv()).await.expect("the actor lives");
        if call.name == "last" {
            return seen;
        }
        seen.push(call);
    }
}

fn names(calls: &[Call]) -> Vec<&'static str> {
    let mut names: Vec<_> = calls.iter().map(|call| call.name).collect();
    names.sort_unstable();
    names
}

// [G-TIMER-1]
#[test]
fn after_calls_once_and_never_early() {
    everywhere(async |system| {
        let (ticker, mut calls) = ticker(system).await;
        for delay in [0, 1, 2, 7, 20].map(|millis| millis * MILLISECOND) {
            let set = ticker.once_each(delay).await.unwrap();
            ticker.last_after(delay + 5 * MILLISECOND).await.unwrap();
            let mut seen = until_last(&mut calls).await;
            while seen.len() < 4 {
                seen.push(soon(calls.recv()).await.unwrap());
            }
            assert_eq!(names(&seen), ["later", "later_with_context", "plain", "with_context"]);
            for call in seen {
                assert!(
                    call.at - set >= delay,
                    "{call:?} {:?} after, not {delay:?}",
                    call.at - set
                );
            }
        }
        assert!(calls.try_recv().is_err(), "each is called once");
    });
}

#[test]
fn a_timer_set_by_the_start_hook_is_called() {
    everywhere(async |system| {
        let (sender, mut calls) = mpsc::unbounded_channel();
        let _ticker = system.spawn::<Ticker>((sender, true)).start().unwrap();
        assert_eq!(soon(calls.recv()).await.unwrap().name, "plain");
    });
}

// [G-TIMER-1]
#[test]
fn every_keeps_its_rhythm_and_is_never_early() {
    everywhere(async |system| {
        let (ticker, mut calls) = ticker(system).await;
        let period = 3 * MILLISECOND;
        let set = ticker.every_each(period).await.unwrap();
        let mut counts = [0_u32; 4];
        while counts.iter().any(|&count| count < 4) {
            let call = soon(calls.recv()).await.unwrap();
            let shapes = ["plain", "with_context", "later", "later_with_context"];
            let shape = shapes.iter().position(|&name| name == call.name).unwrap();
            counts[shape] += 1;
            let due = set + counts[shape] * period;
            assert!(call.at >= due, "{call:?} was due at {due:?}");
        }
    });
}

// [G-TIMER-2]
#[test]
fn calls_that_were_missed_are_left_out() {
    everywhere(async |system| {
        let (ticker, mut calls) = ticker(system).await;
        let period = 2 * MILLISECOND;
        ticker.every_each(period).await.unwrap();
        let end = ticker.hold_up(30 * MILLISECOND).within(LONG).await.unwrap();
        let begin = end - 30 * MILLISECOND;
        ticker.last_after(10 * MILLISECOND).await.unwrap();
        let seen = until_last(&mut calls).await;
        let plain = seen.iter().filter(|call| call.name == "plain");
        let plain: Vec<_> = plain.map(|call| call.at).collect();
        let held_up = plain.iter().filter(|&&at| at > begin && at < end).count();
        assert_eq!(held_up, 0, "the handler has the actor to itself");
        // The one that waited, and the next one in the rhythm.
        let at_once = plain.iter().filter(|&&at| at >= end && at < end + period).count();
        assert!(at_once <= 2, "{at_once}");
    });
}

// [G-TIMER-2]
#[test]
fn a_cancelled_timer_is_not_called() {
    everywhere(async |system| {
        let (ticker, mut calls) = ticker(system).await;
        ticker.set(10 * MILLISECOND).await.unwrap();
        // A very slow machine may have called it already.
        let in_time = ticker.cancel().await.unwrap();
        assert_eq!(ticker.cancel().await, Ok(false), "it is over");
        ticker.last_after(20 * MILLISECOND).await.unwrap();
        assert_eq!(until_last(&mut calls).await.len(), usize::from(!in_time));

        ticker.set(Duration::ZERO).await.unwrap();
        assert_eq!(soon(calls.recv()).await.unwrap().name, "plain");
        assert_eq!(ticker.cancel().await, Ok(false), "it was called");

        ticker.set(Duration::MAX).await.unwrap();
        assert_eq!(ticker.cancel().await, Ok(true), "it is never due");
    });
}

// [G-TIMER-2]
#[test]
fn a_cancelled_timer_is_not_called_though_it_was_due() {
    everywhere(async |system| {
        let (ticker, mut calls) = ticker(system).await;
        assert_eq!(ticker.cancel_what_is_due().within(LONG).await, Ok(true));
        ticker.last_after(5 * MILLISECOND).await.unwrap();
        assert_eq!(until_last(&mut calls).await, []);
    });
}

#[test]
fn a_timer_can_end_itself() {
    everywhere(async |system| {
        let (ticker, mut calls) = ticker(system).await;
        ticker.count_down_every(MILLISECOND, 5).await.unwrap();
        for _ in 0..5 {
            assert_eq!(soon(calls.recv()).await.unwrap().name, "count_down");
        }
        ticker.last_after(10 * MILLISECOND).await.unwrap();
        assert_eq!(until_last(&mut calls).await, []);
        assert_eq!(ticker.cancel().await, Ok(false));
    });
}

// [G-TIMER-4]
#[test]
fn a_timer_ends_with_its_incarnation() {
    everywhere(async |system| {
        let (ticker, mut calls) = ticker(system).await;
        for incarnation in 1..=3 {
            ticker.every_each(MILLISECOND).await.unwrap();
            ticker.once_each(10 * MILLISECOND).await.unwrap();
            ticker.fall().await.unwrap();
            // Set by the new incarnation, and due after all of the old one's.
            ticker.last_after(15 * MILLISECOND).within(LONG).await.unwrap();
            for call in until_last(&mut calls).await {
                assert!(call.incarnation < incarnation, "{call:?}");
            }
        }
    });
}

#[test]
fn a_timer_ends_with_its_actor() {
    everywhere(async |system| {
        for end in [Ref::<Ticker>::stop, Ref::kill, Ref::drain] {
            let (ticker, mut calls) = ticker(system).await;
            ticker.every_each(MILLISECOND).await.unwrap();
            ticker.once_each(Duration::ZERO).await.unwrap();
            end(&ticker);
            soon(ticker.ended()).await;
            while calls.try_recv().is_ok() {}
            assert_eq!(soon(calls.recv()).await, None, "nobody is left to be called");
        }
    });
}

#[test]
fn a_timer_needs_a_period() {
    on(1, Scheduler::locked(), async |system| {
        let mut events = system.events();
        let (sender, _calls) = mpsc::unbounded_channel();
        let hasty = system.spawn::<Hasty>(sender).await.unwrap();
        assert!(hasty.every_nothing().await.is_err());
        let reason = exit_of(&hasty, &mut events).await;
        assert!(matches!(reason, ExitReason::Panicked(_)), "{reason}");
    });
}

/// As a `Ticker`, but has room for one message, of which the oldest goes, and is not restarted.
#[derive(Actor)]
#[actor(mailbox = bounded(1, full = drop_oldest))]
struct Hasty {
    calls: mpsc::UnboundedSender<&'static str>,
}

#[handlers]
impl Hasty {
    #[start]
    fn start(calls: mpsc::UnboundedSender<&'static str>) -> Self {
        Self { calls }
    }
    #[ask]
    fn every_nothing(&mut self, cx: &mut Context<Self>) {
        cx.every(Duration::ZERO, Self::tick);
    }
    #[tell]
    async fn wait(
        &mut self,
        entered: oneshot::Sender<()>,
        go_on: oneshot::Receiver<()>,
        cx: &mut Context<Self>,
    ) {
        cx.after(Duration::ZERO, Self::tick);
        // It is due before this sleep is over, and then waits.
        tokio::time::sleep(10 * MILLISECOND).await;
        entered.send(()).unwrap();
        let _ = go_on.await;
    }
    #[tell]
    fn note(&mut self) {
        let _ = self.calls.send("note");
    }
    #[local]
    fn tick(&mut self) {
        let _ = self.calls.send("tick");
    }
}

// [G-SYSTEM-1]
#[test]
fn a_full_mailbox_evicts_no_timer() {
    everywhere(async |system| {
        let (sender, mut calls) = mpsc::unbounded_channel();
        let hasty = system.spawn::<Hasty>(sender).await.unwrap();
        let (entered, is_in) = oneshot::channel();
        let (release, go_on) = oneshot::channel();
        hasty.wait(entered, go_on).await.unwrap();
        soon(is_in).await.unwrap();
        for _ in 0..100 {
            hasty.note().tell().unwrap();
        }
        release.send(()).unwrap();
        let both = [soon(calls.recv()).await.unwrap(), soon(calls.recv()).await.unwrap()];
        assert!(both.contains(&"tick") && both.contains(&"note"), "{both:?}");
        assert_eq!(system.counts().dropped_oldest, 99);
    });
}
