//! A ledger that knows what became of each message.

use greenroom::Counts;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};

const OPEN: u8 = 0;
const HANDLED: u8 = 1;
const RETURNED: u8 = 2;
const DROPPED: u8 = 3;

/// The fates of the messages of one test.
#[derive(Debug)]
pub(crate) struct Ledger {
    fates: Box<[AtomicU8]>,
    issued: AtomicUsize,
    /// Messages that came to a second end.
    doubled: AtomicUsize,
}

/// One message: its fate is written when it is handled, handed back, or dropped.
pub(crate) struct Parcel {
    index: usize,
    ledger: Arc<Ledger>,
    fate: u8,
}

/// How many messages had which fate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) issued: u64,
    pub(crate) handled: u64,
    pub(crate) returned: u64,
    pub(crate) dropped: u64,
    /// Without any fate: lost.
    pub(crate) lost: u64,
}

impl Ledger {
    pub(crate) fn new(capacity: usize) -> Arc<Self> {
        Arc::new(Self {
            fates: (0..capacity).map(|_| AtomicU8::new(OPEN)).collect(),
            issued: AtomicUsize::new(0),
            doubled: AtomicUsize::new(0),
        })
    }

    /// A new message.
    pub(crate) fn issue(self: &Arc<Self>) -> Parcel {
        let index = self.issued.fetch_add(1, Ordering::Relaxed);
        assert!(index < self.fates.len(), "the ledger is full");
        Parcel { index, ledger: Arc::clone(self), fate: DROPPED }
    }

    /// How many messages there are so far.
    pub(crate) fn issued(&self) -> usize {
        self.issued.load(Ordering::SeqCst)
    }

    /// Counts the fates, once all is over.
    pub(crate) fn tally(&self) -> Tally {
        assert_eq!(self.doubled.load(Ordering::SeqCst), 0, "a message has one end");
        let issued = self.issued();
        let mut tally = Tally { issued: issued as u64, ..Tally::default() };
        for fate in &self.fates[..issued] {
            *match fate.load(Ordering::SeqCst) {
                HANDLED => &mut tally.handled,
                RETURNED => &mut tally.returned,
                DROPPED => &mut tally.dropped,
                _ => &mut tally.lost,
            } += 1;
        }
        tally
    }

    /// Checks that no message is lost, and that the system reported each one that it dropped.
    pub(crate) fn settle(&self, counts: &Counts) -> Tally {
        let tally = self.tally();
        assert_eq!(tally.lost, 0, "{tally:?}, {counts:?}");
        assert_eq!(tally.dropped, dead_letters(counts), "{tally:?}, {counts:?}");
        let refused = counts.rejected_full + counts.rejected_closed;
        assert_eq!(tally.returned, refused, "{tally:?}, {counts:?}");
        tally
    }
}

/// All dead letters that a system has counted.
fn dead_letters(counts: &Counts) -> u64 {
    let dropped = counts.dropped_newest + counts.dropped_oldest;
    let unwanted = counts.dead_expired + counts.dead_cancelled + counts.dead_refused;
    counts.dead_stopped + counts.dead_crashed + counts.dead_stash_full + dropped + unwanted
}

impl Parcel {
    /// Its handler has returned.
    pub(crate) fn handled(mut self) {
        self.fate = HANDLED;
    }

    /// Its sender has it again.
    pub(crate) fn returned(mut self) {
        self.fate = RETURNED;
    }
}

impl fmt::Debug for Parcel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "parcel {}", self.index)
    }
}

impl Drop for Parcel {
    fn drop(&mut self) {
        if self.ledger.fates[self.index].swap(self.fate, Ordering::SeqCst) != OPEN {
            self.ledger.doubled.fetch_add(1, Ordering::SeqCst);
        }
    }
}
