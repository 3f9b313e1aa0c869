//! Tokio inside a world: its tasks run as steps, on the world's thread.
//!
//! Handlers may use `tokio::spawn` and tokio's channels and locks. With the feature `test-util` its timers
//! keep the world's time; without it they panic and say that timers are disabled, because tokio's real
//! clock would make the run unrepeatable. Its sockets are always refused, and its threads for what blocks are none of the
//! world's.

#[cfg(feature = "test-util")]
use super::fabric::nanos;
use crate::sync::{Arc, Mutex, WakeList};
use std::future::poll_fn;
use std::task::{Poll, Waker};
#[cfg(feature = "test-util")]
use std::{future::Future, pin::pin, time::Duration};
use tokio::runtime::{Builder, Handle, Runtime};

/// The finest difference that tokio's timers make.
#[cfg(feature = "test-util")]
const TICK_NANOS: u64 = 1_000_000;
/// How far to look at least for a timer of tokio when nothing else is to happen.
#[cfg(feature = "test-util")]
const LOOK_AHEAD_NANOS: u64 = 365 * 24 * 3600 * 1_000_000_000;
/// The coarsest slots of tokio's timers. On its way to a timer its clock stops where that one's slots begin; on the way to
/// where one of these begins, at no other place.
#[cfg(feature = "test-util")]
const SLOT_NANOS: u64 = (1 << 30) * TICK_NANOS;

/// What tokio's clock shows, and who is to be woken when it shows something else.
#[cfg(feature = "test-util")]
type Unparked = (tokio::time::Instant, Waker);

/// See the [module](self).
pub(super) struct Reactor {
    runtime: Runtime,
    /// Who is to be woken when tokio has nothing to do.
    idler: Arc<Mutex<Option<Waker>>>,
    /// What tokio's clock showed when the world began.
    #[cfg(feature = "test-util")]
    began: tokio::time::Instant,
    #[cfg(feature = "test-util")]
    woken: WakeList,
    /// Who is to be woken when tokio's clock has moved, before its tasks run.
    #[cfg(feature = "test-util")]
    unparked: Arc<Mutex<Option<Unparked>>>,
    /// How far to look for a timer when nothing else is to happen.
    #[cfg(feature = "test-util")]
    end: u64,
    /// Whether tasks of tokio may be ready without that showing outside: woken by a timer, or by each other.
    is_behind: bool,
}

impl Reactor {
    pub(super) fn new(woken: &WakeList) -> Self {
        let idler = Arc::new(Mutex::new(None::<Waker>));
        let told = idler.clone();
        let mut builder = Builder::new_current_thread();
        builder.on_thread_park(move || {
            let idler = told.lock().take();
            idler.into_iter().for_each(Waker::wake);
        });
        let blamed = woken.clone();
        // Called by whoever starts such a thread, before it runs: so each run knows at the same step.
        builder.thread_name_fn(move || {
            blamed.note_outsider(|| "tokio::task::spawn_blocking".to_owned());
            "outside of the world".to_owned()
        });
        #[cfg(feature = "test-util")]
        let unparked = Arc::new(Mutex::new(None::<Unparked>));
        #[cfg(feature = "test-util")]
        {
            let told = unparked.clone();
            builder.on_thread_unpark(move || {
                let now = tokio::time::Instant::now();
                // Whoever wakes what tokio blocks on keeps its clock from moving.
                let moved = told.lock().take_if(|(from, _)| *from != now);
                moved.into_iter().for_each(|(_, waker)| waker.wake());
            });
            builder.enable_time().start_paused(true);
        }
        let runtime = builder.build().expect("a runtime without threads or sockets");
        let mut reactor = Self {
            idler,
            #[cfg(feature = "test-util")]
            began: runtime.block_on(async { tokio::time::Instant::now() }),
            #[cfg(feature = "test-util")]
            woken: woken.clone(),
            #[cfg(feature = "test-util")]
            unparked,
            #[cfg(feature = "test-util")]
            end: 0,
            is_behind: false,
            runtime,
        };
        reactor.move_to(0);
        reactor
    }

    pub(super) fn handle(&self) -> Handle {
        self.runtime.handle().clone()
    }

    /// Whether one of tokio's tasks may be able to run: whatever else than a timer wakes it, does so from outside of
    /// [`Reactor::run`].
    pub(super) fn has_work(&self) -> bool {
        self.is_behind || self.runtime.metrics().global_queue_depth() > 0
    }

    /// Runs tokio's tasks until none can.
    pub(super) fn run(&mut self) {
        self.is_behind = false;
        let (idler, mut waits) = (self.idler.clone(), false);
        self.runtime.block_on(poll_fn(move |cx| {
            let mut idler = idler.lock();
            // Polled first of all, and again when tokio would sleep.
            if std::mem::replace(&mut waits, true) && idler.is_none() {
                return Poll::Ready(());
            }
            *idler = Some(cx.waker().clone());
            Poll::Pending
        }));
    }
}

#[cfg(not(feature = "test-util"))]
impl Reactor {
    #[expect(clippy::unused_self, reason = "with timers it is needed")]
    pub(super) fn note_step_of_another(&mut self, _now: u64) {}

    /// When something of tokio happens next, if that is before `next` and not after `until`: never.
    #[expect(clippy::unused_self, reason = "with timers it is needed")]
    pub(super) fn next(&mut self, _now: u64, next: Option<u64>, _until: u64) -> Option<u64> {
        next
    }

    #[expect(clippy::unused_self, reason = "with timers it is needed")]
    pub(super) fn move_to(&mut self, _now: u64) {}
}

#[cfg(feature = "test-util")]
impl Reactor {
    /// Notes that somebody else than tokio's tasks runs.
    pub(super) fn note_step_of_another(&mut self, now: u64) {
        self.end = now.saturating_add(LOOK_AHEAD_NANOS);
    }

    /// When something happens next: at `next`, or when a timer of tokio goes off before that and not
    /// after `until`. Tokio does not tell its timers, but its paused clock jumps to them by itself. Its tasks do not run
    /// here: the clocks are to show their time first.
    pub(super) fn next(&mut self, now: u64, next: Option<u64>, until: u64) -> Option<u64> {
        let is_open = next.is_none() && until == u64::MAX;
        let end = self.end.checked_next_multiple_of(SLOT_NANOS).unwrap_or(u64::MAX);
        let limit = if is_open { end } else { next.unwrap_or(until).min(until) };
        // Tokio's timers go off at whole milliseconds. At a later one than this, some would that are not due.
        let tick = limit / TICK_NANOS * TICK_NANOS;
        let has_tasks = self.runtime.metrics().num_alive_tasks() > 0;
        let (began, unparked, woken) = (self.began, &self.unparked, &self.woken);
        let (ended, is_there) = self.runtime.block_on(async move {
            let start = tokio::time::Instant::now();
            let mut from = start;
            let mut limit = pin!(tokio::time::sleep_until(began + Duration::from_nanos(tick)));
            let is_there = poll_fn(|cx| {
                let is_there = limit.as_mut().poll(cx).is_ready();
                let ended = tokio::time::Instant::now();
                // Where nobody was woken it was but a slot. Of tasks of tokio it does not show.
                if is_there || ended != from && (has_tasks || woken.is_any()) {
                    return Poll::Ready(is_there);
                }
                from = ended;
                *unparked.lock() = Some((from, cx.waker().clone()));
                Poll::Pending
            })
            .await;
            let ended = tokio::time::Instant::now();
            ((ended != start).then(|| nanos(ended.saturating_duration_since(began))), is_there)
        });
        drop(self.unparked.lock().take());
        // At the end nobody but tokio's tasks has run for a year, and nothing of anybody else is to come.
        let may_wake_tasks = has_tasks && !(is_open && is_there);
        match ended {
            // What goes off at a tick may have woken somebody, beside this very wait.
            Some(ended) if may_wake_tasks || self.woken.is_any() => {
                self.is_behind |= has_tasks;
                Some((ended / TICK_NANOS * TICK_NANOS).max(now).min(limit))
            }
            _ => next.filter(|&next| next <= limit),
        }
    }

    /// Lets tokio's clock show the world's time: the end of its millisecond, so that what is set within it goes off
    /// late rather than early.
    pub(super) fn move_to(&mut self, now: u64) {
        let (began, now) =
            (self.began, (now / TICK_NANOS * TICK_NANOS).saturating_add(TICK_NANOS - 1));
        let had_work = self.runtime.metrics().global_queue_depth() > 0;
        let has_moved = self.runtime.block_on(async move {
            let to = began + Duration::from_nanos(now);
            let ahead = to.saturating_duration_since(tokio::time::Instant::now());
            tokio::time::advance(ahead).await;
            !ahead.is_zero()
        });
        // Those who were ready have run meanwhile, and may have left others, or themselves, where it does not show.
        let may_have_work = has_moved || had_work;
        self.is_behind |= may_have_work && self.runtime.metrics().num_alive_tasks() > 0;
    }
}
