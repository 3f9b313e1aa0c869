//! What the crate computes with, against the vectors of Wycheproof: what is valid comes out, what is not is refused.
//! How many cases there are of each is counted, so that none is left out unseen.

use super::aead::{self, Aead, Forged, TAG_BYTES, extended};
use super::identity::agree;
use super::key::Key;
use wycheproof::TestResult;
use wycheproof::aead::{Test, TestName, TestSet};
use wycheproof::xdh;

/// How many cases came out, were refused, and ask for what the crate has not.
#[derive(Debug, Default, PartialEq, Eq)]
struct Tally {
    valid: usize,
    refused: usize,
    skipped: usize,
}

/// The cases of a cipher with that nonce. Those with another are skipped: its type leaves no room for them.
fn texts<const NONCE: usize>(
    name: TestName,
    seal: impl Fn(&Key, [u8; NONCE], &[u8], &mut [u8]) -> [u8; TAG_BYTES],
    open: impl Fn(&Key, [u8; NONCE], &[u8], &mut [u8], &[u8; TAG_BYTES]) -> Result<(), Forged>,
) -> Tally {
    let mut tally = Tally::default();
    let groups = TestSet::load(name).unwrap().test_groups;
    for Test { tc_id, key, nonce, aad, pt, ct, tag, result, .. } in
        groups.into_iter().flat_map(|group| group.tests)
    {
        let Ok(nonce) = nonce[..].try_into() else {
            tally.skipped += 1;
            continue;
        };
        let key = Key::new(key[..].try_into().unwrap());
        let mut text = ct.to_vec();
        let opened = open(&key, nonce, &aad, &mut text, tag[..].try_into().unwrap());
        if result == TestResult::Invalid {
            assert_eq!(opened, Err(Forged), "case {tc_id}");
            tally.refused += 1;
            continue;
        }
        assert_eq!((opened, &text[..]), (Ok(()), &pt[..]), "case {tc_id}");
        let made = seal(&key, nonce, &aad, &mut text);
        assert_eq!((&text[..], &made[..]), (&ct[..], &tag[..]), "case {tc_id}");
        tally.valid += 1;
    }
    tally
}

fn packets<A: Aead>() -> Tally {
    texts(
        TestName::ChaCha20Poly1305,
        |key, nonce, header, text| A::new(key).seal_under(nonce, header, text),
        |key, nonce, header, text, tag| A::new(key).open_under(nonce, header, text, tag),
    )
}

/// [UDP-13]
#[test]
fn chacha_in_rust_does_as_wycheproof_says() {
    let tally = packets::<aead::rust_crypto::ChaCha>();
    assert_eq!(tally, Tally { valid: 256, refused: 60, skipped: 9 });
}

/// [UDP-14]
#[cfg(feature = "ring")]
#[test]
fn chacha_by_ring_does_as_wycheproof_says() {
    let tally = packets::<aead::ring::ChaCha>();
    assert_eq!(tally, Tally { valid: 256, refused: 60, skipped: 9 });
}

/// [UDP-22]
#[test]
fn xchacha_does_as_wycheproof_says() {
    let tally = texts(
        TestName::XChaCha20Poly1305,
        |key, nonce, header, text| extended::seal(key, &nonce, header, text),
        |key, nonce, header, text, tag| extended::open(key, &nonce, header, text, tag),
    );
    assert_eq!(tally, Tally { valid: 246, refused: 60, skipped: 9 });
}

/// Wycheproof leaves open whether a result of zero is refused, which it is here, and whether points are that are
/// not reduced or on the twist, which they are not.
#[test]
fn x25519_does_as_wycheproof_says() {
    let mut tally = Tally::default();
    let groups = xdh::TestSet::load(xdh::TestName::X25519).unwrap().test_groups;
    for case in groups.into_iter().flat_map(|group| group.tests) {
        let secret = case.private_key[..].try_into().unwrap();
        let shared = agree(secret, case.public_key[..].try_into().unwrap());
        if case.flags.contains(&xdh::TestFlag::ZeroSharedSecret) {
            assert_eq!(shared, None, "case {}", case.tc_id);
            tally.refused += 1;
        } else {
            assert_eq!(shared.unwrap(), case.shared_secret[..], "case {}", case.tc_id);
            tally.valid += 1;
        }
    }
    assert_eq!(tally, Tally { valid: 487, refused: 31, skipped: 0 });
}

/// ML-KEM-768. The vectors of secret keys that are not seeds are left out: here every secret key is one.
#[cfg(feature = "pq")]
mod mlkem {
    use super::Tally;
    use crate::secure::kem::{Malformed, Secret, encapsulate};
    use wycheproof::mlkem::{Test, TestName, TestSet};
    use wycheproof::{ByteString, TestResult};

    fn cases(name: TestName) -> impl Iterator<Item = Test> {
        TestSet::load(name).unwrap().test_groups.into_iter().flat_map(|group| group.tests)
    }

    fn given(bytes: Option<&ByteString>) -> &[u8] {
        bytes.unwrap()
    }

    /// A seed of another length is skipped: its type leaves no room for it.
    #[test]
    fn texts_open_as_wycheproof_says() {
        let mut tally = Tally::default();
        for Test { tc_id, seed, encaps_key, ct, shared_secret, result, .. } in
            cases(TestName::MlKem768)
        {
            let Ok(seed) = given(seed.as_ref()).try_into() else {
                tally.skipped += 1;
                continue;
            };
            let secret = Secret::from_seed(seed);
            assert_eq!(secret.public(), given(encaps_key.as_ref()), "case {tc_id}");
            let opened = secret.open(given(ct.as_ref()));
            if result == TestResult::Invalid {
                assert_eq!(opened, Err(Malformed), "case {tc_id}");
                tally.refused += 1;
            } else {
                assert_eq!(opened.unwrap().bytes(), given(shared_secret.as_ref()), "case {tc_id}");
                tally.valid += 1;
            }
        }
        assert_eq!(tally, Tally { valid: 161, refused: 20, skipped: 20 });
    }

    #[test]
    fn keys_are_encapsulated_as_wycheproof_says() {
        let mut tally = Tally::default();
        for Test { tc_id, encaps_key, msg, ct, shared_secret, result, .. } in
            cases(TestName::MlKem768Encaps)
        {
            let random = given(msg.as_ref()).try_into().unwrap();
            let made = encapsulate(given(encaps_key.as_ref()), random);
            if result == TestResult::Invalid {
                assert_eq!(made, Err(Malformed), "case {tc_id}");
                tally.refused += 1;
            } else {
                let (key, text) = made.unwrap();
                assert_eq!(key.bytes(), given(shared_secret.as_ref()), "case {tc_id}");
                assert_eq!(text, given(ct.as_ref()), "case {tc_id}");
                tally.valid += 1;
            }
        }
        assert_eq!(tally, Tally { valid: 133, refused: 132, skipped: 0 });
    }

    #[test]
    fn keys_are_made_as_wycheproof_says() {
        let mut tally = Tally::default();
        for Test { tc_id, seed, encaps_key, .. } in cases(TestName::MlKem768KeyGenSeed) {
            let secret = Secret::from_seed(given(seed.as_ref()).try_into().unwrap());
            assert_eq!(secret.public(), given(encaps_key.as_ref()), "case {tc_id}");
            tally.valid += 1;
        }
        assert_eq!(tally, Tally { valid: 100, ..Tally::default() });
    }
}
