//! Secrets and identities: 32 bytes each, and the secret ones are wiped when they are dropped.

use super::identity::agree;
use greenroom::net::NodeId;
use std::fmt;
use std::str::FromStr;
use zeroize::Zeroizing;

/// How many bytes every key here has.
pub const KEY_BYTES: usize = 32;

/// A secret of 32 bytes. It is wiped when dropped and never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Key(Zeroizing<[u8; KEY_BYTES]>);

impl Key {
    /// Takes the bytes over. The caller wipes its own copy.
    #[must_use]
    pub fn new(bytes: [u8; KEY_BYTES]) -> Self {
        Self(Zeroizing::new(bytes))
    }

    /// Returns the bytes, to compute with.
    #[must_use]
    pub fn bytes(&self) -> &[u8; KEY_BYTES] {
        &self.0
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(..)")
    }
}

/// The X25519 public key that names a node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PublicKey(pub [u8; KEY_BYTES]);

impl PublicKey {
    /// The node that has the key. As it is written, so are the first digits of the key.
    #[must_use]
    pub fn node(&self) -> NodeId {
        let [a, b, c, d, e, f, g, h, ..] = self.0;
        NodeId(u64::from_be_bytes([a, b, c, d, e, f, g, h]))
    }
}

/// A text that is no key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a key has 64 hexadecimal digits, and a public one is that of a secret")]
pub struct NotAKey;

/// The bytes that 64 hexadecimal digits stand for.
fn bytes(text: &str) -> Result<[u8; KEY_BYTES], NotAKey> {
    let mut bytes = [0; KEY_BYTES];
    if text.len() != 2 * KEY_BYTES || !text.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return Err(NotAKey);
    }
    for (byte, digits) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
        let digits = std::str::from_utf8(digits).map_err(|_| NotAKey)?;
        *byte = u8::from_str_radix(digits, 16).map_err(|_| NotAKey)?;
    }
    Ok(bytes)
}

impl FromStr for Key {
    type Err = NotAKey;

    /// Reads 64 hexadecimal digits. The caller wipes the text.
    fn from_str(text: &str) -> Result<Self, NotAKey> {
        bytes(text).map(Self::new)
    }
}

impl FromStr for PublicKey {
    type Err = NotAKey;

    /// Reads 64 hexadecimal digits. A point of small order is the key of nobody, and agrees with nobody on a secret. [UDP-35]
    fn from_str(text: &str) -> Result<Self, NotAKey> {
        let key = bytes(text)?;
        agree(&[1; KEY_BYTES], &key).map(|_| Self(key)).ok_or(NotAKey)
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey({self})")
    }
}

impl fmt::Display for PublicKey {
    /// Shows 64 hexadecimal digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_read_as_it_is_shown_and_nothing_else_is() {
        let key = PublicKey(std::array::from_fn(|at| at as u8 * 7));
        let text = key.to_string();
        assert_eq!((text.len(), text.parse()), (64, Ok(key)));
        assert_eq!(text.parse::<Key>().unwrap().bytes(), &key.0);
        for bad in ["", "00", &text[1..], &format!("{text}0"), &text.replace('0', "g")] {
            assert_eq!(bad.parse::<PublicKey>(), Err(NotAKey), "{bad:?}");
        }
        assert!(format!("+{}", &text[1..]).parse::<PublicKey>().is_err());
    }

    /// Points of small order, with and without the bit that is of no account.
    // [UDP-35]
    #[test]
    fn a_key_that_nobody_can_have_is_none() {
        let end = "ff".repeat(30);
        for (first, last) in [("00", "00"), ("01", "00"), ("00", "80")] {
            let text = format!("{first}{}{last}", "00".repeat(30));
            assert_eq!(text.parse::<PublicKey>(), Err(NotAKey), "{text}");
            assert!(text.parse::<Key>().is_ok(), "it is no point");
        }
        for first in ["ec", "ed", "ee"] {
            for last in ["7f", "ff"] {
                let text = format!("{first}{end}{last}");
                assert_eq!(text.parse::<PublicKey>(), Err(NotAKey), "{text}");
            }
        }
        for text in [
            "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
            "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
        ] {
            assert_eq!(text.parse::<PublicKey>(), Err(NotAKey), "{text}");
        }
    }
}
