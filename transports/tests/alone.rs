//! Lanes by themselves, asked as a carrier asks.

use greenroom::net::FrameBuf;
use greenroom_transports::link::{
    Address, Config, Ecn, Envelope, Kind, Lane, Receipt, SendError, Time,
};
use std::time::Duration;

/// The head of a message; each kind has a pair of its own.
fn envelope(kind: Kind) -> Envelope {
    let to = Address { slot: kind as u32, generation: 1 };
    Envelope { to, from: to, kind, manifest: 1, correlation: 0 }
}

/// A carrier that asks once after each message has everything to send: it has no reason to ask again.
#[test]
fn every_message_leaves_when_the_carrier_asks_for_packets() {
    let mut lane = Lane::new(Time::default(), Config::default()).expect("the defaults");
    let mut buffer = [0; 1500];
    for kind in [Kind::Tell, Kind::System] {
        for number in 0..10 {
            lane.send(&envelope(kind), &[number; 40]).expect("there is room");
            let now = Time::from_nanos(u64::from(number));
            let packet = lane.poll_transmit(now, &mut buffer).expect("the message leaves");
            assert!(!packet.is_size_probe, "{kind:?} {number} leaves first");
            while lane.poll_transmit(now, &mut buffer).is_some() {}
        }
    }
}

/// Lets all packets pass between two lanes, and takes out what arrives at the second.
fn pass(now: &mut Time, lanes: &mut [Lane; 2], arrived: &mut Vec<(Kind, Receipt)>) {
    let (mut buffer, mut payload) = ([0; 1500], FrameBuf::default());
    for _ in 0..400 {
        *now = *now + Duration::from_millis(1);
        for from in 0..2 {
            lanes[from].on_timeout(*now);
            while let Some(packet) = lanes[from].poll_transmit(*now, &mut buffer) {
                let inside = &buffer[..packet.len];
                lanes[1 - from].on_packet(*now, packet.number, inside, Ecn::NotCapable);
            }
        }
        while let Some(delivery) = lanes[1].poll_message(&mut payload) {
            arrived.push((delivery.envelope.kind, delivery.receipt));
        }
    }
}

/// The receiver holds what never waits until mail has come: so mail must not wait for it.
// [LINK-46]
#[test]
fn mail_passes_what_lacks_credit() {
    let config = Config { window_bytes_start: 16 << 10, ..Config::default() };
    let new = || Lane::new(Time::default(), config.clone()).expect("limits that fit together");
    let (mut now, mut lanes, mut arrived) = (Time::default(), [new(), new()], Vec::new());
    let mut sent = 0;
    loop {
        match lanes[0].send(&envelope(Kind::System), &[1; 1000]) {
            Ok(()) => sent += 1,
            Err(SendError::Full(_)) => break,
            Err(error) => panic!("{error}"),
        }
    }
    pass(&mut now, &mut lanes, &mut arrived);
    assert_eq!(arrived.len(), sent - 1, "the last one lacks credit");
    lanes[0].send(&envelope(Kind::Tell), b"mail").expect("mail has room of its own");
    pass(&mut now, &mut lanes, &mut arrived);
    assert_eq!(arrived.last().map(|(kind, _)| *kind), Some(Kind::Tell), "mail has come");
    for (_, receipt) in arrived.drain(..) {
        lanes[1].discard(now, receipt);
    }
    pass(&mut now, &mut lanes, &mut arrived);
    assert_eq!(arrived.len(), 1, "with credit, the last one comes");
}
