//! Packets that nobody honest sends: each is dropped, counted once under its own reason, and changes
//! nothing.

use super::*;
use crate::secure::contact;
use crate::secure::guard::CODES_BYTES;
use crate::secure::handshake::init_bytes;
use crate::secure::limit::Rate;
use crate::secure::noise::Start;
use crate::secure::wire::{HandshakeHeader, Suite};

/// Nodes that take as much as comes, so that no rate stands before what is tested.
pub(super) fn open_config() -> Config {
    let rate = Rate::per_second(1_000_000, 1_000_000);
    Config { source_rate: rate, load_rate: rate, suite: Suite::Classic, ..Config::default() }
}

/// A packet under way, and who waits for it.
struct Waiting {
    name: &'static str,
    node: Endpoint,
    from: SocketAddr,
    packet: Vec<u8>,
}

/// One packet of each type, with a receiver that would take it.
fn one_of_each() -> Vec<Waiting> {
    let to_b = |name, pair: Pair, packet| Waiting { name, node: pair.b, from: address(1), packet };
    let to_a = |name, pair: Pair, packet| Waiting { name, node: pair.a, from: address(2), packet };
    let mut all = Vec::new();
    for (suite, init, resp) in
        [(Suite::Classic, "init", "resp"), (Suite::Hybrid, "hybrid init", "hybrid resp")]
    {
        if suite == Suite::Hybrid && !cfg!(feature = "pq") {
            continue;
        }
        let begun = || {
            let mut pair = pair(&Config { suite, ..open_config() });
            pair.a.connect(pair.now, &pair.b.public(), address(2)).unwrap();
            let packet = pair.a.poll_transmit().unwrap().packet;
            (pair, packet)
        };
        let (pair, packet) = begun();
        all.push(to_b(init, pair, packet));
        let (mut pair, mut packet) = begun();
        pair.b.handle(pair.now, address(1), &mut packet);
        let answer = pair.b.poll_transmit().unwrap().packet;
        all.push(to_a(resp, pair, answer));
    }
    let (pair, packet) = asked_for_cookie();
    all.push(to_a("cookie", pair, packet));
    let mut pair = pair_up();
    let packet = sealed(&mut pair.1.a, ms(2), pair.0, 0, b"text").unwrap().packet;
    all.push(to_b("data", pair.1, packet));
    let mut pair = pair_up();
    pair.1.a.control(
        pair.0.place,
        ms(2),
        address(2),
        path::Control::Challenge { token: 7, reset: Some((0, Token([0; 16]))) },
    );
    let packet = pair.1.a.poll_transmit().unwrap().packet;
    all.push(to_b("control", pair.1, packet));
    all.push(forgotten());
    all.extend(contacts());
    all
}

fn pair_up() -> (AssociationId, Pair) {
    let mut pair = pair(&open_config());
    let (a, _) = pair.connect();
    events(&mut pair.a);
    events(&mut pair.b);
    (a, pair)
}

pub(super) fn asked_for_cookie() -> (Pair, Vec<u8>) {
    let config = Config { load_rate: Rate::per_second(0, 0), ..open_config() };
    let mut pair = pair(&config);
    pair.a.connect(pair.now, &pair.b.public(), address(2)).unwrap();
    let mut init = pair.a.poll_transmit().unwrap().packet;
    let asked = pair.b.handle(pair.now, address(1), &mut init);
    assert_eq!(asked, Received::Dropped(Reject::Cookie));
    let packet = pair.b.poll_transmit().unwrap().packet;
    assert_eq!(packet.len(), 64);
    (pair, packet)
}

fn forgotten() -> Waiting {
    let (_, mut pair) = pair_up();
    let b = pair.b.associations.iter().next().unwrap().id;
    let mut sent = sealed(&mut pair.b, ms(2), b, 0, b"?").unwrap().packet;
    pair.a = node(1, 1, open_config());
    pair.a.handle(ms(2), address(2), &mut sent);
    let packet = pair.a.poll_transmit().unwrap().packet;
    Waiting { name: "reset", node: pair.b, from: address(1), packet }
}

fn contacts() -> Vec<Waiting> {
    let met = |steps: usize| {
        let mut pair = pair(&open_config());
        pair.a.meet(pair.now, address(2)).unwrap();
        let mut packet = pair.a.poll_transmit().unwrap().packet;
        for step in 0..steps {
            let sent = if step == 0 {
                pair.b.handle(pair.now, address(1), &mut packet);
                pair.b.poll_transmit()
            } else {
                pair.a.handle(pair.now, address(2), &mut packet);
                pair.a.poll_transmit()
            };
            packet = sent.unwrap().packet;
        }
        let (node, from) =
            if steps.is_multiple_of(2) { (pair.b, address(1)) } else { (pair.a, address(2)) };
        let name = ["contact init", "contact resp", "contact finish"][steps];
        Waiting { name, node, from, packet }
    };
    (0..3).map(met).collect()
}

/// Offers a packet that must be dropped: counted once, and nothing else has changed.
fn dropped(waiting: &mut Waiting, packet: &mut [u8], what: &str) -> Reject {
    let Waiting { name, node, from, .. } = waiting;
    while node.poll_transmit().is_some() {}
    let (before, counted) = (digest(node), node.audit.rejected_in_all());
    let Received::Dropped(reject) = node.handle(ms(3), *from, packet) else {
        panic!("{name}, {what}: taken")
    };
    assert_eq!(node.audit.rejected_in_all(), counted + 1, "{name}, {what}");
    while node.poll_transmit().is_some() {}
    assert_eq!(digest(node), before, "{name}, {what}: {reject}");
    reject
}

/// [UDP-90]
#[test]
fn every_flip_and_every_cut_of_every_type_is_dropped_and_changes_nothing() {
    for mut waiting in one_of_each() {
        let packet = waiting.packet.clone();
        // Of what a hybrid handshake adds in the middle, one bit of every fifth byte.
        let middle = 2_000..(packet.len() * 8).saturating_sub(400);
        let bits = (0..packet.len() * 8).filter(|bit| !middle.contains(bit) || bit % 41 == 0);
        for bit in bits {
            let mut altered = packet.clone();
            altered[bit / 8] ^= 1 << (bit % 8);
            dropped(&mut waiting, &mut altered, &format!("bit {bit}"));
        }
        for length in 0..packet.len() {
            dropped(&mut waiting, &mut packet[..length].to_vec(), &format!("{length} bytes"));
        }
        for extra in [1, 16, 500] {
            let mut longer = packet.clone();
            longer.resize(packet.len() + extra, 0);
            dropped(&mut waiting, &mut longer, &format!("{extra} bytes more"));
        }
        let taken = waiting.node.handle(ms(3), waiting.from, &mut packet.clone());
        assert!(!matches!(taken, Received::Dropped(_)), "{}: {taken:?}", waiting.name);
    }
}

/// One who knows both public keys can make the first code. What is inside is bound all the same. [UDP-32]
#[test]
fn with_the_code_made_anew_no_byte_of_a_handshake_can_be_altered() {
    for mut waiting in one_of_each()
        .into_iter()
        .filter(|it| it.name.ends_with("init") || it.name.ends_with("resp"))
    {
        let codes = match waiting.name {
            name if name.starts_with("contact") => Codes::of_cluster(&cluster()),
            _ => Codes::of(&waiting.node.public()),
        };
        if waiting.name == "contact resp" {
            continue;
        }
        let body = waiting.packet.len() - CODES_BYTES;
        let step = if waiting.name.starts_with("hybrid") { 41 } else { 5 };
        for byte in (0..body).step_by(step).chain(0..12) {
            let mut altered = waiting.packet[..body].to_vec();
            altered[byte] ^= 1 << (byte % 8);
            codes.stamp(None, &mut altered);
            dropped(&mut waiting, &mut altered, &format!("byte {byte}"));
        }
    }
}

/// [UDP-35]: from a holder of the cluster key, whose ephemeral key is the point zero.
#[test]
fn a_first_contact_that_agrees_on_nothing_is_dropped() {
    let (suite, cluster) = (Suite::FirstContact, cluster());
    let mut packet = Vec::new();
    HandshakeHeader { kind: Kind::Init, suite, sender: 7, receiver: None }.encode(&mut packet);
    let (header, secret, ephemeral) = (packet.clone(), Key::new([8; 32]), Key::new([9; 32]));
    let (remote, prologue, psk) = (None, &header[..], Some(&cluster));
    let start = Start { suite, secret: &secret, remote, prologue, psk, ephemeral };
    packet.resize(init_bytes(suite) - CODES_BYTES, 0);
    start.zero_initiator().write_message(&[0; 104], &mut packet[header.len()..]).unwrap();
    Codes::of_cluster(&cluster).stamp(None, &mut packet);
    let node = node(2, 0, open_config());
    let mut waiting = Waiting { name: "zero", node, from: address(1), packet: Vec::new() };
    assert_eq!(dropped(&mut waiting, &mut packet, "the point zero"), Reject::Handshake);
}

/// [UDP-35]: whoever has named it.
#[test]
fn a_node_whose_key_nobody_can_have_is_not_asked() {
    let (mut node, nobody) = (node(1, 0, open_config()), PublicKey([0; 32]));
    node.allow(nobody);
    assert_eq!(node.connect(ms(1), &nobody, address(2)), Err(ConnectError::Key));
    assert_eq!((node.poll_transmit(), node.poll_timeout(), node.indices.len()), (None, None, 0));
}

/// [UDP-60]: a token for an index that is about to be that of an association would end it.
#[test]
fn what_is_under_way_is_not_said_to_be_forgotten() {
    let mut pair = pair(&open_config());
    let calls_forth = |node: &mut Endpoint, index| {
        let header = DataHeader { lane: 0, index, number: 0 };
        let mut packet = [header.encode().to_vec(), vec![0; 16]].concat();
        let received = node.handle(ms(1), address(66), &mut packet);
        assert!(matches!(received, Received::Dropped(_)));
        std::iter::from_fn(|| node.poll_transmit()).count()
    };
    pair.a.connect(pair.now, &pair.b.public(), address(2)).unwrap();
    let mut asked = pair.a.poll_transmit().unwrap().packet;
    let (header, _) = HandshakeHeader::decode(Kind::Init, &asked).unwrap();
    assert_eq!(calls_forth(&mut pair.a, header.sender), 0, "it waits for an answer");
    pair.b.handle(pair.now, address(1), &mut asked);
    let answered = pair.b.poll_transmit().unwrap().packet;
    let (header, _) = HandshakeHeader::decode(Kind::Resp, &answered).unwrap();
    assert_eq!(calls_forth(&mut pair.b, header.sender), 0, "it waits for what confirms it");
    pair.a.meet(pair.now, address(9)).unwrap();
    let mut asked = pair.a.poll_transmit().unwrap().packet;
    let (header, _) = HandshakeHeader::decode(Kind::Init, &asked).unwrap();
    assert_eq!(calls_forth(&mut pair.a, header.sender), 0, "it seeks");
    pair.b.handle(pair.now, address(9), &mut asked);
    let answered = pair.b.poll_transmit().unwrap().packet;
    let (header, _) = HandshakeHeader::decode(Kind::Resp, &answered).unwrap();
    assert_eq!(calls_forth(&mut pair.b, header.sender), 0, "it was found");
    assert_eq!(calls_forth(&mut pair.b, header.sender ^ 1), 1, "nobody goes by that");
}

/// [UDP-24] [UDP-11]: a recording of everything, played again three times, to both.
#[test]
fn a_recording_played_again_changes_nothing() {
    let mut pair = pair(&open_config());
    let mut recorded = Vec::new();
    pair.a.connect(pair.now, &pair.b.public(), address(2)).unwrap();
    for _ in 0..4 {
        while let Some(sent) = pair.a.poll_transmit() {
            recorded.push((true, sent.packet.clone()));
            pair.b.handle(pair.now, address(1), &mut sent.packet.clone());
        }
        while let Some(sent) = pair.b.poll_transmit() {
            recorded.push((false, sent.packet.clone()));
            pair.a.handle(pair.now, address(2), &mut sent.packet.clone());
        }
    }
    let (a, _) = (up(&mut pair.a).unwrap(), up(&mut pair.b).unwrap());
    for number in 0..5 {
        let sent = sealed(&mut pair.a, pair.now, a, number, b"x").unwrap().packet;
        recorded.push((true, sent.clone()));
        pair.b.handle(pair.now, address(1), &mut sent.clone());
    }
    events(&mut pair.a);
    events(&mut pair.b);
    let Pair { a, b, .. } = pair;
    let mut b = Waiting { name: "to b", node: b, from: address(1), packet: Vec::new() };
    let mut a = Waiting { name: "to a", node: a, from: address(2), packet: Vec::new() };
    for round in 0..3 {
        for (to_b, packet) in &recorded {
            let waiting = if *to_b { &mut b } else { &mut a };
            dropped(waiting, &mut packet.clone(), &format!("round {round}"));
        }
    }
    // What was sent to the one opens at no other, nor the other way round.
    let mut other = Waiting {
        name: "other",
        node: node(3, 0, open_config()),
        from: address(1),
        packet: Vec::new(),
    };
    for (to_b, packet) in &recorded {
        dropped(&mut other, &mut packet.clone(), "at another node");
        dropped(if *to_b { &mut a } else { &mut b }, &mut packet.clone(), "sent back");
    }
}

/// [UDP-27]: what is said to who repeats an old first message is of no use, and asks for nothing more.
#[test]
fn what_answers_an_old_first_message_changes_nothing() {
    let mut pair = pair(&open_config());
    pair.a.connect(pair.now, &pair.b.public(), address(2)).unwrap();
    let mut old = pair.a.poll_transmit().unwrap().packet;
    pair.now = pair.now + Duration::from_secs(1);
    pair.a.handle_timeout(pair.now);
    let mut newest = pair.a.poll_transmit().unwrap().packet;
    let first = newest.clone();
    assert_eq!(pair.b.handle(pair.now, address(1), &mut newest), Received::Done);
    let mut answer = pair.b.poll_transmit().unwrap().packet;
    for (sent, answers) in [(&mut old, 1), (&mut first.clone(), 0)] {
        let (before, len) = (digest(&mut pair.b), sent.len());
        let received = pair.b.handle(pair.now, address(66), sent);
        assert_eq!(received, Received::Dropped(Reject::Stale));
        let told: Vec<_> = std::iter::from_fn(|| pair.b.poll_transmit()).collect();
        assert_eq!((digest(&mut pair.b), told.len()), (before, answers));
        for mut told in told {
            assert!(told.to == address(66) && told.packet.len() < len);
            let received = pair.a.handle(pair.now, address(2), &mut told.packet);
            assert_eq!(received, Received::Dropped(Reject::Index));
        }
    }
    assert_eq!(pair.a.handle(pair.now, address(2), &mut answer), Received::Done);
    assert!(up(&mut pair.a).is_some());
}

/// After a restart the memory of times is gone: a recorded first message is answered once, and that is all
/// it does. [UDP-41]
#[test]
fn a_first_message_played_to_a_restarted_node_does_no_harm() {
    let mut pair = pair(&open_config());
    pair.a.connect(pair.now, &pair.b.public(), address(2)).unwrap();
    let recorded = pair.a.poll_transmit().unwrap().packet;
    pair.b = node(2, 1, open_config());
    let peer = pair.b.public();
    let mut pair = Pair { a: node(1, 0, open_config()), ..pair };
    pair.now = ms(500);
    pair.a.connect(pair.now, &peer, address(2)).unwrap();
    pair.settle();
    let (a, b) = (up(&mut pair.a).unwrap(), up(&mut pair.b).unwrap());
    // To one that has heard nothing newer.
    let mut fresh = node(2, 2, open_config());
    assert_eq!(fresh.handle(pair.now, address(66), &mut recorded.clone()), Received::Done);
    assert_eq!((events(&mut fresh), fresh.associations.len()), (vec![], 1));
    let due = fresh.poll_timeout().unwrap();
    fresh.handle_timeout(due);
    assert_eq!((events(&mut fresh), fresh.associations.len(), fresh.indices.len()), (vec![], 0, 0));
    // To one that has an association, it is stale.
    let refused = pair.b.handle(pair.now, address(66), &mut recorded.clone());
    assert_eq!(refused, Received::Dropped(Reject::Stale));
    let mut sent = sealed(&mut pair.a, pair.now, a, 0, b"still").unwrap().packet;
    let received = pair.b.handle(pair.now, address(1), &mut sent);
    assert!(matches!(received, Received::Text { association, .. } if association == b));
}

#[test]
fn no_secret_is_shown() {
    let (_, pair) = pair_up();
    let shown = format!("{:?} {:?} {:?}", pair.a, pair.a.local, pair.a.associations);
    let secret = identity(1);
    let hex: String = secret.secret().bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    assert!(!shown.contains(&hex) && !shown.contains("[1, 1, 1, 1"));
    assert!(shown.contains("Key(..)") && shown.contains("Sealer"));
}

#[test]
fn sizes_of_answers_never_exceed_what_they_answer() {
    use crate::secure::handshake::resp_bytes;
    for suite in [Suite::Classic, Suite::Hybrid, Suite::FirstContact] {
        assert!(resp_bytes(suite) <= init_bytes(suite));
    }
    assert!(wire::COOKIE_BYTES <= init_bytes(Suite::Classic));
    const { assert!(wire::RESET_BYTES < OVERHEAD_BYTES) };
    assert!(contact::FINISH_BYTES <= resp_bytes(Suite::FirstContact));
}
