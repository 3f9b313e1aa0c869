//! The permits against a count and a deque, step by step.

use super::{Permits, Take, Taking};
use crate::sync::rounds;
use proptest::prelude::*;
use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

const MAX: usize = 4;

#[derive(Clone, Debug)]
enum Step {
    TryTake(usize),
    Wait(usize),
    Give(usize),
    Poll(usize),
    GiveUp(usize),
    Close,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        40 => (1..=MAX).prop_map(Step::TryTake),
        40 => (1..=MAX).prop_map(Step::Wait),
        60 => (1..=MAX).prop_map(Step::Give),
        30 => (0..8_usize).prop_map(Step::Poll),
        20 => (0..8_usize).prop_map(Step::GiveUp),
        1 => Just(Step::Close),
    ];
    prop::collection::vec(step, 1..rounds(80, 80, 20))
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
    take: Pin<Box<Take<'a>>>,
    woken: Arc<Woken>,
    id: u64,
}

/// Free permits, who waits for how many, and who has got theirs.
#[derive(Default)]
struct Twin {
    free: usize,
    waiting: VecDeque<(u64, usize)>,
    served: VecDeque<(u64, usize)>,
    closed: bool,
}

impl Twin {
    fn try_take(&mut self, count: usize) -> Taking {
        if self.closed {
            return Taking::Closed;
        }
        if !self.waiting.is_empty() || self.free < count {
            return Taking::Short;
        }
        self.free -= count;
        Taking::Taken
    }

    fn serve(&mut self) {
        while let Some(&(id, count)) = self.waiting.front().filter(|first| first.1 <= self.free) {
            self.waiting.pop_front();
            self.free -= count;
            self.served.push_back((id, count));
        }
    }

    /// What a poll of a wait finds.
    fn poll(&mut self, id: u64) -> Poll<bool> {
        if self.waiting.iter().any(|(waiting, _)| *waiting == id) {
            return Poll::Pending;
        }
        let place = self.served.iter().position(|(served, _)| *served == id);
        self.served.remove(place.expect("a wait is in one of them"));
        Poll::Ready(!self.closed)
    }

    fn give_up(&mut self, id: u64) {
        self.waiting.retain(|(waiting, _)| *waiting != id);
        if let Some(place) = self.served.iter().position(|(served, _)| *served == id) {
            self.free += self.served.remove(place).map_or(0, |(_, count)| count);
        }
        self.serve();
    }
}

proptest! {
    #[test]
    fn they_do_what_a_count_and_a_deque_do(steps in steps()) {
        let permits = Permits::new(MAX);
        let mut twin = Twin { free: MAX, ..Twin::default() };
        let (mut wishes, mut next): (Vec<Wish<'_>>, u64) = (Vec::new(), 0);
        for step in steps {
            match step {
                Step::TryTake(count) => prop_assert_eq!(permits.try_take(count), twin.try_take(count)),
                Step::Wait(count) => {
                    let mut wish = Wish { take: Box::pin(permits.take(count)), woken: Arc::default(), id: next };
                    next += 1;
                    let waker = Waker::from(Arc::clone(&wish.woken));
                    let polled = wish.take.as_mut().poll(&mut Context::from_waker(&waker));
                    match twin.try_take(count) {
                        Taking::Short => {
                            prop_assert!(polled.is_pending());
                            twin.waiting.push_back((wish.id, count));
                            wishes.push(wish);
                        }
                        taking => {
                            let Poll::Ready(permit) = polled else { panic!("it need not wait") };
                            prop_assert_eq!(permit.is_some(), taking == Taking::Taken);
                            permit.into_iter().for_each(super::Permit::keep);
                        }
                    }
                }
                Step::Give(count) => {
                    permits.give(count);
                    twin.free += count;
                    twin.serve();
                }
                Step::Poll(at) => if at < wishes.len() {
                    let wish = &mut wishes[at];
                    let waker = Waker::from(Arc::clone(&wish.woken));
                    let polled = wish.take.as_mut().poll(&mut Context::from_waker(&waker));
                    let polled = polled.map(|permit| permit.map(super::Permit::keep).is_some());
                    prop_assert_eq!(polled, twin.poll(wish.id));
                    if polled.is_ready() {
                        prop_assert!(wishes.remove(at).woken.0.load(Ordering::Relaxed), "it was woken");
                    }
                },
                Step::GiveUp(at) => if at < wishes.len() && !twin.closed {
                    let wish = wishes.remove(at);
                    twin.give_up(wish.id);
                    drop(wish);
                },
                Step::Close => {
                    permits.close();
                    twin.closed = true;
                    twin.served.append(&mut twin.waiting);
                }
            }
            let woken = wishes.iter().filter(|wish| wish.woken.0.load(Ordering::Relaxed)).count();
            prop_assert_eq!(woken, twin.served.len(), "those who are served are woken, and nobody else");
        }
    }
}
