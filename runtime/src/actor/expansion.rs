//! What the macros' expansions call, so that a mistake in user code is an error on the user's line.

use super::error::StartError;
use super::traits::Actor;
use std::future::Future;

/// What a `#[start]` hook may return.
#[diagnostic::on_unimplemented(
    message = "a `#[start]` hook of `{A}` cannot return `{Self}`",
    label = "return `Self`, or a `Result<Self, E>` whose error converts into `StartError`"
)]
pub trait Started<A> {
    /// The outcome of the hook.
    #[expect(clippy::missing_errors_doc, reason = "it passes the hook's error on")]
    fn started(self) -> Result<A, StartError>;
}

impl<A: Actor> Started<A> for A {
    fn started(self) -> Result<A, StartError> {
        Ok(self)
    }
}

impl<A: Actor, E: Into<StartError>> Started<A> for Result<A, E> {
    fn started(self) -> Result<A, StartError> {
        self.map_err(Into::into)
    }
}

/// Start arguments that can be kept for a restart.
#[diagnostic::on_unimplemented(
    message = "an actor that restarts keeps a copy of its start arguments, and `{Self}` is not `Clone`",
    label = "this policy starts the actor again from a clone of `{Self}`",
    note = "derive `Clone` for it, or write `restart = never`"
)]
pub trait Keep: Sized {
    /// The copy.
    #[must_use]
    fn keep(&self) -> Self;
}

#[diagnostic::do_not_recommend]
impl<T: Clone> Keep for T {
    fn keep(&self) -> Self {
        self.clone()
    }
}

/// A future that a worker may take to another thread: one that is not `Send` is an error at the
/// handler, and nowhere else.
pub fn portable<F: Future + Send>(future: F) -> impl Future<Output = F::Output> + Send {
    future
}

/// Fails to compile, where it is called, for an argument that cannot be part of a message.
pub const fn assert_argument<T: Send + 'static>() {}

/// Fails to compile, where it is called, for an answer that cannot be sent.
pub const fn assert_answer<T: Send + 'static>() {}
