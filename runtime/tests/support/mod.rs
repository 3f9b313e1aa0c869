//! What the tests of the promises share: systems of every kind, waits that end, and a ledger of
//! messages.

#![allow(dead_code, unused_imports, unused_macros, reason = "each test file uses a part of it")]
#![allow(clippy::needless_pass_by_value, reason = "closures are written where they are passed")]

#[cfg(target_os = "linux")]
pub(crate) mod afterwards;
mod hold;
mod ledger;
mod own;
mod policies;
mod scheduling;
mod violations;

pub(crate) use hold::{Hold, hold_worker, hold_worker_on};
pub(crate) use ledger::{Ledger, Parcel, Tally};
pub(crate) use own::{Builds, OwnSystem, own_system};
pub(crate) use policies::policies;
pub(crate) use scheduling::{SCHEDULINGS, Scheduling, scheduled};
pub(crate) use violations::Violations;

use greenroom::{Event, EventStream, ExitReason, Protocol, Ref, Scheduler, System};
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;

/// Longer than anything here takes: what is not done by then hangs.
pub(crate) const LONG: Duration = Duration::from_secs(100);

/// Every scheduler there is, and the one that takes one of them and changes who is on duty.
pub(crate) const SCHEDULERS: [fn() -> Scheduler; 5] = [
    Scheduler::locked,
    Scheduler::lock_free,
    Scheduler::stealing,
    Scheduler::per_core,
    Scheduler::auto,
];

/// Those whose workers all reach what is ready, wherever it was made so.
pub(crate) const SHARING: [fn() -> Scheduler; 4] =
    [Scheduler::locked, Scheduler::lock_free, Scheduler::stealing, Scheduler::auto];

/// `few`, as often as the environment says: CI does more of the same where it has the time.
pub(crate) fn times(few: usize) -> usize {
    let times = std::env::var("GREENROOM_TIMES");
    few * times.map_or(1, |text| text.parse().expect("GREENROOM_TIMES is a number"))
}

/// Runs `test` under each scheduler with one, two and four workers, and shuts each system down. Two say nothing
/// under a sanitizer, which makes everything slow, that four do not; nor does one to ThreadSanitizer, which looks for what
/// threads do to each other.
pub(crate) fn everywhere(test: impl AsyncFn(&System)) {
    let crews: &[usize] = if cfg!(sanitized = "thread") {
        &[4]
    } else if cfg!(sanitized) {
        &[1, 4]
    } else {
        &[1, 2, 4]
    };
    for scheduler in SCHEDULERS {
        for workers in crews {
            on(*workers, scheduler(), &test);
        }
    }
}

/// Runs `test` on a system of its own, which must shut down afterwards, and of which nothing may be left.
pub(crate) fn on(workers: usize, scheduler: Scheduler, test: impl AsyncFn(&System)) {
    let system = own_system(workers, scheduler);
    run(async {
        test(&system).await;
        system.shutdown(LONG).await.expect("every actor ends");
    });
}

/// Runs a future, which must end, on a tokio runtime of this thread.
pub(crate) fn run<F: Future>(future: F) -> F::Output {
    // Many waits, each of which may take LONG.
    run_within(10 * LONG, pin!(future))
}

/// Without the future's type: else tokio would be compiled anew for each test, which takes longer than all else in it.
fn run_within<T>(limit: Duration, future: Pin<&mut dyn Future<Output = T>>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let ended = async { tokio::time::timeout(limit, future).await };
    runtime.expect("a tokio runtime").block_on(ended).expect("it does not hang")
}

/// The future's output, which must come.
pub(crate) async fn soon<F: Future>(future: F) -> F::Output {
    tokio::time::timeout(LONG, future).await.expect("it does not hang")
}

/// Waits until `ready` holds, by looking again each time others had their turn.
pub(crate) async fn until(mut ready: impl FnMut() -> bool) {
    soon(async {
        while !ready() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    })
    .await;
}

/// As [`until`], where looking takes a future.
pub(crate) async fn until_async(mut ready: impl AsyncFnMut() -> bool) {
    soon(async {
        while !ready().await {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    })
    .await;
}

/// Polls a future once, as a sender does that then goes on to something else.
pub(crate) fn poll_once<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
    Pin::new(future).poll(&mut Context::from_waker(Waker::noop()))
}

/// Runs a future on this thread without any runtime.
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park_timeout(LONG),
        }
    }
}

/// Waits until `actor` has ended and returns why; `events` must have been taken before.
pub(crate) async fn exit_of<P: Protocol>(actor: &Ref<P>, events: &mut EventStream) -> ExitReason {
    loop {
        match soon(events.next()).await.expect("the system lives") {
            Event::Ended { actor: ended, reason } if ended == actor.id() => return reason,
            _ => {}
        }
    }
}

/// A generator of numbers that are the same in every run (xorshift64*, Vigna 2016).
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// A number below `end`.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 32) % end
    }
}
