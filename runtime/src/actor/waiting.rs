//! An asker's wait for its answer: until the deadline, and under the eye of the wait-for graph.
//!
//! An ask that is answered soon is not looked at. One that waits sets an alarm anyway; where it waits inside
//! a handler, the alarm goes off after a hundredth of a second for a first look, then each time after
//! four times as long as before, and at the deadline. A look records the edge from the actor that
//! asks to the one that is asked ([`crate::task::waits`]), and has the handler inspected: if it waits for nothing but
//! answers ([`crate::task::awaited`]), a cycle is searched for, and the ask that is a part of it fails in the next poll. Its
//! question waits for its own asker to be done, which would then wait for nothing: so it is withdrawn, or each circle
//! would be followed by the next one until the deadline.
//!
//! An ask that is over without an answer has gone, whether or not its future is kept: [`Waiting::leave`].
//!
//! Invariant: the wait ends before the receiver leaves its slot, which the graph looks at.

use super::cycle::AskCycle;
use super::error::AskError;
use crate::queue::oneshot::Receiver;
use crate::sync::planted;
use crate::task::cell::CellRef;
use crate::task::core::{Alarm, AlarmKey};
use crate::task::waits::Wait;
use crate::task::waker::with_actor_of;
use crate::time::Time;
use std::num::NonZeroU32;
use std::task::{Context, Poll};
use std::time::Duration;

/// How long an ask has waited when it is looked at first.
const FIRST_LOOK: Duration = Duration::from_millis(10);
/// How many times longer than before it is to the next look each time.
const LOOK_FACTOR: NonZeroU32 = NonZeroU32::new(4).unwrap();

/// The wait for one answer.
#[derive(Debug)]
pub(super) struct Waiting<'a, R> {
    /// Who was asked.
    pub(super) to: &'a CellRef,
    receiver: Receiver<R>,
    /// What there is once it has waited.
    watch: Option<Watch>,
}

#[derive(Debug)]
struct Watch {
    alarm: AlarmKey,
    /// How many times as long as until the first look it is until the next one.
    span: NonZeroU32,
    /// When the alarm goes off: for the next look, or at the deadline.
    due: Time,
    /// The actor that waits, where that is to be looked at.
    wait: Option<Wait>,
}

impl<'a, R> Waiting<'a, R> {
    pub(super) fn new(to: &'a CellRef, receiver: Receiver<R>, deadline: Time) -> Self {
        receiver.set_deadline(deadline.0);
        Self { to, receiver, watch: None }
    }

    /// When the wait ends at the latest.
    pub(super) fn deadline(&self) -> Time {
        Time(self.receiver.deadline())
    }

    /// Whether it has waited before.
    pub(super) fn has_waited(&self) -> bool {
        self.watch.is_some()
    }

    /// Whether another task than that of `cx` was the last to wait for the answer.
    pub(super) fn is_moved_to(&self, cx: &Context<'_>) -> bool {
        self.receiver.is_waited_for_by_another(cx.waker())
    }

    /// Asks for the answer to the question, which is on its way.
    pub(super) fn poll_answer(&mut self, cx: &mut Context<'_>) -> Poll<Result<R, AskError>> {
        self.receiver.poll(cx).map(|answer| answer.ok_or_else(|| self.unanswered()))
    }

    /// Why there is none: the question may have been found expired, and so it is then.
    #[cold]
    fn unanswered(&self) -> AskError {
        let why = self.receiver.refusal();
        if why != 0 {
            AskError::without_reply(why)
        } else if self.to.core.clock.now() >= self.deadline() {
            AskError::Expired
        } else {
            AskError::NoReply
        }
    }

    /// Ready when no answer is to be waited for any more; else sees that the task is woken when that may
    /// be so. `blocks` says that only the handler of who was asked answers; `moved`, that the task may be
    /// another one than before.
    pub(super) fn poll_over(
        &mut self,
        blocks: bool,
        moved: bool,
        cx: &mut Context<'_>,
    ) -> Poll<AskError> {
        let core = &self.to.core;
        if let Some(watch) = &self.watch {
            let now = core.clock.now();
            if now >= self.deadline() {
                return Poll::Ready(AskError::Expired);
            }
            let due = watch.due;
            let is_here = !moved || self.is_still_at(cx);
            if is_here && let Some(cycle) = self.cycle() {
                return Poll::Ready(AskError::Cycle(cycle));
            }
            if now >= due {
                self.look(now, cx);
                return Poll::Pending;
            }
            if is_here {
                return Poll::Pending;
            }
        }
        let mut before = self.watch.take();
        self.end_wait(before.as_mut());
        // Only who waits inside a handler keeps others waiting meanwhile.
        let wait = if blocks { self.begin_wait(cx) } else { None };
        let due = if wait.is_some() { core.slice_now().after(FIRST_LOOK) } else { Time::NEVER };
        self.set_watch(due, NonZeroU32::MIN, wait, cx);
        self.end_alarm(before.as_ref());
        Poll::Pending
    }

    /// Whether the wait-for graph sees that it waits.
    pub(super) fn is_seen(&self) -> bool {
        self.watch.as_ref().is_some_and(|watch| watch.wait.is_some())
    }

    /// Whether it is the handler of the same actor as before that waits.
    fn is_still_at(&self, cx: &Context<'_>) -> bool {
        let asker = self.watch.as_ref().and_then(|watch| watch.wait.as_ref()).map(Wait::asker);
        asker.is_some() && with_actor_of(cx.waker(), |polls| polls == asker)
    }

    /// The wait of the actor whose handler is polled, if it is of the same system as who was asked.
    fn begin_wait(&self, cx: &Context<'_>) -> Option<Wait> {
        let asker = with_actor_of(cx.waker(), |actor| actor.cloned())?;
        asker.is_in(&self.to.core).then(|| Wait::begin(asker))
    }

    /// Shows the wait to the wait-for graph, and has the handler inspected.
    #[cold]
    fn look(&mut self, now: Time, cx: &Context<'_>) {
        let Some(Watch { alarm, span, mut wait, .. }) = self.watch.take() else { return };
        let core = &self.to.core;
        // Others poll it by now, and the actor is not held up.
        let is_others =
            |wait: &Wait| with_actor_of(cx.waker(), |polls| polls != Some(wait.asker()));
        if let Some(left) = wait.take_if(|wait| is_others(wait)) {
            core.waits.end(left);
        }
        if let Some(wait) = &mut wait {
            wait.asker().inspect_handler();
            // SAFETY: by the module's invariant the wait ends before the receiver leaves.
            unsafe { core.waits.show(wait, self.to, self.receiver.witness()) };
        }
        let span = span.saturating_mul(LOOK_FACTOR);
        let due = now.after(FIRST_LOOK.saturating_mul(span.get()));
        self.set_watch(due, span, wait, cx);
        self.to.core.cancel_alarm(alarm);
    }

    /// The cycle that it was found to be a part of; the wait is over then.
    fn cycle(&mut self) -> Option<AskCycle> {
        let core = &self.to.core;
        let cycle = core.waits.cycle_of(self.watch.as_ref()?.wait.as_ref()?)?;
        planted!("cycle-goes-on": self.receiver.withdraw() => ());
        // The others on it may go on from here.
        self.end_watch();
        Some(AskCycle::of(&cycle))
    }

    fn set_watch(&mut self, due: Time, span: NonZeroU32, wait: Option<Wait>, cx: &Context<'_>) {
        let due = due.min(self.deadline());
        let alarm = self.to.core.set_alarm(due, Alarm::Wake(cx.waker().clone()));
        self.watch = Some(Watch { alarm, span, due, wait });
    }

    /// Goes, so that an answer which comes later is late; returns one that has come after all. Nothing else is to be
    /// called after it.
    pub(super) fn leave(&mut self) -> Option<R> {
        self.end_watch();
        if !self.receiver.is_waiting() {
            return None;
        }
        let core = self.to.core.clone();
        let count = move || core.events.counters.late_replies.add_one();
        planted!("late-reply-uncounted": self.receiver.give_up(Box::new(count)) => {
            drop(count);
            None
        })
    }

    /// Neither an alarm nor the wait-for graph is to know of it any more.
    fn end_watch(&mut self) {
        let mut watch = self.watch.take();
        self.end_wait(watch.as_mut());
        self.end_alarm(watch.as_ref());
    }

    /// The wait-for graph is not to know of it any more.
    fn end_wait(&self, watch: Option<&mut Watch>) {
        if let Some(wait) = watch.and_then(|watch| watch.wait.take()) {
            self.to.core.waits.end(wait);
        }
    }

    /// Takes the alarm back: after the next one is set, if one is.
    fn end_alarm(&self, watch: Option<&Watch>) {
        if let Some(watch) = watch {
            self.to.core.cancel_alarm(watch.alarm);
        }
    }
}

impl<R> Drop for Waiting<'_, R> {
    fn drop(&mut self) {
        drop(self.leave());
    }
}
