//! One value from one sender to one receiver: the slot of an `ask`.
//!
//! The slot is one recycled block with a state word:
//!
//! ```text
//! VALUE   the sender wrote the value
//! CLOSED  the sender went without a value
//! WAKER   the receiver wrote its waker; only this flag may be taken back
//! TAKEN   the sender has taken the waker out         last step of a sender that saw WAKER
//! GONE    the receiver is gone
//! REFUSED beside CLOSED: the sender did so on purpose
//! ```
//!
//! Invariants:
//! 1. VALUE and CLOSED exclude each other and end the sender's right to the slot, except that a
//!    sender that saw WAKER in that step still owns the waker until it adds TAKEN.
//! 2. The value belongs to the sender before VALUE, to the receiver after it; if GONE came first, it
//!    stays the sender's, which reports it as late.
//! 3. The block is freed by whichever side is second to leave.
//!
//! Each flag is added by one side only, so one addition both sets it and learns what the other did.

use super::pool;
use crate::sync::{AtomicU64, AtomicUsize, Ordering, UnsafeCell, planted};
use std::alloc::Layout;
use std::fmt;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::task::{Context, Poll, Waker};

const VALUE: usize = 1;
const CLOSED: usize = 2;
const WAKER: usize = 4;
const TAKEN: usize = 8;
const GONE: usize = 16;
const REFUSED: usize = 32;

struct Slot<T> {
    state: AtomicUsize,
    deadline: AtomicU64,
    waker: UnsafeCell<MaybeUninit<Waker>>,
    value: UnsafeCell<MaybeUninit<T>>,
    /// What a late sender is to do; the receiver's before GONE, the sender's after it.
    late: UnsafeCell<Option<Box<dyn FnOnce() + Send>>>,
}

impl<T> Slot<T> {
    fn acquire() -> NonNull<Self> {
        let slot = pool::acquire(Layout::new::<Self>()).cast::<Self>();
        let empty = Self {
            state: AtomicUsize::new(0),
            deadline: AtomicU64::new(u64::MAX),
            waker: UnsafeCell::new(MaybeUninit::uninit()),
            value: UnsafeCell::new(MaybeUninit::uninit()),
            late: UnsafeCell::new(None),
        };
        // SAFETY: the pool handed out a free block of at least this layout.
        unsafe { slot.write(empty) };
        slot
    }

    /// # Safety
    /// Both sides have left, and value and waker are moved out or dropped.
    unsafe fn release(slot: NonNull<Self>) {
        // SAFETY: the caller is the last to know the slot.
        let slot_ref = unsafe { slot.as_ref() };
        // SAFETY: as above; a word that nobody needed ends here.
        drop(slot_ref.late.with_mut(|late| unsafe { (*late).take() }));
        // SAFETY: the caller is the last to know the slot.
        unsafe { pool::release(slot.cast(), Layout::new::<Self>()) }
    }

    /// # Safety
    /// The caller owns the initialised value, by invariant 2.
    unsafe fn take_value(&self) -> T {
        self.value.with(|value| {
            // SAFETY: the caller owns the place.
            let value = unsafe { &*value };
            // SAFETY: the caller's promise.
            unsafe { value.assume_init_read() }
        })
    }

    /// # Safety
    /// The caller owns the initialised waker.
    unsafe fn take_waker(&self) -> Waker {
        self.waker.with(|waker| {
            // SAFETY: the caller owns the place.
            let waker = unsafe { &*waker };
            // SAFETY: the caller's promise.
            unsafe { waker.assume_init_read() }
        })
    }
}

/// The end that gives the value.
pub(crate) struct Sender<T> {
    slot: NonNull<Slot<T>>,
    owns: PhantomData<T>,
}

/// The end that waits for it.
pub(crate) struct Receiver<T> {
    slot: NonNull<Slot<T>>,
    /// Whether this side's waker is in the slot, as far as it knows.
    registered: bool,
    /// Whether the value was moved out by `poll`.
    received: bool,
    late: Option<Box<dyn FnOnce() + Send>>,
    owns: PhantomData<T>,
}

// SAFETY: the slot hands a `T` from one thread to another, and state words order every access.
unsafe impl<T: Send> Send for Sender<T> {}
// SAFETY: a shared sender offers reads of atomics only.
unsafe impl<T: Send> Sync for Sender<T> {}
// SAFETY: as for the sender.
unsafe impl<T: Send> Send for Receiver<T> {}
// SAFETY: as for the sender.
unsafe impl<T: Send> Sync for Receiver<T> {}

/// Makes a connected pair. Does not allocate in steady state for values up to about 1000 bytes.
pub(crate) fn pair<T>() -> (Sender<T>, Receiver<T>) {
    let slot = Slot::acquire();
    (
        Sender { slot, owns: PhantomData },
        Receiver { slot, registered: false, received: false, late: None, owns: PhantomData },
    )
}

impl<T> Sender<T> {
    fn slot(&self) -> &Slot<T> {
        // SAFETY: by invariant 3 the slot lives until this side has left.
        unsafe { self.slot.as_ref() }
    }

    /// The time, in the clock's nanoseconds, after which nobody waits any more.
    pub(crate) fn deadline(&self) -> u64 {
        // Relaxed: written before the sender was handed over, which orders it.
        self.slot().deadline.load(Ordering::Relaxed)
    }

    /// Whether the receiver is gone, so that a value would be late.
    pub(crate) fn is_abandoned(&self) -> bool {
        // Relaxed: a hint; sending decides.
        self.slot().state.load(Ordering::Relaxed) & GONE != 0
    }

    /// Gives the value.
    ///
    /// # Errors
    /// The value, when the receiver is gone.
    pub(crate) fn send(self, value: T) -> Result<(), T> {
        // SAFETY: by invariant 2 the value is the sender's until VALUE is added.
        self.slot().value.with_mut(|place| unsafe { (*place).write(value) });
        let this = std::mem::ManuallyDrop::new(self);
        if this.leave(VALUE) {
            return Ok(());
        }
        // SAFETY: the receiver was gone before VALUE, and left its word to the sender.
        if let Some(late) = this.slot().late.with_mut(|late| unsafe { (*late).take() }) {
            late();
        }
        // SAFETY: the receiver was gone before VALUE, so the value is still the sender's.
        let value = unsafe { this.slot().take_value() };
        // SAFETY: the receiver left, and the value was just moved out.
        unsafe { Slot::release(this.slot) };
        Err(value)
    }

    /// Goes without a value, on purpose.
    pub(crate) fn refuse(self) {
        let this = std::mem::ManuallyDrop::new(self);
        if !this.leave(CLOSED | REFUSED) {
            // SAFETY: the receiver left, and no value was written.
            unsafe { Slot::release(this.slot) };
        }
    }

    /// Adds `end`; `false` if the receiver was gone, whose slot is then the caller's to free.
    fn leave(&self, end: usize) -> bool {
        // AcqRel: releases the value to the Acquire in `poll`, acquires the waker or the
        // receiver's leaving.
        let order = planted!("oneshot-leave-relaxed": Ordering::AcqRel => Ordering::Relaxed);
        let before = self.slot().state.fetch_add(end, order);
        if before & GONE != 0 {
            return false;
        }
        if before & WAKER != 0 {
            // SAFETY: by invariant 1 the sender owns the waker that it saw until it adds TAKEN.
            let waker = unsafe { self.slot().take_waker() };
            // AcqRel: releases the read of the waker to the receiver that frees the slot, or
            // acquires the receiver's leaving.
            if self.slot().state.fetch_add(TAKEN, Ordering::AcqRel) & GONE != 0 {
                // SAFETY: the receiver left and took or dropped the value.
                unsafe { Slot::release(self.slot) };
            }
            planted!("oneshot-wake-lost": waker.wake() => drop(waker));
        }
        true
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        if !self.leave(CLOSED) {
            // SAFETY: the receiver left, and no value was written.
            unsafe { Slot::release(self.slot) };
        }
    }
}

impl<T> Receiver<T> {
    fn slot(&self) -> &Slot<T> {
        // SAFETY: by invariant 3 the slot lives until this side has left.
        unsafe { self.slot.as_ref() }
    }

    /// Sets the time after which nobody waits any more; before the sender is handed over.
    pub(crate) fn set_deadline(&self, deadline: u64) {
        // Relaxed: the hand-over of the sender orders it.
        self.slot().deadline.store(deadline, Ordering::Relaxed);
    }

    /// Whether the value, or that there is none, was handed out.
    pub(crate) fn is_received(&self) -> bool {
        self.received
    }

    /// Whether a waker is registered, and it is not `waker`.
    pub(crate) fn is_waited_for_by_another(&self, waker: &Waker) -> bool {
        let same = |old: *const MaybeUninit<Waker>| {
            // SAFETY: the sender may read the place at the same time, nobody writes it.
            let old = unsafe { &*old };
            // SAFETY: a registered waker is initialised.
            unsafe { old.assume_init_ref() }.will_wake(waker)
        };
        self.registered && !self.slot().waker.with(same)
    }

    /// Whether the sender went without a value on purpose; known when `poll` was ready.
    pub(crate) fn is_refused(&self) -> bool {
        // Relaxed: the flag came with CLOSED, which `poll` acquired.
        self.slot().state.load(Ordering::Relaxed) & REFUSED != 0
    }

    /// Notes what a sender that comes too late is to do. Before the receiver is dropped unanswered.
    pub(crate) fn leave_word(&mut self, late: Box<dyn FnOnce() + Send>) {
        self.late = Some(late);
    }

    /// Asks for the value: `None` when the sender went without one. Not to be called again after
    /// it was ready.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<T>> {
        assert!(!self.received, "a future is not polled after it was ready");
        // Acquire: pairs with the sender's AcqRel in `leave`.
        let state = self.slot().state.load(Ordering::Acquire);
        if state & (VALUE | CLOSED) == 0 && !self.register(cx.waker()) {
            return Poll::Pending;
        }
        // Acquire: as above; `register` may have met the sender.
        let state = self.slot().state.load(Ordering::Acquire);
        self.received = true;
        // SAFETY: with VALUE the value is the receiver's, and `poll` is not called again.
        Poll::Ready((state & VALUE != 0).then(|| unsafe { self.slot().take_value() }))
    }

    /// Leaves a waker behind; `true` if the sender came first.
    fn register(&mut self, waker: &Waker) -> bool {
        if self.registered {
            if !self.is_waited_for_by_another(waker) {
                return false;
            }
            if !self.unregister() {
                return true;
            }
        }
        let waker = waker.clone();
        // SAFETY: without WAKER the place is the receiver's.
        self.slot().waker.with_mut(|place| unsafe { (*place).write(waker) });
        // AcqRel: releases the waker to the sender, or acquires the sender's end.
        let before = self.slot().state.fetch_add(WAKER, Ordering::AcqRel);
        if before & (VALUE | CLOSED) != 0 {
            // SAFETY: the sender ended before WAKER and never looks at the waker.
            drop(unsafe { self.slot().take_waker() });
            return true;
        }
        self.registered = true;
        false
    }

    /// Takes the waker back; `false` if the sender came first and owns it.
    fn unregister(&mut self) -> bool {
        // AcqRel: orders this side's later write of the waker after the sender could see the old.
        let before = self.slot().state.fetch_sub(WAKER, Ordering::AcqRel);
        if before & (VALUE | CLOSED) != 0 {
            return false;
        }
        self.registered = false;
        // SAFETY: the sender has not ended, and will not see WAKER now.
        drop(unsafe { self.slot().take_waker() });
        true
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        // Acquire: pairs with the sender's AcqRel in `leave`.
        let mut state = self.slot().state.load(Ordering::Acquire);
        if state & (VALUE | CLOSED) == 0 && self.registered && !self.unregister() {
            // Acquire: as above; the sender came between.
            state = self.slot().state.load(Ordering::Acquire);
        }
        let ended = state & (VALUE | CLOSED) != 0;
        if ended {
            self.drop_value(state);
        }
        let in_one_step = !self.registered;
        if ended && in_one_step {
            // SAFETY: the sender saw no waker, so it left when it ended.
            unsafe { Slot::release(self.slot) };
            return;
        }
        if !ended {
            let word = self.late.take();
            // SAFETY: before GONE the place is the receiver's.
            self.slot().late.with_mut(|late| unsafe { *late = word });
        }
        // AcqRel: releases this side's uses to a sender that frees the slot, or acquires the end of
        // a sender that left.
        let before = self.slot().state.fetch_add(GONE, Ordering::AcqRel);
        if ended && before & TAKEN == 0 || !ended && before & (VALUE | CLOSED) == 0 {
            return;
        }
        if !ended {
            self.drop_value(before);
        }
        // SAFETY: the sender left: by TAKEN, or in one step because no waker was there to see.
        unsafe { Slot::release(self.slot) };
    }
}

impl<T> Receiver<T> {
    fn drop_value(&self, state: usize) {
        if state & VALUE != 0 && !self.received {
            // SAFETY: by invariant 2 the value is the receiver's, and it was not moved out.
            drop(unsafe { self.slot().take_value() });
        }
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sender")
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Receiver")
    }
}

#[cfg(all(test, loom))]
mod model;

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
