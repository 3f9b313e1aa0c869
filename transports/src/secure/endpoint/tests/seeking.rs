//! Where a node is asked that has several addresses, and when.

use super::*;
use crate::secure::hello::Tai64n;
use crate::secure::limit::Rate;
use crate::secure::wire::HandshakeHeader;

/// A node whose clock was set back since the other one heard of it, and that one.
fn set_back() -> Pair {
    let mut pair = pair(&Config::default());
    pair.connect();
    let an_hour_ago = Duration::from_secs(1_700_000_000 - 3_600);
    let (config, entropy) = (Config::default(), Box::new(Seeded(77)));
    pair.a = Endpoint::new(config, identity(1), Some(cluster()), an_hour_ago, entropy).unwrap();
    pair.a.allow(pair.b.public());
    pair
}

/// [UDP-27]: the other addresses are not asked first.
#[test]
fn who_tells_the_time_is_asked_next() {
    let mut pair = set_back();
    let others = [address(77), address(78)];
    pair.a.connect_among(pair.now, &pair.b.public(), address(2), &others).unwrap();
    pair.settle();
    assert_eq!(up(&mut pair.a), None);
    pair.now = pair.now + Config::default().retry_first;
    pair.a.handle_timeout(pair.now);
    assert_eq!(pair.a.poll_transmit().unwrap().to, address(2));
}

/// [UDP-27]: there is none after it.
#[test]
fn a_time_that_never_comes_is_not_believed() {
    let mut pair = set_back();
    let of_a = pair.b.peers.place(&pair.a.public()).unwrap();
    pair.b.peers.at_mut(of_a).newest = Tai64n([0xFF; 12]);
    pair.a.connect(pair.now, &pair.b.public(), address(2)).unwrap();
    pair.settle();
    assert_eq!(pair.b.audit.rejected(Reject::Stale), 1);
    assert_eq!(pair.a.audit.rejected(Reject::Handshake), 1);
    let of_b = pair.a.peers.place(&pair.b.public()).unwrap();
    assert!(!pair.a.peers.at(of_b).told.is_reserved());
}

/// [UDP-21]: each cookie is one for another port than that from which it is then used.
#[test]
fn who_gives_cookies_without_end_is_given_up() {
    let loaded = Config { load_rate: Rate::per_second(0, 0), ..Config::default() };
    for is_known in [true, false] {
        let mut pair = pair(&loaded);
        let (peer, at) = (pair.b.public(), address(2));
        match is_known {
            true => pair.a.connect(pair.now, &peer, at).unwrap(),
            false => pair.a.meet(pair.now, at).unwrap(),
        }
        let mut asked = 0;
        loop {
            while let Some(mut sent) = pair.a.poll_transmit() {
                asked += 1;
                assert!(asked < 60, "it is asked without end");
                let from = SocketAddr::new(address(1).ip(), 7000 + asked);
                pair.b.handle(pair.now, from, &mut sent.packet);
                while let Some(mut cookie) = pair.b.poll_transmit() {
                    pair.a.handle(pair.now, at, &mut cookie.packet);
                }
            }
            let Some(due) = pair.a.poll_timeout() else { break };
            pair.now = due;
            pair.a.handle_timeout(due);
        }
        let told = match is_known {
            true => Event::Unreachable { peer },
            false => Event::Nobody { address: at },
        };
        assert_eq!(events(&mut pair.a), [told]);
    }
}

/// [UDP-21]: by one that reads what is asked, and is heard before every answer.
#[test]
fn a_forged_cookie_for_each_turn_keeps_nobody_from_connecting() {
    for (load_rate, turns) in [(Config::default().load_rate, 1), (Rate::per_second(0, 0), 2)] {
        let mut pair = pair(&Config { load_rate, ..Config::default() });
        let peer = pair.b.public();
        pair.a.connect(pair.now, &peer, address(2)).unwrap();
        for turn in 1..=turns {
            let mut asked = pair.a.poll_transmit().unwrap().packet;
            let (header, _) = HandshakeHeader::decode(Kind::Init, &asked).unwrap();
            let codes = Codes::of(&peer);
            let mut forged =
                codes.reply(&[turn; 16], &asked, header.sender, &mut Seeded(9)).unwrap();
            assert_eq!(pair.a.handle(pair.now, address(2), &mut forged), Received::Done);
            pair.b.handle(pair.now, address(1), &mut asked);
            pair.settle();
            assert_eq!(up(&mut pair.a).is_some(), turn == turns, "{turn}");
            pair.now = pair.a.poll_timeout().unwrap();
            pair.a.handle_timeout(pair.now);
        }
        assert!(up(&mut pair.b).is_some());
    }
}

/// [UDP-29]: by one that reads what is asked, and is heard before and after every answer.
#[test]
fn forged_cookies_around_the_true_one_keep_nobody_from_connecting() {
    let loaded = Config { load_rate: Rate::per_second(0, 0), ..Config::default() };
    for (before, after) in [(1, 1), (2, 2), (0, 3), (3, 0)] {
        let mut pair = pair(&loaded);
        let (peer, mut random) = (pair.b.public(), Seeded(9));
        pair.a.connect(pair.now, &peer, address(2)).unwrap();
        while up(&mut pair.a).is_none() {
            while let Some(asked) = pair.a.poll_transmit().map(|sent| sent.packet) {
                let (header, _) = HandshakeHeader::decode(Kind::Init, &asked).unwrap();
                let mut forge = |a: &mut Endpoint, count| {
                    for _ in 0..count {
                        let cookie = [random.next() as u8; 16];
                        let codes = Codes::of(&peer);
                        let reply = codes.reply(&cookie, &asked, header.sender, &mut random);
                        a.handle(pair.now, address(2), &mut reply.unwrap());
                    }
                };
                forge(&mut pair.a, before);
                pair.b.handle(pair.now, address(1), &mut asked.clone());
                let answer = pair.b.poll_transmit();
                if let Some(mut answer) = answer {
                    pair.a.handle(pair.now, address(2), &mut answer.packet);
                }
                if pair.a.associations.len() > 0 {
                    break;
                }
                forge(&mut pair.a, after);
            }
            pair.now = pair.a.poll_timeout().expect("it goes on asking");
            pair.a.handle_timeout(pair.now);
        }
    }
}

/// [UDP-25]: what a peer has asked long ago is repeated to a node that remembers nothing, while it asks itself.
#[test]
fn an_old_first_message_keeps_nobody_from_connecting() {
    let mut pair = pair(&Config::default());
    assert!(pair.a.public() < pair.b.public(), "the handshake of a goes on where two cross");
    pair.a.connect(pair.now, &pair.b.public(), address(2)).unwrap();
    let mut old = pair.a.poll_transmit().unwrap().packet;
    pair.b.handle(pair.now, address(1), &mut old.clone());
    (pair.a, pair.b) = (node(1, 1, Config::default()), node(2, 1, Config::default()));
    pair.b.connect(pair.now, &pair.a.public(), address(1)).unwrap();
    assert_eq!(pair.b.handle(pair.now, address(66), &mut old), Received::Done);
    pair.settle();
    assert_eq!(up(&mut pair.b), None, "what it asked itself is given up");
    pair.pass(pair.now + Config::default().retry_first);
    assert!(up(&mut pair.a).is_some() && up(&mut pair.b).is_some());
    pair.pass(pair.now + Config::default().confirm_within);
    assert_eq!((events(&mut pair.a), events(&mut pair.b)), (vec![], vec![]));
    assert_eq!((pair.a.indices.len(), pair.b.indices.len()), (1, 1));
}

/// [UDP-25]: what a peer has asked, and nobody has seen, crosses what it is asked, from elsewhere.
#[test]
fn what_crosses_a_handshake_leaves_it_where_it_is() {
    let many = Config { source_rate: Rate::per_second(100, 100), ..Config::default() };
    let (mut pair, elsewhere) = (pair(&many), address(66));
    let mut recorded = [11, 12].map(|port| {
        let at = SocketAddr::new(address(1).ip(), port);
        pair.b.connect(pair.now, &pair.a.public(), at).unwrap();
        pair.b.poll_transmit().unwrap().packet
    });
    pair.b = node(2, 1, Config::default());
    pair.a.connect(pair.now, &pair.b.public(), address(2)).unwrap();
    for expected in [1, 0] {
        let asked = pair.a.poll_transmit().unwrap();
        assert_eq!(asked.to, address(2));
        pair.now = pair.now + Duration::from_millis(100);
        let mut called_forth = Vec::new();
        for _ in 0..3 {
            for packet in &mut recorded {
                let received = pair.a.handle(pair.now, elsewhere, packet);
                assert_eq!(received, Received::Dropped(Reject::Crossed));
            }
            called_forth.extend(std::iter::from_fn(|| pair.a.poll_transmit()));
        }
        let same = Transmit { to: elsewhere, ..asked };
        assert_eq!(called_forth, vec![same; expected]);
        pair.now = pair.a.poll_timeout().unwrap();
        pair.a.handle_timeout(pair.now);
    }
    pair.settle();
    assert!(up(&mut pair.a).is_some() && up(&mut pair.b).is_some());
}

/// [UDP-25]: as long after it began as if it had not given way.
#[test]
fn who_gave_way_to_one_that_died_gives_up() {
    let mut pair = pair(&Config::default());
    pair.a.connect(pair.now, &pair.b.public(), address(2)).unwrap();
    pair.b.connect(pair.now, &pair.a.public(), address(1)).unwrap();
    let mut asked = pair.a.poll_transmit().unwrap().packet;
    assert_eq!(pair.b.handle(pair.now, address(1), &mut asked), Received::Done);
    let mut last = pair.now;
    while let Some(due) = pair.b.poll_timeout() {
        last = due;
        pair.b.handle_timeout(due);
    }
    assert_eq!(events(&mut pair.b), [Event::Unreachable { peer: pair.a.public() }]);
    let config = Config::default();
    let within = config.give_up_after + config.retry_max;
    assert!(last.since(pair.now) <= within);
    assert_eq!(pair.b.indices.len(), 0);
}

/// [UDP-73]: pauses grow when all were asked, and nothing is left of it at the end.
#[test]
fn many_addresses_are_all_asked_soon() {
    let (mut a, b) = (node(1, 0, Config::default()), identity(2).public());
    let places: Vec<_> = (70..90).map(address).collect();
    a.connect_among(ms(0), &b, places[0], &places[1..]).unwrap();
    let (mut asked, mut now) = (Vec::new(), ms(0));
    while let Some(due) = a.poll_timeout() {
        asked.extend(std::iter::from_fn(|| a.poll_transmit()).map(|sent| (now, sent.to)));
        now = due;
        a.handle_timeout(now);
    }
    assert_eq!(events(&mut a), [Event::Unreachable { peer: b }]);
    let order: Vec<_> = asked.iter().map(|(_, to)| *to).collect();
    assert!(order.chunks(20).all(|round| places.starts_with(round)), "{order:?}");
    assert_eq!(asked[19].0, ms(19 * 250));
    assert_eq!(asked[21].0, ms(20 * 250 + 500));
    let place = a.peers.place(&b).unwrap();
    assert!(a.peers.at(place).places.is_empty());
    a.connect_among(now, &b, places[0], &places[1..]).unwrap();
    a.forbid(now, &b);
    assert!(a.peers.at(place).places.is_empty());
}
