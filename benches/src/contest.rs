//! Programs against each other: every measurement in a process of its own, rounds interleaved, so that
//! no contestant inherits another's threads or heap and all of them see the same noise.
//!
//! The system's allocator serves everyone. Rows marked `+mimalloc` run in the `bench-mimalloc` program,
//! which is the same but for its allocator; no peer's documents ask for it, but users of tokio often
//! choose it.

use crate::programs::{PROGRAMS, Row};
use crate::results::Section;
use crate::{child, machine, ours, stats};
use greenroom_peers::{Program, programs as peers_programs};
use std::env;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

/// How long one measurement may take.
const LIMIT: Duration = Duration::from_secs(60);

/// One line of a table.
struct Contestant {
    program: &'static str,
    who: &'static str,
    cores: usize,
    ours: bool,
    allocator: Allocator,
    nanos: Vec<f64>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Allocator {
    System,
    Mimalloc,
}

impl Contestant {
    fn new(program: &Program, ours: bool, allocator: Allocator) -> Self {
        let (name, who, cores) = (program.name, program.peer, program.cores);
        Self { program: name, who, cores, ours, allocator, nanos: Vec::new() }
    }

    fn label(&self) -> String {
        match self.allocator {
            Allocator::System => self.who.to_owned(),
            Allocator::Mimalloc => format!("{}+mimalloc", self.who),
        }
    }

    fn median(&self) -> f64 {
        stats::median(&mut self.nanos.clone())
    }

    /// Runs it once more, in a process of its own.
    #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
    fn measure(&mut self, n: u64) -> Result<(), String> {
        let exe = executable(self.allocator).ok_or("bench-mimalloc is not built")?;
        let name = format!("{}/{}", self.program, self.who);
        let mut command = Command::new(exe);
        command.args(["one", &name, &n.to_string()]);
        let child =
            child::output(&mut command, LIMIT).map_err(|error| format!("{name}: {error}"))?;
        let text = String::from_utf8_lossy(&child.stdout);
        let nanos: u64 = text.trim().parse().map_err(|_| {
            format!("{name} failed: {}", String::from_utf8_lossy(&child.stderr).trim())
        })?;
        self.nanos.push(nanos as f64 / n as f64);
        Ok(())
    }
}

/// The program that measures with that allocator, if it was built.
fn executable(allocator: Allocator) -> Option<PathBuf> {
    let this = env::current_exe().ok()?;
    match allocator {
        Allocator::System => Some(this),
        Allocator::Mimalloc => {
            Some(this.with_file_name("bench-mimalloc")).filter(|path| path.exists())
        }
    }
}

/// Runs `PROGRAM/WHO` here and now; the answer is in nanoseconds.
///
/// # Errors
/// When there is no such program, or `n` is no number.
pub fn one(name: &str, n: &str) -> Result<String, String> {
    let n = n.parse().map_err(|_| format!("not a number of operations: {n}"))?;
    let mut programs = ours::programs().into_iter().chain(peers_programs());
    let program = programs
        .find(|program| format!("{program:?}") == name)
        .ok_or_else(|| format!("no such program: {name}"))?;
    Ok((program.run)(n).as_nanos().to_string())
}

/// Every program of every contestant.
#[must_use]
pub fn list() -> String {
    let programs = ours::programs().into_iter().chain(peers_programs());
    programs.map(|program| format!("{program:?}\n")).collect()
}

/// Runs the programs called `names`, or all, and makes a table of each.
///
/// # Errors
/// When there is no such program, or a measurement fails.
pub fn section(names: &[&str], rounds: usize) -> Result<Section, String> {
    if let Some(name) = names.iter().find(|name| !PROGRAMS.iter().any(|row| row.name == **name)) {
        return Err(format!("no such program: {name}"));
    }
    let mut text = format!(
        "Median nanoseconds per operation of {rounds} interleaved rounds, a process for each \
         measurement; ratios are ours over theirs, so below 1 is faster. Allocator: the system's, \
         unless a row says mimalloc.\n",
    );
    for row in PROGRAMS {
        if names.is_empty() || names.contains(&row.name) {
            text.push_str(&compete(row, rounds)?);
        }
    }
    let mut command = vec!["run"];
    command.extend(names);
    Ok(Section::new("Programs", &command, text))
}

fn contestants(program: &str) -> Vec<Contestant> {
    let of = |programs: Vec<Program>| programs.into_iter().filter(|known| known.name == program);
    let ours =
        of(ours::programs()).map(|program| Contestant::new(&program, true, Allocator::System));
    let peers: Vec<_> = of(peers_programs()).collect();
    let with_mimalloc = peers
        .iter()
        .filter(|peer| peer.peer.starts_with("tokio"))
        .map(|peer| Contestant::new(peer, false, Allocator::Mimalloc));
    let peers = peers.iter().map(|peer| Contestant::new(peer, false, Allocator::System));
    ours.chain(peers).chain(with_mimalloc).collect()
}

fn compete(row: &Row, rounds: usize) -> Result<String, String> {
    let (program, n) = (row.name, row.n);
    let mimalloc = executable(Allocator::Mimalloc).is_some();
    let (mut runners, mut absent): (Vec<_>, Vec<_>) =
        contestants(program).into_iter().partition(|one| {
            one.cores <= machine::cores() && (mimalloc || one.allocator == Allocator::System)
        });
    // The control: the first of ours once more, as if it were somebody else.
    let control = ours::programs().into_iter().find(|known| known.name == program);
    let mut control = control.map(|control| Contestant::new(&control, true, Allocator::System));
    for round in 0..rounds {
        eprintln!("{program}: round {} of {rounds}", round + 1);
        // Each round starts with another one, so that nobody always follows the same neighbour.
        let count = runners.len();
        for turn in 0..count {
            runners[(turn + round) % count].measure(n)?;
        }
        if let Some(control) = &mut control {
            control.measure(n)?;
        }
    }
    let of_control = runners.iter().find(|one| one.ours).map_or(f64::NAN, Contestant::median);
    let control = control.map_or(f64::NAN, |again| again.median() / of_control);
    runners.sort_by(|a, b| a.median().total_cmp(&b.median()));
    absent.sort_by_key(Contestant::label);
    Ok(table(row, &runners, &absent, control))
}

fn best(of: &[Contestant], which: impl Fn(&Contestant) -> bool) -> Option<&Contestant> {
    // They are sorted by their medians.
    of.iter().find(|one| which(one))
}

fn table(row: &Row, runners: &[Contestant], absent: &[Contestant], control: f64) -> String {
    let ours = best(runners, |one| one.ours);
    let our_median = ours.map_or(f64::NAN, Contestant::median);
    let mut text = format!(
        "\n### {}\n\nn = {}.\n\n| who | ns per {} | least | most | ours over it |\n\
         |---|---|---|---|---|\n",
        row.name, row.n, row.unit,
    );
    for one in runners {
        let least = one.nanos.iter().copied().fold(f64::INFINITY, f64::min);
        let most = one.nanos.iter().copied().fold(0.0, f64::max);
        let (label, median) = (one.label(), one.median());
        let label = if one.ours { format!("**{label}**") } else { label };
        let ratio = our_median / median;
        text.push_str(&format!(
            "| {label} | {median:.1} | {least:.1} | {most:.1} | {ratio:.2} |\n"
        ));
    }
    for one in absent {
        let why = if one.cores > machine::cores() {
            format!("not measured here: needs {} cores", one.cores)
        } else {
            "not measured: build bench-mimalloc first".to_owned()
        };
        text.push_str(&format!("| {} | {why} | | | |\n", one.label()));
    }
    text.push('\n');
    let rivals =
        [("best peer", Allocator::System), ("best peer with mimalloc", Allocator::Mimalloc)];
    for (title, allocator) in rivals {
        let rival = best(runners, |one| !one.ours && one.allocator == allocator);
        if let (Some(ours), Some(rival)) = (ours, rival) {
            let ratio = our_median / rival.median();
            let goal = match allocator {
                Allocator::System if ratio <= row.goal => {
                    format!(", goal {:.2}: reached", row.goal)
                }
                Allocator::System => format!(", goal {:.2}: missed", row.goal),
                Allocator::Mimalloc => String::new(),
            };
            let (ours, rival) = (ours.label(), rival.label());
            text.push_str(&format!("- {ours} over the {title}, {rival}: {ratio:.2}{goal}\n"));
        }
    }
    text.push_str(&format!("- A/A control, the same program against itself: {control:.2}\n"));
    text
}
