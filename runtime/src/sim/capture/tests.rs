use super::*;
use std::net::Ipv6Addr;

/// The bodies of the blocks of a kind.
fn blocks(mut file: &[u8], wanted: u32) -> Vec<&[u8]> {
    let word = |bytes: &[u8], at| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    let mut found = Vec::new();
    while !file.is_empty() {
        let (kind, len) = (word(file, 0), word(file, 4) as usize);
        assert!(len.is_multiple_of(4), "blocks are aligned");
        assert_eq!(word(file, len - 4) as usize, len, "the length stands at both ends");
        if kind == wanted {
            found.push(&file[8..len - 4]);
        }
        file = &file[len..];
    }
    found
}

#[test]
fn packets_have_their_time_their_place_and_headers() {
    let from = SocketAddr::from(([10, 0, 0, 1], 4000));
    let to = SocketAddr::from(([10, 0, 0, 2], 5000));
    let late = 5 << 32 | 7;
    let mut capture = Capture::new();
    assert!(capture.is_empty());
    capture.add(Seen::Sent, 3, [from, to], Ecn::Congested, b"hello");
    capture.add(Seen::Arrived, late, [from, to], Ecn::NotCapable, b"");
    assert!(!capture.is_empty());
    let file = capture.into_bytes();
    assert_eq!(blocks(&file, SECTION).len(), 1);
    assert_eq!(blocks(&file, INTERFACE).len(), 2);
    let packets = blocks(&file, PACKET);
    let words = |block: &[u8]| {
        let words = block.chunks_exact(4).take(5);
        words.map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect::<Vec<_>>()
    };
    assert_eq!(words(packets[0]), [0, 0, 3, 33, 33]);
    assert_eq!(words(packets[1]), [1, 5, 7, 28, 28]);
    let packet = &packets[0][20..20 + 33];
    assert_eq!(packet[..10], [0x45, 3, 0, 33, 0, 0, 0x40, 0, 64, 17]);
    assert_eq!(checksum(&packet[..20]), 0, "the header's sum is right");
    assert_eq!(packet[12..20], [10, 0, 0, 1, 10, 0, 0, 2]);
    assert_eq!(packet[20..28], [0x0f, 0xa0, 0x13, 0x88, 0, 13, 0, 0]);
    assert_eq!(&packet[28..], b"hello");
}

#[test]
fn addresses_of_two_families_are_both_of_version_6() {
    let from = SocketAddr::from(([10, 0, 0, 1], 1));
    let to = SocketAddr::from((Ipv6Addr::LOCALHOST, 2));
    let packet = packet(from, to, Ecn::Capable0, b"x");
    assert_eq!(packet.len(), 40 + 8 + 1);
    assert_eq!(packet[..8], [0x60, 0x20, 0, 0, 0, 9, 17, 64]);
    assert_eq!(packet[18..24], [0xff, 0xff, 10, 0, 0, 1]);
}
