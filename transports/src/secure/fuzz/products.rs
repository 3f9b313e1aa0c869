//! Products on the curve that are known from inputs before. Seeds are few, so nearly all keys come again, and a product takes
//! longer than all else that is done for a datagram.

use crate::secure::identity;
use crate::secure::key::KEY_BYTES;
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::hash::Hash;

type Bytes = [u8; KEY_BYTES];

/// Products that are known at most; then all are forgotten.
const KNOWN_MAX: usize = 1 << 16;

thread_local! {
    static SHARED: RefCell<FxHashMap<(Bytes, Bytes), Option<Bytes>>> = RefCell::default();
    static PUBLIC: RefCell<FxHashMap<Bytes, Bytes>> = RefCell::default();
}

/// As [`identity::agree`].
pub(crate) fn agree(secret: &Bytes, public: &Bytes) -> Option<Bytes> {
    SHARED.with_borrow_mut(|known| {
        look_up(known, (*secret, *public), || identity::agree(secret, public))
    })
}

/// As [`identity::public_of`].
pub(crate) fn public_of(secret: &Bytes) -> Bytes {
    PUBLIC.with_borrow_mut(|known| look_up(known, *secret, || identity::public_of(secret)))
}

fn look_up<K: Eq + Hash, V: Copy>(
    known: &mut FxHashMap<K, V>,
    of: K,
    product: impl FnOnce() -> V,
) -> V {
    if known.len() >= KNOWN_MAX {
        known.clear();
    }
    *known.entry(of).or_insert_with(product)
}
