//! Moving actors from the worker that they live on to another one.
//!
//! ```text
//! from: H                          to: G                            any other worker P
//! home = G|MOVING (lane's lock)    mail for it: held                mail for it: to G
//! fence to each worker             answers                          answers
//! mail from rings: into the inbox
//! mail from actors here: to G
//! all answered: arrival -------->  home = G, delivers what it held, runs the actor
//! ```
//!
//! Why the order of mail is kept: an answer comes behind everything that its worker had sent to H
//! before it knew of the move, so that is in the inbox before the actor arrives; what was sent to G
//! meanwhile is held until then, and delivered behind it. An actor that lives with H sends to G, too: it
//! may have come from G just now, and have left mail there. And what the actor itself had sent before it
//! moved lies in front of the fences, so it is delivered before the actor can send more from G.
//!
//! An order to drain an actor is fenced in the same way, without a move: what was sent before it may
//! still be in some ring, and is to be handled first. All that waits for that at a time has one fence.
//!
//! A worker that sleeps and has taken everything needs no fence, unless there is a spill for it that it
//! does not know of: it has nothing on its way, and the look at its signal releases the new home to it. One that is in the middle of a long handler delays
//! the move until it answers; the actor waits meanwhile. So who hands actors over without being told to, and sees workers
//! that are not idle, sends fences for nothing first, and begins when those are answered: nobody is in the same handler any
//! more, and the move waits for none but the next one of each. Until then they run where they are.

use crate::task::Ready;
use crate::task::cargo::Cargo;
use std::collections::VecDeque;

/// What is done when the fences are answered.
#[derive(Debug)]
pub(super) enum Errand {
    /// Actors leave for that worker.
    Move(Vec<Ready>, usize),
    /// Half of the actors that are ready by then begin to leave for that worker: each worker has ended the handler that it
    /// was in. It may be in the next one, for which they wait.
    Share(usize),
    /// These are delivered behind all earlier mail, in order.
    Deliver(VecDeque<Cargo>),
}

/// An errand, while fences are unanswered.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) errand: Errand,
    /// The number of the fences.
    pub(super) fence: u64,
    /// The workers that have not answered.
    pub(super) unanswered: u64,
}

impl Waiting {
    /// The actors that are to leave.
    pub(super) fn actors(&self) -> &[Ready] {
        match &self.errand {
            Errand::Move(actors, _) => actors,
            Errand::Share(_) | Errand::Deliver(_) => &[],
        }
    }
}
