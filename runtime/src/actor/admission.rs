//! Waiting until a message may go in: for room in the mailbox, for the end of an overload, for the system's
//! budget.
//!
//! No circle of handlers that wait here can close, because *nobody who is waited for is held back*:
//!
//! 1. Who is held back by an overload is not overloaded itself, and nobody waits for room in its mailbox.
//!    Both are looked at again when they change: then its handler is polled once more.
//! 2. Who waits for the budget has no mail, so that it holds no part of what it waits for. Its next mail
//!    lets it through.
//! 3. Nobody holds room or a place while it waits for the budget; of the budget's two shares all take the
//!    one of messages first.
//!
//! So whoever holds others back is running, is ready, or waits for something that is not here: room in a
//! bounded mailbox, which is never exceeded, or an answer, which has a deadline.
//!
//! A handler whose sends are polled by something with a waker of its own, such as an interleaved one, is never held back:
//! that its actor is woken does not poll it. To hold an interleaved one back until it holds up mail would not do, either:
//! while another handler of its actor waits it is not polled, would keep a place that it was given by then, and that
//! handler may wait for the place. Room in a bounded mailbox, which it does wait for, it keeps so: until that handler is
//! done the room is nobody's, and if that handler waits for it, for ever.

use super::body;
use crate::mailbox::{Admission, Bound, Claim, Pass};
use crate::queue::level::{Level, Places};
use crate::queue::permits::Taking;
use crate::sync::planted;
use crate::task::budget::{BudgetMarks, Share};
use crate::task::cell::CellRef;
use crate::task::core::Core;
use crate::task::waker::with_actor_of;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::{Poll, Waker};

/// Whose handler sends, if it is one's.
#[derive(Debug)]
pub(super) enum Sender {
    /// No actor of the system.
    Outside,
    /// An actor that can be polled again.
    Actor(CellRef),
    /// Some actor, behind a waker that is not its own.
    Hidden,
}

impl Sender {
    /// Who polls with that waker.
    pub(super) fn of(waker: &Waker, core: &Core) -> Self {
        let actor = with_actor_of(waker, |actor| actor.filter(|actor| actor.is_in(core)).cloned());
        match actor {
            Some(actor) => Self::Actor(actor),
            None if core.is_handling() => Self::Hidden,
            None => Self::Outside,
        }
    }

    /// How a message of this sender passes now.
    pub(super) fn claim(&self, is_question: bool) -> Claim {
        let pass = |is_free| if is_free { Pass::Anyway } else { Pass::IfClear };
        Claim {
            level: pass(is_question || self.passes_overload()),
            budget: pass(self.passes_budget()),
        }
    }

    /// Whether no overload holds it back now.
    fn passes_overload(&self) -> bool {
        match self {
            Self::Outside => false,
            Self::Actor(actor) => planted!(
                "overloaded-held-back": body::bound(actor).is_some_and(Bound::is_pressed) => false
            ),
            Self::Hidden => true,
        }
    }

    /// Whether no budget holds it back now.
    fn passes_budget(&self) -> bool {
        match self {
            Self::Outside => false,
            Self::Actor(actor) => level_of(actor).is_some_and(Level::is_occupied),
            Self::Hidden => true,
        }
    }

    /// Lets its next mail poll its handler; `true` if there is mail already.
    fn arm(&self) -> bool {
        match self {
            Self::Actor(actor) => planted!(
                "budget-unarmed": level_of(actor).is_some_and(Level::arm) => false
            ),
            Self::Outside | Self::Hidden => false,
        }
    }
}

fn level_of(actor: &CellRef) -> Option<&Level> {
    body::bound(actor).and_then(Bound::level)
}

/// Room in a mailbox that is given back when this is dropped.
struct Room<'a> {
    bound: &'a Bound,
    bytes: usize,
    is_kept: bool,
}

impl Room<'_> {
    fn keep(mut self) {
        self.is_kept = true;
    }
}

impl Drop for Room<'_> {
    fn drop(&mut self) {
        if !self.is_kept {
            self.bound.release(self.bytes);
        }
    }
}

/// Waits until a message of `bytes` may go in. Once it is admitted, its room is taken and it is counted.
///
/// # Cancel safety
/// Dropping the future gives up every place in a queue, and takes nothing.
pub(super) async fn wait(
    cell: &CellRef,
    bound: &Bound,
    bytes: usize,
    sender: Sender,
    is_question: bool,
) -> Admission {
    let budget = cell.core.budget.as_ref();
    if budget.is_some_and(|budget| budget.is_too_large(bytes)) {
        return Admission::SystemFull;
    }
    loop {
        let admission = own_room(cell, bound, bytes).await;
        if admission != Admission::Admitted {
            return admission;
        }
        let room = Room { bound, bytes, is_kept: false };
        let Some(level) = bound.level() else {
            room.keep();
            return Admission::Admitted;
        };
        let Some(place) = relief(cell, level, &sender, is_question).await else {
            return Admission::Closed;
        };
        let Some(budget) = budget else {
            room.keep();
            place.keep();
            return Admission::Admitted;
        };
        let events = &cell.core.events;
        if sender.passes_budget() {
            budget.enter_anyway(bytes, events);
        } else if !budget.try_enter(bytes, events) {
            drop((place, room));
            let mut shares = Vec::new();
            for share in budget.shares(bytes, events) {
                shares.push(of_budget(share, &sender).await);
            }
            let has_room = bound.try_admit(bytes) == Admission::Admitted;
            let room = has_room.then(|| Room { bound, bytes, is_kept: false });
            if let Some(room) = room
                && let Some(place) = place_now(cell, level, sender.claim(is_question))
            {
                room.keep();
                place.keep();
                shares.into_iter().flatten().for_each(Places::keep);
                return Admission::Admitted;
            }
            continue;
        }
        room.keep();
        place.keep();
        return Admission::Admitted;
    }
}

/// Waits for room in the mailbox. An actor that sends to itself would wait for itself: it does not, whatever polls its
/// sends.
async fn own_room(cell: &CellRef, bound: &Bound, bytes: usize) -> Admission {
    if planted!("own-room-awaited": cell.core.is_handling_of(cell) => false) {
        return bound.try_admit(bytes);
    }
    let mut wait = pin!(bound.admit(bytes));
    let mut is_told = !cell.core.slows();
    poll_fn(|cx| {
        let polled = wait.as_mut().poll(cx);
        if polled.is_pending() && !std::mem::replace(&mut is_told, true) {
            // From now on nothing may hold the receiver back.
            cell.wake();
        }
        polled
    })
    .await
}

/// A place in the level, if the claim has one now.
fn place_now<'a>(cell: &'a CellRef, level: &'a Level, claim: Claim) -> Option<Place<'a>> {
    if claim.level == Pass::Anyway {
        level.take_anyway(1, cell);
    } else if level.try_take(1, cell) != Taking::Taken {
        return None;
    }
    Some(Places::taken(level, 1, cell))
}

/// A place in the level of a receiver.
type Place<'a> = Places<'a, &'a CellRef>;

/// Waits until the receiver is not overloaded, or nothing holds the sender back; `None` if it has ended.
async fn relief<'a>(
    cell: &'a CellRef,
    level: &'a Level,
    sender: &Sender,
    is_question: bool,
) -> Option<Place<'a>> {
    let mut take = Some(level.take(1, cell));
    let mut is_counted = false;
    poll_fn(|cx| {
        let passes = is_question || sender.passes_overload();
        let Some(wait) = take.as_mut().filter(|_| !passes) else {
            // Its place in the queue goes first: it may be served already.
            take = None;
            level.take_anyway(1, cell);
            return Poll::Ready(Some(Places::taken(level, 1, cell)));
        };
        let polled = Pin::new(wait).poll(cx);
        if polled.is_pending() && !std::mem::replace(&mut is_counted, true) {
            cell.core.events.counters.held_back.add_one();
        }
        polled
    })
    .await
}

/// Waits for a share of the budget.
async fn of_budget<'a>(share: Share<'a>, sender: &Sender) -> Option<Places<'a, BudgetMarks<'a>>> {
    let Share { level, count, marks } = share;
    let mut take = Some(level.take(count, marks));
    poll_fn(|cx| {
        if !sender.passes_budget()
            && let Some(wait) = &mut take
        {
            let polled = Pin::new(wait).poll(cx);
            if polled.is_ready() || !sender.arm() {
                return polled;
            }
        }
        take = None;
        level.take_anyway(count, marks);
        Poll::Ready(Some(Places::taken(level, count, marks)))
    })
    .await
}
