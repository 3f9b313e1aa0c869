//! Peers that are late, are away, or break the rules.

use super::*;
use crate::rdma::verbs::{QueuePair, Via};

// [RDMA-11]
#[test]
fn who_takes_nothing_is_sent_no_more_than_it_has_room_for() {
    let (fabric, [mut left, mut right], [id, _]) = pair();
    let mut sent = 0;
    for _ in 0..100 {
        sent += usize::from(left.send(id, |slot| put(slot, b"more")).is_ok());
        left.flush();
        left.poll(|_, _| {});
        fabric.advance(fabric.now() + Duration::from_millis(100));
    }
    assert_eq!(sent, 7, "eight receives, one of them to tell");
    assert_eq!(left.poll_ended(), None);
    let mut taken = 0;
    right.poll(|_, packet| {
        assert_eq!(**packet, *b"more");
        taken += 1;
    });
    assert_eq!(taken, 7);
    right.flush();
    fabric.advance(fabric.now() + Duration::from_millis(1));
    left.poll(|_, _| panic!("what only tells is no packet"));
    assert!(left.has_room(id));
}

// [RDMA-15]
#[test]
fn a_request_that_fails_ends_its_connection_with_the_reason() {
    let (fabric, [mut left, _right], [id, _]) = pair();
    // The other machine is away.
    fabric.set_port(1, false);
    left.send(id, |slot| put(slot, b"lost")).expect("room");
    left.flush();
    fabric.advance(fabric.now() + Duration::from_secs(1));
    left.poll(|_, _| panic!("nobody answers"));
    assert_eq!(left.poll_ended(), Some((id, Ended::Failed(Outcome::Unanswered))));
    assert_eq!(left.poll_ended(), None, "once");
}

// [RDMA-15]
#[test]
fn a_peer_that_is_not_ready_is_waited_for_and_then_left() {
    let (fabric, [mut left, mut right], [id, _]) = pair();
    let waits = |millis| fabric.advance(fabric.now() + Duration::from_millis(millis));
    for (millis, is_left) in [(1, false), (10, true)] {
        fabric.set_weather(Weather { not_ready_permille: 1000, ..Weather::fair() });
        left.send(id, |slot| put(slot, b"late")).expect("room");
        left.flush();
        waits(millis);
        let mut came = 0;
        right.poll(|_, _| came += 1);
        assert_eq!((came, fabric.not_ready() > 0), (0, true));
        fabric.set_weather(Weather::fair());
        waits(10);
        right.poll(|_, _| came += 1);
        assert_eq!(came, u32::from(!is_left));
        left.poll(|_, _| {});
        let ended = (id, Ended::Failed(Outcome::ReceiverNotReady));
        assert_eq!(left.poll_ended(), is_left.then_some(ended));
    }
}

/// Devices are late with receives that were posted, again and again: what comes is what was sent all the same.
// [RDMA-14] [RDMA-15]
#[test]
fn peers_that_are_not_ready_now_and_then_lose_nothing_unsaid() {
    let mut left = 0;
    each_seed(|seed| {
        let mut dice = Random::new(seed ^ 0x4e4);
        let not_ready_permille = [10, 300][dice.below(2) as usize];
        let weather = Weather { not_ready_permille, ..drawn(&mut dice) };
        let mut world = World::new(seed, 2, weather);
        for _ in 0..300 {
            world.step(u64::MAX);
            if world.chance(20) {
                world.fabric.advance(world.fabric.now() + Duration::from_millis(1));
            }
        }
        let late = Ended::Failed(Outcome::ReceiverNotReady);
        left += world.ended.iter().filter(|it| **it == late).count();
        world.fabric.set_weather(Weather::fair());
        world.join(0, 1);
        let mut steps = 0;
        while !world.is_done(PACKETS) {
            steps += 1;
            assert!(steps < 100_000, "somebody waits for ever");
            world.step(PACKETS);
        }
    });
    assert!(left > 20, "the devices gave up too rarely: {left}");
}

// [RDMA-13]
#[test]
fn a_peer_that_breaks_the_rules_of_credit_is_left() {
    for (bad, expected) in [
        (&b"ab"[..], Ended::Short(2)),
        (&[0; 8], Ended::Credit(BadCredit)),
        (&[0xff; 8], Ended::Credit(BadCredit)),
    ] {
        let fabric = Fabric::new(1, Weather::fair());
        let [mut left, right] = [(); 2].map(|()| World::node(&fabric));
        let id = left.connected.open(1).expect("room for it");
        // The peer has the device to itself, without any rules.
        let device = right.verbs.open("sim0", 1, 0).expect("a device");
        let completions = device.completion_queue(8).expect("a queue");
        let config =
            QueuePairConfig { sends_max: 4, receives_max: 0, inline_bytes: 64, owner: 0, psn: 2 };
        let mut pair = device.connected(&completions, None, &config).expect("a queue pair");
        let own = left.connected.endpoint(id).expect("it is open");
        pair.connect(&own, &Timing::default()).expect("they fit");
        left.connected.connect(id, &pair.endpoint(), 8).expect("they fit");
        pair.push_inline(bad, Via::Connection, false).expect("room for one");
        pair.ring_sends().expect("a device");
        fabric.advance(fabric.now() + Duration::from_millis(1));
        left.connected.poll(|_, _| panic!("nothing of it is handed in"));
        assert_eq!(left.connected.poll_ended(), Some((id, expected)));
    }
}

/// What cannot be is refused. Where it says that it lets come more than it does, it leaves itself.
// [RDMA-13]
#[test]
fn a_peer_that_lies_about_its_end_harms_itself() {
    let fabric = Fabric::new(1, Weather::fair());
    let [mut left, mut right] = [(); 2].map(|()| World::node(&fabric).connected);
    let ids = [left.open(1).expect("room for it"), right.open(2).expect("room for it")];
    let ends = [left.endpoint(ids[0]), right.endpoint(ids[1])].map(|it| it.expect("it is open"));
    for odd in [Endpoint { qpn: 1 << 24, ..ends[1] }, Endpoint { psn: 1 << 24, ..ends[1] }] {
        let id = left.open(3).expect("room for it");
        let made = left.connect(id, &odd, 8);
        assert!(matches!(made, Err(ConnectionError::Connect(ConnectError::Range(_)))), "{made:?}");
        left.end(id);
    }
    left.connect(ids[0], &ends[1], u32::MAX).expect("they fit");
    right.connect(ids[1], &ends[0], 8).expect("they fit");
    while left.send(ids[0], |slot| put(slot, b"more")).is_ok() {}
    left.flush();
    fabric.advance(fabric.now() + Duration::from_millis(1));
    let mut came = 0;
    right.poll(|_, _| came += 1);
    assert_eq!(came, START);
    assert_eq!(right.poll_ended(), Some((ids[1], Ended::Credit(BadCredit))));
    left.poll(|_, _| panic!("nobody says anything"));
    left.send(ids[0], |slot| put(slot, b"more")).expect("room");
    left.flush();
    fabric.advance(fabric.now() + Duration::from_secs(1));
    left.poll(|_, _| panic!("nobody says anything"));
    assert!(matches!(left.poll_ended(), Some((id, Ended::Failed(_))) if id == ids[0]));
    assert!(left.open(4).is_ok() && right.open(5).is_ok());
}
