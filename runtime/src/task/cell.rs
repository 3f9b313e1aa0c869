//! The header of every cell, and the counted pointer to it.

use super::awaited::Awaited;
use super::cargo::Cargo;
use super::core::Core;
use super::core_ref::CoreRef;
use super::current;
use super::future::Pending;
use super::held::Held;
use super::home::Home;
use super::life::Life;
use super::priority::Priority;
use crate::event::{ActorId, DeadLetterReason};
use crate::queue::inbox::{Inbox, Outlet, Push};
use crate::queue::list::List;
use crate::queue::node::{Kind, Lane, Node};
use crate::sync::{AtomicBool, AtomicUsize, Ordering, UnsafeCell};
use std::any::TypeId;
use std::fmt;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;

/// What the type of an actor adds to its cell.
#[derive(Debug)]
pub(crate) struct VTable {
    /// Takes the next step of a cell that is not simply running: start, stop, restart.
    /// The cell must be of that type.
    pub(crate) advance: unsafe fn(&mut Held) -> Advance,
    /// Notes that a handler or hook panicked.
    pub(crate) crashed: fn(&mut Held, String),
    /// Frees the whole cell, whose last reference is gone.
    pub(crate) free: unsafe fn(NonNull<Header>),
    /// The actor's type, for reports.
    pub(crate) name: fn() -> &'static str,
    /// The actor's type, to be compared.
    pub(crate) type_id: fn() -> TypeId,
    /// Whether it stands for an actor of another node.
    pub(crate) distant: bool,
}

/// How a thread reaches an inbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// By read-modify-writes, as every thread does.
    Shared,
    /// By plain loads and stores: the actor lives on this thread.
    Home,
    /// Not at all: what is for the actor is carried to where it lives.
    Away,
}

/// What became of a step between messages.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Advance {
    /// Something changed: look again.
    Again,
    /// Something changed: look again, after the others.
    Yield,
    /// Nothing to do until something urgent arrives.
    Wait,
    /// Nothing to do until a message arrives.
    Rest,
    /// It may handle a message, and is to be asked again before the next.
    Message,
    /// It is to handle a signal, of which there are some.
    Signal,
    /// It is to handle this message, which comes before its mail.
    Handle(NonNull<Node>),
    /// The actor has ended and its own reference is released: do not touch the cell.
    Ended,
}

/// What the token's holder owns of a cell.
#[derive(Debug)]
pub(crate) struct Owner {
    /// The user lane's far end.
    pub(crate) outlet: Outlet,
    /// Timers, results and `Down`s, before user mail; but behind one message, if it is no `Down` and another was
    /// handled last.
    pub(crate) signals: List,
    /// The handler or hook that waits.
    pub(crate) pending: Option<Pending>,
    /// Whether messages may be handled; otherwise `VTable::advance` has the say.
    pub(crate) running: bool,
    /// Whether the actor is to end when its mail is handled.
    pub(crate) draining: bool,
    /// The worker that the actor is to move to, plus one; zero if it stays.
    pub(crate) move_to: u16,
    /// What the layer above notes of the actor's life.
    pub(crate) life: Life,
}

/// Neighbours in the parent's or the system's list of children; guarded by that list's lock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Links {
    pub(crate) previous: Option<NonNull<Header>>,
    pub(crate) next: Option<NonNull<Header>>,
}

/// The part of a cell that does not depend on the actor's type.
#[repr(C)]
pub(crate) struct Header {
    /// How urgent the actor is. First, as [`Ready::priority`](super::Ready::priority) reads it.
    priority: Priority,
    /// Whether the actor waits for its last child to end; guarded by the list of its children.
    waits_for_children: AtomicBool,
    /// Whether handlers wait that do not hold the actor; written by the token's holder.
    in_flight: AtomicBool,
    /// Whether only an order moves the actor to another worker; said by its maker.
    pinned: AtomicBool,
    /// What its handler waits for.
    pub(crate) awaited: Awaited,
    pub(crate) inbox: Inbox,
    refs: AtomicUsize,
    pub(crate) vtable: &'static VTable,
    pub(crate) core: CoreRef,
    pub(crate) id: u64,
    /// Where it lives; written by the worker that it lives on.
    home: AtomicUsize,
    pub(crate) owner: UnsafeCell<Owner>,
    pub(crate) links: UnsafeCell<Links>,
    /// The end of a user lane that nothing was ever sent through.
    stub: Node,
}

/// The kind of [`Header::stub`], which is never delivered.
static STUB: Kind = Kind {
    lane: Lane::User,
    deliver: |_, _| unreachable!("the stub carries no message"),
    discard: |_| unreachable!("the stub carries no message"),
    weigh: None,
    block: Node::NO_BLOCK,
    name: || "stub",
    type_id: TypeId::of::<()>,
    answers: false,
};

impl Header {
    /// Writes a header with two references to `place`, where it stays: its own and the caller's, who holds
    /// its token.
    ///
    /// # Safety
    /// `place` is free, aligned and large enough.
    pub(crate) unsafe fn init(
        place: NonNull<Self>,
        vtable: &'static VTable,
        core: CoreRef,
        id: u64,
        bounded: bool,
        priority: Priority,
    ) {
        // SAFETY: the caller's promise; only the address of the field is taken.
        let stub = unsafe { &raw mut (*place.as_ptr()).stub };
        let stub = NonNull::new(stub).expect("a field of a place that is there");
        let (mut inbox, outlet) = Inbox::new(stub);
        if bounded {
            inbox.bound();
        }
        let owner = Owner {
            outlet,
            signals: List::new(),
            pending: None,
            running: false,
            draining: false,
            move_to: 0,
            life: Life::default(),
        };
        let header = Self {
            priority,
            waits_for_children: AtomicBool::new(false),
            in_flight: AtomicBool::new(false),
            pinned: AtomicBool::new(false),
            awaited: Awaited::new(),
            inbox,
            refs: AtomicUsize::new(2),
            vtable,
            id,
            home: AtomicUsize::new(core.home_of_new().to_word()),
            core,
            owner: UnsafeCell::new(owner),
            links: UnsafeCell::new(Links { previous: None, next: None }),
            stub: Node::stub(&STUB),
        };
        // SAFETY: the caller's promise.
        unsafe { place.write(header) };
    }

    /// Gives the last node of the user lane back, before the cell is dropped: that node may be the cell's own stub, and
    /// who drops a value has it to himself.
    ///
    /// # Safety
    /// The last reference is gone, and this is called once.
    pub(crate) unsafe fn recycle_last_node(header: NonNull<Self>) {
        // SAFETY: the caller's promise.
        let owner = unsafe { header.as_ref() }.owner.with_mut(|owner| owner);
        // SAFETY: as above: nobody else uses the value.
        recycle(unsafe { &*owner }.outlet.tail());
    }

    /// Where the actor lives.
    #[inline(always)]
    pub(crate) fn home(&self) -> Home {
        // Relaxed: the word itself is all that is read; a stale one leads to a worker that passes the
        // mail on, and moving waits until no worker can have a stale one.
        Home::from_word(self.home.load(Ordering::Relaxed))
    }

    /// Notes where the actor lives from now on.
    pub(crate) fn set_home(&self, home: Home) {
        // Relaxed: what makes others see it in time is in the protocol of moving.
        self.home.store(home.to_word(), Ordering::Relaxed);
    }

    /// Lets a new actor live on that worker of its system, and only an order move it.
    pub(crate) fn pin(&self, worker: usize) {
        self.set_home(self.core.home_on(worker));
        // Relaxed, here and where it is read: it is said before the token is handed on.
        self.pinned.store(true, Ordering::Relaxed);
    }

    /// Whether only an order moves the actor to another worker.
    pub(crate) fn is_pinned(&self) -> bool {
        self.pinned.load(Ordering::Relaxed)
    }

    /// How the calling thread reaches the inbox.
    #[inline(always)]
    pub(crate) fn reach(&self) -> Reach {
        let home = self.home();
        if home == Home::ANY {
            Reach::Shared
        } else if home.to_word() == current::home() {
            Reach::Home
        } else {
            Reach::Away
        }
    }

    /// Whether who has sent the actor much is to give way before it sends more: mail is carried to another worker at
    /// the end of the sender's turn, or waits behind the turns of others.
    #[cold]
    pub(crate) fn wants_pause(&self) -> bool {
        self.reach() == Reach::Away || self.inbox.is_behind()
    }

    /// How many references there are. What the owners of those that were dropped did has been done.
    pub(crate) fn references(&self) -> usize {
        // Acquire: pairs with the AcqRel of a reference's drop.
        self.refs.load(Ordering::Acquire)
    }

    /// Which actor the cell is.
    pub(crate) fn actor_id(&self) -> ActorId {
        ActorId { number: self.id, kind: (self.vtable.name)() }
    }

    /// Whether the actor waits for its last child. For who has locked the list of its children.
    pub(crate) fn waits_for_children(&self) -> bool {
        // Relaxed, here and below: the lock of the list orders it.
        self.waits_for_children.load(Ordering::Relaxed)
    }

    /// Notes that it does, or does not.
    pub(crate) fn wait_for_children(&self, waits: bool) {
        self.waits_for_children.store(waits, Ordering::Relaxed);
    }

    /// Whether mail waits, or a handler.
    pub(crate) fn is_busy(&self) -> bool {
        // Relaxed: whoever asks knows that no worker runs, and has acquired what they did.
        !self.inbox.is_at_rest() || self.in_flight.load(Ordering::Relaxed)
    }

    /// Whether mail may wait of which the calling thread knows, or a handler of an actor that does not interleave. To one that
    /// lives on a worker mail may be on its way: from the calling worker, or `from_any`.
    #[cfg(feature = "net")]
    pub(crate) fn may_have_mail(&self, from_any: bool) -> bool {
        match self.reach() {
            Reach::Away => true,
            Reach::Home if from_any => true,
            Reach::Home | Reach::Shared => !self.inbox.is_at_rest(),
        }
    }

    /// Notes whether handlers wait that do not hold the actor.
    pub(crate) fn note_in_flight(&self, any: bool) {
        // Relaxed: as in `is_busy`.
        self.in_flight.store(any, Ordering::Relaxed);
    }

    /// Reports a message whose handler did not finish.
    pub(crate) fn report_crashed(&self, kind: &'static Kind) {
        if kind.lane == Lane::User {
            self.core.events.dead_letter(self.actor_id(), (kind.name)(), DeadLetterReason::Crashed);
        }
    }
}

/// A counted pointer to a cell: to all of it, where a reference to its header would lead to the header only.
pub(crate) struct CellRef(NonNull<Header>);

// SAFETY: what is shared of a header is atomic or guarded by the token; the actor behind it is
// `Send`, as every maker of a cell demands.
unsafe impl Send for CellRef {}
// SAFETY: as above.
unsafe impl Sync for CellRef {}

impl CellRef {
    /// Takes over one counted reference.
    ///
    /// # Safety
    /// The caller owns one reference to the live cell and gives it away.
    pub(crate) unsafe fn from_raw(header: NonNull<Header>) -> Self {
        Self(header)
    }

    /// A reference that counts for nothing and must not be dropped.
    ///
    /// # Safety
    /// The cell lives as long as the value is used.
    #[inline(always)]
    pub(crate) unsafe fn lent(header: NonNull<Header>) -> ManuallyDrop<Self> {
        ManuallyDrop::new(Self(header))
    }

    /// Counts one more reference to a live cell.
    ///
    /// # Safety
    /// The cell is live.
    pub(crate) unsafe fn to(header: NonNull<Header>) -> Self {
        // SAFETY: the caller's promise.
        let cell = unsafe { Self::lent(header) };
        Self::clone(&cell)
    }

    pub(crate) fn as_ptr(&self) -> NonNull<Header> {
        self.0
    }

    /// Whether it is an actor of that system.
    pub(crate) fn is_in(&self, core: &Core) -> bool {
        std::ptr::eq(&raw const *self.core, core)
    }

    /// Gives the reference away uncounted.
    pub(crate) fn into_raw(self) -> NonNull<Header> {
        ManuallyDrop::new(self).0
    }

    /// Sends a signal or control node; `false` if the actor has ended, and the node is dropped.
    ///
    /// # Safety
    /// The caller owns `node`, whose kind fits this cell's actor.
    pub(crate) unsafe fn push_urgent(&self, node: NonNull<Node>) -> bool {
        if self.reach() == Reach::Away {
            if self.inbox.is_dead() {
                discard(node);
                return false;
            }
            // SAFETY: the caller's promise.
            self.core.carry(unsafe { Cargo::urgent(self.clone(), node) });
            return true;
        }
        // SAFETY: the caller owns the node.
        match unsafe { self.inbox.push_urgent(node) } {
            Push::Queued => true,
            Push::Woke => {
                // SAFETY: `Woke` says that this thread took the token.
                let ready = unsafe { super::Ready::new(self.0) };
                self.core.schedule(ready, super::Hint::Back);
                true
            }
            Push::Dead => {
                self.inbox.empty_urgent().into_oldest_first(discard);
                false
            }
        }
    }

    /// As [`CellRef::push_urgent`], behind all user mail that was sent before, by whomever; that may still
    /// be on its way to the worker that the actor lives on.
    ///
    /// # Safety
    /// As [`CellRef::push_urgent`].
    pub(crate) unsafe fn push_behind(&self, node: NonNull<Node>) -> bool {
        if self.home() == Home::ANY || self.inbox.is_dead() {
            // SAFETY: the caller's promise.
            return unsafe { self.push_urgent(node) };
        }
        // SAFETY: the caller's promise.
        self.core.carry(unsafe { Cargo::behind(self.clone(), node) });
        true
    }

    /// Has the waiting handler polled again, and inspected.
    pub(crate) fn inspect_handler(&self) {
        self.awaited.inspect();
        self.wake();
    }

    /// Says that the waiting handler can go on, or has to look whether it can.
    pub(crate) fn wake(&self) {
        if self.reach() == Reach::Away {
            return self.core.carry(Cargo::wake(self.clone()));
        }
        if self.inbox.wake() {
            // SAFETY: `true` says that this thread took the token.
            let ready = unsafe { super::Ready::new(self.0) };
            self.core.schedule_in_pause(ready);
        }
    }
}

impl std::ops::Deref for CellRef {
    type Target = Header;

    #[inline(always)]
    fn deref(&self) -> &Header {
        // SAFETY: a counted reference keeps the cell alive.
        unsafe { self.0.as_ref() }
    }
}

impl Clone for CellRef {
    #[inline]
    fn clone(&self) -> Self {
        // Relaxed: a new reference is made from one that exists, which orders everything already.
        let before = self.refs.fetch_add(1, Ordering::Relaxed);
        assert!(before < usize::MAX / 2, "reference count overflow");
        Self(self.0)
    }
}

impl Drop for CellRef {
    #[inline]
    fn drop(&mut self) {
        // Acquire: pairs with the AcqRel of the other drops. Who sees that it is the only owner stays
        // that, and need not count.
        let is_last = self.refs.load(Ordering::Acquire) == 1
            // AcqRel: releases this owner's uses, and in the last owner acquires those released by the
            // other drops of this same count.
            || self.refs.fetch_sub(1, Ordering::AcqRel) == 1;
        if is_last {
            // SAFETY: this was the last reference; a live actor would hold one to itself.
            unsafe { (self.vtable.free)(self.0) };
        }
    }
}

impl PartialEq for CellRef {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl fmt::Debug for CellRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}", (self.vtable.name)(), self.id)
    }
}

/// Gives the block of a node back that the outlet has passed.
#[inline(always)]
pub(super) fn recycle(node: NonNull<Node>) {
    // SAFETY: the outlet has passed the node, whose payload was moved out.
    unsafe { Node::recycle(node) };
}

/// Drops the payload of a node that its lane or list gave away.
pub(super) fn discard(node: NonNull<Node>) {
    // SAFETY: the lane or list gave the node away.
    let kind = unsafe { Node::kind(node) };
    // SAFETY: as above; it is given to its own kind.
    crate::sync::panic::quietly(|| unsafe { (kind.discard)(node) });
}
