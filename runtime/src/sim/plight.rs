//! How a node is: as a test has told it to be, and as storms have made it beside that. A storm ends only what it has
//! begun itself; what a test says ends what storms have done to that before.

use crate::sync::planted;
use crate::time::Passing;
use std::mem::discriminant;
use std::time::Duration;

/// What a test has told a node, until it tells it otherwise.
#[derive(Clone, Copy, Debug)]
pub(super) struct Told {
    /// To be down.
    pub(super) down: bool,
    pub(super) paused: bool,
    /// How many times as long as it should everything takes.
    pub(super) slowness: u32,
    /// By how many millionths its clock is fast; it stands still, if `None`.
    pub(super) drift: Option<i32>,
}

impl Default for Told {
    fn default() -> Self {
        Self { down: false, paused: false, slowness: 1, drift: Some(0) }
    }
}

/// What a storm does to a node for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Plight {
    Pause,
    /// Everything takes so many times as long.
    Slow(u32),
    Freeze,
    /// Its clock is fast by so many millionths.
    Drift(i32),
}

/// What a storm does with a node.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Blow {
    Kill,
    Stop(Duration),
    /// Starts it again if its life is still this one, ended or about to, and no test wants it down.
    Revive(u64),
    /// Of each kind a storm begins one at a time: the next one takes the place of the one before.
    Begin(StormId, Plight),
    End(StormId, Plight),
}

/// Tells storms apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StormId(pub(super) usize);

/// What storms do to a node.
#[derive(Debug, Default)]
pub(super) struct Plights(Vec<(StormId, Plight)>);

impl Plights {
    pub(super) fn begin(&mut self, by: StormId, plight: Plight) {
        self.end(by, plight);
        self.0.push((by, plight));
    }

    pub(super) fn end(&mut self, by: StormId, plight: Plight) {
        let is_other = |other: Plight| discriminant(&other) != discriminant(&plight);
        self.0.retain(|&(other, of_other)| other != by || is_other(of_other));
    }

    /// Ends those that are of a kind, whichever storm has begun them.
    pub(super) fn end_all(&mut self, is_of_kind: impl Fn(Plight) -> bool) {
        self.0.retain(|&(_, plight)| !is_of_kind(plight));
    }

    /// Ends those that a node does not have any more when it has crashed.
    pub(super) fn crash(&mut self) {
        self.end_all(|plight| plight == Plight::Pause);
    }

    pub(super) fn heal(&mut self) {
        self.0.clear();
    }
}

/// What all of that comes to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Condition {
    pub(super) paused: bool,
    /// How many times as long as it should everything takes.
    pub(super) slowness: u64,
    /// As [`Told::drift`].
    pub(super) drift: Option<i32>,
}

impl Condition {
    /// How what its actors have begun beside themselves goes on.
    pub(super) fn passing(self) -> Passing {
        if self.paused {
            Passing::Nobody
        } else if self.slowness > 1 {
            planted!("sim-beside-fast": Passing::OneByOne => Passing::All)
        } else {
            Passing::All
        }
    }
}

impl Told {
    /// How the node is that was told this, in all these plights.
    pub(super) fn with(self, plights: &Plights) -> Condition {
        let Self { paused, slowness, drift, .. } = self;
        let mut condition = Condition { paused, slowness: slowness.into(), drift };
        for &(_, plight) in &plights.0 {
            match plight {
                Plight::Pause => condition.paused = true,
                Plight::Slow(times) => condition.slowness = condition.slowness.max(times.into()),
                Plight::Freeze => condition.drift = None,
                Plight::Drift(more) => {
                    condition.drift = condition.drift.map(|drift| drift.saturating_add(more));
                }
            }
        }
        condition
    }
}
