//! loom: a ring of two slots, bursts of three, and ends that leave.

use super::{Flagged, Indexed, Layout, TryRecvError, ends};
use crate::sync::thread;
use std::sync::Arc;

/// Takes until nothing more can come; gives way to the sender when there is nothing now.
fn drain<L: Layout>(receiver: &mut super::Receiver<Box<usize>, L>) -> Vec<usize> {
    let mut seen = Vec::new();
    loop {
        match receiver.try_recv() {
            Ok(value) => seen.push(*value),
            Err(TryRecvError::Empty) => thread::yield_now(),
            Err(TryRecvError::Disconnected) => return seen,
        }
    }
}

fn bursts_of_three<L: Layout>() {
    loom::model(|| {
        let (mut sender, mut receiver) = ends::<Box<usize>, L>(2);
        let thread = thread::spawn(move || {
            for value in 0..3 {
                let mut next = Box::new(value);
                while let Err(error) = sender.write(next) {
                    next = error.into_inner();
                    thread::yield_now();
                }
            }
            sender.flush().unwrap();
        });
        assert_eq!(drain(&mut receiver), [0, 1, 2]);
        thread.join().unwrap();
    });
}

#[test]
fn bursts_larger_than_the_ring_arrive_in_order() {
    bursts_of_three::<Indexed>();
}

#[test]
fn bursts_larger_than_the_ring_arrive_in_order_by_marks() {
    bursts_of_three::<Flagged>();
}

fn receiver_leaves<L: Layout>() {
    loom::model(|| {
        let value = Arc::new(());
        let (mut sender, mut receiver) = ends::<Arc<()>, L>(2);
        let sent = value.clone();
        let thread = thread::spawn(move || {
            let _ = sender.send(sent.clone());
            let _ = sender.write(sent);
            let _ = sender.flush();
        });
        drop(receiver.try_recv());
        drop(receiver);
        thread.join().unwrap();
        assert_eq!(Arc::strong_count(&value), 1, "each is dropped once");
    });
}

#[test]
fn what_a_leaving_receiver_leaves_is_dropped() {
    receiver_leaves::<Indexed>();
}

#[test]
fn what_a_leaving_receiver_leaves_is_dropped_by_marks() {
    receiver_leaves::<Flagged>();
}

fn sender_leaves<L: Layout>() {
    loom::model(|| {
        let (mut sender, mut receiver) = ends::<Box<usize>, L>(2);
        let thread = thread::spawn(move || {
            sender.write(Box::new(1)).unwrap();
            sender.write(Box::new(2)).unwrap();
        });
        let early = receiver.try_recv().ok();
        thread.join().unwrap();
        let late = drain(&mut receiver);
        let seen: Vec<_> = early.into_iter().map(|value| *value).chain(late).collect();
        assert_eq!(seen, [1, 2], "leaving flushes");
    });
}

#[test]
fn a_leaving_sender_takes_nothing_with_it() {
    sender_leaves::<Indexed>();
}

#[test]
fn a_leaving_sender_takes_nothing_with_it_by_marks() {
    sender_leaves::<Flagged>();
}
