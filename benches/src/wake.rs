//! How long a message from a thread waits for an idle worker: one that spins, and one that sleeps.
//!
//! One worker, since a second one that spins would take the sender's core on a small machine. A sender
//! waits until the worker has nothing to do, then sends the time; the handler looks at the clock.

use crate::child;
use crate::ours::{SETTINGS, Setting, block_on};
use crate::results::Section;
use crate::rows::Row;
use crate::stats;
use crate::table::{Table, time, verdict};
use greenroom::{Actor, Idle, handlers};
use std::env;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

const MESSAGES: usize = 2_000;
/// Until the worker has nothing to do.
const PAUSE: Duration = Duration::from_micros(100);
/// Until it sleeps too.
const LONG_PAUSE: Duration = Duration::from_millis(1);
/// Longer than any pause.
const SPIN: Duration = Duration::from_millis(100);
/// How long one child may take.
const LIMIT: Duration = Duration::from_secs(60);

/// Each way, and within how many nanoseconds all but a thousandth of messages are to be handled.
const WAYS: [(&str, f64); 2] = [("spinning", 1_000.0), ("parked", 20_000.0)];
const QUANTILES: [f64; 4] = [0.5, 0.99, 0.999, 1.0];

#[derive(Actor)]
struct Watch {
    waits: Vec<f64>,
}

#[handlers]
impl Watch {
    #[start]
    fn start() -> Self {
        Self { waits: Vec::with_capacity(MESSAGES) }
    }

    #[tell]
    #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
    fn look(&mut self, sent: Instant) {
        self.waits.push(sent.elapsed().as_nanos() as f64);
    }

    #[ask]
    fn waits(&mut self) -> Vec<f64> {
        std::mem::take(&mut self.waits)
    }
}

/// Measures every scheduler both ways, each in a process of its own.
///
/// # Errors
/// When a child fails.
pub fn section(rounds: usize) -> Result<Section, String> {
    let mut table =
        Table::new(&["who", "worker", "p50", "p99", "p99.9", "most", "p99.9 against its goal"]);
    let mut rows = Vec::new();
    for setting in SETTINGS.iter().filter(|setting| setting.workers == 1) {
        for (way, goal) in WAYS {
            eprintln!("wake: {} {way}", setting.who);
            let mut found = Vec::new();
            for round in 0..rounds {
                let quantiles = measure_in_child(setting.who, way)?;
                rows.push(row(setting, way, round, quantiles));
                found.push(quantiles);
            }
            let quantiles = summary(&found);
            let cells =
                [setting.who.to_owned(), way.to_owned()].into_iter().chain(quantiles.map(time));
            table.row(cells.chain([against(quantiles[2], goal)]));
        }
    }
    let text = format!(
        "A plain thread sends to an actor of an idle system with one worker: time from before the \
         sending until the handler runs, {MESSAGES} messages, medians of {rounds} rounds, but the most of \
         all of them. It contains two readings of the clock.\n\n{table}",
    );
    Ok(Section::new("Wake", text).with_rows(rows))
}

/// The medians over the rounds, and the most of all.
fn summary(found: &[[f64; 4]]) -> [f64; 4] {
    let column = |at: usize| found.iter().map(|round| round[at]).collect::<Vec<_>>();
    let [p50, p99, p999] = [0, 1, 2].map(|at| stats::median(&column(at)));
    [p50, p99, p999, stats::most(&column(3))]
}

fn against(figure: f64, goal: f64) -> String {
    format!("{}: {}", time(goal), verdict(figure, goal))
}

fn measure_in_child(who: &str, way: &str) -> Result<[f64; 4], String> {
    let exe = env::current_exe().map_err(|error| error.to_string())?;
    let child = child::output(Command::new(exe).args(["wake", who, way]), LIMIT);
    let child = child.map_err(|error| format!("{who}: {error}"))?;
    let text = String::from_utf8_lossy(&child.stdout);
    let values: Vec<f64> = text.split_whitespace().flat_map(str::parse).collect();
    let failed = || format!("{who}: {}", String::from_utf8_lossy(&child.stderr).trim());
    values.try_into().map_err(|_| failed())
}

fn row(setting: &Setting, way: &str, round: usize, quantiles: [f64; 4]) -> Row {
    let [p50, p99, p999, most] = quantiles.map(Some);
    Row {
        scheduler: setting.scheduler.to_owned(),
        workers: i64::try_from(setting.workers).ok(),
        round: i64::try_from(round).ok(),
        n: i64::try_from(MESSAGES).ok(),
        p50_ns: p50,
        p99_ns: p99,
        p999_ns: p999,
        max_ns: most,
        ..Row::here(&format!("wake {way}"), setting.who)
    }
}

/// Measures one setting in this process; returns the quantiles in one line.
///
/// # Errors
/// When there is no such setting or way.
pub fn measure(who: &str, way: &str) -> Result<String, String> {
    let setting = Setting::named(who).ok_or_else(|| format!("no such setting: {who}"))?;
    let (idle, pause): (_, fn()) = match way {
        "spinning" => (Idle::Spin(SPIN), || {
            let clock = Instant::now();
            while clock.elapsed() < PAUSE {
                std::hint::spin_loop();
            }
        }),
        "parked" => (Idle::Park, || sleep(LONG_PAUSE)),
        _ => return Err(format!("no such way to wait: {way}")),
    };
    let system = setting.builder().idle(idle).build().map_err(|error| error.to_string())?;
    let waits = block_on(async {
        let watch = system.spawn::<Watch>(()).await.expect("the actor starts");
        for _ in 0..MESSAGES {
            pause();
            watch.look(Instant::now()).tell().expect("the actor lives");
        }
        watch.waits().await.expect("the actor answers")
    });
    assert_eq!(waits.len(), MESSAGES, "every message was handled");
    Ok(QUANTILES.map(|share| stats::quantile(&waits, share).to_string()).join(" "))
}

#[cfg(test)]
mod tests {
    use super::{against, summary};

    #[test]
    fn the_most_is_that_of_all_rounds() {
        let found = [[1.0, 2.0, 3.0, 9.0], [2.0, 3.0, 4.0, 5.0], [3.0, 4.0, 5.0, 6.0]];
        assert_eq!(summary(&found), [2.0, 3.0, 4.0, 9.0]);
    }

    #[test]
    fn a_goal_stands_beside_what_came_of_it() {
        assert_eq!(against(1_000.0, 1_000.0), "1.00 µs: reached");
        assert_eq!(against(20_001.0, 20_000.0), "20.00 µs: missed");
    }
}
