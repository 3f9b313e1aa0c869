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

use super::{spawn, spawn_with, tell};
use crate::{Program, task};
use xtra::{Actor, Address, Context};

/// The address of an actor that others keep alive.
fn me<A: Actor>(cx: &Context<A>) -> Address<A> {
    cx.mailbox().address().try_upgrade().expect("somebody has its address")
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
