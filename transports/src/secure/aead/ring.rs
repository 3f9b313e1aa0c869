//! The cipher by `ring`, in assembly. `ring` gives no way to wipe the key inside its object.

use super::{Aead, Forged, NONCE_BYTES, TAG_BYTES};
use crate::secure::key::Key;
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, Tag, UnboundKey};
use std::fmt;

/// ChaCha20-Poly1305 in assembly.
pub struct ChaCha(LessSafeKey);

impl Aead for ChaCha {
    fn new(key: &Key) -> Self {
        let key = UnboundKey::new(&CHACHA20_POLY1305, key.bytes());
        Self(LessSafeKey::new(key.expect("the key has the cipher's length")))
    }

    fn seal_under(
        &self,
        nonce: [u8; NONCE_BYTES],
        header: &[u8],
        text: &mut [u8],
    ) -> [u8; TAG_BYTES] {
        let nonce = Nonce::assume_unique_for_key(nonce);
        let tag = self.0.seal_in_place_separate_tag(nonce, Aad::from(header), text);
        let tag = tag.expect("a packet is shorter than the cipher's limit");
        let mut bytes = [0; TAG_BYTES];
        bytes.copy_from_slice(tag.as_ref());
        bytes
    }

    fn open_under(
        &self,
        nonce: [u8; NONCE_BYTES],
        header: &[u8],
        text: &mut [u8],
        tag: &[u8; TAG_BYTES],
    ) -> Result<(), Forged> {
        let nonce = Nonce::assume_unique_for_key(nonce);
        let (tag, header) = (Tag::from(*tag), Aad::from(header));
        let opened = self.0.open_in_place_separate_tag(nonce, header, tag, text, 0..);
        opened.map(|_| ()).map_err(|_| Forged)
    }
}

impl fmt::Debug for ChaCha {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ChaCha(..)")
    }
}
