use super::*;
use shake::Shake128;
use shake::digest::{ExtendableOutput, Update, XofReader};

/// A hundred rounds of the vectors that Go's `crypto/mlkem` accumulates (`TestAccumulated`, short form):
/// SHAKE128 of nothing gives, round by round, a seed, the randomness of an encapsulation, and a text that
/// is no ciphertext; all that comes out of them goes into another SHAKE128, whose first bytes are these.
#[test]
fn the_accumulated_vectors_come_out() {
    const EXPECTED: [u8; 32] = [
        0x11, 0x14, 0xb1, 0xb6, 0x69, 0x9e, 0xd1, 0x91, 0x73, 0x4f, 0xa3, 0x39, 0x37, 0x6a, 0xfa,
        0x7e, 0x28, 0x5c, 0x9e, 0x6a, 0xcf, 0x6f, 0xf0, 0x17, 0x7d, 0x34, 0x66, 0x96, 0xce, 0x56,
        0x44, 0x15,
    ];
    let mut stream = Shake128::default().finalize_xof();
    let mut all = Shake128::default();
    for _ in 0..100 {
        let (mut seed, mut random, mut text) = ([0; 64], [0; 32], [0; KEM_TEXT_BYTES]);
        stream.read(&mut seed);
        let secret = Secret::from_seed(&seed);
        all.update(&secret.public());
        stream.read(&mut random);
        let (key, sealed) = encapsulate(&secret.public(), &random).unwrap();
        all.update(&sealed);
        all.update(key.bytes());
        assert_eq!(secret.open(&sealed), Ok(key));
        stream.read(&mut text);
        all.update(secret.open(&text).unwrap().bytes());
    }
    let mut digest = [0; 32];
    all.finalize_xof().read(&mut digest);
    assert_eq!(digest, EXPECTED);
}

#[test]
fn what_is_no_key_or_ciphertext_is_refused() {
    let secret = Secret::from_seed(&[3; 64]);
    let public = secret.public();
    assert!(encapsulate(&public[1..], &[0; 32]).is_err());
    assert_eq!(secret.open(&[0; KEM_TEXT_BYTES - 1]), Err(Malformed));
}

/// FIPS 203, section 7.2: a key with a coefficient that is not reduced is none, wherever it stands.
#[test]
fn a_key_with_any_coefficient_that_is_not_reduced_is_refused() {
    const MODULUS: u16 = 3329;
    let public = Secret::from_seed(&[3; 64]).public();
    for place in 0..768_usize {
        let unreduced = [MODULUS, 4095, MODULUS + (place as u16 % 766)][place % 3];
        let at = place / 2 * 3;
        let mut key = public;
        if place % 2 == 0 {
            key[at] = unreduced as u8;
            key[at + 1] = key[at + 1] & 0xF0 | (unreduced >> 8) as u8;
        } else {
            key[at + 1] = key[at + 1] & 0x0F | ((unreduced & 0x0F) << 4) as u8;
            key[at + 2] = (unreduced >> 4) as u8;
        }
        assert_eq!(encapsulate(&key, &[0; 32]).err(), Some(Malformed), "coefficient {place}");
    }
}

/// FIPS 203, section 6.3: a text that was altered gives another key, the same each time, and no error.
#[test]
fn an_altered_text_gives_a_key_that_nobody_has() {
    let secret = Secret::from_seed(&[3; 64]);
    let (key, sealed) = encapsulate(&secret.public(), &[7; 32]).unwrap();
    for bit in (0..sealed.len() * 8).step_by(97) {
        let mut altered = sealed;
        altered[bit / 8] ^= 1 << (bit % 8);
        let opened = secret.open(&altered).unwrap();
        assert!(opened != key && Ok(opened) == secret.open(&altered), "bit {bit}");
    }
    assert_eq!(secret.open(&sealed), Ok(key));
}
