//! loom: nobody waits who might go on, who waits stays below the mark, who has a place sees what was done with it
//! before, an alert is not lost, and the reports alternate.

use super::{Level, Mark, Marks};
use crate::sync::{UnsafeCell, thread};
use loom::sync::{Arc, Notify};
use std::pin::pin;
use std::sync::{Arc as StdArc, Mutex};
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

/// A level and what it reports; who writes the reports holds its lock.
struct Room {
    level: Level,
    reports: Mutex<Vec<bool>>,
    alerts: Mutex<usize>,
    /// Of whoever has the only place, where there is one.
    visits: UnsafeCell<usize>,
}

// SAFETY: that the visits are one thread's at a time is what loom checks.
unsafe impl Sync for Room {}

impl Marks for &Room {
    fn rose(&self) {
        self.reports.lock().unwrap().push(true);
    }
    fn fell(&self) {
        self.reports.lock().unwrap().push(false);
    }
    fn alerted(&self) {
        *self.alerts.lock().unwrap() += 1;
    }
}

impl Room {
    fn new(high: usize) -> Arc<Self> {
        let level = Level::new(Mark { high, low: high / 2, resume: high / 2 });
        let (reports, alerts, visits) = (Mutex::default(), Mutex::default(), UnsafeCell::new(0));
        Arc::new(Self { level, reports, alerts, visits })
    }

    fn visit(&self) {
        drop(block_on(self.level.take(1, self)).expect("it is open"));
    }

    /// A visit of a room with one place.
    fn visit_alone(&self) {
        let place = block_on(self.level.take(1, self)).expect("it is open");
        // SAFETY: nobody else has a place, which loom checks.
        self.visits.with_mut(|visits| unsafe { *visits += 1 });
        drop(place);
    }

    /// All have left: it is as new, and each rise was followed by a fall.
    fn is_settled(&self, peak_max: usize) {
        let reading = self.level.read();
        assert!(reading.count == 0 && !reading.is_overloaded, "{reading:?}");
        assert!(reading.peak <= peak_max, "{reading:?}");
        let reports = self.reports.lock().unwrap();
        assert!(reports.len().is_multiple_of(2), "{reports:?}");
        for (index, rose) in reports.iter().enumerate() {
            assert_eq!(*rose, index % 2 == 0, "{reports:?}");
        }
    }
}

fn visitor(room: &Arc<Room>, visits: usize) -> thread::JoinHandle<()> {
    let room = room.clone();
    thread::spawn(move || (0..visits).for_each(|_| room.visit()))
}

#[test]
fn who_waits_goes_on() {
    loom::model(|| {
        let room = Room::new(1);
        let other = room.clone();
        let other = thread::spawn(move || other.visit_alone());
        room.visit_alone();
        other.join().unwrap();
        room.is_settled(1);
    });
}

#[test]
fn who_passes_holds_the_others_back() {
    loom::model(|| {
        let room = Room::new(2);
        let waits = visitor(&room, 1);
        room.level.take_anyway(1, &*room);
        room.level.take_anyway(1, &*room);
        room.level.give(1, &*room);
        room.level.give(1, &*room);
        waits.join().unwrap();
        room.is_settled(3);
    });
}

#[test]
fn who_gives_up_lets_the_others_go_on() {
    loom::model(|| {
        let room = Room::new(1);
        room.level.take_anyway(1, &*room);
        let waits = visitor(&room, 1);
        let gives = {
            let room = room.clone();
            thread::spawn(move || room.level.give(1, &*room))
        };
        {
            let mut take = pin!(room.level.take(1, &*room));
            let polled = take.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            drop(polled);
        }
        gives.join().unwrap();
        waits.join().unwrap();
        room.is_settled(1);
    });
}

#[test]
fn an_alert_or_the_look_before_it_finds_what_comes() {
    loom::model(|| {
        let room = Room::new(8);
        let comes = {
            let room = room.clone();
            thread::spawn(move || room.level.take_anyway(1, &*room))
        };
        let found = room.level.arm();
        comes.join().unwrap();
        assert!(found || *room.alerts.lock().unwrap() == 1);
    });
}
