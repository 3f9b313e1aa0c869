//! ChaCha20-Poly1305 (RFC 8439), in place, by one of two libraries that give the same bytes.
//!
//! Nothing but the feature `ring` decides which of them is [`Cipher`]: pure Rust without it, `ring` with
//! it. A nonce is a counter; that none is used twice under a key is the business of the caller.

#[cfg(feature = "ring")]
pub mod ring;
pub mod rust_crypto;
#[cfg(test)]
mod tests;

use super::key::Key;

/// How many bytes a tag has.
pub const TAG_BYTES: usize = 16;

/// The cipher of this build.
#[cfg(not(feature = "ring"))]
pub type Cipher = rust_crypto::ChaCha;
/// The cipher of this build.
#[cfg(feature = "ring")]
pub type Cipher = ring::ChaCha;

/// A text was not sealed under this key, nonce and header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the tag does not fit")]
pub struct Forged;

/// Seals and opens texts under one key, in place. Neither call allocates.
pub trait Aead: Sized {
    /// Expands a key.
    fn new(key: &Key) -> Self;

    /// Encrypts `text` and returns the tag over it and `header`. The nonce is four zero bytes and the
    /// counter in little endian; under one key it is never used again.
    fn seal(&self, counter: u64, header: &[u8], text: &mut [u8]) -> [u8; TAG_BYTES];

    /// Decrypts `text` if the tag fits it and `header`.
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
    ) -> Result<(), Forged>;
}

/// The nonce of a counter.
fn nonce(counter: u64) -> [u8; 12] {
    let mut nonce = [0; 12];
    nonce[4..].copy_from_slice(&counter.to_le_bytes());
    nonce
}
