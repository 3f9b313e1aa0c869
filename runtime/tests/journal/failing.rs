//! An actor that cannot write ends, and says so; it never goes on with a state that the disk lacks.

use super::ledger::{Noted, Opened, numbers, open};
use super::stores::Puppet;
use super::support::{everywhere, exit_of, on, soon, until};
use greenroom::journal::{Journal, PersistError, RecoverError, StoreError};
use greenroom::{AskError, Event, ExitReason, Scheduler, SpawnError};
use tokio::sync::mpsc;

fn full() -> PersistError {
    PersistError::Store(StoreError::new("no space left on device"))
}

// [G-JOURNAL-4]
#[test]
fn a_write_that_fails_ends_the_incarnation_before_the_next_message() {
    everywhere(async |system| {
        let puppet = Puppet::new();
        let journal = Journal::new(puppet.clone()).unwrap();
        let mut events = system.events();
        let ledger = open(system, &Opened::new(&journal, "a")).await.unwrap();
        ledger.note(Noted::Number(1)).await.unwrap();
        puppet.hold();
        let asking = ledger.clone();
        let failing = tokio::spawn(async move { asking.note(Noted::Number(2)).await });
        until(|| puppet.is_waiting()).await;
        let asking = ledger.clone();
        let next = tokio::spawn(async move { (asking.handled().await, asking.notes().await) });
        puppet.set_broken(true);
        puppet.release();
        assert_eq!(soon(failing).await.unwrap(), Err(AskError::Failed(full())));
        // It starts again and again, in vain, until it has done so too often.
        let reason = ExitReason::NotPersisted(full().to_string());
        loop {
            match soon(events.next()).await.unwrap() {
                Event::Restarting { reason: why, .. } => {
                    assert_eq!(why, reason);
                    break;
                }
                Event::Started { .. } | Event::Overrun { .. } => {}
                other => panic!("{other:?}"),
            }
        }
        puppet.set_broken(false);
        // What waited was handled by an incarnation that has what the disk has, or by none.
        match soon(next).await.unwrap() {
            (Ok(handled), Ok(notes)) => assert_eq!((handled, notes), (0, numbers(1..=1))),
            (_, notes) => assert_ne!(notes, Ok(numbers(1..=2))),
        }
    });
}

// [G-JOURNAL-4]
#[test]
fn what_was_recorded_in_vain_ends_the_incarnation() {
    on(2, Scheduler::stealing(), async |system| {
        let puppet = Puppet::new();
        let journal = Journal::new(puppet.clone()).unwrap();
        let mut events = system.events();
        let ledger = open(system, &Opened::new(&journal, "a")).await.unwrap();
        puppet.set_broken(true);
        let (seen, commit) = ledger.record(Noted::Number(1)).await.unwrap();
        assert_eq!(seen, numbers(1..=1));
        assert_eq!(soon(commit.unwrap().wait()).await, Err(full()));
        let reason = exit_of(&ledger, &mut events).await;
        assert!(matches!(reason, ExitReason::TooManyRestarts { .. }), "{reason}");
        assert_eq!(puppet.memory.events("a"), []);
    });
}

// [G-JOURNAL-4]
#[test]
fn after_a_failure_the_next_incarnation_has_what_the_disk_has() {
    on(2, Scheduler::stealing(), async |system| {
        let puppet = Puppet::new();
        let journal = Journal::new(puppet.clone()).unwrap();
        let mut events = system.events();
        let ledger = open(system, &Opened::new(&journal, "a")).await.unwrap();
        ledger.note(Noted::Number(1)).await.unwrap();
        puppet.hold();
        let (_, commit) = ledger.record(Noted::Number(2)).await.unwrap();
        until(|| puppet.is_waiting()).await;
        // It fails for another reason; its successor claims the key behind the write that is under way.
        let (_, later) = ledger.record(Noted::Number(3)).await.unwrap();
        ledger.stop();
        assert_eq!(exit_of(&ledger, &mut events).await, ExitReason::Stopped);
        let opened = Opened::new(&journal, "a");
        let (spawner, again) = (system.clone(), opened.clone());
        let opening = tokio::spawn(async move { open(&spawner, &again).await });
        puppet.release();
        let ledger = soon(opening).await.unwrap().unwrap();
        assert_eq!(commit.unwrap().wait().await, Ok(()));
        assert_eq!(later.unwrap().wait().await, Ok(()));
        assert_eq!(ledger.notes().await, Ok(numbers(1..=3)));
    });
}

#[test]
fn a_closed_journal_opens_and_writes_nothing() {
    on(1, Scheduler::locked(), async |system| {
        let journal = Journal::new(Puppet::new()).unwrap();
        let (errors, mut told) = mpsc::unbounded_channel();
        let opened = Opened { errors: Some(errors), ..Opened::new(&journal, "a") };
        let ledger = open(system, &opened).await.unwrap();
        journal.clone().close().await;
        let mut events = system.events();
        let failed = ledger.note(Noted::Number(1)).await;
        assert_eq!(failed, Err(AskError::Failed(PersistError::Closed)));
        let reason = exit_of(&ledger, &mut events).await;
        assert!(matches!(reason, ExitReason::TooManyRestarts { .. }), "{reason}");
        assert_eq!(told.recv().await, Some(RecoverError::Closed));
        let refused = open(system, &opened).await.unwrap_err();
        assert!(matches!(refused, SpawnError::StartFailed(_)), "{refused}");
    });
}

// [G-JOURNAL-6]
#[test]
fn a_key_that_is_none_is_an_error_and_concerns_nobody_else() {
    on(2, Scheduler::stealing(), async |system| {
        let puppet = Puppet::new();
        let journal = Journal::new(puppet.clone()).unwrap();
        let longest = "k".repeat(1_024);
        open(system, &Opened::new(&journal, &longest)).await.unwrap();
        for key in [format!("{longest}k"), "a\0b".to_owned()] {
            let commits = puppet.commits();
            let (errors, mut why) = mpsc::unbounded_channel();
            let opened = Opened { errors: Some(errors), ..Opened::new(&journal, &key) };
            open(system, &opened).await.unwrap_err();
            assert_eq!(why.recv().await, Some(RecoverError::InvalidKey(key)));
            assert_eq!(puppet.commits(), commits, "the store never hears of it");
        }
    });
}
