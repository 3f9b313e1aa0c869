//! The word to whoever waits for a program's result.

use tokio::sync::oneshot;

/// Gives one result away, from inside an actor.
#[derive(Debug)]
pub struct Done<T>(Option<oneshot::Sender<T>>);

impl<T> Done<T> {
    /// The actor's end, and the end that waits.
    #[must_use]
    pub fn new() -> (Self, oneshot::Receiver<T>) {
        let (sender, receiver) = oneshot::channel();
        (Self(Some(sender)), receiver)
    }

    /// Gives the result.
    ///
    /// # Panics
    /// If it was given before.
    pub fn tell(&mut self, result: T) {
        let sender = self.0.take().expect("a program has one result");
        // Who no longer waits need not know.
        let _ = sender.send(result);
    }
}
