//! Expectations of what comes.

use crate::event::{DeadLetters, EventStream, Subscription};
use crate::system::System;
use std::collections::VecDeque;
use std::fmt;
use std::future::Future;
use std::panic::Location;
use std::time::Duration;

/// How long an expectation waits, unless it is told otherwise.
const DEADLINE: Duration = Duration::from_secs(5);
/// How many of the last things seen a failure lists.
const SEEN_MAX: usize = 20;

/// Where things come from, one after the other.
pub trait Source: Send {
    /// What comes.
    type Item: fmt::Debug + Send;

    /// Waits for the next; `None` when no more will come. Dropping the future loses nothing.
    fn next(&mut self) -> impl Future<Output = Option<Self::Item>> + Send;

    /// Takes the next if it is there.
    fn try_next(&mut self) -> Option<Self::Item>;

    /// How many it has left out, because too many waited.
    fn missed(&self) -> u64 {
        0
    }
}

impl<T: Clone + fmt::Debug + Send> Source for Subscription<T> {
    type Item = T;

    fn next(&mut self) -> impl Future<Output = Option<T>> + Send {
        Self::next(self)
    }

    fn try_next(&mut self) -> Option<T> {
        Self::try_next(self)
    }

    fn missed(&self) -> u64 {
        Self::missed(self)
    }
}

/// The messages that will not be handled, from now on.
#[must_use]
pub fn dead_letters(system: &System) -> Observer<DeadLetters> {
    Observer::new(system, system.dead_letters())
}

/// What happens to actors, from now on.
#[must_use]
pub fn events(system: &System) -> Observer<EventStream> {
    Observer::new(system, system.events())
}

/// Expects things of a [`Source`], in the order in which they come.
///
/// Each expectation waits for five seconds, or as long as [`Observer::within`] says, and then panics with
/// what was seen instead. The panic names the line that has the expectation, and says how much was missed.
pub struct Observer<S: Source> {
    system: System,
    source: S,
    deadline: Duration,
    seen: VecDeque<String>,
}

impl<S: Source> Observer<S> {
    pub(super) fn new(system: &System, source: S) -> Self {
        Self { system: system.clone(), source, deadline: DEADLINE, seen: VecDeque::new() }
    }

    /// Lets every later expectation wait so long.
    #[must_use]
    pub fn within(mut self, deadline: Duration) -> Self {
        self.set_deadline(deadline);
        self
    }

    pub(super) fn set_deadline(&mut self, deadline: Duration) {
        self.deadline = deadline;
    }

    /// The next one.
    ///
    /// # Panics
    /// When none comes in time.
    #[track_caller]
    pub fn expect_next(&mut self) -> impl Future<Output = S::Item> + Send {
        let place = Location::caller();
        async move { self.take("something", place).await }
    }

    /// The next one, which must be `expected`.
    ///
    /// # Panics
    /// When another comes, or none in time.
    #[track_caller]
    pub fn expect(&mut self, expected: &S::Item) -> impl Future<Output = ()> + Send
    where
        S::Item: PartialEq + Sync,
    {
        let place = Location::caller();
        async move {
            let wanted = format!("{expected:?}");
            if self.take(&wanted, place).await != *expected {
                self.fail(&wanted, "another came", place);
            }
        }
    }

    /// The next one, which must fit; `what` says in a failure what was expected.
    ///
    /// # Panics
    /// When one comes that does not fit, or none in time.
    #[track_caller]
    pub fn expect_that(
        &mut self,
        what: &str,
        fits: impl FnOnce(&S::Item) -> bool + Send,
    ) -> impl Future<Output = S::Item> + Send {
        let place = Location::caller();
        async move {
            let item = self.take(what, place).await;
            if !fits(&item) {
                self.fail(what, "another came", place);
            }
            item
        }
    }

    /// The first that fits; those before it are passed over.
    ///
    /// # Panics
    /// When none comes in time. The deadline is for each by itself.
    #[track_caller]
    pub fn find(
        &mut self,
        what: &str,
        mut fits: impl FnMut(&S::Item) -> bool + Send,
    ) -> impl Future<Output = S::Item> + Send {
        let place = Location::caller();
        async move {
            loop {
                let item = self.take(what, place).await;
                if fits(&item) {
                    return item;
                }
            }
        }
    }

    /// Waits until the system is idle; nothing must have come by then.
    ///
    /// # Panics
    /// When something has come, or the system is not idle in time.
    #[track_caller]
    pub fn expect_none(&mut self) -> impl Future<Output = ()> + Send {
        let place = Location::caller();
        async move {
            if let Err(busy) = self.system.await_idle(self.deadline).await {
                self.fail("nothing to come", &busy.to_string(), place);
            }
            if let Some(item) = self.source.try_next() {
                self.note(&item);
                self.fail("nothing", "something came", place);
            }
        }
    }

    async fn take(&mut self, what: &str, place: &Location<'_>) -> S::Item {
        let until = self.system.deadline(self.deadline);
        match self.system.by(until, self.source.next()).await {
            Some(Some(item)) => {
                self.note(&item);
                item
            }
            Some(None) => self.fail(what, "no more can come", place),
            None => self.fail(what, &format!("none came within {:?}", self.deadline), place),
        }
    }

    fn note(&mut self, item: &S::Item) {
        if self.seen.len() == SEEN_MAX {
            self.seen.pop_front();
        }
        self.seen.push_back(format!("{item:?}"));
    }

    fn fail(&self, what: &str, why: &str, place: &Location<'_>) -> ! {
        let seen: Vec<_> = self.seen.iter().map(|item| format!("\n  {item}")).collect();
        let seen = if seen.is_empty() { "\n  nothing".to_owned() } else { seen.concat() };
        let missed = match self.source.missed() {
            0 => String::new(),
            missed => format!(" ({missed} were missed, because too many waited)"),
        };
        panic!(
            "{place}: expected {what}, but {why}{missed}; seen so far, the last one last:{seen}"
        );
    }
}

impl<S: Source> fmt::Debug for Observer<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Observer").field("seen", &self.seen).finish_non_exhaustive()
    }
}
