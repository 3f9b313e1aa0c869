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
                sender.send(Box::new(1)).await.expect("a receiver");
                sender.send(Box::new(2)).await.expect("a receiver");
            });
        });
        block_on(async {
            assert_eq!(receiver.recv().await.as_deref(), Some(&1));
            assert_eq!(receiver.recv().await.as_deref(), Some(&2));
        });
        thread.join().expect("no panic");
    });
}

#[test]
fn a_sender_that_waits_learns_that_the_receiver_left() {
    loom::model(|| {
        let (mut sender, receiver) = waiting::<Box<usize>>(1);
        let thread = thread::spawn(move || {
            block_on(async {
                let first = sender.send(Box::new(1)).await;
                let second = sender.send(Box::new(2)).await;
                let third = sender.send(Box::new(3)).await;
                assert!(third.is_err() && (first.is_err() <= second.is_err()));
            });
        });
        drop(receiver);
        thread.join().expect("no panic");
    });
}
