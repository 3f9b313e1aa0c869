//! Messages that were taken for the peer, until all of each is acknowledged.
//!
//! Invariants:
//! 1. `messages[i]` has the number `floor + 1 + i`; all up to the floor have surely arrived. The
//!    first one has not, or there is none.
//! 2. `last` knows of every pair whose last message lies above the floor. A message that is
//!    acknowledged, but above the floor, still counts: the receiver may hold it back. [LINK-51]
//! 3. A message is in at most one queue.
//! 4. `bytes` is what the messages cost. Only the last one may begin below `bytes_max` and end above it.

use super::config::MESSAGE_COST;
use super::envelope::{Address, Class, Envelope};
use super::frame::{Head, Message};
use super::pool::Pool;
use super::ranges::Ranges;
use super::sent::Item;
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;
use std::collections::VecDeque;

/// A message on its way.
#[derive(Debug)]
pub(super) struct Outgoing {
    pub(super) head: Head,
    pub(super) payload: Vec<u8>,
    /// Where its place in the credit of its class ends.
    pub(super) end: u64,
    pub(super) progress: Progress,
    is_queued: bool,
}

/// How far a message is.
#[derive(Debug)]
pub(super) enum Progress {
    Waiting,
    Sent,
    /// Too long for one packet.
    InPieces(Box<Pieces>),
    Acked,
}

/// How far a message is that goes in pieces.
#[derive(Debug)]
pub(super) struct Pieces {
    acked: Ranges,
    /// What is to be sent, for the first time or again.
    to_send: Ranges,
    was_sent: bool,
}

/// Whether a message can have reached the peer, of which nothing more will be heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It never left.
    Unsent,
    /// It left, and nobody knows.
    MaybeDelivered,
}

#[derive(Debug)]
pub(super) struct Outbox {
    messages: VecDeque<Outgoing>,
    /// What they take, which no credit of the peer's raises beyond `bytes_max`. [LINK-43]
    bytes: u64,
    bytes_max: u64,
    floor: u64,
    window: u64,
    /// The last message of each pair.
    last: HashMap<(Address, Address), u64, FxBuildHasher>,
    /// How many pairs there may be until those below the floor are forgotten.
    last_max: usize,
    /// Messages to send again, then those to send first, by class.
    again: VecDeque<u64>,
    fresh: [VecDeque<u64>; 2],
    /// Classes whose first message lacks credit, in the packet that is being filled.
    is_short: [bool; 2],
    /// Long messages: those that send in turn, and those that wait for one of them to end.
    in_turn: VecDeque<u64>,
    long: VecDeque<u64>,
    in_pieces: usize,
    in_pieces_max: usize,
    was_full: bool,
}

/// What a message takes.
const fn cost(payload: &[u8]) -> u64 {
    payload.len() as u64 + MESSAGE_COST
}

/// The least of [`Outbox::last_max`].
const LAST_MIN: usize = 64;

impl Outbox {
    pub(super) fn new(window: u64, bytes_max: u64, in_pieces_max: usize) -> Self {
        Self {
            messages: VecDeque::new(),
            bytes: 0,
            bytes_max,
            floor: 0,
            window,
            last: HashMap::default(),
            last_max: LAST_MIN,
            again: VecDeque::new(),
            fresh: [VecDeque::new(), VecDeque::new()],
            is_short: [false; 2],
            in_turn: VecDeque::new(),
            long: VecDeque::new(),
            in_pieces: 0,
            in_pieces_max,
            was_full: false,
        }
    }

    /// Whether the window has room; if not, somebody will have to be told.
    pub(super) fn has_room(&mut self) -> bool {
        self.was_full = !self.fits();
        !self.was_full
    }

    fn fits(&self) -> bool {
        (self.messages.len() as u64) < self.window && self.bytes < self.bytes_max
    }

    /// All messages up to this one have surely arrived.
    pub(super) const fn floor(&self) -> u64 {
        self.floor
    }

    /// Whether everything was acknowledged.
    pub(super) fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// Takes a message, which has room, and goes in packets of `packet_len` bytes.
    pub(super) fn push(
        &mut self,
        envelope: Envelope,
        payload: Vec<u8>,
        end: u64,
        packet_len: usize,
    ) {
        let sequence = self.floor + 1 + self.messages.len() as u64;
        let predecessor = self.follow((envelope.from, envelope.to), sequence);
        if Message::frame_len(envelope.kind, payload.len()) <= packet_len {
            self.fresh[envelope.kind.class() as usize].push_back(sequence);
        } else {
            self.long.push_back(sequence);
        }
        self.bytes += cost(&payload);
        let (head, progress) = (Head { envelope, predecessor }, Progress::Waiting);
        self.messages.push_back(Outgoing { head, payload, end, progress, is_queued: true });
    }

    /// Makes a message the last one of its pair; says how far back the one before it is.
    fn follow(&mut self, pair: (Address, Address), sequence: u64) -> u16 {
        if pair.0 == Address::NOBODY {
            return 0;
        }
        if self.last.len() >= self.last_max {
            let floor = self.floor;
            self.last.retain(|_, last| *last > floor);
            self.last_max = LAST_MIN.max(2 * self.last.len());
        }
        let before = self.last.insert(pair, sequence).unwrap_or(0);
        let open = before > self.floor;
        if crate::planted!("link-floor-selective": !open => !open || self.is_acked(before)) {
            return 0;
        }
        u16::try_from(sequence - before).expect("a window has at most 32768 messages")
    }

    fn is_acked(&self, sequence: u64) -> bool {
        self.get(sequence).is_none_or(|message| matches!(message.progress, Progress::Acked))
    }

    fn index(&self, sequence: u64) -> Option<usize> {
        usize::try_from(sequence.checked_sub(self.floor + 1)?).ok()
    }

    /// The message with that number, if it is above the floor.
    pub(super) fn get(&self, sequence: u64) -> Option<&Outgoing> {
        self.messages.get(self.index(sequence)?)
    }

    fn get_mut(&mut self, sequence: u64) -> Option<&mut Outgoing> {
        let index = self.index(sequence)?;
        self.messages.get_mut(index)
    }

    /// The whole message to send next, for which [`Outbox::sent_whole`] is called if it is sent. What
    /// has become too long for a packet is put among the long ones.
    pub(super) fn next_whole(&mut self, packet_len: usize) -> Option<u64> {
        loop {
            let sequence = *self.whole_queue()?.front()?;
            let Some(message) = self.get(sequence) else {
                self.unqueue_whole();
                continue;
            };
            let len = Message::frame_len(message.head.envelope.kind, message.payload.len());
            match message.progress {
                Progress::Acked | Progress::InPieces(_) => self.unqueue_whole(),
                Progress::Waiting | Progress::Sent if len > packet_len => self.move_to_long(),
                Progress::Waiting | Progress::Sent => return Some(sequence),
            }
        }
    }

    /// The queue whose turn it is: what was lost, then what never waits, then mail. What lacks credit holds up its own
    /// class alone: the peer may give that credit only for what the other class brings. [LINK-46]
    fn whole_queue(&mut self) -> Option<&mut VecDeque<u64>> {
        let [mail, reserved] = &mut self.fresh;
        let [mail_is_short, reserved_is_short] = self.is_short;
        let queues =
            [(&mut self.again, false), (reserved, reserved_is_short), (mail, mail_is_short)];
        queues
            .into_iter()
            .find(|(queue, short)| !short && !queue.is_empty())
            .map(|(queue, _)| queue)
    }

    /// A packet is filled from now on.
    pub(super) fn begin_packet(&mut self) {
        self.is_short = [false; 2];
    }

    /// The message that [`Outbox::next_whole`] named lacks credit: those of its class wait for the next packet.
    pub(super) fn lacks_credit(&mut self, class: Class) {
        self.is_short[class as usize] = true;
    }

    fn unqueue_whole(&mut self) {
        let Some(queue) = self.whole_queue() else { return };
        let Some(sequence) = queue.pop_front() else { return };
        if let Some(message) = self.get_mut(sequence) {
            message.is_queued = false;
        }
    }

    fn move_to_long(&mut self) {
        let Some(sequence) = self.whole_queue().and_then(VecDeque::pop_front) else { return };
        self.long.push_back(sequence);
    }

    /// The message that [`Outbox::next_whole`] named is sent.
    pub(super) fn sent_whole(&mut self) -> &Outgoing {
        let queue = self.whole_queue().expect("a message was named");
        let sequence = queue.pop_front().expect("the queue is not empty");
        let message = self.get_mut(sequence).expect("it is above the floor");
        message.is_queued = false;
        message.progress = Progress::Sent;
        message
    }

    /// The long message whose turn it is, and its next missing bytes.
    pub(super) fn next_piece(&mut self) -> Option<(u64, std::ops::Range<u64>)> {
        while self.in_pieces < self.in_pieces_max
            && let Some(sequence) = self.long.pop_front()
        {
            let Some(message) = self.get_mut(sequence) else { continue };
            if matches!(message.progress, Progress::Acked) {
                message.is_queued = false;
                continue;
            }
            let mut to_send = Ranges::new();
            to_send.insert_range(0..message.payload.len() as u64);
            let was_sent = matches!(message.progress, Progress::Sent);
            let pieces = Pieces { acked: Ranges::new(), to_send, was_sent };
            message.progress = Progress::InPieces(Box::new(pieces));
            self.in_pieces += 1;
            self.in_turn.push_back(sequence);
        }
        while let Some(sequence) = self.in_turn.front().copied() {
            let missing = match self.get(sequence).map(|message| &message.progress) {
                Some(Progress::InPieces(pieces)) => pieces.to_send.first(),
                _ => None,
            };
            if let Some(missing) = missing {
                return Some((sequence, missing));
            }
            self.in_turn.pop_front();
            if let Some(message) = self.get_mut(sequence) {
                message.is_queued = false;
            }
        }
        None
    }

    /// How many long messages have their turn.
    pub(super) fn in_turn(&self) -> usize {
        self.in_turn.len()
    }

    /// The long message whose turn it is has to wait: it is the next one's.
    pub(super) fn pass_turn(&mut self) {
        if let Some(sequence) = self.in_turn.pop_front() {
            self.in_turn.push_back(sequence);
        }
    }

    /// Those bytes of the message that [`Outbox::next_piece`] named are sent.
    pub(super) fn sent_piece(&mut self, sequence: u64, bytes: std::ops::Range<u64>) {
        let message = self.get_mut(sequence);
        if let Some(Progress::InPieces(pieces)) = message.map(|message| &mut message.progress) {
            pieces.to_send.remove_range(bytes);
            pieces.was_sent = true;
        }
        self.pass_turn();
    }

    /// Whether there may be something to send.
    pub(super) fn has_work(&self) -> bool {
        let [mail, reserved] = &self.fresh;
        let queues = [&self.again, mail, reserved, &self.in_turn, &self.long];
        queues.iter().any(|queue| !queue.is_empty())
    }

    /// Takes in that an item arrived; says whether somebody has to be told that there is room.
    pub(super) fn on_acked(&mut self, item: Item, pool: &mut Pool) -> bool {
        let (sequence, piece) = match item {
            Item::Message(sequence) => (sequence, None),
            Item::Fragment { sequence, start, end } => (sequence, Some(start..end)),
            Item::LaneCredit(_) | Item::MailboxCredit(_) | Item::PathChallenge(_) => return false,
        };
        let Some(message) = self.get_mut(sequence) else { return false };
        match (&mut message.progress, piece) {
            (Progress::Acked, _) => return false,
            (Progress::InPieces(pieces), Some(piece)) => {
                let piece = u64::from(piece.start)..u64::from(piece.end);
                pieces.to_send.remove_range(piece.clone());
                pieces.acked.insert_range(piece);
                let len = message.payload.len() as u64;
                if pieces.acked.first() != Some(0..len) {
                    return false;
                }
                self.in_pieces -= 1;
            }
            // It was sent whole once, before packets became smaller.
            (Progress::InPieces(_), None) => self.in_pieces -= 1,
            (Progress::Waiting | Progress::Sent, _) => {}
        }
        self.settle(sequence, pool)
    }

    /// All of a message arrived.
    fn settle(&mut self, sequence: u64, pool: &mut Pool) -> bool {
        let Some(message) = self.get_mut(sequence) else { return false };
        message.progress = Progress::Acked;
        // Above the floor its bytes are kept: if the lane ends now, it was perhaps not delivered.
        while let Some(Progress::Acked) = self.messages.front().map(|message| &message.progress) {
            let settled = self.messages.pop_front().expect("it was just looked at");
            self.bytes -= cost(&settled.payload);
            pool.give(settled.payload);
            self.floor += 1;
        }
        let told = self.was_full && self.fits();
        self.was_full &= !told;
        told
    }

    /// What was in a packet has to be sent again, unless it arrived otherwise.
    pub(super) fn on_lost(&mut self, item: Item) {
        let (sequence, piece) = match item {
            Item::Message(sequence) => (sequence, None),
            Item::Fragment { sequence, start, end } => (sequence, Some(start..end)),
            Item::LaneCredit(_) | Item::MailboxCredit(_) | Item::PathChallenge(_) => return,
        };
        let Some(message) = self.get_mut(sequence) else { return };
        match (&mut message.progress, piece) {
            (Progress::InPieces(pieces), Some(piece)) => {
                let piece = u64::from(piece.start)..u64::from(piece.end);
                pieces.to_send.insert_range(piece);
                for acked in pieces.acked.descending() {
                    pieces.to_send.remove_range(acked.clone());
                }
                if !message.is_queued && !pieces.to_send.is_empty() {
                    message.is_queued = true;
                    self.in_turn.push_back(sequence);
                }
            }
            (Progress::Sent, None) if !message.is_queued => {
                message.is_queued = true;
                self.again.push_back(sequence);
            }
            _ => {}
        }
    }

    /// Takes the oldest message out that is not known to be delivered, when the lane has ended. One
    /// that is acknowledged, but above the floor, may have been held back for ever.
    pub(super) fn pop_undelivered(&mut self) -> Option<(Envelope, Vec<u8>, Fate)> {
        let message = self.messages.pop_front()?;
        self.bytes -= cost(&message.payload);
        self.floor += 1;
        let fate = match message.progress {
            Progress::Waiting => Fate::Unsent,
            Progress::InPieces(pieces) if !pieces.was_sent => Fate::Unsent,
            Progress::InPieces(_) | Progress::Sent | Progress::Acked => Fate::MaybeDelivered,
        };
        Some((message.head.envelope, message.payload, fate))
    }
}

#[cfg(test)]
mod tests;
