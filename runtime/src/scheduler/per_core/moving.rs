//! Moving actors from the worker that they live on to another one.
//!
//! ```text
//! from: H                          to: G                            any other worker P
//! home = G|MOVING (lane's lock)    mail for it: held                mail for it: to G
//! fence to each worker             answers                          answers
//! mail that still comes: into the inbox
//! all answered: arrival -------->  home = G, delivers what it held, runs the actor
//! ```
//!
//! Why the order of mail is kept: an answer comes behind everything that its worker had sent to H
//! before it knew of the move, so that is in the inbox before the actor arrives; what was sent to G
//! meanwhile is held until then, and delivered behind it. And what the actor itself had sent before it
//! moved lies in front of the fences, so it is delivered before the actor can send more from G.
//!
//! A worker that sleeps and has taken everything needs no fence: it has nothing on its way, and the
//! look at its signal releases the new home to it. One that is in the middle of a long handler delays
//! the move until it answers; the actor waits meanwhile.

use crate::task::Ready;

/// Actors on their way to one worker, while fences are unanswered.
#[derive(Debug)]
pub(super) struct Move {
    pub(super) actors: Vec<Ready>,
    /// The worker that they go to.
    pub(super) to: usize,
    /// The number of the fences.
    pub(super) fence: u64,
    /// The workers that have not answered.
    pub(super) unanswered: u64,
}
