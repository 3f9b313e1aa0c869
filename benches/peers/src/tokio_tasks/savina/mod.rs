//! The programs of the Savina suite. Where one only forks and joins, a task awaits those it spawned.

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

use super::{Who, program};
use crate::Program;

pub(super) fn of(who: Who) -> Vec<Program> {
    vec![
        program("savina_concdict", who, concdict::run),
        program("savina_bndbuffer", who, bndbuffer::run),
        program("savina_philosopher", who, philosopher::run),
        program("savina_barber", who, barber::run),
        program("savina_banking", who, banking::run),
        program("savina_fib", who, fib::run),
        program("savina_quicksort", who, quicksort::run),
        program("savina_recmatmul", who, recmatmul::run),
        program("savina_nqueenk", who, nqueenk::run),
        program("savina_uct", who, uct::run),
        program("savina_apsp", who, apsp::run),
    ]
}
