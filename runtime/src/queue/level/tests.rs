//! The level against a count and a deque, step by step.

use super::{Level, Mark, Marks, Reading, Take};
use crate::queue::permits::Taking;
use crate::sync::rounds;
use proptest::prelude::*;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

const HIGH: usize = 6;
const LOW: usize = 3;

#[derive(Clone, Debug)]
enum Step {
    TryTake(usize),
    TakeAnyway(usize),
    Wait(usize),
    Give(usize),
    Poll(usize),
    GiveUp(usize),
    Arm,
    Close,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        30 => (1..=3_usize).prop_map(Step::TryTake),
        10 => (1..=3_usize).prop_map(Step::TakeAnyway),
        40 => (1..=3_usize).prop_map(Step::Wait),
        70 => (1..=3_usize).prop_map(Step::Give),
        30 => (0..8_usize).prop_map(Step::Poll),
        15 => (0..8_usize).prop_map(Step::GiveUp),
        5 => Just(Step::Arm),
        1 => Just(Step::Close),
    ];
    prop::collection::vec(step, 1..rounds(90, 90, 20))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Report {
    Rose,
    Fell,
    Alerted,
}

/// Writes down what it is told.
#[derive(Debug, Default)]
struct Book(RefCell<Vec<Report>>);

impl Marks for &Book {
    fn rose(&self) {
        self.0.borrow_mut().push(Report::Rose);
    }
    fn fell(&self) {
        self.0.borrow_mut().push(Report::Fell);
    }
    fn alerted(&self) {
        self.0.borrow_mut().push(Report::Alerted);
    }
}

#[derive(Default)]
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A wait that has begun.
struct Wish<'a> {
    take: Pin<Box<Take<'a, &'a Book>>>,
    woken: Arc<Woken>,
    id: u64,
}

/// A level as anyone would write it down.
#[derive(Default)]
struct Twin {
    resume: usize,
    count: usize,
    peak: usize,
    waiting: VecDeque<(u64, usize)>,
    served: VecDeque<(u64, usize)>,
    is_overloaded: bool,
    is_alert: bool,
    closed: bool,
    told: Vec<Report>,
}

impl Twin {
    fn rise(&mut self) {
        if !self.is_overloaded && !self.closed {
            self.is_overloaded = true;
            self.told.push(Report::Rose);
        }
    }

    fn enter(&mut self, count: usize) {
        self.count += count;
        self.peak = self.peak.max(self.count);
        if self.count >= HIGH {
            self.rise();
        }
        if std::mem::take(&mut self.is_alert) {
            self.told.push(Report::Alerted);
        }
    }

    fn admits(&self, count: usize) -> bool {
        self.waiting.is_empty()
            && self.count + count <= HIGH
            && (!self.is_overloaded || self.count <= self.resume)
    }

    fn try_take(&mut self, count: usize) -> Taking {
        if self.closed {
            return Taking::Closed;
        }
        if !self.admits(count) {
            if self.count > LOW {
                self.rise();
            }
            return Taking::Short;
        }
        self.enter(count);
        Taking::Taken
    }

    fn wait(&mut self, id: u64, count: usize) {
        match self.try_take(count) {
            Taking::Short => {
                self.rise();
                self.waiting.push_back((id, count));
            }
            _ => self.served.push_back((id, count)),
        }
    }

    fn settle(&mut self) {
        if self.waiting.is_empty() && self.is_overloaded && self.count <= LOW {
            self.is_overloaded = false;
            self.told.push(Report::Fell);
        }
    }

    fn serve(&mut self) {
        if self.count <= self.resume {
            while let Some(&(id, count)) =
                self.waiting.front().filter(|first| self.count + first.1 <= HIGH)
            {
                self.waiting.pop_front();
                self.count += count;
                self.peak = self.peak.max(self.count);
                self.served.push_back((id, count));
            }
        }
        self.settle();
    }

    fn give(&mut self, count: usize) {
        self.count -= count;
        self.serve();
    }

    fn close(&mut self) {
        self.closed = true;
        self.waiting.clear();
        self.settle();
    }
}

#[expect(clippy::too_many_lines, reason = "one arm for each step")]
fn run(steps: Vec<Step>, resume: usize) {
    let book = Book::default();
    let level = Level::new(Mark { high: HIGH, low: LOW, resume });
    let mut twin = Twin { resume, ..Twin::default() };
    let mut wishes: Vec<Wish<'_>> = Vec::new();
    let mut held = 0;
    for (id, step) in (0..).zip(steps) {
        match step {
            Step::TryTake(count) => {
                let taking = level.try_take(count, &book);
                assert_eq!(taking, twin.try_take(count));
                held += if taking == Taking::Taken { count } else { 0 };
            }
            Step::TakeAnyway(count) => {
                level.take_anyway(count, &book);
                twin.enter(count);
                held += count;
            }
            Step::Wait(count) => {
                let woken = Arc::new(Woken::default());
                let mut take = Box::pin(level.take(count, &book));
                let polled = poll(&mut take, &woken);
                let was_closed = twin.closed;
                twin.wait(id, count);
                match polled {
                    Poll::Ready(places) => {
                        assert_eq!(places.is_none(), was_closed);
                        assert_eq!(twin.served.pop_back(), Some((id, count)));
                        if let Some(places) = places {
                            places.keep();
                            held += count;
                        }
                    }
                    Poll::Pending => wishes.push(Wish { take, woken, id }),
                }
            }
            Step::Give(count) if held >= count => {
                held -= count;
                level.give(count, &book);
                twin.give(count);
            }
            Step::Poll(at) if !wishes.is_empty() => {
                let at = at % wishes.len();
                let wish = &mut wishes[at];
                let waits = twin.waiting.iter().any(|(id, _)| *id == wish.id);
                let served = twin.served.iter().position(|(id, _)| *id == wish.id);
                match poll(&mut wish.take, &wish.woken) {
                    Poll::Pending => assert!(waits, "who waits no longer is ready"),
                    Poll::Ready(places) => {
                        assert!(!waits && wish.woken.0.load(Ordering::Relaxed));
                        // A close ends also waits that were served and not yet looked at.
                        assert_eq!(places.is_none(), twin.closed);
                        let count = served.and_then(|at| twin.served.remove(at));
                        // Without places, they are lost with the level.
                        if let Some(places) = places {
                            places.keep();
                            held += count.expect("it is served").1;
                        }
                        drop(wishes.remove(at));
                    }
                }
            }
            Step::GiveUp(at) if !wishes.is_empty() => {
                let wish = wishes.remove(at % wishes.len());
                drop(wish.take);
                let served = twin.served.iter().position(|(id, _)| *id == wish.id);
                if let Some((_, count)) = served.and_then(|at| twin.served.remove(at)) {
                    if !twin.closed {
                        twin.give(count);
                    }
                } else {
                    twin.waiting.retain(|(id, _)| *id != wish.id);
                    twin.serve();
                }
            }
            Step::Arm => {
                assert_eq!(level.arm(), twin.count > 0);
                twin.is_alert = true;
            }
            Step::Close => {
                level.close(&book);
                twin.close();
            }
            Step::Give(_) | Step::Poll(_) | Step::GiveUp(_) => {}
        }
        let Twin { count, peak, is_overloaded, .. } = twin;
        assert_eq!(level.read(), Reading { count, peak, is_overloaded });
        assert_eq!(level.is_occupied(), count > 0);
        assert_eq!(*book.0.borrow(), twin.told);
    }
}

fn poll<F: Future>(future: &mut Pin<Box<F>>, woken: &Arc<Woken>) -> Poll<F::Output> {
    future.as_mut().poll(&mut Context::from_waker(&Waker::from(Arc::clone(woken))))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn it_follows_its_twin(steps in steps()) {
        run(steps, LOW);
    }

    #[test]
    fn without_hysteresis_it_follows_its_twin(steps in steps()) {
        run(steps, HIGH);
    }
}
