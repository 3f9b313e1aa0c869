//! A world of nodes drawn from a seed: what a hostile network does to them, and what must hold at every
//! step. That no key seals twice under one number is checked by every sealer in every test.

use super::secrets;
use super::*;
use std::collections::{BTreeMap, BTreeSet};

/// How the network behaves.
#[derive(Clone, Copy, Debug)]
pub(super) struct Weather {
    pub(super) loss: u64,
    pub(super) duplicates: u64,
    pub(super) corruption: u64,
    pub(super) delay_ms: u64,
}

pub(super) const CALM: Weather = Weather { loss: 0, duplicates: 0, corruption: 0, delay_ms: 3 };

pub(super) struct Node {
    pub(super) endpoint: Endpoint,
    pub(super) host: u8,
    port: u16,
    life: u64,
    /// Its associations, and the next number in each.
    pub(super) up: BTreeMap<AssociationId, (PublicKey, u64)>,
    gone: BTreeSet<AssociationId>,
    /// Bytes from and to each address, and which of them have proved themselves.
    came: BTreeMap<SocketAddr, u64>,
    went: BTreeMap<SocketAddr, u64>,
    proved: BTreeSet<SocketAddr>,
}

impl Node {
    pub(super) fn address(&self) -> SocketAddr {
        SocketAddr::from(([192, 0, 2, self.host], self.port))
    }
}

pub(super) struct World {
    pub(super) now: Time,
    pub(super) random: Seeded,
    pub(super) weather: Weather,
    pub(super) nodes: Vec<Node>,
    config: Config,
    /// What is under way: when it comes, its place in the order, from and to where.
    wire: BTreeMap<(Time, u64), (SocketAddr, SocketAddr, Vec<u8>)>,
    sent: u64,
    next_text: u64,
    /// To whom each text was sent.
    texts: BTreeMap<u64, PublicKey>,
    pub(super) delivered: BTreeSet<u64>,
    /// What endpoints have told, and what can be shown of those whose life is over.
    shown: String,
}

impl World {
    pub(super) fn new(seed: u64, hosts: u8, config: Config, weather: Weather) -> Self {
        watch::forget();
        watch::hide(cluster().bytes());
        (1..=hosts).for_each(|host| watch::hide(identity(host).secret().bytes()));
        let mut world = Self {
            now: ms(1),
            random: Seeded(seed),
            weather,
            nodes: Vec::new(),
            config,
            wire: BTreeMap::new(),
            sent: 0,
            next_text: 0,
            texts: BTreeMap::new(),
            delivered: BTreeSet::new(),
            shown: String::new(),
        };
        (1..=hosts).for_each(|host| {
            let node = world.make(host, 0);
            world.nodes.push(node);
        });
        world
    }

    fn make(&mut self, host: u8, life: u64) -> Node {
        let entropy = Box::new(Seeded(self.random.next()));
        let since = Duration::from_secs(1_700_000_000 + life * 1_000);
        let endpoint =
            Endpoint::new(self.config.clone(), identity(host), Some(cluster()), since, entropy);
        let mut endpoint = endpoint.unwrap();
        (1..=3)
            .filter(|&other| other != host)
            .for_each(|other| endpoint.allow(identity(other).public()));
        Node {
            endpoint,
            host,
            port: 7000,
            life,
            up: BTreeMap::new(),
            gone: BTreeSet::new(),
            came: BTreeMap::new(),
            went: BTreeMap::new(),
            proved: BTreeSet::new(),
        }
    }

    /// A node dies and begins another life at the same address.
    pub(super) fn restart(&mut self, place: usize) {
        self.show(place);
        let (host, life) = (self.nodes[place].host, self.nodes[place].life + 1);
        let port = self.nodes[place].port;
        self.nodes[place] = self.make(host, life);
        self.nodes[place].port = port;
    }

    /// A node is somewhere else from now on.
    pub(super) fn move_away(&mut self, place: usize) {
        self.nodes[place].port += 1;
    }

    pub(super) fn connect(&mut self, from: usize, to: usize) {
        let (peer, address) = (self.nodes[to].endpoint.public(), self.nodes[to].address());
        let node = &mut self.nodes[from];
        node.proved.insert(address);
        node.endpoint.connect(self.now, &peer, address).unwrap();
        self.flush();
    }

    /// Sends one text in each association of a node.
    pub(super) fn speak(&mut self, place: usize) {
        let associations: Vec<_> = self.nodes[place].up.keys().copied().collect();
        for association in associations {
            let text = self.next_text;
            let node = &mut self.nodes[place];
            let (peer, number) = *node.up.get(&association).unwrap();
            let sealed =
                sealed(&mut node.endpoint, self.now, association, number, &text.to_le_bytes());
            let Ok(Transmit { to, packet, .. }) = sealed else { continue };
            node.up.insert(association, (peer, number + 1));
            self.next_text += 1;
            self.texts.insert(text, peer);
            self.put(place, to, packet);
        }
    }

    /// What is queued goes on the wire, and what is told is noted.
    pub(super) fn flush(&mut self) {
        for place in 0..self.nodes.len() {
            while let Some(event) = self.nodes[place].endpoint.poll_event() {
                self.told(place, event);
            }
            while let Some(Transmit { to, packet, .. }) = self.nodes[place].endpoint.poll_transmit()
            {
                self.put(place, to, packet);
            }
        }
    }

    /// Row 27: no secret was told, nor is it in what can be shown of a node, of any life.
    pub(super) fn judge_secrets(&mut self) {
        (0..self.nodes.len()).for_each(|place| self.show(place));
        secrets::assert_unshown(&self.shown);
    }

    /// Notes all that can be shown of a node.
    fn show(&mut self, place: usize) {
        let endpoint = &self.nodes[place].endpoint;
        self.shown += &format!("{endpoint:?} {:?} {:?}", endpoint.associations, endpoint.config);
        endpoint.audit().entries().for_each(|entry| self.shown += &format!("{entry:?}"));
    }

    fn told(&mut self, place: usize, event: Event) {
        self.shown += &format!("{event:?} ");
        let node = &mut self.nodes[place];
        match event {
            Event::Up { association, peer, address, .. } => {
                assert!(!node.gone.contains(&association), "an association comes back");
                let twice = node.up.values().any(|(other, _)| *other == peer);
                assert!(!twice, "the former association has not ended before the next");
                node.proved.insert(address);
                node.up.insert(association, (peer, 0));
            }
            Event::Moved { association, address } => {
                assert!(node.up.contains_key(&association));
                node.proved.insert(address);
            }
            Event::Down { association, .. } => {
                assert!(node.up.remove(&association).is_some(), "an association ends once");
                node.gone.insert(association);
            }
            Event::Rekeyed { association } => assert!(node.up.contains_key(&association)),
            Event::Learned { .. }
            | Event::Unreachable { .. }
            | Event::Nobody { .. }
            | Event::Itself { .. } => {}
        }
    }

    /// Row 18: to an address that has proved nothing goes at most thrice what came from it. Row 27: no secret goes anywhere.
    fn put(&mut self, place: usize, to: SocketAddr, mut packet: Vec<u8>) {
        let node = &mut self.nodes[place];
        let went = node.went.entry(to).or_default();
        *went += packet.len() as u64;
        let came = node.came.get(&to).copied().unwrap_or(0);
        assert!(node.proved.contains(&to) || *went <= 3 * came, "{went} out for {came} in");
        secrets::assert_unsent(&packet);
        let from = node.address();
        if self.random.chance(self.weather.loss) {
            return;
        }
        let copies = if self.random.chance(self.weather.duplicates) { 3 } else { 1 };
        if self.random.chance(self.weather.corruption) {
            let bit = self.random.below(packet.len() as u64 * 8) as usize;
            packet[bit / 8] ^= 1 << (bit % 8);
        }
        for _ in 0..copies {
            let delay = 1 + self.random.below(self.weather.delay_ms);
            self.sent += 1;
            let at = (self.now + Duration::from_millis(delay), self.sent);
            self.wire.insert(at, (from, to, packet.clone()));
        }
    }

    /// Goes on until then.
    pub(super) fn run(&mut self, until: Time) {
        loop {
            let timers = self.nodes.iter().filter_map(|node| node.endpoint.poll_timeout()).min();
            let packets = self.wire.first_key_value().map(|(at, _)| at.0);
            let next = timers.into_iter().chain(packets).min().filter(|next| *next <= until);
            let Some(next) = next else { break };
            self.now = next.max(self.now);
            while let Some(entry) =
                self.wire.first_entry().filter(|entry| entry.key().0 <= self.now)
            {
                let (from, to, packet) = entry.remove();
                self.deliver(from, to, packet);
            }
            let now = self.now;
            self.nodes.iter_mut().for_each(|node| node.endpoint.handle_timeout(now));
            self.flush();
        }
        self.now = until;
    }

    fn deliver(&mut self, from: SocketAddr, to: SocketAddr, mut packet: Vec<u8>) {
        let Some(place) = self.nodes.iter().position(|node| node.address() == to) else { return };
        let node = &mut self.nodes[place];
        *node.came.entry(from).or_default() += packet.len() as u64;
        let received = node.endpoint.handle(self.now, from, &mut packet);
        let to = node.endpoint.public();
        self.flush();
        if let Some(text) = text(&received, &packet) {
            let Received::Text { association, .. } = received else { return };
            assert!(self.nodes[place].up.contains_key(&association), "a text of what is not up");
            let text = u64::from_le_bytes(text.try_into().expect("only whole texts are sent"));
            assert_eq!(self.texts.get(&text), Some(&to), "a text for another node");
            assert!(self.delivered.insert(text), "a text comes twice");
        }
    }
}
