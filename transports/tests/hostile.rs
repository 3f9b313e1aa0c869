//! A peer that is authentic and means harm: whatever it puts into packets, the lane ends with a reason or
//! goes on, holds no more than it granted, and does not panic.

use greenroom::net::FrameBuf;
use greenroom_transports::link::{
    Address, CloseReason, Config, Ecn, End, Envelope, Event, FrameError, Full, Kind, Lane,
    SendError, Time,
};
use proptest::prelude::*;
use std::time::Duration;

fn config() -> Config {
    Config { window_messages: 64, reassemblies_max: 4, ..Config::default() }
}

fn lane() -> Lane {
    Lane::new(Time::default(), config()).expect("a good configuration")
}

/// How the lane ended, if it did.
fn end_of(lane: &mut Lane) -> Option<End> {
    let mut end = None;
    while let Some(event) = lane.poll_event() {
        if let Event::Ended(found) = event {
            end = Some(found);
        }
    }
    end
}

/// What becomes of a lane that gets these frames in one packet.
fn end_after(frames: &[&[u8]]) -> Option<End> {
    let mut lane = lane();
    lane.on_packet(Time::default(), 0, &frames.concat(), Ecn::NotCapable);
    end_of(&mut lane)
}

/// A whole message by hand: the encoder of the engine plays no part here.
fn message(sequence: u32, predecessor: u16, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![4];
    frame.extend(sequence.to_le_bytes());
    frame.extend(envelope(predecessor));
    frame.extend(varint(payload.len() as u32));
    frame.extend(payload);
    frame
}

fn fragment(sequence: u32, total: u32, offset: u32, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![5];
    frame.extend(sequence.to_le_bytes());
    frame.push(0);
    frame.extend(varint(total));
    frame.extend(varint(offset));
    if offset == 0 {
        frame.extend(envelope(0));
    }
    frame.extend(varint(payload.len() as u32));
    frame.extend(payload);
    frame
}

fn varint(value: u32) -> Vec<u8> {
    match value {
        0..0x40 => vec![value as u8],
        0x40..0x4000 => (0x4000 | value as u16).to_be_bytes().to_vec(),
        _ => (0x8000_0000 | value).to_be_bytes().to_vec(),
    }
}

fn envelope(predecessor: u16) -> Vec<u8> {
    let mut envelope = vec![0, 1, 0];
    envelope.extend([0; 16]);
    envelope.extend(predecessor.to_le_bytes());
    envelope
}

// [LINK-3] [LINK-11] [LINK-42] [LINK-53] [LINK-54] [LINK-61] [LINK-62]
#[test]
fn each_offence_has_its_reason() {
    let payload = &[7; 100];
    let misbehaved = |reason| Some(End::Misbehaved(reason));
    assert_eq!(end_after(&[&message(1, 0, payload)]), None, "this is none");
    assert_eq!(end_after(&[]), misbehaved(CloseReason::BadFrame));
    assert_eq!(end_after(&[&[99]]), misbehaved(CloseReason::BadFrame));
    let ack_of_5 = [2, 5, 0, 0, 0];
    assert_eq!(end_after(&[&ack_of_5]), misbehaved(CloseReason::AckOfUnsent));
    let far = message(65, 0, payload);
    assert_eq!(end_after(&[&far]), misbehaved(CloseReason::WindowExceeded));
    let before_the_first = message(3, 3, payload);
    assert_eq!(end_after(&[&before_the_first]), misbehaved(CloseReason::BadOrder));
    let twice = [message(3, 2, payload), message(2, 1, payload)];
    assert_eq!(end_after(&[&twice[0], &twice[1]]), misbehaved(CloseReason::BadOrder));
    let many: Vec<_> = (1..6).map(|at| fragment(at, 5000, 0, payload)).collect();
    let many: Vec<&[u8]> = many.iter().map(Vec::as_slice).collect();
    assert_eq!(end_after(&many), misbehaved(CloseReason::ReassemblyExceeded));
    let contradicting = [fragment(1, 5000, 0, payload), fragment(1, 5001, 100, payload)];
    let found = end_after(&[&contradicting[0], &contradicting[1]]);
    assert_eq!(found, misbehaved(CloseReason::BadFragment));
    // A whole message whose pieces were of another class, or for another actor.
    let (mut reserved, mut elsewhere) = (message(1, 0, payload), message(1, 0, payload));
    (reserved[5], elsewhere[8]) = (3, 1);
    let found = end_after(&[&fragment(1, 100, 50, &payload[..50]), &reserved]);
    assert_eq!(found, misbehaved(CloseReason::BadFragment));
    let found = end_after(&[&fragment(1, 100, 0, &payload[..50]), &elsewhere]);
    assert_eq!(found, misbehaved(CloseReason::BadFragment));
    let huge = fragment(1, (16 << 20) + 1, 0, payload);
    assert_eq!(end_after(&[&huge]), misbehaved(CloseReason::MessageTooBig));
    // A piece at the end of a long message would have memory set aside for all before it.
    let beyond = fragment(1, 16 << 20, (16 << 20) - 200, payload);
    assert_eq!(end_after(&[&beyond]), misbehaved(CloseReason::CreditExceeded));
}

// [LINK-3]
#[test]
fn what_was_wrong_is_known_here_and_the_peer_hears_the_reason() {
    let mut lane = lane();
    lane.on_packet(Time::default(), 0, &[1, 6, 9, 0], Ecn::NotCapable);
    assert_eq!(end_of(&mut lane), Some(End::Misbehaved(CloseReason::BadFrame)));
    assert_eq!(lane.frame_error(), Some(FrameError::UnknownClass(9)));
    let mut buffer = [0; 1500];
    let packet = lane.poll_transmit(Time::default(), &mut buffer).expect("a notice");
    assert_eq!(buffer[..packet.len], [10, 1]);
    assert_eq!(lane.poll_transmit(Time::default(), &mut buffer), None);
}

// [LINK-15]
#[test]
fn a_packet_acknowledges_once() {
    let ack = [2, 0, 0, 0, 0];
    for (acks, frame_error) in [(1, None), (2, Some(FrameError::SecondAck))] {
        let mut lane = lane();
        let to = Address { slot: 1, generation: 0 };
        let envelope = Envelope { to, from: to, kind: Kind::Tell, manifest: 0, correlation: 0 };
        lane.send(&envelope, b"once").expect("there is room");
        let packet = lane.poll_transmit(Time::default(), &mut [0; 1500]).expect("a message");
        assert_eq!(packet.number, 0);
        lane.on_packet(Time::default(), 0, &ack.repeat(acks), Ecn::NotCapable);
        let misbehaved = frame_error.map(|_| End::Misbehaved(CloseReason::BadFrame));
        assert_eq!((end_of(&mut lane), lane.frame_error()), (misbehaved, frame_error));
        assert!(lane.is_settled(), "it was acknowledged");
    }
}

// [LINK-42]
#[test]
fn a_flood_stops_at_what_was_granted() {
    let mut lane = lane();
    let mut held = 0;
    for number in 0..100_000 {
        let frame = message(number as u32 + 1, 0, &[7; 1000]);
        lane.on_packet(Time::default(), number, &frame, Ecn::NotCapable);
        held = held.max(lane.bytes_held());
        if let Some(end) = end_of(&mut lane) {
            assert_eq!(end, End::Misbehaved(CloseReason::CreditExceeded));
            assert!(held <= config().window_bytes_start);
            return;
        }
    }
    panic!("a hundred thousand messages were taken that nobody granted");
}

// [LINK-43]
#[test]
fn credit_without_end_is_believed_as_far_as_there_is_memory() {
    let config = Config {
        mailbox_messages_start: None,
        unacknowledged_bytes_max: 2 << 20,
        skip_every: 0,
        ..Config::default()
    };
    let mut lane = Lane::new(Time::default(), config).expect("a good configuration");
    let endless = [&[6, 0][..], &(0xC000_0000_0000_0000 | 1_u64 << 40).to_be_bytes()].concat();
    lane.on_packet(Time::default(), 0, &endless, Ecn::NotCapable);
    let to = Address::default();
    let envelope = Envelope { to, from: to, kind: Kind::Tell, manifest: 0, correlation: 0 };
    let (payload, mut taken) = (vec![7; 1000], 0_usize);
    let why = loop {
        match lane.send(&envelope, &payload) {
            Ok(()) => taken += payload.len(),
            Err(why) => break why,
        }
        assert!(taken <= 4 << 20, "{taken} bytes are kept of which nothing was acknowledged");
    };
    assert_eq!(why, SendError::Full(Full::Window));
    let cost = taken + taken / payload.len() * 64;
    assert!(cost >= 2 << 20, "{cost}");
    // Room is told of, once, when some of them have come.
    let (mut buffer, mut now, mut came) = ([0; 1500], Time::default(), 0);
    while !std::iter::from_fn(|| lane.poll_event()).any(|event| event == Event::Room) {
        now = now + Duration::from_millis(1);
        let mut sent = Vec::new();
        while let Some(packet) = lane.poll_transmit(now, &mut buffer) {
            sent.push(packet.number);
        }
        for number in sent {
            came += 1;
            assert!(came < 10_000, "nobody is told of room");
            let ack = [&[2][..], &varint(number as u32), &[0, 0, 0]].concat();
            lane.on_packet(now, came, &ack, Ecn::NotCapable);
        }
    }
    assert_eq!(lane.send(&envelope, &payload), Ok(()));
}

// [LINK-14]
#[test]
fn who_acknowledges_nothing_has_no_memory_used_for_ever() {
    let mut lane = lane();
    let to = Address::default();
    let envelope = Envelope { to, from: to, kind: Kind::Tell, manifest: 0, correlation: 0 };
    lane.send(&envelope, b"x").expect("there is room");
    let mut buffer = [0; 1500];
    for number in 0..200_000 {
        // Asks, so that it is answered, a little later each time.
        let now = Time::from_nanos(number * 10_000);
        lane.on_packet(now, number, &[1], Ecn::NotCapable);
        while lane.poll_transmit(now, &mut buffer).is_some() {}
        if let Some(end) = end_of(&mut lane) {
            assert_eq!(end, End::Misbehaved(CloseReason::NothingAcked));
            return;
        }
    }
    panic!("it is answered for ever");
}

proptest! {
    /// Packets of anything, and of frames that are nearly right, to a lane that is at work itself.
    // [LINK-3]
    #[test]
    fn nothing_makes_it_panic_or_hold_too_much(
        packets in prop::collection::vec(
            (any::<u32>(), prop::collection::vec(piece(), 0..6), 0..3000_u64), 0..60,
        ),
    ) {
        let mut lane = lane();
        let (mut now, mut buffer, mut taken) = (Time::default(), [0; 1500], FrameBuf::default());
        for (number, frames, wait) in packets {
            now = now + Duration::from_micros(wait);
            let to = Address { slot: number % 4, generation: 0 };
            let envelope = Envelope { to, from: to, kind: Kind::Tell, manifest: 0, correlation: 0 };
            let _ = lane.send(&envelope, &[1; 3000][..number as usize % 3000]);
            lane.on_packet(now, u64::from(number % 100), &frames.concat(), Ecn::Capable0);
            while lane.poll_transmit(now, &mut buffer).is_some() {}
            if lane.timeout().is_some_and(|due| due <= now) {
                lane.on_timeout(now);
            }
            while let Some(delivery) = lane.poll_message(&mut taken) {
                lane.discard(now, delivery.receipt);
            }
            prop_assert!(lane.bytes_held() <= 2 * config().window_bytes_max);
            let _ = end_of(&mut lane);
        }
    }
}

/// A frame, or what looks like one.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    let bytes = prop::collection::vec(any::<u8>(), 0..120);
    prop_oneof![
        (0..70_u32, 0..4_u16, bytes.clone())
            .prop_map(|(at, back, payload)| message(at, back, &payload)),
        (0..70_u32, 0..400_u32, 0..300_u32, bytes.clone())
            .prop_map(|(at, total, offset, payload)| fragment(at, total, offset, &payload)),
        (0..12_u8, bytes.clone()).prop_map(|(kind, rest)| [vec![kind], rest].concat()),
        (0..40_u8, 0..4_u8, 0..40_u8)
            .prop_map(|(largest, delay, first)| vec![2, largest, delay, 0, first]),
        bytes,
    ]
}
