//! XChaCha20-Poly1305, in place: a nonce of 24 bytes may be drawn, and none comes up twice.

use super::{Forged, TAG_BYTES};
use crate::secure::key::Key;
use chacha20poly1305::aead::{AeadInOut, KeyInit};
use chacha20poly1305::{Tag, XChaCha20Poly1305, XNonce};

/// How many bytes a nonce has.
pub(crate) const NONCE_BYTES: usize = 24;

/// Encrypts `text` and returns the tag over it and `header`.
pub(crate) fn seal(
    key: &Key,
    nonce: &[u8; NONCE_BYTES],
    header: &[u8],
    text: &mut [u8],
) -> [u8; TAG_BYTES] {
    let cipher = XChaCha20Poly1305::new(key.bytes().into());
    // It refuses texts of 256 GiB, which none is.
    let tag = cipher.encrypt_inout_detached(&XNonce::from(*nonce), header, text.into());
    tag.expect("a text is shorter than the cipher's limit").into()
}

/// Decrypts `text` if the tag fits it and `header`; else what it then holds is not defined.
pub(crate) fn open(
    key: &Key,
    nonce: &[u8; NONCE_BYTES],
    header: &[u8],
    text: &mut [u8],
    tag: &[u8; TAG_BYTES],
) -> Result<(), Forged> {
    let cipher = XChaCha20Poly1305::new(key.bytes().into());
    let (nonce, tag) = (XNonce::from(*nonce), Tag::from(*tag));
    cipher.decrypt_inout_detached(&nonce, header, text.into(), &tag).map_err(|_| Forged)
}
