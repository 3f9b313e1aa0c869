//! How long a world runs: until something is ready, for a while, or until it is quiet.

use super::check::Failure;
use super::roster::Roster;
use super::spectator::{Origin, Spectator, Wanted};
use super::world::{Step, World};
use crate::sync::Buggified;
use crate::time::Time;
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::runtime::Handle;

impl World {
    /// Runs the world until `future` is ready. It need be neither `Send` nor `'static`.
    ///
    /// # Panics
    /// When the world stands still before that, a check fails, an actor panics that must not, or there
    /// are more steps than allowed.
    pub fn run<F: Future>(&mut self, future: F) -> F::Output {
        self.run_until(u64::MAX, future)
    }

    /// As [`World::run`], but fails if `future` is not ready within `limit`, and says who waits for whom:
    /// for what must come to pass once faults are over.
    ///
    /// # Panics
    /// As [`World::run`], and when it takes longer.
    pub fn run_within<F: Future>(&mut self, limit: Duration, future: F) -> F::Output {
        self.run_until(Time(self.stage.now()).after(limit).0, future)
    }

    fn run_until<F: Future>(&mut self, until: u64, future: F) -> F::Output {
        let reactor = self.begin();
        let _inside = reactor.enter();
        let _rare = Buggified::by(&self.buggifier);
        let mut future = pin!(future);
        let waker = self.stage.woken.waker(Roster::MAIN);
        self.roster.make_ready(Roster::MAIN);
        loop {
            match self.step(until) {
                Step::Main => {
                    let polled = future.as_mut().poll(&mut Context::from_waker(&waker));
                    self.after_step();
                    if let Poll::Ready(output) = polled {
                        return output;
                    }
                }
                Step::Other if self.stage.now() <= until => {}
                Step::Quiet if until == u64::MAX => self.fail(Failure::stall(&self.describe())),
                Step::Other | Step::Quiet => self.fail(Failure::late(&self.describe())),
            }
        }
    }

    /// Begins to run: what has come to pass since the last step has done so now, and not after the next. Returns what
    /// tokio's tasks run in.
    fn begin(&mut self) -> Handle {
        self.checks.strike_out(self.stage.now());
        self.reactor.handle()
    }

    /// Runs the world for that long, whether or not anything happens.
    ///
    /// # Panics
    /// As [`World::run`], but not for standing still.
    pub fn run_for(&mut self, span: Duration) {
        let until = Time(self.stage.now()).after(span).0;
        let reactor = self.begin();
        let _inside = reactor.enter();
        let _rare = Buggified::by(&self.buggifier);
        while self.stage.now() <= until && self.step(until) != Step::Quiet {}
        self.move_to(until.max(self.stage.now()));
        self.after_step();
    }

    /// Runs the world until nobody can run at this time; timers, packets to come, and the end of what a slow node is at
    /// are not waited for.
    ///
    /// # Panics
    /// As [`World::run`], but not for standing still.
    pub fn settle(&mut self) {
        let reactor = self.begin();
        let _inside = reactor.enter();
        let _rare = Buggified::by(&self.buggifier);
        while self.step(self.stage.now()) != Step::Quiet {}
        self.after_step();
    }

    /// Runs the world until the message is found that is looked for, or `span` is over; whether it was,
    /// and what was seen meanwhile.
    pub(super) fn seek(&mut self, wanted: Wanted, span: Duration) -> (bool, Vec<String>) {
        let until = Time(self.stage.now()).after(span).0;
        let reactor = self.begin();
        let _inside = reactor.enter();
        let _rare = Buggified::by(&self.buggifier);
        self.survey(Origin::Outside);
        let Some(spectator) = &self.spectator else { return (false, Vec::new()) };
        spectator.look_for(wanted);
        let found = |world: &Self| world.spectator.as_ref().is_some_and(Spectator::has_found);
        while !found(self) && self.stage.now() <= until && self.step(until) != Step::Quiet {}
        let came = found(self);
        if !came {
            self.move_to(until.max(self.stage.now()));
            self.after_step();
        }
        (came, self.spectator.as_ref().map(Spectator::look_away).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests;
