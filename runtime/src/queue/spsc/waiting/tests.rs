//! Ends that wait, on a real executor.

use super::waiting;
use crate::queue::spsc::{Disconnected, TryRecvError, WriteError};
use crate::sync::rounds;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};

/// Counts how often it is woken.
#[derive(Default)]
struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

impl Count {
    fn get(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn values_cross_between_tasks_in_order() {
    let values = rounds(20_000, 500, 8);
    for capacity in [1, 16] {
        let (mut sender, mut receiver) = waiting(capacity);
        let sending = tokio::spawn(async move {
            for value in 0..values {
                sender.send(value).await.expect("a receiver");
            }
        });
        for value in 0..values {
            assert_eq!(receiver.recv().await, Some(value));
        }
        assert_eq!(receiver.recv().await, None);
        sending.await.expect("no panic");
    }
}

#[test]
fn a_write_waits_for_its_flush() {
    let (mut sender, mut receiver) = waiting(4);
    let cx = Context::from_waker(Waker::noop());
    sender.write(1).expect("room");
    assert_eq!(receiver.poll_recv(&cx), Poll::Pending);
    sender.flush().expect("a receiver");
    assert_eq!(receiver.poll_recv(&cx), Poll::Ready(Some(1)));
    assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty));
    drop(sender);
    assert_eq!(receiver.poll_recv(&cx), Poll::Ready(None));
}

/// A receiver that has taken everything may wait for the sender by other means.
#[test]
fn all_room_is_given_back_with_the_last_value() {
    for capacity in [1, 2, 4, 8, 16] {
        let (mut sender, mut receiver) = waiting(capacity);
        let capacity = sender.capacity();
        for round in 0..3 {
            for value in 0..capacity {
                assert_eq!(sender.write(value), Ok(()), "round {round} of {capacity}");
            }
            sender.flush().expect("a receiver");
            for value in 0..capacity {
                assert_eq!(receiver.try_recv(), Ok(value));
            }
        }
    }
}

#[tokio::test]
async fn a_sender_learns_that_the_receiver_left() {
    let (mut sender, receiver) = waiting(2);
    sender.send(0).await.expect("room");
    sender.send(1).await.expect("room");
    let sending = tokio::spawn(async move { sender.send(2).await });
    tokio::task::yield_now().await;
    drop(receiver);
    assert_eq!(sending.await.expect("no panic"), Err(WriteError::Disconnected(2)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn values_cross_many_at_a_time() {
    let values = rounds(20_000, 500, 8);
    for capacity in [1, 16] {
        let (mut sender, mut receiver) = waiting(capacity);
        let sending = tokio::spawn(async move {
            let mut left = (0..values).peekable();
            while left.peek().is_some() {
                sender.ready().await.expect("a receiver");
                assert!(sender.write_from(&mut left) > 0, "there was room");
                sender.flush().expect("a receiver");
            }
        });
        let mut taken = Vec::new();
        while let Some(value) = receiver.recv().await {
            taken.push(value);
            taken.extend(receiver.drain());
        }
        assert!(taken.into_iter().eq(0..values));
        assert!(receiver.is_disconnected() && receiver.is_empty());
        sending.await.expect("no panic");
    }
}

/// Whoever waits for room is woken by the first quarter that is taken, whatever the receiver does in between.
#[test]
fn what_is_drained_makes_room_at_once() {
    let (mut sender, mut receiver) = waiting(8);
    let count = Arc::new(Count::default());
    let waker = Waker::from(Arc::clone(&count));
    let cx = Context::from_waker(&waker);
    assert_eq!(sender.write_from(0..9), 8);
    assert_eq!(sender.poll_ready(&cx), Poll::Pending, "it is full, and flushed");
    let mut drained = receiver.drain();
    assert_eq!((drained.next(), drained.next()), (Some(0), Some(1)));
    assert_eq!(count.get(), 1, "a quarter is taken");
    assert_eq!(sender.poll_ready(&cx), Poll::Ready(Ok(())));
    assert_eq!(drained.by_ref().collect::<Vec<_>>(), [2, 3, 4, 5, 6, 7]);
    assert_eq!(sender.write_from(0..9), 8);
}

#[test]
fn a_sender_hears_that_the_receiver_left_without_sending() {
    let (mut sender, receiver) = waiting::<u8>(2);
    let cx = Context::from_waker(Waker::noop());
    assert_eq!(sender.poll_closed(&cx), Poll::Pending);
    drop(receiver);
    assert_eq!(sender.poll_closed(&cx), Poll::Ready(()));
    assert_eq!(sender.poll_ready(&cx), Poll::Ready(Err(Disconnected)));
}

/// Who waits for the end may send meanwhile.
#[test]
fn a_sender_that_found_room_still_hears_that_the_receiver_left() {
    let (mut sender, receiver) = waiting::<u8>(2);
    let count = Arc::new(Count::default());
    let waker = Waker::from(Arc::clone(&count));
    let cx = Context::from_waker(&waker);
    assert_eq!(sender.poll_closed(&cx), Poll::Pending);
    assert_eq!(sender.poll_ready(&cx), Poll::Ready(Ok(())));
    drop(receiver);
    assert_eq!(count.get(), 1);
    assert_eq!(sender.poll_closed(&cx), Poll::Ready(()));
}

/// Two tasks share the sender: one waits for the end, the other one for room.
#[test]
fn who_waits_for_the_end_and_who_waits_for_room_are_both_woken() {
    for is_room_first in [false, true] {
        let (mut sender, mut receiver) = waiting::<u8>(2);
        assert_eq!(sender.write_from(0..9), 2);
        let [end, room] = [(); 2].map(|()| Arc::new(Count::default()));
        let wakers = [&end, &room].map(|count| Waker::from(Arc::clone(count)));
        let [end_cx, room_cx] = [0, 1].map(|number: usize| Context::from_waker(&wakers[number]));
        if is_room_first {
            assert_eq!(sender.poll_ready(&room_cx), Poll::Pending);
            assert_eq!(sender.poll_closed(&end_cx), Poll::Pending);
        } else {
            assert_eq!(sender.poll_closed(&end_cx), Poll::Pending);
            assert_eq!(sender.poll_send(&mut Some(9), &room_cx), Poll::Pending);
        }
        assert_eq!(receiver.try_recv(), Ok(0));
        assert_eq!((end.get(), room.get()), (0, 1), "room is no end");
        assert_eq!(sender.poll_ready(&room_cx), Poll::Ready(Ok(())));
        assert_eq!(sender.write_from([2]), 1);
        assert_eq!(sender.poll_ready(&room_cx), Poll::Pending);
        drop(receiver);
        assert_eq!((end.get(), room.get()), (1, 2), "the end is for both");
    }
}

#[test]
fn a_sender_that_goes_takes_its_wakers_along() {
    let (mut sender, receiver) = waiting::<u8>(2);
    let count = Arc::new(Count::default());
    let waker = Waker::from(Arc::clone(&count));
    assert_eq!(sender.write_from(0..9), 2);
    assert_eq!(sender.poll_closed(&Context::from_waker(&waker)), Poll::Pending);
    assert_eq!(sender.poll_ready(&Context::from_waker(&waker)), Poll::Pending);
    drop((sender, waker));
    assert_eq!(Arc::strong_count(&count), 1);
    drop(receiver);
    assert_eq!(count.get(), 0, "nobody is left to be woken");
}

#[test]
fn a_receiver_that_goes_takes_its_waker_along() {
    let (sender, mut receiver) = waiting::<u8>(2);
    let count = Arc::new(Count::default());
    let waker = Waker::from(Arc::clone(&count));
    assert_eq!(receiver.poll_recv(&Context::from_waker(&waker)), Poll::Pending);
    drop((receiver, waker));
    assert_eq!(Arc::strong_count(&count), 1);
    drop(sender);
    assert_eq!(count.get(), 0, "nobody is left to be woken");
}
