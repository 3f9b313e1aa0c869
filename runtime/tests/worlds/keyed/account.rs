//! The actor of one key, and what outlasts its incarnations.

use super::{CLIENTS, IDLE, KEYS};
use crate::support::{Parcel, Violations};
use greenroom::sim::WorldClock;
use greenroom::{Actor, ActorId, Context, StartError, handlers};
use parking_lot::{Mutex, MutexGuard};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// What is kept for one key, and what must be so.
#[derive(Default)]
struct Page {
    /// Whether an incarnation is there, from its start hook to the drop of its state.
    is_up: bool,
    /// What the last incarnation saved.
    saved: u64,
    /// What the state has been told since the first incarnation, but for what was never saved.
    told: u64,
    /// The next number from each client.
    due: [u64; CLIENTS],
    /// Whether it was told to stop itself, or to fail.
    is_ending: bool,
    /// Whether the last incarnation failed.
    has_failed: bool,
    /// When it was told something last.
    touched: Duration,
}

/// What is counted in one world.
#[derive(Default)]
struct Sums {
    tries: u64,
    starts: u64,
    crashes: u64,
    dozed: u64,
    /// No client sends any more, and all are ended.
    is_closed: bool,
    killed: BTreeSet<ActorId>,
}

pub(super) struct Store {
    pages: [Mutex<Page>; KEYS],
    sums: Mutex<Sums>,
    clock: WorldClock,
    pub(super) violations: Violations,
    /// Nobody ends an actor from outside, and none fails to start.
    pub(super) is_gentle: bool,
    /// Which start fails; none if it is zero.
    fails_at: u64,
}

impl Store {
    pub(super) fn new(
        clock: WorldClock,
        violations: Violations,
        is_gentle: bool,
        fails_at: u64,
    ) -> Self {
        let (pages, sums) = Default::default();
        Self { pages, sums, clock, violations, is_gentle, fails_at }
    }

    /// Starts that succeeded.
    pub(super) fn starts(&self) -> u64 {
        self.sums.lock().starts
    }

    pub(super) fn crashes(&self) -> u64 {
        self.sums.lock().crashes
    }

    /// Incarnations that stopped for want of letters.
    pub(super) fn dozed(&self) -> u64 {
        self.sums.lock().dozed
    }

    /// From now on all may be ended.
    pub(super) fn close(&self) {
        self.sums.lock().is_closed = true;
    }

    /// An actor is about to be killed, which skips its stop hook.
    pub(super) fn kill(&self, actor: ActorId) {
        self.sums.lock().killed.insert(actor);
    }

    fn page(&self, key: usize) -> MutexGuard<'_, Page> {
        self.pages[key].lock()
    }

    /// Begins a start, or says that this one fails.
    fn begin(&self) -> bool {
        let mut sums = self.sums.lock();
        sums.tries += 1;
        sums.tries != self.fails_at
    }
}

/// That an incarnation is there.
struct Presence {
    key: usize,
    me: ActorId,
    store: Arc<Store>,
    /// Whether it has nothing that is to be saved.
    is_saved: bool,
}

impl Presence {
    fn new(key: usize, me: ActorId, store: Arc<Store>) -> Self {
        let was_up = std::mem::replace(&mut store.page(key).is_up, true);
        store.violations.check(!was_up, "one incarnation of a key at a time");
        Self { key, me, store, is_saved: true }
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        let may_lose = self.is_saved || self.store.sums.lock().killed.contains(&self.me);
        self.store.violations.check(may_lose, "the stop hook runs, unless it is killed");
        let mut page = self.store.page(self.key);
        // The next one begins with what was saved.
        page.told = page.saved;
        page.is_up = false;
    }
}

/// Counts in memory, and saves when it stops.
#[derive(Actor)]
#[actor(mailbox = bounded(3), restart = transient(1 in "4ms"))]
pub(super) struct Account {
    total: u64,
    /// Letters that this incarnation has begun.
    begun: u64,
    /// Whether the incarnation before failed: a restart waits for no letter.
    follows_failure: bool,
    presence: Presence,
}

#[handlers]
impl Account {
    #[start]
    async fn start(
        key: usize,
        store: Arc<Store>,
        cx: &mut Context<Self>,
    ) -> Result<Self, StartError> {
        let mut presence = Presence::new(key, cx.id(), Arc::clone(&store));
        tokio::task::yield_now().await;
        if !store.begin() {
            return Err(StartError::new("as drawn"));
        }
        store.sums.lock().starts += 1;
        let mut page = store.page(key);
        page.is_ending = false;
        page.touched = store.clock.now();
        presence.is_saved = false;
        let follows_failure = std::mem::take(&mut page.has_failed);
        Ok(Self { total: page.saved, begun: 0, follows_failure, presence })
    }
    #[stop]
    async fn stop(&mut self) {
        self.check_end();
        self.store().page(self.presence.key).saved = self.total;
        self.presence.is_saved = true;
        // Whoever starts now has what was saved, but is one too many.
        tokio::task::yield_now().await;
    }
    #[tell]
    fn put(&mut self, from: usize, number: u64, parcel: Parcel) {
        self.note(from, number);
        parcel.handled();
    }
    #[tell]
    async fn put_slowly(&mut self, from: usize, number: u64, parcel: Parcel) {
        self.note(from, number);
        tokio::task::yield_now().await;
        self.check_state();
        parcel.handled();
    }
    #[tell]
    fn rest(&mut self, from: usize, number: u64, parcel: Parcel, cx: &mut Context<Self>) {
        self.note(from, number);
        self.store().page(self.presence.key).is_ending = true;
        cx.stop();
        parcel.handled();
    }
    #[tell]
    async fn crash(&mut self, from: usize, number: u64, parcel: Parcel) {
        self.note(from, number);
        if number.is_multiple_of(2) {
            tokio::task::yield_now().await;
        }
        let mut page = self.store().page(self.presence.key);
        (page.is_ending, page.has_failed) = (true, true);
        drop(page);
        self.store().sums.lock().crashes += 1;
        panic!("as told, with {parcel:?}");
    }
    /// How many letters of the asker it has had: those that were sent before.
    #[ask]
    fn had(&mut self, from: usize) -> u64 {
        self.begun += 1;
        let mut page = self.store().page(self.presence.key);
        page.touched = self.store().clock.now();
        page.due[from]
    }

    fn store(&self) -> &Store {
        &self.presence.store
    }

    /// A letter has come.
    fn note(&mut self, from: usize, number: u64) {
        self.begun += 1;
        self.total += 1;
        let store = self.store();
        let mut page = store.page(self.presence.key);
        let due = std::mem::replace(&mut page.due[from], number + 1);
        let in_order = number == due || number > due && !store.is_gentle;
        let wrong = format_args!("each client's letters in order: {number} where {due} was due");
        store.violations.check(in_order, wrong);
        page.told += 1;
        page.touched = store.clock.now();
        drop(page);
        self.check_state();
    }

    fn check_state(&self) {
        let (store, told) = (self.store(), self.store().page(self.presence.key).told);
        let wrong = format_args!("it has what was saved: {} of {told}", self.total);
        store.violations.check(self.total == told, wrong);
    }

    /// Whether there is a reason for this end.
    fn check_end(&self) {
        let store = self.store();
        let (is_closed, page) = (store.sums.lock().is_closed, store.page(self.presence.key));
        if !store.is_gentle || is_closed {
            return;
        }
        let had_mail = self.begun > 0 || self.follows_failure;
        store.violations.check(had_mail, "it starts with a letter");
        if !page.is_ending {
            let silence = store.clock.now() - page.touched;
            store.violations.check(silence >= IDLE, format_args!("idle after {silence:?}"));
            store.sums.lock().dozed += 1;
        }
    }
}
