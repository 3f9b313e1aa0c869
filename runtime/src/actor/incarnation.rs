//! One life of an actor, as what it depends on knows it.

use super::control::{self, Order};
use crate::event::ExitReason;
use crate::task::cell::CellRef;

/// One incarnation of an actor.
#[derive(Clone, Debug)]
pub(crate) struct Incarnation {
    actor: CellRef,
    number: u32,
}

impl Incarnation {
    pub(super) fn new(actor: CellRef, number: u32) -> Self {
        Self { actor, number }
    }

    /// Fails it, because something that it depends on failed. Nothing happens if it is over.
    pub(crate) fn fail(&self, reason: ExitReason) {
        control::send(&self.actor, Order::Fail { incarnation: self.number, reason });
    }

    /// Fails it as [`Incarnation::fail`] does, and counts the panic of what runs beside it.
    pub(super) fn panicked(&self, text: String) {
        self.actor.core.events.counters.panics.add_one();
        self.fail(ExitReason::Panicked(text));
    }
}
