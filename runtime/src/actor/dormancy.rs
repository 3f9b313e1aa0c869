//! Actors that sleep without a state: what virtual actors are made of.
//!
//! ```text
//!              message                   stopped itself, or failed
//! Dormant ----------------> Starting ... ------------------------> Cleanup
//!    ^                                                                |
//!    +----------------------------------------------------------------+
//! ```
//!
//! A dormant actor is a cell with its mailbox and no state. It holds the IDLE flag like any actor with
//! nothing to do, so a message finds it by the same steps, and the mail that came while the last
//! incarnation ended is there for the next. One cell has one incarnation at a time: so has the key.
//!
//! Ends that others ask for (stop, drain, kill, shutdown) are for good, and so is a start that fails:
//! it would fail again for as long as there is mail.

use super::body::{self, control};
use super::context::Context;
use super::life;
use super::phase::{Ending, Phase, enter, reason};
use super::stash;
use super::tell::is_withdrawn;
use super::traits::Behavior;
use crate::event::Event;
use crate::sync::planted;
use crate::task::cell::{Advance, Header};
use crate::task::held::Held;
use crate::task::life::Life;
use std::any::Any;
use std::fmt;
use std::ptr::NonNull;
use std::time::Duration;

/// How a virtual actor comes and goes.
pub(super) struct Dormancy {
    /// A [`Makes`] of the actor's type.
    makes: Box<dyn Any + Send>,
    keeper: Box<dyn Keeper>,
    /// The silence after which it stops itself.
    idle: Duration,
}

/// Makes the arguments of an incarnation.
pub(super) struct Makes<A: Behavior>(pub(super) Box<dyn Fn() -> A::Args + Send>);

/// Who leads others to a virtual actor.
pub(super) trait Keeper: Send {
    /// Forgets the actor, whose runner calls this, if nobody else refers to it and it has no mail;
    /// `true` if it did: then the actor is to end.
    fn forget_unused(&self, held: &mut Held) -> bool;
    /// The actor has ended for good.
    fn ended(&self, cell: NonNull<Header>);
}

impl Dormancy {
    pub(super) fn new<A: Behavior>(
        makes: Makes<A>,
        keeper: Box<dyn Keeper>,
        idle: Duration,
    ) -> Self {
        Self { makes: Box::new(makes), keeper, idle }
    }

    /// What an incarnation starts from.
    pub(super) fn args<A: Behavior>(&self) -> Option<A::Args> {
        self.makes.downcast_ref::<Makes<A>>().map(|makes| (makes.0)())
    }

    /// The actor has ended for good.
    pub(super) fn give_up(self, cell: NonNull<Header>) {
        self.keeper.ended(cell);
    }
}

impl fmt::Debug for Dormancy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Dormancy")
    }
}

/// Whether the incarnation that is over is followed by sleep.
pub(super) fn follows(held: &mut Held) -> bool {
    let life = &held.owner().life;
    let is_open = life.last == Ending::None as u8 && life.has_ever(Life::BORN);
    let is_own = [Ending::Own as u8, Ending::Failed as u8].contains(&life.ending);
    is_open && is_own && control(held).extras.as_ref().is_some_and(|it| it.dormancy.is_some())
}

/// Lets the actor sleep.
pub(super) fn fall_asleep(held: &mut Held) {
    let reason = reason(held).clone();
    let cell = held.cell();
    cell.core.events.emit(|| Event::Asleep { actor: cell.actor_id(), reason });
    let life = &mut held.owner().life;
    life.ending = Ending::None as u8;
    life.ever &= !Life::BORN;
    enter(held, Phase::Dormant);
}

/// Wakes the actor if it has mail, or lets it rest.
///
/// # Safety
/// No hook or handler waits, and the cell is an `A`'s.
pub(super) unsafe fn step<A: Behavior>(held: &mut Held) -> Advance {
    while planted!("dormant-wakes-for-nothing": held.front().is_some_and(is_withdrawn) => false) {
        held.pop();
    }
    if planted!("dormant-wakes-for-nothing": held.is_mail_broken() => false) {
        // What comes may be a message, or withdrawn.
        return Advance::Yield;
    }
    if held.has_mail() || stash::has_due(held) {
        // SAFETY: the caller's promise.
        unsafe { wake::<A>(held) };
        return Advance::Again;
    }
    if life::is_window_due(held) {
        return Advance::Yield;
    }
    if held.owner().draining || is_forgotten(held) {
        life::begin_end(held, Ending::Drained, false);
        return Advance::Again;
    }
    Advance::Rest
}

fn is_forgotten(held: &mut Held) -> bool {
    let Some(dormancy) = control(held).extras().dormancy.take() else { return false };
    let is_forgotten = dormancy.keeper.forget_unused(held);
    control(held).extras().dormancy = Some(dormancy);
    is_forgotten
}

/// # Safety
/// As [`step`].
unsafe fn wake<A: Behavior>(held: &mut Held) {
    let args = control(held).extras().next_args::<A>();
    let args = args.expect("a dormant actor knows how to start");
    // SAFETY: the caller's promise.
    unsafe { body::set_args::<A>(held.header(), args) };
    enter(held, Phase::Starting);
}

/// An incarnation is about to start: if it is a virtual actor's, it stops itself when it is idle.
///
/// # Safety
/// As [`step`].
pub(super) unsafe fn limit_idleness<A: Behavior>(held: &mut Held) {
    let Some(dormancy) = control(held).extras.as_ref().and_then(|it| it.dormancy.as_ref()) else {
        return;
    };
    let idle = dormancy.idle;
    if idle != Duration::MAX {
        // SAFETY: the caller's promise.
        let context = unsafe { body::context::<A>(held.header()) };
        context.receive_timeout(idle, |_: &mut A, cx: &mut Context<A>| {
            // What it has put aside it would be woken for at once, without its state.
            if planted!("sleeps-on-its-stash": stash::is_empty(&mut cx.held()) => true) {
                cx.stop();
            }
        });
    }
}

/// Lets a new actor sleep until its first message.
pub(super) fn begin_asleep(held: &mut Held, dormancy: Dormancy) {
    control(held).extras().dormancy = Some(dormancy);
    enter(held, Phase::Dormant);
}
