//! A receiver that passes its wait on to another one, which has waited for longer: the sender of the first
//! then does for the second what it does.
//!
//! It may do so at any time before it waits itself, whatever the sender does meanwhile. By invariant 5 the
//! slot needs no place for it.

use super::slot::{ENDED, GONE, LISTENS, PASSED, Slot, VALUE};
use super::{Receiver, Sender, Stage, WITHDRAWN};
use crate::sync::panic::wake_quietly;
use crate::sync::{Ordering, planted};
use std::mem::ManuallyDrop;

impl<T> Receiver<T> {
    /// Leaves, and has the sender do for `onward` what it does; what it has done, is done at once. Not to be
    /// called after `poll`.
    pub(crate) fn pass(mut self, onward: Sender<T>) {
        assert!(
            self.stage == Stage::Waiting && !self.registered,
            "who waits itself passes nothing on"
        );
        let (mut onward, mut listens, mut unheard) = (onward.resolve(), false, None);
        // Acquire, here and below: pairs with the AcqRel in `listen`, and in the sender's `leave`.
        let mut state = self.slot().state.load(Ordering::Acquire);
        while state & ENDED == 0 {
            if state & LISTENS != 0 && !listens {
                listens = true;
                // SAFETY: this is the receiver, which saw LISTENS and is not gone.
                let listener = unsafe { self.slot().clone_listener() };
                if !planted!("oneshot-pass-unheard": onward.listen(listener.clone()) => true) {
                    unheard = Some(listener);
                }
            }
            // SAFETY: this is the receiver, which never waited and is not gone.
            unsafe { self.slot().put_onward(onward) };
            // AcqRel: releases the other sender, and this side's uses, to the sender.
            let order = planted!("oneshot-pass-relaxed": Ordering::AcqRel => Ordering::Relaxed);
            let passed = state | GONE | PASSED;
            match self.slot().state.compare_exchange(state, passed, order, Ordering::Acquire) {
                Ok(_) => {
                    self.stage = Stage::Left;
                    // The one who waited in the end was gone already.
                    return unheard.into_iter().for_each(wake_quietly);
                }
                Err(now) => state = now,
            }
            // SAFETY: this is the receiver, which is not gone and has just put it there.
            onward = unsafe { self.slot().take_onward() };
        }
        self.stage = Stage::Received;
        if state & VALUE == 0 {
            return onward.refuse(self.refusal());
        }
        // SAFETY: with VALUE the value is the receiver's, which has not polled and will not.
        let value = unsafe { self.slot().take_value() };
        // An error means that the other receiver had left; it left word what to do.
        drop(onward.send(value));
    }
}

impl<T> Sender<T> {
    /// The sender for which this one does what it does, or this one itself.
    fn resolve(self) -> Self {
        let mut last = self;
        loop {
            // Acquire: pairs with the AcqRel in `pass`.
            let state = last.slot().state.load(Ordering::Acquire);
            if state & PASSED == 0 {
                return last;
            }
            // SAFETY: the sender goes, and this is the last thing that is done with it.
            last = unsafe { ManuallyDrop::new(last).onward(state) };
        }
    }

    /// Ends this side's part in a slot that was passed on, and frees it.
    ///
    /// # Safety
    /// The last thing done with the sender, which saw PASSED in `state`; the slot has no value.
    unsafe fn onward(&self, state: usize) -> Self {
        // SAFETY: by invariant 5 it is the sender's after PASSED.
        let onward = unsafe { self.slot().take_onward() };
        // SAFETY: the receiver left, and the other sender was just moved out.
        unsafe { Slot::release_with(self.slot, state) };
        onward
    }

    /// As [`Sender::is_abandoned`], where the receiver is gone: whether nobody waits in its stead.
    #[cold]
    pub(super) fn is_abandoned_there(&self) -> bool {
        self.of_onward(Self::is_abandoned).unwrap_or(true)
    }

    /// Whether who waited has [withdrawn](Receiver::withdraw) the question.
    #[cold]
    pub(crate) fn is_withdrawn(&self) -> bool {
        let there = self.of_onward(Self::is_withdrawn);
        there.unwrap_or_else(|| self.deadline() == WITHDRAWN)
    }

    /// What `look` says of the sender for which this one does what it does, if there is one.
    fn of_onward(&self, look: impl FnOnce(&Self) -> bool) -> Option<bool> {
        // Acquire: pairs with the AcqRel in `pass`, and in the receiver's `drop`.
        let is_passed = self.slot().state.load(Ordering::Acquire) & PASSED != 0;
        // SAFETY: by invariant 5 it is the sender's after PASSED; a shared sender offers reads alone.
        is_passed.then(|| self.slot().waker.with(|place| look(unsafe { &*place.cast::<Self>() })))
    }

    /// As [`Sender::listen`], where the receiver has passed its wait on and the listener is in the slot.
    #[cold]
    pub(super) fn listen_there(&mut self) -> bool {
        // SAFETY: this is the sender, which has put it there.
        let listener = unsafe { self.slot().clone_listener() };
        // SAFETY: by invariant 5 it is the sender's after PASSED, and this one is borrowed for good.
        unsafe { self.slot().with_onward(|onward| onward.listen(listener)) }
    }

    /// As [`Sender::send`], where the receiver has passed its wait on and the value is in the slot.
    #[cold]
    pub(super) fn send_there(&self, state: usize) -> Result<(), T> {
        // SAFETY: the receiver was gone before VALUE, so the value is still the sender's.
        let value = unsafe { self.slot().take_value() };
        // SAFETY: the sender has ended, and the value was just moved out.
        unsafe { self.onward(state) }.send(value)
    }

    /// As [`Sender::go`], where the receiver has passed its wait on.
    #[cold]
    pub(super) fn go_there(&self, state: usize, end: usize) {
        // SAFETY: the sender has ended, without a value.
        ManuallyDrop::new(unsafe { self.onward(state) }).go(end);
    }
}
