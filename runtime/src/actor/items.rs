//! Streams out of an actor.

use futures_core::Stream;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::sync::mpsc;

/// A stream of what an [`Emitter`] emits, in order; it is over when the emitter is dropped. An actor that
/// keeps the emitter in its state so ends its streams with its incarnation.
///
/// # Examples
/// ```
/// use greenroom::{Actor, Emitter, Items, System, handlers};
///
/// #[derive(Actor)]
/// struct Feed {
///     readers: Vec<Emitter<u64>>,
/// }
///
/// #[handlers]
/// impl Feed {
///     #[ask]
///     fn prices(&mut self) -> Items<u64> {
///         let (reader, prices) = Items::bounded(16);
///         self.readers.push(reader);
///         prices
///     }
///     #[tell]
///     fn quote(&mut self, price: u64) {
///         // Who has left, or is too slow, is let go.
///         self.readers.retain(|reader| reader.try_emit(price).is_ok());
///     }
/// }
///
/// #[greenroom::main]
/// async fn main(system: System) -> Result<(), Box<dyn std::error::Error>> {
///     let feed = system.spawn::<Feed>(Feed { readers: Vec::new() }).await?;
///     let mut prices = feed.prices().await?;
///     feed.quote(101).await?;
///     assert_eq!(prices.next().await, Some(101));
///     feed.stop();
///     assert_eq!(prices.next().await, None);
///     Ok(())
/// }
/// ```
pub struct Items<T>(mpsc::Receiver<T>);

/// Puts items into a stream; see [`Items`]. Clones put them into the same one.
pub struct Emitter<T>(mpsc::Sender<T>);

/// Why an item was not taken; it comes back.
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum EmitError<T> {
    /// As many items wait as may. Worth another try, or [`Emitter::emit`], which waits.
    Full(T),
    /// The stream was dropped. Not worth another try.
    Closed(T),
}

impl<T> Items<T> {
    /// A stream in which `items` may wait, and the end that puts them there.
    ///
    /// # Panics
    /// If `items` is zero, or above an eighth of [`usize::MAX`].
    #[must_use]
    pub fn bounded(items: usize) -> (Emitter<T>, Self) {
        let (sender, receiver) = mpsc::channel(items);
        (Emitter(sender), Self(receiver))
    }

    /// Waits for the next item; `None` when the stream is over.
    ///
    /// # Cancel safety
    /// No item is lost when the future is dropped.
    pub async fn next(&mut self) -> Option<T> {
        self.0.recv().await
    }
}

impl<T> Emitter<T> {
    /// Emits `item` as soon as there is room.
    ///
    /// # Errors
    /// [`EmitError::Closed`].
    ///
    /// # Cancel safety
    /// Dropped before it is ready, it has not emitted the item, which is dropped with it.
    pub async fn emit(&self, item: T) -> Result<(), EmitError<T>> {
        self.0.send(item).await.map_err(|error| EmitError::Closed(error.0))
    }

    /// Emits `item` at once or not at all.
    ///
    /// # Errors
    /// [`EmitError::Full`] or [`EmitError::Closed`], with the item.
    pub fn try_emit(&self, item: T) -> Result<(), EmitError<T>> {
        self.0.try_send(item).map_err(|error| match error {
            mpsc::error::TrySendError::Full(item) => EmitError::Full(item),
            mpsc::error::TrySendError::Closed(item) => EmitError::Closed(item),
        })
    }
}

impl<T> Stream for Items<T> {
    type Item = T;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<T>> {
        self.0.poll_recv(cx)
    }
}

impl<T> Clone for Emitter<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T> fmt::Debug for Items<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Items")
    }
}

impl<T> fmt::Debug for Emitter<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Emitter")
    }
}

impl<T> fmt::Debug for EmitError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full(_) => "Full(..)",
            Self::Closed(_) => "Closed(..)",
        })
    }
}

impl<T> fmt::Display for EmitError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full(_) => "the stream is full",
            Self::Closed(_) => "nobody takes the items any more",
        })
    }
}

impl<T> std::error::Error for EmitError<T> {}
