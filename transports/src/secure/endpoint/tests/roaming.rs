//! Nodes that move, and where they are told to be.

use super::*;

/// [UDP-50]: not before the proof, and wholly after it.
#[test]
fn a_node_that_moves_is_followed_once_it_proved_it() {
    let mut pair = pair(&Config::default());
    let (a, b) = pair.connect();
    let mut moved = sealed(&mut pair.a, pair.now, a, 0, b"from a new place").unwrap().packet;
    assert!(matches!(pair.b.handle(pair.now, address(77), &mut moved), Received::Text { .. }));
    assert_eq!(sealed(&mut pair.b, pair.now, b, 0, b"x").unwrap().to, address(1));
    let mut challenge = pair.b.poll_transmit().unwrap();
    assert_eq!(challenge.to, address(77));
    pair.a.handle(pair.now, address(2), &mut challenge.packet);
    let mut response = pair.a.poll_transmit().unwrap();
    pair.b.handle(pair.now, address(77), &mut response.packet);
    assert_eq!(events(&mut pair.b), [Event::Moved { association: b, address: address(77) }]);
    assert_eq!(sealed(&mut pair.b, pair.now, b, 1, b"x").unwrap().to, address(77));
}

/// [UDP-50]: who copies packets, and is faster with some of them, does not take a node's place by handing on a challenge.
#[test]
fn a_node_that_goes_on_from_where_it_was_is_not_followed_elsewhere() {
    let mut pair = pair(&Config::default());
    let (a, b) = pair.connect();
    let mut seal = |number| sealed(&mut pair.a, pair.now, a, number, b"text").unwrap().packet;
    let [mut copied, mut next] = [seal(0), seal(1)];
    pair.b.handle(pair.now, address(66), &mut copied);
    let mut challenge = pair.b.poll_transmit().unwrap();
    assert_eq!(challenge.to, address(66));
    pair.b.handle(pair.now, address(1), &mut next);
    pair.a.handle(pair.now, address(2), &mut challenge.packet);
    let mut response = pair.a.poll_transmit().unwrap();
    assert_eq!(pair.b.handle(pair.now, address(66), &mut response.packet), Received::Done);
    assert_eq!((events(&mut pair.b), pair.b.address(b)), (Vec::new(), Some(address(1))));
}

/// [UDP-50] [RDMA-42]: what comes by a queue pair says nothing of where a node is.
#[test]
fn a_node_that_moves_is_followed_whatever_goes_by_another_way_meanwhile() {
    let mut pair = pair(&Config::default());
    let (a, b) = pair.connect();
    let mut seal = |number| sealed(&mut pair.a, pair.now, a, number, b"text").unwrap().packet;
    let [mut moved, mut next] = [seal(0), seal(1)];
    pair.b.handle(pair.now, address(77), &mut moved);
    let mut challenge = pair.b.poll_transmit().unwrap();
    pair.b.handle_beside(pair.now, address(1), &mut next);
    pair.a.handle(pair.now, address(2), &mut challenge.packet);
    let mut response = pair.a.poll_transmit().unwrap();
    pair.b.handle(pair.now, address(77), &mut response.packet);
    assert_eq!(pair.b.address(b), Some(address(77)));
}

/// [UDP-61] [UDP-63]: by the token for where it is; that for where it was stays good, as packets may still leave there.
#[test]
fn a_node_that_has_moved_hears_that_it_is_forgotten() {
    for (from, is_heard) in [(address(77), true), (address(1), true), (address(66), false)] {
        let mut pair = pair(&Config::default());
        let (a, _) = pair.connect();
        let mut moved = sealed(&mut pair.a, pair.now, a, 0, b"moved").unwrap().packet;
        pair.b.handle(pair.now, address(77), &mut moved);
        let mut challenge = pair.b.poll_transmit().unwrap();
        pair.a.handle(pair.now, address(2), &mut challenge.packet);
        let mut response = pair.a.poll_transmit().unwrap();
        pair.b.handle(pair.now, address(77), &mut response.packet);
        events(&mut pair.a);

        pair.b = node(2, 1, Config::default());
        let mut text = sealed(&mut pair.a, pair.now, a, 1, b"?").unwrap().packet;
        pair.b.handle(pair.now, from, &mut text);
        let mut reset = pair.b.poll_transmit().unwrap().packet;
        pair.a.handle(pair.now, address(2), &mut reset);
        let peer = pair.b.public();
        let down = Event::Down { association: a, peer, why: Ended::Reset };
        let expected = if is_heard { vec![down] } else { Vec::new() };
        assert_eq!(events(&mut pair.a), expected, "{from}");
    }
}

/// [UDP-61]: of two challenges the newer one says where it is, also when the older one comes last.
#[test]
fn a_challenge_that_comes_late_says_nothing_of_where_one_is() {
    for turned in [false, true] {
        let mut pair = pair(&Config::default());
        let (a, _) = pair.connect();
        let mut challenges = [77, 88].map(|host| {
            let mut moved =
                sealed(&mut pair.a, pair.now, a, u64::from(host), b"moved").unwrap().packet;
            pair.b.handle(pair.now, address(host), &mut moved);
            pair.b.poll_transmit().unwrap().packet
        });
        if turned {
            challenges.reverse();
        }
        for mut challenge in challenges {
            let received = pair.a.handle(pair.now, address(2), &mut challenge);
            assert_eq!(received, Received::Done);
        }
        assert_eq!(std::iter::from_fn(|| pair.a.poll_transmit()).count(), 2, "both are answered");
        let epoch = pair.a.associations.get(a).and_then(|it| it.current.as_ref()).unwrap();
        let token = |host| identity(2).reset_token(epoch.peer_index, address(host));
        let are_heard = [77, 88].map(|host| epoch.is_reset_by(&token(host).0));
        assert_eq!(are_heard, [false, true], "turned: {turned}");
    }
}

/// [UDP-63]: one for keys that are not in use any more says nothing of those that are.
#[test]
fn a_token_for_other_keys_is_not_kept() {
    let mut pair = pair(&Config::default());
    let (a, b) = pair.connect();
    let mut moved = sealed(&mut pair.a, pair.now, a, 0, b"moved").unwrap().packet;
    pair.b.handle(pair.now, address(77), &mut moved);
    let mut challenge = pair.b.poll_transmit().unwrap();
    let index = pair.b.associations.get(b).and_then(|it| it.current.as_ref()).unwrap().index;
    pair.a.rekey(pair.now, a).unwrap();
    pair.settle();
    assert_eq!(pair.a.handle(pair.now, address(2), &mut challenge.packet), Received::Done);
    let stale = identity(2).reset_token(index, address(77));
    let epoch = pair.a.associations.get(a).and_then(|it| it.current.as_ref()).unwrap();
    assert_ne!(epoch.peer_index, index);
    assert!(!epoch.is_reset_by(&stale.0));
}

/// [UDP-63]: it tells no token, and is answered as any other; one of another length is none.
#[test]
fn the_challenge_of_a_node_from_before_is_answered() {
    use path::Control;
    let short = [&[2][..], &7_u64.to_le_bytes()].concat();
    assert_eq!(Control::decode(&short), Some(Control::Challenge { token: 7, reset: None }));
    let long = [&short[..], &9_u32.to_le_bytes(), &[5; 16]].concat();
    let told = Some((9, Token([5; 16])));
    assert_eq!(Control::decode(&long), Some(Control::Challenge { token: 7, reset: told }));
    let others = (0..=long.len() + 1).filter(|len| ![short.len(), long.len()].contains(len));
    for len in others {
        let text: Vec<_> = long.iter().copied().chain([0]).take(len).collect();
        assert_eq!(Control::decode(&text), None, "{len} bytes");
    }

    let mut pair = pair(&Config::default());
    let (_, b) = pair.connect();
    let challenge = Control::Challenge { token: 7, reset: None };
    pair.b.control(b.place, pair.now, address(1), challenge);
    let mut challenge = pair.b.poll_transmit().unwrap();
    assert_eq!(challenge.packet.len(), short.len() + OVERHEAD_BYTES);
    assert_eq!(pair.a.handle(pair.now, address(2), &mut challenge.packet), Received::Done);
    assert!(pair.a.poll_transmit().is_some(), "it is answered");
}

/// [UDP-40] [UDP-50]: what was asked for where the peer was is asked for where it is.
#[test]
fn a_renewal_follows_a_node_that_moves() {
    let mut pair = pair(&Config::default());
    let (a, b) = pair.connect();
    pair.b.rekey(pair.now, b).unwrap();
    while let Some(lost) = pair.b.poll_transmit() {
        assert_eq!(lost.to, address(1));
    }
    let mut moved = sealed(&mut pair.a, pair.now, a, 0, b"from a new place").unwrap().packet;
    pair.b.handle(pair.now, address(77), &mut moved);
    let mut challenge = pair.b.poll_transmit().unwrap();
    pair.a.handle(pair.now, address(2), &mut challenge.packet);
    let mut response = pair.a.poll_transmit().unwrap();
    pair.b.handle(pair.now, address(77), &mut response.packet);
    pair.b.handle_timeout(pair.now);
    let mut asked = pair.b.poll_transmit().unwrap();
    assert_eq!(asked.to, address(77));
    pair.a.handle(pair.now, address(2), &mut asked.packet);
    let mut answer = pair.a.poll_transmit().unwrap();
    pair.b.handle(pair.now, address(77), &mut answer.packet);
    assert!(events(&mut pair.b).contains(&Event::Rekeyed { association: b }));
}

/// [UDP-52]: not before the packet is found authentic, and also after a move.
#[test]
fn what_is_said_leaves_from_where_it_was_spoken_to() {
    let mut pair = pair(&Config::default());
    let (a, b) = pair.connect();
    let [one, other] = ["198.51.100.1", "198.51.100.2"].map(|ip| Some(ip.parse().unwrap()));
    let spoken = |pair: &mut Pair, number, from: SocketAddr, at| {
        let mut packet = sealed(&mut pair.a, pair.now, a, number, b"x").unwrap().packet;
        let mut forged = packet.clone();
        forged[20] ^= 1;
        let elsewhere = Arrival { at: Some([192, 0, 2, 99].into()), ..from.into() };
        pair.b.handle(pair.now, elsewhere, &mut forged);
        pair.b.handle(pair.now, Arrival { at, ..from.into() }, &mut packet);
        sealed(&mut pair.b, pair.now, b, number, b"y").unwrap().source
    };
    assert_eq!(spoken(&mut pair, 0, address(1), one), one);
    assert_eq!(spoken(&mut pair, 1, address(1), other), other);
    assert_eq!(spoken(&mut pair, 2, address(1), None), other, "it does not say");
    assert_eq!(spoken(&mut pair, 3, address(77), one), other, "the place is not proved");
    let mut challenge = pair.b.poll_transmit().unwrap();
    assert_eq!((challenge.to, challenge.source), (address(77), one));
    pair.a.handle(pair.now, address(2), &mut challenge.packet);
    let mut response = pair.a.poll_transmit().unwrap().packet;
    pair.b.handle(pair.now, Arrival { at: one, ..address(77).into() }, &mut response);
    assert_eq!(sealed(&mut pair.b, pair.now, b, 4, b"y").unwrap().source, one);

    pair.a.connect(pair.now, &pair.b.public(), address(2)).unwrap();
    let mut init = std::iter::from_fn(|| pair.a.poll_transmit()).last().unwrap().packet;
    while pair.b.poll_transmit().is_some() {}
    pair.b.handle(pair.now, Arrival { at: one, ..address(1).into() }, &mut init);
    let answer = pair.b.poll_transmit().unwrap();
    assert_eq!((answer.to, answer.source), (address(1), one));
    pair.b.rekey(pair.now, b).unwrap();
    let asked = pair.b.poll_transmit().unwrap();
    assert_eq!((asked.to, asked.source), (address(77), one));
}

#[test]
fn a_delayed_packet_moves_nobody() {
    let mut pair = pair(&Config::default());
    let (a, b) = pair.connect();
    let mut early = sealed(&mut pair.a, pair.now, a, 0, b"early").unwrap().packet;
    let mut newest = sealed(&mut pair.a, pair.now, a, 1, b"newest").unwrap().packet;
    pair.b.handle(pair.now, address(1), &mut newest);
    assert!(matches!(pair.b.handle(pair.now, address(77), &mut early), Received::Text { .. }));
    assert_eq!(pair.b.poll_transmit(), None);
    assert_eq!(sealed(&mut pair.b, pair.now, b, 0, b"x").unwrap().to, address(1));
}
