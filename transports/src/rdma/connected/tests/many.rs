//! One worker with many peers, which share its receives.

use super::*;
use crate::rdma::verbs::{QueuePair, Via};

pub(super) struct Hub {
    pub(super) fabric: Fabric,
    pub(super) server: Connected<SimDevice>,
    /// Both ends of each connection.
    pub(super) peers: Vec<(Connected<SimDevice>, ConnectionId, ConnectionId)>,
    /// Packets that came to the server, of each peer.
    came: Vec<u64>,
    dice: Random,
}

/// One that has room for so many peers, or for 64.
fn port(fabric: &Fabric, peers: usize, receives: u32) -> Connected<SimDevice> {
    let device = fabric.host().open("sim0", 1, 0).expect("a device");
    let connections_max = u16::try_from(peers.max(64)).expect("few peers");
    let config = Config { connections_max, receives, ..SMALL };
    Connected::new(device, config).expect("room for it")
}

impl Hub {
    pub(super) fn new(seed: u64, peers: usize, receives: u32, weather: Weather) -> Self {
        let fabric = Fabric::new(seed, weather);
        let (server, dice) = (port(&fabric, peers, receives), Random::new(seed ^ 0x4b));
        let mut hub = Self { fabric, server, peers: Vec::new(), came: vec![0; peers], dice };
        for _ in 0..peers {
            let mut port = port(&hub.fabric, peers, receives);
            let (here, there) = hub.join(&mut port);
            hub.peers.push((port, here, there));
        }
        hub
    }

    fn join(&mut self, port: &mut Connected<SimDevice>) -> (ConnectionId, ConnectionId) {
        let psn = self.dice.next() as u32;
        let here = port.open(psn).expect("room for it");
        let there = self.server.open(psn ^ 1).expect("room for it");
        let ends = (port.endpoint(here), self.server.endpoint(there));
        let (Some(near), Some(far)) = ends else { panic!("they are open") };
        port.connect(here, &far, self.server.receives()).expect("they fit");
        self.server.connect(there, &near, port.receives()).expect("they fit");
        (here, there)
    }

    /// Everybody takes what came.
    fn turn(&mut self) {
        self.turn_but_for(usize::MAX);
    }

    /// As [`turn`](Self::turn), but one peer does nothing.
    fn turn_but_for(&mut self, idle: usize) {
        let now = self.fabric.now() + Duration::from_nanos(self.dice.below(9000));
        self.fabric.advance(now);
        for (at, (port, ..)) in self.peers.iter_mut().enumerate() {
            if at == idle {
                continue;
            }
            port.flush();
            port.poll(|_, _| panic!("the server says nothing"));
            port.flush();
        }
        let peers = &self.peers;
        self.server.poll(|from, _| {
            let at = peers.iter().position(|(.., there)| *there == from);
            self.came[at.expect("a connection of ours")] += 1;
        });
        self.server.flush();
    }

    /// Sends as much as there is room for.
    fn send(&mut self, at: usize, count: u64) -> u64 {
        let (port, here, _) = &mut self.peers[at];
        (0..count).take_while(|_| port.send(*here, |slot| put(slot, b"more")).is_ok()).count()
            as u64
    }

    /// Sends so many, and all of them come.
    pub(super) fn burst(&mut self, at: usize, count: u64) {
        let (before, mut sent, mut turns) = (self.came[at], 0, 0);
        while self.came[at] < before + count {
            sent += self.send(at, count - sent);
            self.turn();
            turns += 1;
            assert!(turns < 10_000, "peer {at} waits for ever");
        }
    }

    /// A connection ends at the server, or by a failure, and another one takes its place.
    fn replace(&mut self, at: usize) {
        let mut peer = self.peers.remove(at);
        if self.dice.below(2) == 0 {
            self.server.end(peer.2);
            peer.0.end(peer.1);
        } else {
            peer.0.end(peer.1);
            self.server.end(peer.2);
        }
        let (here, there) = self.join(&mut peer.0);
        self.peers.insert(at, (peer.0, here, there));
    }

    /// The connections of that peer and of those behind it end, with no traffic by any other.
    fn end_from(&mut self, at: usize) {
        for (mut port, here, there) in self.peers.drain(at..) {
            port.end(here);
            self.server.end(there);
        }
    }

    /// Nobody has ended, nor found another one unready.
    pub(super) fn no_end(&mut self) {
        assert_eq!(self.fabric.not_ready(), 0);
        self.all_are_there();
    }

    fn all_are_there(&mut self) {
        assert_eq!(self.server.poll_ended(), None);
        for (port, ..) in &mut self.peers {
            assert_eq!(port.poll_ended(), None);
        }
    }
}

const PEERS: usize = 40;
const MOST: usize = 16;
const ENDS: usize = 60;

// [RDMA-17]
#[test]
fn memory_grows_with_what_is_under_way_and_not_with_the_peers() {
    let mut hub = Hub::new(1, PEERS, 64, Weather::fair());
    let start = PEERS * START as usize;
    assert!(hub.server.receives_posted() < start + shared::SLAB);
    for round in 0..3 {
        for at in 0..PEERS {
            hub.burst(at, 500);
        }
        let posted = hub.server.receives_posted();
        assert!(posted < start + 8 * shared::SLAB, "{posted} after {round}");
    }
    // All at once: each has what it needs.
    let before: u64 = hub.came.iter().sum();
    for _ in 0..300 {
        (0..PEERS).for_each(|at| {
            hub.send(at, 64);
        });
        hub.turn();
    }
    let posted = hub.server.receives_posted();
    assert!(posted > PEERS * 24, "{posted}");
    assert!(hub.came.iter().sum::<u64>() > before + 300 * 32 / 2);
    hub.no_end();
}

// [RDMA-17]
#[test]
fn who_says_nothing_is_left_with_its_start_and_can_begin_at_once() {
    let mut hub = Hub::new(2, 8, 64, Weather::fair());
    for at in 0..7 {
        hub.burst(at, 500);
    }
    for _ in 0..20 {
        hub.burst(7, 100);
    }
    for at in 0..7 {
        assert_eq!(hub.send(at, 100), u64::from(START) - 1, "all but one, which tells");
    }
    hub.burst(7, 500);
    hub.no_end();
}

// [RDMA-17]
#[test]
fn nothing_is_registered_while_an_answer_is_under_way() {
    let mut hub = Hub::new(10, 2, 64, Weather::fair());
    hub.burst(0, 500);
    let posted = hub.server.receives_posted();
    while hub.server.waiting.is_empty() {
        hub.send(1, 64);
        hub.turn_but_for(0);
    }
    for _ in 0..10 {
        hub.send(1, 1);
        hub.turn_but_for(0);
        assert!(!hub.server.waiting.is_empty(), "who has more has not answered yet");
        assert_eq!(hub.server.receives_posted(), posted);
    }
    (0..5).for_each(|_| hub.turn());
    assert!(hub.server.waiting.is_empty());
    assert_eq!(hub.server.receives_posted(), posted);
    hub.no_end();
}

// [RDMA-17]
#[test]
fn who_waits_for_more_and_says_nothing_gives_back_what_it_has() {
    let mut hub = Hub::new(11, 2, 64, Weather::fair());
    hub.fabric.limit_memory(0, 0);
    // It uses up what it has, until it is not let send as much as it could.
    while hub.server.waiting.is_empty() {
        hub.send(0, 64);
        hub.turn();
    }
    for _ in 0..5 {
        hub.burst(1, 60);
    }
    (0..5).for_each(|_| hub.turn());
    assert!(hub.send(1, 64) > u64::from(START));
    hub.no_end();
}

// [RDMA-11] [RDMA-15] [RDMA-18]
#[test]
fn one_of_many_that_goes_takes_nothing_of_the_others_along() {
    each_seed(|seed| {
        let mut dice = Random::new(seed);
        let mut hub = Hub::new(seed, 6, MOST as u32, drawn(&mut dice));
        for _ in 0..ENDS {
            for at in 0..6 {
                let count = dice.below(40);
                hub.send(at, count);
            }
            let turns = dice.below(4);
            (0..turns).for_each(|_| hub.turn());
            hub.replace(dice.below(3) as usize);
            // Each of them is gone before long.
            (0..40).for_each(|_| hub.turn());
            while let Some((id, _)) = hub.server.poll_ended() {
                assert!(hub.peers.iter().all(|(.., there)| *there != id), "it was replaced");
            }
        }
        let posted = hub.server.receives_posted();
        // A message that was half there may have taken one along each time.
        assert!(posted <= 6 * MOST + ENDS + 2 * shared::SLAB, "{posted}: receives leak");
        (0..6).for_each(|at| hub.burst(at, 200));
        hub.no_end();
    });
}

/// What they lost is known only once others were sent something, and there is nothing to send.
// [RDMA-19]
#[test]
fn however_many_end_at_once_others_with_nothing_to_say_live() {
    for (all, rest) in [(100, 35), (100, 1), (65, 1)] {
        let mut hub = Hub::new(12, all, 64, Weather::fair());
        hub.end_from(rest);
        (0..40).for_each(|_| hub.turn());
        hub.no_end();
        assert_eq!(hub.server.leaving(), 0);
        assert!(!hub.server.has_failed());
        (0..rest).for_each(|at| hub.burst(at, 200));
        hub.no_end();
    }
}

// [RDMA-13]
#[test]
fn a_peer_that_sends_more_than_it_may_is_left_and_others_go_on() {
    let mut hub = Hub::new(4, 2, 64, Weather::fair());
    let verbs = hub.fabric.host();
    let device = verbs.open("sim0", 1, 0).expect("a device");
    let completions = device.completion_queue(32).expect("a queue");
    let config =
        QueuePairConfig { sends_max: 16, receives_max: 0, inline_bytes: 64, owner: 0, psn: 2 };
    let mut pair = device.connected(&completions, None, &config).expect("a queue pair");
    let id = hub.server.open(1).expect("room for it");
    let own = hub.server.endpoint(id).expect("it is open");
    pair.connect(&own, &Timing::default()).expect("they fit");
    hub.server.connect(id, &pair.endpoint(), 8).expect("they fit");
    for _ in 0..=START {
        pair.push_inline(&[8, 0, 0, 0, 0, 0, 0, 0, 1], Via::Connection, false).expect("room");
    }
    pair.ring_sends().expect("a device");
    hub.fabric.advance(hub.fabric.now() + Duration::from_millis(1));
    let mut came = 0;
    hub.server.poll(|from, _| came += u32::from(from == id));
    assert_eq!(came, START);
    assert_eq!(hub.server.poll_ended(), Some((id, Ended::Credit(BadCredit))));
    (0..2).for_each(|at| hub.burst(at, 300));
    // It has found nobody ready for what it sent too much.
    hub.all_are_there();
}
