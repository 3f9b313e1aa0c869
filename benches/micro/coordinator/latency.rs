//! How long one call takes, or one cycle.

use super::super::record::{Micro, Program, times};
use super::{DONE, Fixture, Make, RESULTS, timed};
use greenroom::queue::coordinator::{Coordinator, InvokeResult, ReadySlots};
use std::time::{Duration, Instant};

/// Calls between two readings of the clock.
const CALLS: usize = 100;

/// Every row of one queue.
pub(crate) fn rows<Q: ReadySlots>(micro: &mut Micro, who: &str, make: Make<Q>) {
    for size in [0, 100, 1_000] {
        register(micro, who, size, make);
    }
    duplicate(micro, who, make);
    for size in [10, 100, 1_000, 10_000] {
        for batch in [10, 32, 100] {
            drain(micro, who, (size, batch), make);
        }
    }
    for (name, result) in RESULTS {
        handle(micro, who, (name, result), make);
    }
    for size in [10, 100, 1_000] {
        unregister(micro, who, size, make);
    }
    for items in [1, 10, 100] {
        end_to_end(micro, who, items, make);
    }
    construction(micro, who, make);
    percentiles(micro, who, make);
    worst_cases(micro, who, make);
}

fn register<Q: ReadySlots>(micro: &mut Micro, who: &str, size: u32, make: Make<Q>) {
    let name = if size == 0 { "empty".to_owned() } else { size.to_string() };
    let program =
        Program::new(format!("register_ready_latency {name}"), CALLS as u64).goal_ns(12.0);
    let coordinator = make(size + 100, 1);
    let mut fixture = Fixture::new(&coordinator);
    let size = size as usize;
    micro.row(&program, who, |times| {
        let mut took = Duration::ZERO;
        for _ in 0..times {
            fixture.register(size);
            let clock = Instant::now();
            for &mailbox in &fixture.mailboxes[size..] {
                fixture.worker.register_ready(mailbox);
            }
            took += clock.elapsed();
            fixture.rest();
        }
        took
    });
}

fn duplicate<Q: ReadySlots>(micro: &mut Micro, who: &str, make: Make<Q>) {
    let program = Program::new("register_ready_latency duplicate", CALLS as u64).goal_ns(3.0);
    let coordinator = make(1, 1);
    let mut fixture = Fixture::new(&coordinator);
    fixture.register(1);
    micro.row(&program, who, |times| {
        let clock = Instant::now();
        for _ in 0..times * CALLS as u64 {
            fixture.worker.register_ready(std::hint::black_box(fixture.mailboxes[0]));
        }
        clock.elapsed()
    });
}

/// One drain each of several queues, so that reading the clock does not count.
fn drain<Q: ReadySlots>(micro: &mut Micro, who: &str, (size, batch): (u32, usize), make: Make<Q>) {
    const QUEUES: usize = 8;
    let drained = batch.min(size as usize);
    let name = format!("drain_latency {size}, drains of {batch}");
    let program = Program::new(name, QUEUES as u64);
    let program = if drained == 10 { program.goal_ns(60.0) } else { program };
    let coordinators: Vec<Coordinator<Q>> = (0..QUEUES).map(|_| make(size, 1)).collect();
    let mut fixtures: Vec<_> = coordinators.iter().map(Fixture::new).collect();
    micro.row(&program, who, |times| {
        let mut took = Duration::ZERO;
        for _ in 0..times {
            fixtures.iter_mut().for_each(|fixture| fixture.register(size as usize));
            let clock = Instant::now();
            for fixture in &mut fixtures {
                fixture.drain(batch);
            }
            took += clock.elapsed();
            for fixture in &mut fixtures {
                assert_eq!(fixture.out.len(), drained, "so many were ready");
                fixture.rest();
            }
        }
        took
    });
}

fn handle<Q: ReadySlots>(
    micro: &mut Micro,
    who: &str,
    (name, result): (&str, InvokeResult),
    make: Make<Q>,
) {
    let name = format!("handle_invoke_result_latency {name}");
    let program = Program::new(name, CALLS as u64).goal_ns(10.0);
    let coordinator = make(100, 1);
    let mut fixture = Fixture::new(&coordinator);
    micro.row(&program, who, |times| {
        let mut took = Duration::ZERO;
        for _ in 0..times {
            fixture.register(CALLS);
            fixture.drain(CALLS);
            let clock = Instant::now();
            fixture.handle(result);
            took += clock.elapsed();
            fixture.rest();
        }
        took
    });
}

fn unregister<Q: ReadySlots>(micro: &mut Micro, who: &str, size: u32, make: Make<Q>) {
    let program = Program::new(format!("unregister_latency {size}"), size.into()).goal_ns(10.0);
    let coordinator = make(size, 1);
    let mut fixture = Fixture::new(&coordinator);
    micro.row(&program, who, |times| {
        let mut took = Duration::ZERO;
        for _ in 0..times {
            fixture.register(size as usize);
            let clock = Instant::now();
            for &mailbox in &fixture.mailboxes {
                coordinator.unregister(mailbox);
            }
            took += clock.elapsed();
            fixture.rest();
        }
        took
    });
}

/// Registers, drains and handles `items`.
fn cycle<Q: ReadySlots>(fixture: &mut Fixture<'_, Q>, items: usize, result: InvokeResult) {
    fixture.register(items);
    assert_eq!(fixture.drain(items), items, "all were ready");
    fixture.handle(result);
}

fn end_to_end<Q: ReadySlots>(micro: &mut Micro, who: &str, items: u32, make: Make<Q>) {
    let program = Program::new(format!("end_to_end_latency {items}"), 1);
    let program = if items == 100 { program.goal_ns(2_500.0) } else { program };
    let coordinator = make(items, 1);
    let mut fixture = Fixture::new(&coordinator);
    micro.row(&program, who, |times| {
        let clock = Instant::now();
        for _ in 0..times {
            cycle(&mut fixture, items as usize, DONE);
        }
        clock.elapsed()
    });
}

fn construction<Q: ReadySlots>(micro: &mut Micro, who: &str, make: Make<Q>) {
    let program = Program::new("end_to_end_latency construction of 100", 1);
    micro.row(&program, who, |times| {
        let mut took = Duration::ZERO;
        for _ in 0..times {
            let clock = Instant::now();
            let coordinator = std::hint::black_box(make(100, 1));
            took += clock.elapsed();
            drop(coordinator);
        }
        took
    });
}

fn percentiles<Q: ReadySlots>(micro: &mut Micro, who: &str, make: Make<Q>) {
    let program = Program::new("latency_percentiles, a cycle of 100", 1);
    let coordinator = make(100, 1);
    let mut fixture = Fixture::new(&coordinator);
    micro.histogram(&program, who, |count| {
        let (mut all, mut took) = (times(), Duration::ZERO);
        for _ in 0..count {
            let clock = Instant::now();
            cycle(&mut fixture, 100, DONE);
            let one = clock.elapsed();
            took += one;
            all.saturating_record(u64::try_from(one.as_nanos()).unwrap_or(u64::MAX));
        }
        (took, all)
    });
}

fn worst_cases<Q: ReadySlots>(micro: &mut Micro, who: &str, make: Make<Q>) {
    let program = Program::new("worst_case_latency duplicates", 1).goal_ns(3_000.0);
    let coordinator = make(100, 1);
    micro.row(&program, who, |times| {
        timed(times, &coordinator, |fixture| {
            for _ in 0..1_000 {
                fixture.worker.register_ready(fixture.mailboxes[0]);
            }
            assert_eq!(fixture.drain(1_000), 1, "it was ready once");
        })
    });
    let program = Program::new("worst_case_latency interleaved", 1).goal_ns(2_000.0);
    micro.row(&program, who, |times| {
        timed(times, &coordinator, |fixture| {
            for ten in 0..10 {
                for at in 10 * ten..10 * ten + 10 {
                    fixture.worker.register_ready(fixture.mailboxes[at]);
                }
                fixture.drain(5);
            }
        })
    });
}
