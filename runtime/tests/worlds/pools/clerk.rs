//! The workers of a pool, and what is noted of them.

use super::{CLIENTS, key};
use crate::support::{Parcel, Violations};
use greenroom::sim::WorldClock;
use greenroom::{Actor, ActorId, Context, handlers};
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

/// A letter that was handled.
struct Filed {
    from: usize,
    number: u64,
    worker: ActorId,
    at: Duration,
}

/// Workers came or went meanwhile.
struct Change {
    from: Duration,
    until: Duration,
    before: BTreeSet<ActorId>,
    after: BTreeSet<ActorId>,
}

/// What all were told at once.
#[derive(Default)]
struct Notice {
    told: usize,
    heard: BTreeSet<ActorId>,
}

#[derive(Default)]
struct Books {
    /// When each letter was sent, by client and number.
    sent: BTreeMap<(usize, u64), Duration>,
    filed: Vec<Filed>,
    /// When each worker started first.
    came: BTreeMap<ActorId, Duration>,
    changes: Vec<Change>,
    notices: BTreeMap<usize, Notice>,
    /// Messages of broadcasts that found no room.
    untold: u64,
    /// Changes of size that a pool took with it.
    unanswered: u64,
    /// The next number that may come, by worker and client.
    due: BTreeMap<ActorId, [u64; CLIENTS]>,
}

/// What outlasts the workers.
pub(super) struct Office {
    books: Mutex<Books>,
    clock: WorldClock,
    pub(super) violations: Violations,
}

impl Office {
    pub(super) fn new(clock: WorldClock, violations: Violations) -> Self {
        Self { books: Mutex::default(), clock, violations }
    }

    pub(super) fn now(&self) -> Duration {
        self.clock.now()
    }

    /// A client is about to send this.
    pub(super) fn send(&self, from: usize, number: u64) {
        self.books.lock().sent.insert((from, number), self.now());
    }

    /// The size has changed since `from`.
    pub(super) fn change(
        &self,
        from: Duration,
        before: BTreeSet<ActorId>,
        mut after: BTreeSet<ActorId>,
    ) {
        let mut books = self.books.lock();
        // Some may have come and gone meanwhile.
        let came = books.came.iter().filter(|(_, at)| **at >= from);
        after.extend(came.map(|(worker, _)| *worker));
        books.changes.push(Change { from, until: self.now(), before, after });
    }

    /// A broadcast is over.
    pub(super) fn notice(&self, notice: usize, told: usize, full: usize) {
        let mut books = self.books.lock();
        books.notices.entry(notice).or_default().told = told;
        books.untold += full as u64;
    }

    pub(super) fn untold(&self) -> u64 {
        self.books.lock().untold
    }

    /// A change of size has ended, with an answer or not.
    pub(super) fn note_answer(&self, is_answered: bool) {
        self.books.lock().unanswered += u64::from(!is_answered);
    }

    pub(super) fn unanswered(&self) -> u64 {
        self.books.lock().unanswered
    }

    /// Checks that all who were told have heard.
    pub(super) fn check_broadcasts(&self) {
        for (notice, Notice { told, heard }) in &self.books.lock().notices {
            assert_eq!(*told, heard.len(), "of notice {notice}");
        }
    }

    /// Checks that keys moved only from workers that left, and to those that came; counts how often.
    pub(super) fn check_keys(&self) -> usize {
        let books = self.books.lock();
        let mut by_key: BTreeMap<_, Vec<&Filed>> = BTreeMap::new();
        for filed in &books.filed {
            by_key.entry((filed.from, key(filed.number))).or_default().push(filed);
        }
        let mut moves = 0;
        for letters in by_key.values_mut() {
            // In the order in which their client sent them, and the pool so handed them on.
            letters.sort_unstable_by_key(|filed| filed.number);
            for pair in letters.windows(2).filter(|pair| pair[0].worker != pair[1].worker) {
                let (old, new) = (pair[0].worker, pair[1].worker);
                let since = books.sent[&(pair[0].from, pair[0].number)];
                let is_why = |change: &Change| {
                    let is_between = change.from <= pair[1].at && change.until >= since;
                    let (before, after) = (&change.before, &change.after);
                    let comes = after.contains(&new) && !before.contains(&new);
                    is_between && (comes || before.contains(&old) && !after.contains(&old))
                };
                let is_right = books.changes.iter().any(is_why);
                assert!(is_right, "a key went from {old:?} to {new:?}, and both stay");
                moves += 1;
            }
        }
        moves
    }
}

#[derive(Actor)]
#[actor(mailbox = bounded(2), restart = transient(1000 in "1h"))]
pub(super) struct Clerk {
    me: ActorId,
    is_busy: bool,
    office: Arc<Office>,
}

#[handlers]
impl Clerk {
    #[start]
    async fn start(office: Arc<Office>, cx: &mut Context<Self>) -> Self {
        office.books.lock().came.entry(cx.id()).or_insert_with(|| office.now());
        tokio::task::yield_now().await;
        Self { me: cx.id(), is_busy: false, office }
    }
    #[tell]
    fn file(&mut self, from: usize, number: u64, parcel: Parcel) {
        self.note(from, number);
        parcel.handled();
    }
    #[tell]
    async fn file_slowly(&mut self, from: usize, number: u64, parcel: Parcel) {
        self.note(from, number);
        self.is_busy = true;
        for _ in 0..number % 3 {
            tokio::task::yield_now().await;
        }
        self.is_busy = false;
        parcel.handled();
    }
    #[tell]
    fn crash(&mut self, from: usize, number: u64, parcel: Parcel) {
        self.note(from, number);
        panic!("as told, with {parcel:?}");
    }
    #[tell]
    fn go_home(&mut self, from: usize, number: u64, parcel: Parcel, cx: &mut Context<Self>) {
        self.note(from, number);
        parcel.handled();
        let (from, until) = (self.office.now(), Duration::MAX);
        let (before, after) = (BTreeSet::from([self.me]), BTreeSet::new());
        self.office.books.lock().changes.push(Change { from, until, before, after });
        cx.stop();
    }
    #[tell]
    fn hear(&mut self, notice: usize, parcel: Parcel) {
        let mut books = self.office.books.lock();
        let is_first = books.notices.entry(notice).or_default().heard.insert(self.me);
        drop(books);
        self.office.violations.check(is_first, "each hears of it once");
        parcel.handled();
    }
    #[ask]
    fn who(&self) -> ActorId {
        self.me
    }

    /// A letter has come.
    fn note(&self, from: usize, number: u64) {
        self.office.violations.check(!self.is_busy, "one handler at a time");
        let at = self.office.now();
        let mut books = self.office.books.lock();
        books.filed.push(Filed { from, number, worker: self.me, at });
        let due = &mut books.due.entry(self.me).or_default()[from];
        let due = std::mem::replace(due, number + 1);
        drop(books);
        let wrong = format_args!("each client's letters in order: {number} where {due} was due");
        self.office.violations.check(number >= due, wrong);
    }
}
