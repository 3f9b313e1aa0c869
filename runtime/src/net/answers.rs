//! Answers that the other node waits for: polled where they were asked for, when something was done for them.
//!
//! Each waits in a place of its own, whose waker notes the place and then wakes whoever polls. Places are used
//! again, so a question takes no memory of the allocator's beside that of its answer. One alarm serves all of them:
//! it goes off when the first of them may be late, and is not put off when that one is answered.

use super::frame::Frame;
use super::message::Answer;
use super::outlet::Outlet;
use super::reference::Lent;
use super::streams::{self, Voyage};
use super::transport::Order;
use super::{scratch, spare};
use crate::event::Undelivered;
use crate::sync::panic::quietly;
use crate::sync::{Arc, AtomicBool, Mutex, Ordering, Wake, waker};
use crate::task::core::{Alarm, AlarmKey};
use crate::time::Time;
use std::collections::VecDeque;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// Between two looks for those that are late, which go through all of them.
const LATE_LOOK: Duration = Duration::from_millis(1);

/// Which question it is, and until when somebody waits.
#[derive(Clone, Copy)]
pub(super) struct Question {
    pub(super) correlation: u64,
    pub(super) until: Time,
}

/// See the [module](self).
pub(super) struct Answers {
    outlet: Arc<Outlet>,
    /// The same one, for what is encoded.
    lent: Lent,
    places: Vec<Place>,
    free: Vec<usize>,
    woken: Arc<Woken>,
    /// Places that are to be looked at.
    due: VecDeque<usize>,
    late_mark: Arc<Mark>,
    /// Wakes `late_mark`, when the first of them may be late.
    late: Waker,
    alarm: Option<(Time, AlarmKey)>,
    /// When those that are late are looked for again at the earliest.
    next_look: Time,
}

struct Place {
    mark: Arc<Mark>,
    /// Wakes `mark`.
    waker: Waker,
    waiting: Option<(Answer, Question)>,
}

/// Places for which something was done.
struct Woken {
    places: Mutex<Vec<usize>>,
    poller: Waker,
}

/// Notes its place; a place that there is not stands for those that are late.
struct Mark {
    place: usize,
    woken: Arc<Woken>,
    /// Whether it is noted.
    is_noted: AtomicBool,
}

impl Mark {
    fn new(place: usize, woken: &Arc<Woken>) -> Arc<Self> {
        Arc::new(Self { place, woken: woken.clone(), is_noted: AtomicBool::new(false) })
    }
}

impl Wake for Mark {
    fn wake(&self) {
        // AcqRel: releases what was done to the swap in `Answers::poll`; pairs with it.
        if !self.is_noted.swap(true, Ordering::AcqRel) {
            self.woken.places.lock().push(self.place);
            self.woken.poller.wake_by_ref();
        }
    }
}

/// The place of those that are late.
const LATE: usize = usize::MAX;

impl Answers {
    /// No answers to the node at the other end; `poller` is woken to call [`Answers::turn`].
    pub(super) fn new(outlet: Arc<Outlet>, poller: &Waker) -> Self {
        let woken = Arc::new(Woken { places: Mutex::new(Vec::new()), poller: poller.clone() });
        let late_mark = Mark::new(LATE, &woken);
        let late = waker(late_mark.clone());
        let (places, free, due) = (Vec::new(), Vec::new(), VecDeque::new());
        let lent = Lent::new(outlet.clone());
        Self {
            outlet,
            lent,
            places,
            free,
            woken,
            due,
            late_mark,
            late,
            alarm: None,
            next_look: Time(0),
        }
    }

    /// Sends an answer when it is there, or that there is none. [ENV-8]
    pub(super) fn wait(&mut self, answer: Answer, question: Question) {
        let at = self.free.pop().unwrap_or_else(|| {
            let mark = Mark::new(self.places.len(), &self.woken);
            let waker = waker(mark.clone());
            self.places.push(Place { mark, waker, waiting: None });
            self.places.len() - 1
        });
        self.places[at].waiting = Some((answer, question));
        if self.outlet.is_pressed() {
            self.due.push_back(at);
        } else {
            self.poll(at);
        }
        if self.places[at].waiting.is_some() {
            self.watch(question.until);
        }
    }

    /// Looks at those for which something was done. While too much waits to leave, they stay as they are, unless they are
    /// late.
    pub(super) fn turn(&mut self) {
        let mut is_late = false;
        let new = |at: &usize| {
            is_late |= *at == LATE;
            *at != LATE
        };
        self.due.extend(self.woken.places.lock().drain(..).filter(new));
        if is_late {
            self.give_up();
        }
        while !self.outlet.is_pressed()
            && let Some(at) = self.due.pop_front()
        {
            self.poll(at);
        }
    }

    fn poll(&mut self, at: usize) {
        let place = &mut self.places[at];
        // AcqRel: acquires what the waker has seen; pairs with its swap.
        place.mark.is_noted.swap(false, Ordering::AcqRel);
        let Some((answer, Question { correlation, .. })) = &mut place.waiting else { return };
        let correlation = *correlation;
        let mut frame = scratch::take();
        Frame::Answer { correlation, bytes: &[] }.write(&mut frame);
        let mut outcome = Poll::Ready(Err(Undelivered::NotEncoded));
        let mut cx = Context::from_waker(&place.waker);
        // A codec is anybody's code.
        let poll = || self.lent.during(|| outcome = answer.poll(&mut cx, &mut frame));
        let carried = streams::carrying(Voyage::Unwatched, || quietly(poll));
        let Poll::Ready(outcome) = outcome else { return scratch::give(frame) };
        if let Some((answer, _)) = self.places[at].waiting.take() {
            spare::give(answer);
        }
        self.free.push(at);
        // That too much is to be said, the next frame meets, too.
        match outcome {
            Ok(()) => {
                self.outlet.say_bytes(Order::Free, frame);
            }
            Err(why) => {
                self.outlet.streams().lose(&carried);
                scratch::give(frame);
                self.outlet.say(Order::Free, &Frame::Unanswered { correlation, why });
            }
        }
    }

    /// Makes sure that those that are late by then are looked for.
    fn watch(&mut self, until: Time) {
        if until == Time::NEVER {
            return;
        }
        let until = until.max(self.next_look);
        if self.alarm.as_ref().is_some_and(|(due, _)| *due <= until) {
            return;
        }
        self.cancel();
        let alarm = Alarm::Wake(self.late.clone());
        self.alarm = Some((until, self.outlet.core().set_alarm(until, alarm)));
    }

    fn cancel(&mut self) {
        if let Some((_, key)) = self.alarm.take() {
            self.outlet.core().cancel_alarm(key);
        }
    }

    /// Says of those that are late that there is no answer.
    fn give_up(&mut self) {
        // AcqRel: as in `poll`.
        self.late_mark.is_noted.swap(false, Ordering::AcqRel);
        let now = self.outlet.core().clock.now();
        self.cancel();
        // None that waits for ever is late; `Time::NEVER` is later than any other.
        let mut next = Time::NEVER;
        for at in 0..self.places.len() {
            let Some((_, question)) = &self.places[at].waiting else { continue };
            let Question { correlation, until } = *question;
            if until > now {
                next = next.min(until);
                continue;
            }
            // It may have come, and is what somebody else made.
            let waiting = self.places[at].waiting.take();
            quietly(|| drop(waiting));
            self.free.push(at);
            let why = Undelivered::Expired;
            self.outlet.say(Order::Free, &Frame::Unanswered { correlation, why });
        }
        self.next_look = now.after(LATE_LOOK);
        self.watch(next);
    }
}

impl Drop for Answers {
    fn drop(&mut self) {
        self.cancel();
        for place in &mut self.places {
            let waiting = place.waiting.take();
            // As in `give_up`.
            quietly(|| drop(waiting));
        }
    }
}
