//! The checkers that are always on in this crate's tests: no key ever seals two packets under one number,
//! whichever node, association or handshake they belong to; and what is secret is known, so that it can be looked for.

use crate::secure::digest;
use crate::secure::key::Key;
use rustc_hash::FxHashSet;
use std::cell::RefCell;
use std::collections::BTreeSet;

/// So many bytes of a secret are as bad as all of it.
pub(crate) const PART_BYTES: usize = 8;

type Parts = FxHashSet<[u8; PART_BYTES]>;

thread_local! {
    static SEALED: RefCell<BTreeSet<([u8; 32], u64)>> = const { RefCell::new(BTreeSet::new()) };
    /// Parts of what nobody may be sent or shown.
    static HIDDEN: RefCell<Parts> = RefCell::default();
    /// Parts of what is sent, in the end, but never shown.
    static UNSHOWN: RefCell<Parts> = RefCell::default();
}

/// A key by its hash.
pub(super) struct Watched([u8; 32]);

impl Watched {
    pub(super) fn new(key: &Key) -> Self {
        hide(key.bytes());
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
    HIDDEN.take();
    UNSHOWN.take();
}

/// Notes a secret that leaves its node in no form.
pub(crate) fn hide(secret: &[u8]) {
    HIDDEN.with_borrow_mut(|parts| parts.extend(parts_of(secret)));
}

/// Notes a secret that is sent to whom it is for.
pub(crate) fn never_show(secret: &[u8]) {
    UNSHOWN.with_borrow_mut(|parts| parts.extend(parts_of(secret)));
}

fn parts_of(secret: &[u8]) -> impl Iterator<Item = [u8; PART_BYTES]> {
    secret.as_chunks().0.iter().copied()
}

/// Whether bytes that leave a node have a part of a secret that must not.
pub(crate) fn is_in(bytes: &[u8]) -> bool {
    HIDDEN.with_borrow(|parts| bytes.windows(PART_BYTES).any(|window| parts.contains(window)))
}

/// All that must not be shown, in parts.
pub(crate) fn unshown() -> Parts {
    let mut all = HIDDEN.with_borrow(Clone::clone);
    UNSHOWN.with_borrow(|parts| all.extend(parts));
    all
}
