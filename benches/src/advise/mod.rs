//! Which scheduler suits an arrival pattern: it is replayed under each of them.
//!
//! The choice goes by the worst that users see: of those whose p99 is close to the best, and of these
//! those whose throughput is, the one that takes the least processor time wins. Nobody does where the best p99 is for the
//! most part what messages waited for the thread that sends them.

mod pattern;
mod replay;
mod trace;

use crate::ours::{SETTINGS, Setting};
use crate::results::Section;
use crate::rows::Row;
use crate::table::{self, Table};
use crate::{child, machine, stats};
use pattern::PATTERNS;
use replay::Found;
use std::env;
use std::fs;
use std::process::Command;
use std::time::Duration;
use trace::Plan;

/// How long one process that replays may take: who does not end is to be found out.
const LIMIT: Duration = Duration::from_secs(300);
/// How long it should take at most by what the trace says, since workers and the machine take time, too.
const TRACE_MAX: Duration = Duration::from_secs(240);

/// Up to this many times the best p99 counts as the same.
const CLOSE_P99: f64 = 1.25;
/// From this share of the best throughput on, it counts as the same.
const CLOSE_THROUGHPUT: f64 = 0.9;
/// The thread that sends may be late by this share of the best p99, or that says little about schedulers.
const LATE_MOST: f64 = 0.5;

/// Replays the patterns or trace files called `names`, or every pattern, and says what to use.
///
/// # Errors
/// When a trace cannot be read, or a replay fails.
pub fn section(names: &[&str], rounds: usize) -> Result<Section, String> {
    let every: Vec<&str> = PATTERNS.iter().map(|pattern| pattern.name).collect();
    let mut text = format!(
        "Medians of {rounds} interleaved rounds, a process for each. Throughput: all messages sent at \
         once. Everything else: messages sent as recorded; latency from the moment when a message was due until the \
         handler has finished, processor time and switches of one message. `late`: what of the p99 messages may \
         have waited for the thread that sends them. It spins for 100 µs before each is due, and so competes with \
         settings that use all cores; its own time is not counted.\n",
    );
    let names = if names.is_empty() { every.as_slice() } else { names };
    // All of them before the first is measured: what cannot be replayed would be found out after hours.
    let plans = names.iter().map(|name| load(name)).collect::<Result<Vec<_>, _>>()?;
    let each: Duration = plans.iter().map(|(plan, _)| plan.takes()).sum();
    let minutes = (each * u32::try_from(rounds * settings().count()).unwrap_or(u32::MAX))
        .as_secs_f64()
        / 60.0;
    eprintln!("all of this takes {minutes:.0} minutes, or somewhat longer");
    let mut rows = Vec::new();
    for (name, (plan, about)) in names.iter().zip(plans) {
        let messages = plan.jobs.len();
        text.push_str(&format!(
            "\n### {name}\n\n{about}: {messages} messages, {} actors.\n\n",
            plan.actors
        ));
        text.push_str(&compete((name, messages), rounds, &mut rows)?);
    }
    Ok(Section::new("Advice", text).with_rows(rows))
}

/// Replays one trace with one setting in this process; returns the figures as a line.
///
/// # Errors
/// When there is no such setting, or the trace cannot be read.
pub fn one(who: &str, name: &str) -> Result<String, String> {
    let setting = Setting::named(who).ok_or_else(|| format!("no such setting: {who}"))?;
    Ok(replay::replay(&load(name)?.0, setting).line())
}

/// Reads a trace, or makes a pattern, and says what it is.
///
/// # Errors
/// When it cannot be read, or would take too long.
fn load(name: &str) -> Result<(Plan, String), String> {
    if let Some(pattern) = PATTERNS.iter().find(|pattern| pattern.name == name) {
        return Ok((Plan::new((pattern.make)()), pattern.about.to_owned()));
    }
    let text = fs::read_to_string(name).map_err(|error| format!("{name}: {error}"))?;
    let messages = trace::parse(&text).map_err(|error| format!("{name}: {error}"))?;
    let plan = Plan::new(messages);
    let (takes, most) = (plan.takes().as_secs(), TRACE_MAX.as_secs());
    if takes > most {
        return Err(format!(
            "{name}: a replay as recorded and one at once take {takes} s, at most {most} s: take a shorter part of it"
        ));
    }
    Ok((plan, "as recorded".to_owned()))
}

/// What there are cores for.
fn settings() -> impl Iterator<Item = &'static Setting> {
    SETTINGS.iter().filter(|setting| setting.workers <= machine::cores())
}

fn compete(
    (name, messages): (&str, usize),
    rounds: usize,
    rows: &mut Vec<Row>,
) -> Result<String, String> {
    let mut found: Vec<(&Setting, Vec<Found>)> =
        settings().map(|setting| (setting, Vec::new())).collect();
    for round in 0..rounds {
        eprintln!("{name}: round {} of {rounds}", round + 1);
        for (setting, found) in &mut found {
            let one = measure(setting.who, name)?;
            rows.push(row((name, messages), setting, round, &one));
            found.push(one);
        }
    }
    let found: Vec<_> =
        found.into_iter().map(|(setting, found)| (setting, medians(&found))).collect();
    let mut table = Table::new(&[
        "who",
        "messages/s",
        "p50",
        "p99",
        "p99.9",
        "late",
        "processor time",
        "switches",
    ]);
    for (setting, one) in &found {
        let mut cells = vec![setting.who.to_owned(), format!("{:.0}", one.per_second)];
        let times = [&one.latency_ns[..3], &[one.late_ns, one.cpu_ns]].concat();
        cells.extend(times.into_iter().map(table::time));
        cells.push(format!("{:.3}", one.switches));
        table.row(cells);
    }
    let figures: Vec<Found> = found.iter().map(|(_, found)| *found).collect();
    let (winner, why) = match choose(&figures) {
        Ok(chosen) => chosen,
        Err(why) => return Ok(format!("{table}\n**No verdict**: {why}.\n")),
    };
    let setting = found[winner].0;
    Ok(format!(
        "{table}\n**{}**: {why}.\n\n```rust\nSystem::builder()\n    .workers({})\n    \
         .scheduler(Scheduler::{}())\n    .build()?\n```\n",
        setting.who, setting.workers, setting.scheduler,
    ))
}

fn measure(who: &str, name: &str) -> Result<Found, String> {
    let exe = env::current_exe().map_err(|error| error.to_string())?;
    let child = child::output(Command::new(exe).args(["replay", who, name]), LIMIT);
    let child = child.map_err(|error| format!("{who}: {error}"))?;
    Found::parse(&String::from_utf8_lossy(&child.stdout))
        .ok_or_else(|| format!("{who} failed: {}", String::from_utf8_lossy(&child.stderr).trim()))
}

fn row((name, messages): (&str, usize), setting: &Setting, round: usize, found: &Found) -> Row {
    let [p50, p99, p999, most] = found.latency_ns.map(Some);
    Row {
        scheduler: setting.scheduler.to_owned(),
        workers: i64::try_from(setting.workers).ok(),
        round: i64::try_from(round).ok(),
        n: i64::try_from(messages).ok(),
        ns_per_op: Some(1e9 / found.per_second),
        cpu_ns_per_op: Some(found.cpu_ns),
        switches_per_op: Some(found.switches),
        p50_ns: p50,
        p99_ns: p99,
        p999_ns: p999,
        max_ns: most,
        ..Row::here(&format!("advise {name}"), setting.who)
    }
}

fn medians(found: &[Found]) -> Found {
    let median = |of: &dyn Fn(&Found) -> f64| {
        let values: Vec<f64> = found.iter().map(of).collect();
        stats::median(&values)
    };
    Found {
        per_second: median(&|one| one.per_second),
        latency_ns: [0, 1, 2, 3].map(|at| median(&|one| one.latency_ns[at])),
        late_ns: median(&|one| one.late_ns),
        cpu_ns: median(&|one| one.cpu_ns),
        switches: median(&|one| one.switches),
    }
}

/// Which of them to use, and why; or why that cannot be said.
fn choose(found: &[Found]) -> Result<(usize, String), String> {
    let p99 = |at: usize| found[at].latency_ns[1];
    let best_of = |of: &[usize], figure: &dyn Fn(usize) -> f64| {
        of.iter().copied().min_by(|&a, &b| figure(a).total_cmp(&figure(b)))
    };
    let all: Vec<usize> = (0..found.len()).collect();
    let nobody = || "nothing was measured".to_owned();
    let quickest = best_of(&all, &p99).ok_or_else(nobody)?;
    let late = found[quickest].late_ns;
    if late > LATE_MOST * p99(quickest) {
        return Err(format!(
            "the thread that sends was late by {} itself, of a best p99 of {}; let nothing else run, or take more cores",
            table::time(late),
            table::time(p99(quickest))
        ));
    }
    let close: Vec<usize> =
        all.iter().copied().filter(|&at| p99(at) <= CLOSE_P99 * p99(quickest)).collect();
    let strongest = best_of(&close, &|at| -found[at].per_second).ok_or_else(nobody)?;
    let enough = CLOSE_THROUGHPUT * found[strongest].per_second;
    let strong: Vec<usize> =
        close.iter().copied().filter(|&at| found[at].per_second >= enough).collect();
    let winner = best_of(&strong, &|at| found[at].cpu_ns).ok_or_else(nobody)?;
    let why = match (close.len(), strong.len()) {
        (1, _) => format!("the only one whose p99 is near the best, {}", table::time(p99(winner))),
        (near, 1) => format!(
            "of {near} settings with about the same p99 it has the highest throughput, {:.0}/s",
            found[winner].per_second
        ),
        (_, near) => format!(
            "of {near} settings with about the same p99 and throughput it takes the least processor \
             time, {} per message",
            table::time(found[winner].cpu_ns)
        ),
    };
    Ok((winner, why))
}

#[cfg(test)]
mod tests {
    use super::{choose, load, section};
    use crate::advise::replay::Found;
    use std::{env, fs, process};

    fn found(p99: f64, per_second: f64, cpu_ns: f64) -> Found {
        Found { per_second, latency_ns: [1.0, p99, p99, p99], late_ns: 0.0, cpu_ns, switches: 0.0 }
    }

    #[test]
    fn the_lowest_latency_decides_first() {
        let (winner, why) =
            choose(&[found(100.0, 9e6, 1.0), found(50.0, 1e6, 9.0)]).expect("a winner");
        assert_eq!((winner, why.contains("only one")), (1, true), "{why}");
    }

    #[test]
    fn throughput_decides_between_close_latencies() {
        let (winner, why) =
            choose(&[found(60.0, 9e6, 5.0), found(50.0, 1e6, 1.0)]).expect("a winner");
        assert_eq!((winner, why.contains("throughput")), (0, true), "{why}");
    }

    #[test]
    fn processor_time_decides_last() {
        let (winner, why) =
            choose(&[found(60.0, 9e6, 5.0), found(50.0, 9.1e6, 6.0)]).expect("a winner");
        assert_eq!((winner, why.contains("processor")), (0, true), "{why}");
        assert!(choose(&[]).is_err());
    }

    #[test]
    fn what_the_sender_decides_is_no_verdict() {
        let late = |late_ns, p99| Found { late_ns, ..found(p99, 9e6, 5.0) };
        let why = choose(&[late(30.0, 50.0), late(0.0, 60.0)]).expect_err("it decides");
        assert!(why.contains("late by 30.0 ns"), "{why}");
        let (winner, _) = choose(&[late(20.0, 50.0), late(90.0, 100.0)]).expect("a winner");
        assert_eq!(winner, 0, "one that keeps the sender from its core is no better for that");
    }

    #[test]
    fn a_trace_that_takes_too_long_is_refused_before_anything_is_measured() {
        let file = env::temp_dir().join(format!("greenroom-trace-{}.csv", process::id()));
        let refused = |trace: &str| {
            fs::write(&file, trace).unwrap();
            load(file.to_str().unwrap()).err()
        };
        let why = refused("0,-,a,1\n360e6,-,a,1\n").expect("it lasts six minutes");
        assert!(why.contains("take 360 s, at most 240 s"), "{why}");
        assert!(refused("0,-,a,121e6\n").is_some(), "it is worked on twice");
        assert_eq!(refused("0,-,a,1\n230e6,-,a,1\n"), None);
        fs::remove_file(&file).unwrap();
    }

    #[test]
    fn a_trace_that_is_not_there_is_told() {
        let error = section(&["no/such/trace.csv"], 1).expect_err("no such file");
        assert!(error.starts_with("no/such/trace.csv: "), "{error}");
    }
}
