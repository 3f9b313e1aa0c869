//! Where in its life an actor is, and how its incarnation ends.

use super::body::control;
use crate::event::ExitReason;
use crate::task::held::Held as Token;

/// Where in its life an actor is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Phase {
    /// The start hook is to run, or runs.
    Starting,
    /// Messages are handled.
    Running,
    /// The children are told to stop, and waited for; then the stop hook is to run.
    Children,
    /// After the stop hook the tasks are to be dropped, then the state, and what follows is decided.
    Cleanup,
    /// The incarnation is over; whether there is another one is the supervisor's to say.
    Held,
    /// The supervisor wants another incarnation.
    Reviving,
    /// The next incarnation waits for its time.
    Backoff,
    /// There is no state until there is mail; see [`dormancy`](super::dormancy).
    Dormant,
    /// Everybody is to be told.
    Burial,
}

impl Phase {
    pub(super) fn of(held: &mut Token) -> Self {
        use Phase::{
            Backoff, Burial, Children, Cleanup, Dormant, Held, Reviving, Running, Starting,
        };
        const ALL: [Phase; 9] =
            [Starting, Running, Children, Cleanup, Held, Reviving, Backoff, Dormant, Burial];
        ALL[usize::from(held.owner().life.phase)]
    }
}

/// Whether there is an incarnation, be it one that starts or ends.
pub(super) fn has_incarnation(held: &mut Token) -> bool {
    use Phase::{Backoff, Burial, Dormant, Held, Reviving};
    !matches!(Phase::of(held), Held | Reviving | Backoff | Dormant | Burial)
}

/// Moves the actor on.
pub(super) fn enter(held: &mut Token, phase: Phase) {
    let owner = held.owner();
    owner.life.phase = phase as u8;
    owner.running = phase == Phase::Running && owner.life.attended == 0;
}

/// How an incarnation ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Ending {
    /// It does not.
    None,
    /// The actor stops itself.
    Own,
    /// It was asked to stop.
    Stopped,
    /// It was asked to handle its mail and stop.
    Drained,
    /// It was killed.
    Killed,
    /// Its supervisor restarts it.
    Restarted,
    /// It failed; why is in the extras.
    Failed,
}

impl Ending {
    pub(super) fn of(held: &mut Token) -> Self {
        const ALL: [Ending; 7] = [
            Ending::None,
            Ending::Own,
            Ending::Stopped,
            Ending::Drained,
            Ending::Killed,
            Ending::Restarted,
            Ending::Failed,
        ];
        ALL[usize::from(held.owner().life.ending)]
    }
}

/// Why the incarnation ends, as others are told it.
pub(super) fn reason(held: &mut Token) -> &ExitReason {
    match Ending::of(held) {
        Ending::None | Ending::Own | Ending::Stopped => &ExitReason::Stopped,
        Ending::Drained => &ExitReason::Drained,
        Ending::Killed => &ExitReason::Killed,
        Ending::Restarted => &ExitReason::Restarted,
        Ending::Failed => {
            let extras = control(held).extras.as_ref();
            extras.and_then(|extras| extras.failure.as_ref()).unwrap_or(&ExitReason::Stopped)
        }
    }
}

/// As [`reason`], of the last incarnation, when nobody asks again.
pub(super) fn take_reason(held: &mut Token) -> ExitReason {
    match Ending::of(held) {
        Ending::Failed => {
            let extras = control(held).extras.as_mut();
            extras.and_then(|extras| extras.failure.take()).unwrap_or(ExitReason::Stopped)
        }
        // Not by way of a reference: to copy one that is known needs no code that knows them all.
        Ending::None | Ending::Own | Ending::Stopped => ExitReason::Stopped,
        Ending::Drained => ExitReason::Drained,
        Ending::Killed => ExitReason::Killed,
        Ending::Restarted => ExitReason::Restarted,
    }
}
