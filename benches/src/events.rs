//! What events cost: with nobody listening, and with a listener that reads every one.

use crate::ours::{self, Setting, block_on};
use crate::results::Section;
use crate::rows::Row;
use crate::table::Table;
use crate::{child, stats};
use std::env;
use std::process::Command;
use std::thread;
use std::time::Duration;

const WHO: &str = "auto";
/// A program without events, and one with two for each operation.
const PROGRAMS: [(&str, u64); 2] = [("counting", 1_000_000), ("fork_join_create", 100_000)];
/// How long one measurement may take.
const LIMIT: Duration = Duration::from_secs(60);

/// Measures both programs with and without a listener, in turns.
///
/// # Errors
/// When a child fails.
#[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
pub fn section(rounds: usize) -> Result<Section, String> {
    let mut table = Table::new(&["program", "off, ns", "on, ns", "on over off", "off over off"]);
    let mut rows = Vec::new();
    for (program, n) in PROGRAMS {
        // The third is the control.
        let mut times = [Vec::new(), Vec::new(), Vec::new()];
        for round in 0..rounds {
            eprintln!("events: {program}: round {} of {rounds}", round + 1);
            for (listening, times) in ["off", "on", "off"].iter().zip(&mut times) {
                let nanos = measure_in_child(program, n, listening)?;
                times.push(nanos as f64 / n as f64);
                rows.push(Row {
                    scheduler: WHO.to_owned(),
                    round: i64::try_from(round).ok(),
                    n: i64::try_from(n).ok(),
                    nanos: i64::try_from(nanos).ok(),
                    ns_per_op: Some(nanos as f64 / n as f64),
                    ..Row::here(&format!("events {listening} {program}"), WHO)
                });
            }
        }
        let [off, on, again] = times.map(|times| stats::median(&times));
        let figures = [format!("{off:.1}"), format!("{on:.1}")];
        let ratios = [on / off, again / off].map(|ratio| format!("{ratio:.2}"));
        table.row([program.to_owned()].into_iter().chain(figures).chain(ratios));
    }
    let text = format!(
        "Time of one operation under `{WHO}` while nobody subscribes to `System::events`, and while a \
         thread reads them all; medians of {rounds} interleaved rounds. Counting has no events, \
         fork-join create has two per actor.\n\n{table}",
    );
    Ok(Section::new("Events", text).with_rows(rows))
}

fn measure_in_child(program: &str, n: u64, listening: &str) -> Result<u64, String> {
    let exe = env::current_exe().map_err(|error| error.to_string())?;
    let n = n.to_string();
    let child = child::output(Command::new(exe).args(["events", program, &n, listening]), LIMIT);
    let child = child.map_err(|error| format!("{program}: {error}"))?;
    let text = String::from_utf8_lossy(&child.stdout);
    let failed = || format!("{program}: {}", String::from_utf8_lossy(&child.stderr).trim());
    text.trim().parse().map_err(|_| failed())
}

/// One measurement in this process; the answer is in nanoseconds.
///
/// # Errors
/// When there is no such program, or `n` is no number.
pub fn measure(program: &str, n: &str, listening: &str) -> Result<String, String> {
    let n = n.parse().map_err(|_| format!("not a number of operations: {n}"))?;
    let setting = Setting::named(WHO).ok_or("there is no default setting")?;
    let system = setting.system();
    let listener = (listening == "on").then(|| {
        let mut events = system.events();
        thread::spawn(move || block_on(async { while events.next().await.is_some() {} }))
    });
    let took = match program {
        "counting" => block_on(ours::counting(system.clone(), n)),
        "fork_join_create" => block_on(ours::fork_join_create(system.clone(), n)),
        _ => return Err(format!("no such program: {program}")),
    };
    drop(system);
    // It ends with the system.
    listener.map_or(Ok(()), thread::JoinHandle::join).map_err(|_| "the listener panicked")?;
    Ok(took.as_nanos().to_string())
}
