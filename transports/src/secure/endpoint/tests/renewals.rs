//! Keys of associations that are renewed while others ask, or while nothing gets through.

use super::*;
use crate::secure::limit::Rate;

/// A first message of another node, later than those of its earlier lives.
fn stranger(life: u64, to: PublicKey) -> Vec<u8> {
    let mut stranger = node(3, life, Config::default());
    stranger.connect(ms(1), &to, address(2)).unwrap();
    stranger.poll_transmit().unwrap().packet
}

/// [UDP-28]: behind the address of a peer, and with its port written on them.
#[test]
fn what_others_ask_for_uses_up_no_renewals() {
    for port in [7001, 7000] {
        let mut pair = pair(&Config { source_rate: Rate::per_second(1, 3), ..Config::default() });
        let (a, _) = pair.connect();
        let (from, to) = (SocketAddr::new(address(1).ip(), port), pair.b.public());
        for life in 0..6 {
            pair.b.handle(pair.now, from, &mut stranger(life, to));
        }
        let refused = pair.b.audit.rejected(Reject::Cookie);
        assert!(refused > 0, "no more from there without a cookie");
        while pair.b.poll_transmit().is_some() {}
        events(&mut pair.a);
        pair.a.rekey(pair.now, a).unwrap();
        pair.settle();
        assert_eq!(events(&mut pair.a), [Event::Rekeyed { association: a }], "{port}");
        let with_a_cookie = u64::from(from == address(1));
        assert_eq!(pair.b.audit.rejected(Reject::Cookie), refused + with_a_cookie);
    }
}

/// [UDP-28]: what a life of a peer has used up, the next one has not.
#[test]
fn another_life_may_ask_for_no_more() {
    let mut pair = pair(&Config::default());
    pair.connect();
    let to = pair.b.public();
    let asks = |pair: &mut Pair, life| {
        let before = pair.b.audit.rejected(Reject::Cookie);
        pair.b.handle(pair.now, address(1), &mut stranger(life, to));
        while pair.b.poll_transmit().is_some() {}
        pair.b.audit.rejected(Reject::Cookie) == before
    };
    let taken = (0..8).filter(|life| asks(&mut pair, *life)).count();
    assert_eq!(taken, 5);
    let up_before = pair.b.associations.len();
    pair.a = node(1, 1, Config::default());
    pair.connect();
    assert_eq!(pair.b.associations.len(), up_before);
    assert!(!asks(&mut pair, 8), "as before");
    pair.now = pair.now + Duration::from_secs(1);
    assert!(asks(&mut pair, 9) && !asks(&mut pair, 10), "one a second");
}

/// [UDP-28]: a recorded first message of the peer's, with a cookie, takes nothing from it.
#[test]
fn who_repeats_what_a_peer_asked_uses_up_no_renewals() {
    let mut pair = pair(&Config { load_rate: Rate::per_second(0, 0), ..Config::default() });
    let (a, _) = pair.connect();
    events(&mut pair.a);
    for round in 0..3 {
        pair.a.rekey(pair.now, a).unwrap();
        let mut asked = Vec::new();
        while asked.len() < 3 {
            let Some(sent) = pair.a.poll_transmit() else { break };
            pair.b.handle(pair.now, address(1), &mut sent.packet.clone());
            asked.push(sent.packet);
            while let Some(mut answer) = pair.b.poll_transmit() {
                pair.a.handle(pair.now, address(2), &mut answer.packet);
            }
        }
        assert_eq!(events(&mut pair.a), [Event::Rekeyed { association: a }], "{round}");
        pair.settle();
        for _ in 0..20 {
            for repeated in &asked {
                let received = pair.b.handle(pair.now, address(1), &mut repeated.clone());
                assert!(matches!(received, Received::Dropped(_)));
            }
            while pair.b.poll_transmit().is_some() {}
        }
        assert_eq!(pair.b.audit.rejected(Reject::Rate), 0);
    }
}

/// [UDP-44] [UDP-41]: nothing gets through when one has new keys and the other has not heard of it yet.
#[test]
fn a_renewal_that_is_cut_off_ends_nothing() {
    let mut pair = pair(&Config::default());
    let (a, b) = pair.connect();
    pair.a.rekey(pair.now, a).unwrap();
    let mut asked = pair.a.poll_transmit().unwrap().packet;
    pair.b.handle(pair.now, address(1), &mut asked);
    let mut answered = pair.b.poll_transmit().unwrap().packet;
    pair.a.handle(pair.now, address(2), &mut answered);
    for _ in 0..30 {
        pair.now = pair.now + Duration::from_secs(1);
        for node in [&mut pair.a, &mut pair.b] {
            node.handle_timeout(pair.now);
            while node.poll_transmit().is_some() {}
        }
    }
    assert_eq!(events(&mut pair.a), [Event::Rekeyed { association: a }]);
    let mut old = sealed(&mut pair.b, pair.now, b, 0, b"under the old").unwrap().packet;
    let received = pair.a.handle(pair.now, address(2), &mut old);
    assert_eq!(text(&received, &old).unwrap(), b"under the old");
    // [UDP-50]: also of one that is elsewhere by now.
    let mut moved = sealed(&mut pair.b, pair.now, b, 1, b"from elsewhere").unwrap().packet;
    pair.a.handle(pair.now, address(77), &mut moved);
    assert_eq!(pair.a.poll_transmit().unwrap().to, address(77), "it is asked for a proof");
    let mut new = sealed(&mut pair.a, pair.now, a, 0, b"under the new").unwrap().packet;
    let received = pair.b.handle(pair.now, address(1), &mut new);
    assert_eq!(text(&received, &new).unwrap(), b"under the new");
    assert_eq!(events(&mut pair.b), [Event::Rekeyed { association: b }]);
    let mut late = sealed(&mut pair.b, pair.now, b, 2, b"once more").unwrap().packet;
    let received = pair.a.handle(pair.now, address(2), &mut late);
    assert_eq!(text(&received, &late).unwrap(), b"once more");
    assert_eq!((pair.a.indices.len(), pair.b.indices.len()), (2, 2));
    pair.pass(pair.now + Duration::from_secs(5));
    assert_eq!(
        (pair.a.indices.len(), pair.b.indices.len()),
        (1, 1),
        "wiped when they are of no use"
    );
}

/// [UDP-62]: a reset from where a first message went that was repeated there.
#[test]
fn who_was_found_elsewhere_is_told_a_token_for_there() {
    for elsewhere in [address(66), SocketAddr::new(address(2).ip(), 5555)] {
        is_told_a_token_for(elsewhere);
    }
}

fn is_told_a_token_for(elsewhere: SocketAddr) {
    let mut pair = pair(&Config::default());
    assert!(pair.a.public() < pair.b.public(), "the handshake of a goes on where two cross");
    pair.b.connect(pair.now, &pair.a.public(), address(1)).unwrap();
    let mut crossing = pair.b.poll_transmit().unwrap().packet;
    pair.a.connect(pair.now, &pair.b.public(), address(2)).unwrap();
    pair.a.poll_transmit().expect("nobody is there to get it");
    pair.a.handle(pair.now, elsewhere, &mut crossing);
    for _ in 0..8 {
        while let Some(mut sent) = pair.a.poll_transmit() {
            if sent.to == elsewhere {
                pair.b.handle(pair.now, address(1), &mut sent.packet);
            }
        }
        while let Some(mut sent) = pair.b.poll_transmit() {
            pair.a.handle(pair.now, elsewhere, &mut sent.packet);
        }
        pair.a.handle_timeout(pair.now);
    }
    let b = up(&mut pair.b).unwrap();
    let a = up(&mut pair.a).unwrap();
    let moved = Event::Moved { association: a, address: elsewhere };
    assert_eq!(events(&mut pair.a), [moved], "it has proved to be there");
    forgets(pair, elsewhere, b);
}

/// [UDP-62]: a reset from where the peer is, which was asked at another address of it.
#[test]
fn who_was_asked_elsewhere_is_told_a_token_for_where_it_is() {
    let mut pair = pair(&Config::default());
    let (a, b) = pair.connect();
    pair.a.connect(pair.now, &pair.b.public(), address(77)).unwrap();
    pair.settle();
    pair.pass(pair.now + Duration::from_millis(1));
    let rekeyed = Event::Rekeyed { association: a };
    assert_eq!(events(&mut pair.a), [rekeyed, rekeyed], "for the token");
    forgets(pair, address(2), b);
}

/// `a` forgets `b`, which sends from there, and `b` believes that.
fn forgets(mut pair: Pair, elsewhere: SocketAddr, b: AssociationId) {
    events(&mut pair.b);
    pair.a = node(1, 1, Config::default());
    let mut text = sealed(&mut pair.b, pair.now, b, 0, b"?").unwrap().packet;
    pair.a.handle(pair.now, elsewhere, &mut text);
    let mut reset = pair.a.poll_transmit().unwrap().packet;
    assert_eq!(pair.b.handle(pair.now, address(1), &mut reset), Received::Done);
    let peer = pair.a.public();
    assert_eq!(events(&mut pair.b), [Event::Down { association: b, peer, why: Ended::Reset }]);
}

/// [UDP-48]: what the peer has asked in this life, and nobody has seen, is played while its keys are renewed.
#[test]
fn an_old_first_message_ends_no_renewal() {
    let mut pair = pair(&Config::default());
    assert!(pair.a.public() < pair.b.public(), "the handshake of a goes on where two cross");
    pair.b.connect(pair.now, &pair.a.public(), address(1)).unwrap();
    pair.settle();
    let (a, b) = (up(&mut pair.a).unwrap(), up(&mut pair.b).unwrap());
    pair.a.rekey(pair.now, a).unwrap();
    let mut recorded = pair.a.poll_transmit().unwrap().packet;
    let of_b = pair.a.peers.place(&pair.b.public()).unwrap();
    pair.a.give_up(of_b);
    pair.pass(pair.now + Config::default().rekey_after - Duration::from_secs(1));
    pair.now = pair.now + Duration::from_secs(1);
    pair.b.handle_timeout(pair.now);
    pair.b.poll_transmit().expect("what it asks, which is lost");
    assert_eq!(pair.b.handle(pair.now, address(66), &mut recorded), Received::Done);
    pair.pass(pair.now + Config::default().reject_after - Config::default().rekey_after);
    assert_eq!(events(&mut pair.b), [Event::Rekeyed { association: b }]);
    assert_eq!(events(&mut pair.a), [Event::Rekeyed { association: a }]);
}

/// [UDP-44]: keys that were asked for, and whose answer was lost, before those that are used.
#[test]
fn keys_that_nobody_used_go_with_the_former_ones() {
    let mut pair = pair(&Config::default());
    let (a, b) = pair.connect();
    events(&mut pair.a);
    pair.b.rekey(pair.now, b).unwrap();
    let mut asked = pair.b.poll_transmit().unwrap().packet;
    pair.a.handle(pair.now, address(2), &mut asked);
    pair.a.poll_transmit().expect("the answer, which is lost");
    pair.a.rekey(pair.now, a).unwrap();
    pair.settle();
    assert_eq!(events(&mut pair.a), [Event::Rekeyed { association: a }]);
    assert_eq!((pair.a.indices.len(), pair.b.indices.len()), (3, 2));
    pair.pass(pair.now + Config::default().linger);
    assert_eq!((pair.a.indices.len(), pair.b.indices.len()), (1, 1));
}

/// [UDP-44]: keys that were asked for before those that are used, and under which something comes at last.
#[test]
fn what_comes_late_under_unused_keys_keeps_them_no_longer() {
    let mut pair = pair(&Config::default());
    let (a, b) = pair.connect();
    pair.b.rekey(pair.now, b).unwrap();
    let mut asked = pair.b.poll_transmit().unwrap().packet;
    pair.a.handle(pair.now, address(2), &mut asked);
    pair.a.rekey(pair.now, a).unwrap();
    let mut answered = pair.a.poll_transmit().unwrap().packet;
    pair.b.handle(pair.now, address(1), &mut answered);
    let mut late = pair.b.poll_transmit().unwrap().packet;
    pair.settle();
    let linger = Config::default().linger;
    pair.pass(pair.now + linger.mul_f32(0.9));
    assert_eq!(pair.a.handle(pair.now, address(2), &mut late), Received::Done);
    pair.pass(pair.now + linger.mul_f32(0.2));
    assert_eq!((pair.a.indices.len(), pair.b.indices.len()), (1, 1));
}

/// [UDP-40] [UDP-47]: the owner asks while nothing has come under the keys, and later ones are confirmed first.
#[test]
fn a_renewal_that_was_put_off_is_not_forgotten() {
    let mut pair = pair(&Config::default());
    let (a, b) = pair.connect();
    let answer = |pair: &mut Pair, of_a: bool| {
        let (asker, other) = match of_a {
            true => (&mut pair.a, &mut pair.b),
            false => (&mut pair.b, &mut pair.a),
        };
        let (here, there) = (address(2 - u8::from(of_a)), address(1 + u8::from(of_a)));
        let mut asked = asker.poll_transmit().unwrap().packet;
        other.handle(pair.now, here, &mut asked);
        let mut answered = other.poll_transmit().unwrap().packet;
        asker.handle(pair.now, there, &mut answered);
        asker.poll_transmit().unwrap().packet
    };
    pair.a.rekey(pair.now, a).unwrap();
    answer(&mut pair, true); // What would confirm it is lost.
    pair.b.rekey(pair.now, b).unwrap();
    let mut confirms = answer(&mut pair, false);
    events(&mut pair.a);
    pair.a.rekey(pair.now, a).unwrap();
    assert_eq!(pair.a.poll_transmit(), None, "it is put off");
    pair.a.handle(pair.now, address(2), &mut confirms);
    assert_eq!(events(&mut pair.a), [Event::Rekeyed { association: a }]);
    pair.pass(pair.now + Duration::from_millis(1));
    assert_eq!(events(&mut pair.a), [Event::Rekeyed { association: a }]);
}

/// [UDP-48]: whether both have asked or one alone, and with more that is said before the new keys are heard.
#[test]
fn two_that_wear_their_keys_out_at_once_renew_them_once() {
    for both_ask in [true, false] {
        let mut pair = pair(&Config { rekey_packets: 5, ..Config::default() });
        let (a, b) = pair.connect();
        for number in 0..5 {
            sealed(&mut pair.a, pair.now, a, number, b"x").unwrap();
            sealed(&mut pair.b, pair.now, b, number, b"x").unwrap();
        }
        events(&mut pair.a);
        pair.a.handle_timeout(pair.now);
        if both_ask {
            pair.b.handle_timeout(pair.now);
        }
        let mut asked = pair.a.poll_transmit().unwrap().packet;
        pair.b.handle(pair.now, address(1), &mut asked);
        for number in 5..9 {
            pair.b.handle_timeout(pair.now);
            sealed(&mut pair.b, pair.now, b, number, b"x").unwrap();
        }
        pair.settle();
        pair.pass(pair.now + Config::default().confirm_within);
        assert_eq!(events(&mut pair.a), [Event::Rekeyed { association: a }], "{both_ask}");
        assert_eq!(events(&mut pair.b), [Event::Rekeyed { association: b }], "{both_ask}");
    }
}

/// [UDP-48]: over a way so long that the answer is still under way then.
#[test]
fn who_was_asked_just_before_its_keys_are_old_does_not_ask() {
    let mut pair = pair(&Config::default());
    let (a, b) = pair.connect();
    pair.pass(pair.now + Config::default().rekey_after - Duration::from_millis(20));
    pair.b.rekey(pair.now, b).unwrap();
    let mut asked = pair.b.poll_transmit().unwrap().packet;
    pair.a.handle(pair.now, address(2), &mut asked);
    let mut answer = pair.a.poll_transmit().unwrap().packet;
    let later = pair.now + Duration::from_secs(5);
    while pair.now < later {
        pair.now = pair.a.poll_timeout().unwrap().min(later);
        pair.a.handle_timeout(pair.now);
        assert_eq!(pair.a.poll_transmit(), None, "it has been asked");
    }
    pair.b.handle(pair.now, address(1), &mut answer);
    pair.settle();
    pair.pass(pair.now + Config::default().confirm_within);
    assert_eq!(events(&mut pair.a), [Event::Rekeyed { association: a }]);
    assert_eq!(events(&mut pair.b), [Event::Rekeyed { association: b }]);
}

/// [UDP-48]: what would confirm them is lost, and the one that has asked is gone.
#[test]
fn keys_that_nobody_confirms_are_not_awaited_for_ever() {
    let mut pair = pair(&Config { rekey_packets: 5, ..Config::default() });
    let (a, b) = pair.connect();
    pair.a.rekey(pair.now, a).unwrap();
    let mut asked = pair.a.poll_transmit().unwrap().packet;
    pair.b.handle(pair.now, address(1), &mut asked);
    pair.b.poll_transmit().expect("the answer, which is lost");
    for number in 0..5 {
        sealed(&mut pair.b, pair.now, b, number, b"x").unwrap();
    }
    let until = pair.now + Config::default().confirm_within;
    while pair.now < until {
        assert_eq!(pair.b.poll_transmit(), None);
        pair.now = pair.b.poll_timeout().unwrap().min(until);
        pair.b.handle_timeout(pair.now);
    }
    assert!(pair.b.poll_transmit().is_some(), "it asks itself");
}

/// [UDP-40]: also the one that has answered, which asks once.
#[test]
fn who_alone_sends_renews_what_it_wears_out() {
    let mut pair = pair(&Config { rekey_packets: 5, ..Config::default() });
    let (_, b) = pair.connect();
    for number in 0..5 {
        sealed(&mut pair.b, pair.now, b, number, b"x").unwrap();
    }
    pair.b.handle_timeout(pair.now);
    let due = pair.b.poll_timeout().unwrap();
    assert!(due > pair.now);
    for number in 5..9 {
        sealed(&mut pair.b, pair.now, b, number, b"x").unwrap();
    }
    assert_eq!(pair.b.poll_timeout(), Some(due), "it has asked");
    pair.settle();
    assert_eq!(events(&mut pair.b), [Event::Rekeyed { association: b }]);
}
