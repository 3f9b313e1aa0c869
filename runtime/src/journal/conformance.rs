//! What every store must do, as one suite that any implementation can call.

use super::store::{Claim, Record, Refused, Snapshot, Store, Write, Written};
use std::borrow::Cow;

/// More than any of the stores here reads or prunes at once.
const MANY: u64 = 5_000;

/// Checks a store: `open` is called several times, and each time opens the same place anew, where nothing
/// was at first. What it gave before is dropped by then.
///
/// # Panics
/// At the first thing that the store does not do.
pub fn store_conforms<S: Store>(mut open: impl FnMut() -> S) {
    let mut check = Check { store: open() };
    check.a_new_key_is_empty();
    check.events_come_back_in_order();
    check.writes_of_one_commit_see_each_other();
    check.what_is_out_of_step_is_refused();
    check.an_earlier_epoch_is_fenced();
    check.a_snapshot_replaces_the_last();
    check.reading_is_bounded();
    check.pruned_events_go();
    drop(check);
    Check { store: open() }.everything_is_there_when_opened_again();
}

struct Check<S> {
    store: S,
}

fn record(text: &str) -> Record {
    Record { name: Cow::Owned(format!("name of {text}")), version: 3, payload: text.into() }
}

fn append(key: &str, epoch: u64, first: u64, texts: &[&str]) -> Write {
    let records = texts.iter().map(|text| record(text)).collect();
    Write::Append { key: key.to_owned(), epoch, first, records }
}

fn snapshot(key: &str, epoch: u64, sequence: u64, prune: bool) -> Write {
    let snapshot = Snapshot { sequence, version: 2, payload: vec![7; 100_000] };
    Write::Snapshot { key: key.to_owned(), epoch, snapshot, prune }
}

impl<S: Store> Check<S> {
    fn commit<const N: usize>(&mut self, writes: &[Write; N]) -> [Result<Written, Refused>; N] {
        let outcomes = self.store.commit(writes).expect("the store is sound");
        outcomes.try_into().expect("one outcome for each write")
    }

    fn claim(&mut self, key: &str) -> Claim {
        match self.commit(&[Write::Claim { key: key.to_owned() }]) {
            [Ok(Written::Claimed(claim))] => claim,
            [other] => panic!("a claim is always granted: {other:?}"),
        }
    }

    fn read(&mut self, key: &str, after: u64) -> Vec<(u64, Record)> {
        let mut events: Vec<(u64, Record)> = Vec::new();
        loop {
            let at = events.last().map_or(after, |(sequence, _)| *sequence);
            let more = self.store.read(key, at, 1 << 16).expect("the store is sound");
            if more.is_empty() {
                return events;
            }
            events.extend(more);
        }
    }

    fn a_new_key_is_empty(&mut self) {
        assert_eq!(self.read("new", 0), []);
        assert_eq!(self.store.snapshot("new"), Ok(None));
        assert_eq!(self.claim("new"), Claim { epoch: 1, last: 0 });
        assert_eq!(self.claim("new"), Claim { epoch: 2, last: 0 });
    }

    fn events_come_back_in_order(&mut self) {
        let Claim { epoch, .. } = self.claim("order");
        assert_eq!(self.commit(&[append("order", epoch, 1, &["a", "b"])]), [Ok(Written::Done)]);
        assert_eq!(self.commit(&[append("order", epoch, 3, &["", "d"])]), [Ok(Written::Done)]);
        let expected = [(1, record("a")), (2, record("b")), (3, record("")), (4, record("d"))];
        assert_eq!(self.read("order", 0), expected);
        assert_eq!(self.read("order", 2), expected[2..]);
        assert_eq!(self.read("order", 4), []);
        assert_eq!(self.claim("order").last, 4);
        assert_eq!(self.read("orde", 0), [], "another key is another key");
    }

    fn writes_of_one_commit_see_each_other(&mut self) {
        let key = || "together".to_owned();
        let outcomes = self.commit(&[
            Write::Claim { key: key() },
            append("together", 1, 1, &["a"]),
            append("together", 1, 2, &["b"]),
            Write::Claim { key: key() },
            append("together", 1, 3, &["late"]),
            append("together", 2, 3, &["c"]),
        ]);
        let claimed = |epoch, last| Ok(Written::Claimed(Claim { epoch, last }));
        let done = Ok(Written::Done);
        let expected = [claimed(1, 0), done, done, claimed(2, 2), Err(Refused::Fenced), done];
        assert_eq!(outcomes, expected);
        let events = [(1, record("a")), (2, record("b")), (3, record("c"))];
        assert_eq!(self.read("together", 0), events);
    }

    fn what_is_out_of_step_is_refused(&mut self) {
        let Claim { epoch, .. } = self.claim("step");
        let refused = |last| Err(Refused::OutOfStep { last });
        let outcomes = self.commit(&[
            append("step", epoch, 2, &["too far"]),
            append("step", epoch, 1, &["a"]),
            append("step", epoch, 1, &["again"]),
            snapshot("step", epoch, 2, false),
        ]);
        assert_eq!(outcomes, [refused(0), Ok(Written::Done), refused(1), refused(1)]);
        assert_eq!(self.read("step", 0), [(1, record("a"))], "what was refused left no trace");
        assert_eq!(self.store.snapshot("step"), Ok(None));
    }

    fn an_earlier_epoch_is_fenced(&mut self) {
        let old = self.claim("fence").epoch;
        assert_eq!(self.commit(&[append("fence", old, 1, &["a"])]), [Ok(Written::Done)]);
        let new = self.claim("fence");
        assert_eq!(new, Claim { epoch: old + 1, last: 1 });
        let outcomes = self.commit(&[
            append("fence", old, 2, &["too late"]),
            snapshot("fence", old, 1, true),
            append("fence", new.epoch, 2, &["b"]),
        ]);
        let fenced = Err(Refused::Fenced);
        assert_eq!(outcomes, [fenced, fenced, Ok(Written::Done)]);
        assert_eq!(self.read("fence", 0), [(1, record("a")), (2, record("b"))]);
        assert_eq!(self.store.snapshot("fence"), Ok(None));
    }

    fn a_snapshot_replaces_the_last(&mut self) {
        let Claim { epoch, .. } = self.claim("snapshot");
        let outcomes = self.commit(&[
            append("snapshot", epoch, 1, &["a", "b"]),
            snapshot("snapshot", epoch, 1, false),
            snapshot("snapshot", epoch, 2, false),
        ]);
        assert_eq!(outcomes, [Ok(Written::Done); 3]);
        let found = self.store.snapshot("snapshot").expect("the store is sound");
        assert_eq!(found, Some(Snapshot { sequence: 2, version: 2, payload: vec![7; 100_000] }));
        assert_eq!(self.read("snapshot", 0).len(), 2, "events are kept unless they are pruned");
    }

    fn reading_is_bounded(&mut self) {
        let Claim { epoch, .. } = self.claim("many");
        let text = "x".repeat(1_000);
        let writes: Vec<_> = (1..=MANY).map(|at| append("many", epoch, at, &[&text])).collect();
        let outcomes = self.store.commit(&writes).expect("the store is sound");
        assert!(outcomes.iter().all(|outcome| *outcome == Ok(Written::Done)));
        let some = self.store.read("many", 0, 10_000).expect("the store is sound");
        assert!((1..=11).contains(&some.len()), "{} events for 10,000 bytes", some.len());
        assert_eq!(self.store.read("many", 7, 1).expect("the store is sound").len(), 1);
        let all = self.read("many", 0);
        assert!(all.iter().map(|(sequence, _)| *sequence).eq(1..=MANY));
    }

    fn pruned_events_go(&mut self) {
        let epoch = self.claim("many").epoch;
        let outcomes = self.commit(&[snapshot("many", epoch, MANY - 1, true)]);
        assert_eq!(outcomes, [Ok(Written::Done)]);
        // It may take some commits, and never takes what is not in the snapshot.
        for _ in 0..MANY {
            if self.read("many", 0).len() == 1 {
                break;
            }
            self.claim("other");
        }
        assert_eq!(self.read("many", 0), [(MANY, record(&"x".repeat(1_000)))]);
        let outcomes = self.commit(&[snapshot("many", epoch, MANY, true)]);
        assert_eq!(outcomes, [Ok(Written::Done)]);
        for _ in 0..MANY {
            if self.read("many", 0).is_empty() {
                break;
            }
            self.claim("other");
        }
        assert_eq!(self.claim("many"), Claim { epoch: epoch + 1, last: MANY });
    }

    fn everything_is_there_when_opened_again(&mut self) {
        assert_eq!(self.read("order", 0).len(), 4);
        assert_eq!(self.read("together", 0).len(), 3);
        assert_eq!(self.claim("together"), Claim { epoch: 3, last: 3 });
        assert_eq!(self.claim("many").last, MANY, "a snapshot without events keeps their count");
        assert_eq!(self.claim("new"), Claim { epoch: 3, last: 0 });
        let found = self.store.snapshot("snapshot").expect("the store is sound");
        assert_eq!(found.map(|found| found.sequence), Some(2));
    }
}
