use super::*;
use crate::secure::wire::Kind;

fn pair() -> (Sealer, Opener) {
    let key = || Key::new([9; 32]);
    (Sealer::new(&key(), 3, 0xAABB_CCDD, 0), Opener::new(&key()))
}

fn sealed(sealer: &mut Sealer, text: &[u8]) -> Vec<u8> {
    let mut packet = vec![0; text.len() + OVERHEAD_BYTES];
    packet[16..16 + text.len()].copy_from_slice(text);
    sealer.seal(&mut packet).unwrap();
    packet
}

fn open(opener: &mut Opener, packet: &mut [u8]) -> Result<Opened, Reject> {
    let header = DataHeader::decode(packet)?;
    opener.open(&header, packet)
}

#[test]
fn a_packet_opens_once_and_where_it_lies() {
    let (mut sealer, mut opener) = pair();
    let packet = sealed(&mut sealer, b"a message");
    assert_eq!(Kind::of(&packet), Ok(Kind::Data));
    let mut copy = packet.clone();
    let opened = open(&mut opener, &mut copy).unwrap();
    assert_eq!((opened.number, opened.newest), (0, true));
    assert_eq!(&copy[opened.text], b"a message");
    assert_eq!(open(&mut opener, &mut packet.clone()), Err(Reject::Replayed));
    assert_eq!(opener.forgeries(), 0);
}

/// [UDP-11]: what is altered or cut is rejected, and the true packet still opens.
#[test]
fn no_altered_or_cut_packet_opens_or_moves_the_window() {
    let (mut sealer, mut opener) = pair();
    let packet = sealed(&mut sealer, b"text");
    let before = opener.window().clone();
    for bit in 0..packet.len() * 8 {
        let mut altered = packet.clone();
        altered[bit / 8] ^= 1 << (bit % 8);
        assert!(open(&mut opener, &mut altered).is_err(), "bit {bit}");
        assert_eq!(opener.window(), &before, "bit {bit}");
    }
    for length in 0..packet.len() {
        assert!(open(&mut opener, &mut packet[..length].to_vec()).is_err(), "{length} bytes");
        assert_eq!(opener.window(), &before);
    }
    assert!(open(&mut opener, &mut packet.clone()).is_ok());
}

/// [UDP-10]
#[test]
fn a_number_is_used_once_and_none_beyond_the_last() {
    let (mut sealer, mut opener) = pair();
    let mut packet = vec![0; 40];
    sealer.seal_as(5, &mut packet).unwrap();
    assert_eq!(sealer.seal_as(5, &mut packet.clone()), Err(SealError::Used));
    assert_eq!(sealer.seal_as(4, &mut packet.clone()), Err(SealError::Used));
    assert_eq!(sealer.next(), 6);
    assert_eq!(open(&mut opener, &mut packet).unwrap().number, 5);

    sealer.seal_as(NUMBER_MAX - 1, &mut packet).unwrap();
    assert!(open(&mut opener, &mut packet).is_ok());
    assert_eq!(sealer.seal(&mut packet), Err(SealError::Exhausted));
    assert_eq!(sealer.seal(&mut [0; 31]), Err(SealError::Exhausted));
    let header = DataHeader { lane: 3, index: 1, number: NUMBER_MAX };
    assert_eq!(opener.open(&header, &mut packet), Err(Reject::Number));
}

#[test]
fn what_has_no_room_for_a_header_and_a_tag_is_not_sealed() {
    let (mut sealer, _) = pair();
    for length in 0..OVERHEAD_BYTES {
        let mut packet = vec![0xEE; length];
        assert_eq!(sealer.seal(&mut packet), Err(SealError::Short));
        assert!(packet.iter().all(|&byte| byte == 0xEE));
    }
    assert_eq!(sealer.seal(&mut [0; OVERHEAD_BYTES]), Ok(0));
}

/// The wire by hand: what a packet looks like does not change. [UDP-2]
#[test]
fn a_packet_looks_as_it_always_has() {
    let mut sealer =
        Sealer::new(&Key::new(*b"0123456789abcdef0123456789abcdef"), 2, 0x0403_0201, 0x1122);
    let packet = sealed(&mut sealer, b"greenroom");
    assert_eq!(packet[..16], [0x40, 2, 0, 0, 1, 2, 3, 4, 0x22, 0x11, 0, 0, 0, 0, 0, 0]);
    assert_eq!(packet.len(), 16 + 9 + 16);
}
