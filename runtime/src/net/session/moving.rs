//! Messages that waited for room move on, as many as others let pass before they have their turn.

use super::parking::Parked;
use super::{MESSAGES_PER_TURN, Session};
use crate::event::Undelivered;
use crate::net::frame::Envelope;
use crate::net::whole;
use crate::sync::panic::quietly;
use crate::sync::planted;
use crate::task::current;
use std::task::{Context, Poll};

impl Session {
    /// Lets those move on for which something was done; returns how many messages did. Actors that are due still have
    /// their turn when this is called again.
    pub(super) fn move_due(&mut self) -> u32 {
        self.held.look(self.outlet.is_pressed());
        let mut moved = 0;
        while goes_on(moved)
            && let Some(actor) = self.held.next_due()
        {
            self.move_on(actor, &mut moved);
        }
        moved
    }

    /// Lets the message of an actor go on that waited for room, and those behind it.
    fn move_on(&mut self, actor: u64, moved: &mut u32) {
        self.unpark(actor, moved);
        while let Some(inlet) = self.inlets.get_mut(&actor)
            && let Some((waiting, origin)) = &mut inlet.waiting
        {
            let waker = inlet.waker.get_or_insert_with(|| self.held.waker(actor));
            let mut cx = Context::from_waker(waker);
            let mut outcome = Poll::Ready(Err(Undelivered::Malformed));
            // What drops a message is anybody's code.
            let poll = || quietly(|| outcome = waiting.as_mut().poll(&mut cx));
            // Or those that are held could use up what the session may send in one turn.
            current::sending_freely(poll);
            let Poll::Ready(outcome) = outcome else { return };
            let origin = *origin;
            inlet.waiting = None;
            // An error means that too much is to be said, which the next frame meets, too.
            let _ = self.settle(origin, outcome);
            *moved += 1;
            self.unpark(actor, moved);
        }
        if self.inlets.get(&actor).is_some_and(|inlet| !inlet.is_idle()) {
            return if goes_on(*moved) { self.held.stall(actor) } else { self.held.wait(actor) };
        }
        self.held.release(actor);
        // As above.
        let _ = self.forget_if_over(actor);
    }

    /// Hands in parked messages until one has to wait, or others are to have their turn.
    fn unpark(&mut self, actor: u64, moved: &mut u32) {
        while goes_on(*moved)
            && let Some(inlet) = self.inlets.get_mut(&actor)
            && inlet.waiting.is_none()
            && let Some(parked) = inlet.parked.next(|| self.outlet.is_pressed(), &mut self.load)
        {
            let Parked { origin, version, schema, arguments } = parked;
            let (message, whole) = (origin.message, arguments.whole());
            let arguments = arguments.as_ref();
            let envelope = Envelope { actor, version, message, schema, arguments };
            let _ = whole::noted(whole, || self.hand_in(&envelope, origin));
            *moved += 1;
        }
    }
}

/// Whether more may move on, after so many.
fn goes_on(moved: u32) -> bool {
    planted!("net-moves-on-at-once": moved < MESSAGES_PER_TURN => true)
}
