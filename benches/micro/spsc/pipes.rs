//! The rings, and the queues that people use in a ring's place, behind one face.

use crossbeam_queue::ArrayQueue;
use greenroom::queue::spsc;
use ringbuf::traits::{Consumer, Observer, Producer, Split};
use ringbuf::{HeapCons, HeapProd, HeapRb};
use rtrb::chunks::ChunkError::TooFewSlots;
use std::sync::Arc;
use std::sync::mpsc;

/// The numbers to be sent.
pub(crate) struct Source {
    /// The first of them.
    pub(crate) next: u64,
    /// The first of those that are not.
    pub(crate) end: u64,
}

impl Source {
    /// Offers one after the other until one is refused.
    fn offer(&mut self, mut send: impl FnMut(u64) -> bool) {
        while self.next < self.end && send(self.next) {
            self.next += 1;
        }
    }

    fn len(&self) -> usize {
        usize::try_from(self.end - self.next).unwrap_or(usize::MAX)
    }
}

impl Iterator for Source {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        let next = Some(self.next).filter(|next| *next < self.end)?;
        self.next += 1;
        Some(next)
    }
}

/// A way for numbers from one thread to another.
pub(crate) trait Pipe {
    /// Its name in the tables.
    const WHO: &'static str;
    /// The end that sends.
    type Sender: Send;
    /// The end that receives.
    type Receiver: Send;

    /// Makes one with so much room.
    fn new(capacity: usize) -> (Self::Sender, Self::Receiver);

    /// Sends as many as there is room for, and makes them visible.
    fn send(sender: &mut Self::Sender, source: &mut Source);

    /// Takes all that there is.
    fn receive(receiver: &mut Self::Receiver, take: impl FnMut(u64));
}

macro_rules! ours {
    ($pipe:ident, $who:literal, $make:path, $layout:ty) => {
        /// Ours, by index or by marks.
        pub(crate) struct $pipe;

        impl Pipe for $pipe {
            const WHO: &'static str = $who;
            type Sender = spsc::Sender<u64, $layout>;
            type Receiver = spsc::Receiver<u64, $layout>;

            fn new(capacity: usize) -> (Self::Sender, Self::Receiver) {
                $make(capacity)
            }

            fn send(sender: &mut Self::Sender, source: &mut Source) {
                sender.write_from(source);
                // Who receives has gone only where everything was received.
                let _ = sender.flush();
            }

            fn receive(receiver: &mut Self::Receiver, take: impl FnMut(u64)) {
                receiver.drain().for_each(take);
            }
        }
    };
}

ours!(Greenroom, "greenroom", spsc::channel, spsc::Indexed);
ours!(Flagged, "greenroom flagged", spsc::flagged, spsc::Flagged);

/// Ours, value by value.
pub(crate) struct Single;

impl Pipe for Single {
    const WHO: &'static str = "greenroom one by one";
    type Sender = spsc::Sender<u64>;
    type Receiver = spsc::Receiver<u64>;

    fn new(capacity: usize) -> (Self::Sender, Self::Receiver) {
        spsc::channel(capacity)
    }

    fn send(sender: &mut Self::Sender, source: &mut Source) {
        source.offer(|value| sender.write(value).is_ok());
        // As above.
        let _ = sender.flush();
    }

    fn receive(receiver: &mut Self::Receiver, mut take: impl FnMut(u64)) {
        while let Ok(value) = receiver.try_recv() {
            take(value);
        }
    }
}

/// What part of a peer's ring is read at a time, so that who sends has room again before all is read.
const PARTS: usize = 4;

/// The first value by itself, and what is behind it by chunks: of a ring that is empty, a chunk would write its index.
pub(crate) struct Rtrb;

impl Pipe for Rtrb {
    const WHO: &'static str = "rtrb";
    type Sender = rtrb::Producer<u64>;
    type Receiver = rtrb::Consumer<u64>;

    fn new(capacity: usize) -> (Self::Sender, Self::Receiver) {
        rtrb::RingBuffer::new(capacity)
    }

    fn send(sender: &mut Self::Sender, source: &mut Source) {
        if source.len() == 1 {
            return source.offer(|value| sender.push(value).is_ok());
        }
        // As its documents have it: the other end's index is read only where the room known before is too little.
        let chunk = match sender.write_chunk_uninit(source.len()) {
            Err(TooFewSlots(room)) => sender.write_chunk_uninit(room),
            chunk => chunk,
        };
        if let Ok(chunk) = chunk {
            chunk.fill_from_iter(source);
        }
    }

    fn receive(receiver: &mut Self::Receiver, mut take: impl FnMut(u64)) {
        let Ok(first) = receiver.pop() else { return };
        take(first);
        // The same way round.
        let most = (receiver.buffer().capacity() / PARTS).max(1);
        let chunk = match receiver.read_chunk(most) {
            Err(TooFewSlots(0)) => return,
            Err(TooFewSlots(filled)) => receiver.read_chunk(filled),
            chunk => chunk,
        };
        if let Ok(chunk) = chunk {
            chunk.into_iter().for_each(take);
        }
    }
}

/// ringbuf, by an iterator into it, and out of it by slices, as its documents have it: its iterator that takes values out
/// writes the index for each of them, and a slice does so even where there is none.
pub(crate) struct Ringbuf;

impl Pipe for Ringbuf {
    const WHO: &'static str = "ringbuf";
    type Sender = HeapProd<u64>;
    /// With what a slice is taken out into.
    type Receiver = (HeapCons<u64>, Vec<u64>);

    fn new(capacity: usize) -> (Self::Sender, Self::Receiver) {
        let (sender, receiver) = HeapRb::new(capacity).split();
        (sender, (receiver, vec![0; (capacity / PARTS).max(1)]))
    }

    fn send(sender: &mut Self::Sender, source: &mut Source) {
        if source.len() == 1 {
            return source.offer(|value| sender.try_push(value).is_ok());
        }
        sender.push_iter(source);
    }

    fn receive((receiver, slice): &mut Self::Receiver, mut take: impl FnMut(u64)) {
        let Some(first) = receiver.try_pop() else { return };
        take(first);
        if !receiver.is_empty() {
            let count = receiver.pop_slice(slice);
            slice[..count].iter().copied().for_each(take);
        }
    }
}

/// crossbeam's queue of fixed size, one by one.
pub(crate) struct Array;

impl Pipe for Array {
    const WHO: &'static str = "ArrayQueue";
    type Sender = Arc<ArrayQueue<u64>>;
    type Receiver = Arc<ArrayQueue<u64>>;

    fn new(capacity: usize) -> (Self::Sender, Self::Receiver) {
        let queue = Arc::new(ArrayQueue::new(capacity));
        (Arc::clone(&queue), queue)
    }

    fn send(sender: &mut Self::Sender, source: &mut Source) {
        source.offer(|value| sender.push(value).is_ok());
    }

    fn receive(receiver: &mut Self::Receiver, mut take: impl FnMut(u64)) {
        while let Some(value) = receiver.pop() {
            take(value);
        }
    }
}

/// The bounded channel of the standard library, one by one.
pub(crate) struct Std;

impl Pipe for Std {
    const WHO: &'static str = "std mpsc";
    type Sender = mpsc::SyncSender<u64>;
    type Receiver = mpsc::Receiver<u64>;

    fn new(capacity: usize) -> (Self::Sender, Self::Receiver) {
        mpsc::sync_channel(capacity)
    }

    fn send(sender: &mut Self::Sender, source: &mut Source) {
        source.offer(|value| sender.try_send(value).is_ok());
    }

    fn receive(receiver: &mut Self::Receiver, take: impl FnMut(u64)) {
        receiver.try_iter().for_each(take);
    }
}
