//! The token of a cell, as a value: whoever has it may use what the token's holder owns.

use super::cell::{CellRef, Header, Owner, discard, recycle};
use super::home::Home;
use crate::queue::inbox::{Inbox, Pop};
use crate::queue::node::{Kind, Lane, Node};
use crate::queue::oneshot;
use crate::sync::Patience;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;

/// Says that the running thread holds a cell's token.
///
/// The borrow checker then keeps uses of the owner's part apart. A second value for the same cell
/// exists only inside user code that a first one runs, where the first one is not in use.
#[derive(Debug)]
pub(crate) struct Held {
    cell: ManuallyDrop<CellRef>,
}

impl Held {
    /// # Safety
    /// The calling thread holds the token of the live cell while the value is used, and no reference
    /// that another value for the same cell gave out is in use.
    #[inline(always)]
    pub(crate) unsafe fn new(header: NonNull<Header>) -> Self {
        // SAFETY: by invariant 3 of the layer a cell lives while its token is held.
        Self { cell: unsafe { CellRef::lent(header) } }
    }

    /// The address of the cell.
    #[inline(always)]
    pub(crate) fn header(&self) -> NonNull<Header> {
        self.cell.as_ptr()
    }

    /// What everybody may use of the cell.
    #[inline(always)]
    pub(crate) fn cell(&self) -> &CellRef {
        &self.cell
    }

    /// What only the token's holder may use.
    #[inline(always)]
    pub(crate) fn owner(&mut self) -> &mut Owner {
        let owner = self.cell().owner.with_mut(|owner| owner);
        // SAFETY: by invariant 2 of the layer the holder of the token owns the value, and the borrow
        // of `self` keeps others away.
        unsafe { &mut *owner }
    }

    /// One more reference to the cell.
    pub(crate) fn reference(&self) -> CellRef {
        CellRef::clone(&self.cell)
    }

    /// Takes the oldest user message. Its payload must be moved out before the next call.
    #[inline(always)]
    pub(crate) fn pop(&mut self) -> Pop {
        let header = self.header();
        // SAFETY: the cell lives; the inbox lies beside what `owner` borrows.
        let inbox = unsafe { &header.as_ref().inbox };
        self.owner().outlet.pop(inbox, recycle)
    }

    /// As [`Held::pop`], but `None` says no more than that no message is linked yet.
    #[inline(always)]
    pub(crate) fn pop_linked(&mut self) -> Option<NonNull<Node>> {
        self.owner().outlet.pop_linked(recycle)
    }

    /// What the oldest user message is, if it is linked.
    pub(crate) fn front(&mut self) -> Option<&'static Kind> {
        self.owner().outlet.front()
    }

    /// Whether no message goes before the first signal.
    pub(crate) fn has_prior(&mut self) -> bool {
        let first = self.owner().signals.front();
        // SAFETY: the list owns its nodes.
        first.is_some_and(|first| unsafe { Node::kind(first) }.lane == Lane::Prior)
    }

    /// Whether a sender is in the middle of pushing the next message.
    #[inline(never)]
    pub(crate) fn is_mail_broken(&mut self) -> bool {
        let header = self.header();
        // SAFETY: as in `pop`.
        let inbox = unsafe { &header.as_ref().inbox };
        self.owner().outlet.is_broken(inbox)
    }

    /// Whether user mail waits. A sender that is in the middle of a push counts.
    pub(crate) fn has_mail(&mut self) -> bool {
        let tail = self.owner().outlet.tail();
        !self.cell().inbox.ends_at(tail)
    }

    /// Gives the token back in the way of `rest`, which is [`Inbox::rest`] or [`Inbox::die`]. After
    /// `true` the value must not be used again.
    #[inline(always)]
    pub(crate) fn rest_as(&mut self, rest: impl FnOnce(&Inbox, NonNull<Node>) -> bool) -> bool {
        let end = self.owner().outlet.tail();
        rest(&self.cell().inbox, end)
    }

    /// Gives the token of an actor that has ended back, as [`Held::rest_as`] does. For its runner.
    pub(crate) fn die(&mut self) -> bool {
        let at_home = self.cell().home() != Home::ANY;
        self.rest_as(|inbox, end| if at_home { inbox.die_home(end) } else { inbox.die(end) })
    }

    /// Discards everything that is still queued; `false` if a sender is in the middle of a push. Only
    /// for an actor that has ended.
    pub(crate) fn discard_mail(&mut self) -> bool {
        self.cell().inbox.take_urgent().into_oldest_first(discard);
        self.discard_messages()
    }

    /// As [`Held::discard_mail`], but what is meant for the runtime is obeyed.
    #[inline]
    pub(crate) fn discard_all_but_controls(&mut self) -> bool {
        let owner = self.owner();
        let (is_silent, tail) = (owner.signals.is_empty(), owner.outlet.tail());
        is_silent && self.cell().inbox.is_empty_behind(tail) || self.discard_some_but_controls()
    }

    #[inline(never)]
    fn discard_some_but_controls(&mut self) -> bool {
        let to = self.header().cast();
        self.cell().inbox.take_urgent().into_oldest_first(|node| {
            // SAFETY: the lane gave the node away.
            let kind = unsafe { Node::kind(node) };
            match kind.lane {
                // SAFETY: the token is held, and the node was sent to this cell, so its kind fits.
                Lane::Control => unsafe { (kind.deliver)(to, node) },
                Lane::Signal | Lane::Prior | Lane::User => discard(node),
            }
        });
        self.discard_messages()
    }

    fn discard_messages(&mut self) -> bool {
        while let Some(node) = self.owner().signals.pop_front() {
            discard(node);
        }
        loop {
            match self.pop() {
                Pop::Node(node) => {
                    self.cell().core.undelivered(self.cell(), node);
                    discard(node);
                }
                Pop::Empty => return true,
                Pop::Broken => return false,
            }
        }
    }

    /// As [`Held::discard_mail`]; who asked an actor of another node hears why the question was not sent.
    fn discard_late_mail(&mut self) -> bool {
        if !self.cell().vtable.distant {
            return self.discard_mail();
        }
        let why = self.owner().life.unsent;
        oneshot::dropping_for(why, || self.discard_mail())
    }

    /// Buries what a late sender pushed to an actor that had ended, and gives the token back.
    #[cold]
    pub(crate) fn bury(mut self) {
        let mut patience = Patience::default();
        loop {
            let whole = self.discard_late_mail();
            if whole && self.rest_as(Inbox::die) {
                return;
            }
            if !whole {
                // Another late sender is between its swap and its link.
                patience.wait();
            }
        }
    }
}
