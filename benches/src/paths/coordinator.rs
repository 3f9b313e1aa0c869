//! A steal, and the calls of a coordinator.

use crate::core_to_core::bind;
use greenroom::queue::coordinator::{Coordinator, InvokeResult, MailboxIndex};
use greenroom_peers::Program;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Mailboxes in a ring when half of it is stolen.
const RING: u32 = 256;
/// Calls between two readings of the clock; no ring runs over.
const CALLS: u64 = 128;
const DONE: InvokeResult = InvokeResult::Completed { ready_hint: false };

pub(super) fn programs() -> Vec<Program> {
    let call = |name, which| Program::new(name, "stealing", 1, move |n| calls(n)[which]);
    vec![
        Program::new("path_steal", "stealing", 2, steals),
        call("path_register", 0),
        call("path_register_again", 1),
        call("path_drain", 2),
        call("path_handle", 3),
    ]
}

fn mailbox(slot: u32) -> MailboxIndex {
    MailboxIndex { slot, generation: 0 }
}

/// How long the `n` steals took by which one worker takes half of what another one has.
fn steals(n: u64) -> Duration {
    let coordinator = &Coordinator::stealing(RING, 2);
    // Whose turn it is: even the owner's, odd the thief's.
    let turn = &AtomicU32::new(0);
    let until = |mine: u32| {
        // Acquire: pairs with the Release of the other one's turn.
        while turn.load(Ordering::Acquire) % 2 != mine {
            thread::yield_now();
        }
    };
    // Release: pairs with the Acquire in `until`.
    let done = || turn.fetch_add(1, Ordering::Release);
    thread::scope(|scope| {
        scope.spawn(move || {
            bind(0);
            let mut owner = coordinator.worker(0).expect("it is free");
            let mut out = Vec::new();
            for _ in 0..n {
                until(0);
                // What the thief left.
                owner.drain_ready_cycle(RING as usize, &mut out);
                for mailbox in out.drain(..) {
                    owner.handle_invoke_result(mailbox, DONE, Duration::ZERO);
                }
                for slot in 0..RING {
                    owner.register_ready(mailbox(slot));
                }
                done();
            }
        });
        let thief = scope.spawn(move || {
            bind(1);
            let mut thief = coordinator.worker(1).expect("it is free");
            let (mut took, mut out) = (Duration::ZERO, Vec::new());
            for _ in 0..n {
                until(1);
                let clock = Instant::now();
                let stolen = thief.drain_ready_cycle(1, &mut out);
                took += clock.elapsed();
                assert_eq!(stolen, 1, "the first of those that were stolen");
                // The others are in this worker's own ring now.
                thief.drain_ready_cycle(RING as usize / 2 - 1, &mut out);
                assert_eq!(out.len(), RING as usize / 2, "half was stolen");
                for mailbox in out.drain(..) {
                    thief.handle_invoke_result(mailbox, DONE, Duration::ZERO);
                }
                done();
            }
            took
        });
        thief.join().expect("the thief does not panic")
    })
}

/// How long `n` calls of each kind took: a registration, one that is there already, a mailbox's share of
/// a drain, and the end of a run.
fn calls(n: u64) -> [Duration; 4] {
    let coordinator = Coordinator::stealing(RING, 1);
    let mut worker = coordinator.worker(0).expect("it is free");
    let mut took = [Duration::ZERO; 4];
    let mut out = Vec::new();
    let mut left = n;
    while left > 0 {
        let count = u32::try_from(left.min(CALLS)).unwrap_or(0);
        left -= u64::from(count);
        let mut clock = Instant::now();
        let mut lap = |at: usize| {
            let now = Instant::now();
            took[at] += now - clock;
            clock = now;
        };
        for slot in 0..count {
            worker.register_ready(mailbox(slot));
        }
        lap(0);
        for slot in 0..count {
            worker.register_ready(mailbox(slot));
        }
        lap(1);
        worker.drain_ready_cycle(count as usize, &mut out);
        lap(2);
        assert_eq!(out.len(), count as usize, "each was ready once");
        for mailbox in out.drain(..) {
            worker.handle_invoke_result(mailbox, DONE, Duration::ZERO);
        }
        lap(3);
    }
    took
}
