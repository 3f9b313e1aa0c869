use super::super::ack::{EcnCounts, write_received};
use super::super::ranges::Ranges;
use super::*;
use proptest::prelude::*;

fn address() -> impl Strategy<Value = Address> {
    any::<(u32, u32)>().prop_map(|(slot, generation)| Address { slot, generation })
}

fn head() -> impl Strategy<Value = Head> {
    let kind = (0..5_u8).prop_map(|number| Kind::from_wire(number).unwrap());
    (kind, any::<u16>(), address(), address(), any::<u64>(), 0..=PREDECESSOR_MAX).prop_map(
        |(kind, manifest, to, from, correlation, predecessor)| {
            let correlation = if kind.correlates() { correlation } else { 0 };
            Head { envelope: Envelope { to, from, kind, manifest, correlation }, predecessor }
        },
    )
}

/// A frame that owns its bytes.
#[derive(Clone, Debug)]
enum Owned {
    Plain(Frame<'static>),
    Message(u32, Head, Vec<u8>),
    Fragment(u32, Head, u64, u64, Vec<u8>),
    Ack(Ranges, u64, Option<EcnCounts>),
}

fn varint() -> impl Strategy<Value = u64> {
    prop_oneof![0..200_u64, 0..1_u64 << 62, (0..62_u32).prop_map(|bits| 1 << bits)]
}

fn owned() -> impl Strategy<Value = Owned> {
    let class = prop_oneof![Just(Class::Mail), Just(Class::Reserved)];
    let plain = prop_oneof![
        Just(Frame::Ping),
        (class, varint()).prop_map(|(class, limit)| Frame::LaneCredit { class, limit }),
        (address(), varint()).prop_map(|(to, limit)| Frame::MailboxCredit { to, limit }),
        any::<u64>().prop_map(Frame::PathChallenge),
        any::<u64>().prop_map(Frame::PathResponse),
        varint().prop_map(|number| Frame::Close(CloseReason::from_wire(number))),
    ];
    let bytes = || prop::collection::vec(any::<u8>(), 0..300);
    let ecn =
        prop::option::of((varint(), varint(), varint()).prop_map(|(ect0, ect1, ce)| EcnCounts {
            ect0,
            ect1,
            ce,
        }));
    let received = prop::collection::btree_set(0..100_u64, 1..40).prop_map(|numbers| {
        let mut set = Ranges::new();
        for number in numbers {
            set.insert(number);
        }
        set
    });
    prop_oneof![
        plain.prop_map(Owned::Plain),
        (any::<u32>(), head(), bytes())
            .prop_map(|(at, head, bytes)| Owned::Message(at, head, bytes)),
        (any::<u32>(), head(), prop_oneof![Just(0), varint()], 0..900_u64, any::<u8>(), bytes())
            .prop_map(|(at, head, offset, more, byte, mut bytes)| {
                bytes.push(byte);
                let offset = offset.min(1 << 40);
                let total = offset + bytes.len() as u64 + more;
                Owned::Fragment(at, head, total, offset, bytes)
            }),
        (received, varint(), ecn).prop_map(|(set, delay, ecn)| Owned::Ack(set, delay, ecn)),
    ]
}

impl Owned {
    fn write(&self, writer: &mut Writer<'_>) -> Result<(), NoRoom> {
        match self {
            Self::Plain(frame) => frame.write(writer),
            Self::Message(sequence, head, payload) => {
                Message { sequence: *sequence, head: *head, payload }.write(writer)
            }
            Self::Fragment(sequence, whole, total, offset, payload) => {
                let head = (*offset == 0).then_some(*whole);
                let (total, offset, sequence) = (*total, *offset, *sequence);
                let class = whole.envelope.kind.class();
                Fragment { sequence, class, total, offset, head, payload }.write(writer)
            }
            Self::Ack(set, delay_us, ecn) => write_received(set, *delay_us, *ecn, writer),
        }
    }

    fn matches(&self, frame: &Frame<'_>) -> bool {
        match (self, frame) {
            (Self::Plain(own), frame) => own == frame,
            (Self::Message(at, head, bytes), Frame::Message(found)) => {
                (found.sequence, &found.head, found.payload) == (*at, head, &bytes[..])
            }
            (Self::Fragment(at, head, total, offset, bytes), Frame::Fragment(found)) => {
                let place = (found.sequence, found.total, found.offset) == (*at, *total, *offset);
                place && found.head == (*offset == 0).then_some(*head) && found.payload == bytes
            }
            (Self::Ack(set, delay_us, ecn), Frame::Ack(found)) => {
                let ranges = found.ranges().map(|range| *range.start()..*range.end() + 1);
                let same = ranges.eq(set.descending().cloned());
                same && (found.delay_us, found.ecn) == (*delay_us, *ecn)
            }
            _ => false,
        }
    }
}

fn decode(bytes: &[u8]) -> Result<Vec<Frame<'_>>, FrameError> {
    let mut reader = Reader::new(bytes);
    let mut frames = Vec::new();
    while !reader.is_empty() {
        frames.push(Frame::read(&mut reader)?);
    }
    Ok(frames)
}

fn encode(frames: &[Owned]) -> Vec<u8> {
    let mut buffer = vec![0; 64 * 1024];
    let mut writer = Writer::new(&mut buffer);
    for frame in frames {
        frame.write(&mut writer).expect("the buffer is large");
    }
    let written = writer.written();
    buffer.truncate(written);
    buffer
}

/// What a frame costs is what is said beforehand.
fn len_as_foretold(frame: &Owned, len: usize) -> bool {
    match frame {
        Owned::Message(_, head, bytes) => {
            Message::frame_len(head.envelope.kind, bytes.len()) == len
        }
        Owned::Fragment(_, head, total, offset, bytes) => {
            Fragment::overhead(head.envelope.kind, *total, *offset) + bytes.len() >= len
        }
        Owned::Plain(Frame::LaneCredit { .. }) => len <= LANE_CREDIT_LEN_MAX,
        Owned::Plain(Frame::MailboxCredit { .. }) => len <= MAILBOX_CREDIT_LEN_MAX,
        Owned::Plain(Frame::PathChallenge(_) | Frame::PathResponse(_)) => len == PATH_LEN,
        Owned::Plain(_) | Owned::Ack(..) => true,
    }
}

proptest! {
    // [LINK-1]
    #[test]
    fn what_is_written_is_read(frames in prop::collection::vec(owned(), 1..8)) {
        let bytes = encode(&frames);
        let found = decode(&bytes).expect("well formed");
        prop_assert_eq!(frames.len(), found.len());
        for (frame, found) in frames.iter().zip(&found) {
            prop_assert!(frame.matches(found), "{:?} became {:?}", frame, found);
            let len = encode(std::slice::from_ref(frame)).len();
            prop_assert!(len_as_foretold(frame, len), "{:?} takes {} bytes", frame, len);
        }
    }

    // [LINK-2]
    #[test]
    fn there_is_one_form(
        frames in prop::collection::vec(owned(), 1..4),
        flips in prop::collection::vec(any::<(u16, u8)>(), 0..4),
    ) {
        let mut bytes = encode(&frames);
        for (at, byte) in flips {
            let at = usize::from(at) % bytes.len();
            bytes[at] = byte;
        }
        if let Ok(found) = decode(&bytes) {
            let mut again = vec![0; bytes.len()];
            let mut writer = Writer::new(&mut again);
            for frame in found.iter().filter(|frame| **frame != Frame::Pad) {
                frame.write(&mut writer).expect("no longer than before");
            }
            if !found.contains(&Frame::Pad) {
                prop_assert_eq!(again, bytes);
            }
        }
    }

    // [LINK-3]
    #[test]
    fn whatever_comes_there_is_an_answer(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let _ = decode(&bytes);
    }

    // [LINK-3]
    #[test]
    fn a_cut_packet_is_refused(frame in owned(), cut in any::<u16>()) {
        let bytes = encode(std::slice::from_ref(&frame));
        let cut = usize::from(cut) % bytes.len();
        if cut > 0 {
            prop_assert_eq!(decode(&bytes[..cut]), Err(FrameError::Truncated));
        }
        // An acknowledgement leaves ranges out instead.
        let mut small = vec![0; if matches!(frame, Owned::Ack(..)) { 0 } else { cut }];
        prop_assert_eq!(frame.write(&mut Writer::new(&mut small)), Err(NoRoom));
    }
}

#[test]
fn each_fault_has_its_error() {
    let message = encode(&[Owned::Message(7, some_head(), vec![1])]);
    let at = |at: usize, byte: u8| {
        let mut bytes = message.clone();
        bytes[at] = byte;
        decode(&bytes).map(|_| ()).unwrap_err()
    };
    assert_eq!(at(0, 200), FrameError::UnknownType(200));
    assert_eq!(at(5, 9), FrameError::UnknownKind(9));
    assert_eq!(at(25, 0xff), FrameError::BadPredecessor);
    let refused = |bytes: &[u8]| decode(bytes).map(|_| ()).unwrap_err();
    assert_eq!(refused(&[6, 2, 0]), FrameError::UnknownClass(2));
    assert_eq!(refused(&[10, 0x40, 1]), FrameError::LongVarint);
    assert_eq!(refused(&[2, 4, 0, 0, 5]), FrameError::AckBelowZero);
    assert_eq!(refused(&[2, 4, 0, 1, 1, 2, 0]), FrameError::AckBelowZero);
    // A fragment of a message of 4 bytes, at 2: none, then three bytes.
    assert_eq!(refused(&[5, 0, 0, 0, 0, 0, 4, 2, 0]), FrameError::BadFragment);
    assert_eq!(refused(&[5, 0, 0, 0, 0, 0, 4, 2, 3, 9, 9, 9]), FrameError::BadFragment);
    // More ranges than the packet can hold.
    assert_eq!(refused(&[2, 4, 0, 0xbf, 0xff, 0xff, 0xff, 0]), FrameError::Truncated);
}

fn some_head() -> Head {
    let (to, from) = (Address { slot: 1, generation: 2 }, Address { slot: 3, generation: 4 });
    let envelope = Envelope { to, from, kind: Kind::Tell, manifest: 5, correlation: 0 };
    Head { envelope, predecessor: 0 }
}

#[test]
fn padding_is_one_frame() {
    let bytes = [0, 0, 0, 0, 1];
    assert_eq!(decode(&bytes), Ok(vec![Frame::Pad, Frame::Ping]));
}
