//! The wires between nodes: datagrams that are late, lost, doubled, damaged, cut off or rerouted, as the
//! world chooses.
//!
//! ```text
//! Socket::send -> room? cut? rules -> Fabric::send -> link: too long? queue full? lost? -> in flight -> arrive -> Port
//! ```
//!
//! Each direction between two nodes is a link of its own, also for a port that looks different from outside. A packet is judged when it is sent, in that order, except
//! that what is still in flight to a port that has gone is dropped when it arrives, as on a real network.

use super::capture::{Capture, Seen};
use super::choice::{Choices, Label};
use super::course::{self, Dropped};
use super::link::Link;
use super::mark::Ecn;
use super::rule::{Fate, Rule, Rules, damage};
use super::strait::{Strait, Straits};
use crate::sync::planted;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::task::Waker;
use std::time::Duration;

const LOSS: Label = Label::new("loss");
const BURST: Label = Label::new("burst");
const DOUBLE: Label = Label::new("double");
const DAMAGE: Label = Label::new("damage");
const DELAY: Label = Label::new("delay");
const FULL: Label = Label::new("no room to send");
const FULL_FOR: Label = Label::new("no room for");

/// What is due then does not arrive.
const NEVER_NANOS: u64 = u64::MAX / 2;

/// So long a socket has no room at most that was found without.
const FULL_NANOS_MAX: u64 = 20_000_000;

/// Packets that wait at a port at most unless it is told otherwise, as in a socket's buffer.
const PORT_PACKETS_MAX: usize = 4096;

/// One packet, as it arrives.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Datagram {
    /// The sender's address, as seen from outside of its network.
    pub from: SocketAddr,
    /// What it is marked with.
    pub ecn: Ecn,
    /// What it carries.
    pub bytes: Vec<u8>,
}

/// What a fabric has counted, in packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Traffic {
    /// Offered by senders.
    pub sent: u64,
    /// Put into a port.
    pub arrived: u64,
    /// Lost by chance, or by a rule.
    pub lost: u64,
    /// Dropped because the link was cut.
    pub cut_off: u64,
    /// Dropped because they were longer than the link takes.
    pub too_long: u64,
    /// Dropped because a link's queue, or a port at either end, was full.
    pub overflowed: u64,
    /// Sent to where nobody listens.
    pub unclaimed: u64,
    /// Copies made on the way.
    pub doubled: u64,
    /// Damaged on the way.
    pub damaged: u64,
    /// Marked with congestion on the way.
    pub marked: u64,
}

#[derive(Debug)]
struct Port {
    packets: VecDeque<Datagram>,
    packets_max: usize,
    reader: Option<Waker>,
    /// Until when there is no room for what is to be sent.
    full_until: u64,
}

/// Names a link: the addresses of the nodes that it goes from and to.
pub(super) type Way = (IpAddr, IpAddr);

#[derive(Debug)]
struct Flight {
    to: SocketAddr,
    datagram: Datagram,
}

/// What has become of a packet that arrived.
pub(super) struct Arrival {
    pub(super) to: SocketAddr,
    pub(super) len: usize,
    /// Why it goes into no port, if it does not.
    pub(super) dropped: Option<Dropped>,
    /// Who waits for it.
    pub(super) reader: Option<Waker>,
}

/// See the [module](self).
#[derive(Debug, Default)]
pub(crate) struct Fabric {
    ports: BTreeMap<SocketAddr, Port>,
    /// Packets on their way, by when they arrive.
    flights: BTreeMap<(u64, u64), Flight>,
    flown: u64,
    pub(crate) all: Link,
    links: BTreeMap<Way, Link>,
    rules: BTreeMap<Way, Rules>,
    /// Until when each link is busy with what was sent before.
    busy: BTreeMap<Way, u64>,
    /// The links that lose everything at the moment.
    bursts: BTreeSet<Way>,
    /// What is done to links for a while, beside what those do by themselves.
    straits: Straits,
    /// Addresses inside a network, and how they look from outside.
    outside: BTreeMap<SocketAddr, SocketAddr>,
    inside: BTreeMap<SocketAddr, SocketAddr>,
    pub(crate) traffic: Traffic,
    /// What was on the wires, when somebody wants to read it.
    capture: Option<Capture>,
}

impl Fabric {
    /// Wires between nothing yet, of which a capture is kept if `captures`.
    pub(crate) fn new(captures: bool) -> Self {
        Self { capture: captures.then(Capture::new), ..Self::default() }
    }

    /// What was on the wires so far, of a fabric that keeps a capture.
    pub(crate) fn take_capture(&mut self) -> Option<Capture> {
        self.capture.take().filter(|capture| !capture.is_empty())
    }

    /// Opens a port; `false` if it is in use, or if another is seen there.
    pub(crate) fn bind(&mut self, at: SocketAddr) -> bool {
        let is_free = !self.ports.contains_key(&at) && self.is_free(at);
        if is_free {
            let packets = VecDeque::new();
            let port = Port { packets, packets_max: PORT_PACKETS_MAX, reader: None, full_until: 0 };
            self.ports.insert(at, port);
        }
        is_free
    }

    /// Closes a port; what waits in it is lost.
    pub(crate) fn unbind(&mut self, at: SocketAddr) {
        self.ports.remove(&at);
    }

    /// The ports of an address that are open.
    pub(crate) fn ports_of(&self, host: IpAddr) -> Vec<u16> {
        self.ports.keys().filter(|at| at.ip() == host).map(SocketAddr::port).collect()
    }

    /// Whether nothing is seen under that address.
    pub(crate) fn is_free(&self, outside: SocketAddr) -> bool {
        !self.inside.contains_key(&outside)
    }

    /// Lets no more than so many packets wait at a port.
    pub(crate) fn limit(&mut self, at: SocketAddr, packets: usize) {
        if let Some(port) = self.ports.get_mut(&at) {
            port.packets_max = packets;
        }
    }

    /// Closes every port of an address; who waits there is to be woken without the lock.
    #[must_use]
    pub(crate) fn unplug(&mut self, host: IpAddr) -> Vec<Waker> {
        let mut readers = Vec::new();
        self.ports.retain(|at, port| {
            let stays = at.ip() != host;
            if !stays {
                readers.extend(port.reader.take());
            }
            stays
        });
        readers
    }

    /// The link from one address to another.
    pub(crate) fn link(&mut self, from: IpAddr, to: IpAddr) -> &mut Link {
        let all = self.all;
        self.links.entry((from, to)).or_insert(all)
    }

    /// Cuts a link, whatever that does by itself.
    pub(super) fn cut(&mut self, way: Way) {
        self.straits.cut(way);
    }

    /// Ends all that cuts it, beside how it is set.
    pub(super) fn mend(&mut self, way: Way) {
        self.straits.mend(way);
    }

    /// Does what a storm does to a link for a while, whatever that does by itself.
    pub(super) fn begin(&mut self, way: Way, strait: Strait) {
        self.straits.begin(way, strait);
    }

    /// Ends that.
    pub(super) fn end(&mut self, way: Way, strait: Strait) {
        planted!("sim-storm-joins": () => self.straits.heal(way));
        self.straits.end(way, strait);
    }

    /// Adds a rule for the packets from one address to another.
    pub(super) fn add_rule(&mut self, from: IpAddr, to: IpAddr, rule: Box<dyn Rule>) {
        self.rules.entry((from, to)).or_default().add(rule);
    }

    /// Lets a link carry everything, unharmed, in the time that it takes. Its rules are to be dropped without the
    /// lock, as they may have anything.
    #[must_use]
    pub(super) fn heal_link(&mut self, from: IpAddr, to: IpAddr) -> Option<Rules> {
        let link = self.link(from, to);
        *link = link.healed();
        self.straits.heal((from, to));
        for (_, port) in self.ports.iter_mut().filter(|(at, _)| at.ip() == from) {
            port.full_until = 0;
        }
        self.rules.remove(&(from, to))
    }

    /// Makes every link the same.
    pub(crate) fn set_all(&mut self, link: Link) {
        self.all = link;
        self.links.clear();
    }

    /// Lets all links carry everything, unharmed, in the time that they take. Their rules are to be dropped without
    /// the lock.
    #[must_use]
    pub(super) fn heal(&mut self) -> impl Sized + use<> {
        self.all = self.all.healed();
        for link in self.links.values_mut() {
            *link = link.healed();
        }
        self.straits.heal_all();
        for port in self.ports.values_mut() {
            port.full_until = 0;
        }
        self.take_all_rules()
    }

    /// The rules of all links, to be dropped without the lock.
    #[must_use]
    pub(super) fn take_all_rules(&mut self) -> impl Sized + use<> {
        std::mem::take(&mut self.rules)
    }

    /// Until when a port has no room for what is to be sent from it.
    pub(crate) fn full_until(&self, at: SocketAddr) -> u64 {
        self.ports.get(&at).map_or(0, |port| port.full_until)
    }

    /// Whether a port has room now for a packet to `to`.
    fn has_room(&mut self, now: u64, [from, to]: [SocketAddr; 2], choices: &mut Choices) -> bool {
        let link = self.links.get(&self.way(from, to)).unwrap_or(&self.all);
        let chance = link.full.into();
        let Some(port) = self.ports.get_mut(&from) else { return true };
        if port.full_until <= now && choices.chance(FULL, chance, 1000) {
            port.full_until = now + 1 + choices.noise(FULL_FOR, FULL_NANOS_MAX);
        }
        port.full_until <= now
    }

    /// Counts a packet that its socket had no room for.
    pub(crate) fn refuse(&mut self) {
        self.traffic.sent += 1;
        self.traffic.overflowed += 1;
    }

    /// Lets an address look different from outside, from now on, or as it is; its old looks lead nowhere. `false` if what it
    /// is to look like belongs to another.
    #[must_use]
    pub(crate) fn rebind(&mut self, inside: SocketAddr, outside: SocketAddr) -> bool {
        let owner = self.inside.get(&outside).copied();
        let owner = owner.or_else(|| self.ports.contains_key(&outside).then_some(outside));
        if owner.is_some_and(|owner| owner != inside) {
            return false;
        }
        if let Some(before) = self.outside.remove(&inside) {
            self.inside.remove(&before);
        }
        if outside != inside {
            self.outside.insert(inside, outside);
            self.inside.insert(outside, inside);
        }
        true
    }

    /// How an address looks from outside.
    pub(crate) fn looks(&self, inside: SocketAddr) -> SocketAddr {
        self.outside.get(&inside).copied().unwrap_or(inside)
    }

    /// Takes in a packet that is sent at time `now` and said to be from `says`, if its socket has room. If its link is not
    /// cut either, its rules are to judge it.
    pub(super) fn offer(
        &mut self,
        now: u64,
        [from, says, to]: [SocketAddr; 3],
        ecn: Ecn,
        bytes: &[u8],
        choices: &mut Choices,
    ) -> Result<(), Dropped> {
        course::offered([from, says, to], ecn, bytes, choices);
        if !self.has_room(now, [from, to], choices) {
            course::dropped(Dropped::NoRoom, choices);
            return Err(Dropped::NoRoom);
        }
        self.traffic.sent += 1;
        if let Some(capture) = &mut self.capture {
            capture.add(Seen::Sent, now, [says, to], ecn, bytes);
        }
        let way = self.way(from, to);
        let is_cut = self.straits.is_cut(way) || self.links.get(&way).unwrap_or(&self.all).cut;
        if is_cut {
            self.traffic.cut_off += 1;
            course::dropped(Dropped::Cut, choices);
            return Err(Dropped::Cut);
        }
        Ok(())
    }

    /// The link of a packet: the nodes it goes from and to, however that looks from outside.
    fn way(&self, from: SocketAddr, to: SocketAddr) -> Way {
        let place = planted!("sim-outside-unlinked": self.inside.get(&to).copied() => None);
        (from.ip(), place.unwrap_or(to).ip())
    }

    /// The rules of a packet's link, and what they are to be put back under once they have judged.
    pub(super) fn take_rules(&mut self, from: SocketAddr, to: SocketAddr) -> Option<(Way, Rules)> {
        let way = self.way(from, to);
        Some((way, self.rules.remove(&way)?))
    }

    pub(super) fn put_back(&mut self, way: Way, rules: Rules) {
        self.rules.entry(way).or_default().put_back(rules);
    }

    /// A packet is lost.
    pub(super) fn lose(&mut self, why: Dropped, choices: &mut Choices) {
        self.traffic.lost += 1;
        course::dropped(why, choices);
    }

    /// Sends a packet that was offered, of which the rules have made `fate`.
    pub(super) fn send(
        &mut self,
        now: u64,
        [from, says, to]: [SocketAddr; 3],
        ecn: Ecn,
        (bytes, fate): (&[u8], &Fate),
        choices: &mut Choices,
    ) {
        let way = self.way(from, to);
        let link = self.links.get(&way).copied().unwrap_or(self.all);
        self.traffic.damaged += u64::from(fate.bytes.is_some());
        let bytes = fate.bytes.as_deref().unwrap_or(bytes);
        course::judged(fate, choices);
        if bytes.len() > self.straits.bytes_max(way, link.bytes_max_now()) {
            self.traffic.too_long += 1;
            return course::dropped(Dropped::TooLong, choices);
        }
        let busy = self.busy.get(&way).copied().unwrap_or(0).max(now);
        let Some(sent) = link.sent_at(now, busy, bytes.len()) else {
            self.traffic.overflowed += 1;
            return course::dropped(Dropped::Overflow, choices);
        };
        if sent > now {
            self.busy.insert(way, sent);
        }
        if self.is_in_burst(way, &link, choices) || choices.chance(LOSS, link.loss.into(), 1000) {
            return self.lose(Dropped::ByChance, choices);
        }
        let marked = planted!("sim-congestion-unmarked": link.mark(now, busy, ecn) => ecn);
        self.traffic.marked += u64::from(marked != ecn && marked == Ecn::Congested);
        let doubled = u64::from(choices.chance(DOUBLE, link.duplication.into(), 1000));
        let copies = 1 + doubled + fate.more as u64;
        self.traffic.doubled += planted!("sim-copy-uncounted": copies - 1 => 0);
        let sent = sent.saturating_add(nanos(fate.later));
        for _ in 0..copies {
            let datagram = Datagram { from: says, ecn: marked, bytes: bytes.to_vec() };
            self.fly(sent, &link, to, datagram, choices);
        }
    }

    /// Whether the packet falls into a time in which the link loses everything. Between packets such a time
    /// may begin or end (Gilbert, Bell System Technical Journal 1960).
    fn is_in_burst(&mut self, way: Way, link: &Link, choices: &mut Choices) -> bool {
        if link.burst_begins == 0 {
            return false;
        }
        if self.bursts.contains(&way) {
            if choices.chance(BURST, link.burst_ends.into(), 1000) {
                self.bursts.remove(&way);
            }
        } else if choices.chance(BURST, link.burst_begins.into(), 1000) {
            self.bursts.insert(way);
        }
        self.bursts.contains(&way)
    }

    fn fly(
        &mut self,
        sent: u64,
        link: &Link,
        to: SocketAddr,
        mut datagram: Datagram,
        choices: &mut Choices,
    ) {
        let bytes = &mut datagram.bytes;
        if !bytes.is_empty() && choices.chance(DAMAGE, link.corruption.into(), 1000) {
            damage(bytes, choices);
            self.traffic.damaged += 1;
        }
        let jitter = choices.noise(DELAY, nanos(link.jitter) + 1);
        let due = sent.saturating_add(nanos(link.latency)).saturating_add(jitter);
        if due >= NEVER_NANOS {
            return self.lose(Dropped::Never, choices);
        }
        self.flown += 1;
        self.flights.insert((due, self.flown), Flight { to, datagram });
    }

    /// When the next packet arrives.
    pub(crate) fn next_arrival(&self) -> Option<u64> {
        self.flights.first_key_value().map(|(key, _)| key.0)
    }

    /// Puts one packet into its port that has arrived by `now`; `None` when there is no such packet.
    pub(super) fn arrive(&mut self, now: u64) -> Option<Arrival> {
        let first = self.flights.first_entry().filter(|first| first.key().0 <= now)?;
        let Flight { to, datagram } = first.remove();
        let place = self.inside.get(&to).copied().unwrap_or(to);
        let len = datagram.bytes.len();
        // Who is seen under another address is not reached under its own.
        let reached = place != to || !self.outside.contains_key(&to);
        let Some(port) = self.ports.get_mut(&place).filter(|_| reached) else {
            self.traffic.unclaimed += 1;
            return Some(Arrival { to, len, dropped: Some(Dropped::Unclaimed), reader: None });
        };
        if port.packets.len() >= port.packets_max {
            self.traffic.overflowed += 1;
            return Some(Arrival { to, len, dropped: Some(Dropped::PortFull), reader: None });
        }
        if let Some(capture) = &mut self.capture {
            capture.add(Seen::Arrived, now, [datagram.from, place], datagram.ecn, &datagram.bytes);
        }
        port.packets.push_back(datagram);
        self.traffic.arrived += 1;
        Some(Arrival { to, len, dropped: None, reader: port.reader.take() })
    }

    /// The next packet at a port; `Err` when the port is closed.
    pub(crate) fn receive(&mut self, at: SocketAddr) -> Result<Option<Datagram>, ()> {
        self.ports.get_mut(&at).map(|port| port.packets.pop_front()).ok_or(())
    }

    /// Notes who waits for a packet at a port.
    pub(crate) fn wait(&mut self, at: SocketAddr, reader: &Waker) {
        if let Some(port) = self.ports.get_mut(&at) {
            port.reader = Some(reader.clone());
        }
    }
}

pub(crate) fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}
