//! BLAKE2s (RFC 7693), plain and keyed: the one hash of this protocol. It makes codes, cookies, reset
//! tokens and keys, each under a label of its own.

use super::key::{KEY_BYTES, Key};
use blake2::digest::consts::{U16, U32};
use blake2::digest::{Digest, KeyInit, Mac};
use blake2::{Blake2s256, Blake2sMac};

/// How many bytes a code has.
pub(crate) const CODE_BYTES: usize = 16;

/// The hash of the parts, one after the other.
pub(crate) fn hash(parts: &[&[u8]]) -> [u8; KEY_BYTES] {
    let mut state = Blake2s256::new();
    parts.iter().for_each(|part| state.update(part));
    state.finalize().into()
}

/// A key from a key: what only its holder can tell from random bytes. The label comes first, so that keys
/// for different uses differ.
pub(crate) fn derive(key: &Key, label: &[u8], parts: &[&[u8]]) -> Key {
    let mut state = Blake2sMac::<U32>::new(key.bytes().into());
    state.update(label);
    parts.iter().for_each(|part| state.update(part));
    Key::new(state.finalize().into_bytes().into())
}

/// A code over the parts that only a holder of the key can make.
pub(crate) fn code(key: &Key, parts: &[&[u8]]) -> [u8; CODE_BYTES] {
    keyed(key, parts).finalize().into_bytes().into()
}

/// Whether a code fits the parts, in a time that does not depend on where it differs.
pub(crate) fn fits(key: &Key, parts: &[&[u8]], code: &[u8]) -> bool {
    keyed(key, parts).verify_slice(code).is_ok()
}

fn keyed(key: &Key, parts: &[&[u8]]) -> Blake2sMac<U16> {
    let mut state =
        Blake2sMac::<U16>::new_from_slice(key.bytes()).expect("a key fits a BLAKE2s block");
    parts.iter().for_each(|part| state.update(part));
    state
}

#[cfg(test)]
mod tests;
