//! Endpoints under datagrams and orders of events that somebody chose.

mod handshakes;

pub use handshakes::handshakes;

use super::harness::{Pair, address, digest, events, node, pair, sealed, small_config, up};
use super::*;
use crate::fuzz::Choices;
use crate::secure::guard::CODES_BYTES;
use crate::secure::limit::Rate;
use crate::secure::wire::Suite;
use std::cell::RefCell;

/// Nodes that take as much as comes, so that no rate stands before what is looked at.
pub(super) fn open_config(suite: Suite) -> Config {
    let rate = Rate::per_second(1_000_000_000, 1_000_000_000);
    Config { source_rate: rate, load_rate: rate, ..small_config(suite) }
}

/// Everything that two nodes ever said, and both after that.
struct Recorded {
    nodes: [Endpoint; 2],
    now: Time,
    packets: Vec<Vec<u8>>,
}

thread_local! {
    /// What is dropped changes nothing, so that one recording serves all inputs.
    static RECORDED: RefCell<Recorded> = RefCell::new(Recorded::new());
}

/// Datagrams that an attacker makes of recorded ones, with first codes made anew if it wants them: each is dropped,
/// counted once, and changes nothing. [UDP-11] [UDP-13] [UDP-32] [UDP-90]
pub fn datagrams(bytes: &[u8]) {
    RECORDED.with_borrow_mut(|recorded| {
        let mut choices = Choices(bytes);
        while !choices.is_over() {
            recorded.offer(&mut choices);
        }
    });
}

impl Recorded {
    /// Two lives of one node, keys renewed, a reset, a first contact, and data in both directions.
    fn new() -> Self {
        let mut packets = Vec::new();
        let mut pair = pair(&open_config(Suite::Classic));
        connect(&mut pair, &mut packets);
        let (a, b) = (up(&mut pair.a).expect("a is up"), up(&mut pair.b).expect("b is up"));
        speak(&mut pair, (a, b), &mut packets);
        pair.a.rekey(pair.now, a).expect("it is up");
        carry(&mut pair, &mut packets);
        speak(&mut pair, (a, b), &mut packets);
        pair.a = node(1, 1, open_config(Suite::Classic));
        let mut lost = sealed(&mut pair.b, pair.now, b, 900, b"are you there?").expect("it is up");
        pair.a.handle(pair.now, address(2), &mut lost.packet);
        carry(&mut pair, &mut packets);
        connect(&mut pair, &mut packets);
        let (a, b) = (up(&mut pair.a).expect("a is up"), up(&mut pair.b).expect("b is up"));
        speak(&mut pair, (a, b), &mut packets);
        events(&mut pair.a);
        events(&mut pair.b);
        Self { nodes: [pair.a, pair.b], now: pair.now, packets }
    }

    fn offer(&mut self, choices: &mut Choices<'_>) {
        let choice = choices.u8();
        let place = usize::from(choice & 1);
        let mut packet = match choices.u8() {
            u8::MAX => choices.take(usize::from(choice) * 6).to_vec(),
            template => self.packets[usize::from(template) % self.packets.len()].clone(),
        };
        for _ in 0..choice >> 6 {
            self.alter(&mut packet, choices);
        }
        if choice & 0b11_0000 == 0b11_0000 && packet.len() > CODES_BYTES {
            packet.truncate(packet.len() - CODES_BYTES);
            Codes::of(&self.nodes[place].public()).stamp(None, &mut packet);
        }
        let from = address([1, 2, 66, 77][usize::from(choice >> 2 & 3)]);
        self.drops(place, from, &mut packet);
    }

    fn alter(&self, packet: &mut Vec<u8>, choices: &mut Choices<'_>) {
        let (kind, place) = (choices.u8(), choices.place(packet.len().max(1)));
        match kind % 6 {
            0 => packet.iter_mut().skip(place).take(1).for_each(|byte| *byte ^= 1 << (kind >> 5)),
            1 => packet.iter_mut().skip(place).take(1).for_each(|byte| *byte = choices.u8()),
            2 => packet.truncate(place),
            3 => packet.resize(packet.len() + usize::from(kind), 0),
            4 => {
                let bytes = choices.take(usize::from(kind >> 4));
                let places = packet.iter_mut().skip(place % 24);
                places.zip(bytes).for_each(|(place, byte)| *place = *byte);
            }
            // The end of another one, as if it were of this.
            _ => {
                let other = &self.packets[usize::from(choices.u8()) % self.packets.len()];
                packet.truncate(place);
                packet.extend(other.iter().skip(place));
            }
        }
    }

    fn drops(&mut self, place: usize, from: SocketAddr, packet: &mut [u8]) {
        let node = &mut self.nodes[place];
        let (before, counted) = (digest(node), node.audit.rejected_in_all());
        let Received::Dropped(why) = node.handle(self.now, from, packet) else {
            panic!("node {place} takes {} bytes of a stranger's", packet.len())
        };
        assert_eq!(node.audit.rejected_in_all(), counted + 1);
        let answers: usize = std::iter::from_fn(|| node.poll_transmit())
            .map(|answer| {
                assert_eq!(answer.to, from);
                answer.packet.len()
            })
            .sum();
        assert!(answers <= packet.len(), "{answers} bytes out for {} in: {why}", packet.len());
        assert_eq!(digest(node), before, "{why} changes something");
    }
}

fn connect(pair: &mut Pair, packets: &mut Vec<Vec<u8>>) {
    pair.now = pair.now + Duration::from_millis(1);
    pair.a.connect(pair.now, &pair.b.public(), address(2)).expect("b is allowed");
    carry(pair, packets);
}

/// Carries and records what is queued.
fn carry(pair: &mut Pair, packets: &mut Vec<Vec<u8>>) {
    for round in 0..8 {
        let (from, to, source) = match round % 2 {
            0 => (&mut pair.a, &mut pair.b, address(1)),
            _ => (&mut pair.b, &mut pair.a, address(2)),
        };
        while let Some(mut sent) = from.poll_transmit() {
            packets.push(sent.packet.clone());
            to.handle(pair.now, source, &mut sent.packet);
        }
    }
}

/// A few texts in both directions; the last ones come before the others, so that the window has an edge.
fn speak(pair: &mut Pair, (a, b): (AssociationId, AssociationId), packets: &mut Vec<Vec<u8>>) {
    let next = 10 * packets.len() as u64;
    for number in [next, next + 5, next + 6] {
        let mut sent = sealed(&mut pair.a, pair.now, a, number, b"a text").expect("it is up");
        packets.push(sent.packet.clone());
        pair.b.handle(pair.now, address(1), &mut sent.packet);
        let mut sent = sealed(&mut pair.b, pair.now, b, number, b"an answer").expect("it is up");
        packets.push(sent.packet.clone());
        pair.a.handle(pair.now, address(2), &mut sent.packet);
    }
}
