//! Events that cannot be stored, or not be read again, harm nobody: not their own actor, not what others write
//! meanwhile.

use crate::ledger::{Noted, Opened, numbers, open};
use crate::stores::Folder;
use crate::support::on;
use greenroom::journal::{
    DecodeError, Embedded, EncodeError, Encoder, Event, EventSourced, Journal, Memory,
    PersistError, Record, RecoverError, Sourced,
};
use greenroom::{Actor, AskError, Context, Scheduler, System, handlers};
use serde::{Deserialize, Serialize, Serializer, ser};

/// A field that refuses to be written.
struct Stubborn;

impl Serialize for Stubborn {
    fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        Err(ser::Error::custom("not I"))
    }
}

/// An event whose record is made by hand.
enum Named {
    /// The name is its own.
    As(String),
    Unwritable,
}

impl Event for Named {
    fn encode(&self) -> Result<Record, EncodeError> {
        match self {
            Self::As(name) => {
                Ok(Record { name: name.clone().into(), version: 1, payload: Vec::new() })
            }
            Self::Unwritable => {
                let mut encoder = Encoder::new("unwritable", 1);
                encoder.field(&Stubborn)?;
                Ok(encoder.finish())
            }
        }
    }

    fn decode(record: &Record) -> Result<Self, DecodeError> {
        Ok(Self::As(record.name.to_string()))
    }
}

#[derive(Default, Serialize, Deserialize)]
struct Names(Vec<String>);

impl EventSourced for Names {
    type Event = Named;

    fn apply(&mut self, event: &Named) {
        match event {
            Named::As(name) => self.0.push(name.clone()),
            Named::Unwritable => unreachable!("it is never stored"),
        }
    }
}

#[derive(Actor)]
struct Register(Sourced<Names>);

#[handlers]
impl Register {
    #[start]
    async fn start(journal: Journal, cx: &mut Context<Self>) -> Result<Self, RecoverError> {
        Ok(Self(journal.open("register").recover(cx).await?))
    }
    #[ask]
    async fn persist(&mut self, events: Vec<Named>) -> Result<(), PersistError> {
        self.0.persist_all(events).await
    }
    #[ask]
    fn record(&mut self, event: Named) -> Result<(), PersistError> {
        self.0.record(event).map(drop)
    }
    #[ask]
    fn names(&self) -> Vec<String> {
        self.0.0.clone()
    }
}

async fn goes_on(system: &System, journal: Journal) {
    let longest = "n".repeat(1_024);
    let register = system.spawn::<Register>(journal.clone()).await.expect("it starts");
    let ledger = open(system, &Opened::new(&journal, "other")).await.expect("it starts");
    let bad = || {
        [Named::As("n".repeat(1_025)), Named::As("a\0b".to_owned()), Named::Unwritable].into_iter()
    };
    for (event, number) in bad().zip(1..) {
        let persist = register.persist(vec![Named::As("before".to_owned()), event]);
        let (persisted, noted) = tokio::join!(persist, ledger.note(Noted::Number(number)));
        assert!(matches!(persisted, Err(AskError::Failed(PersistError::Unencodable(_)))));
        assert_eq!(noted, Ok(number));
    }
    for event in bad() {
        let recorded = register.record(event).await;
        assert!(matches!(recorded, Err(AskError::Failed(PersistError::Unencodable(_)))));
    }
    assert_eq!(register.names().await, Ok(vec![]));
    register.persist(vec![Named::As(longest.clone())]).await.expect("the name is short enough");
    assert_eq!(register.names().await, Ok(vec![longest]));
    assert_eq!(ledger.notes().await, Ok(numbers(1..=3)));
}

#[test]
fn an_event_that_cannot_be_stored_changes_nothing_and_stops_nobody() {
    on(2, Scheduler::stealing(), async |system| {
        let folder = Folder::new("unencodable");
        goes_on(system, Journal::new(Memory::new()).unwrap()).await;
        goes_on(system, Journal::new(Embedded::open(folder.path()).unwrap()).unwrap()).await;
    });
}

/// A field that the format cannot read when it was left out.
#[derive(Serialize, Deserialize)]
struct Patch {
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
}

#[derive(Event)]
enum Pasted {
    #[event(name = "patched")]
    Patched(Patch),
    #[event(name = "cleared")]
    Cleared,
}

#[derive(Default, Serialize, Deserialize)]
struct Pasteboard {
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    changes: u64,
}

impl EventSourced for Pasteboard {
    type Event = Pasted;

    fn apply(&mut self, event: &Pasted) {
        self.changes += 1;
        self.text = match event {
            Pasted::Patched(patch) => patch.text.clone(),
            Pasted::Cleared => None,
        };
    }
}

#[derive(Actor)]
struct Clipboard(Sourced<Pasteboard>);

#[handlers]
impl Clipboard {
    #[start]
    async fn start(journal: Journal, cx: &mut Context<Self>) -> Result<Self, RecoverError> {
        Ok(Self(journal.open("clipboard").snapshot_every(1).prune().recover(cx).await?))
    }
    #[ask]
    async fn patch(&mut self, text: Option<&'static str>) -> Result<(), PersistError> {
        let text = text.map(str::to_owned);
        self.0.persist(Pasted::Patched(Patch { text })).await
    }
    #[ask]
    fn record(&mut self, text: Option<&'static str>) -> Result<(), PersistError> {
        let text = text.map(str::to_owned);
        self.0.record(Pasted::Patched(Patch { text })).map(drop)
    }
    #[ask]
    async fn clear(&mut self) -> Result<(), PersistError> {
        self.0.persist(Pasted::Cleared).await
    }
    #[ask]
    fn shown(&self) -> (Option<String>, u64) {
        (self.0.text.clone(), self.0.changes)
    }
}

// [G-JOURNAL-1]
#[test]
fn what_could_not_be_read_again_is_not_acknowledged() {
    on(1, Scheduler::locked(), async |system| {
        let memory = Memory::new();
        let journal = Journal::new(memory.clone()).unwrap();
        let clipboard = system.spawn::<Clipboard>(journal).await.expect("it starts");
        for refused in [clipboard.patch(None).await, clipboard.record(None).await] {
            assert!(matches!(refused, Err(AskError::Failed(PersistError::Unencodable(_)))));
        }
        assert_eq!(clipboard.shown().await, Ok((None, 0)));
        assert_eq!(memory.events("clipboard"), []);
        clipboard.patch(Some("whole")).await.expect("nothing is left out");
        assert_eq!(clipboard.shown().await, Ok((Some("whole".to_owned()), 1)));
    });
}

// [G-JOURNAL-1] [G-JOURNAL-3]
#[test]
fn an_event_is_read_again_though_one_of_its_kind_was() {
    on(1, Scheduler::locked(), async |system| {
        let journal = Journal::new(Memory::new()).unwrap();
        let clipboard = system.spawn::<Clipboard>(journal.clone()).await.expect("it starts");
        clipboard.patch(Some("whole")).await.expect("nothing is left out");
        for refused in [clipboard.patch(None).await, clipboard.record(None).await] {
            assert!(matches!(refused, Err(AskError::Failed(PersistError::Unencodable(_)))));
        }
        clipboard.stop();
        clipboard.ended().await;
        let clipboard = system.spawn::<Clipboard>(journal).await.expect("it recovers");
        assert_eq!(clipboard.shown().await, Ok((Some("whole".to_owned()), 1)));
    });
}

// [G-JOURNAL-3]
#[test]
fn a_snapshot_that_could_not_be_read_again_costs_no_event() {
    on(1, Scheduler::locked(), async |system| {
        let memory = Memory::new();
        let journal = Journal::new(memory.clone()).unwrap();
        let clipboard = system.spawn::<Clipboard>(journal.clone()).await.expect("it starts");
        clipboard.patch(Some("whole")).await.expect("nothing is left out");
        clipboard.clear().await.expect("an event has no fields");
        clipboard.stop();
        clipboard.ended().await;
        let clipboard = system.spawn::<Clipboard>(journal).await.expect("it recovers");
        assert_eq!(clipboard.shown().await, Ok((None, 2)));
        assert_eq!(memory.events("clipboard").len(), 1, "the first is in the snapshot");
    });
}
