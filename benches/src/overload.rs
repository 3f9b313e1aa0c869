//! Memory under overload: thousands of producers and one slow actor with a bounded mailbox.
//!
//! What waits stands in the mailbox or still with its producer, so memory must not grow while the
//! mailbox is full, however much there is to send, nor at once by all that there is.

use crate::child;
use crate::ours::{SETTINGS, Setting, block_on};
use crate::results::Section;
use crate::rows::Row;
use crate::table::Table;
use crate::usage::resident_bytes;
use greenroom::{Actor, Ref, handlers};
use greenroom_peers::{Countdown, Ticket};
use std::env;
use std::process::Command;
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

const PRODUCERS: u64 = 10_000;
/// Messages of each producer.
const EACH: u64 = 50;
const WORK: Duration = Duration::from_micros(2);
const WORKERS: usize = 2;
const LOOKING_EVERY: Duration = Duration::from_millis(5);
/// How much more memory the second half may take than the first.
const FLAT: f64 = 1.05;
/// How much more both may take than before: half of the messages themselves, which a mailbox without a bound would soon have
/// nearly all of.
const GROWTH_MAX: u64 = PRODUCERS * EACH * 64 / 2;
/// How long one scheduler's turn may take.
const LIMIT: Duration = Duration::from_secs(120);

#[derive(Actor)]
#[actor(mailbox = bounded(1024))]
struct Slow {
    handled: u64,
}

#[handlers]
impl Slow {
    #[start]
    fn start() -> Self {
        Self { handled: 0 }
    }

    #[tell]
    fn work(&mut self, _load: [u64; 8]) {
        let clock = Instant::now();
        while clock.elapsed() < WORK {
            std::hint::spin_loop();
        }
        self.handled += 1;
    }

    #[ask]
    fn handled(&self) -> u64 {
        self.handled
    }
}

#[derive(Actor)]
struct Producer {
    slow: Ref<Slow>,
    _ticket: Ticket,
}

#[handlers]
impl Producer {
    #[start]
    fn start(slow: Ref<Slow>, ticket: Ticket) -> Self {
        Self { slow, _ticket: ticket }
    }

    #[tell]
    async fn produce(&mut self, cx: &mut greenroom::Context<Self>) {
        for value in 0..EACH {
            self.slow.work([value; 8]).await.expect("the slow actor lives");
        }
        cx.stop();
    }
}

/// Measures every scheduler, each in a process of its own.
///
/// # Errors
/// When a child fails.
pub fn section() -> Result<Section, String> {
    let heading = ["scheduler", "before", "most in the first half", "in the second half", "flat"];
    let (mut table, mut rows) = (Table::new(&heading), Vec::new());
    for setting in SETTINGS.iter().filter(|setting| setting.workers == WORKERS) {
        eprintln!("overload: {}", setting.who);
        let exe = env::current_exe().map_err(|error| error.to_string())?;
        let child = child::output(Command::new(exe).args(["overload", setting.who]), LIMIT);
        let child = child.map_err(|error| format!("{}: {error}", setting.who))?;
        if !child.status.success() {
            return Err(String::from_utf8_lossy(&child.stderr).trim().to_owned());
        }
        let said = String::from_utf8_lossy(&child.stdout);
        let most = Most::parse(&said).ok_or_else(|| format!("{} printed {said}", setting.who))?;
        table.row([setting.who.to_owned()].into_iter().chain(most.cells()));
        rows.extend(most.rows(setting));
    }
    let text = format!(
        "{PRODUCERS} producers send {EACH} messages of 64 bytes each to one actor with a mailbox of \
         1024, which works {} µs on each, {WORKERS} workers: memory of the whole process, before the \
         first message and at its most later. It is flat if the second half has at most {FLAT} times as much as the first, \
         and both less than {} MiB more than before, half of what the messages are long.\n\n{table}",
        WORK.as_micros(),
        GROWTH_MAX >> 20,
    );
    Ok(Section::new("Overload", text).with_rows(rows))
}

/// Memory of the whole process, in bytes.
#[derive(Debug)]
struct Most {
    before: u64,
    first: u64,
    second: u64,
}

impl Most {
    fn of(before: u64, samples: &[u64]) -> Self {
        let (first, second) = samples.split_at(samples.len() / 2);
        let most = |half: &[u64]| half.iter().copied().max().unwrap_or(0);
        Self { before, first: most(first), second: most(second) }
    }

    /// As a child says it.
    fn parse(said: &str) -> Option<Self> {
        let numbers: Option<Vec<u64>> =
            said.split_whitespace().map(|number| number.parse().ok()).collect();
        let [before, first, second] = numbers?[..] else { return None };
        Some(Self { before, first, second })
    }

    #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
    fn cells(&self) -> [String; 4] {
        let Self { before, first, second } = *self;
        let [started, early, late] =
            [before, first, second].map(|bytes| bytes as f64 / f64::from(1 << 20));
        let peak = first.max(second);
        // Nobody may have looked.
        let is_held_back = peak > 0 && peak.saturating_sub(before) < GROWTH_MAX;
        let flat = if is_held_back && late <= early * FLAT { "yes" } else { "NO" };
        [
            format!("{started:.1} MiB"),
            format!("{early:.1} MiB"),
            format!("{late:.1} MiB"),
            flat.to_owned(),
        ]
    }

    fn rows(&self, setting: &Setting) -> [Row; 3] {
        let parts =
            [("before", self.before), ("first half", self.first), ("second half", self.second)];
        parts.map(|(part, bytes)| Row {
            scheduler: setting.who.to_owned(),
            workers: i64::try_from(WORKERS).ok(),
            n: i64::try_from(PRODUCERS * EACH).ok(),
            resident_bytes: i64::try_from(bytes).ok(),
            ..Row::here(&format!("overload {part}"), setting.who)
        })
    }
}

/// Measures one scheduler in this process; returns bytes before, and at their most in both halves.
///
/// # Errors
/// When there is no such scheduler, or the system does not say how much memory is in use.
pub fn measure(scheduler: &str) -> Result<String, String> {
    let setting = Setting::named(scheduler);
    let system = setting.ok_or_else(|| format!("no such scheduler: {scheduler}"))?.system();
    let countdown = Countdown::new(PRODUCERS);
    let (slow, producers) = block_on(async {
        let slow = system.spawn::<Slow>(()).await.expect("the slow actor starts");
        let mut producers = Vec::new();
        for _ in 0..PRODUCERS {
            let args = (slow.clone(), countdown.ticket());
            producers.push(system.spawn::<Producer>(args).await.expect("a producer starts"));
        }
        (slow, producers)
    });
    let before = resident_bytes().ok_or("needs /proc/self/status")?;
    let done = thread::spawn(move || block_on(countdown.done));
    for producer in &producers {
        producer.produce().tell().expect("the producer lives");
    }
    drop(producers);
    let mut samples = Vec::new();
    while !done.is_finished() {
        samples.push(resident_bytes().ok_or("needs /proc/self/status")?);
        sleep(LOOKING_EVERY);
    }
    let handled = block_on(async { slow.handled().await.ok() });
    assert_eq!(handled, Some(PRODUCERS * EACH), "every message was handled once");
    let Most { before, first, second } = Most::of(before, &samples);
    Ok(format!("{before} {first} {second}"))
}

#[cfg(test)]
mod tests {
    use super::Most;

    const MIB: u64 = 1 << 20;

    fn cells(before: u64, samples: &[u64]) -> String {
        Most::of(before, samples).cells().join(" | ")
    }

    #[test]
    fn growth_in_the_second_half_is_seen() {
        let flat = cells(MIB, &[2 * MIB, 4 * MIB, 4 * MIB, 3 * MIB]);
        assert_eq!(flat, "1.0 MiB | 4.0 MiB | 4.0 MiB | yes");
        let growing = cells(MIB, &[2 * MIB, 4 * MIB, 5 * MIB, 6 * MIB]);
        assert_eq!(growing, "1.0 MiB | 4.0 MiB | 6.0 MiB | NO");
    }

    #[test]
    fn a_mailbox_that_takes_everything_at_once_is_seen() {
        let unbounded = cells(MIB, &[40 * MIB, 40 * MIB, 30 * MIB, 10 * MIB]);
        assert_eq!(unbounded, "1.0 MiB | 40.0 MiB | 30.0 MiB | NO");
        assert!(cells(MIB, &[]).ends_with("NO"), "nobody has looked");
    }

    #[test]
    fn what_a_child_says_is_read() {
        let most = Most::parse("1048576 2097152 3145728\n").unwrap();
        assert_eq!(most.cells().join(" | "), "1.0 MiB | 2.0 MiB | 3.0 MiB | NO");
        assert!(Most::parse("1 2").is_none() && Most::parse("1 2 x").is_none());
    }
}
