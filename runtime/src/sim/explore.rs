//! The same scenario in many worlds, until one of them fails.

use super::capture::Capture;
use super::check::{Failure, SCENARIO_PANICKED};
use super::choice::{Choices, Label, Path, Source, Traced};
use super::fabric::nanos;
use super::options::Options;
use super::parting::Parting;
use super::policy::Policy;
use super::report::{self, Report};
use super::shrink::shrink;
use super::world::World;
use crate::sync::panic::describe;
use std::any::Any;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What happened, beside the choices.
const ENDED: Label = Label::new("ended at");

/// Worlds that a test goes through unless it says otherwise.
const SEEDS: u64 = 100;
/// Steps of a world at most, unless it is told otherwise: as many as a failure can be shown of, with a log and a trace that
/// have several lines for each.
const STEPS_MAX: u64 = 1_000_000;
/// Worlds tried at most to make a failure smaller.
const SHRINKING_MAX: usize = 400;
/// Steps of all of them after which no more are tried: long worlds are not made as small as short ones.
const SHRINKING_STEPS_MAX: u64 = 2_000_000;
/// Traced runs at most until one parts from the first of them.
const TRACED_MAX: usize = 8;

/// Runs a scenario in many worlds, each with choices of its own.
///
/// The first world that fails ends it: the failing choices are made as few and as dull as possible, and
/// the panic says what went wrong, of which commit, which command repeats it, and where the choices, the log,
/// the trace and the packets were written to. Where the same choices do not lead there again, it says
/// instead where two runs part. In the environment, `GREENROOM_SEEDS` sets the number of worlds, `GREENROOM_SEED` asks
/// for a single one, `GREENROOM_CHOICES` names a file of choices to repeat, and `GREENROOM_SIM_DIR` a folder for what
/// is written.
///
/// ```
/// use greenroom::sim::Explore;
/// use greenroom::{Actor, handlers};
///
/// #[derive(Actor)]
/// struct Greeter;
///
/// #[handlers]
/// impl Greeter {
///     #[ask]
///     fn greet(&self) -> &'static str {
///         "hello"
///     }
/// }
///
/// let explored = Explore::new().seeds(20).run(|world| {
///     let node = world.node("one").start();
///     let greeting = world.run(async {
///         let greeter = node.system().spawn::<Greeter>(Greeter).await.unwrap();
///         greeter.greet().await
///     });
///     assert_eq!(greeting, Ok("hello"));
/// });
/// assert_eq!(explored.worlds, 20);
/// ```
#[derive(Clone, Debug)]
#[must_use = "nothing runs before `run`"]
pub struct Explore {
    choices: Choosing,
    options: Options,
    /// Whether each world is run twice.
    twice: bool,
    /// Whether it may end before every choice was tried.
    incomplete_allowed: bool,
}

#[derive(Clone, Debug)]
enum Choosing {
    Seeds { first: u64, count: u64 },
    Every { worlds_max: u64 },
    Bytes(Vec<u8>),
}

/// What a scenario was run in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Explored {
    /// Worlds.
    pub worlds: u64,
    /// Steps of all of them.
    pub steps: u64,
    /// A hash of all their traces: the same scenario and seeds give the same one in every process.
    pub trace_hash: u64,
    /// Whether every choice there is was tried, of a run that was to; of others it is `false`.
    pub complete: bool,
}

/// One world, afterwards.
pub(super) struct Attempt {
    pub(super) failure: Option<Failure>,
    pub(super) record: Vec<u64>,
    pub(super) log: Vec<String>,
    pub(super) trace: Vec<Traced>,
    pub(super) capture: Option<Capture>,
    hash: u64,
    steps: u64,
    marks: BTreeMap<String, u64>,
    path: Option<Path>,
}

impl Default for Explore {
    fn default() -> Self {
        Self::new()
    }
}

impl Explore {
    /// A hundred seeds, or as many as the environment says.
    pub fn new() -> Self {
        let options = Options { quiet: true, steps_max: STEPS_MAX, ..Options::default() };
        let choices = Choosing::Seeds { first: 0, count: SEEDS };
        Self { choices, options, twice: false, incomplete_allowed: false }
    }

    /// Sets how many seeds to try, unless the environment does.
    pub fn seeds(mut self, count: u64) -> Self {
        self.choices = Choosing::Seeds { first: 0, count };
        self
    }

    /// Tries every way in which choices can fall: for small scenarios, which it checks completely. It fails if there are
    /// more than `worlds_max`, unless [`Explore::allow_incomplete`] says otherwise. What only spreads out times is not
    /// varied, nor in which order actors are dropped when the world ends, and each turn handles one message.
    pub fn every_choice(mut self, worlds_max: u64) -> Self {
        self.choices = Choosing::Every { worlds_max };
        self.options.policy = Some(Policy::Random);
        self
    }

    /// Lets [`Explore::every_choice`] give up after its last world. [`Explored::complete`] says whether it has tried all.
    pub fn allow_incomplete(mut self) -> Self {
        self.incomplete_allowed = true;
        self
    }

    /// Takes the choices of one world from `bytes`, for a fuzzer: one for each choice between up to 256 outcomes, two
    /// between up to 65,536, and so on; zeros when they are used up, for the dullest outcome.
    pub fn bytes(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.choices = Choosing::Bytes(bytes.into());
        self
    }

    /// Sets by which rule it is chosen who runs next; otherwise each world draws one. Set after [`Explore::every_choice`],
    /// which takes [`Policy::Random`], it leaves those orders untried that the rule does not choose.
    pub fn policy(mut self, policy: Policy) -> Self {
        self.options.policy = Some(policy);
        self
    }

    /// Sets how many steps a world may take; by default a million.
    pub fn steps_max(mut self, steps: u64) -> Self {
        self.options.steps_max = steps;
        self
    }

    /// Runs each world twice, and fails where the second run goes another way than the first: something in
    /// the scenario does not come from the world, such as the real clock or the order of a `HashMap`. The
    /// panic names the first line of the trace that is not the same.
    pub fn twice(mut self) -> Self {
        self.twice = true;
        self
    }

    /// Lets actors panic. Otherwise a world in which one does has failed.
    pub fn allow_panics(mut self) -> Self {
        self.options.panics_allowed = true;
        self
    }

    /// Runs `scenario` in one world after the other.
    ///
    /// # Panics
    /// When a world fails, when none of them passed some mark of [`World::sometimes`] (but for [`Explore::bytes`], where
    /// there is only one), when there are more choices than [`Explore::every_choice`] may try, or when
    /// [`Explore::seeds`] or [`Explore::every_choice`] were told to try no world.
    pub fn run(&self, scenario: impl Fn(&mut World)) -> Explored {
        let mut explored = Explored::default();
        let mut marks = BTreeMap::new();
        if let Some(source) = report::asked_for() {
            let options = self.options_of(&source);
            let attempt = attempt(source, &Options { logs: true, ..options.clone() }, &scenario);
            self.take(attempt, &options, &scenario, &mut explored, &mut marks);
            return explored;
        }
        match &self.choices {
            Choosing::Seeds { first, count } => {
                assert!(*count > 0, "`seeds(0)`: there would be no world");
                let count = report::seeds().unwrap_or(*count);
                for seed in *first..first.saturating_add(count) {
                    self.one(Source::Seed(seed), &scenario, &mut explored, &mut marks);
                }
            }
            Choosing::Every { worlds_max } => {
                assert!(*worlds_max > 0, "`every_choice(0)`: there would be no world");
                let mut path = Path::default();
                while explored.worlds < *worlds_max && !explored.complete {
                    let source = Source::Path(std::mem::take(&mut path));
                    let taken = self.one(source, &scenario, &mut explored, &mut marks);
                    path = taken.unwrap_or_default();
                    explored.complete = !path.advance();
                }
                assert!(
                    explored.complete || self.incomplete_allowed,
                    "there are more than {worlds_max} worlds, so not every choice was tried; allow more to \
                     `every_choice`, or use `allow_incomplete`"
                );
            }
            Choosing::Bytes(bytes) => {
                self.one(Source::Bytes(bytes.clone()), &scenario, &mut explored, &mut marks);
                // One world need not pass every mark.
                return explored;
            }
        }
        let missed: Vec<_> = marks.iter().filter(|(_, passed)| **passed == 0).collect();
        assert!(
            missed.is_empty(),
            "in no world: {missed:?}; so this does not test what it seems to"
        );
        explored
    }

    /// The options of a world, and of those that repeat it.
    fn options_of(&self, source: &Source) -> Options {
        let seed = if let Source::Seed(seed) = source { Some(*seed) } else { None };
        let tries_all = matches!(self.choices, Choosing::Every { .. });
        Options { seed, tries_all, ..self.options.clone() }
    }

    /// Runs one world.
    fn one(
        &self,
        source: Source,
        scenario: &impl Fn(&mut World),
        explored: &mut Explored,
        marks: &mut BTreeMap<String, u64>,
    ) -> Option<Path> {
        let options = self.options_of(&source);
        let attempt = attempt(source, &options, scenario);
        self.take(attempt, &options, scenario, explored, marks)
    }

    fn take(
        &self,
        attempt: Attempt,
        options: &Options,
        scenario: &impl Fn(&mut World),
        explored: &mut Explored,
        marks: &mut BTreeMap<String, u64>,
    ) -> Option<Path> {
        if attempt.failure.is_some() || self.twice {
            self.judge(&attempt, options, scenario);
        }
        explored.worlds += 1;
        explored.steps += attempt.steps;
        explored.trace_hash =
            (explored.trace_hash ^ attempt.hash).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        for (mark, passed) in attempt.marks {
            *marks.entry(mark).or_default() += passed;
        }
        attempt.path
    }

    /// Reports a failure, or that a run does not repeat. A failure that does is made smaller first.
    fn judge(&self, attempt: &Attempt, options: &Options, scenario: &impl Fn(&mut World)) {
        let shown = Options { logs: true, ..options.clone() };
        let chosen = attempt.record.len();
        let parting = parting(attempt, options, scenario);
        let (failure, record) = match (&attempt.failure, &parting) {
            (None, None) => return,
            (None, Some(parting)) => {
                let failure = Failure::new("the run does not repeat", parting.to_string());
                let failure = Failure { seed: options.seed, ..failure };
                (&failure.clone(), attempt.record.clone())
            }
            (Some(failure), Some(_)) => (failure, attempt.record.clone()),
            (Some(failure), None) => {
                (failure, smaller(attempt.record.clone(), &failure.key(), options, scenario))
            }
        };
        let attempt = attempt_record(&record, &shown, scenario);
        panic!("{}", Report { failure, attempt, chosen, parting, seed: options.seed }.write());
    }
}

/// A smaller record that fails in the same way.
fn smaller(
    record: Vec<u64>,
    key: &str,
    options: &Options,
    scenario: &impl Fn(&mut World),
) -> Vec<u64> {
    let mut steps = 0;
    shrink(record, SHRINKING_MAX, |record| {
        if steps > SHRINKING_STEPS_MAX {
            return None;
        }
        let attempt = attempt_record(record, options, scenario);
        steps += attempt.steps;
        let fails = attempt.failure.is_some_and(|failure| failure.key() == key);
        fails.then_some(attempt.record)
    })
}

/// How a run parts from one of the same choices, if it does.
fn parting(
    attempt: &Attempt,
    options: &Options,
    scenario: &impl Fn(&mut World),
) -> Option<Parting> {
    let record = &attempt.record;
    let again = attempt_record(record, options, scenario);
    if again.hash == attempt.hash {
        // A failure that does not come again is told of where it is made smaller.
        let key = attempt.failure.as_ref().map(Failure::key);
        let failure = again.failure.filter(|again| key != Some(again.key()));
        return failure.map(|failure| Parting::Failed(failure.to_string()));
    }
    let traced = Options { logs: true, ..options.clone() };
    let first = attempt_record(record, &traced, scenario);
    let others = (0..TRACED_MAX).map(|_| attempt_record(record, &traced, scenario));
    let parting = others.into_iter().find_map(|other| Parting::of(&first.trace, &other.trace));
    Some(parting.unwrap_or(Parting::First))
}

fn attempt_record(record: &[u64], options: &Options, scenario: &impl Fn(&mut World)) -> Attempt {
    attempt(Source::Record(record.to_vec()), options, scenario)
}

fn attempt(source: Source, options: &Options, scenario: &impl Fn(&mut World)) -> Attempt {
    let mut world = World::with(source, options.clone());
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        scenario(&mut world);
        world.finish();
    }));
    // One failure is enough.
    world.checks.over = true;
    let at = world.now();
    world.stage.choose(|choices| choices.fold(ENDED, nanos(at)));
    let failure = |payload: Box<dyn Any + Send>| match payload.downcast::<Failure>() {
        Ok(failure) => *failure,
        Err(payload) => {
            let failure = Failure::new(SCENARIO_PANICKED, describe(payload));
            Failure { at, seed: options.seed, ..failure }
        }
    };
    let steps = world.steps();
    let hash = world.trace_hash();
    let marks = std::mem::take(&mut world.checks.marks);
    let stage = world.stage.clone();
    let capture = stage.fabric.lock().take_capture();
    // What follows is a burial, whose orders are not tried.
    let path = stage.choose(Choices::take_path);
    let trace = stage.choose(Choices::take_trace);
    // Which fails where something is left of it.
    let outcome = outcome.and(catch_unwind(AssertUnwindSafe(|| drop(world))));
    // In which order actors are buried is chosen, too.
    let record = stage.choose(|choices| choices.record().to_vec());
    let log = stage.take_log();
    let failure = outcome.err().map(failure);
    Attempt { failure, record, log, trace, capture, hash, steps, marks, path }
}
