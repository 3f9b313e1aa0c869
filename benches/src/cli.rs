//! The commands of `bench`.

use crate::rows::Row;
use crate::{
    advise, auto, charts, compare, contest, counters, events, far, idle, instructions, kv, machine,
    net, overload, paths, rows, secure, sim, wake,
};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

/// What `bench` prints when it is called wrongly.
pub const USAGE: &str = "\
usage: bench COMMAND [NAME…] [OPTION…]

  run [NAME…]           the programs: greenroom under each scheduler against its peers
  large [NAME…]         Savina's programs with about a hundred times the work, by those who are near the best of
                        their kind with the usual work
  instructions [NAME…]  the same, instructions per operation (needs valgrind)
  paths                 what each way of a message costs, beside its estimate and the least
  idle                  what 10,000 idle actors cost
  wake                  how long a message waits for a worker that spins or sleeps
  counters              what the processor counts in a ring, where it shows that: instructions a cycle and misses
  sim                   steps of a simulated world in a second of one core (needs valgrind)
  events                what events cost with and without a listener
  overload              memory while 10,000 producers send to one slow actor
  net [WORK…]           messages between processes (ask, tell, bulk) beside TCP, TLS, QUIC and bare UDP
  far                   questions beside a bulk flow on a long path that loses, beside QUIC
  secure                ciphers, handshakes, associations with nothing to say, the limiter, a flood
  kv                    the kv server against redis-server (needs redis-server, redis-tools)
  advise [TRACE…]       replays traces or patterns (steady, bursty, fan-in, imbalance, ping-pong) under
                        every scheduler and says which to use
  auto [RESULTS]        writes the table by which the default scheduler chooses, from what `run` has found:
                        benches/RESULTS.md and runtime/src/scheduler/auto/table.rs unless said (--out)
  compare BASE [NEW]    a run against an earlier one, each a Parquet file or a folder of them:
                        fails when an operation takes too many instructions more
  charts [FILE…]        SVG charts of Parquet files or folders of them, target/bench unless said
  list                  every program of every contestant
  commit                what this program was built from
  one PROGRAM/WHO N     one measurement in this process: prints nanoseconds

  --rounds N            interleaved rounds, 7 unless said, for `large`, `advise`, `wake` and `sim` 3; not for
                        `instructions`, `idle`, `overload` and `counters`
  --out FILE            also writes the section to FILE, such as benches/RESULTS.md; with names only
                        of `instructions`
  --parquet FILE        where every single measurement goes, target/bench/COMMAND.parquet unless said
  --dir DIR             where charts go, target/bench unless said
  --threshold PERCENT   what `compare` lets pass, 5 unless said";

/// The arguments, taken apart.
#[derive(Debug)]
struct Args {
    /// What is left of them: the command and its names.
    words: Vec<String>,
    /// How often each measurement is repeated.
    rounds: Option<usize>,
    /// Where the figures go, beside the screen.
    out: Option<PathBuf>,
    /// Where every single measurement goes.
    parquet: Option<PathBuf>,
    /// Where charts go.
    dir: Option<PathBuf>,
    /// By how many percent instructions may grow.
    threshold: f64,
}

/// What to print, and how to end.
#[derive(Debug)]
pub struct Report {
    /// For the standard output.
    pub text: String,
    /// Whether the program ends well.
    pub passed: bool,
}

impl Args {
    fn parse(args: impl IntoIterator<Item = String>) -> Result<Self, String> {
        let threshold = compare::THRESHOLD_PERCENT;
        let mut parsed = Self {
            words: Vec::new(),
            rounds: None,
            out: None,
            parquet: None,
            dir: None,
            threshold,
        };
        let mut args = args.into_iter();
        while let Some(arg) = args.next() {
            let mut value = || args.next().ok_or_else(|| format!("{arg} needs a value"));
            match arg.as_str() {
                "--rounds" => {
                    let rounds = value()?.parse().ok().filter(|&rounds| rounds > 0);
                    parsed.rounds = Some(rounds.ok_or("--rounds needs a number")?);
                }
                "--threshold" => {
                    let percent = value()?.parse().ok().filter(|&percent: &f64| percent >= 0.0);
                    parsed.threshold = percent.ok_or("--threshold needs a number")?;
                }
                "--out" => parsed.out = Some(value()?.into()),
                "--dir" => parsed.dir = Some(value()?.into()),
                "--parquet" => parsed.parquet = Some(value()?.into()),
                option if option.starts_with('-') => return Err(USAGE.into()),
                _ => parsed.words.push(arg),
            }
        }
        Ok(parsed)
    }

    /// What of them the figures depend on, to be recorded beside these: where something is kept is a matter of the machine.
    fn recorded(&self) -> Vec<String> {
        let rounds = self.rounds.map(|rounds| ["--rounds".to_owned(), rounds.to_string()]);
        self.words.iter().cloned().chain(rounds.into_iter().flatten()).collect()
    }
}

impl From<String> for Report {
    fn from(text: String) -> Self {
        Self { text, passed: true }
    }
}

/// Does what the arguments say; returns what to print.
///
/// # Errors
/// A sentence for the user.
pub fn run(args: impl IntoIterator<Item = String>) -> Result<Report, String> {
    let args = Args::parse(args)?;
    let words: Vec<&str> = args.words.iter().map(String::as_str).collect();
    match words[..] {
        // What children of this program do: nothing else may happen beside it.
        ["commit"] => return Ok(machine::COMMIT.to_owned().into()),
        ["one", name, n] => return contest::one(name, n).map(Report::from),
        ["replay", who, trace] => return advise::one(who, trace).map(Report::from),
        ["serve", kind] => return net::serve(kind).map(Report::from),
        ["client", kind, at, work] => return net::client(kind, at, work).map(Report::from),
        ["beside", kind, at, bytes, what] => {
            return far::client(kind, at, bytes, what).map(Report::from);
        }
        ["idle", scheduler] => return idle::measure(scheduler).map(Report::from),
        ["sim", who, steps] => return sim::measure(who, steps).map(Report::from),
        ["wake", who, way] => return wake::measure(who, way).map(Report::from),
        ["overload", scheduler] => return overload::measure(scheduler).map(Report::from),
        ["events", program, n, listening] => {
            return events::measure(program, n, listening).map(Report::from);
        }
        ["list"] => return Ok(contest::list().into()),
        ["charts", ref files @ ..] => {
            return draw(files, &args.dir.map_or_else(folder, Ok)?).map(Report::from);
        }
        ["auto"] => return tabulate(auto::FROM.as_ref(), args.out),
        ["auto", from] => return tabulate(from.as_ref(), args.out),
        ["compare", base] => return against(base.as_ref(), &folder()?, args.threshold),
        ["compare", base, new] => return against(base.as_ref(), new.as_ref(), args.threshold),
        _ => {}
    }
    if let Some(missing) =
        missing_cores(words.first().copied().unwrap_or_default(), machine::cores())
    {
        return Ok(missing.into());
    }
    if let Some(why) = wrong(&words, &args) {
        return Err(why);
    }
    // Before anything else, since it says how busy the machine was until now.
    machine::facts();
    let mut section = match words[..] {
        ["run", ref names @ ..] => {
            contest::section(names, args.rounds.unwrap_or(contest::ROUNDS_LEAST))?
        }
        ["large", ref names @ ..] => contest::large(names, args.rounds.unwrap_or(3))?,
        ["instructions", ref names @ ..] => instructions::section(names)?,
        ["advise", ref names @ ..] => advise::section(names, args.rounds.unwrap_or(3))?,
        ["net", ref names @ ..] => net::section(names, args.rounds.unwrap_or(7))?,
        ["far"] => far::section(args.rounds.unwrap_or(7))?,
        ["secure"] => secure::section(args.rounds.unwrap_or(7))?,
        ["paths"] => paths::section(args.rounds.unwrap_or(7))?,
        ["wake"] => wake::section(args.rounds.unwrap_or(3))?,
        ["sim"] => sim::section(args.rounds.unwrap_or(3))?,
        ["events"] => events::section(args.rounds.unwrap_or(7))?,
        ["overload"] => overload::section()?,
        ["idle"] => idle::section()?,
        ["counters"] => counters::section()?,
        ["kv"] => kv::section(args.rounds.unwrap_or(7))?,
        _ => return Err(USAGE.into()),
    }
    .by(&args.recorded());
    section.rows.iter_mut().for_each(|row| words[0].clone_into(&mut row.command));
    keep(&section.rows, words[0], args.parquet)?;
    if let Some(file) = args.out {
        section.write(&file).map_err(|error| at(&file, &error))?;
    }
    Ok(section.to_markdown().into())
}

/// Keeps what that command has measured, in the place of an earlier run: also where all have failed and there is nothing,
/// or that one's figures would be taken for this one's.
fn keep(rows: &[Row], command: &str, file: Option<PathBuf>) -> Result<(), String> {
    let default = || folder().map(|folder| folder.join(format!("{command}.parquet")));
    let file = file.map_or_else(default, Ok)?;
    rows::write(rows, &file).map_err(|error| at(&file, &error))?;
    match rows.len() {
        0 => eprintln!("nothing was measured: {} has no row", file.display()),
        _ => eprintln!("every measurement is in {}", file.display()),
    }
    Ok(())
}

/// What of a command that measures makes no sense.
fn wrong(words: &[&str], args: &Args) -> Option<String> {
    let command = *words.first()?;
    if args.rounds.is_some() && ONCE.contains(&command) {
        return Some(format!("{command} measures once: --rounds is not for it"));
    }
    let rounds = args.rounds.unwrap_or(contest::ROUNDS_LEAST);
    if command == "run" && args.out.is_some() && rounds < contest::ROUNDS_LEAST {
        return Some(format!("--out keeps medians of {} rounds at least", contest::ROUNDS_LEAST));
    }
    // Which programs are counted is said by the command that is recorded.
    let is_part = args.out.is_some() && words.len() > 1 && command != "instructions";
    is_part.then(|| "--out keeps whole sections: leave out the names, or --out".to_owned())
}

/// Have no rounds.
const ONCE: [&str; 4] = ["idle", "overload", "instructions", "counters"];

/// Measures between threads or processes that are to run at the same time.
const BETWEEN_CORES: [&str; 8] =
    ["wake", "idle", "events", "overload", "net", "far", "kv", "counters"];

/// What to say instead of the figures of that command where there are too few cores for it. Nothing is kept then.
fn missing_cores(command: &str, cores: usize) -> Option<String> {
    let missing = cores < 2 && BETWEEN_CORES.contains(&command);
    missing.then(|| format!("not measured here: {command} needs 2 cores"))
}

fn against(base: &Path, new: &Path, threshold: f64) -> Result<Report, String> {
    let read = |path: &Path| rows::read(path).map_err(|error| at(path, &error));
    let found = compare::compare(&read(base)?, &read(new)?, threshold);
    Ok(Report { text: found.text, passed: found.passed })
}

fn tabulate(from: &Path, to: Option<PathBuf>) -> Result<Report, String> {
    let results = fs::read_to_string(from).map_err(|error| at(from, &error))?;
    let auto::Written { source, left_out } = auto::table(&results)?;
    left_out.iter().for_each(|why| eprintln!("left out: {why}"));
    let to = to.unwrap_or_else(|| auto::TO.into());
    fs::write(&to, &source).map_err(|error| at(&to, &error))?;
    Ok(source.into())
}

fn draw(files: &[&str], dir: &Path) -> Result<String, String> {
    let mut from: Vec<PathBuf> = files.iter().map(PathBuf::from).collect();
    if from.is_empty() {
        from.push(folder()?);
    }
    let mut all = Vec::new();
    for file in &from {
        all.extend(rows::read(file).map_err(|error| at(file, &error))?);
    }
    let charts = charts::write(&all, dir).map_err(|error| at(dir, &error))?;
    Ok(charts.iter().map(|file| format!("{}\n", file.display())).collect())
}

/// Where measurements go and come from: the folder `bench` beside that of this program.
fn folder() -> Result<PathBuf, String> {
    let exe = env::current_exe().map_err(|error| error.to_string())?;
    let target = exe.parent().and_then(Path::parent).ok_or("this program lies in no folder")?;
    Ok(target.join("bench"))
}

fn at(file: &Path, error: &dyn std::error::Error) -> String {
    format!("{}: {error}", file.display())
}

#[cfg(test)]
mod tests {
    use super::{Args, keep, missing_cores, run, wrong};
    use crate::machine;
    use crate::rows::{self, Row};
    use std::{env, fs, process};

    fn words(line: &str) -> impl Iterator<Item = String> {
        line.split_whitespace().map(str::to_owned)
    }

    #[test]
    fn options_stand_anywhere() {
        let args = Args::parse(words("run --rounds 3 ask --parquet x.parquet big")).unwrap();
        assert_eq!(args.words, ["run", "ask", "big"]);
        assert_eq!((args.rounds, args.parquet), (Some(3), Some("x.parquet".into())));
    }

    #[test]
    fn where_it_is_kept_is_not_recorded() {
        let recorded = |line| Args::parse(words(line)).unwrap().recorded().join(" ");
        let line = "paths --out /root/RESULTS.md --rounds 3 --parquet /tmp/x.parquet";
        assert_eq!(recorded(line), "paths --rounds 3");
        assert_eq!(recorded("--parquet x instructions ask"), "instructions ask");
    }

    #[test]
    fn a_part_of_a_section_and_rounds_of_what_has_none_are_refused() {
        let refused = |line: &str| {
            let args = Args::parse(words(line)).unwrap();
            let words: Vec<&str> = args.words.iter().map(String::as_str).collect();
            wrong(&words, &args).is_some()
        };
        assert!(refused("run ask --out RESULTS.md"));
        assert!(!refused("run --out RESULTS.md") && !refused("run ask"));
        assert!(!refused("instructions ping_pong counting ask --out RESULTS.md"));
        assert!(refused("run --rounds 6 --out RESULTS.md") && !refused("run --rounds 6"));
        assert!(!refused("run --rounds 7 --out RESULTS.md"));
        assert!(refused("idle --rounds 3") && !refused("sim --rounds 3"));
        assert!(!refused("net --parquet x.parquet") && !refused("idle --parquet x.parquet"));
    }

    #[test]
    fn figures_of_an_earlier_run_are_not_taken_for_this_one_s() {
        let file = env::temp_dir().join(format!("greenroom-keep-{}.parquet", process::id()));
        let earlier = Row { program: "ask".into(), ..Row::default() };
        keep(&[earlier], "run", Some(file.clone())).unwrap();
        assert_eq!(rows::read(&file).unwrap().len(), 1);
        keep(&[], "run", Some(file.clone())).unwrap();
        assert_eq!(rows::read(&file).unwrap(), [], "all have failed");
        fs::remove_file(&file).unwrap();
    }

    #[test]
    fn what_runs_at_the_same_time_needs_cores() {
        assert!(missing_cores("net", 1).is_some_and(|text| text.starts_with("not measured here")));
        assert_eq!(missing_cores("net", 2), None);
        // Programs with one worker are measured there.
        assert_eq!(missing_cores("run", 1), None);
    }

    #[test]
    fn a_program_says_what_it_was_built_from() {
        assert_eq!(run(words("commit")).unwrap().text, machine::COMMIT);
    }

    #[test]
    fn wrong_options_are_told() {
        for line in ["run --rounds", "run --rounds 0", "compare a --threshold x", "run --fast", ""]
        {
            assert!(run(words(line)).is_err(), "{line}");
        }
    }
}
