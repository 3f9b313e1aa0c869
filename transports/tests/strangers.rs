//! Peers that are not ours: one that only knows the book can talk, and whatever else one sends is dropped for its
//! own reason, or costs no more than it should.

#![allow(clippy::unwrap_used, reason = "what fails here is the test")]

mod stranger;

use greenroom_transports::link::Time;
use greenroom_transports::secure::endpoint::{Config, Endpoint, Event, Received};
use greenroom_transports::secure::entropy::System;
use greenroom_transports::secure::identity::Identity;
use greenroom_transports::secure::key::{Key, PublicKey};
use greenroom_transports::secure::limit::Rate;
use greenroom_transports::secure::reject::Reject;
use greenroom_transports::secure::wire::Suite;
use std::net::SocketAddr;
use std::time::Duration;
use stranger::{CONTROL, INIT_BYTES, Said, Stranger, ask, public, stamp};

const HIS: [u8; 32] = [7; 32];
const CLUSTER: [u8; 32] = [5; 32];
const EPOCH: u64 = 1_700_000_000;

fn address(port: u16) -> SocketAddr {
    SocketAddr::from(([192, 0, 2, 7], port))
}

fn node(config: Config) -> Endpoint {
    let since = Duration::from_secs(EPOCH);
    let identity = Identity::new(Key::new([1; 32]));
    let node = Endpoint::new(config, identity, Some(Key::new(CLUSTER)), since, Box::new(System));
    let mut node = node.unwrap();
    node.allow(PublicKey(public(&HIS)));
    node
}

/// A node before which no rate stands.
fn open_node() -> Endpoint {
    let rate = Rate::per_second(1_000_000, 1_000_000);
    let (source_rate, renewal_rate, load_rate) = (rate, rate, rate);
    let suite = Suite::Classic;
    node(Config { source_rate, renewal_rate, load_rate, suite, ..Config::default() })
}

fn ms(millis: u64) -> Time {
    Time::from_nanos(millis * 1_000_000)
}

fn said(life: u64, at: u64) -> Said {
    Said { seconds: EPOCH + at, incarnation: life, index: 0x0A0B_0C00 + at as u32 }
}

fn sent(node: &mut Endpoint) -> Vec<Vec<u8>> {
    std::iter::from_fn(|| node.poll_transmit()).map(|sent| sent.packet).collect()
}

/// He asks, is answered, and confirms.
fn associated(node: &mut Endpoint, said: Said) -> Stranger {
    let target = node.public().0;
    let (asking, mut init) = ask(&HIS, &target, &CLUSTER, said);
    assert_eq!(node.handle(ms(1), address(1), &mut init), Received::Done);
    let him = asking.answered(&sent(node)[0]);
    assert_eq!(node.handle(ms(1), address(1), &mut him.seal(CONTROL, 0, &[0])), Received::Done);
    assert_eq!(him.open(&sent(node)[0]).2, [1], "confirmed");
    him
}

/// That the association is as good as before.
fn still_talks(node: &mut Endpoint, him: &Stranger, number: u64) {
    let mut packet = him.seal(0, number, b"still here");
    let received = node.handle(ms(2), address(1), &mut packet);
    let Received::Text { text, .. } = received else { panic!("{received:?}") };
    assert_eq!(&packet[text], b"still here");
}

/// [UDP-2] [UDP-10] [UDP-30] [UDP-31] [UDP-41]
#[test]
fn who_only_read_the_book_can_talk() {
    let mut node = open_node();
    let him = associated(&mut node, said(1, 1));
    let event = node.poll_event();
    let Some(Event::Up { association, peer, hello, lanes: 1, .. }) = event else {
        panic!("{event:?}")
    };
    assert_eq!((peer.0, hello.incarnation, hello.token.0), (public(&HIS), 1, [9; 16]));
    still_talks(&mut node, &him, 0);
    let mut packet = [&[0; 16], &b"an answer"[..], &[0; 16]].concat();
    node.seal(ms(2), association, 0, 77, &mut packet).unwrap();
    assert_eq!(him.open(&packet), (0, 77, b"an answer".to_vec()));
}

type Offence = (&'static str, Vec<u8>, Reject);

/// Data packets, of which the last honest one had the number 9,000.
fn data_offences(him: &Stranger) -> Vec<Offence> {
    let data = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut packet = him.seal(0, 9_001, b"text");
        change(&mut packet);
        packet
    };
    vec![
        ("nothing", vec![], Reject::Empty),
        ("another protocol", data(&|packet| packet[0] = 0xC0), Reject::Fixed),
        ("a reserved bit", data(&|packet| packet[0] |= 1), Reject::Fixed),
        ("type 5", data(&|packet| packet[0] = 0x68), Reject::Kind),
        ("type 7", data(&|packet| packet[0] = 0x78), Reject::Kind),
        ("a reserved byte", data(&|packet| packet[3] = 1), Reject::Fixed),
        ("too short", data(&|packet| packet.truncate(31)), Reject::Length),
        ("another index", data(&|packet| packet[4] ^= 1), Reject::Index),
        ("another lane", him.seal(3, 0, b"text"), Reject::Lane),
        ("what came", him.seal(0, 9_000, b"still here"), Reject::Replayed),
        ("below the window", him.seal(0, 9_000 - 8_192, b"text"), Reject::TooOld),
        ("no number", him.seal(0, 1 << 48, b"text"), Reject::Number),
        ("cut", data(&|packet| packet.truncate(34)), Reject::Forged),
        ("lengthened", data(&|packet| packet.push(0)), Reject::Forged),
        ("an altered text", data(&|packet| packet[17] ^= 1), Reject::Forged),
        ("a forged number", data(&|packet| packet[9] ^= 1), Reject::Forged),
        ("oversize", data(&|packet| packet.resize(65_507, 1)), Reject::Forged),
        ("no control", him.seal(CONTROL, 1, &[9]), Reject::Control),
        ("half a challenge", him.seal(CONTROL, 2, &[2, 0]), Reject::Control),
    ]
}

/// Packets of handshakes, the last of which began at 50.
fn handshake_offences(target: [u8; 32]) -> Vec<Offence> {
    let init = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut body = ask(&HIS, &target, &CLUSTER, said(1, 60)).1;
        body.truncate(INIT_BYTES - 32);
        change(&mut body);
        stamp(&target, &mut body);
        body
    };
    let unknown = ask(&[8; 32], &target, &CLUSTER, said(1, 70)).1;
    let mut wrong_cookie = init(&|_| {});
    wrong_cookie[INIT_BYTES - 1] = 1;
    let mut wrong_code = init(&|_| {});
    wrong_code[INIT_BYTES - 20] ^= 1;
    let mut all = vec![
        ("version 2", init(&|body| body[1] = 2), Reject::Version),
        ("suite 9", init(&|body| body[2] = 9), Reject::Suite),
        ("a first message cut", init(&|body| body.truncate(100)), Reject::Length),
        ("a first message lengthened", init(&|body| body.push(0)), Reject::Length),
        ("a wrong first code", wrong_code, Reject::Mac1),
        ("a wrong second code", wrong_cookie, Reject::Mac2),
        ("an altered key", init(&|body| body[20] ^= 1), Reject::Handshake),
        ("an altered hello", init(&|body| body[100] ^= 1), Reject::Handshake),
        ("a node that is not allowed", unknown, Reject::Peer),
        ("an older time", ask(&HIS, &target, &CLUSTER, said(1, 50)).1, Reject::Stale),
    ];
    all.extend(uncalled_for(target));
    all
}

/// What would belong to handshakes that there are not.
fn uncalled_for(target: [u8; 32]) -> Vec<Offence> {
    let made = |head: [u8; 4], length: usize| {
        let mut packet = head.to_vec();
        packet.resize(length, 0);
        packet
    };
    let [mut resp, mut finish] = [made([0x50, 1, 1, 0], 116), made([0x70, 1, 3, 0], 76)];
    [&mut resp, &mut finish].into_iter().for_each(|packet| stamp(&target, packet));
    let [cookie, reset] = [made([0x58, 0, 0, 0], 64), made([0x60, 0, 0, 0], 24)];
    vec![
        ("an answer to nothing", resp, Reject::Index),
        ("a cookie for nothing", cookie, Reject::Index),
        ("a reset of nothing", reset, Reject::Index),
        ("a third message without the cluster key", finish, Reject::Mac1),
    ]
}

/// Whatever is wrong with a datagram is counted once, under what it is. [UDP-90] [UDP-1] [UDP-11] [UDP-12] [UDP-20]
#[test]
fn each_offence_has_its_reason() {
    let mut node = open_node();
    let him = associated(&mut node, said(1, 50));
    let target = node.public().0;
    still_talks(&mut node, &him, 9_000);
    let offences = data_offences(&him).into_iter().chain(handshake_offences(target));
    let mut reasons = std::collections::BTreeSet::new();
    for (number, (what, mut packet, reason)) in offences.enumerate() {
        let (counted, all) = (node.audit().rejected(reason), node.audit().rejected_in_all());
        let received = node.handle(ms(2), address(1), &mut packet);
        assert_eq!(received, Received::Dropped(reason), "{what}");
        let now = (node.audit().rejected(reason), node.audit().rejected_in_all());
        assert_eq!(now, (counted + 1, all + 1), "{what}");
        still_talks(&mut node, &him, 9_100 + number as u64);
        sent(&mut node);
        reasons.insert(reason);
    }
    assert!(reasons.len() >= 18, "{reasons:?}");
    assert_eq!(std::iter::from_fn(|| node.poll_event()).count(), 1, "it came up, and that is all");
}

/// One who is let in cannot make the node say more than he says, nor keep anything for it. [UDP-50] [UDP-51]
#[test]
fn a_flood_of_challenges_from_everywhere_is_not_amplified() {
    let mut node = open_node();
    let him = associated(&mut node, said(1, 1));
    node.poll_event();
    let (mut bytes_in, mut bytes_out) = (0, 0);
    for round in 0..5_000_u64 {
        let text = [&[2][..], &round.to_le_bytes()].concat();
        let mut packet = him.seal(CONTROL, 1 + round, &text);
        bytes_in += packet.len();
        let from = address(1 + (round % 50) as u16);
        node.handle(ms(2 + round / 100), from, &mut packet);
        while let Some(sent) = node.poll_transmit() {
            bytes_out += sent.packet.len();
        }
    }
    // Nearly all of it to addresses that have proved nothing.
    assert!(bytes_out <= 3 * bytes_in, "{bytes_out} out for {bytes_in} in");
    assert_eq!(node.poll_event(), None, "nobody answered a challenge, so nobody moved");
    still_talks(&mut node, &him, 0);
}

/// One who begins life after life, and renews keys again and again, has one association, and old ones end first.
/// [UDP-42]
#[test]
fn many_lives_and_renewals_leave_one_association() {
    let mut node = open_node();
    let mut up = 0_i32;
    for life in 1..120 {
        for renewal in 0..3 {
            let him = associated(&mut node, said(life / 2, life * 3 + renewal));
            still_talks(&mut node, &him, 10);
        }
        while let Some(event) = node.poll_event() {
            up += match event {
                Event::Up { .. } => 1,
                Event::Down { .. } => -1,
                _ => 0,
            };
            assert!((0..=1).contains(&up), "{event:?}");
        }
    }
    assert_eq!(up, 1);
    let shown = format!("{node:?}");
    assert!(shown.contains("associations: 1"), "{shown}");
}
