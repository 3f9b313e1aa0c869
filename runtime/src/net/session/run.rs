//! Messages that came in one frame to one actor, handed in as one.
//!
//! Who tells faster than packets leave has his messages in one frame, and then what they have in common is looked up, lent
//! and counted once: the way to the actor, the connection by which they are decoded, the credit. What is not like most of
//! them is left to [`Session::take`]: those of an actor whose mail waits or is limited, and those behind one that did
//! not go in.

use super::{Inlet, Misbehaved, Origin, Session};
use crate::net::export::Run;
use crate::net::frame::Tells;

impl Session {
    /// Hands in those that come first and need nothing else; leaves the others. [ENV-18]
    pub(super) fn take_run(&mut self, messages: &mut Tells<'_>) -> Result<(), Misbehaved> {
        let actor = messages.actor();
        let Some(inlet) = self.inlets.get_mut(&actor) else { return Ok(()) };
        let is_plain = self.limit.is_none() && inlet.takes_runs(messages.in_frame());
        if !is_plain {
            return Ok(());
        }
        let Run { taken, longest, stopped } = inlet.actor.take_run(messages, &mut self.lent);
        let mut left = taken;
        while left > 0 {
            // Not all at once: a window that is used up between two looks would never be seen to hold the peer back.
            let some = inlet.window.until_due().min(left);
            inlet.window.receive_run(some, longest);
            if !inlet.settle(some, actor, &self.load, &self.outlet) {
                return Err(Misbehaved);
            }
            left -= some;
        }
        let Some((message, became)) = stopped else { return Ok(()) };
        inlet.window.receive_run(1, longest);
        self.became(Origin { actor, message, question: None }, became)
    }
}

impl Inlet {
    /// Whether so many messages may be handed in as one.
    fn takes_runs(&self, count: u32) -> bool {
        self.limit.is_none() && self.is_idle() && self.window.has_credit(count)
    }
}
