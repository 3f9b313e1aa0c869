//! A world: nodes, tasks, wires and time on one thread, one step after the other.
//!
//! A step is one turn of a worker (an actor handles mail), one poll of a task, one round of tokio's
//! tasks, or the turn by which something is let in that actors of a slow node have begun beside themselves. Whose it
//! is, the world's policy and choices say; each takes 50 to 100 ns of the world's time, or a thousand times that where
//! the world takes that rare path.
//! When nobody can run, time jumps to the next timer or packet.
//!
//! Invariants:
//! 1. Everything that runs, runs inside [`World::step`], on the thread that has the world.
//! 2. The clocks of all nodes show the world's time (as they are set to) whenever code of users runs.
//! 3. Of a node that was killed nothing runs before the world itself has ended; then it is buried: what
//!    it left is dropped, without effects on the wires. Of no node is anything left after that: no actor, no timer, no
//!    mail in its budget.

use super::check::{Checks, Failure, PANICKED};
use super::choice::{Label, Source};
use super::course;
use super::fabric::Arrival;
use super::incarnation::Incarnation;
use super::options::Options;
use super::policy::Chooser;
use super::rarities::buggifier;
use super::reactor::Reactor;
use super::roster::{Roster, Work};
use super::setup::{NodeState, Setup};
use super::spectator::{Onlooker, Origin, Spectator};
use super::stage::Stage;
use super::storm::Storm;
use crate::event::Event;
use crate::scheduler::{Manner, Took};
use crate::sync::{Arc, Buggifier, Ordering, Rare, buggify, planted};
use std::cell::Cell;
use std::fmt;
use std::future::Future;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::task::Context;
use std::time::Duration;

const COST: Label = Label::new("cost");
const LATE: Label = Label::new("late");
const NEST: Label = Label::new("nest");
/// What happened, beside the choices.
const STEP: Label = Label::new("step of");
const TURN: Label = Label::new("turn of actor");
const HANDLED: Label = Label::new("messages handled");
const NOW: Label = Label::new("at");
const USER: Label = Label::new("user");

/// A step takes so many nanoseconds of the world's time at least, and up to twice that.
const STEP_NANOS: u64 = 50;
/// A slow step takes so many times as long.
const SLOW: u64 = 1000;
/// The finest difference that timers make.
const TICK_NANOS: u64 = 1_000_000;
/// In one of so many turns a worker counts as late.
const LATE_ONE_IN: u64 = 16;

/// A task of a world.
pub(super) type Task = Pin<Box<dyn Future<Output = ()>>>;

/// Nodes, tasks, wires and time on one thread; see [`sim`](super) for how it is used.
///
/// It goes on in steps: a turn of a worker, which runs one actor, a poll of a task, or, on a slow node, the turn by which
/// something goes on that its actors have begun beside themselves. Each takes 50 to 100 ns of the world's time, rarely
/// a thousand times as long; when nobody can run, time jumps to the next timer or packet. In one world of four each of
/// the [rare paths](World::rare_paths) of the runtime is taken often.
pub struct World {
    pub(super) stage: Arc<Stage>,
    pub(super) nodes: Vec<NodeState>,
    pub(super) roster: Roster,
    pub(super) checks: Checks,
    pub(super) options: Options,
    pub(super) reactor: Reactor,
    pub(super) buggifier: Buggifier,
    /// Looks on message by message, once a test has asked for that.
    pub(super) spectator: Option<Spectator>,
    /// Faults that rage.
    pub(super) storms: Vec<Storm>,
    chooser: Chooser,
    /// Those who have crashed, of which nodes, to be buried with the world.
    pub(super) graves: Vec<(usize, Incarnation)>,
    /// Tasks of those.
    pub(super) remains: Vec<Task>,
    steps: u64,
    /// When the next slow node is through with what it does.
    pub(super) next_done: u64,
    /// Up to which tick timers have been looked at.
    tick: u64,
    scratch: Vec<usize>,
}

/// What a step was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// The turn of the future that [`World::run`] was given; it is the caller's to poll.
    Main,
    Other,
    /// Nobody could run until the given time.
    Quiet,
}

impl World {
    /// A world whose choices follow from `seed` alone. If it fails, the panic says what and when; by
    /// [`Explore`](super::Explore) a failure is made small, too, and written out with its log and trace.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self::with(Source::Seed(seed), Options { seed: Some(seed), ..Options::default() })
    }

    pub(super) fn with(source: Source, options: Options) -> Self {
        let stage = Arc::new(Stage::new(source, &options));
        let chooser = stage.chooser();
        Self {
            nodes: Vec::new(),
            roster: Roster::new(),
            checks: Checks::default(),
            reactor: Reactor::new(&stage.woken),
            chooser,
            buggifier: buggifier(&stage),
            spectator: None,
            storms: Vec::new(),
            graves: Vec::new(),
            remains: Vec::new(),
            steps: 0,
            next_done: u64::MAX,
            tick: 0,
            scratch: Vec::new(),
            options,
            stage,
        }
    }

    /// Begins a node of that name; [`Setup::start`] starts it.
    pub fn node(&mut self, name: impl Into<String>) -> Setup<'_> {
        Setup::new(self, name.into())
    }

    /// Lets a task run in the world, beside the nodes: a client, or whoever breaks things.
    pub fn spawn(&mut self, task: impl Future<Output = ()> + 'static) {
        let number = self.roster.add(Work::Task(Some(Box::pin(task)), None));
        self.roster.make_ready(number);
    }

    /// How long the world has existed, by its own time.
    #[must_use]
    pub fn now(&self) -> Duration {
        Duration::from_nanos(self.stage.now())
    }

    /// Steps so far.
    #[must_use]
    pub const fn steps(&self) -> u64 {
        self.steps
    }

    /// The hash of all choices, of who ran when and how many messages it was handed, of what nodes were told and have
    /// stored, of marks, and of what became of each packet: two runs with one hash were the same.
    #[must_use]
    pub fn trace_hash(&self) -> u64 {
        self.stage.choose(|choices| choices.hash())
    }

    /// The rule by which it is chosen who runs next.
    #[must_use]
    pub fn policy(&self) -> super::Policy {
        self.stage.policy()
    }

    /// A clock and timer for tasks of the world.
    #[must_use]
    pub fn clock(&self) -> super::WorldClock {
        super::WorldClock::new(self.stage.clone())
    }

    /// Chooses a number below `count`, from the stream that all of the world's choices come from.
    #[must_use]
    pub fn pick(&self, count: usize) -> usize {
        self.stage.choose(|choices| choices.pick(USER, count))
    }

    /// Chooses whether something happens, `per_mille` times of a thousand, from the same stream. Where every path is
    /// tried, both are, unless `per_mille` is zero or a thousand.
    #[must_use]
    pub fn chance(&self, per_mille: u16) -> bool {
        self.stage.choose(|choices| choices.chance(USER, per_mille.into(), 1000))
    }

    /// Chooses a number of `range`, from the same stream; the start of a range that is empty.
    #[must_use]
    pub fn range(&self, range: Range<usize>) -> usize {
        range.start + self.pick(range.end.saturating_sub(range.start))
    }

    /// Does what can be done next before `until`.
    pub(super) fn step(&mut self, until: u64) -> Step {
        self.obey();
        self.deliver();
        if self.stage.now() >= self.next_done {
            self.end_slow_turns();
        }
        self.take_woken();
        if self.roster.is_quiet() && !self.reactor.has_work() {
            return self.jump(until);
        }
        if self.reactor.has_work() {
            self.roster.make_ready(Roster::REACTOR);
        }
        let (chooser, roster, now) = (&mut self.chooser, &mut self.roster, self.stage.now());
        let (place, cost) = self.stage.choose(|choices| {
            let place = chooser.choose(roster.ready(), choices);
            let who = roster.ready().nth(place).unwrap_or(0);
            choices.fold(NOW, now);
            choices.fold(STEP, planted!("sim-step-untraced": who => 0));
            (place, STEP_NANOS + choices.noise(COST, STEP_NANOS))
        });
        let number = self.roster.take(place);
        if number != Roster::REACTOR {
            self.reactor.note_step_of_another(self.stage.now());
        }
        self.steps += 1;
        if self.steps > self.options.steps_max {
            self.fail(Failure::endless(self.steps - 1, self.options.hint(), &self.describe()));
        }
        let rarely = if buggify(Rare::SlowTurn) { SLOW } else { 1 };
        let cost = cost * rarely;
        self.move_to(self.stage.now().saturating_add(cost));
        if number == Roster::MAIN {
            return Step::Main;
        }
        if self.takes_longer(number, cost) {
            return Step::Other;
        }
        self.perform(number);
        self.after_step();
        Step::Other
    }

    fn perform(&mut self, number: usize) {
        match self.roster.work(number) {
            Work::Main | Work::Gone => {}
            Work::Reactor => self.reactor.run(),
            Work::Worker { node, index } => {
                let (node, index) = (*node, *index);
                self.turn(number, node, index);
            }
            Work::Beside(node) => {
                let life = self.nodes[*node].life.as_ref();
                if life.is_some_and(Incarnation::let_one_in) {
                    self.roster.make_ready(number);
                }
            }
            Work::Task(task, _) => {
                let Some(mut task) = task.take() else { return };
                let waker = self.stage.woken.waker(number);
                let polled = task.as_mut().poll(&mut Context::from_waker(&waker));
                match self.roster.work(number) {
                    Work::Task(place, _) if polled.is_pending() => *place = Some(task),
                    work => *work = Work::Gone,
                }
            }
        }
    }

    fn turn(&mut self, number: usize, node: usize, index: usize) {
        let is_seen = self.spectator.is_some();
        self.survey(Origin::Outside);
        let manner = self.stage.choose(|choices| Manner {
            late: choices.noise(LATE, LATE_ONE_IN) == LATE_ONE_IN - 1,
            nests: choices.noise(NEST, 2) == 1 && !is_seen,
            is_seen,
        });
        let Some(life) = &mut self.nodes[node].life else { return };
        let handled = Cell::new(0);
        let onlooker = Onlooker { handled: &handled, spectator: self.spectator.as_ref() };
        let took = life.turn(index, manner, onlooker);
        if let Took::Turn(actor) = took {
            self.roster.make_ready(number);
            if let (Some(actor), Some(life)) = (actor, &self.nodes[node].life) {
                self.survey_after(life, actor);
            }
            let actor = actor.unwrap_or(0);
            self.stage.choose(|choices| {
                choices.fold(TURN, actor);
                choices.fold(HANDLED, handled.get());
            });
            if self.stage.logs() && actor != 0 {
                let name = &self.nodes[node].name;
                self.stage.log(|| format!("{name}: worker {index} runs actor {actor}"));
            }
        }
        self.look_at(node);
    }

    /// Reads what a node's system reports.
    fn look_at(&mut self, node: usize) {
        let state = &mut self.nodes[node];
        let Some(life) = &mut state.life else { return };
        let name = &state.name;
        let log = |event: &Event| self.stage.log(|| format!("{name}: {event:?}"));
        let log: Option<&dyn Fn(&Event)> = if self.stage.logs() { Some(&log) } else { None };
        if let Some(text) = life.look(log)
            && !self.options.panics_allowed
        {
            let text = format!("{name}: {text}");
            self.fail(Failure::new(PANICKED, text));
        }
    }

    /// Fails if another thread took part.
    pub(super) fn refuse_outsiders(&mut self) {
        if let Some(who) = self.stage.woken.outsider() {
            let text = format!(
                "{who}: what other threads wake or send, no seed repeats; let `cx.blocking` do what blocks, and \
                 `world.spawn` or `node.spawn` what goes on beside the actors"
            );
            self.fail(Failure::new("another thread takes part", text));
        }
    }

    /// Fails if an actor has panicked and nothing has told how.
    pub(super) fn settle_panics(&mut self) {
        let nodes = self.nodes.iter().enumerate();
        let lives = nodes.filter_map(|(node, state)| Some((node, state.life.as_ref()?)));
        // Whoever has panicked may have been the last of its node, which is down by now.
        let mut all = lives.chain(self.graves.iter().map(|(node, life)| (*node, life)));
        if let Some((node, _)) = all.find(|(_, life)| life.owes_panic())
            && !self.options.panics_allowed
        {
            let text = format!("{}: a handler or hook", self.nodes[node].name);
            self.fail(Failure::new(PANICKED, text));
        }
    }

    pub(super) fn after_step(&mut self) {
        self.refuse_outsiders();
        if let Err(failure) = self.checks.look(self.stage.now()) {
            self.fail(self.explained(failure));
        }
    }

    /// Moves on to where something happens before `until`.
    fn jump(&mut self, until: u64) -> Step {
        let now = self.stage.now();
        let nodes = self.nodes.iter().filter_map(|node| node.next_alarm(now));
        let others = [
            self.stage.next_sleeper(),
            self.stage.fabric.lock().next_arrival(),
            // Or the jump would hide whether it had come by then.
            self.checks.next_due(now),
            Some(self.next_done),
        ];
        // Who waits without end waits for nothing.
        let next = nodes.chain(others.into_iter().flatten()).filter(|&at| at < u64::MAX).min();
        let next = self.reactor.next(now, next, until);
        match next.filter(|&next| next <= until) {
            Some(next) => {
                self.move_to(next.max(now));
                self.look_at_timers();
                self.after_step();
                Step::Other
            }
            None => {
                self.refuse_outsiders();
                self.settle_panics();
                Step::Quiet
            }
        }
    }

    /// Sets all clocks to `now`.
    pub(super) fn move_to(&mut self, now: u64) {
        self.stage.set_now(now);
        for node in &self.nodes {
            node.set_clock(now);
        }
        if now / TICK_NANOS != self.tick {
            self.look_at_timers();
        }
    }

    pub(super) fn look_at_timers(&mut self) {
        let now = self.stage.now();
        self.tick = now / TICK_NANOS;
        let woken = &self.stage.woken;
        for node in self.nodes.iter_mut().filter(|node| !node.condition.paused) {
            let local = node.skew.at(now);
            if let Some(life) = &mut node.life {
                life.fire(local, |number| woken.add(number));
            }
        }
        self.stage.wake_sleepers();
        self.reactor.move_to(now);
    }

    /// Hands out the packets that have arrived.
    fn deliver(&mut self) {
        loop {
            let arrival = self.stage.fabric.lock().arrive(self.stage.now());
            let Some(Arrival { to, len, dropped, reader }) = arrival else { return };
            self.stage.log(|| match dropped {
                None => format!("{len} bytes arrive at {to}"),
                Some(why) => format!("{len} bytes arrive at {to} and are dropped: {why:?}"),
            });
            self.stage.choose(|choices| course::arrived(to, len, dropped, choices));
            if let Some(reader) = reader {
                reader.wake();
            }
        }
    }

    fn take_woken(&mut self) {
        let mut woken = std::mem::take(&mut self.scratch);
        self.stage.woken.take_into(&mut woken);
        for number in woken.drain(..) {
            let work = self.roster.work(number);
            match work.node() {
                Some(node) if self.nodes[node].holds(number) => self.nodes[node].held.push(number),
                _ if matches!(work, Work::Gone) => {}
                _ => self.roster.make_ready(number),
            }
        }
        self.scratch = woken;
    }

    /// What everybody waits for.
    pub(super) fn describe(&self) -> String {
        let mut text = String::new();
        for node in &self.nodes {
            text += &node.describe();
        }
        text + &self.roster.describe(|node| self.nodes[node].name.as_str())
    }

    /// Ends the run.
    pub(super) fn fail(&mut self, failure: Failure) -> ! {
        self.checks.over = true;
        let failure = Failure { at: self.now(), seed: self.options.seed, ..failure };
        self.stage.log(|| failure.to_string());
        if self.options.quiet {
            // Who tries many worlds reports the failure itself.
            resume_unwind(Box::new(failure));
        }
        panic!("{failure}");
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let is_open = !self.checks.over && !crate::sync::thread::panicking();
        // The world is buried, whatever comes of it.
        let looked = catch_unwind(AssertUnwindSafe(|| {
            let now = self.stage.now();
            let looked = if is_open { self.checks.look_at_end(now) } else { Ok(()) };
            looked.map_err(|failure| self.explained(failure))
        }));
        self.stage.ended.store(true, Ordering::Relaxed);
        // Or what they have would keep the world.
        let rules = self.stage.fabric.lock().take_all_rules();
        drop(rules);
        let reactor = self.reactor.handle();
        let _inside = reactor.enter();
        for face in self.stage.faces.lock().iter_mut() {
            face.system = None;
        }
        self.roster.end();
        self.remains.clear();
        let given = std::mem::take(&mut *self.stage.given.lock());
        drop(given);
        let lives = self.nodes.iter_mut().filter_map(|node| node.life.take());
        let mut lives: Vec<_> = lives.chain(self.graves.drain(..).map(|(_, life)| life)).collect();
        // All before the first look: an actor of one may have a timer of another's.
        lives.iter_mut().for_each(Incarnation::bury);
        let left: Vec<_> = lives.iter().flat_map(Incarnation::leftovers).collect();
        drop(lives);
        match looked {
            Ok(Ok(())) => {}
            Ok(Err(missed)) => self.fail(missed),
            Err(payload) => resume_unwind(payload),
        }
        if !left.is_empty() && !crate::sync::thread::panicking() {
            self.fail(Failure::new("something outlives the world", left.join("\n")));
        }
    }
}

impl fmt::Debug for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("World")
            .field("now", &self.now())
            .field("steps", &self.steps)
            .finish_non_exhaustive()
    }
}
