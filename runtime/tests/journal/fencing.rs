//! Two incarnations of one key never both write.

use super::ledger::{Ledger, Noted, Opened, numbers, open};
use super::stores::{Folder, Puppet};
use super::support::{everywhere, exit_of, on, soon};
use greenroom::journal::{Embedded, Journal, PersistError};
use greenroom::{AskError, ExitReason, Ref, Scheduler, System};

// [G-JOURNAL-5]
#[test]
fn the_last_who_opened_a_key_is_the_only_one_who_writes() {
    everywhere(async |system| {
        let puppet = Puppet::new();
        let mut events = system.events();
        // As on two machines that share a database.
        let (here, there) = (puppet.clone(), puppet.clone());
        let (here, there) = (Journal::new(here).unwrap(), Journal::new(there).unwrap());
        let old = open(system, &Opened::new(&here, "a")).await.unwrap();
        old.note(Noted::Number(1)).await.unwrap();
        let new = open(system, &Opened::new(&there, "a")).await.unwrap();
        let fenced = old.note(Noted::Number(13)).await;
        assert_eq!(fenced, Err(AskError::Failed(PersistError::Fenced)));
        // It would restart after any other failure.
        assert_eq!(exit_of(&old, &mut events).await, ExitReason::Fenced);
        assert_eq!(new.note(Noted::Number(2)).await, Ok(2));
        assert_eq!(new.notes().await, Ok(numbers(1..=2)));
        assert_eq!(puppet.memory.events("a").len(), 2);
    });
}

// [G-JOURNAL-5]
#[test]
fn of_many_who_open_a_key_one_writes_at_a_time() {
    on(4, Scheduler::stealing(), async |system| {
        let folder = Folder::new("fencing");
        let journal = Journal::new(Embedded::open(folder.path()).unwrap()).unwrap();
        one_writes_at_a_time(system, &[journal]).await;
    });
}

/// Lets many open one key over these journals, which have one store.
pub(crate) async fn one_writes_at_a_time(system: &System, journals: &[Journal]) {
    let mut writers = Vec::new();
    for (writer, journal) in (0..16).zip(journals.iter().cycle()) {
        let (system, opened) = (system.clone(), Opened::new(journal, "a"));
        writers.push(tokio::spawn(async move {
            let ledger: Ref<Ledger> = open(&system, &opened).await.expect("it recovers");
            let mut written = Vec::new();
            for number in 0..50 {
                let number = writer * 1_000 + number;
                match ledger.note(Noted::Number(number)).await {
                    Ok(sequence) => written.push((sequence, number.to_string())),
                    Err(AskError::Failed(PersistError::Fenced) | AskError::Closed) => break,
                    Err(other) => panic!("{other:?}"),
                }
            }
            written
        }));
    }
    let mut written = Vec::new();
    for writer in writers {
        written.extend(soon(writer).await.expect("it does not panic"));
    }
    written.sort();
    let last = open(system, &Opened::new(&journals[0], "a")).await.expect("it recovers");
    let notes = last.notes().await.expect("it lives");
    let kept = (1..).zip(notes).collect::<Vec<(u64, String)>>();
    assert_eq!(kept, written, "what was acknowledged, and nothing else");
}
