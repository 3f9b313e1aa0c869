//! The connections of a worker, and lanes of the link engine over them, on a real device.

use super::{Real, on_the_device};
use crate::cases::text;
use crate::ends::Bench;
use greenroom::net::{Bytes, FrameBuf};
use greenroom_transports::link::{
    self, Address, Ecn, Envelope, Event, Kind, Lane, Lend, SendError, Time,
};
use greenroom_transports::rdma::connected::{Config, Connected, ConnectionId, PREFIX_BYTES};
use greenroom_transports::rdma::datagrams::{self, Datagrams};
use greenroom_transports::rdma::ib::IbDevice;
use greenroom_transports::rdma::verbs::Timing;
use std::time::Instant;

const CONFIG: Config = Config {
    connections_max: 2,
    sends: 64,
    receives: 64,
    slot_bytes: 8192,
    inline_bytes: 220,
    timing: Timing { timeout: 16, retries: 2, not_ready_retries: 3, not_ready_delay: 12 },
};

/// Two workers that are connected.
struct Two {
    ports: [Connected<IbDevice>; 2],
    ids: [ConnectionId; 2],
}

impl Two {
    fn new(real: &Real) -> Self {
        let port = || Connected::new(real.device(), CONFIG).expect("room for it");
        let mut ports = [port(), port()];
        let ids = join(&mut ports, 1);
        Self { ports, ids }
    }
}

/// What the ends tell each other over another channel.
fn join(ports: &mut [Connected<IbDevice>; 2], psn: u32) -> [ConnectionId; 2] {
    let ids = [0, 1].map(|at: usize| ports[at].open(psn + at as u32).expect("room for it"));
    let ends = [0, 1].map(|at: usize| ports[at].endpoint(ids[at]).expect("it is open"));
    for (at, other) in [(0, 1), (1, 0)] {
        let receives = ports[other].receives();
        ports[at].connect(ids[at], &ends[other], receives).expect("they fit");
    }
    ids
}

/// What fits into the time of one case.
const ASKS_MAX: u64 = 100_000;

fn asks() -> u64 {
    let asked = std::env::var("GREENROOM_ASKS").ok();
    let asked = asked.map(|count| count.parse().expect("GREENROOM_ASKS is a number"));
    asked.map_or(ASKS_MAX, |count: u64| count.min(ASKS_MAX))
}

/// What the answer to a question is.
fn answer(question: u64) -> u64 {
    question.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ question >> 7
}

/// Few enough for a checker of memory, under which all takes long.
#[test]
#[ignore = "needs an RDMA device"]
fn a_few_asks_are_answered_once() {
    ask(500);
}

#[test]
#[ignore = "needs an RDMA device"]
fn a_hundred_thousand_asks_are_answered_once() {
    ask(asks());
}

/// Each question is answered once and in its turn, and nobody is caught unready.
fn ask(count: u64) {
    on_the_device(async |real| {
        let Two { ports: [mut asker, mut teller], ids: [here, there] } = Two::new(real);
        let (mut asked, mut heard, mut answered) = (0, 0, 0_u64);
        let mut questions = Vec::new();
        let put = |slot: &mut [u8], number: u64| {
            slot[..8].copy_from_slice(&number.to_le_bytes());
            8
        };
        let number = |packet: &[u8]| u64::from_le_bytes(packet.try_into().expect("eight bytes"));
        while answered < count {
            while asked < count && asker.send(here, |slot| put(slot, asked)).is_ok() {
                asked += 1;
            }
            asker.flush();
            teller.poll(|_, packet| {
                assert_eq!(number(packet), heard, "in order, and once");
                heard += 1;
                questions.push(number(packet));
            });
            let sent = questions.iter().take_while(|&&question| {
                teller.send(there, |slot| put(slot, answer(question))).is_ok()
            });
            let sent = sent.count();
            questions.drain(..sent);
            teller.flush();
            asker.poll(|_, packet| {
                assert_eq!(number(packet), answer(answered), "each answer is the next one's");
                answered += 1;
            });
            assert_eq!((asker.poll_ended(), teller.poll_ended()), (None, None));
            real.pass().await;
        }
        assert_eq!((asked, heard), (count, count));
        eprintln!("{answered} answers in {:?}", real.began.elapsed());
    });
}

/// So many are kept: of more than one slab.
const KEPT: usize = 40;

/// Packets that somebody keeps where the device has put them, with the byte that they consist of. The device is closed.
pub(super) async fn kept(real: &Real) -> Vec<(u8, Bytes)> {
    let Two { ports: [mut sender, mut keeper], ids: [here, _] } = Two::new(real);
    let (mut sent, mut came, mut kept) = (0_u8, 0_u8, Vec::new());
    while kept.len() < KEPT {
        let fill = |slot: &mut [u8]| {
            slot[..5000].fill(sent);
            5000
        };
        if sender.send(here, fill).is_ok() {
            sent = sent.wrapping_add(1);
        }
        sender.flush();
        sender.poll(|_, _| panic!("nobody answers"));
        keeper.poll(|_, packet| {
            kept.extend(packet.lend().map(|packet| (came, packet)));
            came = came.wrapping_add(1);
        });
        keeper.flush();
        real.pass().await;
    }
    kept
}

pub(super) fn assert_whole(kept: &[(u8, Bytes)]) {
    let is_whole =
        |(byte, packet): &(u8, Bytes)| packet.len() == 5000 && packet.iter().all(|it| it == byte);
    assert!(kept.len() >= KEPT && kept.iter().all(is_whole));
}

// [RDMA-54]
#[test]
#[ignore = "needs an RDMA device"]
fn what_is_lent_outlives_its_device() {
    on_the_device(async |real| {
        let first = kept(real).await;
        let second = kept(real).await;
        assert_whole(&first);
        drop(first);
        assert_whole(&second);
    });
}

const PEERS: usize = 12;

/// Peers of one worker, which share its receives: each packet comes once and in order, also when one after the other goes
/// and comes back, and as few receives are posted as are needed.
#[test]
#[ignore = "needs an RDMA device"]
fn many_peers_share_receives() {
    on_the_device(async |real| {
        let config = Config { connections_max: PEERS as u16, ..CONFIG };
        let mut hub = Connected::new(real.device(), config).expect("room for it");
        let mut peers: Vec<_> = (0..PEERS as u32)
            .map(|psn| {
                let mut port = Connected::new(real.device(), CONFIG).expect("room for it");
                let ids = join_two(&mut port, &mut hub, psn);
                (port, ids, 0_u64, 0_u64)
            })
            .collect();
        for round in 0..4 * PEERS {
            for (port, (here, _), sent, _) in &mut peers {
                while *sent < 200 * (1 + round as u64) {
                    let fill = |slot: &mut [u8]| {
                        slot[..5000].fill(*sent as u8);
                        5000
                    };
                    if port.send(*here, fill).is_err() {
                        break;
                    }
                    *sent += 1;
                }
                port.flush();
                port.poll(|_, _| panic!("nobody answers"));
                port.flush();
                assert_eq!(port.poll_ended(), None);
            }
            for _ in 0..50 {
                hub.poll(|from, packet| {
                    let peer = peers.iter_mut().find(|(_, (_, there), ..)| *there == from);
                    let (.., came) = peer.expect("a connection that is there");
                    assert!(packet.len() == 5000 && packet.iter().all(|it| *it == *came as u8));
                    *came += 1;
                });
                hub.flush();
                real.pass().await;
            }
            assert_eq!(hub.poll_ended(), None);
            // One goes, with what is under way, and comes back.
            let (port, (here, there), sent, came) = &mut peers[round % PEERS];
            hub.end(*there);
            port.end(*here);
            (*here, *there) = join_two(port, &mut hub, 100 + round as u32);
            (*sent, *came) = (0, 0);
        }
        while peers.iter().any(|(.., sent, came)| came < sent) {
            for (port, ..) in &mut peers {
                port.poll(|_, _| panic!("nobody answers"));
                port.flush();
            }
            hub.poll(|from, _| {
                let peer = peers.iter_mut().find(|(_, (_, there), ..)| *there == from);
                let (.., came) = peer.expect("a connection that is there");
                *came += 1;
            });
            hub.flush();
            assert_eq!(hub.poll_ended(), None);
            real.pass().await;
        }
        let posted = hub.receives_posted();
        assert!(posted < PEERS * CONFIG.receives as usize, "{posted} receives are posted");
    });
}

/// The ids of a new connection, at one end and at the other.
fn join_two(
    left: &mut Connected<IbDevice>,
    right: &mut Connected<IbDevice>,
    psn: u32,
) -> (ConnectionId, ConnectionId) {
    let ids = (left.open(psn).expect("room for it"), right.open(psn).expect("room for it"));
    let ends = (left.endpoint(ids.0), right.endpoint(ids.1));
    let (Some(here), Some(there)) = ends else { panic!("they are open") };
    left.connect(ids.0, &there, right.receives()).expect("they fit");
    right.connect(ids.1, &here, left.receives()).expect("they fit");
    ids
}

/// The number of a packet, which a sealed header would say.
pub(super) const HEAD: usize = 8;

/// One end's lane, with what it is still to say and to hear.
pub(super) struct Side {
    pub(super) lane: Lane,
    /// Messages by number: those that were taken, and those that came.
    lengths: &'static [usize],
    said: usize,
    pub(super) heard: usize,
    buffer: FrameBuf,
}

/// Lengths of messages: as long as messages may be, and some that overtake nothing.
const LENGTHS: &[usize] = &[16 << 20, 10, 100_000, 0, 8_000, 3 << 20];
/// Long enough each for the connection to break within.
const ALIKE: &[usize] = &[1 << 20, 700_000, 1 << 20, 900_000, 1 << 20];
const SHORT: &[usize] = &[2 << 20, 10, 100_000, 0, 8_000];

fn lane_config() -> link::Config {
    let inside = CONFIG.slot_bytes - PREFIX_BYTES - HEAD;
    link::Config {
        loss_detection: false,
        packet_len_base: inside,
        packet_len_start: inside,
        packet_len_max: inside,
        ..link::Config::default()
    }
}

impl Side {
    pub(super) fn new(now: Time, config: link::Config, lengths: &'static [usize]) -> Self {
        let lane = Lane::new(now, config).expect("a good configuration");
        Self { lane, lengths, said: 0, heard: 0, buffer: FrameBuf::default() }
    }

    /// Says the next message if there is room.
    pub(super) fn say(&mut self, seed: usize) {
        let Some(length) = self.lengths.get(self.said) else { return };
        let address = Address { slot: 1, generation: 1 };
        let envelope =
            Envelope { to: address, from: address, kind: Kind::Tell, manifest: 3, correlation: 0 };
        match self.lane.send(&envelope, &text(seed + self.said, *length)) {
            Ok(()) => self.said += 1,
            Err(SendError::Full(_)) => {}
            Err(error) => panic!("{error}"),
        }
    }

    /// Gives the carrier everything that may leave, packet by packet.
    pub(super) fn give(
        &mut self,
        now: Time,
        mut send: impl FnMut(&mut dyn FnMut(&mut [u8]) -> usize) -> bool,
    ) {
        if self.lane.timeout().is_some_and(|due| due <= now) {
            self.lane.on_timeout(now);
        }
        let mut fill = |slot: &mut [u8]| {
            let (head, room) = slot.split_at_mut(HEAD);
            let Some(packet) = self.lane.poll_transmit(now, room) else { return 0 };
            head.copy_from_slice(&packet.number.to_le_bytes());
            HEAD + packet.len
        };
        while send(&mut fill) {}
    }

    pub(super) fn on_packet(&mut self, packet: &[u8], now: Time) {
        let (number, inside) = packet.split_first_chunk().expect("a number");
        self.lane.on_packet(now, u64::from_le_bytes(*number), inside, Ecn::NotCapable);
    }

    /// Takes what came whole, and is the next that the other said.
    pub(super) fn hear(&mut self, seed: usize, now: Time) {
        while let Some(event) = self.lane.poll_event() {
            assert!(!matches!(event, Event::Ended(_)), "{event:?}");
        }
        while let Some(delivery) = self.lane.poll_message(&mut self.buffer) {
            let expected = text(seed + self.heard, self.lengths[self.heard]);
            assert!(self.buffer[..] == expected, "message {} is another one", self.heard);
            self.heard += 1;
            self.lane.release(now, delivery.receipt, u32::MAX);
        }
    }

    pub(super) fn is_done(&self) -> bool {
        self.heard == self.lengths.len() && self.lane.is_settled()
    }
}

/// The time since `began`, which is never zero.
pub(super) fn since(began: Instant) -> Time {
    Time::from_nanos(1 + began.elapsed().as_nanos() as u64)
}

/// Lanes carry everything once and in order, over as many connections after the first as `breaks` says.
async fn lanes_carry_all(real: &Real, lengths: &'static [usize], breaks: usize) {
    let Two { mut ports, mut ids } = Two::new(real);
    let began = Instant::now();
    let mut sides = [(); 2].map(|()| Side::new(since(began), lane_config(), lengths));
    let mut broken = 0;
    while !sides.iter().all(Side::is_done) {
        for (at, (side, port)) in sides.iter_mut().zip(&mut ports).enumerate() {
            side.say(at * 100);
            side.give(since(began), |fill| port.send(ids[at], fill).is_ok_and(|bytes| bytes > 0));
            port.flush();
            port.poll(|_, packet| side.on_packet(packet, since(began)));
            side.hear((1 - at) * 100, since(began));
        }
        if broken < breaks && sides[0].lane.bytes_held() > 0 && sides[1].heard > broken {
            broken += 1;
            // One end goes without a word: the other finds out, and both go on over the next connection.
            ports[1].end(ids[1]);
            while ports[0].poll_ended().is_none() {
                sides[0].lane.challenge(broken as u64);
                let port = &mut ports[0];
                sides[0].give(since(began), |fill| {
                    port.send(ids[0], fill).is_ok_and(|bytes| bytes > 0)
                });
                port.flush();
                port.poll(|_, packet| sides[0].on_packet(packet, since(began)));
                real.pass().await;
            }
            ids = join(&mut ports, 7 * broken as u32);
            for side in &mut sides {
                let changed = side.lane.on_carrier_change(since(began), &lane_config());
                changed.expect("a good configuration");
            }
        }
        real.pass().await;
    }
    assert_eq!(broken, breaks);
    assert!(breaks > 0 || sides.iter().all(|side| side.lane.counts().packets_lost == 0));
}

#[test]
#[ignore = "needs an RDMA device"]
fn lanes_carry_messages_of_sixteen_mebibytes() {
    on_the_device(async |real| lanes_carry_all(real, LENGTHS, 0).await);
}

#[test]
#[ignore = "needs an RDMA device"]
fn lanes_go_on_over_another_connection() {
    on_the_device(async |real| lanes_carry_all(real, ALIKE, 3).await);
}

/// Over datagrams the lanes do by themselves what the device does for connections.
#[test]
#[ignore = "needs an RDMA device"]
fn lanes_carry_messages_over_datagrams() {
    on_the_device(async |real| {
        let made = [0x11, 0x22].map(|number| {
            let config = datagrams::Config::default();
            Datagrams::new(real.device(), &config, number, number).expect("room for it")
        });
        let ends = made.each_ref().map(Datagrams::endpoint);
        let mut ports = made;
        let ids = [0, 1].map(|at: usize| ports[at].add(&ends[1 - at]).expect("room for it"));
        let inside = ports[0].bytes_max(ids[0]).expect("it was added") - HEAD;
        let config = || link::Config { packet_len_max: inside, ..link::Config::default() };
        let began = Instant::now();
        let mut sides = [(); 2].map(|()| Side::new(since(began), config(), SHORT));
        while !sides.iter().all(Side::is_done) {
            for (at, (side, port)) in sides.iter_mut().zip(&mut ports).enumerate() {
                side.say(at * 100);
                side.give(since(began), |fill| {
                    port.send(ids[at], fill).is_ok_and(|bytes| bytes > 0)
                });
                port.flush();
                port.poll(|from, packet| {
                    assert_eq!(from.peer(), Some(ids[at]));
                    side.on_packet(packet, since(began));
                });
                side.hear((1 - at) * 100, since(began));
                assert_eq!(port.ended(), None);
            }
            real.pass().await;
        }
    });
}
