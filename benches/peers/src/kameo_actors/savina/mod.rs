//! The programs of the Savina suite, with unbounded mailboxes.

mod apsp;
mod banking;
mod barber;
mod bndbuffer;
mod concdict;
mod fib;
mod nqueenk;
mod philosopher;
mod quicksort;
mod recmatmul;
mod uct;

use crate::{Program, task};
use kameo::Actor;
use kameo::actor::{ActorRef, PreparedActor, Spawn};
use kameo::mailbox;

fn spawn<A: Actor<Args = A>>(actor: A) -> ActorRef<A> {
    A::spawn_with_mailbox(actor, mailbox::unbounded())
}

/// Spawns an actor whose state knows it.
fn spawn_with<A: Actor<Args = A>>(actor: impl FnOnce(&ActorRef<A>) -> A) -> ActorRef<A> {
    let prepared = PreparedActor::new(mailbox::unbounded());
    let me = prepared.actor_ref().clone();
    prepared.spawn(actor(&me));
    me
}

pub(super) fn of(peer: &'static str, workers: usize) -> Vec<Program> {
    vec![
        task("savina_concdict", peer, workers, concdict::run),
        task("savina_bndbuffer", peer, workers, bndbuffer::run),
        task("savina_philosopher", peer, workers, philosopher::run),
        task("savina_barber", peer, workers, barber::run),
        task("savina_banking", peer, workers, banking::run),
        task("savina_fib", peer, workers, fib::run),
        task("savina_quicksort", peer, workers, quicksort::run),
        task("savina_recmatmul", peer, workers, recmatmul::run),
        task("savina_nqueenk", peer, workers, nqueenk::run),
        task("savina_uct", peer, workers, uct::run),
        task("savina_apsp", peer, workers, apsp::run),
    ]
}
