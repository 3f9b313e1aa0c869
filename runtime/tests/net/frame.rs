//! Frames: each comes back as it was, and whatever else comes is a typed rejection.

use greenroom::Undelivered;
use greenroom::net::{Address, Envelope, Frame, FrameError, Identity, Incarnation, NodeId};
use proptest::prelude::*;

fn why() -> impl Strategy<Value = Undelivered> {
    prop::sample::select(vec![
        Undelivered::NodeDown,
        Undelivered::NoSuchActor,
        Undelivered::UnknownMessage,
        Undelivered::OtherSchema,
        Undelivered::Malformed,
        Undelivered::NotEncoded,
        Undelivered::TooLarge,
        Undelivered::Expired,
        Undelivered::NoReply,
        Undelivered::Refused,
        Undelivered::HomeNotConnected,
        Undelivered::OverLimit,
    ])
}

/// What frames are made of: three numbers, two texts, bytes, a reason.
type Parts = ((u64, u64, u32), (String, String), Vec<u8>, Undelivered);

fn parts() -> impl Strategy<Value = Parts> {
    let text = "[a-zä]{0,80}";
    let bytes = prop::collection::vec(any::<u8>(), 0..60);
    (any::<(u64, u64, u32)>(), (text, text), bytes, why())
}

/// A frame of each type.
fn frames(((first, second, third), (text, other), bytes, why): &Parts) -> Vec<Frame<'_>> {
    let (first, second, third, why) = (*first, *second, *third, *why);
    let [low, ..] = third.to_le_bytes();
    let envelope = Envelope {
        actor: first,
        version: low.into(),
        message: third,
        schema: third.rotate_left(7),
        arguments: bytes,
    };
    vec![
        Frame::Tell(envelope),
        Frame::Ask { envelope, correlation: second, remaining_us: first },
        Frame::Answer { correlation: first, bytes },
        Frame::Unanswered { correlation: first, why },
        Frame::Undelivered { actor: first, message: third, why },
        Frame::Find { correlation: first, protocol: text, name: other },
        Frame::Found { correlation: first, actor: second, window: third },
        Frame::NotFound { correlation: first, speaks: text },
        Frame::Ended { actor: first, how: low, text },
        Frame::Credit { actor: first, messages: second },
        Frame::Open { correlation: first, actor: second, protocol: text },
        Frame::Spawn { correlation: first, protocol: text, name: other, arguments: bytes },
        Frame::NotSpawned { correlation: first, why: low, text },
        Frame::Stop { actor: first },
        Frame::Joined { actor: first, protocol: text, group: other },
        Frame::Left { actor: first, protocol: text, group: other },
        Frame::Held { actor: first },
        Frame::Released { actor: first, ends: second },
    ]
}

proptest! {
    // [ENV-1] [ENV-2]
    #[test]
    fn every_frame_comes_back(parts in parts()) {
        for frame in frames(&parts) {
            let bytes = frame.to_bytes();
            prop_assert_eq!(Frame::parse(&bytes), Ok(frame));
        }
    }

    // [ENV-4]
    #[test]
    fn whatever_comes_is_a_frame_or_a_rejection(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
        if let Ok(frame) = Frame::parse(&bytes) {
            prop_assert_eq!(frame.to_bytes(), bytes);
        }
    }

    // [ENV-4]
    #[test]
    fn what_is_cut_off_or_goes_on_is_another_frame_or_none(parts in parts(), at in any::<prop::sample::Index>()) {
        for frame in frames(&parts) {
            let mut bytes = frame.to_bytes();
            let cut = at.index(bytes.len());
            prop_assert_ne!(Frame::parse(&bytes[..cut]), Ok(frame.clone()));
            bytes.push(0);
            prop_assert_ne!(Frame::parse(&bytes), Ok(frame));
        }
    }
}

/// Several messages to one actor, by an encoder of the tests' own: for each message its number, what it looks like,
/// and its arguments.
fn tells(actor: u64, version: u16, messages: &[(u32, u32, Vec<u8>)]) -> Vec<u8> {
    let mut bytes = vec![17];
    bytes.extend(actor.to_le_bytes());
    bytes.extend(version.to_le_bytes());
    let mut before = None;
    for (message, schema, arguments) in messages {
        let other = before != Some((message, schema));
        let length = u32::try_from(arguments.len()).unwrap() | u32::from(other) << 31;
        bytes.extend(length.to_le_bytes());
        bytes.extend(arguments);
        if other {
            bytes.extend(message.to_le_bytes());
            bytes.extend(schema.to_le_bytes());
        }
        before = Some((message, schema));
    }
    bytes
}

proptest! {
    // [ENV-2] [ENV-4] [ENV-18]
    #[test]
    fn several_messages_come_back_one_by_one(
        (actor, version) in any::<(u64, u16)>(),
        messages in prop::collection::vec((0..3_u32, 0..2_u32, prop::collection::vec(any::<u8>(), 0..20)), 1..20),
        at in any::<prop::sample::Index>(),
    ) {
        let bytes = tells(actor, version, &messages);
        let frame = Frame::parse(&bytes).unwrap();
        prop_assert_eq!(frame.to_bytes(), bytes.clone());
        let Frame::Tells(envelopes) = frame else { panic!("{frame:?}") };
        let expected = messages.iter().map(|(message, schema, arguments)| {
            Envelope { actor, version, message: *message, schema: *schema, arguments }
        });
        prop_assert!(envelopes.eq(expected));
        // What is cut off between two messages is fewer of them.
        let cut = Frame::parse(&bytes[..at.index(bytes.len())]);
        if let Ok(Frame::Tells(fewer)) = cut {
            let fewer: Vec<_> = fewer.collect();
            prop_assert!(fewer.len() < messages.len());
            prop_assert!(envelopes.take(fewer.len()).eq(fewer));
        } else {
            prop_assert_eq!(cut, Err(FrameError::Short));
        }
    }
}

#[test]
fn rejections_say_what_is_wrong() {
    let none = tells(1, 1, &[]);
    let mut same = none.clone();
    same.extend([1, 0, 0, 0, 9]);
    let mut cut = none.clone();
    cut.extend([5, 0, 0, 0x80, 9]);
    let most = tells(1, 1, &vec![(1, 1, vec![]); 64]);
    assert!(matches!(Frame::parse(&most), Ok(Frame::Tells(_))));
    let more = tells(1, 1, &vec![(1, 1, vec![]); 65]);
    let cases: [(&[u8], FrameError); 11] = [
        (&more, FrameError::TooMany),
        // Several messages are some, the first says which it is, and each is as long as it says.
        (&none, FrameError::Short),
        (&same, FrameError::Short),
        (&cut, FrameError::Short),
        (&[], FrameError::Short),
        (&[0], FrameError::UnknownType(0)),
        (&[99], FrameError::UnknownType(99)),
        (&[10, 1, 2], FrameError::Short),
        (&[4, 0, 0, 0, 0, 0, 0, 0, 0, 99], FrameError::UnknownReason(99)),
        (&[4, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1], FrameError::Long),
        (&[8, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xFF], FrameError::NotText),
    ];
    for (bytes, error) in cases {
        assert_eq!(Frame::parse(bytes), Err(error), "{bytes:?}");
    }
}

// [ENV-3]
#[test]
fn long_texts_are_cut_between_characters() {
    let long = "ä".repeat(200);
    let bytes = Frame::Ended { actor: 1, how: 4, text: &long }.to_bytes();
    assert_eq!(Frame::parse(&bytes), Ok(Frame::Ended { actor: 1, how: 4, text: &long[..254] }));
}

// [ENV-2]: golden bytes, so that no build reads what another one wrote as something else.
#[test]
fn the_bytes_are_those_of_the_specification() {
    let envelope =
        Envelope { actor: 0x0102, version: 3, message: 4, schema: 5, arguments: &[9, 8] };
    let ask = Frame::Ask { envelope, correlation: 6, remaining_us: 7 };
    let mut expected = vec![2];
    expected.extend([6, 0, 0, 0, 0, 0, 0, 0]);
    expected.extend([7, 0, 0, 0, 0, 0, 0, 0]);
    expected.extend([2, 1, 0, 0, 0, 0, 0, 0]);
    expected.extend([3, 0, 4, 0, 0, 0, 5, 0, 0, 0, 9, 8]);
    assert_eq!(ask.to_bytes(), expected);
    let find = Frame::Find { correlation: 1, protocol: "a", name: "bc" };
    assert_eq!(find.to_bytes(), [6, 1, 0, 0, 0, 0, 0, 0, 0, 1, b'a', 2, b'b', b'c']);
}

#[test]
fn identities_and_addresses_are_read_as_they_are_written() {
    let node: NodeId = "00000000deadBEEF".parse().unwrap();
    assert_eq!(node.to_string(), "00000000deadbeef");
    let identity = Identity { node, incarnation: Incarnation(7) };
    assert_eq!(identity.to_string(), "00000000deadbeef/0000000000000007");
    for bad in ["", "deadbeef", "+0000000deadbeef", "00000000deadbeefg"] {
        assert!(bad.parse::<NodeId>().is_err(), "{bad:?}");
    }
    let address: Address = "udp:[::1]:7000".parse().unwrap();
    assert_eq!((address.scheme(), address.place()), ("udp", "[::1]:7000"));
    assert_eq!(address.to_string().parse(), Ok(address));
    for bad in ["", "udp", "udp:", ":7000", "UDP:1", "u p:1"] {
        assert!(bad.parse::<Address>().is_err(), "{bad:?}");
    }
}
