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
//! WHY     beside CLOSED: eight bits that say why there is no value
//! WORD    it left word what a late sender is to do   comes with GONE
//! LISTENS the sender wrote a waker, to be woken when the receiver goes before the end
//! PASSED  another sender lies in the slot, for whom this one does what it does   comes with GONE
//! ```
//!
//! Invariants:
//! 1. VALUE and CLOSED exclude each other and end the sender's right to the slot, except that a
//!    sender that saw WAKER in that step still owns the waker until it adds TAKEN.
//! 2. The value belongs to the sender before VALUE, to the receiver after it; if GONE came first, it
//!    stays the sender's, which reports it as late.
//! 3. The block is freed by whichever side is second to leave.
//! 4. The listener is written once, before LISTENS, and stays until the block is freed. The receiver
//!    reads it before GONE, and adds GONE only to a state that it has looked at: so either it has seen
//!    LISTENS, and wakes the listener, or the sender's step that adds LISTENS sees GONE.
//! 5. A receiver that passes its wait on never had a waker in the slot: the sender that it leaves lies in that
//!    place, and is its own before PASSED, the slot's sender's after it.
//!
//! Each of the other flags is added by one side only, so one addition both sets it and learns what the
//! other did.

mod pass;
mod slot;
mod unsaid;

use crate::sync::panic::wake_quietly;
use crate::sync::{AtomicBool, AtomicUsize, Ordering, planted};
use slot::{
    CLOSED, ENDED, GONE, LISTENS, PASSED, Slot, TAKEN, VALUE, WAKER, WHY_SHIFT, WORD, Word,
};
use std::fmt;
use std::marker::PhantomData;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::ptr::NonNull;
use std::task::{Context, Poll, Waker};
#[cfg(not(loom))]
pub(crate) use unsaid::dropping_for;

/// The deadline of what its receiver has withdrawn: no time that anybody waits until.
const WITHDRAWN: u64 = 0;

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
    stage: Stage,
    owns: PhantomData<T>,
}

/// How far a receiver is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Waiting,
    /// The value, or that there is none, was handed out by `poll`.
    Received,
    /// It has no part in the slot any more.
    Left,
}

// SAFETY: the slot hands a `T` from one thread to another, and state words order every access.
unsafe impl<T: Send> Send for Sender<T> {}
// SAFETY: a shared sender offers reads of atomics only, and after PASSED of a sender that lies in the slot, which
// nobody changes but whoever has this one to himself.
unsafe impl<T: Send> Sync for Sender<T> {}
// SAFETY: as for the sender.
unsafe impl<T: Send> Send for Receiver<T> {}
// SAFETY: a shared receiver offers reads of atomics only.
unsafe impl<T: Send> Sync for Receiver<T> {}

/// Makes a connected pair. Does not allocate in steady state for values up to about 1000 bytes.
pub(crate) fn pair<T>() -> (Sender<T>, Receiver<T>) {
    let slot = Slot::acquire();
    (
        Sender { slot, owns: PhantomData },
        Receiver { slot, registered: false, stage: Stage::Waiting, owns: PhantomData },
    )
}

impl<T> Sender<T> {
    fn slot(&self) -> &Slot<T> {
        // SAFETY: by invariant 3 the slot lives until this side has left.
        unsafe { self.slot.as_ref() }
    }

    /// The time, in the clock's nanoseconds, after which nobody waits any more.
    pub(crate) fn deadline(&self) -> u64 {
        self.slot().deadline()
    }

    /// Says that somebody begins to work on the value.
    #[inline]
    pub(crate) fn begin(&self) {
        // Relaxed: see `Witness::has_begun`.
        self.slot().begun.store(true, Ordering::Relaxed);
    }

    /// Whether the receiver is gone, so that a value would be late.
    pub(crate) fn is_abandoned(&self) -> bool {
        // Relaxed: a hint; sending decides.
        self.slot().state.load(Ordering::Relaxed) & GONE != 0 && self.is_abandoned_there()
    }

    /// Has `waker` woken when the receiver goes; `false` if it is gone already. Once at most.
    pub(crate) fn listen(&mut self, waker: Waker) -> bool {
        // Relaxed: the flag is this side's own.
        let listens = self.slot().state.load(Ordering::Relaxed) & LISTENS != 0;
        assert!(!listens, "a sender listens once");
        // SAFETY: this is the sender, before LISTENS.
        unsafe { self.slot().put_listener(waker) };
        // AcqRel: releases the waker to the Acquire of a receiver that looks before it goes, or acquires
        // its going.
        let order = planted!("oneshot-listen-relaxed": Ordering::AcqRel => Ordering::Relaxed);
        let before = self.slot().state.fetch_add(LISTENS, order);
        before & GONE == 0 || before & PASSED != 0 && self.listen_there()
    }

    /// Gives the value.
    ///
    /// # Errors
    /// The value, when the receiver is gone.
    pub(crate) fn send(self, value: T) -> Result<(), T> {
        // SAFETY: by invariant 2 the value is the sender's until VALUE is added.
        self.slot().value.with_mut(|place| unsafe { (*place).write(value) });
        let this = ManuallyDrop::new(self);
        match this.leave(VALUE) {
            Ok(()) => Ok(()),
            Err(state) if state & PASSED != 0 => this.send_there(state),
            Err(state) => Err(this.too_late(state)),
        }
    }

    /// Takes the value back that was written too late, and does what the receiver left word to do.
    #[cold]
    fn too_late(&self, state: usize) -> T {
        if state & WORD != 0 {
            // SAFETY: the receiver left its word to the sender.
            let word = unsafe { self.slot().take_word() };
            word();
        }
        // SAFETY: the receiver was gone before VALUE, so the value is still the sender's.
        let value = unsafe { self.slot().take_value() };
        // SAFETY: the receiver left, and value and word were just moved out.
        unsafe { Slot::release_with(self.slot, state) };
        value
    }

    /// Adds `end`.
    ///
    /// # Errors
    /// The state, if the receiver was gone: the slot is then the caller's to free.
    fn leave(&self, end: usize) -> Result<(), usize> {
        // AcqRel: releases the value to the Acquire in `poll`, acquires the waker or the
        // receiver's leaving.
        let order = planted!("oneshot-leave-relaxed": Ordering::AcqRel => Ordering::Relaxed);
        let before = self.slot().state.fetch_add(end, order);
        if before & GONE != 0 {
            return Err(before);
        }
        if before & WAKER != 0 {
            // SAFETY: by invariant 1 the sender owns the waker that it saw until it adds TAKEN.
            let waker = unsafe { self.slot().take_waker() };
            // AcqRel: releases the read of the waker to the receiver that frees the slot, or
            // acquires the receiver's leaving.
            let before = self.slot().state.fetch_add(TAKEN, Ordering::AcqRel);
            if before & GONE != 0 {
                // SAFETY: the receiver left and took or dropped the value.
                unsafe { Slot::release_with(self.slot, before) };
            }
            planted!("oneshot-wake-lost": wake_quietly(waker) => drop(waker));
        }
        Ok(())
    }
}

impl<T> Sender<T> {
    /// Goes without a value, on purpose.
    pub(crate) fn refuse(self, why: u8) {
        ManuallyDrop::new(self).go(CLOSED | usize::from(why) << WHY_SHIFT);
    }

    /// Ends without a value. The last thing done with it.
    fn go(&self, end: usize) {
        let Err(state) = self.leave(end) else { return };
        if state & PASSED != 0 {
            return self.go_there(state, end);
        }
        if state & WORD != 0 {
            // SAFETY: the receiver left its word to the sender, who has nothing that could be late.
            drop(unsafe { self.slot().take_word() });
        }
        // SAFETY: the receiver left, no value was written, and the word was just moved out.
        unsafe { Slot::release_with(self.slot, state) };
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        self.go(CLOSED | usize::from(unsaid::why()) << WHY_SHIFT);
    }
}

impl<T> Receiver<T> {
    fn slot(&self) -> &Slot<T> {
        // SAFETY: by invariant 3 the slot lives until this side has left, which ends its uses.
        unsafe { self.slot.as_ref() }
    }

    /// Sets the time after which nobody waits any more; before the sender is handed over.
    pub(crate) fn set_deadline(&self, deadline: u64) {
        self.slot().set_deadline(deadline);
    }

    /// Says, before it goes, that the sender need not do anything any more.
    pub(crate) fn withdraw(&self) {
        self.slot().set_deadline(WITHDRAWN);
    }

    /// The time that was set.
    pub(crate) fn deadline(&self) -> u64 {
        self.slot().deadline()
    }

    /// Whether it has neither left, nor handed out the value, or that there is none.
    pub(crate) fn is_waiting(&self) -> bool {
        self.stage == Stage::Waiting
    }

    /// Why the sender went without a value, when `poll` has said that it did; 0 if it did not say.
    pub(crate) fn refusal(&self) -> u8 {
        // Relaxed: it came with CLOSED, which `poll` acquired.
        let [_, why, ..] = self.slot().state.load(Ordering::Relaxed).to_le_bytes();
        why
    }

    /// Looks at this end from elsewhere.
    pub(crate) fn witness(&self) -> Witness {
        let slot = self.slot();
        Witness { state: NonNull::from(&slot.state), begun: NonNull::from(&slot.begun) }
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

    /// Leaves, with the value if it is there after all; a sender that comes too late does `word`, one that listens is
    /// woken. Not to be called after `poll` was ready, and nothing is to be called after it but
    /// [`Receiver::is_waiting`].
    pub(crate) fn give_up(&mut self, word: Word) -> Option<T> {
        assert!(self.is_waiting(), "only who waits can give up");
        self.leave(Some(word))
    }

    /// Asks for the value: `None` when the sender went without one. Not to be called again after
    /// it was ready.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<T>> {
        assert!(self.is_waiting(), "a future is not polled after it was ready");
        // Acquire: pairs with the sender's AcqRel in `leave`.
        let mut state = self.slot().state.load(Ordering::Acquire);
        if state & ENDED == 0 {
            if !self.register(cx.waker()) {
                return Poll::Pending;
            }
            // Acquire: as above; `register` has met the sender.
            state = self.slot().state.load(Ordering::Acquire);
        }
        self.stage = Stage::Received;
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
        if before & ENDED != 0 {
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
        if before & ENDED != 0 {
            return false;
        }
        self.registered = false;
        // SAFETY: the sender has not ended, and will not see WAKER now.
        drop(unsafe { self.slot().take_waker() });
        true
    }

    /// Ends this side's part in the slot, wherever the sender is; returns the value if nobody has seen it.
    #[inline(never)]
    fn leave(&mut self, word: Option<Word>) -> Option<T> {
        // Acquire: pairs with the sender's AcqRel in `leave`.
        let mut state = self.slot().state.load(Ordering::Acquire);
        if state & ENDED == 0 && self.registered && !self.unregister() {
            // Acquire: as above; the sender came between.
            state = self.slot().state.load(Ordering::Acquire);
        }
        if state & ENDED == 0 {
            match self.go(word) {
                None => return None,
                Some(ended) => state = ended,
            }
        }
        let is_unseen = state & VALUE != 0 && self.is_waiting();
        // SAFETY: by invariant 2 the value is the receiver's, and it was not moved out.
        let unseen = is_unseen.then(|| unsafe { self.slot().take_value() });
        self.stage = Stage::Left;
        if std::mem::take(&mut self.registered) {
            // AcqRel: releases this side's uses to a sender that frees the slot, or acquires the end of
            // a sender that left.
            let before = self.slot().state.fetch_add(GONE, Ordering::AcqRel);
            if before & TAKEN == 0 {
                return unseen;
            }
        }
        // SAFETY: the sender left: by TAKEN, or in one step because no waker was there to see.
        unsafe { Slot::release_with(self.slot, state) };
        unseen
    }

    /// Goes while the sender has not ended, and wakes it if it listens; the state if it has ended after
    /// all. No waker is registered.
    fn go(&mut self, word: Option<Word>) -> Option<usize> {
        let flags = GONE | if word.is_some() { WORD } else { 0 };
        if let Some(word) = word {
            // SAFETY: this is the receiver, before GONE.
            unsafe { self.slot().put_word(word) };
        }
        let mut listener = None;
        // Acquire, here and below: pairs with the AcqRel in `listen`, and in the sender's `leave`.
        let mut state = self.slot().state.load(Ordering::Acquire);
        while state & ENDED == 0 {
            if state & LISTENS != 0 && listener.is_none() {
                // SAFETY: this is the receiver, which saw LISTENS and is not gone.
                listener = Some(unsafe { self.slot().clone_listener() });
            }
            // Relaxed: part of a planted fault.
            let unseen = || self.slot().state.load(Ordering::Relaxed) & LISTENS;
            let seen = planted!("oneshot-go-unlooked": state => state | unseen());
            // AcqRel: releases this side's uses, and the word, to a sender that frees the slot.
            let gone = self.slot().state.compare_exchange(
                seen,
                seen | flags,
                Ordering::AcqRel,
                Ordering::Acquire,
            );
            match gone {
                Ok(_) => {
                    self.stage = Stage::Left;
                    if let Some(listener) = listener {
                        planted!("oneshot-listener-unwoken": wake_quietly(listener) => drop(listener));
                    }
                    return None;
                }
                Err(now) => state = now,
            }
        }
        if flags & WORD != 0 {
            // SAFETY: this is the receiver, which has put it there and is not gone.
            drop(unsafe { self.slot().take_word() });
        }
        Some(state)
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        match self.stage {
            Stage::Left => {}
            // Acquire: pairs with the sender's AcqRel in `leave`. Who could not take its waker back in time has taken
            // WAKER out of the state, and the sender has yet to add TAKEN.
            Stage::Received
                if !planted!("oneshot-taken-early": self.registered => false)
                    && self.slot().state.load(Ordering::Acquire) == VALUE =>
            {
                // SAFETY: the sender saw no waker, so it left when it ended; and it never listened.
                unsafe { Slot::release(self.slot) };
            }
            Stage::Received | Stage::Waiting => drop(self.leave(None)),
        }
    }
}

/// Sees from elsewhere how it is with what a receiver waits for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Witness {
    state: NonNull<AtomicUsize>,
    begun: NonNull<AtomicBool>,
}

// SAFETY: it offers reads of atomics.
unsafe impl Send for Witness {}

impl Witness {
    /// Whether the sender has yet to end.
    ///
    /// # Safety
    /// The receiver has not left.
    pub(crate) unsafe fn is_waiting(self) -> bool {
        // SAFETY: by invariant 3 the slot lives until the receiver has left.
        let state = unsafe { self.state.as_ref() };
        // Acquire: pairs with the sender's AcqRel in `leave`, so that what it did before is seen.
        state.load(Ordering::Acquire) & ENDED == 0
    }

    /// Whether somebody has begun to work on the value.
    ///
    /// # Safety
    /// The receiver has not left.
    pub(crate) unsafe fn has_begun(self) -> bool {
        // SAFETY: by invariant 3 the slot lives until the receiver has left.
        let begun = unsafe { self.begun.as_ref() };
        // Relaxed: who looks has heard of what happened since by other ways.
        begun.load(Ordering::Relaxed)
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
