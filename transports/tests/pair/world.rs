//! Two lanes, a network between them that does what the plan says, and a clock that jumps.

use super::history::History;
use greenroom::net::FrameBuf;
use greenroom_transports::link::{
    Address, CloseReason, Config, Ecn, End, Envelope, Event, Fate, Full, Kind, Lane, Receipt,
    SendError, Time,
};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

/// Random numbers from a seed (xorshift64*), of the harness's own.
#[derive(Debug)]
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16) % bound.max(1)
    }

    pub(crate) fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

/// What the network does to packets.
#[derive(Clone, Debug)]
pub(crate) struct Network {
    pub(crate) loss_percent: u64,
    pub(crate) duplicate_percent: u64,
    pub(crate) delay: Duration,
    pub(crate) jitter: Duration,
    /// Packets with more bytes inside vanish.
    pub(crate) packet_len: usize,
    /// From when to when nothing passes: from the left, from the right.
    pub(crate) silences: [Option<(Time, Time)>; 2],
    pub(crate) mark_percent: u64,
}

impl Network {
    pub(crate) fn calm() -> Self {
        Self {
            loss_percent: 0,
            duplicate_percent: 0,
            delay: Duration::from_millis(5),
            jitter: Duration::ZERO,
            packet_len: usize::MAX,
            silences: [None, None],
            mark_percent: 0,
        }
    }

    pub(crate) fn drawn(dice: &mut Dice) -> Self {
        let delay = Duration::from_micros(20 + dice.below(40_000));
        let jitter = if dice.chance(60) { delay * dice.below(4) as u32 } else { Duration::ZERO };
        let silence = |dice: &mut Dice| {
            let from = ms(dice.below(1500));
            dice.chance(25).then(|| (from, from + Duration::from_millis(dice.below(2500))))
        };
        Self {
            loss_percent: [0, 0, 1, 5, 20, 35][dice.below(6) as usize],
            duplicate_percent: [0, 0, 2, 20][dice.below(4) as usize],
            delay,
            jitter,
            packet_len: [1168, 1300, 1420, usize::MAX][dice.below(4) as usize],
            silences: [silence(dice), silence(dice)],
            mark_percent: [0, 0, 0, 5][dice.below(4) as usize],
        }
    }
}

pub(crate) fn ms(count: u64) -> Time {
    Time::from_nanos(count * 1_000_000)
}

/// What one end's actors do.
#[derive(Clone, Debug)]
pub(crate) struct Work {
    /// How many messages are sent in all.
    pub(crate) messages: u64,
    pub(crate) actors: u64,
    /// Of a hundred messages so many are long.
    pub(crate) long_percent: u64,
    pub(crate) long_max: u64,
    /// Of a hundred looks at a mailbox, so many take something out.
    pub(crate) pace_percent: u64,
    /// What each mailbox says it would take more.
    pub(crate) window: u32,
}

/// One end.
pub(crate) struct Side {
    pub(crate) lane: Lane,
    work: Work,
    sent: u64,
    /// Messages that were refused, and what for.
    refused: BTreeMap<u32, (Envelope, Vec<u8>)>,
    waits_for_room: bool,
    waits_for_mailbox: BTreeSet<Address>,
    /// Messages that came and are not taken out of their mailboxes.
    mailboxes: VecDeque<Receipt>,
    pub(crate) end: Option<End>,
    buffer: FrameBuf,
    pub(crate) suspected: bool,
}

struct Flying {
    to: usize,
    number: u64,
    inside: Vec<u8>,
    ecn: Ecn,
}

pub(crate) struct World {
    pub(crate) now: Time,
    pub(crate) sides: [Side; 2],
    pub(crate) network: Network,
    /// Packets that left either end.
    pub(crate) packets: u64,
    flying: BTreeMap<(Time, u64), Flying>,
    flown: u64,
    pub(crate) dice: Dice,
    pub(crate) history: History,
    /// Packets, to replay some of them much later.
    recorded: Vec<(usize, u64, Vec<u8>)>,
}

impl World {
    pub(crate) fn new(seed: u64, network: Network, works: [Work; 2], config: &Config) -> Self {
        let side = |work, salt| Side {
            lane: Lane::new(ms(0), Config { seed: seed ^ salt, ..config.clone() })
                .expect("a good configuration"),
            work,
            sent: 0,
            refused: BTreeMap::new(),
            waits_for_room: false,
            waits_for_mailbox: BTreeSet::new(),
            mailboxes: VecDeque::new(),
            end: None,
            buffer: FrameBuf::default(),
            suspected: false,
        };
        let [left, right] = works;
        Self {
            now: ms(0),
            sides: [side(left, 1), side(right, 2)],
            network,
            packets: 0,
            flying: BTreeMap::new(),
            flown: 0,
            dice: Dice::new(seed),
            history: History::default(),
            recorded: Vec::new(),
        }
    }

    /// Runs until all work is done, both ends have ended, or it is `until`.
    pub(crate) fn run(&mut self, until: Time) {
        self.run_until(until, Self::is_done);
    }

    /// Runs until that is so, or it is `until`.
    pub(crate) fn run_until(&mut self, until: Time, done: impl Fn(&Self) -> bool) {
        // Time stands still for as long as a lane has something to do at once, but not for ever.
        let (mut since, mut steps) = (self.now, 0);
        while self.now < until && !done(self) {
            if self.now > since {
                (since, steps) = (self.now, 0);
            }
            steps += 1;
            assert!(
                steps < 1000,
                "time stands still: {:?}",
                [0, 1].map(|at: usize| self.sides[at].lane.timeout())
            );
            for at in 0..2 {
                self.act(at);
                self.flush(at);
            }
            self.step();
        }
    }

    /// Whether all work is done: every message sent, settled and taken out.
    pub(crate) fn is_done(&self) -> bool {
        let is_idle = |side: &Side| {
            let all = side.sent == side.work.messages && side.refused.is_empty();
            all && side.lane.is_settled() && side.mailboxes.is_empty()
        };
        self.sides.iter().all(|side| side.lane.is_finished())
            || self.sides.iter().all(is_idle) && self.sides.iter().all(|side| side.end.is_none())
    }

    /// Goes on to the next thing that happens: a packet arrives, a timer runs out, actors act.
    fn step(&mut self) {
        let arrival = self.flying.keys().next().map(|(at, _)| *at);
        let timers = self.sides.iter().filter_map(|side| side.lane.timeout());
        let busy = self.sides.iter().any(Side::is_busy);
        let tick = busy.then(|| self.now + Duration::from_micros(500));
        let Some(next) = timers.chain(arrival).chain(tick).min() else { return };
        self.now = self.now.max(next);
        while let Some(entry) = self.flying.first_entry()
            && entry.key().0 <= self.now
        {
            let Flying { to, number, inside, ecn } = entry.remove();
            self.sides[to].lane.on_packet(self.now, number, &inside, ecn);
            self.collect(to);
        }
        for at in 0..2 {
            if self.sides[at].lane.timeout().is_some_and(|due| due <= self.now) {
                self.sides[at].lane.on_timeout(self.now);
            }
            self.collect(at);
        }
    }

    /// An end's actors send and take out.
    fn act(&mut self, at: usize) {
        let burst = self.dice.below(8);
        for _ in 0..burst {
            self.send_one(at);
        }
        let side = &mut self.sides[at];
        while !side.mailboxes.is_empty() && self.dice.chance(side.work.pace_percent) {
            let receipt = side.mailboxes.pop_front().expect("it is not empty");
            side.lane.release(self.now, receipt, side.work.window);
        }
    }

    fn send_one(&mut self, at: usize) {
        let side = &mut self.sides[at];
        if side.waits_for_room || side.end.is_some() {
            return;
        }
        let from = self.dice.below(side.work.actors) as u32;
        let (envelope, payload) = match side.refused.remove(&from) {
            Some(refused) => refused,
            None if side.sent == side.work.messages => return,
            None => {
                side.sent += 1;
                side.draw_message(from, &mut self.dice)
            }
        };
        if side.waits_for_mailbox.contains(&envelope.to) {
            side.refused.insert(from, (envelope, payload));
            return;
        }
        match side.lane.send(&envelope, &payload) {
            Ok(()) => self.history.on_sent(at, &envelope, &payload),
            Err(SendError::Full(full)) => {
                match full {
                    Full::Mailbox => drop(side.waits_for_mailbox.insert(envelope.to)),
                    _ => side.waits_for_room = true,
                }
                side.refused.insert(from, (envelope, payload));
            }
            Err(error) => assert!(side.end.is_some(), "{error}"),
        }
    }

    /// Nobody does anything, until then: both ends stood still.
    pub(crate) fn pause(&mut self, until: Time) {
        self.now = until;
    }

    /// The network is well from now on.
    pub(crate) fn calm(&mut self) {
        self.network = Network::calm();
    }

    /// An end closes its lane.
    pub(crate) fn close(&mut self, at: usize, when: Time, reason: CloseReason) {
        self.now = self.now.max(when);
        self.sides[at].lane.close(self.now, reason);
        self.collect(at);
    }

    /// Everything the end wants to send goes into the network.
    fn flush(&mut self, at: usize) {
        let mut buffer = [0; 1500];
        while let Some(packet) = self.sides[at].lane.poll_transmit(self.now, &mut buffer) {
            let inside = &buffer[..packet.len];
            self.packets += 1;
            if self.dice.chance(2) {
                self.recorded.push((1 - at, packet.number, inside.to_vec()));
            }
            self.fly(at, packet.number, inside);
            if self.dice.chance(self.network.duplicate_percent) {
                self.fly(at, packet.number, inside);
            }
        }
        self.collect(at);
    }

    fn fly(&mut self, from: usize, number: u64, inside: &[u8]) {
        let silence = self.network.silences[from];
        let is_silent = silence.is_some_and(|(start, end)| (start..end).contains(&self.now));
        let too_large = inside.len() > self.network.packet_len;
        if is_silent || too_large || self.dice.chance(self.network.loss_percent) {
            return;
        }
        let jitter = self.dice.below(self.network.jitter.as_nanos() as u64 + 1);
        let at = self.now + self.network.delay + Duration::from_nanos(jitter);
        let marked = self.dice.chance(self.network.mark_percent);
        let ecn = match self.sides[from].lane.ecn() {
            Ecn::Capable0 if marked => Ecn::Congested,
            ecn => ecn,
        };
        let packet = Flying { to: 1 - from, number, inside: inside.to_vec(), ecn };
        self.flown += 1;
        self.flying.insert((at, self.flown), packet);
    }

    /// Packets of long ago come once more: the carrier's replay window is broken.
    pub(crate) fn replay(&mut self) {
        for (to, number, inside) in self.recorded.drain(..) {
            self.sides[to].lane.on_packet(self.now, number, &inside, Ecn::NotCapable);
        }
        for at in 0..2 {
            self.collect(at);
        }
    }

    /// Takes in what the lane has for its node.
    fn collect(&mut self, at: usize) {
        let side = &mut self.sides[at];
        while let Some(event) = side.lane.poll_event() {
            match event {
                Event::Room => side.waits_for_room = false,
                Event::MailboxRoom(to) => drop(side.waits_for_mailbox.remove(&to)),
                Event::Suspected => side.suspected = true,
                Event::Recovered => side.suspected = false,
                Event::Ended(end) => {
                    assert_eq!(side.end, None, "an end happens once");
                    side.end = Some(end);
                }
                _ => {}
            }
        }
        let mut payload = std::mem::take(&mut side.buffer);
        while let Some(delivery) = side.lane.poll_message(&mut payload) {
            self.history.on_delivered(at, &delivery.envelope, &payload);
            match delivery.envelope.kind {
                // Answers and the runtime's own messages never wait.
                Kind::Reply | Kind::System => side.lane.release(self.now, delivery.receipt, 0),
                _ => side.mailboxes.push_back(delivery.receipt),
            }
        }
        side.buffer = payload;
    }

    /// What was taken and is not known to be delivered, after an end.
    pub(crate) fn undelivered(&mut self, at: usize) -> Vec<(Envelope, Vec<u8>, Fate)> {
        let (mut left, mut payload) = (Vec::new(), Vec::new());
        while let Some((envelope, fate)) = self.sides[at].lane.poll_undelivered(&mut payload) {
            left.push((envelope, payload.clone(), fate));
        }
        left
    }

    /// How many messages an end has been given to send so far.
    pub(crate) fn sent(&self, at: usize) -> u64 {
        self.sides[at].sent
    }
}

impl Side {
    fn is_busy(&self) -> bool {
        let wants = self.sent < self.work.messages || !self.refused.is_empty();
        self.end.is_none() && (wants && !self.waits_for_room || !self.mailboxes.is_empty())
    }

    fn draw_message(&mut self, from: u32, dice: &mut Dice) -> (Envelope, Vec<u8>) {
        let kind = match dice.below(10) {
            0 => Kind::Ask,
            1 => Kind::Reply,
            2 => Kind::System,
            _ => Kind::Tell,
        };
        let len = if dice.chance(self.work.long_percent) {
            dice.below(self.work.long_max)
        } else {
            dice.below(200)
        };
        // Each byte follows from the message's number: a wrong one shows.
        let mut payload = self.sent.to_le_bytes().to_vec();
        payload.extend((0..len).map(|at| (at ^ self.sent) as u8));
        let to = Address { slot: dice.below(self.work.actors) as u32, generation: 1 };
        let from = Address { slot: from, generation: 2 };
        let correlation = if kind == Kind::Tell || kind == Kind::System { 0 } else { self.sent };
        (Envelope { to, from, kind, manifest: 3, correlation }, payload)
    }
}
