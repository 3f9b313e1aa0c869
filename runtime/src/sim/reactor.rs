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

/// How far to look for a timer of tokio when nothing else is to happen.
#[cfg(feature = "test-util")]
const LOOK_AHEAD_NANOS: u64 = 365 * 24 * 3600 * 1_000_000_000;

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
        builder.enable_time().start_paused(true);
        let runtime = builder.build().expect("a runtime without threads or sockets");
        Self {
            idler,
            #[cfg(feature = "test-util")]
            began: runtime.block_on(async { tokio::time::Instant::now() }),
            #[cfg(feature = "test-util")]
            woken: woken.clone(),
            runtime,
        }
    }

    pub(super) fn handle(&self) -> Handle {
        self.runtime.handle().clone()
    }

    /// Whether one of tokio's tasks can run: whatever wakes it, does so from outside of [`Reactor::run`].
    pub(super) fn has_work(&self) -> bool {
        self.runtime.metrics().global_queue_depth() > 0
    }

    /// Runs tokio's tasks until none can.
    pub(super) fn run(&mut self) {
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
    /// When something happens next: at `next`, or when a timer of tokio goes off before that and not
    /// after `until`. Tokio does not tell its timers, but its paused clock jumps to them by itself.
    pub(super) fn next(&mut self, now: u64, next: Option<u64>, until: u64) -> Option<u64> {
        let limit = next.unwrap_or(u64::MAX).min(until).min(now.saturating_add(LOOK_AHEAD_NANOS));
        let began = self.began;
        let woken = self.woken.clone();
        let ended = self.runtime.block_on(async move {
            let mut limit = pin!(tokio::time::sleep_until(began + Duration::from_nanos(limit)));
            poll_fn(|cx| {
                woken.listen(Some(cx.waker().clone()));
                if woken.is_any() { Poll::Ready(()) } else { limit.as_mut().poll(cx) }
            })
            .await;
            woken.listen(None);
            tokio::time::Instant::now().saturating_duration_since(began)
        });
        let ended = nanos(ended).max(now);
        (ended < limit || next.is_some_and(|next| next <= limit)).then_some(ended)
    }

    /// Lets tokio's clock show the world's time.
    pub(super) fn move_to(&mut self, now: u64) {
        let began = self.began;
        self.runtime.block_on(async move {
            let to = began + Duration::from_nanos(now);
            let ahead = to.saturating_duration_since(tokio::time::Instant::now());
            tokio::time::advance(ahead).await;
        });
    }
}
