//! ChaCha20-Poly1305 (RFC 8439), in place, by one of two libraries that give the same bytes. [UDP-14]
//!
//! Nothing but the feature `ring` decides which of them is [`Cipher`]: pure Rust without it, `ring` with
//! it. A nonce is a counter; that none is used twice under a key is the business of the caller. Cookies are
//! sealed by XChaCha20-Poly1305, whose nonces are long enough to be drawn.

pub(crate) mod extended;
#[cfg(feature = "ring")]
pub mod ring;
pub mod rust_crypto;
#[cfg(test)]
mod tests;

use super::key::Key;

/// How many bytes a tag has.
pub const TAG_BYTES: usize = 16;
/// How many bytes a nonce has.
pub const NONCE_BYTES: usize = 12;

/// The cipher of this build.
#[cfg(not(feature = "ring"))]
pub type Cipher = rust_crypto::ChaCha;
/// The cipher of this build.
#[cfg(feature = "ring")]
pub type Cipher = ring::ChaCha;

/// A text was not sealed under this key, nonce and header. [UDP-13]
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the tag does not fit")]
pub struct Forged;

/// Seals and opens texts under one key, in place. No call allocates.
pub trait Aead: Sized {
    /// Expands a key.
    fn new(key: &Key) -> Self;

    /// Encrypts `text` and returns the tag over it and `header`. Under one key a nonce is never used again.
    fn seal_under(
        &self,
        nonce: [u8; NONCE_BYTES],
        header: &[u8],
        text: &mut [u8],
    ) -> [u8; TAG_BYTES];

    /// Decrypts `text` if the tag fits it and `header`.
    ///
    /// # Errors
    ///
    /// [`Forged`] if the tag does not fit. What `text` then holds is not defined.
    fn open_under(
        &self,
        nonce: [u8; NONCE_BYTES],
        header: &[u8],
        text: &mut [u8],
        tag: &[u8; TAG_BYTES],
    ) -> Result<(), Forged>;

    /// Encrypts under a counter: the nonce is four zero bytes and the counter in little endian.
    fn seal(&self, counter: u64, header: &[u8], text: &mut [u8]) -> [u8; TAG_BYTES] {
        self.seal_under(nonce(counter), header, text)
    }

    /// Decrypts what was sealed under a counter.
    ///
    /// # Errors
    ///
    /// [`Forged`] if the tag does not fit. What `text` then holds is not defined.
    fn open(
        &self,
        counter: u64,
        header: &[u8],
        text: &mut [u8],
        tag: &[u8; TAG_BYTES],
    ) -> Result<(), Forged> {
        self.open_under(nonce(counter), header, text, tag)
    }
}

/// The nonce of a counter.
fn nonce(counter: u64) -> [u8; NONCE_BYTES] {
    let mut nonce = [0; NONCE_BYTES];
    nonce[4..].copy_from_slice(&counter.to_le_bytes());
    nonce
}
