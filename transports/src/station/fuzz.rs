//! Two stations under orders of events, and datagrams, that somebody chose.

use super::harness::{FRAME_BYTES_MAX, Net, public};
use crate::fuzz::Choices;
use crate::link::Time;
use crate::secure::endpoint::AssociationId;
use crate::secure::endpoint::harness::address;
use greenroom::net::{LinkEnd, Order};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// How much one input may do.
const STEPS_MAX: u32 = 200;

/// How long nothing is heard of a peer until it is dead, and something over.
const CALM: Duration = Duration::from_secs(30);

/// A line of a host in one of its lives.
type Name = (usize, u64, AssociationId);

/// The keys of an order, of which the last stands for none, and the one before for behind all.
const KEYS: u8 = 4;
const BEHIND_ALL: u8 = 2;
const FREE: u8 = 3;

/// What was said by a line: the key of each frame.
type Said = Vec<u8>;

/// What was heard by a line: from which line, and which frames of it.
#[derive(Default)]
struct Heard {
    from: Option<Name>,
    frames: BTreeSet<usize>,
    end: Option<LinkEnd>,
}

struct Game {
    net: Net,
    lives: [u64; 2],
    said: BTreeMap<Name, Said>,
    heard: BTreeMap<Name, Heard>,
    /// Lines of the present lives, of each host the newest last.
    known: [usize; 2],
}

/// What comes by a line is what one line of the other node has said: once, in the order that was asked for, and
/// behind the end of the line before. Whatever happened, two nodes that are left in peace are joined in the end.
/// [UDP-42] [UDP-45]
pub fn station(bytes: &[u8]) {
    let mut choices = Choices(bytes);
    let mut game = Game {
        net: Net::new(2, true),
        lives: [0; 2],
        said: BTreeMap::new(),
        heard: BTreeMap::new(),
        known: [0; 2],
    };
    for _ in 0..STEPS_MAX {
        if choices.is_over() {
            break;
        }
        game.step(&mut choices);
    }
    game.end();
}

impl Game {
    fn step(&mut self, choices: &mut Choices<'_>) {
        let choice = choices.u8();
        let host = usize::from(choice >> 7);
        match choice % 16 {
            0 => self.connect(host, choices.u8() & 1 == 0),
            1..5 => self.say(host, choices),
            5 => self.hear(host),
            6..10 => self.deliver(choices),
            10 => self.lose_or_alter(choices),
            11 => self.pass(Duration::from_millis(u64::from(choices.u8()))),
            12 => self.pass(Duration::from_secs(u64::from(choices.u8() % 16))),
            13 => self.close(host, choices.u8()),
            14 if choices.u8() < 32 => self.restart(host),
            14 => {}
            _ => {
                let bytes = choices.take(usize::from(choice)).to_vec();
                self.net.deliver((address(1 + host as u8), address(66), bytes));
            }
        }
        self.net.collect();
        self.look();
    }

    fn connect(&mut self, host: usize, is_known: bool) {
        let other = 2 - host as u8;
        // Nobody waits for the outcome, which the lines show.
        drop(self.net.connect(host, address(other), Some(public(other)), is_known));
    }

    fn newest(&self, host: usize) -> Option<Name> {
        let line = self.net.hosts[host].lines.last()?.0;
        Some((host, self.lives[host], line))
    }

    fn say(&mut self, host: usize, choices: &mut Choices<'_>) {
        let Some(name) = self.newest(host) else { return };
        let key = choices.u8() % KEYS;
        let order = match key {
            BEHIND_ALL => Order::BehindAll,
            FREE => Order::Free,
            key => Order::Within(u64::from(key)),
        };
        let said = self.said.entry(name).or_default();
        let length = usize::from(choices.u16()) % (FRAME_BYTES_MAX - 64);
        let mut frame = format!("{:?} {} ", name, said.len()).into_bytes();
        frame.resize(frame.len() + length, b'.');
        if self.net.submit(host, name.2, order, &frame) {
            said.push(key);
        }
    }

    fn hear(&mut self, host: usize) {
        for (line, _) in self.net.hosts[host].lines.clone() {
            self.drain((host, self.lives[host], line));
        }
    }

    /// Takes what a line has.
    fn drain(&mut self, name: Name) {
        while let Some(received) = self.net.receive(name.0, name.2) {
            let heard = self.heard.entry(name).or_default();
            match received {
                Ok(frame) => {
                    assert_eq!(heard.end, None, "a frame comes behind the end");
                    let text = String::from_utf8(frame).expect("frames are texts");
                    let spoke = |(from, said): &(&Name, &Said)| {
                        (0..said.len())
                            .rev()
                            .find(|at| text.starts_with(&format!("{from:?} {at} ")))
                    };
                    let mut all = self.said.iter().filter(|(from, _)| from.0 != name.0);
                    let found = all.find_map(|it| Some((*it.0, spoke(&it)?, it.1)));
                    let (from, at, said) = found.expect("somebody said it");
                    assert_eq!(*heard.from.get_or_insert(from), from, "one line speaks to one");
                    check_order(said, at, &heard.frames);
                    assert!(heard.frames.insert(at), "a frame comes twice");
                }
                Err(end) => {
                    heard.end = Some(end);
                    return;
                }
            }
        }
    }

    fn deliver(&mut self, choices: &mut Choices<'_>) {
        let at = choices.u8();
        // Mostly in order.
        let place = if at < 128 { 0 } else { usize::from(at) % self.net.wire.len().max(1) };
        let Some(datagram) = self.net.wire.get(place).cloned() else { return };
        if at % 16 != 15 {
            self.net.wire.remove(place);
        }
        self.net.deliver(datagram);
    }

    fn lose_or_alter(&mut self, choices: &mut Choices<'_>) {
        let Some(mut datagram) = self.net.wire.pop_front() else { return };
        let place = choices.u16();
        if place != 0 {
            let length = datagram.2.len();
            datagram.2[usize::from(place) % length] ^= 1 << (place >> 13);
            self.net.deliver(datagram);
        }
    }

    fn pass(&mut self, span: Duration) {
        self.net.now = self.net.now + span;
    }

    fn close(&mut self, host: usize, how: u8) {
        let Some((_, _, line)) = self.newest(host) else { return };
        let station = &mut self.net.hosts[host].station;
        station.set_now(self.net.now);
        match how % 4 {
            0 => station.close_line(line),
            1 => station.disown(line),
            2 => station.forbid(&public(2 - host as u8)),
            _ => drop(station.rekey(&public(2 - host as u8))),
        }
        station.allow(public(2 - host as u8));
    }

    fn restart(&mut self, host: usize) {
        self.lives[host] += 1;
        self.known[host] = 0;
        let mut begun = self.net.host(host as u8 + 1, self.lives[host]);
        begun.station.allow(public(2 - host as u8));
        self.net.hosts[host] = begun;
    }

    /// A line that there was before has ended when there is another one.
    fn look(&mut self) {
        for host in 0..2 {
            let lines = self.net.hosts[host].lines.clone();
            let before = std::mem::replace(&mut self.known[host], lines.len());
            let Some((_, olds)) = lines.split_last().filter(|_| lines.len() > before) else {
                continue;
            };
            for (line, _) in olds {
                let name = (host, self.lives[host], *line);
                self.drain(name);
                let ended = self.heard.get(&name).is_some_and(|heard| heard.end.is_some());
                assert!(ended, "there is another line, and {name:?} has not ended");
            }
        }
    }

    /// Everything is delivered from now on.
    fn end(&mut self) {
        self.calm(CALM);
        for host in 0..2 {
            self.hear(host);
            self.connect(host, true);
        }
        self.calm(Duration::from_secs(10));
        for host in 0..2 {
            let (_, _, line) = self.newest(host).expect("they are joined");
            let bytes = [host as u8; 8];
            assert!(self.net.submit(host, line, Order::Free, &bytes), "the line is open");
        }
        self.net.pass(Duration::from_secs(10));
        for host in 0..2 {
            let (_, _, line) = self.newest(host).expect("they are joined");
            let mut last = None;
            while let Some(received) = self.net.receive(host, line) {
                last = Some(received.expect("the line is open"));
            }
            assert_eq!(last, Some(vec![1 - host as u8; 8]), "what was said is heard");
        }
        assert!(self.net.now > Time::default());
    }

    /// Time passes while lines are read.
    fn calm(&mut self, span: Duration) {
        for _ in 0..10 {
            self.net.pass(span / 10);
            self.look();
            self.hear(0);
            self.hear(1);
        }
    }
}

/// What had to come before a frame has come.
fn check_order(said: &Said, at: usize, heard: &BTreeSet<usize>) {
    let key = said[at];
    let needs = |before: &usize| match key {
        BEHIND_ALL => true,
        FREE => false,
        key => said[*before] == key,
    };
    let missing = (0..at).filter(needs).find(|before| !heard.contains(before));
    assert_eq!(missing, None, "frame {at} of {said:?} comes too early");
    let overtaken = heard.iter().find(|later| {
        **later > at && (said[**later] == BEHIND_ALL || (key != FREE && said[**later] == key))
    });
    assert_eq!(overtaken, None, "frame {at} of {said:?} comes too late");
}
