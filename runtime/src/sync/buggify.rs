//! The door to rare paths: a simulated world may ask the runtime to take one.
//!
//! What seldom happens on real threads (a queue that spills, a wake-up without a reason) is as legal as
//! what usually does, and less tested. A world makes it common, as FoundationDB's BUGGIFY does. Which
//! places there are is listed here; each is asked about under its name.
//!
//! Most places are in code that only worlds run: the worker whose turns are given by hand, and the wrapper
//! around its ready queue. The few in code that real workers run (`step late`, `back-off early`,
//! `room late`) are between an actor's messages or where a sender waits anyway, and cost a load of a
//! thread-local flag and a branch that is always the same. The path of a message has none.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// A place where a rare path can be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rare {
    /// A worker makes an actor ready in the queue that all share, not in its own.
    SpillEarly,
    /// An actor that was to run next goes behind the others.
    WakeLate,
    /// A worker finds nothing in its queue, so that others take what is there.
    StealAlways,
    /// Another number of workers runs actors, where that is not fixed.
    ChangeDuty,
    /// A worker of actors that live on it hands some over, whoever is busier.
    HandOver,
    /// A turn is over after one message.
    ShortTurn,
    /// A turn takes a thousand times as long.
    SlowTurn,
    /// An actor is woken for no reason after its turn, and its waiting handler is polled.
    PollAgain,
    /// A worker that has nothing to do looks again before it sleeps.
    StayAwake,
    /// A timer that is due goes off later.
    TimerLate,
    /// The next step of an actor that starts, restarts or ends comes after the others' turns.
    StepLate,
    /// A back-off ends as early as its jitter allows.
    BackoffEarly,
    /// A sender that has waited for room, and has it, gives way once more before it sends.
    RoomLate,
}

impl Rare {
    /// All of them.
    pub(crate) const ALL: [Self; 13] = [
        Self::SpillEarly,
        Self::WakeLate,
        Self::StealAlways,
        Self::ChangeDuty,
        Self::HandOver,
        Self::ShortTurn,
        Self::SlowTurn,
        Self::PollAgain,
        Self::StayAwake,
        Self::TimerLate,
        Self::StepLate,
        Self::BackoffEarly,
        Self::RoomLate,
    ];

    /// What it is called in reports.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::SpillEarly => "spill early",
            Self::WakeLate => "wake late",
            Self::StealAlways => "steal always",
            Self::ChangeDuty => "change duty",
            Self::HandOver => "hand over",
            Self::ShortTurn => "short turn",
            Self::SlowTurn => "slow turn",
            Self::PollAgain => "poll again",
            Self::StayAwake => "stay awake",
            Self::TimerLate => "timer late",
            Self::StepLate => "step late",
            Self::BackoffEarly => "back-off early",
            Self::RoomLate => "room late",
        }
    }
}

/// Says whether a rare path is to be taken.
pub(crate) type Buggifier = Rc<dyn Fn(Rare) -> bool>;

thread_local! {
    /// Whether the thread runs a world now.
    static IS_WORLD: Cell<bool> = const { Cell::new(false) };
    static BUGGIFIER: RefCell<Option<Buggifier>> = const { RefCell::new(None) };
}

/// Whether the rare path is to be taken; never outside of a simulated world.
#[inline]
pub(crate) fn buggify(rare: Rare) -> bool {
    IS_WORLD.get() && ask(rare)
}

#[cold]
fn ask(rare: Rare) -> bool {
    BUGGIFIER.with_borrow(|buggifier| buggifier.as_ref().is_some_and(|asked| asked(rare)))
}

/// Until it is dropped, the thread runs a world.
pub(crate) struct Buggified {
    /// The world inside which this one runs, if there is one.
    outer: Option<Buggifier>,
}

impl std::fmt::Debug for Buggified {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Buggified")
    }
}

impl Buggified {
    /// Lets `buggifier` decide.
    pub(crate) fn by(buggifier: &Buggifier) -> Self {
        IS_WORLD.set(true);
        Self { outer: BUGGIFIER.replace(Some(Rc::clone(buggifier))) }
    }
}

impl Drop for Buggified {
    fn drop(&mut self) {
        IS_WORLD.set(self.outer.is_some());
        BUGGIFIER.replace(self.outer.take());
    }
}
