//! What idle actors cost: processor time, and how often a thread was switched to.

use crate::child;
use crate::ours::{SETTINGS, Setting, block_on};
use crate::results::Section;
use crate::rows::Row;
use crate::usage::Used;
use greenroom::{Actor, Ref, System, handlers};
use std::env;
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

const ACTORS: usize = 10_000;
const WORKERS: usize = 2;
const WATCHED: Duration = Duration::from_secs(10);
/// Until what the start left to do is done.
const SETTLING: Duration = Duration::from_secs(1);

/// How long one scheduler's turn may take.
const LIMIT: Duration = Duration::from_secs(60);

#[derive(Actor)]
struct Sleeper;

#[handlers]
impl Sleeper {
    #[start]
    fn start() -> Self {
        Self
    }

    #[ask]
    fn awake(&self) -> bool {
        true
    }
}

/// Measures every scheduler, each in a process of its own.
///
/// # Errors
/// When a child fails.
pub fn section() -> Result<Section, String> {
    let seconds = WATCHED.as_secs();
    let mut text = format!(
        "{ACTORS} actors, each asked once and then left alone for {seconds} s, {WORKERS} workers: \
         processor time and context switches of the whole process in these {seconds} s.\n\n\
         | scheduler | processor time | context switches |\n|---|---|---|\n",
    );
    let mut rows = Vec::new();
    for scheduler in SETTINGS.iter().filter(|one| one.workers == WORKERS).map(|one| one.who) {
        eprintln!("idle: {scheduler}");
        let exe = env::current_exe().map_err(|error| error.to_string())?;
        let child = child::output(Command::new(exe).args(["idle", scheduler]), LIMIT);
        let child = child.map_err(|error| error.to_string())?;
        if !child.status.success() {
            return Err(String::from_utf8_lossy(&child.stderr).trim().to_owned());
        }
        let said = String::from_utf8_lossy(&child.stdout);
        let (micros, switches) =
            parse(&said).ok_or_else(|| format!("{scheduler} printed {said}"))?;
        text.push_str(&format!("| {scheduler} | {micros} µs | {switches} |\n"));
        rows.push(row(scheduler, micros, switches));
    }
    Ok(Section::new("Idle", text).with_rows(rows))
}

/// What a child said: microseconds and switches.
fn parse(said: &str) -> Option<(u64, u64)> {
    let (micros, switches) = said.trim().split_once(' ')?;
    Some((micros.parse().ok()?, switches.parse().ok()?))
}

/// An operation is an actor that is left alone for all of the time.
#[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
fn row(scheduler: &str, micros: u64, switches: u64) -> Row {
    Row {
        scheduler: scheduler.to_owned(),
        workers: i64::try_from(WORKERS).ok(),
        n: i64::try_from(ACTORS).ok(),
        nanos: i64::try_from(WATCHED.as_nanos()).ok(),
        cpu_ns_per_op: Some(micros as f64 * 1e3 / ACTORS as f64),
        switches_per_op: Some(switches as f64 / ACTORS as f64),
        ..Row::here("idle", scheduler)
    }
}

/// Measures one scheduler in this process; returns microseconds of processor time and switches.
///
/// # Errors
/// When there is no such scheduler, or the system does not say what the process used.
pub fn measure(scheduler: &str) -> Result<String, String> {
    let setting = Setting::named(scheduler);
    let system = setting.ok_or_else(|| format!("no such scheduler: {scheduler}"))?.system();
    let actors = block_on(start(&system));
    sleep(SETTLING);
    let before = Used::by_process().ok_or("needs /proc/self/task")?;
    sleep(WATCHED);
    let after = Used::by_process().ok_or("needs /proc/self/task")?;
    assert_eq!(actors.len(), ACTORS, "the actors lived until here");
    let micros = (after.nanos - before.nanos) / 1000;
    // One switch is this thread's own, when it wakes up to look.
    Ok(format!("{micros} {}", after.switches - before.switches))
}

async fn start(system: &System) -> Vec<Ref<Sleeper>> {
    let mut actors = Vec::with_capacity(ACTORS);
    for _ in 0..ACTORS {
        let actor = system.spawn::<Sleeper>(()).await.expect("an actor starts");
        actor.awake().await.expect("the actor answers");
        actors.push(actor);
    }
    actors
}
