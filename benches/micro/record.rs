//! What is kept of each row: Criterion's samples, as rows of the Parquet file and as a table.

use criterion::{Criterion, Throughput};
use greenroom_benches::results::{self, Section};
use greenroom_benches::rows::{self, AGAIN, OURS, Row};
use greenroom_benches::table::{Table, goal, time, verdict};
use greenroom_benches::{machine, stats};
use hdrhistogram::Histogram;
use std::path::PathBuf;
use std::time::Duration;

const SAMPLES: usize = 10;
const WARM_UP: Duration = Duration::from_millis(200);
const MEASUREMENT: Duration = Duration::from_millis(600);
/// Where threads call each other, which takes turns that last.
const OF_GROUPS: Duration = Duration::from_secs(3);
/// What Criterion draws for its bounds.
const RESAMPLES: usize = 2_000;
/// For a histogram: long enough for a million cycles.
const LONG_MEASUREMENT: Duration = Duration::from_secs(5);

/// A program: what every contestant does.
pub(crate) struct Program {
    /// Its name, and its parameters.
    pub(crate) name: String,
    /// Threads it needs at once.
    pub(crate) threads: usize,
    /// Operations of one time.
    pub(crate) ops: u64,
    /// Nanoseconds that an operation is to take at most.
    pub(crate) goal_ns: Option<f64>,
    /// How long all samples take.
    measurement: Duration,
}

impl Program {
    /// On one thread.
    pub(crate) fn new(name: impl Into<String>, ops: u64) -> Self {
        let measurement = MEASUREMENT;
        Self { name: name.into(), threads: 1, ops, goal_ns: None, measurement }
    }

    /// On several threads.
    pub(crate) fn on(self, threads: usize) -> Self {
        Self { threads, ..self }
    }

    /// Of a group whose threads call each other.
    pub(crate) fn of_a_group(self) -> Self {
        Self { measurement: OF_GROUPS, ..self }
    }

    /// With a goal.
    pub(crate) fn goal_ns(self, goal_ns: f64) -> Self {
        Self { goal_ns: Some(goal_ns), ..self }
    }
}

/// Times of single cycles, in nanoseconds.
pub(crate) type Times = Histogram<u64>;

/// An empty histogram, up to a second.
pub(crate) fn times() -> Times {
    Times::new_with_max(1_000_000_000, 3).expect("the bounds are valid")
}

/// What a contestant found in one program; no rows where it was not measured.
struct Found {
    program: String,
    who: String,
    goal_ns: Option<f64>,
    has_quantiles: bool,
    /// The cycles of all samples together.
    cycles: Times,
    rows: Vec<Row>,
}

/// How often one contestant is to do in a time what another one does once, at least.
pub(crate) struct Rate {
    /// The program.
    pub(crate) program: String,
    /// Ours; the best of them counts.
    pub(crate) ours: &'static [&'static str],
    /// Whom they are measured against.
    pub(crate) theirs: &'static str,
    /// How often, at least.
    pub(crate) least: f64,
}

impl Rate {
    /// Whether everybody whom it names was found in the program: otherwise it would be silent, and never missed.
    fn is_of(&self, found: &[Found]) -> bool {
        let has = |who: &str| found.iter().any(|one| one.program == self.program && one.who == who);
        has(self.theirs) && self.ours.iter().all(|who| has(who))
    }

    /// A line that says what was found; `None` where it was not measured.
    fn verdict(&self, found: &[Found]) -> Option<String> {
        let of = |who: &str| {
            let found = found.iter().find(|one| one.program == self.program && one.who == who)?;
            Some(median(&found.rows, |row| row.ns_per_op)).filter(|nanos| nanos.is_finite())
        };
        let theirs = of(self.theirs)?;
        let ours = self.ours.iter().filter_map(|who| Some((of(who)?, who)));
        let (nanos, who) = ours.min_by(|one, other| one.0.total_cmp(&other.0))?;
        let (rate, Self { program, theirs, least, .. }) = (theirs / nanos, self);
        let reached = if rate >= *least { "reached" } else { "missed" };
        Some(format!("- {program}: {who} {rate:.2} of {theirs}, goal {least:.2}: {reached}\n"))
    }
}

/// What follows from medians.
type Figure = Box<dyn Fn(&[f64]) -> f64>;

/// What a figure that follows from several rows of one contestant may be at most.
pub(crate) struct Follows {
    about: String,
    who: &'static str,
    programs: Vec<String>,
    figure: Figure,
    most: f64,
}

impl Follows {
    /// By those programs of that contestant; the figure is the first one's median, until something else is said.
    pub(crate) fn new(
        about: &str,
        who: &'static str,
        programs: impl IntoIterator<Item = String>,
        most: f64,
    ) -> Self {
        let (about, programs) = (about.to_owned(), programs.into_iter().collect());
        Self { about, who, programs, figure: Box::new(|times| times[0]), most }
    }

    /// The figure by the medians of the programs, in nanoseconds, in their order.
    pub(crate) fn by(self, figure: impl Fn(&[f64]) -> f64 + 'static) -> Self {
        Self { figure: Box::new(figure), ..self }
    }

    fn medians(&self, found: &[Found]) -> Vec<f64> {
        let of = |program: &String| {
            let found = found.iter().find(|one| one.program == *program && one.who == self.who)?;
            Some(median(&found.rows, |row| row.ns_per_op))
        };
        self.programs.iter().filter_map(of).collect()
    }

    /// Whether all rows were found in which it is.
    fn is_of(&self, found: &[Found]) -> bool {
        self.medians(found).len() == self.programs.len()
    }

    /// A line that says what was found; `None` where a row was not measured.
    fn verdict(&self, found: &[Found]) -> Option<String> {
        let medians = self.medians(found);
        let is_whole = self.is_of(found) && medians.iter().all(|nanos| nanos.is_finite());
        let Self { about, who, figure, most, .. } = self;
        is_whole.then(|| format!("- {about}: {who} {}\n", goal(figure(&medians), *most)))
    }
}

/// The run: Criterion, and what it has measured so far.
pub(crate) struct Micro {
    criterion: Criterion,
    /// Whether every row runs once, to see that it does.
    is_test: bool,
    /// What the command line says, without what cargo adds itself.
    args: Vec<String>,
    /// Where the tables go, beside the screen.
    out: Option<PathBuf>,
    /// Since the last table.
    found: Vec<Found>,
    rows: Vec<Row>,
    text: String,
}

impl Micro {
    /// With the options of the command line, which are Criterion's.
    ///
    /// # Errors
    /// A sentence for the user, when `BENCH_OUT` would keep a part of the rows.
    pub(crate) fn from_args() -> Result<Self, String> {
        let has = |wanted: &str| std::env::args().any(|arg| arg == wanted);
        let is_test = has("--test") || !has("--bench");
        let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
        let mut out = None;
        if !is_test {
            // Before anything is measured: what cannot be kept would cost minutes.
            out = results::whole(std::env::var_os("BENCH_OUT").map(PathBuf::from), &args)?;
            // Before anything else, since it says how busy the machine was until now.
            machine::facts();
        }
        let criterion = Criterion::default()
            .sample_size(SAMPLES)
            .warm_up_time(WARM_UP)
            .measurement_time(MEASUREMENT)
            .nresamples(RESAMPLES)
            .without_plots()
            .configure_from_args();
        let (found, rows, text) = (Vec::new(), Vec::new(), String::new());
        Ok(Self { criterion, is_test, args, out, found, rows, text })
    }

    /// Measures what one contestant does in a program: `run` does it so many times, and says how long
    /// that took.
    pub(crate) fn row(
        &mut self,
        program: &Program,
        who: &str,
        mut run: impl FnMut(u64) -> Duration,
    ) {
        self.measure(program, who, program.measurement, |times| (run(times), None));
    }

    /// The same where `run` also times each cycle.
    pub(crate) fn histogram(
        &mut self,
        program: &Program,
        who: &str,
        mut run: impl FnMut(u64) -> (Duration, Times),
    ) {
        self.measure(program, who, LONG_MEASUREMENT, |times| {
            let (took, cycles) = run(times);
            (took, Some(cycles))
        });
    }

    fn measure(
        &mut self,
        program: &Program,
        who: &str,
        long: Duration,
        mut run: impl FnMut(u64) -> (Duration, Option<Times>),
    ) {
        let mut found = Found {
            program: program.name.clone(),
            who: who.to_owned(),
            goal_ns: program.goal_ns,
            has_quantiles: long == LONG_MEASUREMENT,
            cycles: times(),
            rows: Vec::new(),
        };
        if program.threads > machine::cores() {
            return self.found.push(found);
        }
        let mut samples = Vec::new();
        let mut group = self.criterion.benchmark_group(&program.name);
        group.throughput(Throughput::Elements(program.ops)).measurement_time(long);
        group.bench_function(who, |bencher| {
            bencher.iter_custom(|times| {
                let (took, cycles) = run(times);
                samples.push((times * program.ops, took, cycles));
                took
            });
        });
        group.finish();
        // It was left out.
        if samples.is_empty() {
            return;
        }
        if self.is_test {
            return self.found.push(found);
        }
        // What came before was the warm-up.
        let warm_up = samples.len().saturating_sub(SAMPLES);
        samples.drain(..warm_up);
        for cycles in samples.iter().filter_map(|(.., cycles)| cycles.as_ref()) {
            found.cycles.add(cycles).expect("their bounds are the same");
        }
        let rounds = samples.into_iter().enumerate();
        found.rows.extend(rounds.map(|(round, sample)| row(program, who, round, sample)));
        self.found.push(found);
    }

    /// Ends a group of programs, and makes their tables; behind them whether each rate in `goals` was reached, and what
    /// `follows` from several rows.
    pub(crate) fn table(
        &mut self,
        heading: &str,
        about: &str,
        goals: &[Rate],
        follows: &[Follows],
    ) {
        let found = std::mem::take(&mut self.found);
        if self.is_test && self.args.is_empty() {
            for goal in goals {
                assert!(goal.is_of(&found), "nobody does {} who has a goal in it", goal.program);
            }
            for goal in follows {
                assert!(goal.is_of(&found), "{} has no row for: {}", goal.who, goal.about);
            }
        }
        let rates = goals.iter().filter_map(|goal| goal.verdict(&found));
        let verdicts: String =
            rates.chain(follows.iter().filter_map(|goal| goal.verdict(&found))).collect();
        if self.is_test || found.iter().all(|found| found.rows.is_empty()) {
            return;
        }
        let (found, missing): (Vec<_>, Vec<_>) =
            found.into_iter().partition(|found| !found.rows.is_empty());
        let (cycles, plain): (Vec<_>, Vec<_>) =
            found.into_iter().partition(|found| found.has_quantiles);
        self.text.push_str(&format!("### {heading}\n\n{about}\n\n{}\n", medians(&plain)));
        if !cycles.is_empty() {
            self.text.push_str(&format!("{}\n", quantiles(&cycles)));
        }
        if !verdicts.is_empty() {
            self.text.push_str(&format!("{verdicts}\n"));
        }
        if !missing.is_empty() {
            let missing = in_order(missing.iter().map(|found| &found.program));
            let missing: Vec<&str> = missing.into_iter().map(String::as_str).collect();
            let list = missing.join("; ");
            self.text.push_str(&format!("Not measured here, for want of cores: {list}.\n\n"));
        }
        self.rows.extend(plain.into_iter().chain(cycles).flat_map(|found| found.rows));
    }

    /// Keeps what was found: the rows in the Parquet file, the tables on the screen and where
    /// `BENCH_OUT` says.
    pub(crate) fn finish(self) {
        self.criterion.final_summary();
        if self.rows.is_empty() {
            return;
        }
        let text = format!(
            "Medians of {SAMPLES} samples of Criterion (least to most), nanoseconds per operation; a goal is for the \
             median of ours. What needs more threads than there are cores is named without a figure.{}\n\n{}",
            interrupted(machine::facts().policy.as_deref()),
            self.text
        );
        let args = self.args.join(" ");
        let args = if args.is_empty() { args } else { format!(" -- {args}") };
        let command = format!("cargo bench -p greenroom-benches --bench micro{args}");
        let section = Section { heading: "Queues alone", command, text, rows: self.rows };
        let file = folder().join("micro.parquet");
        rows::write(&section.rows, &file).expect("the folder of the target can be written");
        println!("{}every sample is in {}", section.text, file.display());
        if let Some(out) = self.out {
            section.write(&out).expect("the file that BENCH_OUT names can be written");
        }
    }
}

/// What that policy does to the most of a histogram.
fn interrupted(policy: Option<&str>) -> &'static str {
    match policy {
        Some(policy) if policy.starts_with("SCHED_RR") || policy.starts_with("SCHED_FIFO") => {
            " Under this scheduling policy the kernel takes the core away for 50 ms of each second, which is `max` in \
             each row: the worst case is not measured."
        }
        _ => "",
    }
}

/// The folder `bench` in that of the target.
fn folder() -> PathBuf {
    let exe = std::env::current_exe().expect("this program is somewhere");
    let target = exe.ancestors().nth(3).expect("this program is in PROFILE/deps of the target");
    target.join("bench")
}

#[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
fn row(
    program: &Program,
    who: &str,
    round: usize,
    (n, took, cycles): (u64, Duration, Option<Times>),
) -> Row {
    let quantile = |share| Some(cycles.as_ref()?.value_at_quantile(share) as f64);
    Row {
        command: "micro".to_owned(),
        scheduler: if is_ours(who) { who.trim_end_matches(AGAIN) } else { "" }.to_owned(),
        library: if is_ours(who) { OURS } else { who }.to_owned(),
        workers: i64::try_from(program.threads).ok(),
        round: i64::try_from(round).ok(),
        n: i64::try_from(n).ok(),
        nanos: i64::try_from(took.as_nanos()).ok(),
        ns_per_op: Some(took.as_nanos() as f64 / n as f64),
        p50_ns: quantile(0.5),
        p95_ns: quantile(0.95),
        p99_ns: quantile(0.99),
        p999_ns: quantile(0.999),
        max_ns: quantile(1.0),
        ..Row::here(&program.name, who)
    }
}

fn is_ours(who: &str) -> bool {
    !super::spsc::PEERS.contains(&who)
}

/// The median over the rounds; `NaN` of nothing.
fn median(rows: &[Row], figure: impl Fn(&Row) -> Option<f64>) -> f64 {
    stats::median(&rows.iter().filter_map(figure).collect::<Vec<_>>())
}

fn in_order<'a>(names: impl Iterator<Item = &'a String>) -> Vec<&'a String> {
    let mut all: Vec<&String> = Vec::new();
    for name in names {
        if !all.contains(&name) {
            all.push(name);
        }
    }
    all
}

/// A line for each program, a column for each contestant.
fn medians(found: &[Found]) -> Table {
    let who = in_order(found.iter().map(|found| &found.who));
    let heading: Vec<&str> =
        ["program", "goal"].into_iter().chain(who.iter().map(|who| who.as_str())).collect();
    let mut table = Table::new(&heading);
    for program in in_order(found.iter().map(|found| &found.program)) {
        let of = |who: &String| {
            found.iter().find(|found| found.program == *program && found.who == *who)
        };
        let of_program =
            found.iter().filter(|found| found.program == *program && is_ours(&found.who));
        let goals: Vec<String> =
            of_program.filter_map(|found| Some(found.goal_ns?.to_string())).collect();
        let goals: Vec<&str> = in_order(goals.iter()).into_iter().map(String::as_str).collect();
        let mut cells = vec![program.clone(), goals.join(" or ")];
        cells.extend(who.iter().map(|who| of(who).map_or_else(String::new, cell)));
        table.row(cells);
    }
    table
}

/// The median between least and most; of ours where there is a goal also whether the median reaches it.
fn cell(found: &Found) -> String {
    let times: Vec<f64> = found.rows.iter().filter_map(|row| row.ns_per_op).collect();
    let (least, nanos, most) = (stats::least(&times), stats::median(&times), stats::most(&times));
    let goal = found.goal_ns.filter(|_| is_ours(&found.who));
    let verdict = goal.map_or_else(String::new, |goal| format!(", {}", verdict(nanos, goal)));
    format!("{nanos:.1} ({least:.1} to {most:.1}){verdict}")
}

/// A line for each program and contestant, a column for each quantile of all its cycles.
#[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
fn quantiles(found: &[Found]) -> Table {
    let mut table =
        Table::new(&["program", "goal", "who", "cycles", "p50", "p95", "p99", "p99.9", "max"]);
    for found in found {
        let goal = found.goal_ns.map_or_else(String::new, time);
        let of = |share| time(found.cycles.value_at_quantile(share) as f64);
        let named =
            [found.program.clone(), goal, found.who.clone(), found.cycles.len().to_string()];
        table.row(named.into_iter().chain([0.5, 0.95, 0.99, 0.999, 1.0].map(of)));
    }
    table
}
