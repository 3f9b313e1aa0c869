//! In which memory a message lies until it is handed out.

use super::frame::{Frame, Message};
use super::pool::Pool;
use super::wire::Reader;
use greenroom::net::{Bytes, FrameBuf};

/// A packet that came, in memory that whoever took it may be able to spare.
pub trait Lend {
    /// The packet, to be opened in place. Empty once it was lent.
    fn bytes(&mut self) -> &mut [u8];

    /// The packet, to be kept by whoever has a message in it; `None` if its memory cannot be spared.
    fn lend(&mut self) -> Option<Bytes>;
}

/// What anybody has in a buffer is not lent.
impl<T: AsMut<[u8]> + ?Sized> Lend for T {
    fn bytes(&mut self) -> &mut [u8] {
        self.as_mut()
    }

    fn lend(&mut self) -> Option<Bytes> {
        None
    }
}

/// The length of a message from which on it is worth it: to share memory costs as much as to copy some hundred bytes.
const LENT_BYTES_MIN: usize = 1024;

/// Whether a packet has a message in it that is to stay where it is.
pub(crate) fn is_worth_lending(inside: &[u8]) -> bool {
    let mut reader = Reader::new(inside);
    while reader.rest().len() >= LENT_BYTES_MIN {
        match Message::pass_over(&mut reader) {
            Some(len) if len >= LENT_BYTES_MIN as u64 => return true,
            Some(_) => {}
            None if Frame::read(&mut reader).is_err() => return false,
            None => {}
        }
    }
    false
}

/// Where messages are put that came in a packet: into buffers; long ones stay in the packet, if that is lent.
pub(super) struct Payloads<'a> {
    pub(super) pool: &'a mut Pool,
    /// The packet.
    pub(super) lent: Option<&'a Bytes>,
}

impl Payloads<'_> {
    /// What is to be kept of the packet. [RDMA-54]
    #[inline]
    pub(super) fn keep(&mut self, payload: &[u8]) -> FrameBuf {
        match self.lent {
            Some(lent) if payload.len() >= LENT_BYTES_MIN => {
                FrameBuf::lent(lent.slice_ref(payload))
            }
            _ => self.pool.copy(payload).into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::envelope::{Address, Envelope, Kind};
    use super::super::frame::Head;
    use super::super::wire::Writer;
    use super::super::{Config, Ecn, Lane, Time};
    use super::*;
    use proptest::prelude::*;

    /// A packet with messages of these lengths, and with frames between them that say nothing.
    fn packet(first: u32, lens: &[(usize, bool)]) -> Vec<u8> {
        let mut packet = vec![0; lens.len() * 3100 + 1];
        let mut writer = Writer::new(&mut packet);
        let (to, from) = (Address { slot: 1, generation: 0 }, Address::default());
        let envelope = Envelope { to, from, kind: Kind::Tell, manifest: 0, correlation: 0 };
        for (sequence, (len, pads)) in (first..).zip(lens) {
            let payload: Vec<_> = (0..*len).map(|at| (at as u32 + sequence) as u8).collect();
            let head = Head { envelope, predecessor: 0 };
            let message = Message { sequence, head, payload: &payload };
            Frame::Message(message).write(&mut writer).expect("there is room");
            let between = if *pads { Frame::Pad } else { Frame::Ping };
            between.write(&mut writer).expect("there is room");
        }
        let len = writer.written();
        packet.truncate(len);
        packet
    }

    proptest! {
        /// What is passed over is what would be read, whatever is there.
        // [LINK-3]
        #[test]
        fn a_message_is_passed_over_as_it_is_read(
            lens in prop::collection::vec((0..300_usize, any::<bool>()), 1..4),
            harm in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
            cut in any::<prop::sample::Index>(),
        ) {
            let mut bytes = packet(1, &lens);
            harm.into_iter().for_each(|(at, byte)| *at.get_mut(&mut bytes) = byte);
            bytes.truncate(cut.index(bytes.len() + 1));
            let (mut read, mut passed) = (Reader::new(&bytes), Reader::new(&bytes));
            while let Some(Ok(message)) = Message::next(&mut read) {
                prop_assert_eq!(Message::pass_over(&mut passed), Some(message.payload.len() as u64));
                prop_assert_eq!(read.rest(), passed.rest());
            }
        }

        /// Whether a packet is lent changes nothing but where its long messages lie: in it, if it is.
        // [RDMA-54]
        #[test]
        fn long_messages_stay_in_a_packet_that_is_lent(
            packets in prop::collection::vec(
                prop::collection::vec((prop_oneof![0..200_usize, 1000..3000_usize], any::<bool>()), 1..6),
                1..8,
            ),
        ) {
            let lane = || Lane::new(Time::default(), Config::default()).expect("the limits fit together");
            let (mut copied, mut lent) = (lane(), lane());
            let (mut first, mut frames) = (1, [FrameBuf::default(), FrameBuf::default()]);
            for (number, lens) in (0..).zip(&packets) {
                let inside = packet(first, lens);
                first += lens.len() as u32;
                prop_assert_eq!(is_worth_lending(&inside), lens.iter().any(|(len, _)| *len >= 1024));
                copied.on_packet(Time::default(), number, &inside, Ecn::NotCapable);
                let whole = Bytes::from(inside);
                lent.on_packet_lent(Time::default(), number, &whole, Ecn::NotCapable, &whole);
                for (len, _) in lens {
                    let [own, kept] = &mut frames;
                    let deliveries = [copied.poll_message(own), lent.poll_message(kept)];
                    let numbers = deliveries.map(|it| it.map(|delivery| delivery.number));
                    prop_assert!(numbers[0].is_some() && numbers[0] == numbers[1]);
                    prop_assert!(own.len() == *len && own[..] == kept[..]);
                    let (outer, inner) = (whole.as_ptr_range(), kept.as_ptr_range());
                    let lies_in = outer.start <= inner.start && inner.end <= outer.end;
                    prop_assert_eq!(lies_in, *len >= 1024);
                }
            }
        }
    }
}
