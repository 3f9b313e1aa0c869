//! What idle actors cost: processor time, and how often a thread was switched to.

use crate::child;
use crate::ours::{SETTINGS, Setting, block_on};
use crate::results::Section;
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
    for scheduler in SETTINGS.iter().filter(|one| one.workers == WORKERS).map(|one| one.who) {
        eprintln!("idle: {scheduler}");
        let exe = env::current_exe().map_err(|error| error.to_string())?;
        let child = child::output(Command::new(exe).args(["idle", scheduler]), LIMIT);
        let child = child.map_err(|error| error.to_string())?;
        if !child.status.success() {
            return Err(String::from_utf8_lossy(&child.stderr).trim().to_owned());
        }
        let row = String::from_utf8_lossy(&child.stdout).trim().to_owned();
        text.push_str(&format!("| {scheduler} | {row} |\n"));
    }
    Ok(Section::new("Idle", text))
}

/// Measures one scheduler in this process; returns the cells of its row.
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
    Ok(format!("{micros} µs | {}", after.switches - before.switches))
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
