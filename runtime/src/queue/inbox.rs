//! The shared end of a mailbox: many producers, one consumer, and the scheduling token, in one word.
//!
//! ```text
//! user lane:    outlet.tail -> node -> node -> ... -> newest        (linked oldest to newest)
//! urgent lane:  urgent -> node -> node                              (a stack, taken whole)
//! newest = address of the newest user node (its low bits are free) | flags
//!
//! flag      meaning                                  set by              cleared by
//! IDLE      nothing to do, nobody holds the token    runner              whoever takes it
//! PARKED    a handler waits; user mail may pile up   runner              whoever takes it
//! URGENT    the urgent lane or a wake-up is new      waker, signals      runner
//! DEAD      the actor has ended                      runner              a late sender, for a moment
//! ```
//!
//! Invariants:
//! 1. **One token.** The right to run the consumer (the token) is held by exactly one of: the IDLE,
//!    PARKED or DEAD flag, or the thread that last took one of them from the word. That thread runs
//!    the consumer, passes the token on through a ready queue, or puts the flag back.
//! 2. A user push is one swap. It takes every flag along, and answers for what it took: IDLE makes it
//!    schedule the consumer, PARKED and URGENT it puts back (or schedules, if both met), and with
//!    DEAD it buries what is in the lane.
//! 3. Only the token's holder touches the [`Outlet`].
//! 4. What is not linked is not consumed: between its swap and its link a node is its sender's.
//!
//! So that nothing is accepted which comes too late, a sender looks whether the mailbox is closed between its
//! swap and its link. If it is, it takes its message back and links the hollow node. If it is not, the swap
//! came before whatever was done to the word after the closing: that is a read-modify-write, too, and whoever
//! swaps behind it has acquired it. Who obeys an order to drain exchanges the word first ([`Inbox::wake`]),
//! and so finds the message in the lane.
//!
//! Every rendezvous is a read-modify-write on `newest`, so giving the token back fails if anything
//! arrived, and nothing has to be checked twice. Between a sender's swap and its link the user lane
//! is broken; the runner then ends its turn instead of waiting ([`Pop::Broken`]).
//!
//! An inbox whose actor lives on one thread needs none of this while only that thread touches it:
//! [`Inbox::push_home`] and [`Inbox::rest_home`] take the same steps by plain loads and stores. Whoever
//! lives elsewhere sends its mail to that thread first (`task::cargo`).
//!
//! The lane is Vyukov's intrusive queue, the token in its head Pony's; what makes one word serve
//! both lanes is ours. Measured against other shapes in `book/src/decisions/0002-inbox.md`.

mod outlet;

pub(crate) use outlet::{Outlet, Pop};

use super::growth::Growth;
use super::list::Chain;
use super::node::Node;
use crate::sync::{AtomicPtr, AtomicU8, Ordering, planted};
use std::ptr::{self, NonNull};

const IDLE: usize = 1;
const PARKED: usize = 2;
const URGENT: usize = 4;
const DEAD: usize = 8;
const FLAGS: usize = 15;

/// In [`Inbox::terms`]: senders need room first.
const BOUNDED: u8 = 1;
/// In [`Inbox::terms`]: user mail is refused.
const CLOSED: u8 = 2;

fn has(word: *mut Node, flags: usize) -> bool {
    word.addr() & flags != 0
}

fn set(word: *mut Node, flags: usize) -> *mut Node {
    word.map_addr(|address| address | flags)
}

fn clear(word: *mut Node, flags: usize) -> *mut Node {
    word.map_addr(|address| address & !flags)
}

/// What became of a push.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Push {
    /// The consumer will find it; somebody else answers for the token.
    Queued,
    /// The caller now holds the token and must see that the consumer runs.
    Woke,
    /// The actor has ended. A user node is in the lane all the same and the caller holds the token:
    /// it must empty the outlet and [`Inbox::die`] again. An urgent node is in the urgent lane,
    /// which the caller must empty.
    Dead,
}

/// The shared end of one mailbox. It must not move while an [`Outlet`] of it exists.
#[derive(Debug)]
pub(crate) struct Inbox {
    newest: AtomicPtr<Node>,
    urgent: AtomicPtr<Node>,
    terms: AtomicU8,
    growth: Growth,
}

impl Inbox {
    /// An open inbox, empty but for `stub`, whose token is held by its maker.
    pub(crate) fn new(stub: NonNull<Node>) -> (Self, Outlet) {
        let inbox = Self {
            newest: AtomicPtr::new(stub.as_ptr()),
            urgent: AtomicPtr::new(ptr::null_mut()),
            terms: AtomicU8::new(0),
            growth: Growth::new(),
        };
        (inbox, Outlet::new(stub))
    }

    /// Notes that senders need room first, which is theirs to find. For its maker, who has not shared it.
    pub(crate) fn bound(&mut self) {
        self.terms = AtomicU8::new(BOUNDED);
    }

    /// Whether anybody may push without more ado: the inbox is open, and senders need no room.
    #[inline(always)]
    pub(crate) fn is_free(&self) -> bool {
        // Acquire: as in `is_closed`.
        self.terms.load(Ordering::Acquire) == 0
    }

    /// Whether senders need room first.
    #[inline(always)]
    pub(crate) fn is_bounded(&self) -> bool {
        // Relaxed: it was said before the inbox was shared.
        self.terms.load(Ordering::Relaxed) & BOUNDED != 0
    }

    /// Whether the consumer has nothing to do: no mail, and no handler that waits.
    pub(crate) fn is_at_rest(&self) -> bool {
        // Acquire: pairs with the AcqRel of those who give the token back.
        has(self.newest.load(Ordering::Acquire), IDLE | DEAD)
    }

    /// Whether user mail is refused. Senders ask before they push, and once more while they do.
    #[inline]
    pub(crate) fn is_closed(&self) -> bool {
        // Acquire: pairs with the Release in `close`, so that what the consumer did before is seen.
        self.terms.load(Ordering::Acquire) & CLOSED != 0
    }

    /// Refuses user mail from now on.
    pub(crate) fn close(&self) {
        // Relaxed: whether there is a bound was said before the inbox was shared, and is all that is kept.
        let terms = self.terms.load(Ordering::Relaxed);
        if terms & CLOSED == 0 {
            // Release: pairs with the Acquire in `is_closed`. Whoever closes it at the same time stores the same.
            self.terms.store(terms | CLOSED, Ordering::Release);
        }
    }

    /// Puts a user node behind all others, also when the inbox is closed: one read-modify-write, unless a
    /// flag has to go back.
    ///
    /// # Safety
    /// The caller owns `node`, which is new and linked to nothing, and gives it away.
    #[inline(always)]
    pub(crate) unsafe fn push(&self, node: NonNull<Node>) -> Push {
        let before = self.swap(node);
        self.link(before, node)
    }

    /// As [`Inbox::push`]; but a message that comes too late to be handled for sure is `withdrawn`, which
    /// leaves its node without a payload, and of a kind for that.
    ///
    /// # Errors
    /// What was withdrawn, and what became of the node.
    ///
    /// # Safety
    /// As [`Inbox::push`]; `withdrawn` does not panic.
    #[inline(always)]
    pub(crate) unsafe fn push_in_time<T>(
        &self,
        node: NonNull<Node>,
        withdrawn: impl FnOnce(NonNull<Node>) -> T,
    ) -> Result<Push, (Push, T)> {
        let before = self.swap(node);
        if planted!("inbox-accepts-late": self.is_closed() => false) {
            // By invariant 4 the node is still the caller's.
            let late = withdrawn(node);
            return Err((self.link(before, node), late));
        }
        Ok(self.link(before, node))
    }

    /// Makes `node` the newest; what was that before.
    #[inline(always)]
    fn swap(&self, node: NonNull<Node>) -> *mut Node {
        // AcqRel: releases the node to the next swap and to `rest`; with IDLE or DEAD, acquires what
        // the consumer released together with the token; in any case, that the mailbox was closed
        // before somebody's exchange that came first.
        let order = planted!("inbox-push-relaxed": Ordering::AcqRel => Ordering::Relaxed);
        self.newest.swap(node.as_ptr(), order)
    }

    /// Links `node` behind the one that was the newest `before`.
    #[inline(always)]
    fn link(&self, before: *mut Node, node: NonNull<Node>) -> Push {
        // SAFETY: the lane ends in a node at all times, so no word is without.
        let previous = unsafe { NonNull::new_unchecked(clear(before, FLAGS)) };
        // SAFETY: the consumer keeps the newest node until its successor is linked.
        unsafe { Node::link(previous, node) };
        Self::taken_at_rest(before).unwrap_or_else(|| self.answer_for(before.addr() & FLAGS))
    }

    /// What became of a push that took that word away, if there was no flag but IDLE in it.
    #[inline(always)]
    fn taken_at_rest(before: *mut Node) -> Option<Push> {
        match before.addr() & FLAGS {
            0 => Some(Push::Queued),
            IDLE => Some(Push::Woke),
            _ => None,
        }
    }

    /// As [`Inbox::push`], by plain loads and stores: the calling thread is the only one that touches
    /// the inbox's word, now and until it hands the inbox to another thread.
    ///
    /// # Safety
    /// As [`Inbox::push`].
    #[inline(always)]
    pub(crate) unsafe fn push_home(&self, node: NonNull<Node>) -> Push {
        // Relaxed, both: no other thread touches the word; a hand-over orders everything before it.
        let before = self.newest.load(Ordering::Relaxed);
        self.newest.store(node.as_ptr(), Ordering::Relaxed);
        self.link(before, node)
    }

    /// Settles what a push took away with its swap.
    #[cold]
    fn answer_for(&self, taken: usize) -> Push {
        if taken & DEAD != 0 {
            return Push::Dead;
        }
        if taken & IDLE != 0 {
            return Push::Woke;
        }
        if planted!("inbox-urgent-forgotten": taken & URGENT != 0 => false) {
            return self.raise();
        }
        if planted!("inbox-parked-forgotten": self.park() => true) {
            Push::Queued
        } else {
            Push::Woke
        }
    }

    /// Puts a node into the urgent lane, which no bound and no close holds back.
    ///
    /// # Safety
    /// The caller owns `node` and gives it away.
    pub(crate) unsafe fn push_urgent(&self, node: NonNull<Node>) -> Push {
        // Relaxed: only a guess; the exchange decides.
        let mut top = self.urgent.load(Ordering::Relaxed);
        loop {
            // SAFETY: the node is still the caller's.
            unsafe { Node::set_next(node, top) };
            // Release: publishes the node; pairs with the Acquire in `take_urgent`.
            match self.urgent.compare_exchange_weak(
                top,
                node.as_ptr(),
                Ordering::Release,
                Ordering::Relaxed,
            ) {
                Ok(_) => break,
                Err(now) => top = now,
            }
        }
        // Relaxed: only a guess; the exchange decides.
        let mut word = self.newest.load(Ordering::Relaxed);
        loop {
            let dead = has(word, DEAD);
            let next = if dead { word } else { set(clear(word, IDLE | PARKED), URGENT) };
            // AcqRel: the rendezvous with `rest`, `park` and `die`; acquires the consumer's state
            // when it takes the token.
            match self.newest.compare_exchange_weak(word, next, Ordering::AcqRel, Ordering::Relaxed)
            {
                Ok(_) if dead => return Push::Dead,
                Ok(_) if has(word, IDLE | PARKED) => return Push::Woke,
                Ok(_) => return Push::Queued,
                Err(now) => word = now,
            }
        }
    }

    /// Says that a waiting handler can go on. `true`: the caller took the token and must schedule.
    pub(crate) fn wake(&self) -> bool {
        // Relaxed: only a guess; the exchange decides.
        let mut word = self.newest.load(Ordering::Relaxed);
        loop {
            if has(word, IDLE | DEAD) {
                // Nobody waits: the waker outlived its future.
                return false;
            }
            let next = set(clear(word, PARKED), URGENT);
            // AcqRel: releases what the waker did to the Acquire in `calm`, even when the flag is
            // set already; with PARKED it acquires what `park` released.
            match self.newest.compare_exchange_weak(word, next, Ordering::AcqRel, Ordering::Relaxed)
            {
                Ok(_) => return planted!("inbox-stale-wake": has(word, PARKED) => true),
                Err(now) => word = now,
            }
        }
    }

    /// Sets URGENT again; or takes the token of an actor that has ended without having seen it, for what
    /// is in the urgent lane to be buried as well.
    fn raise(&self) -> Push {
        // Relaxed: only a guess; the exchange decides.
        let mut word = self.newest.load(Ordering::Relaxed);
        loop {
            let dead = planted!("inbox-urgent-unburied": has(word, DEAD) => false);
            let open = set(clear(word, IDLE | PARKED), URGENT);
            let next = if dead { clear(word, DEAD) } else { open };
            // AcqRel: as in `wake`, on behalf of the one whose flag the push took away; with DEAD it
            // acquires what `die` released.
            match self.newest.compare_exchange_weak(word, next, Ordering::AcqRel, Ordering::Relaxed)
            {
                Ok(_) if dead => return Push::Dead,
                Ok(_) if has(word, IDLE | PARKED) => return Push::Woke,
                Ok(_) => return Push::Queued,
                Err(now) => word = now,
            }
        }
    }

    /// Whether a wake-up or something in the urgent lane is new. Token's holder only.
    #[inline]
    pub(crate) fn is_urgent(&self) -> bool {
        // Relaxed: a hint; `calm` acquires.
        has(self.newest.load(Ordering::Relaxed), URGENT)
    }

    /// Takes URGENT away and hands over the urgent lane. Token's holder only.
    pub(crate) fn take_urgent(&self) -> Chain {
        // Relaxed: only a guess; the exchange decides.
        let mut word = self.newest.load(Ordering::Relaxed);
        // Relaxed: what is missed here is in time to keep the token from being given back, or belongs to
        // a push that has taken the flag and answers for it.
        if !has(word, URGENT) && self.urgent.load(Ordering::Relaxed).is_null() {
            return Chain::new(ptr::null_mut());
        }
        loop {
            let next = planted!("inbox-flag-stays": clear(word, URGENT) => word);
            // AcqRel: acquires what the wakers released.
            match self.newest.compare_exchange_weak(word, next, Ordering::AcqRel, Ordering::Relaxed)
            {
                Ok(_) => break,
                Err(now) => word = now,
            }
        }
        self.empty_urgent()
    }

    /// Hands over the urgent lane. For the token's holder, and for anyone who met a dead actor.
    pub(crate) fn empty_urgent(&self) -> Chain {
        // Relaxed: whoever set the flag had pushed before, and the caller has acquired the flag.
        if self.urgent.load(Ordering::Relaxed).is_null() {
            return Chain::new(ptr::null_mut());
        }
        // AcqRel: acquires the nodes released by `push_urgent`; the release keeps their order.
        Chain::new(self.urgent.swap(ptr::null_mut(), Ordering::AcqRel))
    }

    /// Whether neither lane has more than an outlet has seen whose tail that is, and no flag is set. A hint, as in
    /// [`Inbox::take_urgent`]. Token's holder only.
    #[inline]
    pub(crate) fn is_empty_behind(&self, tail: NonNull<Node>) -> bool {
        // Relaxed, both: as in `take_urgent`, what is missed here keeps the token from being given back.
        self.newest.load(Ordering::Relaxed) == tail.as_ptr()
            && self.urgent.load(Ordering::Relaxed).is_null()
    }

    /// Gives the token back if nothing arrived behind `end`, the outlet's tail: from now on any push
    /// takes it. Token's holder only; after `true` the caller must not touch the consumer again.
    #[inline]
    pub(crate) fn rest(&self, end: NonNull<Node>) -> bool {
        self.give_back(end, IDLE)
    }

    /// As [`Inbox::rest`], by plain loads and stores, on the terms of [`Inbox::push_home`].
    #[inline(always)]
    pub(crate) fn rest_home(&self, end: NonNull<Node>) -> bool {
        self.give_back_home(end, IDLE)
    }

    #[inline(always)]
    fn give_back_home(&self, end: NonNull<Node>, flag: usize) -> bool {
        let empty = end.as_ptr();
        // Relaxed, both: as in `push_home`.
        if self.newest.load(Ordering::Relaxed) != empty {
            return false;
        }
        self.newest.store(set(empty, flag), Ordering::Relaxed);
        true
    }

    /// Whether the actor has ended. A hint: it may end right after.
    pub(crate) fn is_dead(&self) -> bool {
        // Relaxed: a hint.
        has(self.newest.load(Ordering::Relaxed), DEAD)
    }

    /// As [`Inbox::rest`], for an actor that has ended.
    pub(crate) fn die(&self, end: NonNull<Node>) -> bool {
        self.give_back(end, DEAD)
    }

    /// As [`Inbox::die`], by plain loads and stores, on the terms of [`Inbox::push_home`].
    pub(crate) fn die_home(&self, end: NonNull<Node>) -> bool {
        self.give_back_home(end, DEAD)
    }

    #[inline]
    fn give_back(&self, end: NonNull<Node>, flag: usize) -> bool {
        let empty = end.as_ptr();
        if planted!("inbox-rest-by-store": false => true) && self.ends_at(end) {
            // Relaxed: part of a planted fault.
            self.newest.store(set(empty, flag), Ordering::Relaxed);
            return true;
        }
        // AcqRel: releases the consumer's state to whoever takes the flag; pairs with the swap in
        // `push`. Relaxed on failure: what arrived is acquired when it is taken.
        self.newest
            .compare_exchange(empty, set(empty, flag), Ordering::AcqRel, Ordering::Relaxed)
            .is_ok()
    }

    /// Gives the token back while a handler waits, unless something urgent is new: only a wake-up or
    /// the urgent lane takes it then. Token's holder only; after `true` the caller must not touch
    /// the consumer again.
    pub(crate) fn park(&self) -> bool {
        // Relaxed: only a guess; the exchange decides.
        let mut word = self.newest.load(Ordering::Relaxed);
        loop {
            if planted!("inbox-park-unchecked": has(word, URGENT) => false) {
                return false;
            }
            // AcqRel: releases the consumer's state to `wake` and `push_urgent`.
            match self.newest.compare_exchange_weak(
                word,
                set(word, PARKED),
                Ordering::AcqRel,
                Ordering::Relaxed,
            ) {
                Ok(_) => return true,
                Err(now) => word = now,
            }
        }
    }

    /// Whether the receiver's last turn left work, which waits behind the turns of others. A hint.
    #[inline(always)]
    pub(crate) fn is_behind(&self) -> bool {
        self.growth.is_behind()
    }

    /// Whether the receiver's turns are as long as others', and the last one left no work. A hint.
    #[inline(always)]
    pub(crate) fn is_steady(&self) -> bool {
        self.growth.is_none()
    }

    /// Notes that the receiver's turn ended with work left. Token's holder only.
    pub(crate) fn note_spent(&self) {
        self.growth.note_spent(self.newest());
    }

    /// Works out the length of the turn that begins, after one that left work. Token's holder only.
    #[cold]
    pub(crate) fn adapt_turn(&self) {
        self.growth.adapt(self.newest());
    }

    /// How often the length of the receiver's turns was doubled.
    pub(crate) fn doublings(&self) -> u32 {
        self.growth.doublings()
    }

    /// The address of the newest user node.
    fn newest(&self) -> usize {
        // Relaxed: only its change counts, and that as a hint.
        clear(self.newest.load(Ordering::Relaxed), FLAGS).addr()
    }

    /// Whether the lane has no more than `outlet` has seen. A hint.
    #[inline]
    pub(crate) fn ends_at(&self, tail: NonNull<Node>) -> bool {
        // Relaxed: a hint; `rest` decides.
        clear(self.newest.load(Ordering::Relaxed), FLAGS) == tail.as_ptr()
    }
}

#[cfg(all(test, loom))]
mod model;

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
