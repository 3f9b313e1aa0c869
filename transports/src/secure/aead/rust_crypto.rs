//! The cipher by `chacha20poly1305`, in pure Rust. Its key is wiped when it is dropped.

use super::{Aead, Forged, NONCE_BYTES, TAG_BYTES};
use crate::secure::key::Key;
use chacha20poly1305::aead::{AeadInOut, KeyInit};
use chacha20poly1305::{ChaCha20Poly1305, Nonce, Tag};
use std::fmt;

/// ChaCha20-Poly1305 in pure Rust.
pub struct ChaCha(ChaCha20Poly1305);

impl Aead for ChaCha {
    fn new(key: &Key) -> Self {
        Self(ChaCha20Poly1305::new(key.bytes().into()))
    }

    fn seal_under(
        &self,
        nonce: [u8; NONCE_BYTES],
        header: &[u8],
        text: &mut [u8],
    ) -> [u8; TAG_BYTES] {
        let nonce = Nonce::from(nonce);
        // It refuses texts of 256 GiB, which no packet is.
        let tag = self.0.encrypt_inout_detached(&nonce, header, text.into());
        tag.expect("a packet is shorter than the cipher's limit").into()
    }

    fn open_under(
        &self,
        nonce: [u8; NONCE_BYTES],
        header: &[u8],
        text: &mut [u8],
        tag: &[u8; TAG_BYTES],
    ) -> Result<(), Forged> {
        let nonce = Nonce::from(nonce);
        let opened = self.0.decrypt_inout_detached(&nonce, header, text.into(), &Tag::from(*tag));
        opened.map_err(|_| Forged)
    }
}

impl fmt::Debug for ChaCha {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ChaCha(..)")
    }
}
