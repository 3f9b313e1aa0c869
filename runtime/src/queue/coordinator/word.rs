//! A mailbox's word: generation, number of its last hold, and phase.

use super::InvokeResult;

/// Where a mailbox stands; see the module of the coordinator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Idle,
    Queued,
    Cancelled,
    Running,
    Noted,
    Suspended,
    Retrying,
}

impl Phase {
    /// Whether it is not to run until its time has come, or it is resumed.
    pub(super) const fn is_held(self) -> bool {
        matches!(self, Self::Suspended | Self::Retrying)
    }
}

const PHASES: [Phase; 8] = [
    Phase::Idle,
    Phase::Queued,
    Phase::Cancelled,
    Phase::Running,
    Phase::Noted,
    Phase::Suspended,
    Phase::Retrying,
    // No word has this one.
    Phase::Idle,
];

const PHASE_MASK: u64 = 7;
const HOLD: u64 = PHASE_MASK + 1;
const GENERATION: u64 = 1 << 32;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Word(pub(super) u64);

impl Word {
    /// Idle, of generation zero.
    pub(super) const FIRST: Self = Self(0);

    #[inline(always)]
    pub(super) const fn phase(self) -> Phase {
        PHASES[(self.0 & PHASE_MASK) as usize]
    }

    #[inline(always)]
    pub(super) const fn generation(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// The same mailbox in another phase.
    #[inline(always)]
    pub(super) const fn at(self, phase: Phase) -> Self {
        Self(self.0 & !PHASE_MASK | phase as u64)
    }

    /// What follows a run.
    #[inline]
    pub(super) fn after(self, result: InvokeResult, noted: bool) -> Self {
        match result {
            InvokeResult::Completed { ready_hint: true } | InvokeResult::Yielded => {
                self.at(Phase::Queued)
            }
            InvokeResult::Suspended { .. } => self.next_hold(Phase::Suspended),
            InvokeResult::Failed { retry_after: Some(_) } => self.next_hold(Phase::Retrying),
            InvokeResult::Stopped => Self(self.0.wrapping_add(GENERATION)).at(Phase::Idle),
            InvokeResult::Completed { ready_hint: false }
            | InvokeResult::Failed { retry_after: None } => {
                self.at(if noted { Phase::Queued } else { Phase::Idle })
            }
        }
    }

    /// Held, which has a number of its own.
    const fn next_hold(self, phase: Phase) -> Self {
        let holds = self.0.wrapping_add(HOLD) & (GENERATION - 1);
        Self(self.0 & !(GENERATION - 1) | holds).at(phase)
    }
}
