//! The programs of the Savina suite; `greenroom_peers::savina` says what they do.

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

use super::Setting;
use greenroom_peers::Program;

/// The programs with one setting.
pub(super) fn programs(setting: &'static Setting) -> Vec<Program> {
    vec![
        setting.program("savina_concdict", concdict::run),
        setting.program("savina_bndbuffer", bndbuffer::run),
        setting.program("savina_philosopher", philosopher::run),
        setting.program("savina_barber", barber::run),
        setting.program("savina_banking", banking::run),
        setting.program("savina_fib", fib::run),
        setting.program("savina_quicksort", quicksort::run),
        setting.program("savina_recmatmul", recmatmul::run),
        setting.program("savina_nqueenk", nqueenk::run),
        setting.program("savina_uct", uct::run),
        setting.program("savina_apsp", apsp::run),
    ]
}
