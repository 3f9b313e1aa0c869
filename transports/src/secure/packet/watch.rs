//! The checker that is always on in this crate's tests: no key ever seals two packets under one number,
//! whichever node, association or handshake they belong to.

use crate::secure::digest;
use crate::secure::key::Key;
use std::cell::RefCell;
use std::collections::BTreeSet;

thread_local! {
    static SEALED: RefCell<BTreeSet<([u8; 32], u64)>> = const { RefCell::new(BTreeSet::new()) };
    static KEYS: RefCell<BTreeSet<[u8; 32]>> = const { RefCell::new(BTreeSet::new()) };
}

/// A key by its hash.
pub(super) struct Watched([u8; 32]);

impl Watched {
    pub(super) fn new(key: &Key) -> Self {
        KEYS.with_borrow_mut(|keys| keys.insert(*key.bytes()));
        Self(digest::hash(&[key.bytes()]))
    }

    /// [UDP-10]
    pub(super) fn seals(&self, number: u64) {
        let fresh = SEALED.with_borrow_mut(|sealed| sealed.insert((self.0, number)));
        assert!(fresh, "number {number} is used twice under one key");
    }
}

/// Forgets everything: what follows is another world, in which the same seeds give the same keys.
pub(crate) fn forget() {
    SEALED.take();
    KEYS.take();
}

/// All keys that were to seal something since.
pub(crate) fn keys() -> BTreeSet<[u8; 32]> {
    KEYS.with_borrow(Clone::clone)
}
