//! What the running thread is doing: which worker of which system, and under which deadline.
//!
//! The values are hints that save work (the local queue, the cached clock, the deadline that travels
//! on); a thread that is no worker simply has none.

use super::Ready;
use super::core::Core;
use super::home::Home;
use super::priority::Line;

use crate::sync::{Arc, planted, thread_local};
use crate::time::Time;
use std::cell::Cell;
use std::ptr;
use std::time::Duration;

/// What a worker thread says of itself.
struct Current {
    core: Cell<*const Core>,
    worker: Cell<u32>,
    /// The home that this thread is, for actors that live on one worker each.
    home: Cell<usize>,
    /// The ready actors that live on this thread, while a slice runs.
    ready: Cell<*mut Line>,
    /// The clock as it was last read in a slice.
    now: Cell<Time>,
    /// When a turn is over.
    turn_end: Cell<Time>,
    /// Whether a slice runs, so that `now` is not long ago; otherwise tokio's tasks do, or nothing.
    in_slice: Cell<bool>,
    /// Whether tokio has told of what other nodes sent since this was taken.
    heard: Cell<bool>,
    /// When the running handler's caller stops waiting.
    deadline: Cell<Time>,
    /// The deadline of the message that is being handled, if it was told with one.
    told_until: Cell<Time>,
    /// Turns that run inside the turn of an asker.
    nested: Cell<u32>,
    /// Where so much of the thread's stack is used that no turn begins inside another: it grows downwards.
    nests_above: Cell<usize>,
    /// Messages that the running turn may still await the sending of: in the lower half before it looks at the
    /// clock, in the upper half after that. Outside of turns all bits of the upper half are set, and the lower one is
    /// filled again whenever it is used up.
    sends: Cell<u64>,
    /// Whether somebody gave way since this was taken.
    gave_way: Cell<bool>,
    /// What a turn has taken on this worker lately, in nanoseconds.
    turn_cost: Cell<u64>,
    /// Messages that were handled here.
    handled: Cell<u64>,
    /// Actors that were made ready here while another worker slept.
    pushes: Cell<u32>,
    /// Counts of references to `core` that stand for none now; see [`core_ref`](super::core_ref).
    spares: Cell<usize>,
}

/// Counts that a thread gets at a time, and that it gives back when it has twice as many.
const SPARES: usize = 64;

/// Turns inside each other at most; each takes a little of the worker's stack.
const NESTED_MAX: u32 = 8;
/// The part of a worker's stack that turns may use, all but the last of those inside each other.
const NESTED_PART: usize = 4;
/// Whether the addresses of locals tell how much of the stack is used. Some tools keep locals elsewhere.
const IS_STACK_SEEN: bool = !cfg!(any(sanitized, miri));

thread_local! {
    static CURRENT: Current = const {
        Current {
            core: Cell::new(ptr::null()),
            worker: Cell::new(0),
            home: Cell::new(NOWHERE),
            ready: Cell::new(ptr::null_mut()),
            now: Cell::new(Time(0)),
            turn_end: Cell::new(Time::NEVER),
            in_slice: Cell::new(false),
            heard: Cell::new(false),
            deadline: Cell::new(Time::NEVER),
            told_until: Cell::new(Time::NEVER),
            nested: Cell::new(0),
            nests_above: Cell::new(0),
            sends: Cell::new(u64::MAX),
            gave_way: Cell::new(false),
            turn_cost: Cell::new(u64::MAX),
            handled: Cell::new(0),
            pushes: Cell::new(0),
            spares: Cell::new(0),
        }
    };
}

/// A home that no actor has.
const NOWHERE: usize = usize::MAX;

/// Says that this thread is worker `worker` of `core`, until [`leave`]. It has `stack` bytes of stack, of which hardly
/// any are used yet.
pub(crate) fn enter(core: &Arc<Core>, worker: u32, stack: usize) {
    CURRENT.with(|current| {
        // The spare counts are of one core.
        assert!(
            current.core.get().is_null(),
            "a worker's thread runs no other system inside a turn"
        );
        current.nests_above.set(stack_pointer().saturating_sub(stack / NESTED_PART));
        current.core.set(&raw const **core);
        current.worker.set(worker);
        current.home.set(core.homes.of(worker).map_or(NOWHERE, Home::to_word));
        current.now.set(core.clock.now());
        current.turn_end.set(Time::NEVER);
    });
}

/// Says that this thread is no worker of `core` any more.
pub(crate) fn leave(core: &Arc<Core>) {
    CURRENT.with(|current| {
        current.core.set(ptr::null());
        current.home.set(NOWHERE);
        // SAFETY: the thread got them or kept them since it is a worker of this core.
        unsafe { core.count_down(current.spares.take()) };
    });
}

/// Keeps the count of a reference to `core` that is given up; `false` if the thread is none of its workers: then the
/// count is still the caller's.
#[inline]
pub(super) fn keep_spare(core: &Arc<Core>) -> bool {
    CURRENT.with(|current| {
        let is_here = ptr::eq(current.core.get(), &raw const **core);
        if is_here {
            let mut spares = current.spares.get() + 1;
            if spares == 2 * SPARES {
                spares -= SPARES;
                // SAFETY: so many of the spares are none any more.
                unsafe { core.count_down(SPARES) };
            }
            current.spares.set(spares);
        }
        is_here
    })
}

/// Gives a count out, for a new reference to `core`; `false` if the thread is none of its workers.
#[inline]
pub(super) fn take_spare(core: &Arc<Core>) -> bool {
    CURRENT.with(|current| {
        let is_here = ptr::eq(current.core.get(), &raw const **core);
        if is_here {
            let mut spares = current.spares.get();
            if spares == 0 {
                core.count_up(SPARES);
                spares = SPARES;
            }
            current.spares.set(spares - 1);
        }
        is_here
    })
}

/// Whether the thread is a worker, of whatever system.
pub(crate) fn is_worker() -> bool {
    CURRENT.with(|current| !current.core.get().is_null())
}

/// The number of the running worker, when it belongs to `core`.
#[inline]
pub(crate) fn worker_of(core: &Core) -> Option<u32> {
    CURRENT.with(|current| ptr::eq(current.core.get(), core).then(|| current.worker.get()))
}

/// The home that this thread is; a word that no actor has as its home on other threads.
#[inline(always)]
pub(crate) fn home() -> usize {
    CURRENT.with(|current| current.home.get())
}

/// Says that a slice runs, and where actors are queued that live on this thread.
///
/// # Safety
/// Until [`close_home`] the queue stays where it is, and is in nobody's use while code of users runs.
pub(crate) unsafe fn open_home(ready: *mut Line) {
    CURRENT.with(|current| current.ready.set(ready));
}

/// Says that the slice is over.
pub(crate) fn close_home() {
    CURRENT.with(|current| current.ready.set(ptr::null_mut()));
}

/// Queues an actor that lives on this thread.
///
/// # Errors
/// The actor, when no slice runs: its worker may have to be woken.
#[inline]
pub(crate) fn push_home(ready: Ready) -> Result<(), Ready> {
    let queue = CURRENT.with(|current| current.ready.get());
    if queue.is_null() {
        return Err(ready);
    }
    // SAFETY: the promise of `open_home`: only code of users, or what it calls, gets here.
    unsafe { &mut *queue }.push(ready);
    Ok(())
}

/// The clock as of the running slice, when the thread is a worker of `core` and runs one.
pub(crate) fn now_of(core: &Core) -> Option<Time> {
    CURRENT.with(|current| {
        let is_fresh = ptr::eq(current.core.get(), core) && current.in_slice.get();
        is_fresh.then(|| current.now.get())
    })
}

/// The clock as it was last read in a slice. For workers.
pub(crate) fn slice_began() -> Time {
    CURRENT.with(|current| current.now.get())
}

/// Notes the clock as read now, in a slice.
pub(crate) fn set_now(now: Time) {
    CURRENT.with(|current| {
        current.now.set(now);
        current.in_slice.set(true);
    });
}

/// Says when turns are over from now on.
pub(crate) fn set_turn_end(end: Time) {
    CURRENT.with(|current| current.turn_end.set(end));
}

/// Says that the slice is over: tokio's tasks have the thread, and it may sleep.
pub(crate) fn end_slice() {
    CURRENT.with(|current| current.in_slice.set(false));
}

/// Something is to be done for other nodes. What a slice says itself is not from them: tokio's sockets are looked at
/// between two.
#[cfg(feature = "net")]
pub(crate) fn hear() {
    CURRENT.with(|current| current.heard.set(current.heard.get() || !current.in_slice.get()));
}

/// Whether somebody [heard](hear) of other nodes since this was taken last.
pub(crate) fn take_heard() -> bool {
    CURRENT.with(|current| current.heard.take())
}

/// What a turn has taken on this worker lately, in nanoseconds; unknown, it is endless.
#[inline]
pub(crate) fn turn_cost() -> u64 {
    CURRENT.with(|current| current.turn_cost.get())
}

/// Notes what a turn takes on this worker.
pub(crate) fn set_turn_cost(nanos: u64) {
    CURRENT.with(|current| current.turn_cost.set(nanos));
}

/// Counts an actor that was made ready here while another worker slept; returns the count.
pub(crate) fn count_push() -> u32 {
    CURRENT.with(|current| {
        let count = current.pushes.get().wrapping_add(1);
        current.pushes.set(count);
        count
    })
}

/// When the running handler's caller stops waiting.
pub(crate) fn deadline() -> Time {
    CURRENT.with(|current| current.deadline.get())
}

/// Lets the handler that begins now run under `deadline`; `false` if that has passed, by the clock where it is
/// near, or else by that of the slice. For workers.
#[inline]
pub(crate) fn begin_until(deadline: Time) -> bool {
    CURRENT.with(|current| {
        // The clock may have gone on since the slice began.
        let is_over = deadline <= current.now.get().after(NEAR) && current.is_past(deadline);
        if planted!("expired-handled": is_over => false) {
            return false;
        }
        current.deadline.set(deadline);
        true
    })
}

/// Sets the deadline of the running handler and returns the one before.
#[inline]
pub(crate) fn swap_deadline(deadline: Time) -> Time {
    CURRENT.with(|current| current.deadline.replace(deadline))
}

/// The deadline of the message that is being handled, if it was told with one.
pub(crate) fn told_until() -> Time {
    CURRENT.with(|current| current.told_until.get())
}

/// Sets [`told_until`] and returns what it was.
pub(crate) fn swap_told_until(deadline: Time) -> Time {
    CURRENT.with(|current| current.told_until.replace(deadline))
}

/// Sets the deadline of the running handler.
#[inline]
pub(crate) fn set_deadline(deadline: Time) {
    CURRENT.with(|current| current.deadline.set(deadline));
}

/// Lets the turn that begins now await the sending of so many messages, as [`Share::sends`](super::share::Share) has them, before it
/// gives way; returns what was left of the turn around it, for [`end_turn`].
#[inline(always)]
pub(super) fn swap_sends(sends: u64) -> u64 {
    CURRENT.with(|current| current.sends.replace(sends))
}

/// Does `work`, which does not panic, and whose sending is none of the turn's.
#[cfg(feature = "net")]
pub(crate) fn sending_freely<T>(work: impl FnOnce() -> T) -> T {
    let sends = swap_sends(u64::MAX);
    let outcome = work();
    swap_sends(sends);
    outcome
}

/// Ends a turn that has handled so many messages, and lets the one around it go on.
#[inline(always)]
pub(super) fn end_turn(handled: u32, sends: u64) {
    CURRENT.with(|current| {
        current.handled.set(current.handled.get().wrapping_add(u64::from(handled)));
        current.sends.set(sends);
    });
}

/// Messages that turns on this thread have handled.
pub(crate) fn handled() -> u64 {
    CURRENT.with(|current| current.handled.get())
}

/// Notes that the sending of a message is awaited; `false` if the turn is to give way first: when it has sent
/// its share, or so much that it looks whether its time is over or the receiver `is_behind`, and that is so.
/// Outside of turns nobody has to.
#[inline(always)]
pub(crate) fn spend_send(is_behind: impl FnOnce() -> bool) -> bool {
    CURRENT.with(|current| {
        let left = current.sends.get();
        if left & SENDS_NOW == 0 {
            return current.spend_later_send(is_behind);
        }
        current.sends.set(left - 1);
        true
    })
}

/// Notes that somebody gives way to others.
pub(crate) fn note_gave_way() {
    CURRENT.with(|current| current.gave_way.set(true));
}

/// Whether somebody gave way since this was asked.
pub(super) fn take_gave_way() -> bool {
    CURRENT.with(|current| current.gave_way.take())
}

/// A deadline that is no further away may pass while a slice runs.
const NEAR: Duration = Duration::from_millis(10);
/// The lower half of [`Current::sends`].
const SENDS_NOW: u64 = 0xFFFF_FFFF;
/// Messages that may be sent between two looks, after the first ones; a prime, so that who sends to several in
/// turn does not always look at the same one.
const SENDS_PER_LOOK: u64 = 61;

impl Current {
    /// Lets the turn send some more, if its time is not over and the receiver not behind.
    #[cold]
    fn spend_later_send(&self, is_behind: impl FnOnce() -> bool) -> bool {
        let later = self.sends.get() >> 32;
        if later == SENDS_NOW {
            // No turn runs.
            self.sends.set(u64::MAX);
            return true;
        }
        let now = later.min(SENDS_PER_LOOK);
        if now == 0 || is_behind() || self.is_turn_over() {
            return false;
        }
        self.sends.set((later - now) << 32 | (now - 1));
        true
    }

    fn is_turn_over(&self) -> bool {
        self.is_past(self.turn_end.get())
    }

    /// Whether it is `time` or later.
    #[cold]
    fn is_past(&self, time: Time) -> bool {
        // SAFETY: it is null, or of the system whose worker this thread is until it says otherwise.
        let Some(core) = (unsafe { self.core.get().as_ref() }) else { return false };
        core.clock.now() >= time
    }
}

/// Says whether turns may run inside others on this thread, until this is said again.
#[cfg(not(any(loom, shuttle)))]
pub(crate) fn allow_nesting(allowed: bool) {
    CURRENT.with(|current| current.nested.set(if allowed { 0 } else { NESTED_MAX }));
}

/// About where the stack ends that is in use.
#[inline(always)]
fn stack_pointer() -> usize {
    let here = 0_u8;
    (&raw const here).addr()
}

/// Runs `turn`, another actor's, inside the running one, unless there are too many already, or they have used much
/// of the stack.
pub(crate) fn nest(turn: impl FnOnce()) -> bool {
    CURRENT.with(|current| {
        let depth = current.nested.get();
        let is_deep = IS_STACK_SEEN && stack_pointer() < current.nests_above.get();
        if depth == NESTED_MAX || planted!("nests-whatever-is-left": is_deep => false) {
            return false;
        }
        current.nested.set(depth + 1);
        let deadline = current.deadline.replace(Time::NEVER);
        let told_until = current.told_until.replace(Time::NEVER);
        let gave_way = current.gave_way.get();
        turn();
        current.gave_way.set(gave_way);
        current.told_until.set(told_until);
        current.deadline.set(deadline);
        current.nested.set(depth);
        true
    })
}
