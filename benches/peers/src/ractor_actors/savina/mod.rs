//! The programs of the Savina suite.

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

use super::Done as Handled;
use crate::{Program, task};
use ractor::{Actor, ActorProcessingErr, ActorRef, ActorRuntime, Message};
use std::future::Future;
use std::marker::PhantomData;

/// What an actor is whose state is all there is to it; ractor has actors apart from their states.
trait State: Send + Sized + 'static {
    type Msg: Message;

    fn handle(
        &mut self,
        me: ActorRef<Self::Msg>,
        message: Self::Msg,
    ) -> impl Future<Output = Handled> + Send;
}

/// The actor of a state.
struct Plain<S>(PhantomData<fn() -> S>);

impl<S: State> Actor for Plain<S> {
    type Msg = S::Msg;
    type State = S;
    type Arguments = S;

    async fn pre_start(&self, _me: ActorRef<S::Msg>, state: S) -> Result<S, ActorProcessingErr> {
        Ok(state)
    }

    async fn handle(&self, me: ActorRef<S::Msg>, message: S::Msg, state: &mut S) -> Handled {
        state.handle(me, message).await
    }
}

/// Starts an actor and waits until it has started.
async fn start<S: State>(state: S) -> ActorRef<S::Msg> {
    let started = Actor::spawn(None, Plain(PhantomData), state).await;
    started.expect("the actor starts").0
}

/// Starts an actor and goes on.
fn start_soon<S: State>(state: S) -> Result<ActorRef<S::Msg>, ActorProcessingErr> {
    Ok(ActorRuntime::spawn_instant(None, Plain(PhantomData), state)?.0)
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
