//! loom: a permit is one's at a time, nobody waits for what is there, and nothing is lost with those who
//! give up.

use super::{Permits, Taking};
use crate::sync::{UnsafeCell, thread};
use loom::sync::{Arc, Notify};
use std::pin::pin;
use std::sync::Arc as StdArc;
use std::task::{Context, Poll, Wake, Waker};

struct Bell(Notify);

impl Wake for Bell {
    fn wake(self: StdArc<Self>) {
        self.0.notify();
    }
}

/// Polls until it is ready, asleep in between; a lost wake-up is a deadlock, which loom reports.
fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let bell = StdArc::new(Bell(Notify::new()));
    let waker = Waker::from(bell.clone());
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => bell.0.wait(),
        }
    }
}

struct Room {
    permits: Permits,
    /// Whoever has all permits has this to itself.
    state: UnsafeCell<usize>,
}

// SAFETY: that one thread at a time has all permits is what loom checks.
unsafe impl Sync for Room {}

impl Room {
    fn new(count: usize) -> Arc<Self> {
        Arc::new(Self { permits: Permits::new(count), state: UnsafeCell::new(0) })
    }

    fn count_up(&self) {
        // SAFETY: loom checks it.
        self.state.with_mut(|state| unsafe { *state += 1 });
    }

    fn visit(&self, count: usize) {
        block_on(self.permits.take(count)).expect("it is open").keep();
        self.count_up();
        self.permits.give(count);
    }

    fn visits(&self) -> usize {
        // SAFETY: the other threads have ended.
        self.state.with(|state| unsafe { *state })
    }
}

#[test]
fn three_senders_share_room_for_one() {
    loom::model(|| {
        let room = Room::new(1);
        let visitors = [(); 2].map(|()| {
            let room = room.clone();
            thread::spawn(move || room.visit(1))
        });
        room.visit(1);
        visitors.into_iter().for_each(|visitor| visitor.join().expect("no panic"));
        assert_eq!(room.visits(), 3);
        assert_eq!(room.permits.try_take(1), Taking::Taken, "nothing is lost");
        assert_eq!(room.permits.try_take(1), Taking::Short, "nothing is doubled");
    });
}

#[test]
fn two_senders_of_two_messages_never_exceed_a_bound_of_two() {
    loom::model(|| {
        let room = Room::new(2);
        let sender = room.clone();
        // Permits of its messages are given back by the other one, as a receiver does.
        let sender = thread::spawn(move || {
            for _ in 0..2 {
                block_on(sender.permits.take(1)).expect("it is open").keep();
            }
        });
        let mut taken = 0;
        while room.permits.try_take(1) == Taking::Taken {
            taken += 1;
        }
        assert!(taken <= 2);
        room.permits.give(taken);
        sender.join().expect("no panic");
        assert_eq!(room.permits.try_take(1), Taking::Short, "the sender has them");
        room.permits.give(2);
        assert_eq!(room.permits.try_take(2), Taking::Taken, "nothing is lost");
    });
}

#[test]
fn a_large_wish_is_not_passed_by() {
    loom::model(|| {
        let room = Room::new(2);
        let visitors = [(); 2].map(|()| {
            let room = room.clone();
            thread::spawn(move || room.visit(2))
        });
        block_on(room.permits.take(1)).expect("it is open").keep();
        room.permits.give(1);
        visitors.into_iter().for_each(|visitor| visitor.join().expect("no panic"));
        assert_eq!(room.visits(), 2);
        assert_eq!(room.permits.try_take(2), Taking::Taken, "nothing is lost");
    });
}

#[test]
fn who_gives_up_takes_nothing_with_it() {
    loom::model(|| {
        let room = Room::new(1);
        assert_eq!(room.permits.try_take(1), Taking::Taken);
        let giver = room.clone();
        let giver = thread::spawn(move || giver.permits.give(1));
        let patient = room.clone();
        let patient = thread::spawn(move || patient.visit(1));
        {
            let mut take = pin!(room.permits.take(1));
            let polled = take.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            drop(polled);
        }
        giver.join().expect("no panic");
        patient.join().expect("no panic");
        assert_eq!(room.permits.try_take(1), Taking::Taken, "nothing is lost");
    });
}

#[test]
fn a_close_ends_every_wait() {
    loom::model(|| {
        let room = Room::new(1);
        assert_eq!(room.permits.try_take(1), Taking::Taken);
        let closer = room.clone();
        let closer = thread::spawn(move || closer.permits.close());
        let giver = room.clone();
        let giver = thread::spawn(move || giver.permits.give(1));
        // Served, or told of the close; never asleep for ever.
        drop(block_on(room.permits.take(1)));
        closer.join().expect("no panic");
        giver.join().expect("no panic");
        assert_eq!(room.permits.try_take(1), Taking::Closed);
        assert!(block_on(room.permits.take(1)).is_none());
    });
}
