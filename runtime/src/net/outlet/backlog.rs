//! What the node itself has to say, while there is no room for it.
//!
//! It is bounded in frames, since each is caused by one of the peer: who causes more without reading is cut off. Its
//! bytes are those of answers, nearly all, and an honest peer may ask for much over a slow network. So while there are
//! many, nobody is cut off: the session encodes no more answers, and hands in no more questions. It goes on reading,
//! since two nodes that both wait for the other one to read would wait for ever; the questions that come are parked, and
//! their actors give no credit for them, so the peer has to stop.

use super::Outlet;
use crate::net::transport::Order;
use crate::sync::{Ordering, planted};
use std::collections::VecDeque;
use std::task::Waker;

/// Frames that may wait for room; a peer that causes more is cut off.
const FRAMES_MAX: usize = 65_536;

/// With more bytes than this, no more answers join them: as many as the longest message has. So there are at most twice as
/// many, beside the frames that are short.
const PRESSING_BYTES: usize = 16 << 20;

/// With more frames than this neither: short answers must not cut off who asked for them.
const PRESSING_FRAMES: usize = FRAMES_MAX / 2;

/// See the [module](self).
#[derive(Default)]
pub(super) struct Backlog {
    frames: VecDeque<(Order, Vec<u8>)>,
    bytes: usize,
}

impl Backlog {
    pub(super) fn len(&self) -> usize {
        self.frames.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// Adds a frame; `false` if there are more than may wait.
    pub(super) fn push(&mut self, order: Order, frame: Vec<u8>) -> bool {
        self.bytes += frame.len();
        self.frames.push_back((order, frame));
        self.frames.len() <= FRAMES_MAX
    }

    /// The frame that leaves next.
    pub(super) fn front(&self) -> Option<&(Order, Vec<u8>)> {
        self.frames.front()
    }

    /// Puts another one in the place of the frame that leaves next.
    pub(super) fn replace(&mut self, frame: Vec<u8>) {
        if let Some((_, front)) = self.frames.front_mut() {
            self.bytes = self.bytes - front.len() + frame.len();
            *front = frame;
        }
    }

    pub(super) fn pop(&mut self) {
        if let Some((_, frame)) = self.frames.pop_front() {
            self.bytes -= frame.len();
        }
    }

    pub(super) fn is_pressing(&self) -> bool {
        let is_pressing = self.bytes > PRESSING_BYTES || self.frames.len() > PRESSING_FRAMES;
        planted!("net-backlog-unpressed": is_pressing => false)
    }
}

impl Outlet {
    /// Whether so much waits to leave that no more answers are to join it. The session is woken when that is over.
    pub(in crate::net) fn is_pressed(&self) -> bool {
        // Relaxed: whoever sees that it was pressed is woken behind the store that ends it.
        self.pressed.load(Ordering::Relaxed)
    }

    /// Wakes the session if it waited for less to be there.
    pub(super) fn relieve(&self) {
        if !self.is_pressed() {
            return;
        }
        let state = self.state.lock();
        if state.backlog.is_pressing() {
            return;
        }
        // Relaxed: stored under the lock, and the wake-up below is behind it.
        self.pressed.store(false, Ordering::Relaxed);
        let session = state.receiver.clone();
        drop(state);
        session.into_iter().for_each(Waker::wake);
    }
}
