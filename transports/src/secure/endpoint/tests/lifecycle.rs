//! From the first message to the last key, with nothing lost.

use super::*;
use crate::secure::wire::Suite;

fn configs() -> Vec<Config> {
    let suites = [Suite::Classic].into_iter().chain(cfg!(feature = "pq").then_some(Suite::Hybrid));
    suites.map(|suite| Config { suite, ..Config::default() }).collect()
}

/// [UDP-30] [UDP-31]: one round trip, and the sizes that the format says.
#[test]
fn a_handshake_takes_one_round_trip() {
    for config in configs() {
        let mut pair = pair(&config);
        let hybrid = config.suite == Suite::Hybrid;
        pair.a.connect(pair.now, &pair.b.public(), address(2)).unwrap();
        let mut init = pair.a.poll_transmit().unwrap();
        assert_eq!((init.to, init.packet.len()), (address(2), if hybrid { 1376 } else { 192 }));
        assert_eq!(pair.b.handle(pair.now, address(1), &mut init.packet), Received::Done);
        assert_eq!(events(&mut pair.b), [], "not before the other has used the keys");
        let mut resp = pair.b.poll_transmit().unwrap();
        assert_eq!((resp.to, resp.packet.len()), (address(1), if hybrid { 1236 } else { 148 }));
        assert_eq!(pair.a.handle(pair.now, address(2), &mut resp.packet), Received::Done);
        assert!(up(&mut pair.a).is_some());
        pair.settle();
        assert!(up(&mut pair.b).is_some());
    }
}

#[test]
fn both_say_who_they_are_and_texts_go_both_ways() {
    let mut pair = pair(&Config { lanes: 4, ..Config::default() });
    pair.a.connect(pair.now, &pair.b.public(), address(2)).unwrap();
    pair.settle();
    let [Event::Up { association, peer, hello, lanes, address: at }] = events(&mut pair.b)[..]
    else {
        panic!("b is up")
    };
    assert_eq!((peer, lanes, at), (pair.a.public(), 4, address(1)));
    assert_eq!((hello.incarnation, hello.lanes), (pair.a.incarnation, 4));
    let sent = sealed(&mut pair.b, pair.now, association, 0, b"from b").unwrap();
    assert_eq!(sent.to, address(1));
    let mut datagram = sent.packet;
    let received = pair.a.handle(pair.now, address(2), &mut datagram);
    assert_eq!(text(&received, &datagram).unwrap(), b"from b");
}

#[test]
fn each_lane_has_its_own_keys_and_numbers() {
    let mut pair = pair(&Config { lanes: 3, ..Config::default() });
    let (a, _) = pair.connect();
    for lane in 0..3 {
        let mut packet = vec![0; OVERHEAD_BYTES + 1];
        pair.a.seal(pair.now, a, lane, u64::from(lane), &mut packet).unwrap();
        let mut moved = packet.clone();
        moved[1] = (lane + 1) % 3;
        assert_eq!(
            pair.b.handle(pair.now, address(1), &mut moved),
            Received::Dropped(Reject::Forged),
            "a packet of lane {lane} in another"
        );
        assert!(matches!(pair.b.handle(pair.now, address(1), &mut packet), Received::Text { .. }));
    }
    let mut packet = vec![0; OVERHEAD_BYTES];
    assert_eq!(pair.a.seal(pair.now, a, 3, 0, &mut packet), Err(SealFailed::Lane));
    assert_eq!(pair.a.seal(pair.now, a, CONTROL_LANE, 0, &mut packet), Err(SealFailed::Lane));
}

/// [UDP-40]: at its age, after its packets, after its bytes, and when asked.
#[test]
fn keys_are_renewed_by_age_packets_bytes_and_on_demand() {
    type Wear = fn(&mut Pair, AssociationId);
    let wears: [(Config, Wear); 4] = [
        (Config::default(), |pair, _| pair.pass(pair.now + Duration::from_secs(121))),
        (Config { rekey_packets: 5, ..Config::default() }, |pair, a| {
            (0..5).for_each(|number| drop(sealed(&mut pair.a, pair.now, a, number, b"x").unwrap()));
        }),
        (Config { rekey_bytes: 2_000, ..Config::default() }, |pair, a| {
            (0..2).for_each(|number| {
                drop(sealed(&mut pair.a, pair.now, a, number, &[0; 1_000]).unwrap());
            });
        }),
        (Config::default(), |pair, a| pair.a.rekey(pair.now, a).unwrap()),
    ];
    for (case, (config, wear)) in wears.into_iter().enumerate() {
        let mut pair = pair(&config);
        let (a, b) = pair.connect();
        wear(&mut pair, a);
        pair.pass(pair.now + Duration::from_secs(1));
        assert!(events(&mut pair.a).contains(&Event::Rekeyed { association: a }), "case {case}");
        assert!(events(&mut pair.b).contains(&Event::Rekeyed { association: b }), "case {case}");
        let sent = sealed(&mut pair.b, pair.now, b, 90, b"on").unwrap();
        let mut datagram = sent.packet;
        let received = pair.a.handle(pair.now, address(2), &mut datagram);
        assert_eq!(text(&received, &datagram).unwrap(), b"on", "case {case}");
    }
}

/// [UDP-44]: what was sealed before opens for a while after, and no longer.
#[test]
fn the_last_keys_linger_and_are_dropped() {
    let mut pair = pair(&Config::default());
    let (a, b) = pair.connect();
    let mut early = sealed(&mut pair.a, pair.now, a, 0, b"early").unwrap().packet;
    let mut late = sealed(&mut pair.a, pair.now, a, 1, b"late").unwrap().packet;
    pair.b.set_linger(b, Duration::from_secs(8));
    pair.a.rekey(pair.now, a).unwrap();
    pair.settle();
    let renewed = pair.now;
    pair.pass(renewed + Duration::from_millis(7_900));
    let received = pair.b.handle(pair.now, address(1), &mut early);
    assert_eq!(text(&received, &early).unwrap(), b"early");
    // The timer may be late; the keys are refused all the same.
    pair.now = renewed + Duration::from_secs(8);
    assert_eq!(pair.b.handle(pair.now, address(1), &mut late), Received::Dropped(Reject::Index));
    let (before, associations) = (pair.b.indices.len(), pair.b.associations.len());
    pair.b.handle_timeout(pair.now);
    assert_eq!((pair.b.indices.len(), pair.b.associations.len()), (before - 1, associations));
}

/// [UDP-43]
#[test]
fn nothing_is_sealed_or_opened_under_keys_of_three_minutes() {
    let mut pair = pair(&Config::default());
    let (a, b) = pair.connect();
    let mut packet = sealed(&mut pair.a, pair.now, a, 0, b"x").unwrap().packet;
    pair.now = pair.now + Duration::from_secs(180);
    assert_eq!(
        pair.b.handle(pair.now, address(1), &mut packet),
        Received::Dropped(Reject::Expired)
    );
    assert_eq!(sealed(&mut pair.a, pair.now, a, 1, b"x").unwrap_err(), SealFailed::Expired);
    pair.b.handle_timeout(pair.now);
    let peer = pair.a.public();
    let ended = Event::Down { association: b, peer, why: Ended::Expired };
    assert_eq!(events(&mut pair.b), [ended]);
    assert_eq!(sealed(&mut pair.b, pair.now, b, 0, b"x").unwrap_err(), SealFailed::Gone);
}

/// [UDP-25]
#[test]
fn of_two_that_cross_one_goes_on() {
    let mut pair = pair(&Config::default());
    let (a, b) = (pair.a.public(), pair.b.public());
    pair.a.connect(pair.now, &b, address(2)).unwrap();
    pair.b.connect(pair.now, &a, address(1)).unwrap();
    pair.settle();
    assert!(up(&mut pair.a).is_some() && up(&mut pair.b).is_some());
    assert_eq!((pair.a.associations.len(), pair.b.associations.len()), (1, 1));
    assert_eq!((pair.a.indices.len(), pair.b.indices.len()), (1, 1));
    let (smaller, larger) = if a < b { (&pair.a, &pair.b) } else { (&pair.b, &pair.a) };
    assert_eq!(smaller.audit.rejected(Reject::Crossed), 1);
    assert_eq!(larger.audit.rejected_in_all(), 0);
}

/// [UDP-42]: the end of the former life is told before the next one begins.
#[test]
fn another_life_takes_the_place_of_the_former() {
    let mut pair = pair(&Config::default());
    let (_, old) = pair.connect();
    pair.a = node(1, 1, Config::default());
    pair.a.connect(pair.now, &pair.b.public(), address(2)).unwrap();
    pair.settle();
    let peer = pair.a.public();
    let told = events(&mut pair.b);
    assert_eq!(told[0], Event::Down { association: old, peer, why: Ended::Replaced });
    assert!(matches!(told[1], Event::Up { association, .. } if association != old));
    assert_eq!(pair.b.associations.len(), 1);
}

/// [UDP-24] [UDP-27]: as soon as it asks again, and with renewals after that.
#[test]
fn a_node_whose_clock_was_set_back_is_told_the_time() {
    let mut pair = pair(&Config::default());
    let (_, old) = pair.connect();
    let an_hour_ago = Duration::from_secs(1_700_000_000 - 3_600);
    let (config, entropy) = (Config::default(), Box::new(Seeded(77)));
    pair.a = Endpoint::new(config, identity(1), Some(cluster()), an_hour_ago, entropy).unwrap();
    let (a, b) = (pair.a.public(), pair.b.public());
    pair.a.allow(b);
    pair.a.connect(pair.now, &b, address(2)).unwrap();
    pair.settle();
    assert_eq!((up(&mut pair.a), pair.b.audit.rejected(Reject::Stale)), (None, 1));
    assert!(pair.a.audit().entries().any(|entry| entry.what == What::SetBack { peer: b }));
    pair.pass(pair.now + Config::default().retry_first);
    let association = up(&mut pair.a).expect("it is up");
    let ended = Event::Down { association: old, peer: a, why: Ended::Replaced };
    assert_eq!(events(&mut pair.b)[0], ended);
    pair.a.rekey(pair.now, association).unwrap();
    pair.settle();
    assert_eq!(events(&mut pair.a), [Event::Rekeyed { association }]);
    assert_eq!(pair.b.audit.rejected(Reject::Stale), 1);
}

/// [UDP-60] [UDP-61]
#[test]
fn one_that_has_forgotten_says_so_and_is_believed_by_its_token_alone() {
    let mut pair = pair(&Config::default());
    let (_, b) = pair.connect();
    pair.a = node(1, 1, Config::default());
    let sent = sealed(&mut pair.b, pair.now, b, 0, b"?").unwrap();
    let mut datagram = sent.packet;
    assert_eq!(
        pair.a.handle(pair.now, address(2), &mut datagram),
        Received::Dropped(Reject::Index)
    );
    let reset = pair.a.poll_transmit().unwrap();
    assert!(reset.packet.len() < datagram.len());
    let mut forged = reset.packet.clone();
    *forged.last_mut().unwrap() ^= 1;
    assert_eq!(pair.b.handle(pair.now, address(9), &mut forged), Received::Dropped(Reject::Forged));
    let mut packet = reset.packet;
    assert_eq!(pair.b.handle(pair.now, address(1), &mut packet), Received::Done);
    let ended = Event::Down { association: b, peer: pair.a.public(), why: Ended::Reset };
    assert_eq!(events(&mut pair.b), [ended]);
}

#[test]
fn a_token_called_forth_from_elsewhere_is_of_no_use() {
    // The last one is behind the same address as the peer.
    for elsewhere in [address(66), SocketAddr::new(address(2).ip(), 5555)] {
        let mut pair = pair(&Config::default());
        let (_, b) = pair.connect();
        pair.a = node(1, 1, Config::default());
        let mut called = sealed(&mut pair.b, pair.now, b, 0, b"?").unwrap().packet;
        pair.a.handle(pair.now, elsewhere, &mut called);
        let mut reset = pair.a.poll_transmit().unwrap();
        assert_eq!(reset.to, elsewhere);
        assert_eq!(
            pair.b.handle(pair.now, address(1), &mut reset.packet),
            Received::Dropped(Reject::Forged)
        );
    }
}

#[test]
fn who_is_forbidden_is_cut_off() {
    let mut pair = pair(&Config::default());
    let (a, b) = pair.connect();
    let peer = pair.a.public();
    pair.b.forbid(pair.now, &peer);
    let ended = Event::Down { association: b, peer, why: Ended::Forbidden };
    assert_eq!(events(&mut pair.b), [ended]);
    let mut packet = sealed(&mut pair.a, pair.now, a, 0, b"x").unwrap().packet;
    assert_eq!(pair.b.handle(pair.now, address(1), &mut packet), Received::Dropped(Reject::Index));
    pair.a.close(pair.now, a);
    pair.a.connect(pair.now, &pair.b.public(), address(2)).unwrap();
    pair.settle();
    assert_eq!(pair.b.audit.rejected(Reject::Peer), 1);
    assert_eq!(pair.b.connect(pair.now, &peer, address(1)), Err(ConnectError::Forbidden));
}

#[test]
fn a_node_that_does_not_answer_is_given_up() {
    let mut a = node(1, 0, Config::default());
    let b = identity(2).public();
    a.connect(ms(0), &b, address(2)).unwrap();
    let mut sent = 0;
    while let Some(due) = a.poll_timeout() {
        sent += std::iter::from_fn(|| a.poll_transmit()).count();
        a.handle_timeout(due);
    }
    assert_eq!(events(&mut a), [Event::Unreachable { peer: b }]);
    assert!((10..30).contains(&sent), "{sent} in 90 s");
    assert_eq!(a.indices.len(), 0);
}

/// [UDP-70]
#[test]
fn nodes_that_share_a_cluster_key_meet() {
    let since = Duration::from_secs(1_700_000_000);
    let make = |host, cluster| {
        let entropy = Box::new(Seeded(u64::from(host)));
        Endpoint::new(Config::default(), identity(host), cluster, since, entropy).unwrap()
    };
    let mut met = Pair { now: ms(1), a: make(1, Some(cluster())), b: make(2, Some(cluster())) };
    met.a.meet(met.now, address(2)).unwrap();
    met.settle();
    let learned = |told: &[Event], who| {
        assert!(matches!(told[0], Event::Learned { peer, .. } if peer == who));
        assert!(matches!(told[1], Event::Up { peer, .. } if peer == who));
        assert_eq!(told.len(), 2);
    };
    learned(&events(&mut met.a), met.b.public());
    learned(&events(&mut met.b), met.a.public());
    assert_eq!((met.a.indices.len(), met.b.indices.len()), (1, 1));

    let mut stranger =
        Pair { now: ms(1), a: make(3, Some(Key::new([9; 32]))), b: make(2, Some(cluster())) };
    stranger.a.meet(stranger.now, address(2)).unwrap();
    stranger.settle();
    assert_eq!(stranger.b.audit.rejected(Reject::Mac1), 1);
    assert_eq!(make(4, None).meet(ms(0), address(2)), Err(ConnectError::NoCluster));
    let mut without = Pair { now: ms(1), a: make(1, Some(cluster())), b: make(4, None) };
    without.a.meet(without.now, address(2)).unwrap();
    without.settle();
    assert_eq!(without.b.audit.rejected(Reject::Suite), 1);
}

#[test]
fn handshakes_fail_unless_both_have_the_cluster_key() {
    let mut pair = pair(&Config::default());
    let entropy = Box::new(Seeded(5));
    pair.b = Endpoint::new(Config::default(), identity(2), None, Duration::ZERO, entropy).unwrap();
    pair.b.allow(identity(1).public());
    pair.a.connect(pair.now, &pair.b.public(), address(2)).unwrap();
    pair.settle();
    assert_eq!(pair.a.audit.rejected(Reject::Handshake), 1);
    assert_eq!((up(&mut pair.a), up(&mut pair.b)), (None, None));
}

/// [UDP-23]
#[cfg(feature = "pq")]
#[test]
fn who_requires_ml_kem_takes_nothing_less() {
    let mut pair = pair(&Config { suite: Suite::Classic, ..Config::default() });
    pair.b = node(2, 0, Config { require_hybrid: true, ..Config::default() });
    pair.a.connect(pair.now, &pair.b.public(), address(2)).unwrap();
    pair.settle();
    assert_eq!(pair.b.audit.rejected(Reject::Suite), 1);
    assert_eq!(up(&mut pair.a), None);
}

/// [UDP-23]
#[cfg(not(feature = "pq"))]
#[test]
fn who_has_no_ml_kem_and_requires_it_does_not_start() {
    for config in [
        Config { require_hybrid: true, ..Config::default() },
        Config { suite: Suite::Hybrid, ..Config::default() },
    ] {
        let made = Endpoint::new(config, identity(1), None, Duration::ZERO, Box::new(Seeded(1)));
        assert_eq!(made.err(), Some(StartError::NoHybrid));
    }
}

/// [UDP-23]: of itself, too.
#[cfg(feature = "pq")]
#[test]
fn who_requires_ml_kem_asks_with_it() {
    use crate::secure::wire::HandshakeHeader;
    let mut pair = pair(&Config::default());
    let config = Config { suite: Suite::Classic, require_hybrid: true, ..Config::default() };
    pair.a = node(1, 0, config);
    pair.a.connect(pair.now, &pair.b.public(), address(2)).unwrap();
    let asked = pair.a.poll_transmit().unwrap().packet;
    let (header, _) = HandshakeHeader::decode(Kind::Init, &asked).unwrap();
    assert_eq!(header.suite, Suite::Hybrid);
    pair.b.handle(pair.now, address(1), &mut { asked });
    pair.settle();
    assert!(up(&mut pair.a).is_some() && up(&mut pair.b).is_some());
}

/// [UDP-61]: also of keys that were renewed, and of none when it has ended.
#[test]
fn a_reset_is_looked_up_by_its_index() {
    let mut pair = pair(&Config::default());
    let (a, _) = pair.connect();
    let index =
        |node: &Endpoint| node.associations.get(a)?.current.as_ref().map(|it| it.peer_index);
    let mut before = None;
    for _ in 0..3 {
        let now = index(&pair.a).unwrap();
        let named: Vec<_> = pair.a.associations.named(now).map(|it| it.id).collect();
        assert_eq!(named, [a]);
        assert!(before.is_none_or(|before| pair.a.associations.named(before).next().is_none()));
        before = Some(now);
        pair.a.rekey(pair.now, a).unwrap();
        pair.settle();
    }
    let last = index(&pair.a).unwrap();
    pair.a.close(pair.now, a);
    assert!(pair.a.associations.named(last).next().is_none());
}

/// [UDP-64]: not of a node that starts again, however often, and with both places of one that runs twice.
#[test]
fn a_key_in_two_places_is_noticed() {
    let mut pair = pair(&Config::default());
    let mut come = |node: &mut Endpoint, from| {
        // Their clocks are some seconds apart.
        pair.now = pair.now + Duration::from_secs(10);
        if let Some(association) = up(node) {
            node.close(pair.now, association);
        }
        node.connect(pair.now, &pair.b.public(), address(2)).unwrap();
        for _ in 0..4 {
            while let Some(mut sent) = node.poll_transmit() {
                pair.b.handle(pair.now, from, &mut sent.packet);
            }
            while let Some(mut sent) = pair.b.poll_transmit() {
                if sent.to == from {
                    node.handle(pair.now, address(2), &mut sent.packet);
                }
            }
        }
        let is_shared = |what| matches!(what, What::SharedKey { .. });
        let entries = pair.b.audit().entries().filter(|entry| is_shared(entry.what));
        let places: Vec<_> = entries.map(|entry| (entry.address.unwrap(), entry.what)).collect();
        (pair.b.audit().shared_keys(), places)
    };
    for life in 1..4 {
        let mut started = node(1, life, Config::default());
        assert_eq!(come(&mut started, address(1)), (0, Vec::new()));
    }
    let mut one = node(1, 4, Config::default());
    let mut other = node(1, 5, Config::default());
    assert_eq!(come(&mut one, address(1)).0, 0);
    assert_eq!(come(&mut other, address(66)).0, 0, "it may have been started elsewhere");
    let peer = one.public();
    let back = (address(1), What::SharedKey { peer, other: address(66) });
    assert_eq!(come(&mut one, address(1)), (1, vec![back]));
    let again = (address(66), What::SharedKey { peer, other: address(1) });
    assert_eq!(come(&mut other, address(66)), (2, vec![back, again]));
}

/// What seems to come from port 0 is not answered there.
#[test]
fn nothing_goes_to_port_0() {
    let mut pair = pair(&Config::default());
    let stray = |port| SocketAddr::from(([192, 0, 2, 9], port));
    let mut unknown = [9; 40];
    unknown[..4].copy_from_slice(&[0x40, 0, 0, 0]);
    pair.b.handle(pair.now, stray(7), &mut unknown);
    assert_eq!(pair.b.poll_transmit().unwrap().to, stray(7));
    pair.b.handle(pair.now, stray(0), &mut unknown);
    assert_eq!(pair.b.poll_transmit(), None);
}

#[test]
fn what_happened_is_in_the_audit() {
    let mut pair = pair(&Config::default());
    let (a, _) = pair.connect();
    pair.a.rekey(pair.now, a).unwrap();
    pair.settle();
    pair.b.handle(pair.now, address(9), &mut [0x40; 40]);
    let peer = pair.a.public();
    let told: Vec<_> = pair.b.audit().entries().map(|entry| entry.what).collect();
    let rejected = What::Rejected { reason: Reject::Fixed, count: 1 };
    assert_eq!(told, [What::Associated { peer }, What::Rekeyed { peer }, rejected]);
}
