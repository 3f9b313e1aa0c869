//! What the processor itself counts while a ring carries values from one thread to another.
//!
//! Virtual machines often have no such counters: then a figure is `n/a`.

use crate::results::Section;
use crate::rows::Row;
use crate::table::Table;
use greenroom::queue::spsc;
use perf_event::events::{Cache, CacheId, CacheOp, CacheResult, Hardware};
use perf_event::{Builder, Counter};
use std::io;
use std::thread;

/// Values of one measurement: a whole number of batches.
const VALUES: u64 = 1 << 24;
const CAPACITY: usize = 1_024;
const BATCHES: [u64; 3] = [1, 16, 256];
/// Instructions a cycle that are asked for in the largest batches.
const GOAL: f64 = 2.0;

const L1_READS: Cache =
    Cache { which: CacheId::L1D, operation: CacheOp::READ, result: CacheResult::ACCESS };

/// Counts both threads of a stream, for batches of several sizes.
///
/// # Errors
/// When a counter that this machine has cannot be read.
pub fn section() -> Result<Section, String> {
    let heading =
        ["batch", "instructions a cycle", "cycles a value", "branches missed", "L1 reads missed"];
    let (mut table, mut rows) = (Table::new(&heading), Vec::new());
    for batch in BATCHES {
        let counts = Counts::of(|| stream(batch)).map_err(|error| error.to_string())?;
        table.row([batch.to_string()].into_iter().chain(counts.cells()));
        rows.push(counts.row(batch));
    }
    let text = format!(
        "A stream of {VALUES} `u64` through a ring of {CAPACITY} from one thread to another, a flush every batch: what \
         the processor counted in user mode on both, waits for each other included; `n/a` \
         where it shows no counters. The goal is {GOAL:.0} instructions a cycle in batches of 256.\n\n{table}",
    );
    Ok(Section::new("Counters", text).with_rows(rows))
}

/// What was counted; nothing of what this machine does not count.
#[derive(Debug, Default)]
struct Counts {
    instructions: Option<u64>,
    cycles: Option<u64>,
    branches: Option<u64>,
    branches_missed: Option<u64>,
    reads: Option<u64>,
    reads_missed: Option<u64>,
}

impl Counts {
    /// Counts all threads that `work` starts.
    fn of(work: impl FnOnce()) -> io::Result<Self> {
        let mut counters = [
            counter(Builder::new(Hardware::INSTRUCTIONS)),
            counter(Builder::new(Hardware::CPU_CYCLES)),
            counter(Builder::new(Hardware::BRANCH_INSTRUCTIONS)),
            counter(Builder::new(Hardware::BRANCH_MISSES)),
            counter(Builder::new(L1_READS)),
            counter(Builder::new(Cache { result: CacheResult::MISS, ..L1_READS })),
        ];
        counters.iter_mut().flatten().try_for_each(Counter::enable)?;
        work();
        counters.iter_mut().flatten().try_for_each(Counter::disable)?;
        let mut counts = [None; 6];
        for (count, counter) in counts.iter_mut().zip(&mut counters) {
            *count = counter.as_mut().map(read).transpose()?;
        }
        let [instructions, cycles, branches, branches_missed, reads, reads_missed] = counts;
        Ok(Self { instructions, cycles, branches, branches_missed, reads, reads_missed })
    }

    #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
    fn row(&self, batch: u64) -> Row {
        let each = |count: Option<u64>| count.map(|count| count as f64 / VALUES as f64);
        Row {
            scheduler: "spsc".to_owned(),
            n: i64::try_from(VALUES).ok(),
            instructions_per_cycle: self
                .instructions
                .zip(self.cycles)
                .map(|(of, in_)| of as f64 / in_ as f64),
            cycles_per_op: each(self.cycles),
            branches_missed_per_op: each(self.branches_missed),
            reads_missed_per_op: each(self.reads_missed),
            ..Row::here(&format!("counters batch {batch}"), "spsc")
        }
    }

    fn cells(&self) -> [String; 4] {
        let values = Some(VALUES);
        [
            over(self.instructions, self.cycles, |rate| format!("{rate:.2}")),
            over(self.cycles, values, |rate| format!("{rate:.1}")),
            over(self.branches_missed, self.branches, percent),
            over(self.reads_missed, self.reads, percent),
        ]
    }
}

/// What is counted, if this machine counts it.
fn counter(mut what: Builder<'_>) -> Option<Counter> {
    what.inherit(true).build().ok()
}

/// What was counted; where counters took turns, what all of the time would have come to.
fn read(counter: &mut Counter) -> io::Result<u64> {
    let found = counter.read_full()?;
    let (Some(enabled), Some(running)) = (found.time_enabled(), found.time_running()) else {
        return Ok(found.count());
    };
    let scaled = u128::from(found.count()) * enabled.as_nanos() / running.as_nanos().max(1);
    Ok(u64::try_from(scaled).unwrap_or(u64::MAX))
}

#[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
fn over(count: Option<u64>, by: Option<u64>, show: fn(f64) -> String) -> String {
    match (count, by) {
        (Some(count), Some(by)) if by > 0 => show(count as f64 / by as f64),
        _ => "n/a".to_owned(),
    }
}

fn percent(rate: f64) -> String {
    format!("{:.2} %", rate * 100.0)
}

/// One thread sends the numbers from zero in batches, the other one takes and checks them.
fn stream(batch: u64) {
    let (mut sender, mut receiver) = spsc::channel(CAPACITY);
    thread::scope(|scope| {
        scope.spawn(move || {
            for first in (0..VALUES).step_by(usize::try_from(batch).unwrap_or(usize::MAX)) {
                let mut left = first..first + batch;
                while !left.is_empty() {
                    sender.write_from(left.by_ref());
                    sender.flush().expect("the receiver stays until the end");
                }
            }
        });
        scope.spawn(move || {
            let mut next = 0;
            while next < VALUES {
                receiver.sync();
                while let Ok(value) = receiver.try_recv() {
                    assert_eq!(value, next, "values come once and in order");
                    next += 1;
                }
            }
        });
    });
}

#[cfg(test)]
mod tests {
    use super::{Counts, VALUES};

    #[test]
    fn what_is_not_counted_is_said_to_be_so() {
        let counts = Counts {
            cycles: Some(2 * VALUES),
            instructions: Some(5 * VALUES),
            ..Counts::default()
        };
        assert_eq!(counts.cells(), ["2.50", "2.0", "n/a", "n/a"]);
        let counts =
            Counts { branches: Some(2_000), branches_missed: Some(3), ..Counts::default() };
        assert_eq!(counts.cells(), ["n/a", "n/a", "0.15 %", "n/a"]);
    }
}
