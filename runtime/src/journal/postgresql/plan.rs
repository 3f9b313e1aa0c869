//! What a commit comes to, decided from what the database says of its keys.

use crate::journal::store::{Claim, Record, Refused, Snapshot, Write, Written};
use std::collections::BTreeMap;

/// What is known of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) epoch: u64,
    pub(super) last: u64,
}

/// What is to be written, and what is answered.
#[derive(Debug, Default)]
pub(super) struct Plan<'a> {
    pub(super) heads: BTreeMap<&'a str, Head>,
    pub(super) events: Vec<(&'a str, u64, &'a Record)>,
    pub(super) snapshots: BTreeMap<&'a str, &'a Snapshot>,
    /// Keys whose events up to a sequence go.
    pub(super) pruned: BTreeMap<&'a str, u64>,
    pub(super) outcomes: Vec<Result<Written, Refused>>,
}

/// The key that is written to.
pub(super) fn key_of(write: &Write) -> &str {
    match write {
        Write::Claim { key } | Write::Append { key, .. } | Write::Snapshot { key, .. } => key,
    }
}

impl<'a> Plan<'a> {
    /// Decides on all writes in their order. `heads` has every key that is there.
    pub(super) fn new(heads: BTreeMap<&'a str, Head>, writes: &'a [Write]) -> Self {
        let mut plan = Self { heads, ..Self::default() };
        for write in writes {
            let outcome = plan.decide(write);
            plan.outcomes.push(outcome);
        }
        plan
    }

    fn decide(&mut self, write: &'a Write) -> Result<Written, Refused> {
        let head = self.heads.entry(key_of(write)).or_insert(Head { epoch: 0, last: 0 });
        match write {
            Write::Claim { .. } => {
                head.epoch += 1;
                return Ok(Written::Claimed(Claim { epoch: head.epoch, last: head.last }));
            }
            Write::Append { key, epoch, first, records } => {
                check(*head, *epoch, *first == head.last + 1)?;
                for record in records {
                    head.last += 1;
                    self.events.push((key, head.last, record));
                }
            }
            Write::Snapshot { key, epoch, snapshot, prune } => {
                check(*head, *epoch, snapshot.sequence <= head.last)?;
                self.snapshots.insert(key, snapshot);
                if *prune {
                    let up_to = self.pruned.entry(key).or_default();
                    *up_to = snapshot.sequence.max(*up_to);
                }
            }
        }
        Ok(Written::Done)
    }
}

fn check(head: Head, epoch: u64, is_in_step: bool) -> Result<(), Refused> {
    match () {
        () if head.epoch > epoch => Err(Refused::Fenced),
        () if !is_in_step || head.epoch != epoch => Err(Refused::OutOfStep { last: head.last }),
        () => Ok(()),
    }
}
