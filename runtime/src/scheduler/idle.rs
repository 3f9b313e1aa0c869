//! Who sleeps, who searches, and who must be woken: no wake-up is lost and few are wasted.
//!
//! A worker without work is *away*: tokio has its thread. While tokio runs its tasks, nobody knows for
//! how long, so an away worker can be called but not relied upon. Once tokio has nothing to run either,
//! the worker is *asleep*, and wakes as fast as the kernel can.
//!
//! One word counts the workers of each kind and those that search for work; a list behind a lock
//! names them, so that the one that slept last (its cache is warm) is woken first. Who changes the list
//! changes the word under the same lock.
//!
//! Of all workers the first few are *on duty*. The others run no actors: their threads see to the sockets and
//! timers that they have, and hand over what those make ready, as a thread that is no worker does. They are in
//! neither list nor word: nobody wakes them for work. The number changes under the lock, and those that it
//! concerns with it; a worker that is awake finds out ([`Idle::retire`]) before it runs another slice.
//!
//! Steps:
//! 1. A pusher first pushes, then reads the word by a read-modify-write ([`Idle::notify`]). If nobody
//!    searches, it wakes one that sleeps, which counts as searching from then on; or else it calls one
//!    that is away, which counts as nothing until it comes.
//! 2. A worker that finds nothing counts itself away by a read-modify-write ([`Idle::leave`]) and looks
//!    once more. tokio then tells when it falls asleep ([`Idle::doze`]) and when its sleep ends for
//!    whatever reason ([`Idle::stir`]).
//! 3. A worker that finds itself off duty does as a pusher if there is work: it may have searched, or have some
//!    that it made ready itself.
//! 4. A searcher that finds work, or leaves its thread for a while to tasks that tokio has, and was the last one
//!    searching ([`Idle::found`]), looks whether there is more, and if so wakes or calls another as a pusher does.
//!
//! Why no wake-up is lost: both first steps change the same word, so one comes first. If the pusher's
//! came first, the other's acquires the push and the second look finds it. If the other's came first,
//! the pusher sees a worker that is away or asleep, and calls one unless somebody searches; that
//! searcher in turn either finds the work or is away later, by the same step, and looks again. A worker
//! that was called looks when tokio lets it; until then it suppresses no wake-up. A worker that was woken and
//! is off duty when it comes passes that on by the third step; the first worker is always on duty.
//!
//! What is left: twice a searcher may be kept by tokio's tasks, and keep all others asleep as long. A task may be spawned
//! by another thread after the searcher saw that there are none, and before tokio has its turn. And a sleeper that is
//! woken counts as a searcher at once, while its thread may just have been woken by something else that tokio runs first.
//! And while the kernel has a searcher's core for somebody else, it keeps the others asleep; where workers go on and off
//! duty, and nobody handles anything meanwhile, for four milliseconds at most ([`Idle::notify_anyhow`]).

use crate::sync::panic::wake_quietly;
use crate::sync::{AtomicU64, AtomicUsize, CachePadded, Mutex, Ordering, planted};
use std::task::Waker;

const SEARCHER: u64 = 1 << 42;
const AWAY: u64 = 1 << 21;
const SLEEPER: u64 = 1;

const fn searchers(word: u64) -> u64 {
    word / SEARCHER
}

const fn is_any_asleep(word: u64) -> bool {
    !word.is_multiple_of(AWAY)
}

/// The state off duty in place of one on duty.
fn off_duty(state: State) -> State {
    if state.is_asleep() { State::OffDutyAsleep } else { State::OffDuty }
}

/// What a worker was last known to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Awake,
    /// Without work, in tokio.
    Away,
    /// Without work, and tokio too.
    Asleep,
    /// Woken from its sleep, to search.
    Roused,
    /// Called while it was away.
    Called,
    /// In tokio, and runs no actors.
    OffDuty,
    /// The same, and tokio has nothing to run.
    OffDutyAsleep,
}

impl State {
    fn is_asleep(self) -> bool {
        matches!(self, Self::Asleep | Self::OffDutyAsleep)
    }
}

#[derive(Debug)]
struct Workers {
    states: Vec<State>,
    /// How many are on duty: the first so many.
    on_duty: usize,
    /// Those away or asleep; who has been so for the shortest time comes last.
    idle: Vec<usize>,
    /// How often a sleep has ended.
    sleeps_ended: u64,
    /// Told when all are asleep.
    watchers: Vec<Waker>,
}

impl Workers {
    /// The last worker in `state`.
    fn last(&self, state: State) -> Option<usize> {
        self.idle.iter().rev().copied().find(|&worker| self.states[worker] == state)
    }

    /// Takes the last worker in `from` out of the list.
    fn take(&mut self, from: State, to: State) -> Option<usize> {
        let place = self.idle.iter().rposition(|&worker| self.states[worker] == from)?;
        let worker = self.idle.remove(place);
        self.set(worker, to);
        Some(worker)
    }

    fn set(&mut self, worker: usize, state: State) -> State {
        let before = std::mem::replace(&mut self.states[worker], state);
        if before.is_asleep() && !state.is_asleep() {
            self.sleeps_ended += 1;
        }
        before
    }

    /// Puts a worker that is in tokio on duty, or off duty; returns by what the word changes.
    fn change_duty(&mut self, worker: usize) -> u64 {
        let is_on = worker < self.on_duty;
        let (state, change) = match (self.states[worker], is_on) {
            (State::Away, false) => (State::OffDuty, AWAY.wrapping_neg()),
            (State::Asleep, false) => (State::OffDutyAsleep, SLEEPER.wrapping_neg()),
            (State::OffDuty, true) => (State::Away, AWAY),
            (State::OffDutyAsleep, true) => (State::Asleep, SLEEPER),
            _ => return 0,
        };
        self.set(worker, state);
        if is_on {
            // Nobody's cache is colder.
            self.idle.insert(0, worker);
        } else {
            self.idle.retain(|&idle| idle != worker);
        }
        change
    }

    fn are_all_asleep(&self) -> bool {
        self.states.iter().all(|state| state.is_asleep())
    }

    /// Takes those out who are to be told that all are asleep, if all are.
    fn take_watchers(&mut self) -> Vec<Waker> {
        if self.watchers.is_empty() || !self.are_all_asleep() {
            return Vec::new();
        }
        std::mem::take(&mut self.watchers)
    }
}

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct Idle {
    word: CachePadded<AtomicU64>,
    /// How many workers are on duty, for those who have no lock.
    on_duty: CachePadded<AtomicUsize>,
    workers: Mutex<Workers>,
}

impl Idle {
    pub(crate) fn new(workers: usize) -> Self {
        Self {
            word: CachePadded(AtomicU64::new(0)),
            on_duty: CachePadded(AtomicUsize::new(workers)),
            workers: Mutex::new(Workers {
                states: vec![State::Awake; workers],
                on_duty: workers,
                idle: Vec::with_capacity(workers),
                sleeps_ended: 0,
                watchers: Vec::new(),
            }),
        }
    }

    /// After a push that an idle worker might have to find: the worker to wake, if any.
    #[must_use]
    pub(crate) fn notify(&self) -> Option<usize> {
        // AcqRel: the rendezvous with `leave`; releases the push to it.
        let order = planted!("idle-notify-relaxed": Ordering::AcqRel => Ordering::Relaxed);
        let word = planted!("idle-notify-by-load": self.word.fetch_add(0, order)
            => self.word.load(Ordering::Acquire));
        if searchers(word) > 0 { None } else { self.rouse_or_call(word) }
    }

    /// The same where nobody has handled anything for long: who searches is not relied upon.
    #[must_use]
    pub(crate) fn notify_anyhow(&self) -> Option<usize> {
        // AcqRel: as in `notify`.
        let word = self.word.fetch_add(0, Ordering::AcqRel);
        planted!("lost-searcher-awaited": self.rouse_or_call(word) => self.notify())
    }

    /// The same after a push that the calling worker itself will find: cheaper, and allowed to miss
    /// a sleeper, who would only have helped.
    #[must_use]
    #[inline]
    pub(crate) fn notify_helper(&self) -> Option<usize> {
        if self.could_help() { self.rouse() } else { None }
    }

    /// Whether a worker searches. A hint.
    pub(crate) fn is_searched(&self) -> bool {
        // Relaxed: a hint.
        searchers(self.word.load(Ordering::Relaxed)) > 0
    }

    /// Whether a worker sleeps and none searches. A hint.
    #[inline]
    pub(crate) fn could_help(&self) -> bool {
        // Relaxed: a guess; the caller itself runs the work if it is wrong.
        let word = self.word.load(Ordering::Relaxed);
        is_any_asleep(word) && searchers(word) == 0
    }

    /// Workers on duty: the first so many. A hint.
    #[inline]
    pub(crate) fn on_duty(&self) -> usize {
        // Relaxed: a hint; what counts is read under the lock.
        self.on_duty.load(Ordering::Relaxed)
    }

    /// Says how many workers are on duty from now on, one at least. Those that are to begin are not woken.
    pub(crate) fn set_on_duty(&self, count: usize) {
        debug_assert!(count > 0, "somebody has to work");
        let mut workers = self.workers.lock();
        let before = std::mem::replace(&mut workers.on_duty, count);
        let change = (before.min(count)..before.max(count))
            .fold(0, |change: u64, worker| change.wrapping_add(workers.change_duty(worker)));
        // AcqRel: as in `rouse_among`.
        self.word.fetch_add(change, Ordering::AcqRel);
        // Relaxed: a hint.
        self.on_duty.store(count, Ordering::Relaxed);
    }

    /// The calling worker, which searches if `searches`, may leave its thread to tokio for good, if it is off
    /// duty: `true`. It must wake another one for the work that is there after this.
    pub(crate) fn retire(&self, worker: usize, searches: bool) -> bool {
        if worker < self.on_duty() {
            return false;
        }
        let mut workers = self.workers.lock();
        if worker < workers.on_duty {
            return false;
        }
        workers.states[worker] = State::OffDuty;
        if planted!("idle-retired-searches": searches => false) {
            // AcqRel: as in `found`.
            self.word.fetch_sub(SEARCHER, Ordering::AcqRel);
        }
        true
    }

    /// A worker that sleeps, if any does; it goes on sleeping. A hint.
    pub(crate) fn sleeper(&self) -> Option<usize> {
        if self.is_all_awake() { None } else { self.workers.lock().last(State::Asleep) }
    }

    /// Whether no worker sleeps. A hint.
    #[inline]
    pub(crate) fn is_all_awake(&self) -> bool {
        // Relaxed: a hint.
        !is_any_asleep(self.word.load(Ordering::Relaxed))
    }

    /// If all workers are asleep, how many sleeps have ended before these. While that stays so, nobody has
    /// run an actor. Who asks after a rendezvous with a worker that has woken sees that one.
    pub(crate) fn all_asleep_since(&self) -> Option<u64> {
        let workers = self.workers.lock();
        workers.are_all_asleep().then_some(workers.sleeps_ended)
    }

    /// How many sleeps have ended.
    pub(crate) fn sleeps_ended(&self) -> u64 {
        self.workers.lock().sleeps_ended
    }

    /// Wakes who waits when all workers are asleep the next time, once however often it is said.
    pub(crate) fn tell_when_all_asleep(&self, waker: &Waker) {
        let watchers = &mut self.workers.lock().watchers;
        if !watchers.iter().any(|known| known.will_wake(waker)) {
            watchers.push(waker.clone());
        }
    }

    /// Wakes a sleeper, or else calls a worker that is away. Under one lock: a worker that turned from
    /// one into the other between two looks would be missed by both.
    #[inline]
    fn rouse_or_call(&self, word: u64) -> Option<usize> {
        if word.is_multiple_of(SEARCHER) {
            return None;
        }
        let mut workers = self.workers.lock();
        self.rouse_among(&mut workers).or_else(|| self.call_among(&mut workers))
    }

    #[cold]
    fn rouse(&self) -> Option<usize> {
        self.rouse_among(&mut self.workers.lock())
    }

    fn rouse_among(&self, workers: &mut Workers) -> Option<usize> {
        let worker = workers.take(State::Asleep, State::Roused)?;
        // AcqRel: keeps the order of the rendezvous for those who read the word later.
        self.word.fetch_add(SEARCHER - SLEEPER, Ordering::AcqRel);
        Some(worker)
    }

    fn call_among(&self, workers: &mut Workers) -> Option<usize> {
        let worker = workers.take(State::Away, State::Called)?;
        // AcqRel: as in `rouse_among`.
        self.word.fetch_sub(AWAY, Ordering::AcqRel);
        Some(worker)
    }

    /// The calling worker has found nothing at home and searches.
    pub(crate) fn search(&self) {
        // AcqRel: as in `rouse_among`.
        self.word.fetch_add(SEARCHER, Ordering::AcqRel);
    }

    /// The calling searcher found work, or looks for none for a while; `true` if it was the last one, and has to look
    /// whether there is more: whoever pushed meanwhile has relied on it.
    #[must_use]
    pub(crate) fn found(&self) -> bool {
        // AcqRel: the rendezvous with `notify`; acquires what was pushed before it.
        let before = self.word.fetch_sub(SEARCHER, Ordering::AcqRel);
        planted!("idle-no-successor": searchers(before) == 1 => false)
    }

    /// The calling searcher is about to leave its thread to tokio; it must look for work once more
    /// after this.
    pub(crate) fn leave(&self, worker: usize) {
        let mut workers = self.workers.lock();
        let is_on_duty = planted!("idle-leaves-on-duty": worker < workers.on_duty => true);
        workers.states[worker] = if is_on_duty { State::Away } else { State::OffDuty };
        if is_on_duty {
            workers.idle.push(worker);
        }
        let counts_as = if is_on_duty { AWAY } else { 0 };
        // AcqRel: the rendezvous with `notify`; acquires the push that came before it.
        self.word.fetch_sub(SEARCHER - counts_as, Ordering::AcqRel);
    }

    /// The thread of an away worker is about to sleep.
    pub(crate) fn doze(&self, worker: usize) {
        let watchers = self.turn(worker, State::Away, State::Asleep, SLEEPER.wrapping_sub(AWAY));
        watchers.into_iter().for_each(wake_quietly);
    }

    /// The thread of a worker has slept.
    pub(crate) fn stir(&self, worker: usize) {
        let watchers = self.turn(worker, State::Asleep, State::Away, AWAY - SLEEPER);
        debug_assert!(watchers.is_empty(), "one is awake");
    }

    /// Turns an idle worker from one kind into the other, unless it was woken or called meanwhile. Returns
    /// who is to be told that all are asleep.
    fn turn(&self, worker: usize, from: State, to: State, change: u64) -> Vec<Waker> {
        let mut workers = self.workers.lock();
        let state = workers.states[worker];
        if state == from {
            workers.set(worker, to);
            // AcqRel: as in `rouse_among`.
            self.word.fetch_add(change, Ordering::AcqRel);
        } else if state == off_duty(from) {
            workers.set(worker, off_duty(to));
        }
        workers.take_watchers()
    }

    /// The calling worker is back, for whatever reason. `true`: it was woken to search, and counts
    /// as a searcher; `false`: it counts as nothing.
    pub(crate) fn wake(&self, worker: usize) -> bool {
        let mut workers = self.workers.lock();
        let state = workers.set(worker, State::Awake);
        let counted = match state {
            State::Away => AWAY,
            State::Asleep => SLEEPER,
            State::Awake | State::Called | State::OffDuty | State::OffDutyAsleep => return false,
            State::Roused => return true,
        };
        workers.idle.retain(|&idle| idle != worker);
        // AcqRel: as in `rouse_among`.
        self.word.fetch_sub(counted, Ordering::AcqRel);
        false
    }
}

#[cfg(all(test, loom))]
mod model;

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn who_searches_without_a_core_is_not_waited_for() {
        let idle = Idle::new(2);
        idle.search();
        idle.search();
        idle.leave(1);
        idle.doze(1);
        assert_eq!(idle.notify(), None, "one searches");
        assert_eq!(idle.notify_anyhow(), Some(1));
        assert_eq!(idle.notify_anyhow(), None, "nobody is left");
    }
}
