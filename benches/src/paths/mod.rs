//! What each way of a message costs, beside what it was estimated to cost and the least it can.
//!
//! The estimates are for one core of 2.5 GHz. A path that needs more cores than there are is named
//! without a figure.

mod coordinator;
mod datagrams;
mod programs;
mod rpc;

use crate::contestant::{Allocator, Contestant};
use crate::machine;
use crate::ours;
use crate::programs::PROGRAMS;
use crate::results::Section;
use crate::rows::Row;
use crate::table::{self, Table};
use greenroom_peers::Program;
use rpc::Rpc;

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
    floor: Floor,
    /// How many times its floor it may take, where that is asked for.
    over_floor: Option<f64>,
}

/// The least that a path can take.
#[derive(Clone, Copy)]
enum Floor {
    /// So many nanoseconds, on any machine.
    Ns(f64),
    /// What that program takes here.
    Of(&'static str),
    /// What is measured with the path itself.
    Beside,
}

const fn path(
    (name, about): (&'static str, &'static str),
    (program, who, n): (&'static str, &'static str, u64),
    times: f64,
    expect_ns: (f64, f64),
    floor_ns: f64,
) -> Path {
    let floor = Floor::Ns(floor_ns);
    Path { name, about, program, who, n, times, without: None, expect_ns, floor, over_floor: None }
}

#[rustfmt::skip]
const PATHS: &[Path] = &[
    path(("P1", "per-core, same core, sync handler"), ("counting", "per_core-1", 1_000_000), 1.0, (12.0, 20.0), 8.0),
    path(("P2", "stealable, same worker"), ("counting", "stealing-1", 1_000_000), 1.0, (28.0, 38.0), 20.0),
    Path {
        floor: Floor::Of("path_work_bare"),
        over_floor: Some(1.03),
        ..path(("P2", "the same, of a handler that works for about 1 µs"), ("path_work", "stealing-1", 200_000), 1.0, (1_000.0, 1_040.0), 0.0)
    },
    Path {
        floor: Floor::Of("path_work_10_bare"),
        ..path(("P2", "the same for about 10 µs"), ("path_work_10", "stealing-1", 20_000), 1.0, (10_000.0, 10_040.0), 0.0)
    },
    Path {
        floor: Floor::Of("path_work_100_bare"),
        ..path(("P2", "the same for about 100 µs"), ("path_work_100", "stealing-1", 2_000), 1.0, (100_000.0, 100_040.0), 0.0)
    },
    path(("P3", "same worker, ping-pong, a hop"), ("ping_pong", "stealing-1", 100_000), 2.0, (45.0, 60.0), 30.0),
    path(("P4", "cross-core stream, ring, u64, batch 256"), ("path_ring", "spsc", 10_000_000), 1.0, (3.0, 4.0), 1.0),
    path(("P5", "the same, 64 bytes"), ("path_ring_64_bytes", "spsc", 5_000_000), 1.0, (15.0, 25.0), 8.0),
    path(("P6", "cross-core stream, linked mailbox"), ("path_stream", "stealing-1", 1_000_000), 1.0, (50.0, 70.0), 47.0),
    path(("P7", "cross-core ping-pong, both spinning, a hop"), ("path_ping_pong", "per_core", 100_000), 2.0, (110.0, 180.0), 50.0),
    path(("P8", "a question from outside, halved, the worker parked"), ("ask_outside", "stealing-1", 20_000), 2.0, (3_000.0, 8_000.0), 1_000.0),
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
    Path {
        floor: Floor::Of("path_datagram_bare"),
        ..path(("P16", "UDP datagram of 64 bytes, sealed, by itself"), ("path_datagram", "udp", 50_000), 1.0, (3_000.0, 5_000.0), 0.0)
    },
    Path {
        floor: Floor::Of("path_datagrams_bare"),
        ..path(("P16", "the same, 64 at a time"), ("path_datagrams", "udp", 320_000), 1.0, (1_000.0, 1_000.0), 0.0)
    },
];

/// The path that no program of this one shows.
#[rustfmt::skip]
const RPC: Path = Path {
    floor: Floor::Beside,
    ..path(("P17", "RPC of 32 bytes over queue pairs, both ends"), ("rpc_cost", "nothing", 0), 1.0, (100.0, 160.0), 0.0)
};

/// The programs of the paths that are no programs of the contest.
pub(crate) fn programs() -> Vec<Program> {
    let all = [programs::programs(), coordinator::programs(), datagrams::programs()];
    all.into_iter().flatten().collect()
}

/// A path, and everybody whose time is needed for its figure.
struct Shown {
    path: &'static Path,
    runner: Contestant,
    without: Option<Contestant>,
    floor: Option<Contestant>,
}

impl Shown {
    /// Who shows `path`: `find` knows everybody.
    fn new(
        path: &'static Path,
        find: impl Fn(&str, &str) -> Result<Contestant, String>,
    ) -> Result<Self, String> {
        let optional = |program: Option<&str>| program.map(|one| find(one, path.who)).transpose();
        let floor = match path.floor {
            Floor::Of(program) => Some(program),
            Floor::Ns(_) | Floor::Beside => None,
        };
        let (without, floor) = (optional(path.without)?, optional(floor)?);
        Ok(Self { path, runner: find(path.program, path.who)?, without, floor })
    }

    fn measure(&mut self, round: usize) {
        let all = std::iter::once(&mut self.runner).chain(&mut self.without).chain(&mut self.floor);
        all.filter(|one| cores(one) <= machine::cores())
            .for_each(|one| one.measure(self.path.n, round));
    }

    fn all(&self) -> impl Iterator<Item = &Contestant> {
        std::iter::once(&self.runner).chain(&self.without).chain(&self.floor)
    }

    /// How much of its floor it takes beside the goal for that.
    fn over_floor(&self) -> Option<String> {
        let over = self.runner.median() / self.floor.as_ref()?.median();
        let found = table::goal(over, self.path.over_floor?);
        let Path { name, about, .. } = self.path;
        over.is_finite().then(|| format!("- {name}, {about}: over its floor {found}\n"))
    }

    fn cells(&self) -> Vec<String> {
        let extra = self.without.as_ref().map_or(0.0, Contestant::median);
        let nanos = (self.runner.median() - extra) / self.path.times;
        // Who failed in one round has figures of others, which are nothing to go by.
        let found = match self.all().find_map(|one| one.failure.as_deref()) {
            Some(why) => Err(format!("failed {why}")),
            None if nanos.is_nan() => Err("not measured here: too few cores".to_owned()),
            None => Ok(nanos),
        };
        let floor_ns = match (self.path.floor, &self.floor) {
            (Floor::Ns(nanos), _) => nanos,
            (_, floor) => floor.as_ref().map_or(f64::NAN, Contestant::median),
        };
        self.path.cells(found, floor_ns)
    }
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
    let shown: Result<Vec<_>, _> = PATHS.iter().map(|path| Shown::new(path, find)).collect();
    let (mut shown, mut rpc) = (shown?, Rpc::default());
    for round in 0..rounds {
        eprintln!("paths: round {} of {rounds}", round + 1);
        shown.iter_mut().for_each(|one| one.measure(round));
        rpc.measure(round);
    }
    let heading = ["path", "what", "bench", "ns", "expect", "over it", "floor", "over it"];
    let mut table = Table::new(&heading);
    shown.iter().for_each(|one| table.row(one.cells()));
    table.row(RPC.cells(rpc.nanos(), rpc.floor_ns()));
    let mut rows: Vec<_> = shown.iter().flat_map(|one| kept(one.all())).collect();
    rows.extend(rpc.rows());
    let text = format!(
        "Medians of {rounds} interleaved rounds; the estimates are for a core of 2.5 GHz, \"over it\" \
         is over the upper one. P16 is from sealing to opening, on one thread of this machine, the runtime's look at its \
         sockets included, by the cipher of the feature `ring`; its floor is the kernel's part, measured beside it: the same \
         datagrams without cipher, those by themselves also without the runtime. P17 is what the transports' example \
         `rpc_cost` finds at depth 64, not sealed, client and server together, over devices in memory; its floor is the \
         same packets put into these devices by hand. What a network card takes is in neither. From process to process \
         both are in other sections: \"Between processes\" and \"Beside perftest\". The floor of a handler that works is its \
         work, without any actor.\n\n{table}\n{}",
        shown.iter().filter_map(Shown::over_floor).collect::<String>(),
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
    /// Its row with what was found, or why nothing was, and the least that it can take.
    fn cells(&self, found: Result<f64, String>, floor_ns: f64) -> Vec<String> {
        let bench = format!("{}/{}", self.program, self.who);
        let (low, high) = self.expect_ns;
        let expect = format!("{low:.0} to {high:.0}");
        let floor = if floor_ns.is_nan() { String::new() } else { format!("{floor_ns:.0}") };
        let mut cells = vec![self.name.to_owned(), self.about.to_owned(), bench];
        cells.extend(match found {
            Ok(nanos) => {
                let over = [nanos / high, nanos / floor_ns].map(|ratio| format!("{ratio:.2}"));
                let [over_high, over_floor] = over;
                [format!("{nanos:.1}"), expect, over_high, floor, over_floor]
            }
            Err(why) => [why, expect, String::new(), floor, String::new()],
        });
        cells
    }
}

#[cfg(test)]
mod tests {
    use super::{Allocator, Contestant, Floor, PATHS, RPC, Shown, cores, kept, programs};
    use crate::ours;
    use crate::rows::Row;
    use greenroom_peers::Program;
    use std::time::Duration;

    #[test]
    fn every_path_has_its_program() {
        let all: Vec<_> = ours::programs().into_iter().chain(programs()).collect();
        for path in PATHS {
            let floor = if let Floor::Of(program) = path.floor { Some(program) } else { None };
            for program in [Some(path.program), path.without, floor].into_iter().flatten() {
                let found = all.iter().any(|one| one.name == program && one.peer == path.who);
                assert!(found, "{program}/{}", path.who);
            }
        }
    }

    #[test]
    fn every_path_of_the_estimates_has_a_row() {
        let mut numbers: Vec<u32> = PATHS
            .iter()
            .chain([&RPC])
            .map(|path| path.name.trim_start_matches('P').parse().expect("a number"))
            .collect();
        numbers.dedup();
        assert!(numbers.into_iter().eq(1..=17));
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
        let cells = PATHS[0].cells(Ok(40.0), 8.0);
        assert_eq!(cells[3..], ["40.0", "12 to 20", "2.00", "8", "5.00"]);
        let shown = |failure: Option<&str>, times: &[f64]| {
            let program = Program::new("counting", "per_core-1", 1, |_| Duration::ZERO);
            let mut runner = Contestant::new(&program, true, Allocator::System);
            let row = |&time| Row { ns_per_op: Some(time), ..Row::default() };
            runner.rows = times.iter().map(row).collect();
            runner.failure = failure.map(str::to_owned);
            Shown { path: &PATHS[0], runner, without: None, floor: None }.cells()
        };
        assert_eq!(shown(None, &[40.0]), cells);
        let none = shown(None, &[]);
        assert_eq!(none[3..], ["not measured here: too few cores", "12 to 20", "", "8", ""]);
        assert_eq!(shown(Some("in round 2: why"), &[40.0])[3], "failed in round 2: why");
    }

    #[test]
    fn a_floor_may_be_what_another_program_takes() {
        let path = PATHS.iter().find(|path| path.program == "path_datagrams").expect("it is there");
        let of = |name, time| {
            let program = Program::new(name, "udp", 1, |_| Duration::ZERO);
            let mut one = Contestant::new(&program, true, Allocator::System);
            one.rows.push(Row { ns_per_op: Some(time), ..Row::default() });
            one
        };
        let (runner, floor) = (of("path_datagrams", 900.0), of("path_datagrams_bare", 300.0));
        let shown = Shown { path, runner, without: None, floor: Some(floor) };
        assert_eq!(shown.cells()[3..], ["900.0", "1000 to 1000", "0.90", "300", "3.00"]);
    }

    #[test]
    fn what_actors_add_to_work_has_a_goal() {
        let path = PATHS.iter().find(|path| path.program == "path_work").expect("it is there");
        let of = |time| {
            let program = Program::new("path_work", "stealing-1", 1, |_| Duration::ZERO);
            let mut one = Contestant::new(&program, true, Allocator::System);
            one.rows.push(Row { ns_per_op: Some(time), ..Row::default() });
            one
        };
        let shown = |runner, floor| {
            Shown { path, runner: of(runner), without: None, floor: Some(of(floor)) }.over_floor()
        };
        let ends = |line: Option<String>, wanted| line.expect("a line").ends_with(wanted);
        assert!(ends(shown(1020.0, 1000.0), "over its floor 1.02, goal 1.03: reached\n"));
        assert!(ends(shown(1040.0, 1000.0), "over its floor 1.04, goal 1.03: missed\n"));
    }

    #[test]
    fn two_cores_are_enough() {
        let all: Vec<_> = ours::programs().into_iter().chain(programs()).collect();
        for path in PATHS {
            let found = all.iter().find(|one| (one.name, one.peer) == (path.program, path.who));
            let found = Contestant::new(found.expect("it is there"), true, Allocator::System);
            assert!(cores(&found) <= 2, "{} is measured on hardly any machine", path.name);
        }
    }

    #[test]
    fn the_programs_run_to_their_end() {
        for program in programs().iter().filter(|program| program.cores == 1) {
            assert!((program.run)(512).as_nanos() > 0, "{program:?}");
        }
    }
}
