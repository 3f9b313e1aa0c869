//! What is measured, for any shape.

use crate::nodes::{BLOCK, BLOCKS, block_of, fill, of_producer};
use crate::shapes::{Apart, Shape};
use std::hint::{black_box, spin_loop};
use std::sync::Barrier;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::thread;
use std::time::{Duration, Instant};

/// Messages per push in the batch row.
const BATCH: u64 = 64;
/// How far a producer may be ahead of the consumer.
const AHEAD_MAX: u64 = BLOCK as u64 / 2;
/// Messages after which the consumer tells a producer how far it is.
const REPORT_EVERY: u64 = 64;
/// Spins after which a waiting thread yields the core.
const SPINS_MAX: u32 = 1000;

fn wait_until(mut ready: impl FnMut() -> bool) {
    let mut spins = 0;
    while !ready() {
        spins += 1;
        if spins < SPINS_MAX { spin_loop() } else { thread::yield_now() }
    }
}

/// The sum of `0..n`, which the consumers must arrive at.
fn sum(n: u64) -> u64 {
    n * n.saturating_sub(1) / 2
}

/// One thread: push to the idle inbox, handle one message, go idle.
pub(crate) fn ping<S: Shape>(n: u64) -> Duration {
    let inbox = S::new(1);
    let (mut seen, mut free) = (0, of_producer(0, 0));
    let clock = Instant::now();
    for value in 0..n {
        fill(free, value);
        assert!(inbox.push(free), "the inbox was idle");
        inbox.run(|value, node| {
            seen += value;
            free = node;
        });
    }
    let took = clock.elapsed();
    assert_eq!(seen, sum(n), "every message was handled once");
    took
}

/// One thread: 64 pushes, then handle them all.
pub(crate) fn batch<S: Shape>(n: u64) -> Duration {
    let inbox = S::new(1);
    let mut seen = 0;
    let clock = Instant::now();
    for turn in 0..n / BATCH {
        for value in turn * BATCH..(turn + 1) * BATCH {
            // Twice the batch, as the last node handled may stay behind.
            let node = of_producer(0, value % (2 * BATCH));
            fill(node, value);
            inbox.push(node);
        }
        inbox.run(|value, _| seen += value);
    }
    let took = clock.elapsed();
    assert_eq!(seen, sum(n / BATCH * BATCH), "every message was handled once");
    took
}

/// Keeps the core busy for about `steps` nanoseconds.
#[inline(always)]
fn work(steps: u64) {
    for step in 0..steps {
        black_box(step);
    }
}

/// `producers` threads send `n` messages in all to a consumer thread. Both ends do `steps` of work
/// for each message.
pub(crate) fn stream<S: Shape>(producers: u32, steps: u64, n: u64) -> Duration {
    let inbox = S::new(1);
    let ready = Apart(AtomicBool::new(false));
    let handled = [const { Apart(AtomicU64::new(0)) }; BLOCKS];
    let each = n / u64::from(producers);
    let start = Barrier::new(producers as usize + 1);
    thread::scope(|threads| {
        for producer in 0..producers {
            let (inbox, ready, start) = (&inbox, &ready, &start);
            let handled = &handled[block_of(of_producer(producer, 0))];
            threads.spawn(move || {
                start.wait();
                let mut limit = AHEAD_MAX;
                for value in 0..each {
                    wait_until(|| {
                        value < limit || {
                            limit = handled.load(Acquire) + AHEAD_MAX;
                            value < limit
                        }
                    });
                    work(steps);
                    let node = of_producer(producer, value);
                    fill(node, value);
                    if inbox.push(node) {
                        ready.store(true, Release);
                    }
                }
            });
        }
        start.wait();
        let clock = Instant::now();
        let (mut seen, mut count, mut of_each) = (0, 0, [0; BLOCKS]);
        while count < each * u64::from(producers) {
            wait_until(|| ready.load(Acquire));
            ready.store(false, Relaxed);
            inbox.run(|value, node| {
                work(steps);
                seen += value;
                count += 1;
                let block = block_of(node);
                of_each[block] += 1;
                if of_each[block] % REPORT_EVERY == 0 {
                    handled[block].store(of_each[block], Release);
                }
            });
        }
        let took = clock.elapsed();
        assert_eq!(seen, sum(each) * u64::from(producers), "every message was handled once");
        took
    })
}

/// Two threads bounce one message `n` times; each hop is one operation.
pub(crate) fn ping_pong<S: Shape>(n: u64) -> Duration {
    let inboxes = [Apart(S::new(1)), Apart(S::new(2))];
    let ready = [const { Apart(AtomicBool::new(false)) }; 2];
    let start = Barrier::new(2);
    let side = |me: usize| {
        let other = 1 - me;
        let send = |node: u32, value: u64| {
            fill(node, value);
            if inboxes[other].0.push(node) {
                ready[other].store(true, Release);
            }
        };
        start.wait();
        let clock = Instant::now();
        if me == 0 {
            send(of_producer(0, 0), 1);
        }
        let mut last = 0;
        while last + 1 < n {
            wait_until(|| ready[me].load(Acquire));
            ready[me].store(false, Relaxed);
            inboxes[me].0.run(|value, node| {
                last = value;
                if value < n {
                    send(node, value + 1);
                }
            });
        }
        clock.elapsed()
    };
    thread::scope(|threads| {
        let first = threads.spawn(|| side(0));
        let second = side(1);
        first.join().map_or(second, |first| first.max(second))
    })
}
