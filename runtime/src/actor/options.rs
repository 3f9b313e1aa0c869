//! What an actor declares with `#[actor(…)]`.

use super::supervision::Shutdown;
use crate::mailbox::Mailbox;
use crate::task::Priority;
use std::time::Duration;

/// An actor's settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    mailbox: Mailbox,
    restart: Restart,
    priority: Priority,
    shutdown: Shutdown,
    distant: bool,
}

impl Options {
    /// An unbounded mailbox, no restart, normal priority, and five seconds to stop.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            mailbox: Mailbox::unbounded(),
            restart: Restart::never(),
            priority: Priority::Normal,
            shutdown: Shutdown::USUAL,
            distant: false,
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

    /// Sets how a supervisor stops the actor unless it says otherwise.
    #[must_use]
    pub const fn shutdown(mut self, shutdown: Shutdown) -> Self {
        self.shutdown = shutdown;
        self
    }

    /// Says that the actor stands for one of another node.
    #[cfg(feature = "net")]
    pub(crate) const fn distant(mut self) -> Self {
        self.distant = true;
        self
    }

    pub(super) const fn is_distant(&self) -> bool {
        self.distant
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

    /// How a supervisor stops the actor unless it says otherwise.
    #[must_use]
    pub const fn get_shutdown(&self) -> Shutdown {
        self.shutdown
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
    jitter_percent: u32,
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
        let (backoff_min, backoff_max) = (Duration::ZERO, Duration::ZERO);
        Self { kind, count_max, window, backoff_min, backoff_max, jitter_percent: 0 }
    }

    /// Waits between `min` and `max` before each restart; without this there is no wait.
    #[must_use]
    pub const fn backoff(mut self, min: Duration, max: Duration) -> Self {
        self.backoff_min = min;
        self.backoff_max = max;
        self
    }

    /// Shortens each wait by up to `percent` of it, at random, so that what failed together does not
    /// come back together. The numbers follow from the system's [seed](crate::Builder::seed).
    ///
    /// # Panics
    /// If `percent` is above 100.
    #[must_use]
    pub const fn jitter(mut self, percent: u32) -> Self {
        assert!(percent <= 100, "a wait cannot be shortened by more than itself");
        self.jitter_percent = percent;
        self
    }

    /// The same after other ends.
    pub(crate) const fn of_kind(mut self, kind: RestartKind) -> Self {
        self.kind = kind;
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

    /// The wait before restart number `nth` of the window, counted from zero; `draw` gives any number
    /// with the same chance, and is asked only where there is something to choose.
    pub(crate) fn delay(&self, nth: u32, draw: impl FnOnce() -> u64) -> Duration {
        let doubled = self.backoff_min.saturating_mul(1_u32.checked_shl(nth).unwrap_or(u32::MAX));
        let longest = doubled.min(self.backoff_max);
        let play = longest.as_nanos() * u128::from(self.jitter_percent) / 100;
        if play == 0 {
            return longest;
        }
        let share = u128::from(draw()) * (play + 1) / (u128::from(u64::MAX) + 1);
        let waited = longest.as_nanos() - share;
        Duration::from_nanos(u64::try_from(waited).unwrap_or(u64::MAX))
    }
}
