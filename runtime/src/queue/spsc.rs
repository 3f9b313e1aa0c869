//! A bounded ring between two threads: one sends, one receives, and neither ever waits for the other.
//!
//! ```text
//!    [ . . x  x  x  x  w  w  . . ]      x: flushed, the receiver may take it
//!          |           |     |          w: written, the sender's own until it flushes
//!         head      flushed  tail
//! ```
//!
//! A message costs a write into a slot; the line that tells the receiver of it is touched once per
//! [`flush`](Sender::flush), and the line that gives room back once per quarter of the ring. So a
//! burst of messages moves few cache lines between the two cores, whatever its length.
//!
//! Two layouts share this interface:
//!
//! | layout | made by | how the receiver learns of a message | for |
//! |---|---|---|---|
//! | [`Indexed`] | [`channel`] | an index, published once per flush | bursts, and anything whose depth is not known |
//! | [`Flagged`] | [`flagged`] | a mark beside the value, in the same line | one or two messages in flight |
//!
//! With an index a single message moves two lines, the slot's and the index's; with marks it moves
//! one, but each slot carries a word more and the receiver reads every mark.
//!
//! The ends never wait. Those that [`waiting`] makes can, as futures.
//!
//! # Invariants
//! 1. Positions count up and wrap; a slot is `position % capacity`, so every slot is usable.
//! 2. The slots in `tail .. head + capacity` are the sender's. It learns of `head` by what the
//!    receiver publishes, which is never ahead of the truth.
//! 3. The slots in `head .. flushed` are the receiver's. It learns of them by the index or by the
//!    marks. Those in `flushed .. tail` hold values that nobody but the sender may touch.
//! 4. An end publishes its position last of all when it leaves. Whoever is second to leave drops the
//!    values between the two.
//!
//! In the flagged layout only the first unflushed slot's mark is held back: the receiver reads the
//! marks in order, so that one mark hides all that follow, and a flush is one store there, too.
//!
//! # Example
//! ```
//! use greenroom::queue::spsc;
//!
//! let (mut sender, mut receiver) = spsc::channel(8);
//! let thread = std::thread::spawn(move || {
//!     for number in 1..=100_u64 {
//!         let mut next = number;
//!         while let Err(error) = sender.send(next) {
//!             next = error.into_inner(); // full: the receiver is on its way
//!             std::thread::yield_now();
//!         }
//!     }
//! });
//! let mut sum = 0;
//! loop {
//!     match receiver.try_recv() {
//!         Ok(number) => sum += number,
//!         Err(spsc::TryRecvError::Empty) => std::thread::yield_now(),
//!         Err(spsc::TryRecvError::Disconnected) => break,
//!     }
//! }
//! assert_eq!(sum, 5050);
//! # thread.join().unwrap();
//! ```

mod drain;
mod error;
mod layout;
mod shared;
mod waiting;

pub use drain::Drain;
pub use error::{Disconnected, TryRecvError, WriteError};
pub use layout::{Flagged, Indexed, Layout};
pub use waiting::{WaitingDrain, WaitingReceiver, WaitingSender, waiting};

use crate::sync::Arc;
use shared::{Shared, Slots};
use std::fmt;

/// Makes a ring of at least `capacity` slots, rounded up to a power of two, in the indexed layout. Two are the least:
/// a quarter of the ring, or one slot, may be free without the sender's knowing, and yet an empty ring has room.
///
/// # Panics
/// When the capacity is above 2^31, or memory for it cannot be had.
///
/// ```
/// let (mut sender, mut receiver) = greenroom::queue::spsc::channel(3);
/// assert_eq!(sender.capacity(), 4);
/// sender.write("a").unwrap();
/// assert_eq!(receiver.poll(), None, "not flushed yet");
/// sender.flush().unwrap();
/// assert_eq!(receiver.try_recv(), Ok("a"));
/// ```
#[must_use]
pub fn channel<T: Send>(capacity: usize) -> (Sender<T>, Receiver<T>) {
    ends(capacity)
}

/// Makes a ring of at least `capacity` slots, rounded up to a power of two, in the flagged layout. Two are the least,
/// as of [`channel`].
///
/// # Panics
/// As [`channel`].
///
/// ```
/// let (mut sender, mut receiver) = greenroom::queue::spsc::flagged(1);
/// sender.send(7).unwrap();
/// assert_eq!(receiver.poll(), Some(7));
/// ```
#[must_use]
pub fn flagged<T: Send>(capacity: usize) -> (Sender<T, Flagged>, Receiver<T, Flagged>) {
    ends(capacity)
}

fn ends<T: Send, L: Layout>(capacity: usize) -> (Sender<T, L>, Receiver<T, L>) {
    let shared = Arc::new(Shared::new(capacity));
    let slots = shared.slots();
    let sender =
        Sender { slots, tail: 0, flushed: 0, limit: slots.capacity(), shared: shared.clone() };
    let receiver = Receiver { slots, head: 0, published: 0, known: 0, stop: 0, shared };
    (sender, receiver)
}

/// The end that sends. Dropping it flushes what is written.
pub struct Sender<T: Send, L: Layout = Indexed> {
    slots: Slots<T, L>,
    /// Where the next value goes.
    tail: usize,
    /// Up to where the receiver may look.
    flushed: usize,
    /// Up to where there is room, by the last that was heard of the receiver.
    limit: usize,
    shared: Arc<Shared<T, L>>,
}

/// The end that receives. Dropping it drops what was flushed and not taken.
pub struct Receiver<T: Send, L: Layout = Indexed> {
    slots: Slots<T, L>,
    /// Where the next value is.
    head: usize,
    /// The head as the sender knows it.
    published: usize,
    /// Up to where values are known to be; of no use in the flagged layout.
    known: usize,
    /// Where the hot path ends: at `known`, or where it is time to publish.
    stop: usize,
    shared: Arc<Shared<T, L>>,
}

impl<T: Send, L: Layout> Sender<T, L> {
    /// Puts a value into the next slot. The receiver sees it after the next flush.
    ///
    /// A full ring is flushed, so a sender that forgets to flush slows down but does not lock up.
    /// Does not block and does not allocate.
    ///
    /// # Errors
    /// The value, when there is no room or the receiver is gone.
    #[inline]
    pub fn write(&mut self, value: T) -> Result<(), WriteError<T>> {
        if self.tail == self.limit && !self.find_room() {
            return Err(self.refuse(value));
        }
        // SAFETY: there is room.
        unsafe { self.put(value) };
        Ok(())
    }

    /// Puts values into the next slots, for as long as there are any and there is room; returns how many. No value
    /// is asked for that there is no room for. The receiver sees them after the next flush.
    ///
    /// Costs less for each of many than [`write`](Self::write). A full ring is flushed, as there; whether the receiver
    /// is gone, the next flush tells. Does not block and does not allocate, but for what `values` does. If that panics, what
    /// it gave before is written; if it is without end and the receiver keeps up, so is this.
    ///
    /// ```
    /// let (mut sender, mut receiver) = greenroom::queue::spsc::channel(4);
    /// let mut numbers = 0..6;
    /// assert_eq!(sender.write_from(&mut numbers), 4);
    /// sender.flush().unwrap();
    /// assert_eq!(receiver.drain().sum::<i32>(), 6);
    /// assert_eq!(sender.write_from(numbers), 2);
    /// ```
    #[inline]
    pub fn write_from(&mut self, values: impl IntoIterator<Item = T>) -> usize {
        let mut values = values.into_iter();
        let mut count = 0;
        while self.tail != self.limit || self.find_room() {
            let room = self.limit.wrapping_sub(self.tail);
            let mut written = 0;
            while written < room
                && let Some(value) = values.next()
            {
                // SAFETY: there is room for as many.
                unsafe { self.put(value) };
                written += 1;
            }
            count += written;
            if written < room {
                break;
            }
        }
        count
    }

    /// # Safety
    /// There is room, by `limit`.
    #[inline(always)]
    unsafe fn put(&mut self, value: T) {
        // SAFETY: by invariant 2 the slots from `tail` to `limit` are the sender's, and empty.
        unsafe { self.slots.put(self.tail, value) };
        if L::MARKS && self.tail != self.flushed {
            self.slots.mark(self.tail);
        }
        self.tail = self.tail.wrapping_add(1);
    }

    /// Shows the receiver what was written: one store, and none if nothing was written.
    ///
    /// # Errors
    /// When the receiver is gone. What it did not take is dropped with the ring.
    #[inline]
    pub fn flush(&mut self) -> Result<(), Disconnected> {
        self.publish();
        if self.is_disconnected() { Err(Disconnected) } else { Ok(()) }
    }

    /// Writes and flushes.
    ///
    /// # Errors
    /// The value, when there is no room or the receiver is gone. One that leaves at this very moment
    /// may go unnoticed; the value is then dropped with the ring.
    #[inline]
    pub fn send(&mut self, value: T) -> Result<(), WriteError<T>> {
        if self.is_disconnected() {
            return Err(WriteError::Disconnected(value));
        }
        self.write(value)?;
        self.publish();
        Ok(())
    }

    /// Whether the receiver is gone.
    #[inline]
    #[must_use]
    pub fn is_disconnected(&self) -> bool {
        self.shared.receiver_left()
    }

    /// Slots in the ring.
    #[inline]
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.slots.capacity()
    }

    /// Whether something is written and not flushed.
    #[inline]
    #[must_use]
    pub fn has_unflushed(&self) -> bool {
        self.flushed != self.tail
    }

    /// Whether `count` values more would find room. Looks at what the receiver published only if it
    /// has to.
    #[inline]
    pub fn has_room(&mut self, count: usize) -> bool {
        if self.limit.wrapping_sub(self.tail) < count {
            self.limit = self.shared.head().wrapping_add(self.slots.capacity());
        }
        self.limit.wrapping_sub(self.tail) >= count
    }

    #[inline]
    fn publish(&mut self) {
        if self.flushed == self.tail {
            return;
        }
        if L::MARKS {
            self.slots.mark(self.flushed);
        } else {
            self.shared.publish_tail(self.tail);
        }
        self.flushed = self.tail;
    }

    /// Asks how far the receiver has come; `false` if the ring is full.
    #[cold]
    fn find_room(&mut self) -> bool {
        self.limit = self.shared.head().wrapping_add(self.slots.capacity());
        if self.tail != self.limit {
            return true;
        }
        self.publish();
        false
    }

    #[cold]
    fn refuse(&self, value: T) -> WriteError<T> {
        if self.is_disconnected() {
            WriteError::Disconnected(value)
        } else {
            WriteError::Full(value)
        }
    }

    /// Publishes all, and that no more will come.
    fn leave(&mut self) {
        self.publish();
        self.shared.sender_leaves(self.tail);
    }
}

impl<T: Send, L: Layout> Drop for Sender<T, L> {
    fn drop(&mut self) {
        self.leave();
    }
}

impl<T: Send, L: Layout> Receiver<T, L> {
    /// Takes the next value that is in view: nothing that another core has written is read in the
    /// indexed layout, and one mark in the flagged layout.
    #[inline]
    pub fn poll(&mut self) -> Option<T> {
        if self.head == self.stop && !self.advance() {
            return None;
        }
        if L::MARKS && !self.slots.is_marked(self.head) {
            return None;
        }
        // SAFETY: by invariant 3 the slot holds a value and is the receiver's; `head` moves on.
        let value = unsafe { self.slots.take(self.head) };
        self.head = self.head.wrapping_add(1);
        Some(value)
    }

    /// Brings what was flushed until now into view; if there is nothing, gives all room back.
    #[inline]
    pub fn sync(&mut self) {
        if !L::MARKS {
            self.known = self.shared.tail();
            self.advance();
        }
        if self.is_out_of_view() {
            self.give_room();
        }
    }

    /// Gives all room back, also less than a quarter of the ring.
    fn give_room(&mut self) {
        if self.head != self.published {
            self.publish();
            self.advance();
        }
    }

    /// Takes the next value, looking for new ones if none is in view. Does not block.
    ///
    /// # Errors
    /// When there is none now, or will be none any more.
    #[inline]
    pub fn try_recv(&mut self) -> Result<T, TryRecvError> {
        match self.poll() {
            Some(value) => Ok(value),
            None => self.look_again(),
        }
    }

    /// Takes what was flushed until now, value by value; what the iterator does not get to stays. Costs less for each of
    /// many than [`try_recv`](Self::try_recv), and gives all room back when there is nothing more. In the flagged layout
    /// also what is flushed meanwhile. Does not block.
    #[inline]
    pub fn drain(&mut self) -> Drain<'_, T, L> {
        self.sync();
        Drain::new(self)
    }

    /// Whether a value could be taken, in view or not. Gives no room back.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        if L::MARKS { !self.slots.is_marked(self.head) } else { self.head == self.shared.tail() }
    }

    /// Whether the sender is gone. It flushed before, so what it sent can still be taken.
    #[inline]
    #[must_use]
    pub fn is_disconnected(&self) -> bool {
        self.shared.sender_left()
    }

    /// Slots in the ring.
    #[inline]
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.slots.capacity()
    }

    /// Bytes of the ring: its slots and the three lines that both ends share.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.shared.memory_bytes()
    }

    fn look_again(&mut self) -> Result<T, TryRecvError> {
        self.sync();
        if let Some(value) = self.poll() {
            return Ok(value);
        }
        if !self.shared.sender_left() {
            return Err(TryRecvError::Empty);
        }
        // The sender flushed before it left, maybe after the look above.
        self.sync();
        self.poll().ok_or(TryRecvError::Disconnected)
    }

    /// Whether the next value is not in view.
    fn is_out_of_view(&self) -> bool {
        if L::MARKS { !self.slots.is_marked(self.head) } else { self.head == self.known }
    }

    /// Whether nothing is in view, or room is to be given back before the next value is taken.
    fn is_at_stop(&self) -> bool {
        self.head == self.stop
    }

    /// Gives room back if a quarter of the ring was taken, and sets the next stop; `false` if it is
    /// reached already.
    fn advance(&mut self) -> bool {
        let quarter = self.slots.quarter();
        if self.head.wrapping_sub(self.published) >= quarter {
            self.publish();
        }
        let due = self.published.wrapping_add(quarter);
        let in_view = self.known.wrapping_sub(self.head);
        self.stop =
            if !L::MARKS && in_view < due.wrapping_sub(self.head) { self.known } else { due };
        self.head != self.stop
    }

    fn publish(&mut self) {
        self.shared.publish_head(self.head);
        self.published = self.head;
    }

    /// Says that nothing more will be taken.
    fn leave(&mut self) {
        self.shared.receiver_leaves();
    }
}

impl<T: Send, L: Layout> Drop for Receiver<T, L> {
    fn drop(&mut self) {
        self.leave();
        // No more than can be there by now: a sender that goes on would leave this no end. What it sends
        // from here on is dropped with the ring.
        for _ in 0..self.capacity() {
            let Ok(value) = self.try_recv() else { return };
            // Before the value's drop, which may panic.
            self.publish();
            drop(value);
        }
    }
}

impl<T: Send, L: Layout> fmt::Debug for Sender<T, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender").field("capacity", &self.capacity()).finish_non_exhaustive()
    }
}

impl<T: Send, L: Layout> fmt::Debug for Receiver<T, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver").field("capacity", &self.capacity()).finish_non_exhaustive()
    }
}

#[cfg(all(test, loom))]
mod model;

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
