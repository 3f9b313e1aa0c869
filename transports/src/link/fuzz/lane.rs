//! One lane whose peer is anybody.

use super::super::config::Config;
use super::super::envelope::{Address, Class, Envelope, Kind};
use super::super::frame::{Fragment, Frame, Head, Message};
use super::super::lane::{Event, Full, Lane, Receipt, SendError};
use super::super::received::Ecn;
use super::super::time::Time;
use super::super::wire::Writer;
use crate::fuzz::Choices;
use greenroom::net::{Bytes, FrameBuf};
use std::time::Duration;

const WINDOW_BYTES_MAX: u64 = 1 << 15;

/// Small limits, which few bytes reach.
pub(super) fn config() -> Config {
    Config {
        window_messages: 16,
        message_len_max: 8192,
        window_bytes_start: 8192,
        window_bytes_max: WINDOW_BYTES_MAX,
        reassemblies_max: 3,
        mailbox_messages_start: Some(4),
        ack_ranges_max: 4,
        skip_every: 8,
        ..Config::default()
    }
}

/// A lane that gets what nobody honest sends, while its node goes on sending, taking and letting go. It holds no
/// more than it granted, takes nothing once it has ended, ends once, and comes to rest. [LINK-3] [LINK-42]
pub fn lane(bytes: &[u8]) {
    let mut hall = Hall::new();
    let mut choices = Choices(bytes);
    while !choices.is_over() {
        match choices.u8() % 12 {
            0..2 => {
                let length = choices.u8().into();
                hall.packet(&mut choices, |choices, inside| {
                    let raw = choices.take(length);
                    inside[..raw.len()].copy_from_slice(raw);
                    raw.len()
                });
            }
            2..6 => hall.packet(&mut choices, framed),
            6 => hall.send(&mut choices),
            7 => hall.now = hall.now + Duration::from_micros(1 << (choices.u8() % 24)),
            8 => hall.wake(),
            9 => hall.take(choices.u8()),
            10 => hall.let_go(),
            _ => match choices.u8() {
                0..64 => hall.lane.challenge(7),
                64..128 => hall.lane.on_path_change(hall.now),
                128..192 => hall.lane.forget_remote(address(choices.u8())),
                _ => hall.lane.forget_local(address(choices.u8())),
            },
        }
        hall.check();
    }
}

/// The lane and its node.
struct Hall {
    lane: Lane,
    now: Time,
    number: u64,
    held: Vec<Receipt>,
    ended: bool,
    taken: FrameBuf,
    buffer: Vec<u8>,
}

impl Hall {
    fn new() -> Self {
        let lane = Lane::new(Time::default(), config()).expect("the limits fit");
        let (held, taken, buffer) = (Vec::new(), FrameBuf::default(), vec![0; 1500]);
        Self { lane, now: Time::default(), number: 0, held, ended: false, taken, buffer }
    }

    /// A packet whose number is near the last one.
    fn packet(
        &mut self,
        choices: &mut Choices<'_>,
        fill: impl FnOnce(&mut Choices<'_>, &mut [u8]) -> usize,
    ) {
        let step = choices.u8();
        self.number = (self.number + u64::from(step % 16)).saturating_sub(u64::from(step / 64));
        let mut inside = [0; 1420];
        let length = fill(choices, &mut inside);
        let ecn = if step % 8 == 7 { Ecn::Congested } else { Ecn::NotCapable };
        let inside = &inside[..length];
        if step.is_multiple_of(2) {
            return self.lane.on_packet(self.now, self.number, inside, ecn);
        }
        let lent = Bytes::copy_from_slice(inside);
        self.lane.on_packet_lent(self.now, self.number, &lent, ecn, &lent);
    }

    fn send(&mut self, choices: &mut Choices<'_>) {
        let kind = kind(choices.u8());
        let (to, from) = (address(choices.u8()), address(choices.u8()));
        let envelope = Envelope { to, from, kind, manifest: 1, correlation: 0 };
        let length = usize::from(choices.u16() % 9000);
        let sent = self.lane.send(&envelope, &vec![7; length]);
        match sent {
            Ok(()) => assert!(!self.ended && length <= 8192),
            Err(SendError::Ended) => assert!(self.ended),
            Err(SendError::TooBig { len, max }) => assert_eq!((len, max), (length, 8192)),
            Err(SendError::Full(Full::Mailbox)) => assert_eq!(kind.class(), Class::Mail),
            Err(SendError::Full(_)) => {}
        }
    }

    fn wake(&mut self) {
        if let Some(due) = self.lane.timeout() {
            self.now = self.now.max(due);
            self.lane.on_timeout(self.now);
        }
    }

    fn take(&mut self, count: u8) {
        for _ in 0..count {
            let Some(delivery) = self.lane.poll_message(&mut self.taken) else { break };
            assert!(self.taken.len() <= 8192);
            self.held.push(delivery.receipt);
        }
    }

    fn let_go(&mut self) {
        for (place, receipt) in self.held.drain(..).enumerate() {
            match place % 2 {
                0 => self.lane.release(self.now, receipt, place as u32),
                _ => self.lane.discard(self.now, receipt),
            }
        }
    }

    fn check(&mut self) {
        // What a lane has to say at one moment has an end.
        let quiet = (0..2000).any(|_| match self.lane.poll_transmit(self.now, &mut self.buffer) {
            Some(packet) => {
                assert!(packet.len > 0 && packet.len <= 1420);
                false
            }
            None => true,
        });
        assert!(quiet, "it never stops sending");
        while let Some(event) = self.lane.poll_event() {
            if let Event::Ended(_) = event {
                assert!(!self.ended, "it ends twice");
                self.ended = true;
            }
        }
        let held = self.lane.bytes_held();
        assert!(held <= 2 * WINDOW_BYTES_MAX, "{held} bytes are held");
    }
}

fn kind(choice: u8) -> Kind {
    Kind::from_wire(choice % 5).expect("there are five kinds")
}

fn address(choice: u8) -> Address {
    Address { slot: u32::from(choice % 4), generation: 0 }
}

fn head(choices: &mut Choices<'_>) -> Head {
    let kind = kind(choices.u8());
    let (to, from) = (address(choices.u8()), address(choices.u8()));
    let predecessor = u16::from(choices.u8() % 32);
    Head { envelope: Envelope { to, from, kind, manifest: 1, correlation: 0 }, predecessor }
}

/// Frames that are well made, if not honest.
fn framed(choices: &mut Choices<'_>, inside: &mut [u8]) -> usize {
    let payload = [7; 1024];
    let mut writer = Writer::new(inside);
    for _ in 0..=choices.u8() % 4 {
        let sequence = u32::from(choices.u8() % 40);
        let before = writer.written();
        let frame = match choices.u8() % 8 {
            0 | 1 => {
                let payload = &payload[..usize::from(choices.u16()) % 1024];
                Frame::Message(Message { sequence, head: head(choices), payload })
            }
            2 | 3 => {
                let offset = u64::from(choices.u16() % 9000);
                let total = offset + u64::from(choices.u16() % 9000);
                let head = (offset == 0).then(|| head(choices));
                let class = head.map_or(Class::Mail, |head| head.envelope.kind.class());
                let payload = &payload[..usize::from(choices.u16()) % 1024];
                Frame::Fragment(Fragment { sequence, class, total, offset, head, payload })
            }
            4 => {
                let [largest, first] = [choices.u8() % 32, choices.u8() % 8];
                let ack = [2, largest, 0, 0, first.min(largest)];
                if writer.bytes(&ack).is_err() {
                    return before;
                }
                continue;
            }
            5 => Frame::LaneCredit { class: Class::Mail, limit: u64::from(choices.u32()) },
            6 => Frame::MailboxCredit { to: address(choices.u8()), limit: choices.u16().into() },
            _ => match choices.u8() % 8 {
                0 => Frame::Ping,
                1 => Frame::PathChallenge(3),
                2 => Frame::PathResponse(7),
                3 => Frame::Close(super::super::close::CloseReason::from_wire(3)),
                _ => Frame::Pad,
            },
        };
        if frame.write(&mut writer).is_err() {
            return before;
        }
    }
    writer.written()
}
