//! Two honest lanes, and between them a network that somebody steers.

use super::super::envelope::{Address, Envelope, Kind};
use super::super::lane::{Event, Lane, Receipt};
use super::super::outbox::Fate;
use super::super::received::Ecn;
use super::super::time::Time;
use super::lane::config;
use crate::fuzz::Choices;
use greenroom::net::FrameBuf;
use std::collections::BTreeMap;
use std::time::Duration;

/// Both send while packets are delivered, doubled, lost and overtaken as the bytes say. Each pair's messages come
/// once, in order and as they were; when the network is calm again all have come, or the lanes have ended and
/// everything else is handed back. [LINK-50] [LINK-52] [LINK-55] [LINK-74]
pub fn pair(bytes: &[u8]) {
    let mut world = World::new();
    let mut choices = Choices(bytes);
    while !choices.is_over() {
        let choice = choices.u8();
        let side = usize::from(choice >> 7);
        match choice % 8 {
            0 | 1 => world.send(side, &mut choices),
            2 | 3 => world.deliver(side, &mut choices),
            4 => world.lose(side, &mut choices),
            5 => world.now = world.now + Duration::from_micros(1 << (choices.u8() % 22)),
            6 => world.take(side, choices.u8()),
            _ => world.wake(side),
        }
        world.settle(side);
    }
    world.calm();
    world.check();
}

type Pair = (usize, u8);

struct World {
    now: Time,
    sides: [Side; 2],
    /// Messages of each pair that were taken, and their lengths.
    sent: BTreeMap<Pair, Vec<usize>>,
    /// How many of each pair have come.
    come: BTreeMap<Pair, usize>,
}

struct Side {
    lane: Lane,
    /// Packets on their way to this side.
    coming: Vec<(u64, Vec<u8>)>,
    held: Vec<Receipt>,
    ended: bool,
}

impl World {
    fn new() -> Self {
        let side = || {
            let lane = Lane::new(Time::default(), config()).expect("the limits fit");
            Side { lane, coming: Vec::new(), held: Vec::new(), ended: false }
        };
        let (sent, come) = (BTreeMap::new(), BTreeMap::new());
        Self { now: Time::default(), sides: [side(), side()], sent, come }
    }

    fn send(&mut self, side: usize, choices: &mut Choices<'_>) {
        let (pair, length) = (choices.u8() % 3, usize::from(choices.u8()) * 24);
        let address = Address { slot: pair.into(), generation: 0 };
        let kind = if pair == 2 { Kind::System } else { Kind::Tell };
        let envelope = Envelope { to: address, from: address, kind, manifest: 0, correlation: 0 };
        let sent = self.sent.entry((side, pair)).or_default();
        let payload = payload(sent.len(), length);
        if self.sides[side].lane.send(&envelope, &payload).is_ok() {
            sent.push(payload.len());
        }
    }

    /// A packet arrives; its copy may come again.
    fn deliver(&mut self, side: usize, choices: &mut Choices<'_>) {
        let Side { lane, coming, .. } = &mut self.sides[side];
        if coming.is_empty() {
            return;
        }
        let place = choices.place(coming.len());
        let (number, inside) = match choices.u8() % 4 {
            0 => coming[place].clone(),
            _ => coming.remove(place),
        };
        lane.on_packet(self.now, number, &inside, Ecn::NotCapable);
    }

    fn lose(&mut self, side: usize, choices: &mut Choices<'_>) {
        let coming = &mut self.sides[side].coming;
        if !coming.is_empty() {
            coming.remove(choices.place(coming.len()));
        }
    }

    fn wake(&mut self, side: usize) {
        let lane = &mut self.sides[side].lane;
        if let Some(due) = lane.timeout() {
            self.now = self.now.max(due);
            lane.on_timeout(self.now);
        }
    }

    /// The actors of a side take what has come, and make room.
    fn take(&mut self, side: usize, count: u8) {
        let mut message = FrameBuf::default();
        for _ in 0..count {
            let Some(delivery) = self.sides[side].lane.poll_message(&mut message) else { break };
            let pair = (1 - side, delivery.envelope.to.slot as u8);
            let count = self.come.entry(pair).or_default();
            let sent = self.sent.get(&pair).and_then(|sent| sent.get(*count));
            let sent = *sent.expect("a message comes that was not sent");
            assert!(message[..] == payload(*count, sent), "message {count} of {pair:?} is another");
            *count += 1;
            self.sides[side].held.push(delivery.receipt);
        }
        let Side { lane, held, .. } = &mut self.sides[side];
        held.drain(..).for_each(|receipt| lane.release(self.now, receipt, 8));
    }

    /// What a side has to send is on its way.
    fn settle(&mut self, side: usize) {
        let mut buffer = [0; 1500];
        while let Some(packet) = self.sides[side].lane.poll_transmit(self.now, &mut buffer) {
            let packet = (packet.number, buffer[..packet.len].to_vec());
            self.sides[1 - side].coming.push(packet);
        }
        while let Some(event) = self.sides[side].lane.poll_event() {
            self.sides[side].ended |= matches!(event, Event::Ended(_));
        }
    }

    /// From now on everything arrives at once.
    fn calm(&mut self) {
        for _ in 0..5000 {
            let mut moved = false;
            for side in 0..2 {
                self.settle(side);
                for (number, inside) in std::mem::take(&mut self.sides[side].coming) {
                    self.sides[side].lane.on_packet(self.now, number, &inside, Ecn::NotCapable);
                    moved = true;
                }
                self.take(side, u8::MAX);
                self.settle(side);
            }
            let settled = |side: &Side| side.ended || side.lane.is_settled();
            if !moved && self.sides.iter().all(settled) {
                return;
            }
            if !moved {
                let due = self.sides.iter().filter_map(|side| side.lane.timeout()).min();
                self.now = self.now.max(due.expect("something is to be waited for"));
                for side in &mut self.sides {
                    if side.lane.timeout().is_some_and(|due| due <= self.now) {
                        side.lane.on_timeout(self.now);
                    }
                }
            }
        }
        panic!("the lanes do not come to rest");
    }

    fn check(&mut self) {
        let ended = self.sides.iter().any(|side| side.ended);
        for side in 0..2 {
            let mut back: BTreeMap<Pair, Vec<Fate>> = BTreeMap::new();
            let mut message = Vec::new();
            let lane = &mut self.sides[side].lane;
            while let Some((envelope, fate)) = lane.poll_undelivered(&mut message) {
                back.entry((side, envelope.to.slot as u8)).or_default().push(fate);
            }
            for (pair, sent) in self.sent.iter().filter(|(pair, _)| pair.0 == side) {
                let come = self.come.get(pair).copied().unwrap_or(0);
                let back = back.remove(pair).unwrap_or_default();
                assert!(ended || come == sent.len(), "{come} of {} come, and no end", sent.len());
                assert!(
                    !self.sides[side].ended || come + back.len() >= sent.len(),
                    "{pair:?}: of {} messages {come} came and {} came back",
                    sent.len(),
                    back.len()
                );
                let unsent = back.iter().filter(|fate| **fate == Fate::Unsent).count();
                assert!(come + unsent <= sent.len(), "what came is said not to have left");
            }
        }
    }
}

/// A message that tells which it is.
fn payload(index: usize, length: usize) -> Vec<u8> {
    let mut payload = (index as u32).to_le_bytes().to_vec();
    payload.resize(4.max(length), index as u8);
    payload
}
