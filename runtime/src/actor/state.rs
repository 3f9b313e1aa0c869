//! Actors that are in one of several states, each a type of its own.

use super::context::Context;
use super::stash;
use super::traits::{Actor, Behavior};
use crate::event::DeadLetterReason;
use crate::sync::planted;
use std::fmt;

/// A set of states; derived for an enum whose variants hold one type each.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no set of states",
    note = "write `#[derive(greenroom::States)]` on an enum that has a variant for each: `Idle(Idle)`"
)]
pub trait States: Sized + Send + 'static {
    /// Which of the states this is, counted from zero.
    fn index(&self) -> usize;
}

/// That `T` is one of the states; derived with [`States`].
#[diagnostic::on_unimplemented(
    message = "`{T}` is none of the states in `{Self}`",
    note = "add a variant that holds it, such as `Idle(Idle)`"
)]
pub trait Holds<T>: States + From<T> {
    /// Whether this is that state.
    fn holds(&self) -> bool;

    /// Takes the state out.
    ///
    /// # Errors
    /// Itself, where it is another state.
    fn release(self) -> Result<T, Self>;
}

/// The state that an actor is in: a field of the actor, which `#[handlers(state = field)]` names.
///
/// A handler with a parameter `#[state] open: &mut Open` handles its message in that state only, and has
/// `Open` while it runs. One with `#[state] idle: Idle` leaves the state, and returns the next one.
///
/// # Examples
/// ```
/// use greenroom::{Actor, AskError, State, States, System, handlers};
///
/// struct Locked;
/// struct Unlocked {
///     pushes: u32,
/// }
///
/// #[derive(States)]
/// enum Lock {
///     Locked(Locked),
///     Unlocked(Unlocked),
/// }
///
/// #[derive(Actor)]
/// struct Turnstile {
///     coins: u32,
///     lock: State<Lock>,
/// }
///
/// #[handlers(state = lock)]
/// impl Turnstile {
///     #[tell]
///     fn coin(&mut self, #[state] _locked: Locked) -> Unlocked {
///         self.coins += 1;
///         Unlocked { pushes: 0 }
///     }
///     #[ask]
///     fn push(&mut self, #[state] unlocked: &mut Unlocked) -> u32 {
///         unlocked.pushes += 1;
///         unlocked.pushes
///     }
/// }
///
/// #[greenroom::main]
/// async fn main(system: System) -> Result<(), Box<dyn std::error::Error>> {
///     let turnstile = Turnstile { coins: 0, lock: State::new(Locked) };
///     let turnstile = system.spawn::<Turnstile>(turnstile).await?;
///     assert_eq!(turnstile.push().await, Err(AskError::Refused));
///     turnstile.coin().await?;
///     assert_eq!(turnstile.push().await?, 1);
///     Ok(())
/// }
/// ```
pub struct State<S> {
    /// `None` while a handler has it.
    now: Option<S>,
    index: usize,
}

impl<S: States> State<S> {
    /// An actor that begins in `state`.
    #[must_use]
    pub fn new(state: impl Into<S>) -> Self {
        let now = state.into();
        Self { index: now.index(), now: Some(now) }
    }

    /// The state; `None` inside a handler that was given it.
    #[must_use]
    pub const fn get(&self) -> Option<&S> {
        self.now.as_ref()
    }

    /// The state, to be changed; `None` inside a handler that was given it.
    #[must_use]
    pub const fn get_mut(&mut self) -> Option<&mut S> {
        self.now.as_mut()
    }

    /// Goes over to `next`, for methods that are not given a state, such as those of timers. If that is
    /// another state than before, what is stashed comes back. A handler that was given the state goes over
    /// to what it returns instead.
    pub fn enter<A: Behavior>(&mut self, next: impl Into<S>, cx: &mut Context<A>) {
        let next = next.into();
        let before = std::mem::replace(&mut self.index, next.index());
        self.now = Some(next);
        if planted!("state-stash-stays": before != self.index => false) {
            stash::bring_back(&mut cx.held());
        }
    }

    #[doc(hidden)]
    pub fn is_in<T>(&self) -> bool
    where
        S: Holds<T>,
    {
        self.now.as_ref().is_some_and(S::holds)
    }

    #[doc(hidden)]
    pub fn take<T>(&mut self) -> T
    where
        S: Holds<T>,
    {
        let released = self.now.take().and_then(|now| now.release().ok());
        released.expect("a handler is called in its state only")
    }

    #[doc(hidden)]
    pub fn put_back<T>(&mut self, state: T)
    where
        S: Holds<T>,
    {
        let state: S = state.into();
        // A handler that was given the state may have entered another one, which gives way.
        self.index = state.index();
        self.now = Some(state);
    }
}

impl<S: fmt::Debug> fmt::Debug for State<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("State").field(&self.now).finish()
    }
}

/// Reports a message that was refused because its actor is in another state.
pub fn report_refused<A: Actor, M>(context: &Context<A>) {
    if planted!("state-refused-unreported": false => true) {
        return;
    }
    let cell = context.header();
    let name = std::any::type_name::<M>();
    cell.core.events.dead_letter(cell.actor_id(), name, DeadLetterReason::Refused);
}
