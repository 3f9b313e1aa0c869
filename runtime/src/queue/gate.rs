//! A gate: who is inside is counted and listed, until it is sealed and the last one has left.
//!
//! The lists are the caller's, each behind a lock. Steps:
//! 1. Who enters locks its list, counts itself by a read-modify-write, and lists itself before it
//!    unlocks ([`Gate::enter`]).
//! 2. Who seals does so by a read-modify-write on the same word ([`Gate::seal`]), and then walks the
//!    lists.
//!
//! Why nobody is missed: one of the two comes first. If it was the seal, who enters sees it, and does
//! not. Otherwise the list was locked already, so the walk comes to it after the one who entered.

use crate::sync::{AtomicUsize, CachePadded, Ordering, planted};

/// Nobody may enter any more.
const SEALED: usize = 1 << (usize::BITS - 1);
/// The last one to leave ends what the gate belongs to.
const ORPHANED: usize = 1 << (usize::BITS - 2);
const FLAGS: usize = SEALED | ORPHANED;

/// What is left behind by one who leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leave {
    /// Others, or the gate is open to others.
    Others,
    /// Nobody, and nobody will come.
    Nobody,
    /// The same, and the caller is to end what the gate belongs to.
    Orphan,
}

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct Gate(CachePadded<AtomicUsize>);

impl Gate {
    pub(crate) fn new() -> Self {
        Self(CachePadded(AtomicUsize::new(0)))
    }

    /// Enters, and notes it in a list, which `lock` locks.
    ///
    /// # Errors
    /// What leaving again leaves behind, when the gate is sealed.
    pub(crate) fn enter<L>(
        &self,
        lock: impl Fn() -> L,
        note: impl FnOnce(&mut L),
    ) -> Result<(), Leave> {
        let mut listed = planted!("gate-unlocked": Some(lock()) => None);
        // AcqRel: the rendezvous with `seal`.
        if self.0.fetch_add(1, Ordering::AcqRel) & SEALED != 0 {
            drop(listed);
            return Err(self.leave());
        }
        note(listed.get_or_insert_with(lock));
        Ok(())
    }

    /// Leaves. The list must have forgotten the caller.
    pub(crate) fn leave(&self) -> Leave {
        // AcqRel: releases what was done inside to `count` and to who leaves last, and is the rendezvous with `orphan`.
        let order = planted!("gate-leave-relaxed": Ordering::AcqRel => Ordering::Relaxed);
        match self.0.fetch_sub(1, order) {
            before if before & !FLAGS != 1 || before & SEALED == 0 => Leave::Others,
            before if before & ORPHANED == 0 => Leave::Nobody,
            _ => Leave::Orphan,
        }
    }

    /// Lets nobody else in.
    pub(crate) fn seal(&self) {
        // AcqRel: the rendezvous with `enter`.
        self.0.fetch_or(SEALED, Ordering::AcqRel);
    }

    /// Seals, and leaves the end to the last one inside; `true` if there is none, so that the end is the
    /// caller's.
    pub(crate) fn orphan(&self) -> bool {
        let flags = planted!("gate-orphans-forgotten": FLAGS => SEALED);
        // AcqRel: the rendezvous with `leave`: one of the two sees that the other came first.
        self.0.fetch_or(flags, Ordering::AcqRel) & !FLAGS == 0
    }

    /// How many are inside.
    pub(crate) fn count(&self) -> usize {
        // Acquire: pairs with `leave`.
        self.0.load(Ordering::Acquire) & !FLAGS
    }
}

#[cfg(all(test, loom))]
mod model;
