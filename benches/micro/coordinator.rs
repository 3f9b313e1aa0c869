//! The coordinator over each of its queues.
//!
//! The rows have the names and the sizes under which such coordinators were measured before, so that
//! figures can be laid side by side. A worker registers and drains by its own end of the queue.

mod latency;
mod threads;

use super::record::{Follows, Micro, Program, Rate};
use greenroom::queue::coordinator::{
    Coordinator, InvokeResult, MailboxIndex, PerCore, ReadySlots, Worker,
};
use greenroom_benches::stats;
use std::time::{Duration, Instant};
use threads::Whose;

const DONE: InvokeResult = InvokeResult::Completed { ready_hint: false };
const RETRY: Duration = Duration::from_secs(1);
const RESULTS: [(&str, InvokeResult); 7] = [
    ("completed", DONE),
    ("completed_ready", InvokeResult::Completed { ready_hint: true }),
    ("yielded", InvokeResult::Yielded),
    ("suspended", InvokeResult::Suspended { resume_after: None }),
    ("failed", InvokeResult::Failed { retry_after: None }),
    ("failed_retry", InvokeResult::Failed { retry_after: Some(RETRY) }),
    ("stopped", InvokeResult::Stopped),
];

const SIZES: [u32; 4] = [100, 1_000, 10_000, 100_000];
const WHO: [&str; 4] = ["locked", "lock_free", "stealing", "per_core"];

/// Measures every queue in every row.
pub(crate) fn measure(micro: &mut Micro) {
    rows(micro, "locked", |slots, _| Coordinator::locked(slots));
    rows(micro, "lock_free", |slots, _| Coordinator::lock_free(slots));
    rows(micro, "stealing", Coordinator::stealing);
    rows::<PerCore>(micro, "per_core", Coordinator::per_core);
    // The control: what differs from the first time says how far to trust the rest.
    throughput(micro, "locked (again)", 10_000, |slots, _| Coordinator::locked(slots));
    micro.table(
        "Coordinator",
        "`coordinator_throughput`: register so many, then one drain; the goal is 28.6 with a lock, and 16 without. `duplicate_detection`: of 10,000 \
         registrations so many percent are repeated. `batch_size_impact`: 10,000 in drains of that \
         many. `concurrent_register`: 10,000 per thread, of mailboxes whose home is its own worker, or that of \
         another where it says so: only `per_core` has homes. `invoke_result_handling`: register, drain and \
         handle one. `unregister_performance`: register so many, unregister half, drain. `…_latency`: \
         one call, in a queue of that many; a drain is one of `drains of` that many. \
         `end_to_end_latency` and `worst_case_latency`: one cycle, which is 1,000 registrations of one \
         mailbox, or ten times ten registrations and a drain.",
        &[4, 8].map(over_locked),
        &WHO.iter().flat_map(|who| follows(who)).collect::<Vec<_>>(),
    );
}

/// Where many threads share one queue, the one without a lock is not slower.
fn over_locked(threads: u32) -> Rate {
    let program = format!("concurrent_register {threads}");
    Rate { program, ours: &["lock_free"], theirs: "locked", least: 1.0 }
}

/// What is to follow from several rows of one queue.
fn follows(who: &'static str) -> Vec<Follows> {
    let sizes = SIZES.map(|size| format!("coordinator_throughput {size}"));
    let batches = [1, 10].map(|batch| format!("batch_size_impact {batch}"));
    let repeated = [0, 75].map(|percent| format!("duplicate_detection {percent} %"));
    let all = vec![
        Follows::new("coordinator_throughput, the slowest size over the quickest", who, sizes, 1.1)
            .by(|times| stats::most(times) / stats::least(times)),
        Follows::new("batch_size_impact, batches of 1 over those of 10", who, batches, 1.15)
            .by(|times| times[0] / times[1]),
        // A quarter of them is registered as everything is where nothing is repeated.
        Follows::new("duplicate_detection, ns of one that is repeated", who, repeated, 3.0)
            .by(|times| (times[1] - times[0] / 4.0) / 0.75),
    ];
    // Where each worker has a queue of its own, they do not keep each other from work.
    let has_own = matches!(who, "stealing" | "per_core");
    let threads = [2, 4, 8].into_iter().filter(|_| has_own);
    let efficiencies = threads.map(|threads| {
        let about = format!(
            "concurrent_register, what each of {threads} threads takes over what one alone takes"
        );
        let rows = [1, threads].map(|threads| format!("concurrent_register {threads}"));
        Follows::new(&about, who, rows, 1.25)
            .by(move |times| times[1] * f64::from(threads) / times[0])
    });
    all.into_iter().chain(efficiencies).collect()
}

/// Makes a coordinator of so many slots, for so many workers.
type Make<Q> = fn(u32, usize) -> Coordinator<Q>;

fn rows<Q: ReadySlots>(micro: &mut Micro, who: &str, make: Make<Q>) {
    for size in SIZES {
        throughput(micro, who, size, make);
    }
    for percent in [0, 25, 50, 75] {
        duplicates(micro, who, percent, make);
    }
    for batch in [1, 10, 32, 64, 128, 256, 512] {
        batches(micro, who, batch, make);
    }
    for threads in [1, 2, 4, 8] {
        threads::register(micro, who, (threads, Whose::Own), make);
    }
    for threads in [2, 4, 8] {
        threads::register(micro, who, (threads, Whose::Others), make);
    }
    for (name, result) in RESULTS {
        results(micro, who, (name, result), make);
    }
    for size in [100, 1_000, 10_000] {
        unregister(micro, who, size, make);
    }
    latency::rows(micro, who, make);
}

/// A coordinator with its one worker, and the mailboxes as they are now.
struct Fixture<'a, Q: ReadySlots> {
    coordinator: &'a Coordinator<Q>,
    worker: Worker<'a, Q>,
    mailboxes: Vec<MailboxIndex>,
    out: Vec<MailboxIndex>,
}

impl<'a, Q: ReadySlots> Fixture<'a, Q> {
    fn new(coordinator: &'a Coordinator<Q>) -> Self {
        let slots = u32::try_from(coordinator.slots()).expect("slots are counted so");
        let worker = coordinator.worker(0).expect("it is free");
        let mailboxes = (0..slots).map(|slot| MailboxIndex { slot, generation: 0 }).collect();
        Self { coordinator, worker, mailboxes, out: Vec::with_capacity(coordinator.slots()) }
    }

    /// Registers the first `count` mailboxes.
    fn register(&mut self, count: usize) {
        for &mailbox in &self.mailboxes[..count] {
            self.worker.register_ready(mailbox);
        }
    }

    fn drain(&mut self, max: usize) -> usize {
        self.worker.drain_ready_cycle(max, &mut self.out)
    }

    /// Ends the runs of what was drained.
    fn handle(&mut self, result: InvokeResult) {
        for mailbox in self.out.drain(..) {
            self.worker.handle_invoke_result(mailbox, result, Duration::ZERO);
        }
    }

    /// Lets every mailbox rest.
    fn rest(&mut self) {
        self.handle(DONE);
        self.coordinator.resume_due(Duration::MAX);
        for slot in 0..self.mailboxes.len() {
            let slot = u32::try_from(slot).expect("slots are counted so");
            let mailbox = self.coordinator.index(slot).expect("the slot is there");
            self.coordinator.resume(mailbox);
            self.mailboxes[slot as usize] = mailbox;
        }
        while self.drain(usize::MAX) > 0 {
            self.handle(DONE);
        }
    }
}

/// Does `work` so many times, with all mailboxes at rest each time, and says how long that took.
fn timed<Q: ReadySlots>(
    times: u64,
    coordinator: &Coordinator<Q>,
    mut work: impl FnMut(&mut Fixture<'_, Q>),
) -> Duration {
    let mut fixture = Fixture::new(coordinator);
    let mut took = Duration::ZERO;
    for _ in 0..times {
        let clock = Instant::now();
        work(&mut fixture);
        took += clock.elapsed();
        fixture.rest();
    }
    took
}

fn throughput<Q: ReadySlots>(micro: &mut Micro, who: &str, size: u32, make: Make<Q>) {
    // 35 million a second are asked of the one with a lock, 60 million of the others.
    let goal_ns = if who.starts_with("locked") { 28.6 } else { 16.0 };
    let program =
        Program::new(format!("coordinator_throughput {size}"), size.into()).goal_ns(goal_ns);
    let coordinator = make(size, 1);
    micro.row(&program, who, |times| {
        timed(times, &coordinator, |fixture| {
            fixture.register(size as usize);
            assert_eq!(fixture.drain(size as usize), size as usize, "all were ready");
        })
    });
}

fn duplicates<Q: ReadySlots>(micro: &mut Micro, who: &str, percent: usize, make: Make<Q>) {
    const SIZE: usize = 10_000;
    let program = Program::new(format!("duplicate_detection {percent} %"), SIZE as u64);
    let unique = SIZE * (100 - percent) / 100;
    let coordinator = make(10_000, 1);
    micro.row(&program, who, |times| {
        timed(times, &coordinator, |fixture| {
            let mut missing = SIZE;
            while missing > 0 {
                let count = missing.min(unique);
                fixture.register(count);
                missing -= count;
            }
            assert_eq!(fixture.drain(SIZE), unique, "each was ready once");
        })
    });
}

fn batches<Q: ReadySlots>(micro: &mut Micro, who: &str, batch: usize, make: Make<Q>) {
    const SIZE: usize = 10_000;
    let program = Program::new(format!("batch_size_impact {batch}"), SIZE as u64);
    let coordinator = make(10_000, 1);
    micro.row(&program, who, |times| {
        timed(times, &coordinator, |fixture| {
            fixture.register(SIZE);
            while fixture.drain(batch) > 0 {}
            assert_eq!(fixture.out.len(), SIZE, "all were ready");
        })
    });
}

fn results<Q: ReadySlots>(
    micro: &mut Micro,
    who: &str,
    (name, result): (&str, InvokeResult),
    make: Make<Q>,
) {
    const SIZE: u32 = 1_000;
    let name = format!("invoke_result_handling {name}");
    let program = Program::new(name, SIZE.into()).goal_ns(25.0);
    let coordinator = make(SIZE, 1);
    micro.row(&program, who, |times| {
        timed(times, &coordinator, |fixture| {
            for at in 0..fixture.mailboxes.len() {
                fixture.worker.register_ready(fixture.mailboxes[at]);
                fixture.drain(1);
                fixture.handle(result);
            }
        })
    });
}

fn unregister<Q: ReadySlots>(micro: &mut Micro, who: &str, size: u32, make: Make<Q>) {
    let program = Program::new(format!("unregister_performance {size}"), size.into());
    let coordinator = make(size, 1);
    let half = size as usize / 2;
    micro.row(&program, who, |times| {
        timed(times, &coordinator, |fixture| {
            fixture.register(size as usize);
            for &mailbox in &fixture.mailboxes[..half] {
                coordinator.unregister(mailbox);
            }
            assert_eq!(fixture.drain(size as usize), size as usize - half, "half were ready");
        })
    });
}
