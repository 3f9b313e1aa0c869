//! What each way of a message costs, beside what it was estimated to cost and the least it can.
//!
//! The estimates are for one core of 2.5 GHz. A path that needs more cores than there are is named
//! without a figure.

mod coordinator;
mod programs;

use crate::contestant::{Allocator, Contestant};
use crate::machine;
use crate::ours;
use crate::programs::PROGRAMS;
use crate::results::Section;
use crate::rows::Row;
use crate::table::Table;
use greenroom_peers::Program;

/// One path: which program shows it, and what is expected.
struct Path {
    name: &'static str,
    about: &'static str,
    program: &'static str,
    who: &'static str,
    n: u64,
    /// How often an operation of the program takes the path.
    times: f64,
    /// A program whose time is no part of the path.
    without: Option<&'static str>,
    expect_ns: (f64, f64),
    floor_ns: f64,
}

const fn path(
    (name, about): (&'static str, &'static str),
    (program, who, n): (&'static str, &'static str, u64),
    times: f64,
    expect_ns: (f64, f64),
    floor_ns: f64,
) -> Path {
    Path { name, about, program, who, n, times, without: None, expect_ns, floor_ns }
}

#[rustfmt::skip]
const PATHS: &[Path] = &[
    path(("P1", "per-core, same core, sync handler"), ("counting", "per_core-1", 1_000_000), 1.0, (12.0, 20.0), 8.0),
    path(("P2", "stealable, same worker"), ("counting", "stealing-1", 1_000_000), 1.0, (28.0, 38.0), 20.0),
    path(("P3", "same worker, ping-pong, a hop"), ("ping_pong", "stealing-1", 100_000), 2.0, (45.0, 60.0), 30.0),
    path(("P4", "cross-core stream, ring, u64, batch 256"), ("path_ring", "spsc", 10_000_000), 1.0, (3.0, 4.0), 1.0),
    path(("P5", "the same, 64 bytes"), ("path_ring_64_bytes", "spsc", 5_000_000), 1.0, (15.0, 25.0), 8.0),
    path(("P6", "cross-core stream, linked mailbox"), ("sends_outside", "stealing-1", 1_000_000), 1.0, (50.0, 70.0), 47.0),
    path(("P7", "cross-core ping-pong, both spinning, a hop"), ("path_ping_pong", "per_core", 100_000), 2.0, (110.0, 180.0), 50.0),
    path(("P8", "the same with parked workers"), ("ask_outside", "stealing-1", 20_000), 2.0, (3_000.0, 8_000.0), 1_000.0),
    path(("P9", "4 senders to one actor"), ("fan_in", "stealing", 1_000_000), 1.0, (60.0, 100.0), 47.0),
    path(("P10", "ask and reply, same core"), ("ask", "stealing-1", 100_000), 1.0, (70.0, 110.0), 16.0),
    path(("P10", "the same in a chain of 16 who all wait, each"), ("path_ask_chain", "stealing-1", 20_000), programs::CHAIN as f64, (70.0, 110.0), 16.0),
    path(("P10", "ask and reply, cross-core, both spinning"), ("path_ask", "per_core", 100_000), 1.0, (250.0, 400.0), 100.0),
    Path {
        without: Some("path_sync"),
        ..path(("P11", "async handler, ready at once: more than a sync one"), ("path_async", "stealing-1", 1_000_000), 1.0, (5.0, 10.0), 5.0)
    },
    Path {
        without: Some("path_sync"),
        ..path(("P11", "async handler that waits and is woken: more than a sync one"), ("path_async_woken", "stealing-1", 1_000_000), 1.0, (60.0, 100.0), 16.0)
    },
    path(("P12", "spawn and stop"), ("fork_join_create", "stealing-1", 100_000), 1.0, (60.0, 120.0), 40.0),
    path(("P13", "steal of half of a ring, two readings of the clock included"), ("path_steal", "stealing", 10_000), 1.0, (150.0, 300.0), 94.0),
    path(("P14", "coordinator: register"), ("path_register", "stealing", 1_000_000), 1.0, (11.0, 11.0), 8.0),
    path(("P14", "coordinator: register again"), ("path_register_again", "stealing", 1_000_000), 1.0, (1.0, 2.0), 1.0),
    path(("P14", "coordinator: drain, each"), ("path_drain", "stealing", 1_000_000), 1.0, (3.0, 5.0), 3.0),
    path(("P14", "coordinator: handle"), ("path_handle", "stealing", 1_000_000), 1.0, (8.0, 10.0), 8.0),
    path(("P15", "timer set or cancelled"), ("path_timer", "stealing-1", 1_000_000), 2.0, (8.0, 15.0), 5.0),
    path(("P15", "the same beside 100,000 that wait"), ("path_timer_among", "stealing-1", 1_000_000), 2.0, (8.0, 15.0), 5.0),
];

/// The programs of the paths that are no programs of the contest.
pub(crate) fn programs() -> Vec<Program> {
    programs::programs().into_iter().chain(coordinator::programs()).collect()
}

/// Measures every path, rounds interleaved, a process for each measurement.
///
/// # Errors
/// When a path names a program that there is not.
pub fn section(rounds: usize) -> Result<Section, String> {
    let all: Vec<Program> = ours::programs().into_iter().chain(programs()).collect();
    let find = |program: &str, who: &str| {
        let found = all.iter().find(|one| one.name == program && one.peer == who);
        let found = found.ok_or_else(|| format!("no such program: {program}/{who}"))?;
        Ok::<_, String>(Contestant::new(found, true, Allocator::System))
    };
    let mut runners = Vec::new();
    for path in PATHS {
        let without = path.without.map(|program| find(program, path.who)).transpose()?;
        runners.push((path, find(path.program, path.who)?, without));
    }
    for round in 0..rounds {
        eprintln!("paths: round {} of {rounds}", round + 1);
        for (path, runner, without) in &mut runners {
            let both = std::iter::once(runner).chain(without);
            both.filter(|one| cores(one) <= machine::cores())
                .for_each(|one| one.measure(path.n, round));
        }
    }
    let heading = ["path", "what", "bench", "ns", "expect", "over it", "floor", "over it"];
    let mut table = Table::new(&heading);
    let mut rows = Vec::new();
    for (path, runner, without) in &runners {
        let extra = without.as_ref().map_or(0.0, Contestant::median);
        let both = std::iter::once(runner).chain(without);
        let failure = both.filter_map(|one| one.failure.as_deref()).next();
        table.row(path.cells((runner.median() - extra) / path.times, failure));
        rows.extend(kept(std::iter::once(runner).chain(without)));
    }
    let text = format!(
        "Medians of {rounds} interleaved rounds; the estimates are for a core of 2.5 GHz, \"over it\" \
         is over the upper one. P16 and P17 lie between processes: `bench net` and the example `rpc_cost` \
         of the transports measure them.\n\n{table}",
    );
    Ok(Section::new("Paths", text).with_rows(rows))
}

/// The rows of those who never failed: of the others nothing is a figure to be drawn or compared.
fn kept<'a>(all: impl Iterator<Item = &'a Contestant>) -> impl Iterator<Item = Row> {
    all.filter(|one| one.failure.is_none()).flat_map(|one| &one.rows).cloned()
}

/// How many threads are busy: a path between cores is none where they share one.
fn cores(one: &Contestant) -> usize {
    let row = PROGRAMS.iter().find(|row| row.name == one.program);
    one.cores + row.map_or(0, |row| row.outside)
}

impl Path {
    fn cells(&self, nanos: f64, failure: Option<&str>) -> Vec<String> {
        let bench = format!("{}/{}", self.program, self.who);
        let mut cells = vec![self.name.to_owned(), self.about.to_owned(), bench];
        let (low, high) = self.expect_ns;
        // Who failed in one round has figures of others, which are nothing to go by.
        if failure.is_some() || nanos.is_nan() {
            let why = failure.map(|why| format!("failed {why}"));
            cells.push(why.unwrap_or_else(|| "not measured here: too few cores".to_owned()));
            cells.extend([format!("{low:.0} to {high:.0}"), String::new()]);
            cells.push(format!("{:.0}", self.floor_ns));
        } else {
            cells.push(format!("{nanos:.1}"));
            cells.extend([format!("{low:.0} to {high:.0}"), format!("{:.2}", nanos / high)]);
            cells
                .extend([format!("{:.0}", self.floor_ns), format!("{:.2}", nanos / self.floor_ns)]);
        }
        cells
    }
}

#[cfg(test)]
mod tests {
    use super::{Allocator, Contestant, PATHS, cores, kept, programs};
    use crate::ours;
    use crate::rows::Row;

    #[test]
    fn every_path_has_its_program() {
        let all: Vec<_> = ours::programs().into_iter().chain(programs()).collect();
        for path in PATHS {
            for program in [Some(path.program), path.without].into_iter().flatten() {
                let found = all.iter().any(|one| one.name == program && one.peer == path.who);
                assert!(found, "{program}/{}", path.who);
            }
        }
    }

    #[test]
    fn plain_threads_need_cores_too() {
        let all = ours::programs();
        let of = |name| {
            let found = all.iter().find(|one| one.name == name && one.peer == "stealing-1");
            cores(&Contestant::new(found.expect("it is there"), true, Allocator::System))
        };
        assert_eq!(["counting", "ask_outside", "sends_outside"].map(of), [1, 2, 3]);
    }

    #[test]
    fn who_failed_has_no_rows() {
        let all = programs();
        let one = |failure: Option<&str>| {
            let mut one = Contestant::new(&all[0], true, Allocator::System);
            one.rows.push(Row { ns_per_op: failure.map(|_| 1.0), ..Row::default() });
            one.failure = failure.map(str::to_owned);
            one
        };
        let both = [one(Some("in round 2: why")), one(None)];
        assert!(kept(both.iter()).eq(both[1].rows.clone()));
    }

    #[test]
    fn a_distance_is_over_the_upper_estimate() {
        let cells = PATHS[0].cells(40.0, None);
        assert_eq!(cells[3..], ["40.0", "12 to 20", "2.00", "8", "5.00"]);
        let cells = PATHS[0].cells(f64::NAN, None);
        assert_eq!(cells[3], "not measured here: too few cores");
        assert_eq!(PATHS[0].cells(40.0, Some("in round 2: why"))[3], "failed in round 2: why");
    }

    #[test]
    fn the_programs_run_to_their_end() {
        for program in programs().iter().filter(|program| program.cores == 1) {
            assert!((program.run)(512).as_nanos() > 0, "{program:?}");
        }
    }
}
