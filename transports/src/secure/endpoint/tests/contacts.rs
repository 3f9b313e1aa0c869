//! First contacts: what others can use up of them, and what they leave behind.

use super::*;
use crate::secure::limit::Rate;
use crate::secure::wire::Suite;

fn open_config() -> Config {
    let rate = Rate::per_second(1_000_000, 1_000_000);
    Config { source_rate: rate, load_rate: rate, suite: Suite::Classic, ..Config::default() }
}

/// What `seeker` asks the node at `address(2)` with.
fn asks(seeker: &mut Endpoint, now: Time) -> Vec<u8> {
    seeker.meet(now, address(2)).unwrap();
    seeker.poll_transmit().unwrap().packet
}

/// Meets `node`, which is at `address(2)`, with a cookie if it asks for one; what became of the last message.
fn meets(seeker: &mut Endpoint, from: SocketAddr, node: &mut Endpoint, now: Time) -> Received {
    let mut packet = asks(seeker, now);
    loop {
        let received = node.handle(now, from, &mut packet);
        let Some(mut answer) = node.poll_transmit() else { return received };
        seeker.handle(now, address(2), &mut answer.packet);
        packet = seeker.poll_transmit().unwrap().packet;
        while seeker.poll_transmit().is_some() {}
    }
}

/// [UDP-74]
#[test]
fn a_first_contact_played_again_takes_one_place() {
    let mut pair = pair(&open_config());
    let mut init = asks(&mut pair.a, pair.now);
    for host in 0..200 {
        let received = pair.b.handle(pair.now, address(host), &mut init.clone());
        assert_eq!(received, Received::Done, "{host}");
        assert_eq!(pair.b.poll_transmit().unwrap().to, address(host));
    }
    assert_eq!(pair.b.indices.len(), 1);
    // Whose it is finds the answer although others played it first.
    pair.b.handle(pair.now, address(1), &mut init);
    pair.settle();
    assert!(events(&mut pair.b).iter().any(|event| matches!(event, Event::Up { .. })));
    let mut third = node(3, 0, open_config());
    assert_eq!(meets(&mut third, address(3), &mut pair.b, pair.now), Received::Done);
}

/// [UDP-74]
#[test]
fn a_cookie_is_asked_for_when_half_of_the_places_are_taken() {
    let config = Config { contacts_max: 4, ..open_config() };
    let mut pair = pair(&config);
    let mut asked = |life, from| {
        let mut seeker = node(3, life, config.clone());
        pair.b.handle(pair.now, from, &mut asks(&mut seeker, pair.now))
    };
    assert_eq!([0, 1].map(|life| asked(life, address(3))), [Received::Done, Received::Done]);
    assert_eq!(asked(2, address(3)), Received::Dropped(Reject::Cookie));
    while pair.b.poll_transmit().is_some() {}
    let mut honest = node(1, 9, config.clone());
    assert_eq!(meets(&mut honest, address(1), &mut pair.b, pair.now), Received::Done);
}

/// [UDP-75]
#[test]
fn nodes_that_were_met_have_a_limit_and_those_that_are_allowed_none() {
    let config = Config { met_max: 2, ..open_config() };
    let mut pair = pair(&config);
    let met = |pair: &mut Pair, host| {
        let mut seeker = node(host, 0, config.clone());
        meets(&mut seeker, address(host), &mut pair.b, pair.now)
    };
    let full = Received::Dropped(Reject::TooManyMet);
    let found = [4, 5, 6, 4, 1, 7, 3].map(|host| met(&mut pair, host));
    let done = Received::Done;
    let expected = [&done, &done, &full, &done, &done, &full, &done].map(Clone::clone);
    assert_eq!(found, expected, "1 and 3 are allowed by the owner, and 4 was met before");
    pair.b.allow(identity(4).public());
    assert_eq!(
        [6, 7].map(|host| met(&mut pair, host)),
        [done, full],
        "4 is one of the owner's by now"
    );
}

/// [UDP-75]: whoever asks for them.
#[test]
fn nodes_that_were_met_have_half_of_the_associations() {
    let config = Config { associations_max: 4, ..open_config() };
    let mut pair = pair(&config);
    let target = pair.b.public();
    let asks = |pair: &mut Pair, host| {
        let mut asking = node(host, 0, config.clone());
        assert_eq!(meets(&mut asking, address(host), &mut pair.b, pair.now), Received::Done);
        let place = asking.peers.place(&target).unwrap();
        asking.ask(place, pair.now, address(2), pair.now, Duration::from_secs(1)).unwrap();
        let mut init = asking.poll_transmit().unwrap().packet;
        let received = pair.b.handle(pair.now, address(host), &mut init);
        while pair.b.poll_transmit().is_some() {}
        received
    };
    let (done, full) = (Received::Done, Received::Dropped(Reject::Full));
    let found = [4, 5, 6, 1].map(|host| asks(&mut pair, host));
    assert_eq!(found, [&done, &done, &full, &done].map(Clone::clone), "1 is the owner's");
    // This node asks, as another one may have told of that one.
    let mut told = node(6, 1, config.clone());
    pair.b.connect(pair.now, &told.public(), address(6)).unwrap();
    let mut answered = |pair: &mut Pair| {
        let mut init = pair.b.poll_transmit().unwrap().packet;
        assert_eq!(told.handle(pair.now, address(2), &mut init), Received::Done);
        let mut answer = told.poll_transmit().unwrap().packet;
        pair.b.handle(pair.now, address(6), &mut answer)
    };
    assert_eq!(answered(&mut pair), full);
    // One of those that were met is the owner's when it asks again.
    pair.b.allow(identity(4).public());
    pair.now = pair.now + config.retry_first;
    pair.b.handle_timeout(pair.now);
    assert_eq!(answered(&mut pair), done);
    assert_eq!(asks(&mut pair, 3), full, "there are four");
}

/// [UDP-75] [UDP-45]: nodes whose keys are as short-lived as they are do not use the places up.
#[test]
fn a_node_that_was_met_makes_room_once_nothing_is_left_of_it() {
    let config = Config { met_max: 2, ..open_config() };
    let mut pair = pair(&config);
    let met = |pair: &mut Pair, host| {
        let mut seeker = node(host, 0, config.clone());
        meets(&mut seeker, address(host), &mut pair.b, pair.now)
    };
    let is_known = |pair: &Pair, host| pair.b.peers.place(&identity(host).public()).is_some();
    let (done, full) = (Received::Done, Received::Dropped(Reject::TooManyMet));
    let start = pair.now;
    let span = config.reject_after;
    let moment = Duration::from_millis(1);
    assert_eq!(met(&mut pair, 4), done);
    pair.a = node(5, 0, config.clone());
    pair.a.meet(pair.now, address(2)).unwrap();
    pair.settle();
    let with_5 = up(&mut pair.b).unwrap();
    pair.pass(start + span - moment);
    assert_eq!(met(&mut pair, 6), full);
    pair.pass(start + span);
    assert_eq!(met(&mut pair, 6), done);
    assert_eq!([4, 5, 6].map(|host| is_known(&pair, host)), [false, true, true]);
    assert_eq!(met(&mut pair, 7), full, "5 is there, and 6 was met just now");
    // What 5 still knows of this node's lives is counted on from there.
    pair.pass(start + 2 * span - moment);
    pair.b.close(pair.now, with_5);
    pair.a = node(5, 1, config.clone());
    pair.pass(start + 2 * span);
    assert_eq!([7, 8].map(|host| met(&mut pair, host)), [done.clone(), full.clone()]);
    assert_eq!([5, 6, 7].map(|host| is_known(&pair, host)), [true, false, true]);
    let lives = |pair: &Pair, host| {
        let place = pair.b.peers.place(&identity(host).public()).unwrap();
        pair.b.peers.at(place).lives
    };
    let known_to_5 = lives(&pair, 5);
    pair.pass(start + 3 * span - moment);
    assert_eq!(met(&mut pair, 8), done);
    assert_eq!(
        (known_to_5, lives(&pair, 8)),
        (1, 1),
        "whoever comes back may still know that life"
    );
    assert_eq!([5, 7, 8].map(|host| is_known(&pair, host)), [false, true, true]);
}

/// [UDP-76]
#[test]
fn who_is_met_again_keeps_its_keys() {
    let mut pair = pair(&open_config());
    pair.connect();
    events(&mut pair.a);
    events(&mut pair.b);
    pair.a.meet(pair.now, address(2)).unwrap();
    pair.settle();
    let peer = pair.b.public();
    let learned = Event::Learned { peer, address: address(2) };
    assert_eq!(events(&mut pair.a), [learned]);
}

/// [UDP-76]
#[test]
fn who_meets_itself_is_told_and_goes_no_further() {
    let mut node = node(1, 0, open_config());
    node.meet(ms(1), address(7)).unwrap();
    while let Some(mut sent) = node.poll_transmit() {
        assert_eq!(sent.to, address(7));
        node.handle(ms(1), address(7), &mut sent.packet);
    }
    assert_eq!(events(&mut node), [Event::Itself { address: address(7) }]);
    assert!(!node.peers.places().any(|place| node.peers.at(place).key == node.public()));
    node.handle_timeout(ms(20_000));
    assert_eq!(node.poll_timeout(), None);
}
