//! Messages that were taken for the peer, until all of each is acknowledged.
//!
//! Invariants:
//! 1. `messages[i]` has the number `floor + 1 + i`; all up to the floor have surely arrived. The
//!    first one has not, or there is none.
//! 2. `last` knows of every pair whose last message lies above the floor. A message that is
//!    acknowledged, but above the floor, still counts: the receiver may hold it back. [LINK-51]
//! 3. A message is in at most one queue.
//! 4. `unsent` counts the bytes of long messages behind the last one of each that was sent.
//! 5. `bytes` is what the messages cost. Only the last one may begin below `bytes_max` and end above it.

mod turns;
mod unsent;

use super::config::MESSAGE_COST;
use super::envelope::{Address, Class, Envelope};
use super::frame::{Head, Message};
use super::pair::{ByKey, Pair};
use super::ranges::Ranges;
use super::sent::Item;
use super::store::{Place, Store};
use hashbrown::HashMap;
use std::collections::VecDeque;
use turns::{Long, Turns};
use unsent::Unsent;

/// A message on its way.
#[derive(Debug)]
pub(super) struct Outgoing {
    pub(super) head: Head,
    /// Where its bytes are; [`Outbox::payload`] has them.
    pub(super) bytes: Place,
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
    /// Bytes at its beginning that were sent once.
    begun: u64,
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
    store: Store,
    /// What they take, which no credit of the peer's raises beyond `bytes_max`. [LINK-43]
    bytes: u64,
    bytes_max: u64,
    floor: u64,
    window: u64,
    /// The last message of each pair.
    last: HashMap<Pair, u64, ByKey>,
    /// How many pairs there may be until those below the floor are forgotten.
    last_max: usize,
    /// Messages that go whole: to send again, then to send first, what never waits and mail.
    whole: [VecDeque<u64>; 3],
    /// Of these, those whose first message lacks credit, in the packet that is being filled.
    is_short: [bool; 3],
    /// Long messages.
    turns: Turns,
    pub(super) unsent: Unsent,
    was_full: bool,
}

/// A message that goes whole, and is the next one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Next {
    queue: usize,
    index: usize,
    pub(super) sequence: u64,
}

/// What is sent again, in [`Outbox::whole`].
const AGAIN: usize = 0;

/// Where what is sent first waits there.
const fn queue_of(class: Class) -> usize {
    match class {
        Class::Reserved => 1,
        Class::Mail => 2,
    }
}

/// What a message takes.
const fn cost(bytes: Place) -> u64 {
    bytes.len() as u64 + MESSAGE_COST
}

/// The least of [`Outbox::last_max`].
const LAST_MIN: usize = 64;

impl Outbox {
    pub(super) fn new(window: u64, bytes_max: u64, in_pieces_max: usize, seed: u64) -> Self {
        Self {
            messages: VecDeque::new(),
            store: Store::default(),
            bytes: 0,
            bytes_max,
            floor: 0,
            window,
            last: HashMap::with_hasher(ByKey::new(seed)),
            last_max: LAST_MIN,
            whole: [const { VecDeque::new() }; 3],
            is_short: [false; 3],
            turns: Turns::new(in_pieces_max),
            unsent: Unsent::default(),
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

    /// Takes a message, which has room, and fits into a packet or goes in pieces.
    pub(super) fn push(&mut self, envelope: Envelope, payload: &[u8], end: u64, in_pieces: bool) {
        let sequence = self.floor + 1 + self.messages.len() as u64;
        let predecessor = self.follow(Pair::of(&envelope), sequence);
        if in_pieces {
            let (class, len) = (envelope.kind.class(), payload.len() as u64);
            self.wait_long(Long { sequence, class, len });
        } else {
            self.whole[queue_of(envelope.kind.class())].push_back(sequence);
        }
        let bytes = self.store.push(payload);
        self.bytes += cost(bytes);
        let (head, progress) = (Head { envelope, predecessor }, Progress::Waiting);
        self.messages.push_back(Outgoing { head, bytes, end, progress, is_queued: true });
    }

    /// A message waits for its turn to go in pieces.
    fn wait_long(&mut self, long: Long) {
        self.unsent.add(long.class, long.len, long.len);
        self.turns.wait(long);
    }

    /// Makes a message the last one of its pair; says how far back the one before it is.
    fn follow(&mut self, pair: Pair, sequence: u64) -> u16 {
        if pair.from == Address::NOBODY {
            return 0;
        }
        if self.last.len() >= self.last_max {
            let floor = self.floor;
            self.last.retain(|_, last| *last > floor);
            self.last_max = LAST_MIN.max(2 * self.last.len());
        }
        // Most pairs are there: to look for one is less than to make sure of room for it.
        let before = match self.last.get_mut(&pair) {
            Some(last) => std::mem::replace(last, sequence),
            None => self.last.insert(pair, sequence).unwrap_or(0),
        };
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

    /// The bytes of a message.
    pub(super) fn payload(&self, message: &Outgoing) -> &[u8] {
        self.store.get(message.bytes)
    }

    fn get_mut(&mut self, sequence: u64) -> Option<&mut Outgoing> {
        let index = self.index(sequence)?;
        self.messages.get_mut(index)
    }

    /// The whole message to send next, for which [`Outbox::sent_whole`] is called if it is sent. What
    /// has become too long for a packet is put among the long ones. [LINK-63]
    pub(super) fn next_whole(&mut self, packet_len: usize) -> Option<Next> {
        loop {
            let queue = self.turn()?;
            let sequence = *self.whole[queue].front()?;
            let at = self.index(sequence).filter(|at| *at < self.messages.len());
            let Some(index) = at else {
                self.whole[queue].pop_front();
                continue;
            };
            let message = &mut self.messages[index];
            let len = Message::frame_len(message.head.envelope.kind, message.bytes.len());
            match message.progress {
                Progress::Acked | Progress::InPieces(_) => {
                    message.is_queued = false;
                    self.whole[queue].pop_front();
                }
                Progress::Waiting | Progress::Sent if len > packet_len => {
                    let class = message.head.envelope.kind.class();
                    let len = message.bytes.len() as u64;
                    self.whole[queue].pop_front();
                    self.wait_long(Long { sequence, class, len });
                }
                Progress::Waiting | Progress::Sent => return Some(Next { queue, index, sequence }),
            }
        }
    }

    /// The queue whose turn it is: what was lost, then what never waits, then mail. What lacks credit holds up its own
    /// class alone: the peer may give that credit only for what the other class brings. [LINK-46]
    fn turn(&self) -> Option<usize> {
        let mut queues = self.whole.iter().zip(self.is_short);
        queues.position(|(queue, short)| !short && !queue.is_empty())
    }

    /// A packet is filled from now on.
    pub(super) fn begin_packet(&mut self) {
        self.is_short = [false; 3];
        self.turns.begin_packet();
    }

    /// The message that [`Outbox::next_whole`] named lacks credit: those of its class wait for the next packet.
    pub(super) fn lacks_credit(&mut self, class: Class) {
        self.is_short[queue_of(class)] = true;
    }

    /// The message that [`Outbox::next_whole`] named.
    pub(super) fn peek(&self, next: Next) -> &Outgoing {
        &self.messages[next.index]
    }

    /// That one is sent.
    pub(super) fn sent_whole(&mut self, next: Next) {
        self.whole[next.queue].pop_front();
        let message = &mut self.messages[next.index];
        message.is_queued = false;
        message.progress = Progress::Sent;
    }

    /// The long message whose turn it is, and its next missing bytes.
    pub(super) fn next_piece(&mut self) -> Option<(u64, std::ops::Range<u64>)> {
        while let Some(Long { sequence, class, len }) = self.turns.next_to_begin() {
            // It was sent whole once, and has arrived.
            let Some(message) = self.get_mut(sequence) else {
                self.unsent.remove(class, len, len);
                continue;
            };
            if matches!(message.progress, Progress::Acked) {
                message.is_queued = false;
                self.unsent.remove(class, len, len);
                continue;
            }
            let mut to_send = Ranges::new();
            to_send.insert_range(0..len);
            let was_sent = matches!(message.progress, Progress::Sent);
            let pieces = Pieces { begun: 0, acked: Ranges::new(), to_send, was_sent };
            message.progress = Progress::InPieces(Box::new(pieces));
            self.turns.begin(sequence, len);
        }
        while let Some(sequence) = self.turns.next() {
            let missing = match self.get(sequence).map(|message| &message.progress) {
                Some(Progress::InPieces(pieces)) => pieces.to_send.first(),
                _ => None,
            };
            if let Some(missing) = missing {
                return Some((sequence, missing));
            }
            self.turns.leave();
            if let Some(message) = self.get_mut(sequence) {
                message.is_queued = false;
            }
        }
        None
    }

    /// The long message that [`Outbox::next_piece`] named has to wait: it is the next one's turn.
    pub(super) fn pass_turn(&mut self) {
        self.turns.pass();
    }

    /// Those bytes of the message that [`Outbox::next_piece`] named are sent.
    pub(super) fn sent_piece(&mut self, sequence: u64, bytes: std::ops::Range<u64>) {
        if let Some(message) = self.get_mut(sequence)
            && let Progress::InPieces(pieces) = &mut message.progress
        {
            let begun = pieces.begun.max(bytes.end);
            let first_sent = begun - pieces.begun;
            pieces.begun = begun;
            pieces.to_send.remove_range(bytes.clone());
            pieces.was_sent = true;
            let class = message.head.envelope.kind.class();
            let len = message.bytes.len() as u64;
            self.unsent.remove(class, len, first_sent);
        }
        self.turns.sent(bytes.end - bytes.start);
    }

    /// Whether there may be a whole message to send.
    pub(super) fn has_whole(&self) -> bool {
        self.whole.iter().any(|queue| !queue.is_empty())
    }

    /// Whether there may be a piece to send.
    pub(super) fn has_pieces(&self) -> bool {
        !self.turns.is_empty()
    }

    /// Takes in that an item arrived; says whether somebody has to be told that there is room.
    pub(super) fn on_acked(&mut self, item: Item) -> bool {
        match item {
            Item::Messages { first, count } => {
                for sequence in first..first + u64::from(count) {
                    self.on_whole_acked(sequence);
                }
            }
            Item::Fragment { sequence, start, end } => {
                self.on_piece_acked(sequence, u64::from(start)..u64::from(end));
            }
            Item::LaneCredit(_) | Item::MailboxCredit(_) | Item::PathChallenge(_) => return false,
        }
        self.settle()
    }

    fn on_whole_acked(&mut self, sequence: u64) {
        let Some(message) = self.get_mut(sequence) else { return };
        let (class, len) = (message.head.envelope.kind.class(), message.bytes.len() as u64);
        let progress = std::mem::replace(&mut message.progress, Progress::Acked);
        // It was sent whole once, before packets became smaller.
        if let Progress::InPieces(pieces) = progress {
            self.turns.end(len);
            self.unsent.remove(class, len, len - pieces.begun);
        }
    }

    fn on_piece_acked(&mut self, sequence: u64, piece: std::ops::Range<u64>) {
        let Some(message) = self.get_mut(sequence) else { return };
        // An acknowledged one was in pieces, too: nothing else sends them.
        let Progress::InPieces(pieces) = &mut message.progress else { return };
        pieces.to_send.remove_range(piece.clone());
        pieces.acked.insert_range(piece);
        if pieces.acked.first() == Some(0..message.bytes.len() as u64) {
            message.progress = Progress::Acked;
            let len = message.bytes.len() as u64;
            self.turns.end(len);
        }
    }

    /// Lets go of what has arrived with all before it.
    fn settle(&mut self) -> bool {
        // Above the floor its bytes are kept: if the lane ends now, it was perhaps not delivered.
        while let Some(Outgoing { progress: Progress::Acked, bytes, .. }) = self.messages.front() {
            self.bytes -= cost(*bytes);
            self.messages.pop_front();
            self.floor += 1;
        }
        self.store.keep_from(self.messages.front().map(|message| message.bytes));
        let told = self.was_full && self.fits();
        self.was_full &= !told;
        told
    }

    /// What was in a packet has to be sent again, unless it arrived otherwise. [LINK-55]
    pub(super) fn on_lost(&mut self, item: Item) {
        match item {
            Item::Messages { first, count } => {
                for sequence in first..first + u64::from(count) {
                    self.on_whole_lost(sequence);
                }
            }
            Item::Fragment { sequence, start, end } => {
                self.on_piece_lost(sequence, u64::from(start)..u64::from(end));
            }
            Item::LaneCredit(_) | Item::MailboxCredit(_) | Item::PathChallenge(_) => {}
        }
    }

    fn on_whole_lost(&mut self, sequence: u64) {
        let Some(message) = self.get_mut(sequence) else { return };
        if matches!(message.progress, Progress::Sent) && !message.is_queued {
            message.is_queued = true;
            self.whole[AGAIN].push_back(sequence);
        }
    }

    fn on_piece_lost(&mut self, sequence: u64, piece: std::ops::Range<u64>) {
        let Some(message) = self.get_mut(sequence) else { return };
        let Progress::InPieces(pieces) = &mut message.progress else { return };
        // A peer may leave thousands of gaps in a message: only those in this piece are looked at.
        for lost in pieces.acked.missing_of(piece) {
            pieces.to_send.insert_range(lost);
        }
        if !message.is_queued && !pieces.to_send.is_empty() {
            message.is_queued = true;
            let len = message.bytes.len() as u64;
            self.turns.again(sequence, len);
        }
    }

    /// Lets go of memory that is kept for later.
    pub(super) fn trim(&mut self) {
        self.store.trim();
    }

    /// Takes the oldest message out that is not known to be delivered, when the lane has ended. One
    /// that is acknowledged, but above the floor, may have been held back for ever.
    pub(super) fn pop_undelivered(&mut self) -> Option<(Envelope, Vec<u8>, Fate)> {
        let message = self.messages.pop_front()?;
        self.bytes -= cost(message.bytes);
        self.floor += 1;
        let fate = match message.progress {
            Progress::Waiting => Fate::Unsent,
            Progress::InPieces(pieces) if !pieces.was_sent => Fate::Unsent,
            Progress::InPieces(_) | Progress::Sent | Progress::Acked => Fate::MaybeDelivered,
        };
        Some((message.head.envelope, self.store.get(message.bytes).to_vec(), fate))
    }
}

#[cfg(test)]
mod tests;
