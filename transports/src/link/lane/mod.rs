//! One lane: the engine's parts put together.

mod path;
mod receive;
mod room;
mod timers;
mod transmit;

pub use transmit::Transmit;

use super::close::{CloseReason, End};
use super::config::{Config, ConfigError, MESSAGE_COST};
use super::congestion::Controller;
use super::credit::{Grant, Spend};
use super::cubic::Cubic;
use super::envelope::{Address, Class, Envelope};
use super::frame::{FrameError, Message};
use super::inbox::Inbox;
use super::liveness::Liveness;
use super::mailbox::{Allowances, Placements};
use super::mtu::Discovery;
use super::outbox::{Fate, Outbox};
use super::pacer::Pacer;
use super::pool::Pool;
use super::random::Random;
use super::received::Received;
use super::recovery::{Findings, Recovery};
use super::sent::Item;
use super::time::Time;
use greenroom::net::FrameBuf;
use std::collections::VecDeque;

/// One lane of an association: everything two workers, one at each end, need to pass messages.
///
/// It does nothing by itself. The carrier gives it packets that it has opened and asks it for packets to
/// seal; the node gives it messages and asks it for messages. After each of these calls the carrier
/// asks for [`Lane::timeout`], and calls [`Lane::on_timeout`] then. No call blocks.
#[derive(Debug)]
pub struct Lane {
    config: Config,
    random: Random,
    phase: Phase,
    recovery: Recovery,
    findings: Findings,
    received: Received,
    congestion: Box<dyn Controller>,
    pacer: Pacer,
    mtu: Discovery,
    liveness: Liveness,
    outbox: Outbox,
    inbox: Inbox,
    spends: [Spend; 2],
    grants: [Grant; 2],
    allowances: Allowances,
    placements: Placements,
    pool: Pool,
    events: VecDeque<Event>,
    counts: Counts,
    /// What was wrong with the frame that ended the lane.
    frame_error: Option<FrameError>,
    /// Limits of this lane that the peer has to be told, by class.
    credit_news: [bool; 2],
    challenge: Option<u64>,
    /// The challenge that has left, and is not answered.
    proving: Option<u64>,
    response: Option<u64>,
    /// Asks the peer for an acknowledgement, whatever else there is to send.
    ping: bool,
    /// Packets that may leave although the window is full, to learn whether anything arrives.
    probes: u32,
    /// What is to go into a probe.
    probe_items: Vec<Item>,
    /// When the pace lets the next packet go.
    pace_until: Option<Time>,
    /// When a message last left whole.
    short_at: Option<Time>,
    /// Packets left until a number is left out.
    skip_in: u64,
    /// Packets in a row that began with whole messages, for long ones not to wait for ever.
    whole_in_a_row: u32,
    rest: Rest,
}

/// Since when no message was sent or delivered, as far as it was looked at.
#[derive(Debug)]
struct Rest {
    messages: u64,
    since: Time,
}

/// Where a lane is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Open,
    /// The peer is told, again for packets that still come from it.
    Closing {
        reason: CloseReason,
        until: Time,
        due: bool,
        heard: u64,
    },
    Ended,
}

/// Something the node or the carrier wants to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// Messages may be sent again, after [`Full::Lane`] or [`Full::Window`].
    Room,
    /// Messages to that actor may be sent again, after [`Full::Mailbox`].
    MailboxRoom(Address),
    /// The peer has been silent for long.
    Suspected,
    /// The peer that was suspected is there.
    Recovered,
    /// Packets now have at most so many bytes inside.
    PacketLength(usize),
    /// The peer proved that it receives what is sent to it: the answer to [`Lane::challenge`].
    PathProven(u64),
    /// The lane ended: no more is sent, and what has come can still be taken.
    Ended(End),
}

/// Why a message is not taken now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Full {
    /// The peer has no room for more bytes of this class.
    #[error("the peer has no room for more bytes")]
    Lane,
    /// The receiver's mailbox takes no more for now.
    #[error("the receiver's mailbox takes no more for now")]
    Mailbox,
    /// Too many messages, or too many bytes of them, are not yet acknowledged; or too many bytes of long ones not yet sent.
    #[error("too many messages are not yet acknowledged or sent")]
    Window,
}

/// Why a message is not taken. The caller still has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SendError {
    /// There is no room: [`Event::Room`] or [`Event::MailboxRoom`] will say when there is.
    #[error(transparent)]
    Full(#[from] Full),
    /// The message is longer than messages may be.
    #[error("the message has {len} bytes, {max} are the most")]
    TooBig {
        /// Its length in bytes.
        len: usize,
        /// The longest length in bytes.
        max: usize,
    },
    /// The lane has ended.
    #[error("the lane has ended")]
    Ended,
}

/// A message that has come.
#[derive(Debug)]
#[must_use = "its receipt gives the peer its credit back"]
pub struct Delivery {
    /// Its head.
    pub envelope: Envelope,
    /// Its number: how many messages the peer had sent with it.
    pub number: u64,
    /// To be given back when the message is no longer held for the peer.
    pub receipt: Receipt,
}

/// The right of a message to be held; given back by [`Lane::release`] or [`Lane::discard`].
#[derive(Debug)]
#[must_use = "the peer gets its credit back only through Lane::release or Lane::discard"]
pub struct Receipt {
    to: Address,
    class: Class,
    cost: u64,
}

/// What a lane has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// Packets given to the carrier.
    pub packets_sent: u64,
    /// Packets taken from the carrier.
    pub packets_received: u64,
    /// Packets that were lost, probes of the path apart.
    pub packets_lost: u64,
    /// Messages taken for the peer.
    pub messages_sent: u64,
    /// Messages that came, or pieces of them, that were there already.
    pub duplicates: u64,
    /// Messages handed to the node.
    pub messages_delivered: u64,
    /// Times an acknowledgement had to be asked for.
    pub probes: u64,
    /// Times the congestion window shrank, or would have.
    pub congestions: u64,
}

impl Lane {
    /// A lane that opens now, with CUBIC.
    ///
    /// # Errors
    /// The limits do not fit together.
    pub fn new(now: Time, config: Config) -> Result<Self, ConfigError> {
        let packet_len = config.packet_len_start as u64;
        let controller = Box::new(Cubic::new(config.initial_window_packets, packet_len));
        Self::with_controller(now, config, controller)
    }

    /// A lane that opens now, with a congestion controller of the caller's.
    ///
    /// # Errors
    /// The limits do not fit together.
    pub fn with_controller(
        now: Time,
        config: Config,
        congestion: Box<dyn Controller>,
    ) -> Result<Self, ConfigError> {
        config.check()?;
        let mut random = Random::new(config.seed);
        let jitter = random.next().to_le_bytes()[0];
        let skip_in = random.below(2 * config.skip_every);
        Ok(Self {
            phase: Phase::Open,
            recovery: Recovery::new(&config),
            findings: Findings::default(),
            received: Received::new(&config),
            congestion,
            pacer: Pacer::new(),
            mtu: path::discovery(&config),
            liveness: Liveness::new(now, &config, jitter),
            outbox: Outbox::new(
                config.window_messages,
                config.unacknowledged_bytes_max,
                config.reassemblies_max,
                config.seed,
            ),
            inbox: Inbox::new(&config),
            spends: [Spend::new(&config), Spend::new(&config)],
            grants: [Grant::new(&config), Grant::new(&config)],
            allowances: Allowances::new(config.mailbox_messages_start.unwrap_or(u64::MAX)),
            placements: Placements::new(config.mailbox_messages_start.unwrap_or(u64::MAX)),
            pool: Pool::default(),
            events: VecDeque::new(),
            counts: Counts::default(),
            frame_error: None,
            credit_news: [false; 2],
            challenge: None,
            proving: None,
            response: None,
            ping: false,
            probes: 0,
            probe_items: Vec::new(),
            pace_until: None,
            short_at: None,
            skip_in,
            whole_in_a_row: 0,
            rest: Rest { messages: 0, since: now },
            random,
            config,
        })
    }

    /// Takes a message for the peer. Its bytes are copied.
    ///
    /// # Errors
    /// It is not taken: there is no room, it is too long, or the lane has ended. [LINK-40]
    pub fn send(&mut self, envelope: &Envelope, payload: &[u8]) -> Result<(), SendError> {
        if self.phase != Phase::Open {
            return Err(SendError::Ended);
        }
        let (len, max) = (payload.len(), self.config.message_len_max);
        if len > max {
            return Err(SendError::TooBig { len, max });
        }
        let class = envelope.kind.class();
        let in_pieces = Message::frame_len(envelope.kind, len) > self.mtu.current();
        self.room_for(class, len, in_pieces)?;
        let is_granted = class == Class::Mail && self.config.mailbox_messages_start.is_some();
        if is_granted && !self.allowances.try_take(envelope.to) {
            return Err(Full::Mailbox.into());
        }
        let end = self.spends[class as usize].take(len);
        self.outbox.push(*envelope, payload, end, in_pieces);
        self.counts.messages_sent += 1;
        Ok(())
    }

    /// The next message whose turn to be handled has come, in place of what is in `payload`, whose memory is used for later
    /// ones.
    pub fn poll_message(&mut self, payload: &mut FrameBuf) -> Option<Delivery> {
        let (number, envelope, bytes) = self.inbox.pop()?;
        let cost = bytes.len() as u64 + MESSAGE_COST;
        self.pool.give(std::mem::replace(payload, bytes).into_own());
        self.counts.messages_delivered += 1;
        let receipt = Receipt { to: envelope.to, class: envelope.kind.class(), cost };
        Some(Delivery { envelope, number, receipt })
    }

    /// Whether there is a message whose turn to be handled has come.
    #[must_use]
    pub fn has_message(&self) -> bool {
        self.inbox.ready() > 0
    }

    /// How many there are.
    #[must_use]
    pub fn messages_ready(&self) -> usize {
        self.inbox.ready()
    }

    /// How many of the messages that the peer sent first are all handed out, or ready to be. Never fewer than
    /// before.
    #[must_use]
    pub const fn received(&self) -> u64 {
        self.inbox.floor()
    }

    /// How many of the messages sent first the peer has for certain. Never fewer than before.
    #[must_use]
    pub const fn arrived(&self) -> u64 {
        self.outbox.floor()
    }

    /// The message is in its mailbox, which would take `window` more from this peer: all it can name
    /// if it has no bound. The peer may send as much again.
    pub fn release(&mut self, now: Time, receipt: Receipt, window: u32) {
        if receipt.class == Class::Mail && self.config.mailbox_messages_start.is_some() {
            self.placements.on_placed(receipt.to, window);
        }
        self.discard(now, receipt);
    }

    /// The message is no longer held, and has reached no mailbox: its actor is gone, or does not take
    /// such messages.
    #[expect(clippy::needless_pass_by_value, reason = "a receipt is given back once")]
    pub fn discard(&mut self, now: Time, receipt: Receipt) {
        self.grants[receipt.class as usize].on_released(receipt.cost);
        self.renew_credit(now, receipt.class);
    }

    /// Whether the peer is to be told of room that it does not know of: the carrier is to ask for packets. A little
    /// more room is told with what is sent anyway.
    #[must_use]
    pub fn has_credit_to_give(&self) -> bool {
        self.credit_news != [false; 2] || self.placements.has_news()
    }

    fn renew_credit(&mut self, now: Time, class: Class) {
        let rtt = self.recovery.rtt.smoothed();
        self.credit_news[class as usize] |= self.grants[class as usize].renew(now, rtt);
    }

    /// What happened since the last call that the node or the carrier wants to know.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// An actor of the peer's has ended for good: nothing is remembered of its mailbox.
    pub fn forget_remote(&mut self, actor: Address) {
        self.allowances.forget(actor);
    }

    /// An actor of this node has ended for good: nothing is remembered of its mailbox.
    pub fn forget_local(&mut self, actor: Address) {
        self.placements.forget(actor);
    }

    /// Whether every message that was taken has reached the peer's node.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.outbox.is_empty()
    }

    /// Whether the lane has ended, and has nothing more to tell its peer.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.phase == Phase::Ended
    }

    /// Whether the lane has ended, and may still tell its peer so.
    pub(crate) const fn is_closing(&self) -> bool {
        matches!(self.phase, Phase::Closing { .. })
    }

    /// The oldest message that is not known to be delivered to the peer's node, once the lane has ended;
    /// its bytes take the place of what was in `payload`. [LINK-74]
    pub fn poll_undelivered(&mut self, payload: &mut Vec<u8>) -> Option<(Envelope, Fate)> {
        if self.phase == Phase::Open {
            return None;
        }
        let (envelope, bytes, fate) = self.outbox.pop_undelivered()?;
        *payload = bytes;
        Some((envelope, fate))
    }

    /// What the lane has done so far.
    #[must_use]
    pub const fn counts(&self) -> Counts {
        self.counts
    }

    /// What was wrong with the frame for which the lane ended with [`CloseReason::BadFrame`].
    #[must_use]
    pub const fn frame_error(&self) -> Option<FrameError> {
        self.frame_error
    }

    /// The smoothed round-trip time.
    #[must_use]
    pub const fn rtt(&self) -> std::time::Duration {
        self.recovery.rtt.smoothed()
    }

    /// The smoothed round-trip time, once there was one on this path.
    #[must_use]
    pub fn round_trip(&self) -> Option<std::time::Duration> {
        self.recovery.rtt.is_sampled().then(|| self.rtt())
    }

    /// When the oldest packet left that is under way and has to be acknowledged. Looks at those under way.
    #[must_use]
    pub fn oldest_under_way(&self) -> Option<Time> {
        self.recovery.sent.oldest_waiting()
    }

    /// The most bytes inside the next packet.
    #[must_use]
    pub fn packet_len(&self) -> usize {
        // It may be for its length that a probe is not answered. [LINK-23]
        let is_doubtful = self.probes > 0 && self.recovery.unanswered() > 1;
        let is_short = crate::planted!("link-probes-long": is_doubtful => false);
        if is_short { self.mtu.safe() } else { self.mtu.current() }
    }

    /// The most bytes inside a packet ever.
    #[must_use]
    pub const fn packet_len_max(&self) -> usize {
        self.config.packet_len_max
    }

    /// The most bytes under way for now.
    #[must_use]
    pub fn congestion_window(&self) -> u64 {
        let window = self.congestion.window();
        // Two packets get through anywhere; with fewer nothing would move.
        let least = 2 * self.mtu.current() as u64;
        self.config.flight_bytes_max.map_or(window, |bytes| window.min(bytes.max(least)))
    }

    /// Bytes that came and are still held for their receivers, costs of 64 bytes a message included.
    #[must_use]
    pub fn bytes_held(&self) -> u64 {
        self.grants.iter().map(Grant::held).sum()
    }

    /// Asks the peer to prove that it receives what is sent to it; [`Event::PathProven`] has the token
    /// when it has. [LINK-72]
    pub const fn challenge(&mut self, token: u64) {
        self.challenge = Some(token);
    }

    /// Ends the lane, and tells the peer why.
    pub fn close(&mut self, now: Time, reason: CloseReason) {
        self.end_with_notice(now, reason, End::Closed(reason));
    }

    /// The peer does not know this association, as its carrier has proved.
    pub fn on_reset(&mut self) {
        self.end(End::Reset);
    }

    /// The peer's node has a new incarnation.
    pub fn on_superseded(&mut self) {
        self.end(End::Superseded);
    }

    fn end_with_notice(&mut self, now: Time, reason: CloseReason, end: End) {
        if self.phase != Phase::Open {
            return;
        }
        self.events.push_back(Event::Ended(end));
        let until = now + self.recovery.probe_delay() * 3;
        self.phase = Phase::Closing { reason, until, due: true, heard: 0 };
    }

    fn end(&mut self, end: End) {
        if self.phase == Phase::Open {
            self.events.push_back(Event::Ended(end));
        }
        self.phase = Phase::Ended;
    }
}

#[cfg(test)]
mod tests;
