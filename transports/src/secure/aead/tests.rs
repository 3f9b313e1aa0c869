use super::*;
use proptest::prelude::*;

fn key(seed: u8) -> Key {
    Key::new(std::array::from_fn(|at| seed.wrapping_mul(31).wrapping_add(at as u8)))
}

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<_> = hex.bytes().filter(u8::is_ascii_hexdigit).collect();
    let pair = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.chunks(2).map(pair).collect()
}

fn seals_and_opens<A: Aead>(
    text: &[u8],
    header: &[u8],
    counter: u64,
) -> (Vec<u8>, [u8; TAG_BYTES]) {
    let cipher = A::new(&key(7));
    let mut packet = text.to_vec();
    let tag = cipher.seal(counter, header, &mut packet);
    let mut opened = packet.clone();
    cipher.open(counter, header, &mut opened, &tag).unwrap();
    assert_eq!(opened, text);
    (packet, tag)
}

/// The example of RFC 8439, section 2.8.2, has a nonce whose first four bytes are not zero; that of its
/// appendix A.5 has, and opens to the text that is given there.
#[test]
fn what_rfc_8439_sealed_opens() {
    let key = bytes("1c9240a5eb55d38af333888604f6b5f0473917c1402b80099dca5cbc207075c0");
    let key = Key::new(key.try_into().unwrap());
    let header = bytes("f33388860000000000004e91");
    let counter = u64::from_le_bytes(bytes("0102030405060708").try_into().unwrap());
    let mut text = bytes(
        "64a0861575861af460f062c79be643bd5e805cfd345cf389f108670ac76c8cb24c6cfc18755d43eea09ee94e382d26b0
         bdb7b73c321b0100d4f03b7f355894cf332f830e710b97ce98c8a84abd0b948114ad176e008d33bd60f982b1ff37c855
         9797a06ef4f0ef61c186324e2b3506383606907b6a7c02b0f9f6157b53c867e4b9166c767b804d46a59b5216cde7a4e9
         9040c5a40433225ee282a1b0a06c523eaf4534d7f83fa1155b0047718cbc546a0d072b04b3564eea1b422273f548271a
         0bb2316053fa76991955ebd63159434ecebb4e466dae5a1073a6727627097a1049e617d91d361094fa68f0ff77987130
         305beaba2eda04df997b714d6c6f2c29a6ad5cb4022b02709b",
    );
    let tag = bytes("eead9d67890cbb22392336fea1851f38").try_into().unwrap();
    Cipher::new(&key).open(counter, &header, &mut text, &tag).unwrap();
    assert!(
        text.starts_with(b"Internet-Drafts are draft documents valid for a maximum of six months")
    );
    assert!(text.ends_with("as /\u{201c}work in progress./\u{201d}".as_bytes()));
}

#[test]
fn an_empty_text_is_sealed_by_its_tag_alone() {
    let (text, _) = seals_and_opens::<Cipher>(&[], b"header", 0);
    assert!(text.is_empty());
}

#[test]
fn a_key_is_not_shown() {
    let shown = format!("{:?} {:?}", key(1), Cipher::new(&key(1)));
    assert_eq!(shown, "Key(..) ChaCha(..)");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// [UDP-13]
    #[test]
    fn whatever_is_altered_does_not_open(
        text in proptest::collection::vec(any::<u8>(), 1..200),
        header: [u8; 16],
        counter: u64,
        bit in any::<usize>(),
    ) {
        let (packet, tag) = seals_and_opens::<Cipher>(&text, &header, counter);
        let mut all = [&header[..], &packet, &tag].concat();
        let bit = bit % (all.len() * 8);
        all[bit / 8] ^= 1 << (bit % 8);
        let (header, rest) = all.split_at_mut(16);
        let (packet, tag) = rest.split_at_mut(text.len());
        let tag = (&*tag).try_into().unwrap();
        let cipher = Cipher::new(&key(7));
        prop_assert_eq!(cipher.open(counter, header, packet, tag), Err(Forged));
    }
}

#[cfg(feature = "ring")]
proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// [UDP-14] Both libraries seal alike, and each opens what the other sealed.
    #[test]
    fn both_libraries_give_the_same_bytes(
        length in prop_oneof![0..256_usize, 0..4_096_usize, 0..=65_536_usize],
        header in proptest::collection::vec(any::<u8>(), 0..40),
        counter: u64,
        seed: u64,
    ) {
        let byte = |at: usize| (seed.wrapping_mul(at as u64 | 1) >> 32) as u8;
        let text: Vec<_> = (0..length).map(byte).collect();
        let one = seals_and_opens::<ring::ChaCha>(&text, &header, counter);
        let (mut packet, tag) = seals_and_opens::<rust_crypto::ChaCha>(&text, &header, counter);
        prop_assert!(one == (packet.clone(), tag));
        ring::ChaCha::new(&key(7)).open(counter, &header, &mut packet, &tag).unwrap();
        prop_assert!(packet == text);
    }
}

/// About the lengths where blocks end, and that of the longest datagram of a loopback: both libraries, in the
/// middle of a buffer of which nothing else is touched. [UDP-14]
#[cfg(feature = "ring")]
#[test]
fn texts_are_sealed_where_they_lie_and_nothing_beside_them() {
    for length in [0, 1, 15, 16, 17, 63, 64, 65, 127, 128, 1_400, 16 << 10] {
        for (header, counter) in [(&b""[..], 0), (b"header", 1), (&[9; 300], u64::MAX)] {
            let buffer: Vec<u8> = (0..length + 20).map(|at| at as u8).collect();
            let (mut one, mut other) = (buffer.clone(), buffer.clone());
            let text = 7..7 + length;
            let (ours, rings) = (rust_crypto::ChaCha::new(&key(7)), ring::ChaCha::new(&key(7)));
            let tag = ours.seal(counter, header, &mut one[text.clone()]);
            assert_eq!(tag, rings.seal(counter, header, &mut other[text.clone()]));
            assert!(one == other, "{length} bytes");
            assert!(one[..7] == buffer[..7] && one[7 + length..] == buffer[7 + length..]);
            rings.open(counter, header, &mut one[text.clone()], &tag).unwrap();
            ours.open(counter, header, &mut other[text], &tag).unwrap();
            assert!(one == buffer && other == buffer, "{length} bytes");
        }
    }
}

#[cfg(feature = "ring")]
proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// What is altered, cut, lengthened, or opened under another number or header is forged for both.
    #[test]
    fn both_libraries_refuse_the_same(
        length in prop_oneof![0..80_usize, Just(16 << 10)],
        counter: u64,
        misuse in 0..6_u8,
        place: usize,
    ) {
        let cipher = rust_crypto::ChaCha::new(&key(7));
        let (mut packet, mut header) = (vec![3; length], b"some header".to_vec());
        let mut tag = cipher.seal(counter, &header, &mut packet);
        let mut number = counter;
        match misuse {
            0 => tag[place % TAG_BYTES] ^= 1 << (place % 8),
            1 => number ^= 1 << (place % 64),
            2 => header.truncate(place % header.len()),
            3 => packet.push(0),
            4 if length > 0 => packet.truncate(place % length),
            _ => header[place % 11] ^= 0x80,
        }
        let mut other = packet.clone();
        prop_assert_eq!(cipher.open(number, &header, &mut packet, &tag), Err(Forged));
        let rings = ring::ChaCha::new(&key(7));
        prop_assert_eq!(rings.open(number, &header, &mut other, &tag), Err(Forged));
    }
}
