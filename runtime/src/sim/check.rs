//! What must hold in a world: at every step, some day, and at the end.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

pub(super) const PANICKED: &str = "an actor panicked";
pub(super) const SCENARIO_PANICKED: &str = "the scenario panicked";
const STALLED: &str = "the world stands still";
const LATE: &str = "not done in time";
const ENDLESS: &str = "too many steps";
/// What a line says of an actor that is in the middle of something.
const HANGS: &str = " inside ";

/// What went wrong in a world.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Failure {
    /// The kind of failure, or the check's name: the same for the same bug.
    pub(super) what: String,
    pub(super) text: String,
    pub(super) at: Duration,
    pub(super) seed: Option<u64>,
}

impl Failure {
    pub(super) fn new(what: impl Into<String>, text: impl Into<String>) -> Self {
        Self { what: what.into(), text: text.into(), at: Duration::ZERO, seed: None }
    }

    /// What is the same of the same bug: what failed, without numbers, which differ from run to run.
    pub(super) fn key(&self) -> String {
        let words =
            |text: &str| text.chars().filter(|letter| !letter.is_ascii_digit()).collect::<String>();
        let text = match self.what.as_str() {
            // What a panic says on further lines is what it is about.
            PANICKED | SCENARIO_PANICKED => words(&self.text),
            // Who hangs, in what, and waits for whom; however many of a kind, and whoever else is idle.
            STALLED | LATE | ENDLESS => {
                let hanging = self.text.lines().filter(|line| line.contains(HANGS));
                let hanging: BTreeSet<_> = hanging.map(|line| words(line.trim())).collect();
                Vec::from_iter(hanging).join("\n")
            }
            // Elsewhere they say who was where.
            _ => words(self.text.lines().next().unwrap_or_default()),
        };
        format!("{}: {text}", self.what)
    }

    /// Nobody can run, and nothing will change that: not even another thread, that a handler may have begun.
    pub(super) fn stall(graph: &str) -> Self {
        let hint = "where another thread was to wake somebody, `cx.blocking` is for its work";
        Self::new(STALLED, format!("who waits:\n{graph}  ({hint})"))
    }

    /// What was to be done is not, in time.
    pub(super) fn late(graph: &str) -> Self {
        Self::new(LATE, "").explained(graph)
    }

    /// There were so many steps, and more are not allowed; `hint` is behind that.
    pub(super) fn endless(steps: u64, hint: &str, graph: &str) -> Self {
        Self::new(ENDLESS, format!("more than {steps}{hint}")).explained(graph)
    }

    /// The same, and who waits; where it says more already, behind that.
    pub(super) fn explained(mut self, graph: &str) -> Self {
        if !self.text.is_empty() {
            self.text += "\n";
        }
        self.text += "who waits:\n";
        self.text += graph;
        self
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} after {:?}", self.what, self.at)?;
        if let Some(seed) = self.seed {
            write!(f, ", seed {seed}")?;
        }
        write!(f, ": {}", self.text)
    }
}

type Come = Box<dyn FnMut() -> bool>;
type Look = Box<dyn FnMut() -> Result<(), String>>;

/// A world's checks.
#[derive(Default)]
pub(super) struct Checks {
    always: Vec<(String, Look)>,
    at_end: Vec<(String, Look)>,
    /// Something that must have happened by then.
    due: Vec<(String, u64, Come)>,
    /// How often each mark was passed.
    pub(super) marks: BTreeMap<String, u64>,
    /// Whether nobody is to look any more: the run has ended, or failed.
    pub(super) over: bool,
}

impl Checks {
    pub(super) fn add_always(&mut self, name: String, look: Look) {
        self.always.push((name, look));
    }

    pub(super) fn add_at_end(&mut self, name: String, look: Look) {
        self.at_end.push((name, look));
    }

    pub(super) fn add_due(&mut self, name: String, due: u64, look: Come) {
        self.due.push((name, due, look));
    }

    /// Looks whether all is well at `now`.
    pub(super) fn look(&mut self, now: u64) -> Result<(), Failure> {
        for (name, look) in &mut self.always {
            look().map_err(|text| Failure::new(format!("always {name:?} is broken"), text))?;
        }
        self.look_at_due(now, |due| due < now)
    }

    /// The first time after `now` by which something must have happened.
    pub(super) fn next_due(&self, now: u64) -> Option<u64> {
        self.due.iter().map(|(_, due, _)| *due).filter(|&due| due > now).min()
    }

    /// Strikes out what has come by `now`, in time.
    pub(super) fn strike_out(&mut self, now: u64) {
        // What holds now, after it was due, was not so when it was looked at last.
        self.due.retain_mut(|(_, due, look)| *due < now || !look());
    }

    /// As [`Checks::strike_out`], and fails if anything `is_late` that has not come.
    fn look_at_due(&mut self, now: u64, is_late: impl Fn(u64) -> bool) -> Result<(), Failure> {
        self.strike_out(now);
        match self.due.iter().find(|(_, due, _)| is_late(*due)) {
            Some((name, ..)) => Err(Failure::new(format!("eventually {name:?} did not come"), "")),
            None => Ok(()),
        }
    }

    /// Looks whether all has ended well at `now`.
    pub(super) fn look_at_end(&mut self, now: u64) -> Result<(), Failure> {
        for (name, look) in &mut self.at_end {
            look().map_err(|text| Failure::new(format!("at the end {name:?} is broken"), text))?;
        }
        self.look_at_due(now, |_| true)
    }
}
