//! actix: synchronous handlers on one arbiter or two; `do_send` where nobody waits.

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

use super::{Stage, Who, program};
use crate::Program;
use actix::{Actor, Addr, Context};

/// So many generations of a tree are spread over the arbiters; who comes later stays with its parent.
const SPREAD: usize = 2;

/// Starts an actor on the arbiter whose turn it is.
fn start<A>(stage: &Stage, number: usize, actor: A) -> Addr<A>
where
    A: Actor<Context = Context<A>> + Send,
{
    A::start_in_arbiter(stage.of(number as u64), |_| actor)
}

/// Where the children of an actor in a tree live.
#[derive(Clone, Debug)]
struct Nursery {
    /// `None` when they live where their parent does.
    stage: Option<Stage>,
    parent: usize,
    generation: usize,
}

impl Nursery {
    fn on(stage: Stage) -> Self {
        Self { stage: Some(stage), parent: 0, generation: 0 }
    }

    /// Starts the child of that number: those with even ones beside their parent, the others on the
    /// other arbiter.
    fn start<A>(&self, number: usize, actor: impl FnOnce(Self) -> A) -> Addr<A>
    where
        A: Actor<Context = Context<A>> + Send,
    {
        let (place, generation) = (self.parent + number, self.generation + 1);
        let Some(stage) = &self.stage else {
            return actor(Self { stage: None, parent: 0, generation }).start();
        };
        let arbiter = stage.of(place as u64);
        let stage = (generation < SPREAD).then(|| stage.clone());
        let actor = actor(Self { stage, parent: place, generation });
        A::start_in_arbiter(arbiter, |_| actor)
    }
}

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
