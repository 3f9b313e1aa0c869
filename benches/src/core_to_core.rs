//! How long a cache line takes from one core to another: what every hop between workers is made of.
//!
//! Two threads, each on a core of its own, take turns at one atomic. The quickest of several tries
//! counts, since everything that disturbs only makes it longer. Two hyperthreads of one core answer in
//! a few nanoseconds, two cores in some tens, two sockets in hundreds: so a figure of this program means
//! something only beside this one.

use core_affinity::CoreId;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

const TRIES: usize = 20;
const ROUND_TRIPS: u64 = 5_000;

/// Binds this thread to one of the cores that it may run on, counted from 0; `false` where there are not so many, or the
/// system binds no threads.
pub fn bind(at: usize) -> bool {
    // Asked for once and before any thread is bound, since a bound thread may run on its own core alone.
    static CORES: OnceLock<Vec<CoreId>> = OnceLock::new();
    let cores = CORES.get_or_init(|| core_affinity::get_core_ids().unwrap_or_default());
    cores.get(at).is_some_and(|core| core_affinity::set_for_current(*core))
}

/// The time of one way between the first two cores; `None` where there is one only, or threads cannot be
/// bound to cores. Takes some milliseconds.
#[must_use]
pub fn one_way_ns() -> Option<f64> {
    let cores = core_affinity::get_core_ids()?;
    let (&near, &far) = (cores.first()?, cores.get(1)?);
    // A thread of its own, so that the caller's stays where it was allowed to be.
    let quickest = thread::spawn(move || {
        let tries = (0..TRIES).map(|_| bounce(near, far));
        tries.min().filter(|quickest| *quickest < Duration::MAX)
    });
    let quickest = quickest.join().ok()??;
    #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
    Some(quickest.as_nanos() as f64 / (2 * ROUND_TRIPS) as f64)
}

/// How long the round trips take; `Duration::MAX` when a thread could not be bound.
fn bounce(near: CoreId, far: CoreId) -> Duration {
    let turn = Arc::new(AtomicU64::new(0));
    let other = Arc::clone(&turn);
    let partner = thread::spawn(move || {
        let bound = core_affinity::set_for_current(far);
        for trip in 0..ROUND_TRIPS {
            wait_for(&other, 2 * trip + 1);
            // Relaxed: the number itself is all that travels.
            other.store(2 * trip + 2, Ordering::Relaxed);
        }
        bound
    });
    let bound = core_affinity::set_for_current(near);
    let clock = Instant::now();
    for trip in 0..ROUND_TRIPS {
        turn.store(2 * trip + 1, Ordering::Relaxed);
        wait_for(&turn, 2 * trip + 2);
    }
    let took = clock.elapsed();
    let both = bound && partner.join().unwrap_or(false);
    if both { took } else { Duration::MAX }
}

fn wait_for(turn: &AtomicU64, value: u64) {
    let mut looks = 0_u32;
    while turn.load(Ordering::Relaxed) != value {
        looks += 1;
        if looks < 10_000 {
            std::hint::spin_loop();
        } else {
            // The partner does not run: on a busy machine it gets this thread's time.
            thread::yield_now();
        }
    }
}
