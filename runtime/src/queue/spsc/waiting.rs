//! The ends of a ring that can wait, as futures, for room or for a value.

use super::{Disconnected, Receiver, Sender, TryRecvError, WriteError, channel};
use crate::queue::bell::{Bell, Waiter};
use crate::sync::{Arc, planted};
use std::fmt;
use std::future::poll_fn;
#[cfg(not(loom))]
use std::pin::Pin;
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
    let bells = Arc::new(Bells { values: Bell::new(), room: Bell::new(), end: Bell::new() });
    let sender = WaitingSender {
        sender,
        room: Waiter::default(),
        end: Waiter::default(),
        bells: bells.clone(),
    };
    (sender, WaitingReceiver { receiver, waiter: Waiter::default(), bells })
}

#[derive(Debug)]
struct Bells {
    /// The sender rings it, the receiver waits.
    values: Bell,
    /// The receiver rings it, the sender waits.
    room: Bell,
    /// The receiver rings it when it leaves. Apart from `room`: one task may wait for the end while another one sends.
    end: Bell,
}

/// The end that sends and can wait for room. Dropping it flushes what is written.
///
/// Of tasks that share it, one can wait for room and another one for the receiver's [end](Self::poll_closed). A task that
/// polls for the same takes the place of the one that waits, also if it is ready at once.
pub struct WaitingSender<T: Send> {
    sender: Sender<T>,
    room: Waiter,
    end: Waiter,
    bells: Arc<Bells>,
}

/// The end that receives and can wait for values. Of tasks that share it, one can wait: another one that polls takes its
/// place, also if it is ready at once.
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

    /// Puts values into the next slots, for as long as there are any and there is room, as [`Sender::write_from`];
    /// returns how many.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// let (mut sender, mut receiver) = greenroom::queue::spsc::waiting(4);
    /// let sending = tokio::spawn(async move {
    ///     let mut numbers = (1..=100_u64).peekable();
    ///     while numbers.peek().is_some() {
    ///         sender.ready().await.unwrap();
    ///         sender.write_from(&mut numbers);
    ///         sender.flush().unwrap();
    ///     }
    /// });
    /// let mut sum = 0;
    /// while let Some(number) = receiver.recv().await {
    ///     sum += number + receiver.drain().sum::<u64>();
    /// }
    /// assert_eq!(sum, 5050);
    /// # sending.await.unwrap();
    /// # });
    /// ```
    #[inline]
    pub fn write_from(&mut self, values: impl IntoIterator<Item = T>) -> usize {
        let (mut values, mut count) = (values.into_iter(), 0);
        while self.sender.has_room(1) {
            // No more than there is room for: nothing is flushed before `values` is done, which may panic.
            let room = self.sender.limit.wrapping_sub(self.sender.tail);
            let flushed = self.sender.flushed;
            let written = self.sender.write_from(values.by_ref().take(room));
            if self.sender.flushed != flushed {
                self.ring();
            }
            count += written;
            if written < room {
                return count;
            }
        }
        self.publish();
        count
    }

    /// Shows the receiver what was written, and wakes it if it waits.
    ///
    /// # Errors
    /// As [`Sender::flush`].
    #[inline]
    pub fn flush(&mut self) -> Result<(), Disconnected> {
        self.publish();
        if self.is_disconnected() { Err(Disconnected) } else { Ok(()) }
    }

    /// Waits until there is room for a value.
    ///
    /// # Errors
    /// When the receiver is gone.
    ///
    /// # Cancel safety
    /// Dropped before it is ready, it has done nothing but to flush a full ring.
    pub async fn ready(&mut self) -> Result<(), Disconnected> {
        poll_fn(|cx| self.poll_ready(cx)).await
    }

    /// As [`ready`](Self::ready), for use inside other futures.
    ///
    /// # Errors
    /// As there.
    pub fn poll_ready(&mut self, cx: &Context<'_>) -> Poll<Result<(), Disconnected>> {
        self.poll_until(cx, |end| {
            if end.is_disconnected() {
                return Some(Err(Disconnected));
            }
            if end.sender.has_room(1) {
                return Some(Ok(()));
            }
            // What is written and not flushed the receiver cannot make room of.
            end.publish();
            None
        })
    }

    /// Waits until the receiver is gone. What is written and not flushed stays so.
    ///
    /// # Cancel safety
    /// Dropped before it is ready, it has done nothing.
    pub async fn closed(&mut self) {
        poll_fn(|cx| self.poll_closed(cx)).await;
    }

    /// As [`closed`](Self::closed), for use inside other futures. What waits for room meanwhile takes nothing away from
    /// it, and is woken as well.
    ///
    /// ```
    /// use greenroom::queue::spsc;
    /// use std::task::{Context, Poll, Waker};
    ///
    /// let (mut sender, receiver) = spsc::waiting::<u8>(2);
    /// let cx = Context::from_waker(Waker::noop());
    /// assert_eq!(sender.poll_closed(&cx), Poll::Pending);
    /// drop(receiver);
    /// assert_eq!(sender.poll_closed(&cx), Poll::Ready(()));
    /// ```
    pub fn poll_closed(&mut self, cx: &Context<'_>) -> Poll<()> {
        if self.is_disconnected() {
            return Poll::Ready(());
        }
        // SAFETY: this end alone waits for the other one's end.
        unsafe { self.end.wait(&self.bells.end, cx.waker()) };
        if self.is_disconnected() { Poll::Ready(()) } else { Poll::Pending }
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
        self.poll_until(cx, |end| {
            let next = value.take().expect("a future is not polled after it was ready");
            match end.try_send(next) {
                Err(WriteError::Full(back)) => {
                    *value = Some(back);
                    None
                }
                other => Some(other),
            }
        })
    }

    /// What `look` finds, now or once the receiver has given room back or has left. A waker that is left stays until it
    /// is woken or another one is left, whatever is found meanwhile: it may be the waker of somebody else.
    fn poll_until<R>(
        &mut self,
        cx: &Context<'_>,
        mut look: impl FnMut(&mut Self) -> Option<R>,
    ) -> Poll<R> {
        for waits in [false, true] {
            if waits {
                // SAFETY: this end alone waits for room.
                unsafe { self.room.wait(&self.bells.room, cx.waker()) };
            }
            if let Some(found) = look(self) {
                return Poll::Ready(found);
            }
        }
        Poll::Pending
    }

    fn try_send(&mut self, value: T) -> Result<(), WriteError<T>> {
        if self.is_disconnected() {
            return Err(WriteError::Disconnected(value));
        }
        self.write(value)?;
        self.publish();
        Ok(())
    }

    #[inline]
    fn publish(&mut self) {
        if self.sender.has_unflushed() {
            self.sender.publish();
            self.ring();
        }
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
        // SAFETY: this end alone waits for room.
        drop(unsafe { self.room.leave(&self.bells.room) });
        // SAFETY: this end alone waits for the other one's end.
        drop(unsafe { self.end.leave(&self.bells.end) });
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

    /// Takes what was flushed until now, value by value, as [`Receiver::drain`]; what the iterator does not get to stays.
    #[inline]
    pub fn drain(&mut self) -> WaitingDrain<'_, T> {
        let published = self.receiver.published;
        self.receiver.sync();
        if self.receiver.published != published {
            self.ring();
        }
        WaitingDrain(self)
    }

    /// Whether a value could be taken. Gives no room back.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.receiver.is_empty()
    }

    /// Whether the sender is gone. It flushed before, so what it sent can still be taken.
    #[inline]
    #[must_use]
    pub fn is_disconnected(&self) -> bool {
        self.receiver.is_disconnected()
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
        // SAFETY: this end alone rings for its end, and has left.
        unsafe { self.bells.end.ring() };
        // SAFETY: this end alone waits for values.
        drop(unsafe { self.waiter.leave(&self.bells.values) });
    }
}

/// What was flushed until [`WaitingReceiver::drain`] was called.
#[derive(Debug)]
pub struct WaitingDrain<'a, T: Send>(&'a mut WaitingReceiver<T>);

impl<T: Send> Iterator for WaitingDrain<'_, T> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        let published = self.0.receiver.published;
        let next = self.0.receiver.poll();
        if self.0.receiver.is_at_stop() {
            self.0.receiver.give_room();
        }
        if self.0.receiver.published != published {
            self.0.ring();
        }
        next
    }
}

#[cfg(not(loom))]
impl<T: Send> futures_core::Stream for WaitingReceiver<T> {
    type Item = T;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<T>> {
        self.get_mut().poll_recv(cx)
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
