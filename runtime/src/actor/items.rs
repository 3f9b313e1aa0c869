//! Streams out of an actor and into one.
//!
//! A stream has one end that emits and one that takes. Both are of this process, as long as no message carries the
//! taking end to another node; what does that hands the [`Inner`] on, and puts a [`Flow`] in its place there.

use crate::sync::{Arc, AtomicBool, Mutex, Ordering, planted};
use futures_core::Stream;
use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::sync::mpsc;

/// A stream of what an [`Emitter`] emits, in order; it is over when the emitter is dropped. An actor that
/// keeps the emitter in its state so ends its streams with its incarnation.
///
/// Whether all of it came is known by [`Emitter::finish`]: [`Items::try_next`] and [`Items::checked`] tell the end of a stream
/// from one that was [cut](Cut). With the feature `net`, a stream of values that serde knows may be an argument or an answer of
/// a message to another node: it is read there as it is here.
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
pub struct Items<T>(Mutex<Inner<T>>);

enum Inner<T> {
    /// From emitters of this process.
    Near(mpsc::Receiver<T>, Arc<Fate>),
    /// From another node.
    #[cfg(all(feature = "net", not(shuttle)))]
    Far(Box<dyn Flow<T>>),
    /// It has gone to another node.
    #[cfg(all(feature = "net", not(shuttle)))]
    Gone,
}

/// What is known of a stream beside its items.
#[derive(Default)]
struct Fate {
    /// Whether an emitter was dropped that had not finished.
    is_abandoned: AtomicBool,
    /// Whether the connection ended by which the items went.
    #[cfg(all(feature = "net", not(shuttle)))]
    is_node_down: AtomicBool,
}

/// What comes from elsewhere.
#[cfg(all(feature = "net", not(shuttle)))]
pub(crate) trait Flow<T>: Send {
    /// The next item, or the end, which stays.
    fn poll_item(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<T, Cut>>>;
}

/// Puts items into a stream; see [`Items`]. Clones put them into the same one.
pub struct Emitter<T> {
    sender: mpsc::Sender<T>,
    fate: Arc<Fate>,
    is_finished: bool,
}

/// The stream of [`Items::checked`].
#[derive(Debug)]
pub struct Checked<T>(Option<Items<T>>);

/// Why an item was not taken; it comes back.
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum EmitError<T> {
    /// As many items wait as may. Worth another try, or [`Emitter::emit`], which waits.
    Full(T),
    /// The stream was dropped, or an item before could not be sent. Not worth another try.
    Closed(T),
    /// The connection to the node ended to which the stream went. What was emitted last may not have arrived.
    NodeDown(T),
}

/// Why a stream was over before its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Cut {
    /// An emitter was dropped without [`Emitter::finish`], as it is when its actor fails.
    #[error("the stream was given up before its end")]
    Abandoned,
    /// The connection to the node ended from which it came.
    #[error("the connection to the node of the stream ended")]
    NodeDown,
    /// What came from another node is no item.
    #[error("an item of the stream is malformed")]
    Malformed,
    /// More has come by the connection, in this stream and in others, than may wait to be read.
    #[error("too much of the streams of the connection waits to be read")]
    OverLimit,
}

impl<T> Items<T> {
    /// A stream in which `items` may wait, and the end that puts them there.
    ///
    /// # Panics
    /// If `items` is zero, or above an eighth of [`usize::MAX`].
    #[must_use]
    pub fn bounded(items: usize) -> (Emitter<T>, Self) {
        let (sender, receiver) = mpsc::channel(items);
        let fate = Arc::new(Fate::default());
        let emitter = Emitter { sender, fate: fate.clone(), is_finished: false };
        (emitter, Self(Mutex::new(Inner::Near(receiver, fate))))
    }

    /// Waits for the next item; `None` when the stream is over, however that was.
    ///
    /// # Cancel safety
    /// No item is lost when the future is dropped.
    pub async fn next(&mut self) -> Option<T> {
        self.try_next().await.ok().flatten()
    }

    /// Waits for the next item; `None` when there was none behind the last one.
    ///
    /// # Errors
    /// [`Cut`] if the stream was over before that, now and whenever it is called again.
    ///
    /// # Cancel safety
    /// No item is lost when the future is dropped.
    pub async fn try_next(&mut self) -> Result<Option<T>, Cut> {
        poll_fn(|cx| self.poll_item(cx)).await.transpose()
    }

    /// The items, and then, if the stream was over before its end, why: for
    /// [`Context::attach_until`](crate::Context::attach_until).
    #[must_use]
    pub const fn checked(self) -> Checked<T> {
        Checked(Some(self))
    }

    pub(crate) fn poll_item(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<T, Cut>>> {
        match self.0.get_mut() {
            Inner::Near(receiver, fate) => {
                let item = ready!(receiver.poll_recv(cx)).map(Ok);
                Poll::Ready(item.or_else(|| fate.cut().map(Err)))
            }
            #[cfg(all(feature = "net", not(shuttle)))]
            Inner::Far(flow) => flow.poll_item(cx),
            #[cfg(all(feature = "net", not(shuttle)))]
            Inner::Gone => Poll::Ready(Some(Err(Cut::Abandoned))),
        }
    }
}

#[cfg(all(feature = "net", not(shuttle)))]
impl<T> Items<T> {
    /// What comes from elsewhere.
    pub(crate) fn far(flow: impl Flow<T> + 'static) -> Self {
        Self(Mutex::new(Inner::Far(Box::new(flow))))
    }

    /// The stream, of which nothing is left here.
    pub(crate) fn take(&self) -> Self {
        Self(Mutex::new(std::mem::replace(&mut *self.0.lock(), Inner::Gone)))
    }

    /// Whether somebody may add to it still.
    pub(crate) fn may_grow(&mut self) -> bool {
        match self.0.get_mut() {
            Inner::Near(receiver, _) => receiver.sender_strong_count() > 0,
            Inner::Far(_) => true,
            Inner::Gone => false,
        }
    }

    /// Lets the emitters know that the connection ended by which the items went.
    pub(crate) fn note_node_down(&mut self) {
        if let Inner::Near(_, fate) = self.0.get_mut() {
            // Relaxed: the stream is dropped behind it, and emitters look when they have seen that.
            fate.is_node_down.store(true, Ordering::Relaxed);
        }
    }
}

impl Fate {
    /// Whether the stream is cut, when all emitters are gone.
    fn cut(&self) -> Option<Cut> {
        // Relaxed: the last emitter's drop, which was seen, is behind every store.
        let is_abandoned = self.is_abandoned.load(Ordering::Relaxed);
        planted!("items-cut-unseen": is_abandoned => false).then_some(Cut::Abandoned)
    }

    /// An item that the stream does not take any more.
    fn refuse<T>(&self, item: T) -> EmitError<T> {
        #[cfg(all(feature = "net", not(shuttle)))]
        // Relaxed: as in `Items::note_node_down`.
        if self.is_node_down.load(Ordering::Relaxed) {
            return EmitError::NodeDown(item);
        }
        EmitError::Closed(item)
    }
}

impl<T> Emitter<T> {
    /// Emits `item` as soon as there is room.
    ///
    /// # Errors
    /// [`EmitError::Closed`] or [`EmitError::NodeDown`], with the item.
    ///
    /// # Cancel safety
    /// Dropped before it is ready, it has not emitted the item, which is dropped with it.
    pub async fn emit(&self, item: T) -> Result<(), EmitError<T>> {
        self.sender.send(item).await.map_err(|error| self.fate.refuse(error.0))
    }

    /// Emits `item` at once or not at all.
    ///
    /// # Errors
    /// [`EmitError`], with the item.
    pub fn try_emit(&self, item: T) -> Result<(), EmitError<T>> {
        self.sender.try_send(item).map_err(|error| match error {
            mpsc::error::TrySendError::Full(item) => EmitError::Full(item),
            mpsc::error::TrySendError::Closed(item) => self.fate.refuse(item),
        })
    }

    /// Says that nothing is missing: a stream of which every emitter has said so is not [cut](Cut), but has come to its end.
    pub fn finish(mut self) {
        self.is_finished = true;
    }
}

impl<T> Drop for Emitter<T> {
    fn drop(&mut self) {
        if !self.is_finished {
            // Relaxed: the sender is dropped behind it, and the reader looks when it has seen that.
            self.fate.is_abandoned.store(true, Ordering::Relaxed);
        }
    }
}

impl<T> Stream for Items<T> {
    type Item = T;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<T>> {
        self.poll_item(cx).map(|item| item.and_then(Result::ok))
    }
}

impl<T> Stream for Checked<T> {
    type Item = Result<T, Cut>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<T, Cut>>> {
        let Some(items) = &mut self.0 else { return Poll::Ready(None) };
        let item = ready!(items.poll_item(cx));
        if !matches!(item, Some(Ok(_))) {
            self.0 = None;
        }
        Poll::Ready(item)
    }
}

impl<T> Clone for Emitter<T> {
    fn clone(&self) -> Self {
        Self { sender: self.sender.clone(), fate: self.fate.clone(), is_finished: false }
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
            Self::NodeDown(_) => "NodeDown(..)",
        })
    }
}

impl<T> fmt::Display for EmitError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full(_) => "the stream is full",
            Self::Closed(_) => "nobody takes the items any more",
            Self::NodeDown(_) => "the connection to the node of the stream ended",
        })
    }
}

impl<T> std::error::Error for EmitError<T> {}
