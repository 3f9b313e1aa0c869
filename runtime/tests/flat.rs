//! Many producers and one receiver that holds them back: however much they send, no more memory is taken than they need
//! to wait, and as much at the end as at the beginning.
//!
//! The count is of the whole process, so this binary has one test. `GREENROOM_PRODUCERS` says how many producers there
//! are. Under the sanitizers the pool is switched off, and there would be as many blocks as messages under way.

#![cfg(not(sanitized))]
#![allow(clippy::unwrap_used, reason = "what goes wrong in a test may panic")]

#[path = "support/counting.rs"]
mod counting;
mod support;

use counting::{BYTES, PEAK};
use greenroom::{Actor, Ref, Scheduler, System, handlers};
use std::sync::atomic::Ordering;
use support::{Builds, LONG, SCHEDULERS, hold_worker_on, run};

/// Producers, unless the environment says more.
const PRODUCERS: usize = 300;
/// Letters of each, and bytes of one.
const EACH: usize = 60;
const LETTER_BYTES: usize = 512;
/// What a producer that is held back may have: its handler, and the letter that waits.
const HELD_BYTES: usize = 4 << 10;
/// Parts of all letters after which it is looked at how much memory was taken.
const PARTS: usize = 6;
/// What one part may take beyond the first: threads keep blocks for themselves, of which each has its own only by and by.
const MORE: usize = 512 << 10;

/// Handles letters, and notes the most memory that there was during each part of them.
#[derive(Actor)]
#[actor(mailbox = unbounded(overload = 64))]
struct Sink {
    handled: usize,
    all: usize,
    peaks: Vec<usize>,
}

#[handlers]
impl Sink {
    #[tell]
    async fn take(&mut self, letter: Vec<u8>) {
        assert_eq!(letter.len(), LETTER_BYTES);
        tokio::task::yield_now().await;
        self.handled += 1;
        if self.handled.is_multiple_of(self.all / PARTS) {
            self.peaks.push(PEAK.swap(0, Ordering::Relaxed));
        }
    }
    #[ask]
    fn peaks(&self) -> Vec<usize> {
        self.peaks.clone()
    }
}

#[derive(Actor)]
struct Producer {
    sink: Ref<Sink>,
}

#[handlers]
impl Producer {
    #[tell]
    async fn produce(&mut self) {
        for _ in 0..EACH {
            self.sink.take(vec![0; LETTER_BYTES]).await.unwrap();
        }
    }
}

fn stays_flat(scheduler: Scheduler, producers: usize) {
    let system = System::builder().workers(2).scheduler(scheduler).own();
    run(async {
        let sink = Sink { handled: 0, all: producers * EACH, peaks: Vec::with_capacity(PARTS) };
        let sink = system.spawn::<Sink>(sink).await.unwrap();
        let mut crew = Vec::new();
        for _ in 0..producers {
            crew.push(system.spawn::<Producer>(Producer { sink: sink.clone() }).start().unwrap());
        }
        PEAK.store(0, Ordering::Relaxed);
        let most = BYTES.load(Ordering::Relaxed) + producers * HELD_BYTES + MORE;
        // All of them begin together, however slow this thread is to tell them: else the first part would be that of a few.
        let holds = [hold_worker_on(&system, 0).await, hold_worker_on(&system, 1).await];
        for producer in &crew {
            producer.produce().await.unwrap();
        }
        drop(holds);
        system.await_idle(10 * LONG).await.unwrap();
        let peaks = sink.peaks().within(LONG).await.unwrap();
        assert_eq!(peaks.len(), PARTS);
        for (part, peak) in peaks.iter().enumerate() {
            assert!(*peak <= most.min(peaks[0] + MORE), "part {part} of {peaks:?}, {most} at most");
        }
    });
}

// [G-OVERLOAD-1]
#[test]
fn memory_stays_as_it_is_however_much_producers_send() {
    let asked = std::env::var("GREENROOM_PRODUCERS").ok();
    let producers = asked.map_or(PRODUCERS, |text| text.parse().expect("a number"));
    for scheduler in SCHEDULERS {
        stays_flat(scheduler(), producers);
    }
}
