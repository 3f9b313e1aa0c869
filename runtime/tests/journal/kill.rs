//! A process is killed at any point, and its successor has exactly what was acknowledged, or more by what
//! was on its way, whole.

use super::ledger::{Ledger, Noted, Opened, open};
use super::stores::Folder;
use super::support::{Dice, on};
use greenroom::journal::{Embedded, Journal, Store};
use greenroom::{Ref, Scheduler};
use std::cell::Cell;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Where the child finds its journal; set in children only.
const PLACE: &str = "GREENROOM_KILL_PLACE";
/// How often a child is killed.
const KILLS: &str = "GREENROOM_KILLS";
const KEYS: u64 = 8;
/// Milliseconds that a child lives after its first acknowledgement, at most.
const LIFE_MS_MAX: u64 = 12;
/// Milliseconds that a child lives which is killed while it starts, at most.
const START_MS_MAX: u64 = 24;
/// What a child says before it opens its journal.
const OPENS: &str = "opens";

fn key(number: u64) -> String {
    format!("key-{number}")
}

/// The `nth` events of a key: two that belong together.
fn pair(key: u64, nth: u64) -> Vec<Noted> {
    let text = format!("{key}/{nth}/{}", "x".repeat((nth % 300) as usize));
    vec![Noted::Number(nth), Noted::Text { text, times: 1 }]
}

/// What a ledger shows after `count` pairs.
fn shown(key: u64, count: u64) -> Vec<String> {
    let pairs = (0..count).flat_map(|nth| pair(key, nth));
    pairs
        .map(|event| match event {
            Noted::Number(number) => number.to_string(),
            Noted::Text { text, .. } => text,
            Noted::Cleared => String::new(),
        })
        .collect()
}

/// Opens the store at a place: a folder, or the address of a database.
fn store(place: &str) -> Box<dyn Store> {
    #[cfg(feature = "postgres")]
    if place.starts_with("postgres:") {
        return Box::new(greenroom::journal::Postgres::connect(place).expect("it lets us in"));
    }
    Box::new(Embedded::open(place).expect("it opens after any crash"))
}

async fn ledgers(system: &greenroom::System, place: &str) -> (Journal, Vec<Ref<Ledger>>) {
    let journal = Journal::new(store(place)).expect("a thread");
    let mut ledgers = Vec::new();
    for number in 0..KEYS {
        // Some take snapshots, and some of those prune.
        let every = (number % 2 == 0).then_some(5);
        let opened =
            Opened { every, prune: number % 4 == 0, ..Opened::new(&journal, &key(number)) };
        ledgers.push(open(system, &opened).await.expect("it recovers"));
    }
    (journal, ledgers)
}

/// Tells the parent in one write call, so that a line is there or not.
fn say(line: &str) {
    std::io::stdout().write_all(line.as_bytes()).expect("the parent listens");
}

/// The child: writes to every key as fast as it can, and says what was acknowledged.
#[test]
#[ignore = "run by the test below, to be killed"]
fn child() {
    let Ok(place) = std::env::var(PLACE) else { return };
    on(2, Scheduler::stealing(), async |system| {
        say(&format!("{OPENS}\n"));
        let (_journal, ledgers) = ledgers(system, &place).await;
        let mut writers = tokio::task::JoinSet::new();
        for (number, ledger) in (0..).zip(ledgers) {
            let mut count = ledger.notes().await.unwrap().len() as u64 / 2;
            writers.spawn(async move {
                loop {
                    ledger.note_all(pair(number, count)).await.expect("it is written");
                    count += 1;
                    say(&format!("ack {number} {count}\n"));
                }
            });
        }
        writers.join_all().await;
    });
}

/// From when on a child is left alive.
#[derive(Clone, Copy, PartialEq)]
enum Since {
    /// From the moment at which it opens its journal: it may be killed while it recovers that.
    Opening,
    /// From the moment at which there is something in its folder: it may be killed while it makes its journal.
    Growing,
    /// From its first acknowledgement on.
    Writing,
}

/// Whether no file in the folder has a byte.
fn is_empty(folder: &str) -> bool {
    let mut files = std::fs::read_dir(folder).expect("the folder is there").flatten();
    files.all(|file| file.metadata().is_ok_and(|file| file.len() == 0))
}

/// Lets a child live for a while, kills it, and raises `acknowledged` to what it has said.
fn run_and_kill(place: &str, since: Since, life: Duration, acknowledged: &mut [u64]) {
    let program = std::env::current_exe().expect("the test's own program");
    let mut child = Command::new(program)
        .args(["--exact", "kill::child", "--ignored", "--nocapture"])
        .env(PLACE, place)
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .expect("a child");
    let mut lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
    let note = |line: &str, acknowledged: &mut [u64]| {
        let mut words = line.split(' ').skip_while(|word| *word != "ack").skip(1);
        let mut number = || words.next().and_then(|word| word.parse::<u64>().ok());
        let (Some(key), Some(count)) = (number(), number()) else { return false };
        acknowledged[key as usize] = count;
        true
    };
    for line in lines.by_ref() {
        let line = line.expect("text");
        let opens = since != Since::Writing && line.ends_with(OPENS);
        if opens || note(&line, acknowledged) {
            break;
        }
    }
    while since == Since::Growing && is_empty(place) {
        std::thread::sleep(Duration::from_micros(50));
    }
    std::thread::sleep(life);
    child.kill().expect("it lives");
    child.wait().expect("it was killed");
    for line in lines.map_while(Result::ok) {
        note(&line, acknowledged);
    }
}

// [G-JOURNAL-1] [G-JOURNAL-2] [G-JOURNAL-3]
#[test]
fn what_was_acknowledged_survives_a_kill_at_any_point() {
    let (kills, folder) = (kills(), Folder::new("kill"));
    let pairs = kill_again_and_again(folder.path().to_str().expect("a plain path"), kills);
    eprintln!("{kills} kills, {pairs} pairs, none lost");
}

// [G-JOURNAL-1] [G-JOURNAL-2]
#[test]
fn a_kill_while_the_journal_is_made_leaves_one_that_opens() {
    const FOLDERS: u64 = if cfg!(sanitized) { 3 } else { 12 };
    let mut dice = Dice::new(FOLDERS);
    for _ in 0..FOLDERS {
        let folder = Folder::new("made");
        let life = Duration::from_micros(dice.below(START_MS_MAX * 1_000));
        let mut acknowledged = [0; KEYS as usize];
        let place = folder.path().to_str().expect("a plain path");
        run_and_kill(place, Since::Growing, life, &mut acknowledged);
        let mut store = store(place);
        for (number, acknowledged) in (0..).zip(acknowledged) {
            let events = store.read(&key(number), 0, usize::MAX).expect("it is readable");
            let snapshot = store.snapshot(&key(number)).expect("it is readable");
            // Of some all events may be pruned.
            let last = events.last().map(|(sequence, _)| *sequence);
            let last = last.or(snapshot.map(|it| it.sequence)).unwrap_or(0);
            assert!(last >= acknowledged * 2, "{acknowledged} pairs acknowledged, {last} events");
        }
    }
}

/// How often a child is killed: a few times, unless the environment says more.
pub(crate) fn kills() -> u64 {
    let few = if cfg!(sanitized) { 6 } else { 20 };
    std::env::var(KILLS).map_or(few, |kills| kills.parse().expect("a number"))
}

/// Kills children that write to the place, and reads back what each has left. Returns how many pairs that is.
pub(crate) fn kill_again_and_again(place: &str, kills: u64) -> u64 {
    let mut dice = Dice::new(kills);
    // By key: how many pairs were acknowledged, or seen after a kill.
    let mut known = [0; KEYS as usize];
    for kill in 0..kills {
        // Every third one is killed while it starts, the first among them, which makes the journal.
        let (since, most) = match kill % 3 {
            0 => (Since::Opening, START_MS_MAX),
            _ => (Since::Writing, LIFE_MS_MAX),
        };
        run_and_kill(place, since, Duration::from_micros(dice.below(most * 1_000)), &mut known);
        let seen = known.map(Cell::new);
        on(2, Scheduler::stealing(), async |system| {
            let (journal, ledgers) = ledgers(system, place).await;
            for (number, ledger) in (0..).zip(ledgers) {
                let notes = ledger.notes().await.expect("it lives");
                let count = notes.len() as u64 / 2;
                assert_eq!(notes, shown(number, count), "every event, in order, in pairs");
                // One more may have been on its way, or acknowledged and not yet said.
                let known = seen[number as usize].replace(count);
                assert!(
                    (known..=known + 1).contains(&count),
                    "{known} acknowledged, {count} there"
                );
            }
            journal.close().await;
        });
        known = seen.map(Cell::into_inner);
    }
    let total: u64 = known.iter().sum();
    assert!(total >= kills * 2 / 3, "each child has written that was not killed before");
    total
}
