//! Many threads that register at once.

use super::super::record::{Micro, Program};
use super::super::threads::together;
use super::{DONE, Make};
use greenroom::queue::coordinator::{Coordinator, MailboxIndex, ReadySlots};
use std::sync::Barrier;
use std::time::{Duration, Instant};

/// Registrations of each thread.
const EACH: u32 = 10_000;

/// Whose mailboxes a thread registers, where workers have their own.
#[derive(Clone, Copy)]
pub(crate) enum Whose {
    Own,
    /// Those of the next worker.
    Others,
}

/// Each thread is a worker, and registers mailboxes that nobody else does.
pub(crate) fn register<Q: ReadySlots>(
    micro: &mut Micro,
    who: &str,
    (threads, whose): (u32, Whose),
    make: Make<Q>,
) {
    let (name, next) = match whose {
        Whose::Own => (format!("concurrent_register {threads}"), 0),
        Whose::Others => (format!("concurrent_register {threads}, of others"), 1),
    };
    let program = Program::new(name, (EACH * threads).into()).on(threads as usize);
    let coordinator = make(EACH * threads, threads as usize);
    micro.row(&program, who, |times| {
        let rounds = &Barrier::new(threads as usize);
        let coordinator = &coordinator;
        let part = |id: u32| {
            let work =
                move || work(coordinator, rounds, (id, (id + next) % threads, threads), times);
            Box::new(work) as Box<dyn FnOnce() -> Duration + Send>
        };
        let (_, took) = together((0..threads).map(part).collect());
        took.into_iter().max().unwrap_or_default()
    });
}

/// What one thread does, which registers the mailboxes of `home`; how long it was registering.
fn work<Q: ReadySlots>(
    coordinator: &Coordinator<Q>,
    rounds: &Barrier,
    (id, home, threads): (u32, u32, u32),
    times: u64,
) -> Duration {
    let mut worker = coordinator.worker(id as usize).expect("it is free");
    let mut took = Duration::ZERO;
    let mut out = Vec::with_capacity(coordinator.slots());
    for _ in 0..times {
        rounds.wait();
        let clock = Instant::now();
        for number in 0..EACH {
            let slot = number * threads + home;
            worker.register_ready(MailboxIndex { slot, generation: 0 });
        }
        took += clock.elapsed();
        rounds.wait();
        while worker.drain_ready_cycle(usize::MAX, &mut out) > 0 {}
        for mailbox in out.drain(..) {
            worker.handle_invoke_result(mailbox, DONE, Duration::ZERO);
        }
    }
    took
}
