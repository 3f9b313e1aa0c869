//! Two endpoints, and a network that does with their datagrams what the bytes say.

use super::super::harness::{address, digest, identity, ms, node, sealed};
use super::super::*;
use super::open_config;
use crate::fuzz::Choices;
use crate::secure::wire::Suite;
use std::collections::{BTreeMap, BTreeSet};

/// Handshakes, renewals, first contacts, closings and restarts in any order, over a network that loses, doubles,
/// reorders, alters and moves. A text comes once and to whom it was meant; what was altered changes nothing; each
/// association comes up before it ends, ends once, and has ended before the next; and when the network is calm
/// again both find each other. [UDP-25] [UDP-41] [UDP-42]
pub fn handshakes(bytes: &[u8]) {
    let mut world = World::new();
    let mut choices = Choices(bytes);
    while !choices.is_over() {
        let choice = choices.u8();
        let place = usize::from(choice >> 7);
        match choice % 16 {
            0 | 1 => world.connect(place),
            2 => world.meet(place),
            3..9 => world.deliver(&mut choices),
            9 => world.lose(&mut choices),
            10 => world.alter(&mut choices),
            11 => world.pass(Duration::from_millis(1 << (choices.u8() % 18))),
            12 => world.each_up(place, |node, now, id| {
                node.rekey(now, id).expect("it is up");
            }),
            13 => world.speak(place),
            14 => world.each_up(place, |node, now, id| node.close(now, id)),
            _ => world.restart(place),
        }
        world.settle();
    }
    world.calm();
}

struct World {
    now: Time,
    nodes: [Endpoint; 2],
    lives: u64,
    up: [BTreeMap<AssociationId, u64>; 2],
    gone: [BTreeSet<AssociationId>; 2],
    /// Datagrams under way: to whom, from where, what.
    wire: Vec<(usize, SocketAddr, Vec<u8>)>,
    said: u64,
    /// To whom each text was said, until it has come.
    texts: BTreeMap<u64, usize>,
}

impl World {
    fn new() -> Self {
        #[cfg(test)]
        crate::secure::packet::watch::forget();
        let config = || open_config(Suite::Classic);
        Self {
            now: ms(1),
            nodes: [node(1, 0, config()), node(2, 0, config())],
            lives: 0,
            up: Default::default(),
            gone: Default::default(),
            wire: Vec::new(),
            said: 0,
            texts: BTreeMap::new(),
        }
    }

    fn connect(&mut self, place: usize) {
        let peer = 2 - place as u8;
        let begun = self.nodes[place].connect(self.now, &identity(peer).public(), address(peer));
        begun.expect("it is allowed");
    }

    fn meet(&mut self, place: usize) {
        let met = self.nodes[place].meet(self.now, address(2 - place as u8));
        met.expect("there is a cluster key");
    }

    fn deliver(&mut self, choices: &mut Choices<'_>) {
        if self.wire.is_empty() {
            return;
        }
        let (at, choice) = (choices.u8(), choices.u8());
        let at = usize::from(at) % self.wire.len();
        let (to, mut from, mut packet) = match choice % 4 {
            0 => self.wire[at].clone(),
            _ => self.wire.remove(at),
        };
        if choice >= 240 {
            from.set_port(7001);
        }
        self.hand_over(to, from, &mut packet);
    }

    fn hand_over(&mut self, to: usize, from: SocketAddr, packet: &mut [u8]) {
        let received = self.nodes[to].handle(self.now, from, packet);
        self.settle();
        if let Received::Text { association, text, .. } = received {
            assert!(self.up[to].contains_key(&association), "a text of what is not up");
            let text = packet[text].try_into().expect("texts have eight bytes");
            let meant = self.texts.remove(&u64::from_le_bytes(text));
            assert_eq!(meant, Some(to), "a text comes twice, or to another");
        }
    }

    fn lose(&mut self, choices: &mut Choices<'_>) {
        if !self.wire.is_empty() {
            self.wire.remove(choices.place(self.wire.len()));
        }
    }

    /// What is altered is dropped, and the true one may come still.
    fn alter(&mut self, choices: &mut Choices<'_>) {
        if self.wire.is_empty() {
            return;
        }
        let (to, from, mut packet) = self.wire[choices.place(self.wire.len())].clone();
        let bit = choices.place(packet.len() * 8);
        packet[bit / 8] ^= 1 << (bit % 8);
        let node = &mut self.nodes[to];
        let before = digest(node);
        let received = node.handle(self.now, from, &mut packet);
        assert!(matches!(received, Received::Dropped(_)), "bit {bit}: {received:?}");
        while node.poll_transmit().is_some() {}
        assert_eq!(digest(node), before, "bit {bit}: {received:?}");
    }

    fn pass(&mut self, span: Duration) {
        self.now = self.now + span;
        self.nodes.iter_mut().for_each(|node| node.handle_timeout(self.now));
    }

    fn each_up(&mut self, place: usize, act: impl Fn(&mut Endpoint, Time, AssociationId)) {
        let all: Vec<_> = self.up[place].keys().copied().collect();
        all.into_iter().for_each(|id| act(&mut self.nodes[place], self.now, id));
    }

    fn speak(&mut self, place: usize) {
        for (id, number) in &mut self.up[place] {
            let text = self.said.to_le_bytes();
            if let Ok(sent) = sealed(&mut self.nodes[place], self.now, *id, *number, &text) {
                self.texts.insert(self.said, 1 - place);
                self.wire.push((1 - place, address(1 + place as u8), sent.packet));
                (self.said, *number) = (self.said + 1, *number + 1);
            }
        }
    }

    fn restart(&mut self, place: usize) {
        self.lives += 1;
        self.nodes[place] = node(1 + place as u8, self.lives, open_config(Suite::Classic));
        self.up[place].clear();
        self.gone[place].clear();
    }

    /// What the nodes want to send is on its way, and what they tell is noted.
    fn settle(&mut self) {
        for place in 0..2 {
            while let Some(sent) = self.nodes[place].poll_transmit() {
                if let Some(to) = (0..2).find(|to| sent.to == address(1 + *to as u8)) {
                    self.wire.push((to, address(1 + place as u8), sent.packet));
                }
            }
            while let Some(event) = self.nodes[place].poll_event() {
                self.told(place, event);
            }
        }
    }

    fn told(&mut self, place: usize, event: Event) {
        let (up, gone) = (&mut self.up[place], &mut self.gone[place]);
        match event {
            Event::Up { association, .. } => {
                assert!(up.is_empty() && !gone.contains(&association), "{association:?}: {up:?}");
                up.insert(association, 0);
            }
            Event::Down { association, .. } => {
                assert!(up.remove(&association).is_some(), "{association:?} ends, not being up");
                gone.insert(association);
            }
            Event::Rekeyed { association } | Event::Moved { association, .. } => {
                assert!(up.contains_key(&association), "{association:?} is not up");
            }
            Event::Unreachable { .. }
            | Event::Learned { .. }
            | Event::Nobody { .. }
            | Event::Itself { .. } => {}
        }
    }

    /// Everything arrives, and the clock of the node that asks is ahead of all it ever said.
    fn calm(&mut self) {
        self.pass(Duration::from_secs(400));
        self.connect(0);
        for _ in 0..40 {
            self.settle();
            for (to, from, mut packet) in std::mem::take(&mut self.wire) {
                self.hand_over(to, from, &mut packet);
            }
            self.pass(Duration::from_millis(200));
        }
        let up = self.up.each_ref().map(BTreeMap::len);
        assert_eq!(up, [1, 1], "the nodes do not find each other");
    }
}
