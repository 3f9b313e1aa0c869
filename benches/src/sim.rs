//! How fast a simulated world goes: steps in a second of one core, and instructions for each.
//!
//! A step is what a world chooses anew: a turn of a worker, nearly always one message here. Time is that
//! of the thread on its processor, so others on the machine count little.

use crate::child;
use crate::instructions::{of_self, per_op};
use crate::results::Section;
use crate::rows::Row;
use crate::stats;
use crate::table::Table;
use crate::usage::Used;
use greenroom::sim::World;
use greenroom::{Actor, Ref, Scheduler, handlers};
use std::env;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

/// Actors that pass tokens round, and the tokens.
const ACTORS: usize = 50;
const TOKENS: usize = 20;
const STEPS: u64 = 1_000_000;
/// How long one child may take.
const LIMIT: Duration = Duration::from_secs(120);
/// By the world's time, between two looks at the number of steps.
const SPAN: Duration = Duration::from_micros(100);
/// Steps for counting instructions.
const FEW: u64 = 20_000;
const MANY: u64 = 60_000;

/// Makes a scheduler; none is the world's own choice among all ready actors.
type Make = Option<fn() -> Scheduler>;

/// What schedules the world's workers.
const SCHEDULERS: [(&str, Make); 3] = [
    ("simulated", None),
    ("stealing", Some(Scheduler::stealing)),
    ("per_core", Some(Scheduler::per_core)),
];

#[derive(Actor)]
struct Passer {
    me: usize,
}

#[handlers]
impl Passer {
    #[tell]
    fn pass(&mut self, ring: Arc<[Ref<Self>]>) {
        let next = ring[(self.me + 1) % ring.len()].clone();
        next.pass(ring).tell().expect("it lives");
    }
}

/// Measures every scheduler, each in processes of their own.
///
/// # Errors
/// When a child fails.
pub fn section(rounds: usize) -> Result<Section, String> {
    let mut table = Table::new(&["scheduler", "steps/s", "instructions/step"]);
    let mut rows = Vec::new();
    for (who, _) in SCHEDULERS {
        eprintln!("sim: {who}");
        let row = || Row { scheduler: who.to_owned(), ..Row::here("sim", who) };
        let mut nanos = Vec::new();
        for round in 0..rounds {
            let per_step = measure_in_child(who)?;
            nanos.push(per_step);
            rows.push(Row {
                round: i64::try_from(round).ok(),
                n: i64::try_from(STEPS).ok(),
                ns_per_op: Some(per_step),
                ..row()
            });
        }
        let count = |steps: u64| of_self(&["sim", who, &steps.to_string()]);
        let count = per_op(count, FEW, MANY).map_err(|error| format!("{who}: {error}"))?;
        rows.push(Row { instructions_per_op: Some(count), ..row() });
        let rate = 1e9 / stats::median(&nanos);
        table.row([who.to_owned(), format!("{rate:.0}"), format!("{count:.0}")]);
    }
    let text = format!(
        "A world with one node of two workers, {ACTORS} actors in a ring and {TOKENS} tokens: {STEPS} \
         steps, by the time that the thread had a processor, medians of {rounds} rounds.\n\n{table}",
    );
    Ok(Section::new("Sim", text).with_rows(rows))
}

fn measure_in_child(who: &str) -> Result<f64, String> {
    let exe = env::current_exe().map_err(|error| error.to_string())?;
    let child = child::output(Command::new(exe).args(["sim", who, &STEPS.to_string()]), LIMIT);
    let child = child.map_err(|error| format!("{who}: {error}"))?;
    let text = String::from_utf8_lossy(&child.stdout);
    let failed = || format!("{who}: {}", String::from_utf8_lossy(&child.stderr).trim());
    text.trim().parse().map_err(|_| failed())
}

/// Measures one scheduler in this process; returns nanoseconds per step.
///
/// # Errors
/// When there is no such scheduler, `steps` is no number, or the system does not tell times.
#[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
pub fn measure(who: &str, steps: &str) -> Result<String, String> {
    let found = SCHEDULERS.iter().find(|(name, _)| *name == who);
    let (_, scheduler) = *found.ok_or_else(|| format!("no such scheduler: {who}"))?;
    let steps: u64 = steps.parse().map_err(|_| format!("{steps} is no number"))?;
    let mut world = World::new(1);
    let node = world.node("one").settings(move |builder| match scheduler {
        Some(scheduler) => builder.scheduler(scheduler()),
        None => builder,
    });
    let system = node.start().system();
    world.run(async {
        let mut ring = Vec::new();
        for me in 0..ACTORS {
            ring.push(system.spawn::<Passer>(Passer { me }).await.expect("it starts"));
        }
        let ring: Arc<[Ref<Passer>]> = ring.into();
        for actor in &ring[..TOKENS] {
            actor.pass(Arc::clone(&ring)).tell().expect("it lives");
        }
    });
    let untold = || "the system does not tell what a thread used".to_owned();
    let (began, first) = (Used::by_thread().ok_or_else(untold)?, world.steps());
    while world.steps() < first + steps {
        world.run_for(SPAN);
    }
    let used = Used::by_thread().ok_or_else(untold)?.nanos - began.nanos;
    Ok((used as f64 / (world.steps() - first) as f64).to_string())
}
