//! The packets that are under way, and what was in them.
//!
//! Invariants:
//! 1. `packets[i]` has the number `first + i`; the first one is under way, or left out below one.
//! 2. A packet's items follow those of the packet before it; no item outlives its packet.
//! 3. Of packets with acknowledgements alone, which the peer need not acknowledge, few are remembered when
//!    nothing else is under way: whoever only receives sends no others for hours.
//! 4. `bytes_in_flight` is the sum of the sizes of packets under way that count.

use super::envelope::{Address, Class};
use super::time::Time;
use std::collections::VecDeque;

/// What has to be sent again, in some form, if its packet is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Item {
    /// Whole messages, from the one with that number on.
    Messages {
        first: u64,
        count: u32,
    },
    /// These bytes of a message.
    Fragment {
        sequence: u64,
        start: u32,
        end: u32,
    },
    LaneCredit(Class),
    MailboxCredit(Address),
    PathChallenge(u64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    UnderWay,
    Acked,
    Lost,
    /// Never sent: whoever acknowledges it makes things up.
    Skipped,
}

/// What kind of packet it is, for those who count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Acknowledgements alone, which are not acknowledged.
    Acks,
    Frames,
    /// Tries whether the path takes packets of this size; its loss says nothing about congestion.
    MtuProbe,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Packet {
    pub(super) time: Time,
    pub(super) bytes: u32,
    pub(super) purpose: Purpose,
    pub(super) state: State,
    /// All received packets below were acknowledged in this packet; 0 if none was.
    pub(super) acked_below: u64,
    items: u64,
}

/// So many packets are remembered though nobody waits for them. [LINK-26]
const REMEMBERED_MAX: usize = 64;

#[derive(Debug, Default)]
pub(super) struct Sent {
    packets: VecDeque<Packet>,
    first: u64,
    items: VecDeque<Item>,
    items_first: u64,
    bytes_in_flight: u64,
    eliciting: u64,
}

impl Sent {
    /// The number of the next packet.
    pub(super) fn next(&self) -> u64 {
        self.first + self.packets.len() as u64
    }

    /// How many packets are remembered.
    pub(super) fn count(&self) -> usize {
        self.packets.len()
    }

    /// No packet below is under way.
    pub(super) const fn first(&self) -> u64 {
        self.first
    }

    pub(super) const fn bytes_in_flight(&self) -> u64 {
        self.bytes_in_flight
    }

    /// Whether a packet is under way that has to be acknowledged.
    pub(super) const fn is_waiting(&self) -> bool {
        self.eliciting > 0
    }

    /// When the oldest packet left that is under way and has to be acknowledged.
    pub(super) fn oldest_waiting(&self) -> Option<Time> {
        let waits = |it: &&Packet| it.state == State::UnderWay && it.purpose != Purpose::Acks;
        self.is_waiting().then(|| self.packets.iter().find(waits).map(|it| it.time)).flatten()
    }

    /// Adds an item of the next packet.
    pub(super) fn add_item(&mut self, item: Item) {
        self.items.push_back(item);
    }

    /// Adds a whole message to the next packet, to the run of those before it if it follows them.
    pub(super) fn add_message(&mut self, sequence: u64) {
        let packet_start = self.packets.back().map_or(self.items_first, |packet| packet.items);
        let is_first = self.items_first + self.items.len() as u64 == packet_start;
        if let Some(Item::Messages { first, count }) = self.items.back_mut()
            && !is_first
            && *first + u64::from(*count) == sequence
        {
            *count += 1;
            return;
        }
        self.add_item(Item::Messages { first: sequence, count: 1 });
    }

    /// The next packet is sent, with the items added since the last one.
    pub(super) fn push(&mut self, time: Time, bytes: usize, purpose: Purpose, acked_below: u64) {
        let bytes = u32::try_from(bytes).expect("a packet is smaller than 4 GiB");
        if purpose == Purpose::Acks {
            self.forget_settled();
        } else {
            self.bytes_in_flight += u64::from(bytes);
            self.eliciting += 1;
        }
        let (state, items) = (State::UnderWay, self.items_first + self.items.len() as u64);
        self.packets.push_back(Packet { time, bytes, purpose, state, acked_below, items });
    }

    /// Leaves a number out.
    pub(super) fn skip(&mut self, time: Time) {
        let items = self.items_first + self.items.len() as u64;
        let (state, purpose) = (State::Skipped, Purpose::Acks);
        let packet = Packet { time, bytes: 0, purpose, state, acked_below: 0, items };
        self.packets.push_back(packet);
    }

    /// What is under way takes no room from now on: it was sent on a path that is no longer used.
    pub(super) fn forget_bytes(&mut self) {
        self.packets.iter_mut().for_each(|packet| packet.bytes = 0);
        self.bytes_in_flight = 0;
    }

    /// A packet under way is longer by so many bytes.
    pub(super) fn lengthen(&mut self, number: u64, bytes: usize) {
        let at = usize::try_from(number - self.first).expect("a packet that is not forgotten");
        let bytes = u32::try_from(bytes).expect("a packet is smaller than 4 GiB");
        let packet = &mut self.packets[at];
        packet.bytes += bytes;
        if packet.purpose != Purpose::Acks {
            self.bytes_in_flight += u64::from(bytes);
        }
    }

    /// The packet with that number, if it is not forgotten.
    pub(super) fn packet(&self, number: u64) -> Option<&Packet> {
        let at = usize::try_from(number.checked_sub(self.first)?).ok()?;
        self.packets.get(at)
    }

    /// Takes a packet off the way. Its items can be read until it is forgotten.
    pub(super) fn settle(&mut self, number: u64, state: State) {
        let at = usize::try_from(number - self.first).expect("a packet that is not forgotten");
        let packet = &mut self.packets[at];
        debug_assert_eq!(packet.state, State::UnderWay, "packet {number} is settled twice");
        packet.state = state;
        if packet.purpose != Purpose::Acks {
            self.bytes_in_flight -= u64::from(packet.bytes);
            self.eliciting -= 1;
        }
    }

    /// What was in the packet.
    pub(super) fn items(&self, number: u64) -> impl Iterator<Item = Item> + '_ {
        let at = usize::try_from(number - self.first).expect("a packet that is not forgotten");
        let start = match at {
            0 => self.items_first,
            _ => self.packets[at - 1].items,
        };
        let index =
            |items: u64| usize::try_from(items - self.items_first).expect("it is in memory");
        self.items.range(index(start)..index(self.packets[at].items)).copied()
    }

    /// Forgets packets that are no longer under way, up to the first one that is.
    pub(super) fn forget_settled(&mut self) {
        while let Some(packet) = self.packets.front() {
            // A number that was left out is remembered until the packet above it is settled, for
            // whoever makes acknowledgements up acknowledges both.
            let above = self.packets.get(1).map(|packet| packet.state);
            let trap = packet.state == State::Skipped
                && above.is_none_or(|state| state == State::UnderWay);
            let is_idle = packet.purpose == Purpose::Acks && self.packets.len() > REMEMBERED_MAX;
            if (packet.state == State::UnderWay || trap) && !is_idle {
                return;
            }
            let items = usize::try_from(packet.items - self.items_first).expect("it is in memory");
            self.items_first += items as u64;
            self.items.drain(..items);
            self.packets.pop_front();
            self.first += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Those of one packet that follow each other are one item, and those of two packets never are.
    #[test]
    fn messages_in_a_row_are_one_item_of_their_packet() {
        let mut sent = Sent::default();
        for packet in [[1, 2, 3, 7, 8], [9, 10, 4, 5, 11]] {
            packet.into_iter().for_each(|sequence| sent.add_message(sequence));
            sent.push(Time::default(), 100, Purpose::Frames, 0);
            sent.skip(Time::default());
        }
        let run = |first, count| Item::Messages { first, count };
        let items = |number| sent.items(number).collect::<Vec<_>>();
        assert_eq!(items(0), [run(1, 3), run(7, 2)]);
        assert_eq!(items(1), []);
        assert_eq!(items(2), [run(9, 2), run(4, 2), run(11, 1)]);
    }
}
