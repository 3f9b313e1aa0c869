//! The ring against a locked twin, step by step, and under real threads.

use super::{Flagged, Indexed, Layout, Receiver, Sender, TryRecvError, WriteError, ends};
use crate::queue::twin::LockedRing;
use crate::sync::{Arc, AtomicUsize, Mutex, Ordering, rounds, thread};
use proptest::prelude::*;
use std::collections::VecDeque;

#[derive(Clone, Debug)]
enum Step {
    Write(u8),
    WriteFrom(u8),
    Flush,
    Send,
    Poll(u8),
    Sync,
    Receive(u8),
    Drain(u8),
    DrainAll,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (1..20_u8).prop_map(Step::Write),
        3 => Just(Step::Flush),
        2 => Just(Step::Send),
        2 => (1..20_u8).prop_map(Step::Poll),
        1 => Just(Step::Sync),
        4 => (1..20_u8).prop_map(Step::Receive),
        3 => (0..60_u8).prop_map(Step::WriteFrom),
        1 => (0..20_u8).prop_map(Step::Drain),
        2 => Just(Step::DrainAll),
    ];
    prop::collection::vec(step, 1..rounds(200, 200, 20))
}

/// What is known of a ring from outside: what was flushed, in a locked ring, and what was not.
struct Twin {
    flushed: LockedRing,
    written: VecDeque<usize>,
}

impl Twin {
    fn len(&self) -> usize {
        self.flushed.len() + self.written.len()
    }

    fn flush(&mut self) {
        for value in self.written.drain(..) {
            self.flushed.push(value).expect("room in the twin");
        }
    }
}

/// Sends one value to both. The ring may be full early, by room not given back; never late.
fn write<L: Layout>(sender: &mut Sender<usize, L>, twin: &mut Twin, value: usize) {
    let capacity = sender.capacity();
    match sender.write(value) {
        Ok(()) => {
            assert!(twin.len() < capacity, "no more than the capacity gets in");
            twin.written.push_back(value);
        }
        Err(WriteError::Full(back)) => {
            assert_eq!(back, value);
            assert!(twin.len() > 0, "an empty ring has room");
            assert!(
                twin.len() + (capacity / 4).max(1) >= capacity,
                "room is given back in quarters"
            );
            twin.flush();
        }
        Err(WriteError::Disconnected(_)) => panic!("the receiver is there"),
    }
}

/// The same with several at once; returns the first value that found no room.
fn write_from<L: Layout>(
    sender: &mut Sender<usize, L>,
    twin: &mut Twin,
    mut values: std::ops::Range<usize>,
) -> usize {
    let (capacity, first) = (sender.capacity(), values.start);
    let count = sender.write_from(&mut values);
    assert_eq!(values.start, first + count, "no value is taken for which there is no room");
    twin.written.extend(first..values.start);
    assert!(twin.len() <= capacity, "no more than the capacity gets in");
    let is_full = twin.len() + (capacity / 4).max(1) >= capacity;
    assert!(values.is_empty() || is_full, "room is given back in quarters");
    assert!(sender.has_unflushed() || is_full || count == 0, "only a full ring is flushed");
    if !sender.has_unflushed() {
        twin.flush();
    }
    values.start
}

fn follow<L: Layout>(capacity: usize, start: usize, steps: Vec<Step>) {
    let (mut sender, mut receiver) = ends::<usize, L>(capacity);
    start_at(&mut sender, &mut receiver, start);
    let mut twin = Twin { flushed: LockedRing::new(sender.capacity()), written: VecDeque::new() };
    let mut next = 0;
    for step in steps {
        match step {
            Step::Write(count) => {
                for _ in 0..count {
                    write(&mut sender, &mut twin, next);
                    next += 1;
                }
            }
            Step::WriteFrom(count) => {
                next = write_from(&mut sender, &mut twin, next..next + usize::from(count));
            }
            Step::Flush => {
                sender.flush().expect("a receiver");
                twin.flush();
            }
            Step::Send => {
                write(&mut sender, &mut twin, next);
                sender.flush().expect("a receiver");
                twin.flush();
                next += 1;
            }
            Step::Poll(count) => {
                for _ in 0..count {
                    if let Some(value) = receiver.poll() {
                        assert_eq!(Some(value), twin.flushed.pop());
                    }
                }
            }
            Step::Sync => receiver.sync(),
            Step::Receive(count) => {
                for _ in 0..count {
                    assert_eq!(receiver.try_recv().ok(), twin.flushed.pop());
                }
            }
            Step::Drain(count) => {
                let taken: Vec<_> = receiver.drain().take(count.into()).collect();
                assert_eq!(taken.len(), twin.flushed.len().min(count.into()));
                assert!(taken.into_iter().all(|value| Some(value) == twin.flushed.pop()));
            }
            Step::DrainAll => {
                receiver.drain().for_each(|value| assert_eq!(Some(value), twin.flushed.pop()));
                assert_eq!(twin.flushed.len(), 0, "all that was flushed is taken");
                let room = sender.capacity() - twin.written.len();
                assert!(sender.has_room(room), "all room is given back");
            }
        }
        assert_eq!(receiver.is_empty(), twin.flushed.len() == 0);
        assert_eq!(sender.has_unflushed(), !twin.written.is_empty());
    }
}

/// Moves both ends of an empty ring to a position, so that it wraps where positions do.
fn start_at<L: Layout>(
    sender: &mut Sender<usize, L>,
    receiver: &mut Receiver<usize, L>,
    at: usize,
) {
    let mask = sender.capacity() - 1;
    let at = at & !mask;
    // The marks of one round before.
    (0..=mask).for_each(|slot| sender.slots.mark(at.wrapping_sub(mask + 1).wrapping_add(slot)));
    sender.shared.publish_tail(at);
    sender.shared.publish_head(at);
    (sender.tail, sender.flushed, sender.limit) = (at, at, at.wrapping_add(mask + 1));
    (receiver.head, receiver.published, receiver.known, receiver.stop) = (at, at, at, at);
}

proptest! {
    #[test]
    fn it_does_what_a_locked_ring_does(
        capacity in 1..40_usize,
        before_the_wrap in 0..100_usize,
        wraps in any::<bool>(),
        steps in steps(),
    ) {
        let start = if wraps { 0_usize.wrapping_sub(before_the_wrap) } else { 0 };
        follow::<Indexed>(capacity, start, steps.clone());
        follow::<Flagged>(capacity, start, steps);
    }
}

/// Sends `values` numbers in bursts, from a thread to this one, and looks at each.
fn stream<L: Layout>(capacity: usize, burst: usize) {
    // A full ring makes the threads take turns, and on a busy machine a turn is long: few turns.
    let values = rounds(200, 30, 3) * capacity;
    let (mut sender, mut receiver) = ends::<usize, L>(capacity);
    let thread = thread::spawn(move || {
        for value in 0..values {
            let mut next = value;
            while let Err(error) = sender.write(next) {
                next = error.into_inner();
                thread::yield_now();
            }
            if value % burst == burst - 1 {
                sender.flush().expect("a receiver");
            }
        }
    });
    let mut expected = 0;
    loop {
        match receiver.try_recv() {
            Ok(value) => {
                assert_eq!(value, expected);
                expected += 1;
            }
            Err(TryRecvError::Empty) => thread::yield_now(),
            Err(TryRecvError::Disconnected) => break,
        }
    }
    assert_eq!(expected, values);
    thread.join().expect("no panic");
}

#[test]
fn a_stream_between_threads_keeps_its_order() {
    let large = (rounds(1024, 1024, 16), rounds(256, 256, 4));
    for (capacity, burst) in [(1, 1), (2, 3), (rounds(64, 64, 8), 7), large] {
        stream::<Indexed>(capacity, burst);
        stream::<Flagged>(capacity, burst);
    }
}

/// Counts its drops.
#[derive(Debug)]
struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// Writes five, flushes three, takes one; the ends leave in this order.
fn leave_some<L: Layout>(sender_first: bool) {
    let drops = Arc::new(AtomicUsize::new(0));
    let (mut sender, mut receiver) = ends::<Counted, L>(8);
    for written in 0..5 {
        sender.write(Counted(drops.clone())).expect("room");
        if written == 2 {
            sender.flush().expect("a receiver");
        }
    }
    drop(receiver.try_recv().expect("a value"));
    if sender_first {
        drop(sender);
        assert!(receiver.try_recv().is_ok(), "leaving flushes");
        drop(receiver);
    } else {
        drop(receiver);
        assert_eq!(drops.load(Ordering::Relaxed), 3, "what was flushed goes with the receiver");
        assert!(sender.flush().is_err());
        assert!(matches!(sender.send(Counted(drops.clone())), Err(WriteError::Disconnected(_))));
        drop(sender);
        assert_eq!(drops.swap(5, Ordering::Relaxed), 6);
    }
    assert_eq!(drops.load(Ordering::Relaxed), 5, "each value is dropped once");
}

#[test]
fn what_is_left_is_dropped_once() {
    for sender_first in [true, false] {
        leave_some::<Indexed>(sender_first);
        leave_some::<Flagged>(sender_first);
    }
}

fn notices<L: Layout>() {
    let (mut sender, mut receiver) = ends::<u32, L>(2);
    assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty));
    sender.write(1).expect("room");
    assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty), "not flushed");
    drop(sender);
    assert_eq!(receiver.try_recv(), Ok(1));
    assert_eq!(receiver.try_recv(), Err(TryRecvError::Disconnected));

    let (mut sender, receiver) = ends::<u32, L>(2);
    drop(receiver);
    assert!(sender.is_disconnected());
    assert_eq!(sender.write(1), Ok(()), "a write looks at nothing that is shared");
    assert!(sender.flush().is_err(), "but a flush does");
    assert_eq!(sender.write(2), Ok(()));
    assert_eq!(sender.write(3), Err(WriteError::Disconnected(3)), "and so does a full ring");
}

#[test]
fn an_end_notices_that_the_other_left() {
    notices::<Indexed>();
    notices::<Flagged>();
}

#[test]
fn a_full_ring_is_flushed() {
    let (mut sender, mut receiver) = ends::<u32, Indexed>(2);
    sender.write(1).expect("room");
    sender.write(2).expect("room");
    assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty));
    assert_eq!(sender.write(3), Err(WriteError::Full(3)));
    assert_eq!(receiver.try_recv(), Ok(1));
}

fn find_room_one_by_one<L: Layout>() {
    for capacity in 1..10 {
        let (mut sender, mut receiver) = ends::<u32, L>(capacity);
        for value in 0..100 {
            assert_eq!(sender.send(value), Ok(()), "in an empty ring of {capacity}");
            assert_eq!(receiver.try_recv(), Ok(value));
        }
    }
}

#[test]
fn an_empty_ring_has_room() {
    find_room_one_by_one::<Indexed>();
    find_room_one_by_one::<Flagged>();
}

#[test]
fn a_panic_while_values_are_dropped_drops_none_twice() {
    #[derive(Debug)]
    struct Bomb(Arc<AtomicUsize>);
    impl Drop for Bomb {
        fn drop(&mut self) {
            assert_ne!(self.0.fetch_add(1, Ordering::Relaxed), 0, "planned");
        }
    }
    let drops = Arc::new(AtomicUsize::new(0));
    let (mut sender, receiver) = ends::<Bomb, Indexed>(4);
    for _ in 0..3 {
        sender.write(Bomb(drops.clone())).expect("room");
    }
    sender.flush().expect("a receiver");
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(receiver))).unwrap_err();
    drop(sender);
    assert_eq!(drops.load(Ordering::Relaxed), 3);
}

/// Sends another one like it when it is dropped, with no regard to whether the receiver is there.
struct Echo<L: Layout>(Arc<Mutex<Option<Sender<Self, L>>>>, Arc<AtomicUsize>);

impl<L: Layout> Drop for Echo<L> {
    fn drop(&mut self) {
        // Far more than the ring has slots, but not without end.
        if self.1.fetch_add(1, Ordering::Relaxed) < 100
            && let Some(sender) = &mut *self.0.lock()
        {
            let echo = Self(self.0.clone(), self.1.clone());
            assert!(sender.write(echo).is_ok(), "its own slot is free by now");
            let _ = sender.flush();
        }
    }
}

fn leave_a_sender_that_goes_on<L: Layout>() {
    let (sender, receiver) = ends::<Echo<L>, L>(4);
    let (sender, drops) = (Arc::new(Mutex::new(Some(sender))), Arc::new(AtomicUsize::new(0)));
    for _ in 0..4 {
        let echo = Echo(sender.clone(), drops.clone());
        let written = sender.lock().as_mut().map(|sender| sender.send(echo).is_ok());
        assert_eq!(written, Some(true));
    }
    drop(receiver);
    assert_eq!(drops.load(Ordering::Relaxed), 4, "what was there when the receiver left");
    let last = sender.lock().take();
    drop(last);
    assert_eq!(drops.load(Ordering::Relaxed), 8, "the others go with the ring");
}

#[test]
fn a_receiver_leaves_while_its_sender_goes_on() {
    leave_a_sender_that_goes_on::<Indexed>();
    leave_a_sender_that_goes_on::<Flagged>();
}

#[test]
fn what_an_iterator_gave_before_it_panicked_is_written() {
    for capacity in [2, 8] {
        let (mut sender, mut receiver) = ends::<u64, Indexed>(capacity);
        let values = (0..).map(|number| if number < 2 { number } else { panic!("as told") });
        let write = std::panic::AssertUnwindSafe(|| sender.write_from(values));
        let written = std::panic::catch_unwind(write);
        assert_eq!(written.is_err(), capacity > 2);
        sender.flush().expect("a receiver");
        assert_eq!(receiver.drain().collect::<Vec<_>>(), [0, 1]);
    }
}

#[test]
#[should_panic = "memory for the ring"]
#[cfg_attr(sanitized, ignore = "the sanitizers end a process that asks for so much")]
fn a_ring_larger_than_the_memory_is_a_panic() {
    drop(ends::<u64, Indexed>(1 << 50));
}

#[test]
#[should_panic(expected = "a capacity in reach")]
fn a_ring_of_slots_without_a_size_has_a_largest_capacity_too() {
    drop(ends::<(), Indexed>(1 << (usize::BITS - 1)));
}
