//! What the node says by itself: it leaves at once where there is room, and joins the backlog otherwise.

use super::{Outlet, State};
use crate::event::Undelivered;
use crate::net::endings::ConnectionEnd;
use crate::net::frame::Frame;
use crate::net::scratch;
use crate::net::transport::{Order, SubmitError};
use crate::queue::oneshot;
use crate::sync::{Ordering, planted};
use std::future::poll_fn;
use std::task::Waker;

/// What is left to do about a frame when the lock is free.
#[must_use]
pub(super) struct Said {
    fits: bool,
    pump: Option<Waker>,
}

/// Somebody who waits until short frames have left that were said.
pub(super) struct Leaver {
    /// How many frames had waited by then.
    count: u64,
    /// Dropped when it is time.
    said: oneshot::Sender<()>,
}

impl Said {
    /// Does it; `false` if the peer has caused more than may wait.
    pub(super) fn finish(self) -> bool {
        self.pump.into_iter().for_each(Waker::wake);
        self.fits
    }
}

impl State {
    /// Takes those who need not wait any more, to be dropped with the lock free.
    pub(super) fn take_leavers(&mut self) -> Vec<Leaver> {
        let leavers = std::mem::take(&mut self.leavers).into_iter();
        let (done, left) = leavers.partition(|leaver| self.backlog.has_left(leaver.count));
        self.leavers = left;
        done
    }
}

impl Outlet {
    /// Says something for the node itself; `false` if the peer has caused more than may wait.
    pub(in crate::net) fn say(&self, order: Order, frame: &Frame<'_>) -> bool {
        let mut bytes = scratch::take();
        frame.write(&mut bytes);
        self.say_bytes(order, bytes)
    }

    /// The same of a frame's bytes.
    pub(in crate::net) fn say_bytes(&self, order: Order, mut bytes: Vec<u8>) -> bool {
        let mut state = self.state.lock();
        let said = self.say_under(&mut state, order, &mut bytes);
        drop(state);
        scratch::give(bytes);
        said.finish()
    }

    /// As [`say`](Self::say), under the lock.
    pub(super) fn say_now(&self, state: &mut State, order: Order, frame: &Frame<'_>) -> Said {
        let mut bytes = scratch::take();
        frame.write(&mut bytes);
        let said = self.say_under(state, order, &mut bytes);
        scratch::give(bytes);
        said
    }

    /// The same of a frame's bytes.
    pub(super) fn say_under(&self, state: &mut State, order: Order, bytes: &mut Vec<u8>) -> Said {
        if state.closed {
            return Said { fits: true, pump: None };
        }
        if state.backlog.lets_say(order, bytes.len()) {
            let mut submitted = self.link.submit(order, bytes);
            if submitted == Err(SubmitError::TooLarge)
                && let Some(shorter) = instead_of(bytes)
            {
                *bytes = shorter;
                submitted = self.link.submit(order, bytes);
            }
            if submitted.is_ok() {
                state.submitted += 1;
                return Said { fits: true, pump: None };
            }
        }
        // It may wait for long, and the buffer may be a large one.
        let fits = state.backlog.push(order, bytes.to_vec());
        if state.backlog.is_pressing() {
            // Relaxed: the session alone adds answers, and looks before the next one.
            self.pressed.store(true, Ordering::Relaxed);
        }
        Said { fits, pump: state.pump.take() }
    }

    /// Waits until all short frames that were said before have left, or the connection has ended: nobody waits for answers that are
    /// long, nor for what is said meanwhile.
    pub(in crate::net) async fn said_all(&self) {
        let Some(mut said) = self.when_said() else { return };
        // Nothing is sent: the sender goes when it is time.
        poll_fn(|cx| said.poll(cx)).await;
    }

    fn when_said(&self) -> Option<oneshot::Receiver<()>> {
        let mut guard = self.state.lock();
        let state = &mut *guard;
        let count = state.backlog.count();
        let is_said = state.closed || state.backlog.has_left(count);
        if planted!("net-closed-unsaid": is_said => true) {
            return None;
        }
        let (sender, receiver) = oneshot::pair();
        // Who did not wait any longer is found here at the latest.
        state.leavers.retain(|leaver| !leaver.said.is_abandoned());
        state.leavers.push(Leaver { count, said: sender });
        Some(receiver)
    }

    /// Says something for the node itself, and whether that has left can be [looked up](Self::has_left) by the number that is
    /// returned, too.
    pub(in crate::net) fn say_numbered(&self, order: Order, frame: &Frame<'_>) -> (bool, u64) {
        let mut state = self.state.lock();
        let said = self.say_now(&mut state, order, frame);
        let count = state.backlog.count();
        drop(state);
        (said.finish(), count)
    }

    /// Whether the link has taken a short frame that was said.
    pub(in crate::net) fn has_left(&self, count: u64) -> bool {
        self.state.lock().backlog.has_left(count)
    }

    /// The same for somebody who is not the session: ends the connection if too much waits. The session may never say anything
    /// else, and not see it.
    pub(in crate::net) fn say_or_end(&self, order: Order, frame: &Frame<'_>) {
        if !self.say(order, frame) {
            self.cut_off(ConnectionEnd::Behind);
        }
    }
}

/// What is said in place of a frame that is longer than any may be: who asked hears that the answer is too large.
/// Nothing else that a node says by itself is so long. [ENV-8]
pub(super) fn instead_of(frame: &[u8]) -> Option<Vec<u8>> {
    let Ok(Frame::Answer { correlation, .. }) = Frame::parse(frame) else { return None };
    let why = Undelivered::TooLarge;
    let told = planted!("net-long-answer-unsaid": true => false);
    told.then(|| Frame::Unanswered { correlation, why }.to_bytes())
}
