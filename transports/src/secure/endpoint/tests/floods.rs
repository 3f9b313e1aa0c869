//! Packets without end, from nobody, from one source, and in the name of another: what they cost is bounded, and who is
//! honest gets in.

use super::hostile::{asked_for_cookie, open_config};
use super::*;
use crate::secure::limit::Rate;
use crate::secure::wire::Suite;

/// [UDP-21] [UDP-22]
#[test]
fn under_load_a_cookie_is_asked_for_and_taken() {
    let (mut pair, mut cookie) = asked_for_cookie();
    assert_eq!((pair.b.indices.len(), pair.b.associations.len()), (0, 0), "nothing is kept");
    assert_eq!(pair.a.handle(pair.now, address(2), &mut cookie), Received::Done);
    let mut init = pair.a.poll_transmit().unwrap().packet;
    let stolen = pair.b.handle(pair.now, address(66), &mut init.clone());
    assert_eq!(stolen, Received::Dropped(Reject::Mac2), "a cookie is good for its address alone");
    while pair.b.poll_transmit().is_some() {}
    assert_eq!(pair.b.handle(pair.now, address(1), &mut init), Received::Done);
    let mut resp = pair.b.poll_transmit().unwrap().packet;
    pair.a.handle(pair.now, address(2), &mut resp);
    pair.settle();
    assert!(up(&mut pair.a).is_some() && up(&mut pair.b).is_some());
}

/// [UDP-21]
#[test]
fn cookies_are_asked_for_until_the_load_is_over_for_a_while() {
    let config = Config { load_rate: Rate::per_second(10, 1), ..open_config() };
    let (mut asker, mut asked) = (node(3, 0, config.clone()), node(2, 0, config.clone()));
    let (target, mut port) = (asked.public(), 0);
    let mut is_asked_for_cookie = |at: Time| {
        asker.ask_for_test(&target, at);
        let mut init = asker.poll_transmit().unwrap().packet;
        port += 1;
        let received = asked.handle(at, SocketAddr::from(([10, 0, 0, port], 5)), &mut init);
        while asked.poll_transmit().is_some() {}
        received == Received::Dropped(Reject::Cookie)
    };
    assert!(!is_asked_for_cookie(ms(1)));
    assert!(is_asked_for_cookie(ms(2)), "one too many");
    let over = ms(2) + config.load_hold;
    assert!(is_asked_for_cookie(ms(500)), "what comes is little now, but for how long?");
    assert!(!is_asked_for_cookie(over));
}

#[test]
fn a_cookie_is_taken_for_its_time_and_no_longer() {
    let (mut pair, mut cookie) = asked_for_cookie();
    pair.a.handle(pair.now, address(2), &mut cookie);
    let init = pair.a.poll_transmit().unwrap().packet;
    let offered = |node: &mut Endpoint, at: Time| {
        let received = node.handle(at, address(1), &mut init.clone());
        while node.poll_transmit().is_some() {}
        received
    };
    let late = pair.now + Duration::from_secs(119);
    assert_eq!(offered(&mut pair.b, late), Received::Done);
    assert_eq!(
        offered(&mut pair.b, late + Duration::from_secs(1)),
        Received::Dropped(Reject::Stale)
    );
    let too_late = late + Duration::from_secs(240);
    assert_eq!(offered(&mut pair.b, too_late), Received::Dropped(Reject::Mac2));
}

/// [UDP-20] [UDP-21]: rows 17 and 18 of the programme: no state, and never more out than in.
#[test]
fn a_flood_of_first_messages_leaves_nothing_behind_and_is_not_amplified() {
    let config =
        Config { load_rate: Rate::per_second(10, 10), suite: Suite::Classic, ..Config::default() };
    let mut pair = pair(&config);
    let (a, b) = pair.connect();
    let kept = (pair.b.indices.len(), pair.b.associations.len());
    let (mut sources, mut flooder) = (Seeded(4), node(3, 0, config));
    let (mut bytes_in, mut bytes_out) = (0, 0);
    let target = pair.b.public();
    for round in 0..3_000_u32 {
        let from = SocketAddr::from((std::net::Ipv4Addr::from(sources.next() as u32), 5));
        flooder.ask_for_test(&target, ms(u64::from(round)));
        let mut packet = flooder.poll_transmit().unwrap().packet;
        if round % 2 == 0 {
            packet[100] ^= 1;
        }
        bytes_in += packet.len();
        pair.b.handle(pair.now, from, &mut packet);
        bytes_out += std::iter::from_fn(|| pair.b.poll_transmit())
            .map(|sent| sent.packet.len())
            .sum::<usize>();
    }
    assert!(bytes_out <= bytes_in, "{bytes_out} out for {bytes_in} in");
    assert!(pair.b.indices.len() <= kept.0 + 1 && pair.b.associations.len() <= kept.1 + 1);
    assert!(
        pair.b.audit.rejected(Reject::Cookie) > 1_400
            && pair.b.audit.rejected(Reject::Mac1) == 1_500
    );
    let mut sent = sealed(&mut pair.a, pair.now, a, 0, b"live").unwrap().packet;
    let received = pair.b.handle(pair.now, address(1), &mut sent);
    assert!(matches!(received, Received::Text { association, .. } if association == b));
    // An honest node gets in through the flood with one round trip more.
    pair.a.close(pair.now, a);
    pair.a.connect(pair.now, &target, address(2)).unwrap();
    assert!(pair.settle() <= 8);
    assert!(up(&mut pair.a).is_some());
}

/// [UDP-26]: what waits while nothing leaves is bounded, counted, and gone when something does.
#[test]
fn answers_that_cannot_leave_make_room_for_newer_ones() {
    let config = Config { transmits_max: 8, suite: Suite::Classic, ..Config::default() };
    let mut pair = pair(&config);
    let (target, mut flooder) = (pair.b.public(), node(3, 0, config));
    for round in 0..40_u8 {
        flooder.ask_for_test(&target, ms(u64::from(round)));
        let mut packet = flooder.poll_transmit().unwrap().packet;
        pair.b.handle(pair.now, address(100 + round), &mut packet);
    }
    assert_eq!(pair.b.audit().unsent(), 32);
    let waiting = std::iter::from_fn(|| pair.b.poll_transmit()).map(|sent| sent.to);
    assert_eq!(waiting.collect::<Vec<_>>(), (132..140).map(address).collect::<Vec<_>>());
    pair.connect();
}

/// [UDP-26]: cookies, resets, told times and proofs, which anybody may call forth without end.
#[test]
fn what_is_called_forth_without_end_drops_no_answer() {
    let config = Config { transmits_max: 8, ..open_config() };
    let mut pair = pair(&config);
    let (target, mut flooder) = (pair.b.public(), node(3, 0, config));
    pair.a.connect(pair.now, &target, address(2)).unwrap();
    let mut asked = pair.a.poll_transmit().unwrap().packet;
    pair.b.handle(pair.now, address(1), &mut asked);
    flooder.ask_for_test(&target, ms(1));
    let mut old = flooder.poll_transmit().unwrap().packet;
    flooder.ask_for_test(&target, ms(2));
    let mut newest = flooder.poll_transmit().unwrap().packet;
    pair.b.handle(pair.now, address(3), &mut newest);
    let b = pair.b.peers.place(&flooder.public()).and_then(|it| pair.b.peers.at(it).newborn);
    let b = b.expect("the flooder is allowed");
    for round in 0..40_u8 {
        let from = address(100 + round);
        let before = pair.b.audit().unsent();
        pair.b.handle(pair.now, from, &mut old);
        let mut unproved = newest.clone();
        *unproved.last_mut().unwrap() ^= 1;
        pair.b.handle(pair.now, from, &mut unproved);
        let junk = DataHeader { lane: 0, index: 7, number: 0 };
        pair.b.handle(pair.now, from, &mut [junk.encode(), [0; 16]].concat());
        let challenge = [&[2][..], &7_u64.to_le_bytes()].concat();
        pair.b.on_control(b, pair.now, from, 0, &challenge).unwrap();
        assert!(round == 0 || pair.b.audit().unsent() == before + 4);
    }
    let waiting: Vec<_> = std::iter::from_fn(|| pair.b.poll_transmit()).collect();
    assert_eq!(waiting.len(), 4);
    let mut answer = waiting.into_iter().find(|sent| sent.to == address(1)).unwrap();
    pair.a.handle(pair.now, address(2), &mut answer.packet);
    assert!(up(&mut pair.a).is_some());
}

/// [UDP-26]: the same from the peer of an association, which gets its answers from where it is.
#[test]
fn what_a_peer_calls_forth_without_end_drops_no_answer() {
    let confirm = vec![0];
    let challenge = [&[2][..], &7_u64.to_le_bytes()].concat();
    for text in [confirm, challenge] {
        let config = Config { transmits_max: 8, ..open_config() };
        let mut pair = pair(&config);
        let (_, b) = pair.connect();
        let mut third = node(3, 0, config);
        third.connect(pair.now, &pair.b.public(), address(2)).unwrap();
        let mut asked = third.poll_transmit().unwrap().packet;
        assert_eq!(pair.b.handle(pair.now, address(3), &mut asked), Received::Done);
        for _ in 0..40 {
            pair.b.on_control(b.place, pair.now, address(1), 0, &text).unwrap();
        }
        assert_eq!(pair.b.audit().unsent(), 37, "{text:?}");
        let waiting: Vec<_> = std::iter::from_fn(|| pair.b.poll_transmit()).collect();
        assert_eq!(waiting.len(), 4);
        let mut answer = waiting.into_iter().find(|sent| sent.to == address(3)).unwrap();
        third.handle(pair.now, address(2), &mut answer.packet);
        assert!(up(&mut third).is_some());
    }
}

/// [UDP-51]
#[test]
fn to_an_address_that_proves_nothing_goes_at_most_thrice_what_came() {
    let mut pair = pair(&open_config());
    let (a, _) = pair.connect();
    let mut packet = sealed(&mut pair.a, pair.now, a, 0, b"").unwrap().packet;
    let bytes_in = packet.len();
    pair.b.handle(pair.now, address(66), &mut packet);
    let mut bytes_out = 0;
    for _ in 0..60 {
        let sent = std::iter::from_fn(|| pair.b.poll_transmit());
        bytes_out +=
            sent.filter(|sent| sent.to == address(66)).map(|sent| sent.packet.len()).sum::<usize>();
        pair.now = pair.now + Duration::from_millis(250);
        pair.b.handle_timeout(pair.now);
    }
    assert!(bytes_out > 0 && bytes_out <= 3 * bytes_in, "{bytes_out} out for {bytes_in} in");
    assert!(
        pair.b.associations.iter().all(|it| it.candidate.is_none() && it.address == address(1))
    );
}

/// Row 19: each table is full at its limit, and then says so.
#[test]
fn full_tables_refuse_and_keep_what_they_have() {
    let config = Config { associations_max: 1, contacts_max: 2, ..open_config() };
    let mut pair = pair(&config);
    let (a, _) = pair.connect();
    let mut third = node(3, 0, config.clone());
    third.connect(pair.now, &pair.b.public(), address(2)).unwrap();
    let mut init = third.poll_transmit().unwrap().packet;
    assert_eq!(pair.b.handle(pair.now, address(3), &mut init), Received::Dropped(Reject::Full));
    pair.a.rekey(pair.now, a).unwrap();
    pair.settle();
    assert!(events(&mut pair.a).iter().any(|event| matches!(event, Event::Rekeyed { .. })));
    for round in 0..3 {
        let mut seeker = node(3, round, config.clone());
        seeker.meet(pair.now, address(2)).unwrap();
        let mut init = seeker.poll_transmit().unwrap().packet;
        while pair.b.poll_transmit().is_some() {}
        let mut received = pair.b.handle(pair.now, address(3), &mut init);
        if received == Received::Dropped(Reject::Cookie) {
            let mut cookie = pair.b.poll_transmit().unwrap().packet;
            seeker.handle(pair.now, address(2), &mut cookie);
            let mut init = seeker.poll_transmit().unwrap().packet;
            received = pair.b.handle(pair.now, address(3), &mut init);
        }
        let expected = if round < 2 { Received::Done } else { Received::Dropped(Reject::Full) };
        assert_eq!(received, expected);
    }
    let waiting = pair.b.indices.len();
    pair.b.handle_timeout(pair.now + Duration::from_secs(11));
    assert_eq!(pair.b.indices.len(), waiting - 3, "two contacts and the keys before");
}

/// [UDP-21]: first for a cookie, then altogether.
#[test]
fn a_source_that_asks_too_often_is_put_off() {
    let mut pair = pair(&Config { suite: Suite::Classic, ..Config::default() });
    let ask = |pair: &mut Pair, count| {
        for _ in 0..count {
            pair.a.ask_for_test(&pair.b.public(), pair.now);
            let mut packet = pair.a.poll_transmit().unwrap().packet;
            pair.b.handle(pair.now, address(1), &mut packet);
        }
        let rejected = |reason| pair.b.audit.rejected(reason);
        (rejected(Reject::Cookie), rejected(Reject::Rate))
    };
    assert_eq!(ask(&mut pair, 50), (45, 0));
    let cookie = std::iter::from_fn(|| pair.b.poll_transmit()).last().unwrap();
    assert_eq!(pair.a.handle(pair.now, address(2), &mut { cookie.packet }), Received::Done);
    pair.a.poll_transmit().unwrap();
    assert_eq!(ask(&mut pair, 50), (45, 45));
}

/// One who writes an honest node's address on what it sends cannot shut that node out.
#[test]
fn a_flood_in_the_name_of_another_does_not_shut_it_out() {
    let mut pair = pair(&Config { suite: Suite::Classic, ..Config::default() });
    let (target, mut flooder) = (pair.b.public(), node(3, 0, Config::default()));
    for round in 0..200_u64 {
        flooder.ask_for_test(&target, ms(1));
        let mut packet = flooder.poll_transmit().unwrap().packet;
        pair.b.handle(pair.now, address(1), &mut packet);
        let junk = DataHeader { lane: 0, index: round as u32, number: 0 };
        let mut junk = [junk.encode(), [0; 16]].concat();
        pair.b.handle(pair.now, address(1), &mut junk);
    }
    while pair.b.poll_transmit().is_some() {}
    pair.a.connect(pair.now, &target, address(2)).unwrap();
    pair.settle();
    assert!(up(&mut pair.a).is_some());
}

impl Endpoint {
    /// Asks anew, whatever is under way.
    fn ask_for_test(&mut self, peer: &PublicKey, now: Time) {
        let place = self.peers.place(peer).unwrap();
        self.ask(place, now, address(2), now, Duration::from_secs(1)).unwrap();
    }
}
