//! One life of a node: a system whose workers the world gives their turns.

use super::stage::Stage;
use crate::actor::{End, send_end};
use crate::event::{Event, EventStream, ExitReason};
use crate::scheduler::{ByHand, Manner, Took};
use crate::sync::{Arc, Rare, buggify, planted};
use crate::system::{BuildError, Builder, System};
use crate::task::cell::Header;
use crate::task::core::{Alarm, Core};
use crate::task::witness::{Nobody, Witness};
use crate::time::{Clock, Hand, Passing, Time};
use std::task::Waker;

/// Turns for the workers of a system that ends, before it is given up.
const LAST_TURNS_MAX: usize = 1_000_000;

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct Incarnation {
    system: System,
    core: Arc<Core>,
    workers: Vec<ByHand>,
    hand: Hand,
    /// The world's number of the first worker; the others follow.
    pub(crate) first: usize,
    alarms: Vec<Alarm>,
    panics: u64,
    /// Whether an actor has panicked of which no event has told yet.
    has_panicked: bool,
    events: EventStream,
}

impl Incarnation {
    /// A new system; its workers are numbered from `first` on.
    pub(crate) fn new(builder: Builder, stage: &Stage, first: usize) -> Result<Self, BuildError> {
        let (clock, hand) = Clock::by_hand();
        let (system, core, workers) = builder.build_by_hand(clock, &stage.woken, first)?;
        let events = system.events();
        Ok(Self {
            system,
            core,
            workers,
            hand,
            first,
            alarms: Vec::new(),
            panics: 0,
            has_panicked: false,
            events,
        })
    }

    pub(crate) fn system(&self) -> &System {
        &self.system
    }

    pub(crate) fn workers(&self) -> usize {
        self.workers.len()
    }

    pub(crate) fn set_clock(&self, now: Time) {
        self.hand.set(now);
    }

    /// Sets how what actors have begun beside themselves goes on.
    pub(crate) fn let_pass(&self, passing: Passing) {
        planted!("sim-dead-runs-on": self.hand.gate().set(passing) => ());
    }

    /// Sets who is woken when some of that waits for a turn.
    pub(crate) fn set_porter(&self, porter: Waker) {
        self.hand.gate().set_porter(porter);
    }

    /// Gives some of that a turn; whether more waits for one.
    pub(crate) fn let_one_in(&self) -> bool {
        self.hand.gate().let_one_in()
    }

    pub(crate) fn turn(&mut self, worker: usize, manner: Manner, witness: impl Witness) -> Took {
        self.workers[worker].turn(manner, witness)
    }

    /// What tells its actors from those of other systems.
    pub(crate) fn core_address(&self) -> usize {
        std::ptr::from_ref(&*self.core).addr()
    }

    /// Calls `each` for every actor, with how much user mail waits for it.
    pub(crate) fn look_into_lanes(&self, each: impl FnMut(&Header, usize)) {
        // SAFETY: the world has one thread, which runs this and no actor.
        unsafe { crate::actor::look_into_lanes(&self.core, each) };
    }

    /// Lets timers go off that are due at `now`; `woken` is told of each worker that has to look.
    pub(crate) fn fire(&mut self, now: Time, mut woken: impl FnMut(usize)) {
        for (index, worker) in self.workers.iter_mut().enumerate() {
            if worker.next_alarm().is_some_and(|due| due <= now) && !buggify(Rare::TimerLate) {
                worker.fire_alarms();
                woken(self.first + index);
            }
        }
        self.core.fire_alarms(self.core.timekeeper(), now, &mut self.alarms);
    }

    /// When the next timer is due, by the node's clock.
    pub(crate) fn next_alarm(&self) -> Option<Time> {
        let workers = self.workers.iter().filter_map(ByHand::next_alarm);
        workers.chain(self.core.next_alarm(self.core.timekeeper())).min()
    }

    /// Looks for what was reported since this was asked last, and returns how an actor panicked, if one
    /// did. With `log`, every event goes there.
    pub(crate) fn look(&mut self, log: Option<&dyn Fn(&Event)>) -> Option<String> {
        let panics = self.core.events.counts().panics;
        self.has_panicked |= std::mem::replace(&mut self.panics, panics) != panics;
        if !self.has_panicked && log.is_none() {
            return None;
        }
        // Without a log, others may have ended in peace since the start.
        let mut found = None;
        while let Some(event) = self.events.try_next() {
            if let Some(log) = log {
                log(&event);
            }
            if self.has_panicked
                && let Some(text) = panic_in(&event)
            {
                self.has_panicked = false;
                found = Some(text);
            }
        }
        found
    }

    /// Whether an actor has panicked of which no event has told.
    pub(crate) fn owes_panic(&self) -> bool {
        self.has_panicked
    }

    /// The actors that have not ended, for a report.
    pub(crate) fn actors(&self) -> Vec<String> {
        // SAFETY: the world has one thread, which runs this.
        unsafe { crate::actor::describe_all(&self.core) }
    }

    /// What is there although everything has ended, for a report.
    pub(crate) fn leftovers(&self) -> Vec<String> {
        let mut left = self.actors();
        left.extend(self.system.leftovers_but_actors());
        left
    }

    /// Ends the system when the world has: its actors are killed and dropped, and their tasks later.
    pub(crate) fn bury(&mut self) {
        self.core.rest_tasks();
        self.core.roots.seal();
        for root in self.core.roots.all() {
            send_end(&root, End::Kill);
        }
        self.core.end_with_last_root();
        for turn in 0..LAST_TURNS_MAX {
            let mut done = true;
            for worker in &mut self.workers {
                done &= worker.turn(Manner::default(), Nobody) == Took::Left;
            }
            if done {
                break;
            }
            if turn == LAST_TURNS_MAX / 2 {
                // Something of it does not end: its workers do all the same.
                self.core.end_workers();
            }
        }
    }
}

/// Which actor has panicked by what an event says, and how.
fn panic_in(event: &Event) -> Option<String> {
    match event {
        Event::Ended { actor, reason }
        | Event::Restarting { actor, reason, .. }
        | Event::Asleep { actor, reason }
            if is_of_panic(reason) =>
        {
            Some(format!("{actor} {reason}"))
        }
        Event::EndPanicked { actor, text } => Some(format!("{actor} panicked: {text}")),
        _ => None,
    }
}

/// Whether it began with a panic.
fn is_of_panic(mut reason: &ExitReason) -> bool {
    while let ExitReason::Linked { reason: inner, .. }
    | ExitReason::TooManyRestarts { last: inner, .. } = reason
    {
        reason = inner;
    }
    matches!(reason, ExitReason::Panicked(_))
}
