//! Actors whose life is asked before each message.
//!
//! Most are not: their runner goes from one message to the next without a look aside. One that has a
//! receive timeout, or messages that come before its mail, does not count as running, so that its runner
//! comes by [`super::life::advance`].

use super::body;
use super::interleave;
use super::phase::{Phase, enter};
use super::stash;
use super::traits::Behavior;
use crate::task::cell::Advance;
use crate::task::held::Held;
use crate::task::life::Life;

/// The actor has a receive timeout.
pub(super) const SILENCE: u8 = 1;
/// Messages come before the actor's mail.
pub(super) const DUE: u8 = 2;
/// Interleaved handlers have given way to the actor's mail.
pub(super) const GAVE_WAY: u8 = 4;

/// Has the actor asked before each message for the reason `why`, or no longer.
pub(super) fn set(held: &mut Held, why: u8, on: bool) {
    let attended = &mut held.owner().life.attended;
    *attended = if on { *attended | why } else { *attended & !why };
    let phase = Phase::of(held);
    enter(held, phase);
}

/// Whether the actor is asked before each message.
pub(super) fn is_on(held: &mut Held) -> bool {
    held.owner().life.attended != 0
}

/// Takes note of the message before and lets the next one come.
///
/// # Safety
/// No hook or handler waits, and the cell is an `A`'s.
pub(super) unsafe fn step<A: Behavior>(held: &mut Held) -> Advance {
    let heard = held.owner().life.take_lately(Life::HEARD);
    if heard {
        // SAFETY: the caller's promise.
        unsafe { body::context::<A>(held.header()) }.break_silence();
    }
    if held.owner().life.attended & GAVE_WAY != 0 {
        interleave::go_on(held, heard);
    }
    stash::next(held)
}
