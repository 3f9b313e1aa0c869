//! What the node itself has to say, while there is no room for it.
//!
//! It is bounded in frames, nearly all of which the peer causes: who has more to read is cut off, also if this node made them. Its
//! bytes are those of answers, nearly all, and an honest peer may ask for much over a slow network. So while there are
//! many, nobody is cut off: the session encodes no more answers, and hands in no more questions. It goes on reading,
//! since two nodes that both wait for the other one to read would wait for ever; the questions that come are parked, and
//! their actors give no credit for them, so the peer has to stop.
//!
//! A carrier may have room for a short frame where it has none for a long one. So frames wait in lines by their length, and
//! one for which there is no room holds up none of another line. [ENV-23]
//!
//! Invariants, by which no frame overtakes one that it must not:
//! 1. Of frames that are to stay in order of each other, all are in the first line.
//! 2. A frame that comes behind all was put behind whatever waited in its line, and no longer line had any. It leaves when no
//!    line has one with a smaller number.

use super::Outlet;
use super::saying::instead_of;
use crate::net::bundle;
use crate::net::transport::{Link, Order, SubmitError};
use crate::sync::{Ordering, planted};
use std::collections::VecDeque;
use std::task::Waker;

/// Frames that may wait for room; a peer for which more do is cut off.
const FRAMES_MAX: usize = 65_536;

/// With more bytes than this, no more answers join them: as many as the longest message has. So there are at most twice as
/// many, beside the frames that are short.
const PRESSING_BYTES: usize = 16 << 20;

/// With more frames than this neither: short answers must not cut off who asked for them.
const PRESSING_FRAMES: usize = FRAMES_MAX / 2;

/// Bytes of the longest frame in each line but the last: of what most packets hold, as bundles are made for them, and of
/// what is sent in a few.
const LINES: [usize; 2] = [bundle::FRAME_BYTES_MAX, 16 << 10];
pub(super) const LINES_COUNT: usize = LINES.len() + 1;

/// Where frames of that length wait.
pub(super) fn line_by(len: usize) -> usize {
    LINES.iter().filter(|max| len > **max).count()
}

/// See the [module](self).
#[derive(Default)]
pub(super) struct Backlog {
    lines: [VecDeque<Waiting>; LINES_COUNT],
    /// How many frames waited before.
    count: u64,
    /// The first short one that the link did not take, since it had ended.
    lost: Option<u64>,
    bytes: usize,
    /// Whether more waited than may when the last one came.
    was_overfull: bool,
}

/// A frame that waits.
struct Waiting {
    number: u64,
    order: Order,
    frame: Vec<u8>,
}

impl Backlog {
    /// How many short frames wait.
    pub(super) fn short(&self) -> usize {
        self.lines[0].len()
    }

    /// How many frames have waited so far, those that do included.
    pub(super) const fn count(&self) -> u64 {
        self.count
    }

    /// Whether all short frames have left of so many that were the first to wait.
    pub(super) fn has_left(&self, count: u64) -> bool {
        let first = self.lines[0].front().map(|first| first.number);
        first.into_iter().chain(self.lost).all(|number| number >= count)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lines.iter().all(VecDeque::is_empty)
    }

    /// Whether nothing waits but what may be overtaken.
    pub(super) fn lets_pass(&self) -> bool {
        self.lines[0].is_empty()
    }

    /// Whether a frame may leave without waiting here.
    pub(super) fn lets_say(&self, order: Order, len: usize) -> bool {
        self.lines[..=self.line_of(order, len)].iter().all(VecDeque::is_empty)
    }

    /// Where a frame waits.
    fn line_of(&self, order: Order, len: usize) -> usize {
        match planted!("net-backlog-one-line": order => Order::Within(0)) {
            Order::Free => line_by(len),
            Order::Within(_) => 0,
            Order::BehindAll => self.lines.iter().rposition(|line| !line.is_empty()).unwrap_or(0),
        }
    }

    /// Adds a frame; `false` if there are more than may wait.
    pub(super) fn push(&mut self, order: Order, frame: Vec<u8>) -> bool {
        self.bytes += frame.len();
        let number = self.count;
        self.count += 1;
        self.lines[self.line_of(order, frame.len())].push_back(Waiting { number, order, frame });
        self.was_overfull = self.len() > FRAMES_MAX;
        !self.was_overfull
    }

    fn len(&self) -> usize {
        self.lines.iter().map(VecDeque::len).sum()
    }

    /// Hands the link what it has room for, the oldest first; returns how many frames it took. Where the first one of a
    /// line finds no room, those of other lines are tried.
    pub(super) fn submit(&mut self, link: &dyn Link) -> u64 {
        let (mut submitted, mut refused) = (0, [false; LINES_COUNT]);
        while let Some(line) = self.oldest(refused) {
            let Some(first) = self.lines[line].front().filter(|first| self.may_leave(first)) else {
                refused[line] = true;
                continue;
            };
            match link.submit(first.order, &first.frame) {
                Ok(()) => submitted += 1,
                Err(SubmitError::Full) => {
                    refused[line] = true;
                    continue;
                }
                Err(SubmitError::TooLarge) => {
                    if let Some(shorter) = instead_of(&first.frame) {
                        self.replace(line, shorter);
                        continue;
                    }
                }
                // The session hears of it.
                Err(SubmitError::Ended) if line == 0 => {
                    self.lost.get_or_insert(first.number);
                }
                Err(SubmitError::Ended) => {}
            }
            self.pop(line);
        }
        submitted
    }

    /// The line whose first frame waits longest, but for those that were refused.
    fn oldest(&self, refused: [bool; LINES_COUNT]) -> Option<usize> {
        let lines = (0..self.lines.len()).filter(|line| !refused[*line]);
        let age = |line: usize| self.lines[line].front().map(|first| (first.number, line));
        let (_, line) = lines.filter_map(age).min()?;
        Some(planted!("net-backlog-short-first": line => {
            (0..self.lines.len()).find(|at| !refused[*at] && !self.lines[*at].is_empty())?
        }))
    }

    /// Whether a frame overtakes none that it must not.
    fn may_leave(&self, waiting: &Waiting) -> bool {
        let is_bound = waiting.order == Order::BehindAll;
        let is_bound = planted!("net-backlog-end-overtakes": is_bound => false);
        let mut firsts = self.lines.iter().filter_map(VecDeque::front);
        !is_bound || firsts.all(|first| first.number >= waiting.number)
    }

    /// Puts another frame in the place of the first one in a line.
    fn replace(&mut self, line: usize, frame: Vec<u8>) {
        if let Some(first) = self.lines[line].front_mut() {
            self.bytes = self.bytes - first.frame.len() + frame.len();
            first.frame = frame;
        }
    }

    fn pop(&mut self, line: usize) {
        if let Some(first) = self.lines[line].pop_front() {
            self.bytes -= first.frame.len();
        }
    }

    pub(super) fn is_pressing(&self) -> bool {
        let is_pressing = self.bytes > PRESSING_BYTES || self.len() > PRESSING_FRAMES;
        planted!("net-backlog-unpressed": is_pressing => false)
    }
}

impl Outlet {
    /// Whether more waited to leave than may when something was said last.
    pub(in crate::net) fn was_overfull(&self) -> bool {
        self.state.lock().backlog.was_overfull
    }

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

#[cfg(test)]
mod tests;
