//! Whose piece goes next, of messages that do not fit into a packet. [LINK-60]
//!
//! Those of middling length have three bytes for each of a longer one: each of them is soon done, and what is long takes
//! its time anyway.

use super::super::envelope::Class;
use std::collections::VecDeque;

/// How many lengths are told apart.
pub(super) const LINES: usize = 2;
/// Bytes of the longest message of middling length.
const MIDDLING_MAX: u64 = 16 << 10;
/// So many bytes of middling ones go for each of a longer one, and so many begin.
const SHARE: i64 = 3;
/// Of the messages that may be in pieces, each length leaves this part to the other.
const LEFT_PART: usize = 4;

/// With which others a message takes turns: of middling length, or longer.
pub(super) const fn line_of(len: u64) -> usize {
    let is_longer = len > MIDDLING_MAX;
    is_longer as usize
}

/// A long message that waits for its turn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Long {
    pub(super) sequence: u64,
    pub(super) class: Class,
    pub(super) len: u64,
}

/// Messages of about the same length.
#[derive(Debug, Default)]
struct Line {
    /// Those that wait until another one has ended.
    waiting: VecDeque<Long>,
    /// Those that send in turn.
    in_turn: VecDeque<u64>,
    /// How many of them, the last ones, had to pass since a packet was begun or a piece was sent.
    passed: usize,
    /// How many have begun and have not ended.
    in_pieces: usize,
}

/// All of them.
#[derive(Debug)]
pub(super) struct Turns {
    lines: [Line; LINES],
    /// The line whose turn it is.
    line: usize,
    in_pieces_max: usize,
    /// By how much middling ones are ahead of their share, in messages that began and in bytes that were sent.
    begun_ahead: i64,
    sent_ahead: i64,
}

/// The lines, the one whose turn it is first.
const fn order(ahead: i64) -> [usize; LINES] {
    if ahead > 0 { [1, 0] } else { [0, 1] }
}

/// Who is ahead when a line had so much more.
const fn ahead(before: i64, line: usize, more: i64) -> i64 {
    before + if line == 0 { more } else { -SHARE * more }
}

impl Turns {
    pub(super) fn new(in_pieces_max: usize) -> Self {
        let lines = Default::default();
        Self { lines, line: 0, in_pieces_max, begun_ahead: 0, sent_ahead: 0 }
    }

    /// A message waits until it may begin.
    pub(super) fn wait(&mut self, long: Long) {
        self.lines[line_of(long.len)].waiting.push_back(long);
    }

    /// The message that may begin next, for which [`Turns::begin`] is called if it does.
    pub(super) fn next_to_begin(&mut self) -> Option<Long> {
        if self.in_pieces() >= self.in_pieces_max {
            return None;
        }
        let most = self.line_max();
        let next = |line: usize| {
            let line = &mut self.lines[line];
            if line.in_pieces < most { line.waiting.pop_front() } else { None }
        };
        order(self.begun_ahead).into_iter().find_map(next)
    }

    /// How many of one length may be in pieces.
    fn line_max(&self) -> usize {
        (self.in_pieces_max - self.in_pieces_max / LEFT_PART).max(1)
    }

    pub(super) fn begin(&mut self, sequence: u64, len: u64) {
        let at = line_of(len);
        let other = &self.lines[1 - at];
        let other_waits = !other.waiting.is_empty() && other.in_pieces < self.line_max();
        self.begun_ahead = if other_waits { ahead(self.begun_ahead, at, 1) } else { 0 };
        self.lines[at].in_pieces += 1;
        self.again(sequence, len);
    }

    /// A message that has begun has something to send again.
    pub(super) fn again(&mut self, sequence: u64, len: u64) {
        let line = &mut self.lines[line_of(len)];
        line.in_turn.insert(line.in_turn.len() - line.passed, sequence);
    }

    /// A message that had begun has ended.
    pub(super) const fn end(&mut self, len: u64) {
        self.lines[line_of(len)].in_pieces -= 1;
    }

    /// A packet is filled from now on: who had to pass is asked again.
    pub(super) fn begin_packet(&mut self) {
        self.lines.iter_mut().for_each(|line| line.passed = 0);
    }

    /// The message whose turn it is, unless all had to pass.
    pub(super) fn next(&mut self) -> Option<u64> {
        let order = order(self.sent_ahead);
        let order = crate::planted!("link-pieces-longest-first": order => [1, 0]);
        let has_turn = |line: &usize| self.lines[*line].passed < self.lines[*line].in_turn.len();
        self.line = order.into_iter().find(has_turn)?;
        self.lines[self.line].in_turn.front().copied()
    }

    /// That one has nothing to send.
    pub(super) fn leave(&mut self) {
        self.lines[self.line].in_turn.pop_front();
    }

    /// That one has to wait.
    pub(super) fn pass(&mut self) {
        let line = &mut self.lines[self.line];
        line.passed += 1;
        line.in_turn.rotate_left(1);
    }

    /// That one has sent a piece of so many bytes.
    pub(super) fn sent(&mut self, bytes: u64) {
        // What had to pass has no share in what is sent meanwhile.
        let other = &self.lines[1 - self.line];
        let other_sends = other.passed < other.in_turn.len();
        let more = i64::try_from(bytes).expect("a piece fits into a packet");
        self.sent_ahead = if other_sends { ahead(self.sent_ahead, self.line, more) } else { 0 };
        self.lines[self.line].in_turn.rotate_left(1);
        self.begin_packet();
    }

    /// How many have begun and have not ended.
    pub(super) fn in_pieces(&self) -> usize {
        self.lines.iter().map(|line| line.in_pieces).sum()
    }

    /// Whether nobody sends in turn or waits.
    pub(super) fn is_empty(&self) -> bool {
        self.lines.iter().all(|line| line.in_turn.is_empty() && line.waiting.is_empty())
    }
}

#[cfg(test)]
mod tests;
