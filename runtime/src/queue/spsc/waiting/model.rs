//! loom: who waits is woken, for a value, for room, and when the other end leaves.

use super::waiting;
use crate::sync::thread;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

/// Lets a thread of the model go on.
struct Unpark(thread::Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Polls a future whenever it is woken, and never else.
fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}

#[test]
fn a_receiver_that_waits_gets_every_value_and_the_end() {
    loom::model(|| {
        let (mut sender, mut receiver) = waiting::<Box<usize>>(2);
        let thread = thread::spawn(move || {
            sender.write(Box::new(1)).expect("room");
            let _ = sender.flush();
        });
        block_on(async {
            assert_eq!(receiver.recv().await.as_deref(), Some(&1));
            assert_eq!(receiver.recv().await, None);
        });
        thread.join().expect("no panic");
    });
}

#[test]
fn a_sender_that_waits_gets_room() {
    loom::model(|| {
        let (mut sender, mut receiver) = waiting::<Box<usize>>(1);
        let thread = thread::spawn(move || {
            block_on(async {
                for value in 1..=3 {
                    sender.send(Box::new(value)).await.expect("a receiver");
                }
            });
        });
        block_on(async {
            for value in 1..=3 {
                assert_eq!(receiver.recv().await.as_deref(), Some(&value));
            }
        });
        thread.join().expect("no panic");
    });
}

/// It has taken as many as it was sent before, and looks for no more until the sender is done.
#[test]
fn a_sender_gets_room_from_a_receiver_that_waits_for_its_thread() {
    loom::model(|| {
        let (mut sender, mut receiver) = waiting::<usize>(1);
        let thread = thread::spawn(move || {
            block_on(async {
                for value in 1..=4 {
                    sender.send(value).await.expect("a receiver");
                }
            });
        });
        // The ring has two slots.
        for value in [1, 2] {
            block_on(async { assert_eq!(receiver.recv().await, Some(value)) });
        }
        thread.join().expect("no panic");
        for value in [3, 4] {
            block_on(async { assert_eq!(receiver.recv().await, Some(value)) });
        }
    });
}

#[test]
fn a_sender_that_waits_learns_that_the_receiver_left() {
    loom::model(|| {
        let (mut sender, receiver) = waiting::<Box<usize>>(1);
        let thread = thread::spawn(move || {
            block_on(async {
                let mut is_told = false;
                for value in 1..=4 {
                    let sent = sender.send(Box::new(value)).await;
                    assert!(sent.is_err() || !is_told, "it does not come back");
                    is_told = sent.is_err();
                }
                assert!(is_told, "there was no room for so many");
            });
        });
        drop(receiver);
        thread.join().expect("no panic");
    });
}

#[test]
fn a_sender_that_waits_for_the_end_hears_of_it() {
    loom::model(|| {
        let (mut sender, mut receiver) = waiting::<usize>(1);
        sender.write(1).expect("room");
        sender.flush().expect("a receiver");
        let thread = thread::spawn(move || {
            block_on(sender.closed());
            assert!(block_on(sender.ready()).is_err());
        });
        // Room wakes the sender, too, which waits on.
        assert_eq!(receiver.try_recv(), Ok(1));
        drop(receiver);
        thread.join().expect("no panic");
    });
}

/// Who has asked for the end is woken for room, and for the end thereafter.
#[test]
fn a_sender_that_waits_for_both_hears_of_both() {
    loom::model(|| {
        let (mut sender, mut receiver) = waiting::<usize>(1);
        assert_eq!(sender.write_from([1, 2]), 2);
        let thread = thread::spawn(move || {
            // Room, or the end if that came first.
            let _ = block_on(std::future::poll_fn(|cx| {
                let _ = sender.poll_closed(cx);
                sender.poll_ready(cx)
            }));
            block_on(sender.closed());
        });
        assert_eq!(receiver.try_recv(), Ok(1));
        drop(receiver);
        thread.join().expect("nobody waits for ever");
    });
}

#[test]
fn many_at_a_time_wait_for_room_and_for_values() {
    loom::model(|| {
        let (mut sender, mut receiver) = waiting::<usize>(1);
        let thread = thread::spawn(move || {
            let mut left = (1..=3).peekable();
            while left.peek().is_some() {
                block_on(sender.ready()).expect("a receiver");
                sender.write_from(&mut left);
                let _ = sender.flush();
            }
        });
        let mut sum = 0;
        while let Some(value) = block_on(receiver.recv()) {
            sum += value + receiver.drain().sum::<usize>();
        }
        assert_eq!(sum, 6);
        thread.join().expect("no panic");
    });
}
