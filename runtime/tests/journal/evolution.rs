//! A program meets a journal that another version of it has written.

use super::ledger::{Noted, Notes, Opened, numbers, open};
use super::support::{on, soon};
use greenroom::journal::{
    DecodeError, Event, EventSourced, Journal, Memory, RecoverError, Sourced, Store, Write,
};
use greenroom::{Actor, Context, Scheduler, SpawnError, System, handlers};
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;

/// Opens the key and returns why that fails.
async fn refusal(system: &System, opened: Opened) -> RecoverError {
    let (errors, mut told) = mpsc::unbounded_channel();
    let opened = Opened { errors: Some(errors), ..opened };
    let refused = open(system, &opened).await.expect_err("it is not recovered");
    let error = soon(told.recv()).await.expect("the hook failed");
    let SpawnError::StartFailed(text) = &refused else { panic!("{refused}") };
    assert!(text.ends_with(&error.to_string()), "{text}");
    error
}

/// Changes the stored events of key `a` behind the program's back.
fn tamper(memory: &Memory, change: impl Fn(&mut greenroom::journal::Record)) -> Memory {
    let mut records: Vec<_> = memory.events("a").into_iter().map(|(_, record)| record).collect();
    records.iter_mut().for_each(change);
    let mut tampered = Memory::new();
    let key = || "a".to_owned();
    let append = Write::Append { key: key(), epoch: 1, first: 1, records };
    tampered.commit(&[Write::Claim { key: key() }, append]).expect("memory does not fail");
    tampered
}

async fn written(system: &System) -> Memory {
    let memory = Memory::new();
    let journal = Journal::new(memory.clone()).expect("a thread");
    let ledger = open(system, &Opened::new(&journal, "a")).await.expect("it recovers");
    ledger.note(Noted::Number(300)).await.expect("it is written");
    memory
}

// [G-JOURNAL-6]
#[test]
fn unknown_and_malformed_events_are_typed_errors() {
    on(1, Scheduler::locked(), async |system| {
        let memory = written(system).await;
        let opened = |memory| Opened::new(&Journal::new(memory).unwrap(), "a");

        let renamed = tamper(&memory, |record| record.name = "nombre".into());
        let (key, sequence) = ("a".to_owned(), 1);
        let expected =
            RecoverError::UnknownEvent { key, sequence, name: "nombre".to_owned(), version: 1 };
        assert_eq!(refusal(system, opened(renamed)).await, expected);

        let newer = tamper(&memory, |record| record.version = 2);
        let error = refusal(system, opened(newer)).await;
        assert!(matches!(error, RecoverError::UnknownEvent { version: 2, .. }), "{error}");

        let longer = tamper(&memory, |record| record.payload.push(0));
        let error = refusal(system, opened(longer)).await;
        assert!(matches!(error, RecoverError::MalformedEvent { sequence: 1, .. }), "{error}");

        let shorter = tamper(&memory, |record| record.payload.clear());
        let error = refusal(system, opened(shorter)).await;
        assert!(matches!(error, RecoverError::MalformedEvent { .. }), "{error}");
    });
}

// [G-JOURNAL-6]
#[test]
fn an_event_that_is_missing_is_a_typed_error() {
    on(1, Scheduler::locked(), async |system| {
        let memory = written(system).await;
        let journal = Journal::new(memory.clone()).unwrap();
        let opened = Opened { every: Some(2), prune: true, ..Opened::new(&journal, "a") };
        let ledger = open(system, &opened).await.unwrap();
        ledger.note(Noted::Number(301)).await.unwrap();
        ledger.note(Noted::Number(302)).await.unwrap();
        // The events are left, and the snapshot that stands for the first of them is lost.
        let mut lost = Memory::new();
        let key = || "a".to_owned();
        let records: Vec<_> = memory.events("a").into_iter().map(|(_, record)| record).collect();
        let append = Write::Append { key: key(), epoch: 1, first: 1, records: records.clone() };
        let snapshot =
            greenroom::journal::Snapshot { sequence: 1, version: 1, payload: vec![9; 3] };
        let prune = Write::Snapshot { key: key(), epoch: 1, snapshot, prune: true };
        lost.commit(&[Write::Claim { key: key() }, append, prune]).expect("memory does not fail");
        let error = refusal(system, Opened::new(&Journal::new(lost).unwrap(), "a")).await;
        assert!(matches!(error, RecoverError::MalformedSnapshot { .. }), "{error}");
    });
}

/// The ledger's state in a later program: another form of the same.
#[derive(Default, Serialize, Deserialize)]
struct Newer {
    notes: Vec<String>,
    count: u64,
}

impl EventSourced for Newer {
    type Event = Noted;
    const SNAPSHOT_VERSION: u32 = 2;

    fn apply(&mut self, event: &Noted) {
        let mut notes = Notes(std::mem::take(&mut self.notes));
        notes.apply(event);
        self.notes = notes.0;
        self.count += 1;
    }
}

#[derive(Actor)]
struct NewerLedger {
    state: Sourced<Newer>,
}

#[handlers]
impl NewerLedger {
    #[start]
    async fn start(
        journal: Journal,
        errors: mpsc::UnboundedSender<RecoverError>,
        cx: &mut Context<Self>,
    ) -> Result<Self, RecoverError> {
        let recovered = journal.open("a").recover(cx).await;
        let state =
            recovered.inspect_err(|error| errors.send(error.clone()).expect("the test waits"))?;
        Ok(Self { state })
    }

    #[ask]
    fn state(&self) -> (Vec<String>, u64) {
        (self.state.notes.clone(), self.state.count)
    }
}

// [G-JOURNAL-6]
#[test]
fn a_state_of_another_form_is_put_together_anew_while_its_events_are_kept() {
    on(1, Scheduler::locked(), async |system| {
        for prune in [false, true] {
            let memory = Memory::new();
            let journal = Journal::new(memory.clone()).unwrap();
            let opened = Opened { every: Some(3), prune, ..Opened::new(&journal, "a") };
            let ledger = open(system, &opened).await.unwrap();
            for number in 1..=10 {
                ledger.note(Noted::Number(number)).await.unwrap();
            }
            let (errors, mut told) = mpsc::unbounded_channel();
            let newer = system.spawn::<NewerLedger>((journal.clone(), errors)).await;
            if prune {
                assert!(matches!(newer, Err(SpawnError::StartFailed(_))));
                let expected =
                    RecoverError::UnknownSnapshot { key: "a".to_owned(), found: 1, wanted: 2 };
                assert_eq!(told.recv().await, Some(expected));
            } else {
                assert_eq!(newer.unwrap().state().await, Ok((numbers(1..=10), 10)));
            }
        }
    });
}

#[derive(Debug, PartialEq, Event)]
struct Whole {
    number: u32,
    #[allow(dead_code, reason = "a field that is only stored")]
    text: Option<String>,
}

#[derive(Debug, PartialEq, Event)]
#[event(name = "pair", version = 7)]
struct Pair(u8, Box<[u16]>);

#[derive(Debug, PartialEq, Event)]
enum Generic<T: Serialize + for<'a> Deserialize<'a> + Send + 'static> {
    Held(T),
    #[event(version = 2)]
    r#Type,
}

#[test]
fn events_are_structs_and_enums_of_every_shape() {
    let whole = Whole { number: 70_000, text: None };
    let record = whole.encode().unwrap();
    assert_eq!((&*record.name, record.version), ("Whole", 1));
    assert_eq!(Whole::decode(&record), Ok(whole));
    assert_eq!(Pair::decode(&record), Err(DecodeError::Unknown));

    let pair = Pair(1, vec![2, 3].into());
    let record = pair.encode().unwrap();
    assert_eq!((&*record.name, record.version), ("pair", 7));
    assert_eq!(Pair::decode(&record), Ok(pair));

    let held = Generic::Held("x".to_owned());
    assert_eq!(Generic::decode(&held.encode().unwrap()), Ok(held));
    let record = Generic::<u8>::r#Type.encode().unwrap();
    assert_eq!((&*record.name, record.version), ("Type", 2));
    assert_eq!(Generic::<u8>::decode(&record), Ok(Generic::r#Type));
}
