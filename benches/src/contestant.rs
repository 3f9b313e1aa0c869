//! One line of a contest: a program as one library runs it, and what was measured of it.

use crate::ours::{self, SPINNING, Setting};
use crate::programs::PROGRAMS;
use crate::rows::{AGAIN, OURS, Row};
use crate::{child, stats};
use greenroom_peers::{Program, programs as peers_programs};
use std::env;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

/// How long one measurement may take of a program's usual size.
const LIMIT: Duration = Duration::from_secs(60);
/// How many times as long it may take at most when there is more to do: who does not end is to be found out in the end.
const LONGER_MAX: u32 = 10;

/// Which of ours is the default.
const DEFAULT: &str = "auto";

/// What are no actor frameworks, but bare tasks and channels.
const BARE: [&str; 2] = ["go", "tokio"];

/// The programs in which somebody is faster by mimalloc by a tenth: there everybody has a row with that.
const BY_MIMALLOC: [&str; 12] = [
    "counting",
    "fan_in",
    "fork_join_create",
    "skynet",
    "idle_million",
    "savina_barber",
    "savina_fib",
    "savina_quicksort",
    "savina_recmatmul",
    "savina_nqueenk",
    "savina_uct",
    "savina_apsp",
];

/// Whose allocator serves the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Allocator {
    /// The system's.
    System,
    /// mimalloc, in the `bench-mimalloc` program.
    Mimalloc,
}

impl Allocator {
    /// The program that measures with this allocator, if it was built.
    pub(crate) fn executable(self) -> Option<PathBuf> {
        let this = env::current_exe().ok()?;
        match self {
            Self::System => Some(this),
            Self::Mimalloc => {
                Some(this.with_file_name("bench-mimalloc")).filter(|path| path.exists())
            }
        }
    }
}

/// A program of one library with its settings.
#[derive(Clone, Debug)]
pub(crate) struct Contestant {
    /// What it does.
    pub(crate) program: &'static str,
    /// The library and its settings.
    pub(crate) who: &'static str,
    /// How many threads it keeps busy.
    pub(crate) cores: usize,
    /// Whether it is greenroom's.
    pub(crate) ours: bool,
    /// Whose allocator serves it.
    pub(crate) allocator: Allocator,
    /// A row for each round.
    pub(crate) rows: Vec<Row>,
    /// A row for each round in which it was measured once more, as if it were somebody else.
    pub(crate) again: Vec<Row>,
    /// In which round it failed, and how; there are no more rows then.
    pub(crate) failure: Option<String>,
}

impl Contestant {
    pub(crate) fn new(program: &Program, ours: bool, allocator: Allocator) -> Self {
        let (name, who, cores) = (program.name, program.peer, program.cores);
        let (rows, again) = (Vec::new(), Vec::new());
        Self { program: name, who, cores, ours, allocator, rows, again, failure: None }
    }

    /// Everybody who has the program, ours first and the default setting first of ours.
    pub(crate) fn all(program: &str) -> Vec<Self> {
        let of =
            |programs: Vec<Program>| programs.into_iter().filter(|known| known.name == program);
        let ours = of(ours::programs()).map(|one| (one, true));
        let all: Vec<_> = ours.chain(of(peers_programs()).map(|one| (one, false))).collect();
        let system = all.iter().map(|(one, ours)| Self::new(one, *ours, Allocator::System));
        let gains = all.iter().filter(|(one, ours)| {
            BY_MIMALLOC.contains(&one.name) || !ours && one.peer.starts_with("tokio")
        });
        let mimalloc = gains.map(|(one, ours)| Self::new(one, *ours, Allocator::Mimalloc));
        system.chain(mimalloc).collect()
    }

    /// What it is called in tables.
    pub(crate) fn label(&self) -> String {
        match self.allocator {
            Allocator::System => self.who.to_owned(),
            Allocator::Mimalloc => format!("{}+mimalloc", self.who),
        }
    }

    /// The library, without its settings.
    pub(crate) fn library(&self) -> &'static str {
        if self.ours { OURS } else { self.who.split('-').next().unwrap_or(self.who) }
    }

    /// Whether it is an actor framework of somebody else.
    pub(crate) fn is_framework(&self) -> bool {
        !self.ours && !self.is_bare()
    }

    /// Whether it is no framework at all.
    pub(crate) fn is_bare(&self) -> bool {
        !self.ours && BARE.contains(&self.library())
    }

    /// Whether it is greenroom as one gets it without a word.
    pub(crate) fn is_default(&self) -> bool {
        self.ours && self.who == DEFAULT
    }

    /// Whether its workers look for what comes before they sleep.
    pub(crate) fn spins(&self) -> bool {
        self.ours && self.who.ends_with(SPINNING)
    }

    /// The median nanoseconds of an operation; `NaN` when there is none.
    pub(crate) fn median(&self) -> f64 {
        stats::median(&times(&self.rows))
    }

    /// Its second measurements over its first ones in the same rounds, if there are any.
    pub(crate) fn control(&self) -> Option<f64> {
        let both = |row: &&Row| self.again.iter().any(|again| again.round == row.round);
        let first = times(self.rows.iter().filter(both));
        let ratio = stats::median(&times(&self.again)) / stats::median(&first);
        Some(ratio).filter(|ratio| ratio.is_finite())
    }

    /// How far that is from 1.
    pub(crate) fn deviation(&self) -> Option<f64> {
        self.control().map(|ratio| (ratio - 1.0).abs())
    }

    /// A row without figures.
    pub(crate) fn blank(&self) -> Row {
        let setting = if self.ours { Setting::named(self.who) } else { None };
        let which =
            if self.ours { setting.map_or(self.who, |setting| setting.scheduler) } else { "" };
        let allocator = match self.allocator {
            Allocator::System => "system",
            Allocator::Mimalloc => "mimalloc",
        };
        Row {
            library: self.library().to_owned(),
            scheduler: which.to_owned(),
            workers: i64::try_from(setting.map_or(self.cores, |setting| setting.workers)).ok(),
            allocator: allocator.to_owned(),
            ..Row::here(self.program, self.who)
        }
    }

    /// Runs it once more, in a process of its own, unless it failed before.
    pub(crate) fn measure(&mut self, n: u64, round: usize) {
        if let Some(row) = self.measured(n, round) {
            self.rows.push(row);
        }
    }

    /// The same a second time in a round, as if it were somebody else.
    pub(crate) fn measure_again(&mut self, n: u64, round: usize) {
        if let Some(row) = self.measured(n, round) {
            let who = format!("{}{AGAIN}", row.who);
            self.again.push(Row { who, ..row });
        }
    }

    fn measured(&mut self, n: u64, round: usize) -> Option<Row> {
        if self.failure.is_none() {
            match self.once(n) {
                Ok((nanos, bytes)) => return Some(self.row(n, round, nanos, bytes)),
                Err(why) => {
                    let why = format!("in round {}: {why}", round + 1);
                    eprintln!("{}/{} failed {why}", self.program, self.label());
                    self.failure = Some(why);
                }
            }
        }
        None
    }

    #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
    fn row(&self, n: u64, round: usize, nanos: u64, bytes_each: Option<f64>) -> Row {
        Row {
            round: i64::try_from(round).ok(),
            n: i64::try_from(n).ok(),
            nanos: i64::try_from(nanos).ok(),
            ns_per_op: Some(nanos as f64 / n as f64),
            bytes_each,
            ..self.blank()
        }
    }

    fn once(&self, n: u64) -> Result<(u64, Option<f64>), String> {
        let exe = self.allocator.executable().ok_or("bench-mimalloc is not built")?;
        let name = format!("{}/{}", self.program, self.who);
        let mut command = Command::new(exe);
        command.args(["one", &name, &n.to_string()]);
        let limit = limit(self.program, n);
        let child = child::output(&mut command, limit).map_err(|error| error.to_string())?;
        let said = String::from_utf8_lossy(&child.stderr);
        let nanos = String::from_utf8_lossy(&child.stdout).trim().parse();
        let nanos =
            nanos.map_err(|_| said.lines().next().unwrap_or("it said nothing").to_owned())?;
        Ok((nanos, said_bytes_each(&said)))
    }
}

/// How long `n` operations of that program may take.
fn limit(program: &str, n: u64) -> Duration {
    let usual = PROGRAMS.iter().find(|row| row.name == program).map_or(n, |row| row.n);
    let times = u32::try_from(n / usual.max(1)).unwrap_or(LONGER_MAX);
    LIMIT * times.clamp(1, LONGER_MAX)
}

/// Nanoseconds per operation, one value for each row.
pub(crate) fn times<'a>(rows: impl IntoIterator<Item = &'a Row>) -> Vec<f64> {
    rows.into_iter().filter_map(|row| row.ns_per_op).collect()
}

/// What one idle actor added to the process, if the program says so.
pub(crate) fn bytes_each(rows: &[Row]) -> Option<f64> {
    let bytes: Vec<f64> = rows.iter().filter_map(|row| row.bytes_each).collect();
    (!bytes.is_empty()).then(|| stats::median(&bytes))
}

/// The figure of a line `bytes-each N`.
fn said_bytes_each(said: &str) -> Option<f64> {
    said.lines().find_map(|line| line.strip_prefix("bytes-each ")?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::{Allocator, Contestant, limit, said_bytes_each};
    use greenroom_peers::Program;
    use std::time::Duration;

    fn contestant(who: &'static str, ours: bool) -> Contestant {
        let program = Program::new("ask", who, 2, |_| Duration::ZERO);
        Contestant::new(&program, ours, Allocator::System)
    }

    #[test]
    fn a_library_is_told_from_its_settings() {
        assert_eq!(contestant("tokio-1-many", false).library(), "tokio");
        assert_eq!(contestant("stealing-1", true).library(), "greenroom");
        assert!(contestant("tokio-bounded", false).is_bare());
        assert!(contestant("actix-2", false).is_framework());
        let ours = contestant("auto", true);
        assert!(!ours.is_bare() && !ours.is_framework() && !ours.spins());
        assert!(contestant("auto-1-spinning", true).spins());
    }

    #[test]
    fn where_ours_have_mimalloc_everybody_has() {
        let with = |program, allocator| {
            let all = Contestant::all(program).into_iter();
            let all = all.filter(|one| one.allocator == allocator);
            all.map(|one| one.who).collect::<Vec<_>>()
        };
        let idle = with("idle_million", Allocator::System);
        assert_eq!(with("idle_million", Allocator::Mimalloc), idle);
        assert!(idle.contains(&"auto") && idle.contains(&"actix") && idle.contains(&"tokio"));
        let ask = with("ask", Allocator::Mimalloc);
        assert!(!ask.is_empty() && ask.iter().all(|who| who.starts_with("tokio")), "{ask:?}");
    }

    #[test]
    fn a_row_names_the_scheduler() {
        let row = contestant("locked-1-bounded", true).blank();
        assert_eq!((row.scheduler.as_str(), row.workers), ("locked", Some(1)));
        assert_eq!(contestant("actix", false).blank().workers, Some(2));
        assert_eq!(contestant("actix", false).blank().scheduler, "");
        assert_eq!(contestant("spsc", true).blank().scheduler, "spsc", "there are no actors");
    }

    #[test]
    fn a_larger_size_may_take_longer() {
        let seconds = |n| limit("savina_uct", n).as_secs();
        assert_eq!([1, 200_000, 600_000, 2_000_000_000].map(seconds), [60, 60, 180, 600]);
        assert_eq!(limit("path_ring", 5).as_secs(), 60);
    }

    #[test]
    fn bytes_of_an_idle_actor_are_read() {
        assert_eq!(said_bytes_each("noise\nbytes-each 312\n"), Some(312.0));
        assert_eq!(said_bytes_each("noise"), None);
    }
}
