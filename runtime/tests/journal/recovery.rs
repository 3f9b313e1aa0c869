//! What was acknowledged is recovered, in order, into the same state.

use super::ledger::{Ledger, Noted, Notes, Opened, numbers, open};
use super::stores::{Folder, Puppet};
use super::support::{everywhere, on, soon, until};
use greenroom::journal::{Embedded, EventSourced, Journal, Memory, Store};
use greenroom::{Scheduler, System};
use proptest::prelude::*;

/// Opens the key, lets `events` be noted, and ends the actor.
async fn session(system: &System, opened: &Opened, events: &[Noted]) -> Vec<String> {
    let ledger = open(system, opened).await.expect("it recovers");
    for event in events {
        ledger.note(event.clone()).await.expect("it is written");
    }
    let notes = ledger.notes().await.expect("it lives");
    ledger.stop();
    notes
}

// [G-JOURNAL-1] [G-JOURNAL-3]
#[test]
fn an_event_is_stored_before_it_is_acknowledged() {
    everywhere(async |system| {
        let memory = Memory::new();
        let journal = Journal::new(memory.clone()).unwrap();
        let ledger = open(system, &Opened::new(&journal, "a")).await.unwrap();
        for number in 1..=100 {
            let sequence = ledger.note(Noted::Number(number)).await.unwrap();
            assert_eq!(sequence, number);
            assert_eq!(memory.events("a").len() as u64, number);
        }
        assert_eq!(ledger.notes().await, Ok(numbers(1..=100)));
        journal.close().await;
        // As after a restart of the process.
        let journal = Journal::new(memory.clone()).unwrap();
        let ledger = open(system, &Opened::new(&journal, "a")).await.unwrap();
        assert_eq!(ledger.notes().await, Ok(numbers(1..=100)));
    });
}

// [G-JOURNAL-1]
#[test]
fn nothing_is_seen_of_an_event_that_is_not_durable() {
    on(2, Scheduler::stealing(), async |system| {
        let puppet = Puppet::new();
        let journal = Journal::new(puppet.clone()).unwrap();
        let ledger = open(system, &Opened::new(&journal, "a")).await.unwrap();
        puppet.hold();
        let (other, asking) = (ledger.clone(), ledger.clone());
        let noted = tokio::spawn(async move { asking.note(Noted::Number(1)).await });
        until(|| puppet.is_waiting()).await;
        let seen = tokio::spawn(async move { other.notes().await });
        assert!(!noted.is_finished() && !seen.is_finished());
        assert_eq!(puppet.memory.events("a"), []);
        puppet.release();
        assert_eq!(soon(noted).await.unwrap(), Ok(1));
        assert_eq!(soon(seen).await.unwrap(), Ok(numbers(1..=1)));
    });
}

// [G-JOURNAL-1]
#[test]
fn what_is_recorded_is_over_when_it_is_durable() {
    on(2, Scheduler::stealing(), async |system| {
        let puppet = Puppet::new();
        let journal = Journal::new(puppet.clone()).unwrap();
        let ledger = open(system, &Opened::new(&journal, "a")).await.unwrap();
        puppet.hold();
        let (seen, first) = ledger.record(Noted::Number(1)).await.unwrap();
        assert_eq!(seen, numbers(1..=1), "the actor itself sees it at once");
        let (_, second) = ledger.record(Noted::Number(2)).await.unwrap();
        let (first, second) = (first.unwrap(), second.unwrap());
        assert!(!first.is_over() && !second.is_over());
        puppet.release();
        assert_eq!(soon(second.wait()).await, Ok(()));
        assert!(first.is_over());
        assert_eq!(puppet.memory.events("a").len(), 2);
    });
}

// [G-JOURNAL-3]
#[test]
fn an_event_whose_caller_left_is_applied_in_its_place() {
    on(2, Scheduler::stealing(), async |system| {
        let puppet = Puppet::new();
        let journal = Journal::new(puppet.clone()).unwrap();
        let opened = Opened::new(&journal, "a");
        let ledger = open(system, &opened).await.unwrap();
        puppet.hold();
        assert_eq!(ledger.note_in_vain(Noted::Number(1)).await.unwrap(), Vec::<String>::new());
        puppet.release();
        assert_eq!(ledger.note(Noted::Number(2)).await, Ok(2));
        assert_eq!(ledger.notes().await, Ok(numbers(1..=2)));
        ledger.stop();
        let ledger = open(system, &opened).await.unwrap();
        assert_eq!(ledger.notes().await, Ok(numbers(1..=2)));
    });
}

#[test]
fn what_was_handed_in_is_written_before_the_journal_closes() {
    on(1, Scheduler::locked(), async |system| {
        let folder = Folder::new("close");
        let journal = Journal::new(Embedded::open(folder.path()).unwrap()).unwrap();
        let ledger = open(system, &Opened::new(&journal, "a")).await.unwrap();
        let (_, commit) = ledger.record(Noted::Number(1)).await.unwrap();
        journal.close().await;
        assert_eq!(commit.unwrap().wait().await, Ok(()));
        let journal = Journal::new(Embedded::open(folder.path()).unwrap()).unwrap();
        let ledger = open(system, &Opened::new(&journal, "a")).await.unwrap();
        assert_eq!(ledger.notes().await, Ok(numbers(1..=1)));
    });
}

fn noted() -> impl Strategy<Value = Noted> {
    prop_oneof![
        4 => any::<u64>().prop_map(Noted::Number),
        2 => ("[a-z]{0,9}", 0..4_u8).prop_map(|(text, times)| Noted::Text { text, times }),
        1 => Just(Noted::Cleared),
    ]
}

/// Several lives of one key: what is noted in each, how often a snapshot is taken, and whether it prunes.
type Lives = (Vec<Vec<Noted>>, Option<u64>, bool);

fn lives() -> impl Strategy<Value = Lives> {
    let session = prop::collection::vec(noted(), 0..12);
    (prop::collection::vec(session, 1..6), prop::option::of(1..7_u64), any::<bool>())
}

/// Lives through all sessions, each over a store opened anew, beside the plain state.
fn live<S: Store>((sessions, every, prune): Lives, mut store: impl FnMut() -> S) {
    let store = std::cell::RefCell::new(&mut store);
    on(2, Scheduler::stealing(), async |system| {
        let mut model = Notes::default();
        for events in &sessions {
            let opened_store = (store.borrow_mut())();
            let journal = Journal::new(opened_store).expect("a thread");
            let opened = Opened { every, prune, ..Opened::new(&journal, "a") };
            let notes = session(system, &opened, events).await;
            events.iter().for_each(|event| model.apply(event));
            assert_eq!(notes, model.0);
            journal.close().await;
        }
    });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(sanitized) { 12 } else { 60 }))]

    // [G-JOURNAL-3]
    #[test]
    fn every_session_goes_on_from_the_last(lives in lives()) {
        let memory = Memory::new();
        live(lives, || memory.clone());
    }
}

proptest! {
    // A disk takes its time.
    #![proptest_config(ProptestConfig::with_cases(4))]

    // [G-JOURNAL-3]
    #[test]
    fn every_session_goes_on_from_the_last_on_disk(lives in lives()) {
        let folder = Folder::new("sessions");
        live(lives, || Embedded::open(folder.path()).expect("the session before has closed it"));
    }
}

// [G-JOURNAL-2]
#[test]
fn events_that_belong_together_are_one_commit() {
    on(1, Scheduler::locked(), async |system| {
        let puppet = Puppet::new();
        let journal = Journal::new(puppet.clone()).unwrap();
        let ledger = open(system, &Opened::new(&journal, "a")).await.unwrap();
        let before = puppet.commits();
        let events = (1..=50).map(Noted::Number).collect();
        assert_eq!(ledger.note_all(events).await, Ok(50));
        assert_eq!(puppet.commits() - before, 1);
        assert_eq!(ledger.note_all(Vec::new()).await, Ok(50), "nothing is soon written");
    });
}

#[test]
fn a_snapshot_bounds_what_is_kept() {
    on(1, Scheduler::locked(), async |system| {
        let memory = Memory::new();
        let journal = Journal::new(memory.clone()).unwrap();
        let opened = Opened { every: Some(10), prune: true, ..Opened::new(&journal, "a") };
        let ledger: greenroom::Ref<Ledger> = open(system, &opened).await.unwrap();
        for number in 1..=105 {
            ledger.note(Noted::Number(number)).await.unwrap();
        }
        let kept: Vec<u64> = memory.events("a").iter().map(|(sequence, _)| *sequence).collect();
        assert!(kept.len() < 20, "{kept:?}");
        ledger.stop();
        let ledger = open(system, &opened).await.unwrap();
        assert_eq!(ledger.notes().await, Ok(numbers(1..=105)));
    });
}
