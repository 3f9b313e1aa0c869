//! The ends of a ring that can wait, as futures, for room or for a value.

use super::{Disconnected, Receiver, Sender, TryRecvError, WriteError, channel};
use crate::queue::bell::{Bell, Waiter};
use crate::sync::{Arc, planted};
use std::fmt;
use std::future::poll_fn;
use std::task::{Context, Poll};

/// Makes a ring whose ends can wait, of at least `capacity` slots, rounded up to a power of two.
///
/// The ends do what those of [`channel`] do; a flush and a return of room cost a read-modify-write
/// more, which finds out whether the other end waits. They need no particular executor.
///
/// Room is given back by the quarter of the ring, and when the receiver has taken all that it has seen: so it may go on
/// to something else that the sender is to do first.
///
/// # Panics
/// As [`channel`].
///
/// ```
/// use greenroom::queue::spsc;
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let (mut sender, mut receiver) = spsc::waiting(2);
/// let sending = tokio::spawn(async move {
///     for number in 1..=100_u64 {
///         sender.send(number).await.unwrap();
///     }
/// });
/// let mut sum = 0;
/// while let Some(number) = receiver.recv().await {
///     sum += number;
/// }
/// assert_eq!(sum, 5050);
/// # sending.await.unwrap();
/// # });
/// ```
#[must_use]
pub fn waiting<T: Send>(capacity: usize) -> (WaitingSender<T>, WaitingReceiver<T>) {
    let (sender, receiver) = channel(capacity);
    let bells = Arc::new(Bells { values: Bell::new(), room: Bell::new() });
    let sender = WaitingSender { sender, waiter: Waiter::default(), bells: bells.clone() };
    (sender, WaitingReceiver { receiver, waiter: Waiter::default(), bells })
}

#[derive(Debug)]
struct Bells {
    /// The sender rings it, the receiver waits.
    values: Bell,
    /// The receiver rings it, the sender waits.
    room: Bell,
}

/// The end that sends and can wait for room. Dropping it flushes what is written.
pub struct WaitingSender<T: Send> {
    sender: Sender<T>,
    waiter: Waiter,
    bells: Arc<Bells>,
}

/// The end that receives and can wait for values.
pub struct WaitingReceiver<T: Send> {
    receiver: Receiver<T>,
    waiter: Waiter,
    bells: Arc<Bells>,
}

impl<T: Send> WaitingSender<T> {
    /// Puts a value into the next slot, as [`Sender::write`].
    ///
    /// # Errors
    /// As there.
    #[inline]
    pub fn write(&mut self, value: T) -> Result<(), WriteError<T>> {
        let flushed = self.sender.flushed;
        let written = self.sender.write(value);
        if self.sender.flushed != flushed {
            self.ring();
        }
        written
    }

    /// Shows the receiver what was written, and wakes it if it waits.
    ///
    /// # Errors
    /// As [`Sender::flush`].
    #[inline]
    pub fn flush(&mut self) -> Result<(), Disconnected> {
        if self.sender.has_unflushed() {
            self.sender.publish();
            self.ring();
        }
        if self.is_disconnected() { Err(Disconnected) } else { Ok(()) }
    }

    /// Waits for room, writes and flushes.
    ///
    /// # Errors
    /// The value, when the receiver is gone.
    ///
    /// # Cancel safety
    /// Dropped before it is ready, it drops the value, which nobody has seen.
    pub async fn send(&mut self, value: T) -> Result<(), WriteError<T>> {
        let mut value = Some(value);
        poll_fn(|cx| self.poll_send(&mut value, cx)).await
    }

    /// Whether the receiver is gone.
    #[inline]
    #[must_use]
    pub fn is_disconnected(&self) -> bool {
        self.sender.is_disconnected()
    }

    /// Slots in the ring.
    #[inline]
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.sender.capacity()
    }

    fn poll_send(
        &mut self,
        value: &mut Option<T>,
        cx: &Context<'_>,
    ) -> Poll<Result<(), WriteError<T>>> {
        for waits in [false, true] {
            if waits {
                // SAFETY: this end alone waits for room.
                unsafe { self.waiter.wait(&self.bells.room, cx.waker()) };
            }
            let next = value.take().expect("a future is not polled after it was ready");
            let refused = match self.try_send(next) {
                Err(WriteError::Full(back)) => {
                    *value = Some(back);
                    continue;
                }
                other => other,
            };
            // SAFETY: as above.
            drop(unsafe { self.waiter.leave(&self.bells.room) });
            return Poll::Ready(refused);
        }
        Poll::Pending
    }

    fn try_send(&mut self, value: T) -> Result<(), WriteError<T>> {
        if self.is_disconnected() {
            return Err(WriteError::Disconnected(value));
        }
        self.write(value)?;
        self.sender.publish();
        self.ring();
        Ok(())
    }

    #[inline]
    fn ring(&self) {
        // SAFETY: this end alone rings for values, and has published them.
        unsafe { self.bells.values.ring() };
    }
}

impl<T: Send> Drop for WaitingSender<T> {
    fn drop(&mut self) {
        self.sender.leave();
        self.ring();
    }
}

impl<T: Send> WaitingReceiver<T> {
    /// Takes the next value if there is one, as [`Receiver::try_recv`].
    ///
    /// # Errors
    /// As there.
    #[inline]
    pub fn try_recv(&mut self) -> Result<T, TryRecvError> {
        let published = self.receiver.published;
        let received = self.receiver.try_recv();
        if planted!("spsc-room-kept": self.receiver.is_at_stop() => false) {
            self.receiver.give_room();
        }
        if self.receiver.published != published {
            self.ring();
        }
        received
    }

    /// Waits for the next value: `None` when the sender is gone and everything was taken.
    ///
    /// # Cancel safety
    /// Dropped before it is ready, it has taken nothing.
    pub async fn recv(&mut self) -> Option<T> {
        poll_fn(|cx| self.poll_recv(cx)).await
    }

    /// As [`recv`](Self::recv), for use inside other futures.
    pub fn poll_recv(&mut self, cx: &Context<'_>) -> Poll<Option<T>> {
        for waits in [false, true] {
            if waits {
                // SAFETY: this end alone waits for values.
                unsafe { self.waiter.wait(&self.bells.values, cx.waker()) };
            }
            let received = match self.try_recv() {
                Ok(value) => Some(value),
                Err(TryRecvError::Disconnected) => None,
                Err(TryRecvError::Empty) => continue,
            };
            // SAFETY: as above.
            drop(unsafe { self.waiter.leave(&self.bells.values) });
            return Poll::Ready(received);
        }
        Poll::Pending
    }

    /// Slots in the ring.
    #[inline]
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.receiver.capacity()
    }

    #[inline]
    fn ring(&self) {
        // SAFETY: this end alone rings for room, and has given it back.
        unsafe { self.bells.room.ring() };
    }
}

impl<T: Send> Drop for WaitingReceiver<T> {
    fn drop(&mut self) {
        self.receiver.leave();
        self.ring();
    }
}

impl<T: Send> fmt::Debug for WaitingSender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WaitingSender").field("capacity", &self.capacity()).finish_non_exhaustive()
    }
}

impl<T: Send> fmt::Debug for WaitingReceiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WaitingReceiver")
            .field("capacity", &self.capacity())
            .finish_non_exhaustive()
    }
}

#[cfg(all(test, loom))]
mod model;

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
