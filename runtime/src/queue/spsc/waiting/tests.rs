//! Ends that wait, on a real executor.

use super::waiting;
use crate::queue::spsc::{TryRecvError, WriteError};
use crate::sync::rounds;
use std::task::{Context, Poll, Waker};

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
