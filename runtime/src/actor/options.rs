//! What an actor declares with `#[actor(…)]`.

use crate::mailbox::Mailbox;
use crate::task::Priority;
use std::time::Duration;

/// An actor's settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    mailbox: Mailbox,
    restart: Restart,
    priority: Priority,
}

impl Options {
    /// An unbounded mailbox, no restart and normal priority.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            mailbox: Mailbox::unbounded(),
            restart: Restart::never(),
            priority: Priority::Normal,
        }
    }

    /// Sets the mailbox.
    #[must_use]
    pub const fn mailbox(mut self, mailbox: Mailbox) -> Self {
        self.mailbox = mailbox;
        self
    }

    /// Sets the restart policy.
    #[must_use]
    pub const fn restart(mut self, restart: Restart) -> Self {
        self.restart = restart;
        self
    }

    /// Sets the priority.
    #[must_use]
    pub const fn priority(mut self, priority: Priority) -> Self {
        self.priority = priority;
        self
    }

    /// The mailbox.
    #[must_use]
    pub const fn get_mailbox(&self) -> Mailbox {
        self.mailbox
    }

    /// The restart policy.
    #[must_use]
    pub const fn get_restart(&self) -> Restart {
        self.restart
    }

    /// The priority.
    #[must_use]
    pub const fn get_priority(&self) -> Priority {
        self.priority
    }
}

impl Default for Options {
    fn default() -> Self {
        Self::new()
    }
}

/// Which ends of an actor are followed by a restart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RestartKind {
    /// None.
    Never,
    /// Failures: panics, `fail`, errors of the start hook.
    Transient,
    /// Failures, and also stopping by itself.
    Permanent,
}

/// When an actor is started again in place, with its mail and its references.
///
/// `count` restarts within `window` are allowed; one more failure ends the actor with
/// [`ExitReason::TooManyRestarts`](crate::ExitReason::TooManyRestarts). Before a restart it waits: the
/// shortest back-off at first, twice as long for each further restart in the window, up to the longest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Restart {
    kind: RestartKind,
    count_max: u32,
    window: Duration,
    backoff_min: Duration,
    backoff_max: Duration,
}

impl Restart {
    /// No restart: the first failure is the end.
    #[must_use]
    pub const fn never() -> Self {
        Self::new(RestartKind::Never, 0, Duration::ZERO)
    }

    /// Restart after failures.
    #[must_use]
    pub const fn transient(count: u32, window: Duration) -> Self {
        Self::new(RestartKind::Transient, count, window)
    }

    /// Restart after failures, and after the actor stopped itself.
    #[must_use]
    pub const fn permanent(count: u32, window: Duration) -> Self {
        Self::new(RestartKind::Permanent, count, window)
    }

    const fn new(kind: RestartKind, count_max: u32, window: Duration) -> Self {
        Self { kind, count_max, window, backoff_min: Duration::ZERO, backoff_max: Duration::ZERO }
    }

    /// Waits between `min` and `max` before each restart; without this there is no wait.
    #[must_use]
    pub const fn backoff(mut self, min: Duration, max: Duration) -> Self {
        self.backoff_min = min;
        self.backoff_max = max;
        self
    }

    /// Which ends are followed by a restart.
    #[must_use]
    pub const fn kind(&self) -> RestartKind {
        self.kind
    }

    /// Restarts that are allowed within the window.
    #[must_use]
    pub const fn count_max(&self) -> u32 {
        self.count_max
    }

    /// The window that restarts are counted in.
    #[must_use]
    pub const fn window(&self) -> Duration {
        self.window
    }

    /// The wait before restart number `nth` of the window, counted from zero.
    pub(crate) fn delay(&self, nth: u32) -> Duration {
        self.backoff_min
            .saturating_mul(1_u32.checked_shl(nth).unwrap_or(u32::MAX))
            .min(self.backoff_max)
    }
}
