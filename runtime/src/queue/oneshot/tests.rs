//! The reply slot under real threads.

use super::pair;
use crate::sync::{rounds, thread};
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

struct Unpark(thread::Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return value;
        }
        thread::park();
    }
}

#[test]
fn values_cross_threads_whole() {
    for round in 0..rounds(2_000, 2_000, 12) as u64 {
        let (sender, mut receiver) = pair::<[u64; 9]>();
        let thread = thread::spawn(move || sender.send([round; 9]).is_ok());
        assert_eq!(block_on(poll_fn(|cx| receiver.poll(cx))), Some([round; 9]));
        assert!(thread.join().unwrap());
    }
}

#[test]
fn every_value_is_dropped_once_whoever_leaves_first() {
    let value = Arc::new(());
    for round in 0..rounds(2_000, 2_000, 12) {
        let (sender, mut receiver) = pair::<Arc<()>>();
        let sent = Arc::clone(&value);
        let thread = thread::spawn(move || {
            if round % 3 > 0 {
                drop(sender.send(sent));
            }
        });
        if round % 2 == 0 {
            let _ = receiver.poll(&mut Context::from_waker(Waker::noop()));
        }
        drop(receiver);
        thread.join().unwrap();
    }
    assert_eq!(Arc::strong_count(&value), 1);
}

#[test]
fn a_refusal_is_told_from_a_sender_that_left() {
    for round in 0..rounds(500, 500, 12) {
        let (sender, mut receiver) = pair::<u64>();
        let refuses = round % 2 == 0;
        let thread = thread::spawn(move || if refuses { sender.refuse(7) } else { drop(sender) });
        if round % 3 == 0 {
            // Nobody waits for it.
            drop(receiver);
        } else {
            assert_eq!(block_on(poll_fn(|cx| receiver.poll(cx))), None);
            assert_eq!(receiver.refusal(), if refuses { 7 } else { 0 });
        }
        thread.join().unwrap();
    }
}
