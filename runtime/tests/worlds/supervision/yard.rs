//! What the actors of one world share, and what outlives their incarnations.

use super::cast::Leaf;
use super::chronicle::Chronicle;
use crate::support::{Ledger, Violations};
use greenroom::sim::{World, WorldClock};
use greenroom::{AskError, Counts, DeadLetterReason, Ref, System};
use parking_lot::Mutex;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Clients; behind them each seat is a sender, too.
pub(super) const CLIENTS: usize = 3;

/// What a supervisor does with one of its leaves.
#[derive(Clone, Copy)]
pub(super) enum Order {
    Restart,
    Remove,
}

/// What is done to a head.
pub(super) enum Blow {
    Kill,
    Stop,
    Fall,
    Lead(Order, Ref<Leaf>),
}

/// Does it, whatever the type of the head.
type Strike = Box<dyn Fn(&Arc<Yard>, Blow) + Send>;

/// Who tells heads what to do.
const STRIKER: usize = usize::MAX;

/// See the [module](self).
pub(super) struct Yard {
    pub(super) clock: WorldClock,
    pub(super) chronicle: Chronicle,
    pub(super) tells: Arc<Ledger>,
    pub(super) questions: Arc<Ledger>,
    pub(super) violations: Violations,
    seats: Mutex<Vec<Option<Ref<Leaf>>>>,
    heads: Mutex<Vec<Option<Strike>>>,
    /// The last number of each sender that each seat saw.
    seen: Vec<Vec<AtomicU64>>,
    /// Which messages a handler was entered with.
    entered: Mutex<BTreeSet<(usize, u64)>>,
    /// The last number that each seat gave, as a sender.
    given: Vec<AtomicU64>,
    /// Questions that were not accepted.
    closed: AtomicU64,
    /// Questions with an outcome.
    outcomes: [AtomicU64; 3],
    /// Handlers that wait, of each head's leaves.
    pub(super) awaiting: Vec<AtomicU64>,
    pub(super) handled_by_later: AtomicU64,
    pub(super) failed_beside_awaiting: AtomicU64,
    /// As many as there are states, tasks and the yard.
    pub(super) lives: Arc<()>,
}

impl Yard {
    pub(super) fn new(
        world: &World,
        system: &System,
        seats: usize,
        heads: usize,
        messages: usize,
    ) -> Arc<Self> {
        let numbers = |count| (0..count).map(|_| AtomicU64::new(0)).collect();
        Arc::new(Self {
            clock: world.clock(),
            chronicle: Chronicle::new(world.clock(), system),
            tells: Ledger::new(2 * messages),
            questions: Ledger::new(2 * messages),
            violations: Violations::default(),
            seats: Mutex::new(vec![None; seats]),
            heads: Mutex::new((0..heads).map(|_| None).collect()),
            seen: (0..seats).map(|_| numbers(CLIENTS + seats)).collect(),
            entered: Mutex::default(),
            given: numbers(seats),
            closed: AtomicU64::new(0),
            outcomes: Default::default(),
            awaiting: numbers(heads),
            handled_by_later: AtomicU64::new(0),
            failed_beside_awaiting: AtomicU64::new(0),
            lives: Arc::default(),
        })
    }

    /// Whoever had that seat last.
    pub(super) fn seat(&self, number: usize) -> Option<Ref<Leaf>> {
        self.seats.lock()[number].clone()
    }

    pub(super) fn take_seat(&self, number: usize, leaf: Ref<Leaf>) {
        self.seats.lock()[number] = Some(leaf);
    }

    pub(super) fn take_head(&self, number: usize, strike: Strike) {
        self.heads.lock()[number] = Some(strike);
    }

    /// From whom a seat asks, and its next number as a sender.
    pub(super) fn sender(&self, seat: usize) -> (usize, u64) {
        (CLIENTS + seat, self.given[seat].fetch_add(1, Relaxed) + 1)
    }

    /// A handler is entered with a message: the only one with it, and after those that came before from its sender.
    pub(super) fn enter(&self, seat: usize, sender: usize, number: u64, is_later: bool) {
        let before = self.seen[seat][sender].swap(number, Relaxed);
        let wrong = format_args!("{number} after {before} from sender {sender}");
        self.violations.check(before < number, wrong);
        self.note_entered(sender, number);
        self.handled_by_later.fetch_add(u64::from(is_later), Relaxed);
    }

    /// A head's handler is entered with a message.
    pub(super) fn enter_head(&self, number: u64) {
        self.note_entered(STRIKER, number);
    }

    fn note_entered(&self, sender: usize, number: u64) {
        let is_new = self.entered.lock().insert((sender, number));
        self.violations.check(is_new, "a handler was entered with it before");
    }

    /// What came of a question.
    pub(super) fn note_outcome<E>(&self, outcome: &Result<u32, AskError<E>>) {
        let kind = match outcome {
            Ok(_) => 0,
            Err(AskError::Closed) => {
                self.closed.fetch_add(1, Relaxed);
                1
            }
            Err(AskError::Expired | AskError::NoReply | AskError::Cycle(_)) => 2,
            Err(_) => return self.violations.check(false, "no such outcome of a question"),
        };
        self.outcomes[kind].fetch_add(1, Relaxed);
    }

    pub(super) fn strike_leaf(&self, leaf: &Ref<Leaf>, how: usize) {
        let meant = match how {
            0 => leaf.stop(),
            1 => leaf.kill(),
            2 => leaf.drain(),
            _ => return,
        };
        if meant {
            self.chronicle.note_struck(leaf.id(), how == 2);
        }
    }

    pub(super) fn strike_head(self: &Arc<Self>, number: usize, blow: Blow) {
        if let Some(strike) = &self.heads.lock()[number] {
            strike(self, blow);
        }
    }

    /// Each message had one end, and each that nobody handled is in the system's books with its reason.
    pub(super) fn settle(&self, counts: &Counts) {
        self.violations.assert_none();
        let (tells, asks) = (self.tells.tally(), self.questions.tally());
        let all = (tells, asks, counts);
        assert_eq!((tells.lost, asks.lost, asks.returned), (0, 0, 0), "{all:?}");
        let closed = self.closed.load(Relaxed);
        assert_eq!(tells.returned + closed, counts.rejected_closed, "{all:?}");
        let entered = self.entered.lock().len() as u64;
        // Whom a kill meets between the call of an `async` handler and its first poll counts as cut off, too.
        assert!(entered - tells.handled - asks.handled <= counts.dead_crashed, "{all:?}");
        let unhandled = counts.dead_crashed + counts.dead_stopped + counts.dead_expired;
        assert_eq!(tells.dropped + asks.dropped - closed, unhandled, "{all:?}");
        let letters = self.chronicle.letters();
        for (reason, count) in [
            (DeadLetterReason::Crashed, counts.dead_crashed),
            (DeadLetterReason::Stopped, counts.dead_stopped),
            (DeadLetterReason::Expired, counts.dead_expired),
        ] {
            let told = letters.iter().filter(|letter| letter.reason == reason).count();
            assert_eq!(told as u64, count, "{reason:?}, {all:?}");
        }
        assert_eq!(letters.len() as u64, unhandled, "{all:?}");
        assert_eq!(counts.started + self.chronicle.never_started(), counts.ended, "{counts:?}");
        assert_eq!(Arc::strong_count(&self.lives), 1, "a state or task is left");
        for awaiting in &self.awaiting {
            assert_eq!(awaiting.load(Relaxed), 0, "a handler is left");
        }
    }

    pub(super) fn mark(&self, world: &mut World) {
        let later = self.handled_by_later.load(Relaxed);
        world.sometimes("mail is handled by a later incarnation", later > 0);
        let beside = self.failed_beside_awaiting.load(Relaxed);
        world.sometimes("one of all fails while another one waits in its handler", beside > 0);
        for (kind, outcome) in
            ["answered", "closed", "without an answer"].iter().zip(&self.outcomes)
        {
            world.sometimes(format!("a question is {kind}"), outcome.load(Relaxed) > 0);
        }
    }
}
