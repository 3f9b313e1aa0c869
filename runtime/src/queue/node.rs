//! A message on its way: a link, the functions that know its type, and the payload inline behind them.
//!
//! ```text
//! | next | kind | payload ............ |   one pool block, aligned to a cache line
//! ```
//!
//! A node is owned by exactly one place at a time: its maker, an inbox, a list, or its receiver.

use super::pool::{self, Shape};
use crate::sync::{AtomicPtr, Ordering, UnsafeCell, planted};
use std::alloc::Layout;
use std::any::TypeId;
use std::mem::ManuallyDrop;
use std::ptr::{self, NonNull};

/// Which lane of a mailbox a node travels in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lane {
    /// For the runtime itself: stop, watch, a child's end. Handled even while a handler waits.
    Control,
    /// Runs a handler, but no bound holds it back: timers, results.
    Signal,
    /// The same, and no message goes before it where it comes first: news of another's end, and the beginning of an
    /// interleaved handler.
    Prior,
    /// What users send.
    User,
}

/// What the runtime must know of a payload's type.
#[derive(Debug)]
pub(crate) struct Kind {
    /// The lane that the node travels in.
    pub(crate) lane: Lane,
    /// Moves the payload out and hands it to the receiver at `to`. The block stays for user nodes
    /// (see [`Pop::Node`](super::inbox::Pop::Node)), and is recycled at once for the others.
    pub(crate) deliver: unsafe fn(to: NonNull<()>, node: NonNull<Node>),
    /// Drops the payload undelivered; the block as in `deliver`.
    pub(crate) discard: unsafe fn(node: NonNull<Node>),
    /// Bytes that a user's message counts for where bytes are counted. The payload must still be there.
    pub(crate) weigh: Option<unsafe fn(node: NonNull<Node>) -> usize>,
    /// The block of a user node, which is given back after its payload is gone; [`Node::NO_BLOCK`] of others.
    pub(crate) block: Shape,
    /// The payload's type, for reports.
    pub(crate) name: fn() -> &'static str,
    /// The payload's type, to be compared; that of `()` where nobody does.
    pub(crate) type_id: fn() -> TypeId,
    /// Whether a question in it is answered when its handler returns, and by nobody else.
    pub(crate) answers: bool,
}

/// The head of a message; its payload lies behind it.
#[derive(Debug)]
#[repr(C, align(16))]
pub(crate) struct Node {
    next: AtomicPtr<Self>,
    kind: &'static Kind,
}

#[repr(C)]
struct Block<T> {
    head: Node,
    payload: UnsafeCell<ManuallyDrop<T>>,
}

impl Node {
    /// The [block](Kind::block) of nodes that have none, or whose receiver gives it back.
    pub(crate) const NO_BLOCK: Shape = Shape::NONE;

    /// A node without payload, for the end of an empty lane.
    pub(crate) fn stub(kind: &'static Kind) -> Self {
        Self { next: AtomicPtr::new(ptr::null_mut()), kind }
    }

    /// Puts `payload` into a block of its own. Does not allocate in steady state, up to 1000 bytes.
    #[inline(always)]
    pub(crate) fn new<T: Send>(kind: &'static Kind, payload: T) -> NonNull<Self> {
        // First, so that nothing that could unwind would have to drop it, for which it had to lie in memory.
        let payload = UnsafeCell::new(ManuallyDrop::new(payload));
        let block = pool::acquire(Layout::new::<Block<T>>()).cast::<Block<T>>();
        let head = Self { next: AtomicPtr::new(ptr::null_mut()), kind };
        // SAFETY: the pool handed out a free block of at least this layout.
        unsafe { block.write(Block { head, payload }) };
        block.cast()
    }

    /// The payload, to be looked at; `None` if it is no `T`.
    ///
    /// # Safety
    /// `node` is live, and its payload is in it and changes in no way meanwhile.
    #[cfg(not(any(loom, shuttle)))]
    pub(crate) unsafe fn payload<'a, T: 'static>(node: NonNull<Self>) -> Option<&'a T> {
        // SAFETY: the caller's promise.
        if (unsafe { Self::kind(node) }.type_id)() != TypeId::of::<T>() {
            return None;
        }
        // SAFETY: the kind says that the block is of a `T`.
        let block = unsafe { node.cast::<Block<T>>().as_ref() };
        // SAFETY: the caller's promise.
        block.payload.with(|payload| Some(unsafe { &**payload }))
    }

    /// How many nodes there are behind `node`.
    ///
    /// # Safety
    /// `node` is live and ends a lane, and nobody uses the lane meanwhile.
    #[cfg(not(any(loom, shuttle)))]
    pub(crate) unsafe fn behind(mut node: NonNull<Self>) -> usize {
        let mut count = 0;
        // SAFETY: the caller's promise; a lane links live nodes.
        while let Some(next) = NonNull::new(unsafe { Self::linked(node) }) {
            (node, count) = (next, count + 1);
        }
        count
    }

    /// Moves the payload out; the block stays.
    ///
    /// # Safety
    /// `node` was made by `Node::new::<T>`, the caller owns the payload, and nobody reads it again.
    #[inline]
    pub(crate) unsafe fn take_payload<T>(node: NonNull<Self>) -> T {
        // SAFETY: the caller's promise.
        let block = unsafe { node.cast::<Block<T>>().as_ref() };
        block.payload.with_mut(|payload| {
            // SAFETY: the caller owns the payload.
            let payload = unsafe { &mut *payload };
            // SAFETY: it is not used again.
            unsafe { ManuallyDrop::take(payload) }
        })
    }

    /// Lets `look` see the payload, which stays.
    ///
    /// # Safety
    /// `node` was made by `Node::new::<T>`, and the caller owns the payload.
    pub(crate) unsafe fn with_payload<T, R>(node: NonNull<Self>, look: impl FnOnce(&T) -> R) -> R {
        // SAFETY: the caller's promise.
        let block = unsafe { node.cast::<Block<T>>().as_ref() };
        block.payload.with(|payload| {
            // SAFETY: the caller owns the payload.
            look(unsafe { &*payload })
        })
    }

    /// The block of a node with such a payload.
    pub(crate) const fn block<T>() -> Shape {
        Shape::of(Layout::new::<Block<T>>())
    }

    /// Gives the block of a node without payload back.
    ///
    /// # Safety
    /// `node` was made by `Node::new::<T>`, its payload was moved out, and the caller owns it.
    #[inline]
    pub(crate) unsafe fn release<T>(node: NonNull<Self>) {
        // SAFETY: the caller's promise.
        unsafe { pool::release(node.cast(), Layout::new::<Block<T>>()) };
    }

    /// Gives the block of a user node back, if its kind says that it has one.
    ///
    /// # Safety
    /// The payload was moved out or dropped, and the caller owns the node.
    #[inline(always)]
    pub(crate) unsafe fn recycle(node: NonNull<Self>) {
        // SAFETY: the node is still live.
        let block = &unsafe { Self::kind(node) }.block;
        // SAFETY: the kind was made for the node's payload.
        unsafe { pool::release_as(node.cast(), block) };
    }

    /// Moves the payload out and gives the block back.
    ///
    /// # Safety
    /// `node` was made by `Node::new::<T>`, and the caller owns it.
    pub(crate) unsafe fn into_payload<T>(node: NonNull<Self>) -> T {
        // SAFETY: the caller's promise.
        let payload = unsafe { Self::take_payload::<T>(node) };
        // SAFETY: as above; the payload was just moved out.
        unsafe { Self::release::<T>(node) };
        payload
    }

    /// Moves the payload out, and makes the node one of `kind`, which is for nodes without.
    ///
    /// # Safety
    /// As [`Node::take_payload`], and nobody else reads the node's kind meanwhile.
    #[cold]
    pub(crate) unsafe fn hollow<T>(node: NonNull<Self>, kind: &'static Kind) -> T {
        // SAFETY: the caller's promise.
        let payload = unsafe { Self::take_payload(node) };
        // SAFETY: as above; only the link of the node is shared.
        unsafe { (*node.as_ptr()).kind = kind };
        payload
    }

    /// The functions that know the payload.
    ///
    /// # Safety
    /// `node` is live.
    #[inline(always)]
    pub(crate) unsafe fn kind(node: NonNull<Self>) -> &'static Kind {
        // SAFETY: the kind is written once, before the node is shared.
        unsafe { node.as_ref() }.kind
    }

    /// The link of a node in a list that one thread owns.
    ///
    /// # Safety
    /// `node` is live, and the caller owns it or the list that it is in.
    #[inline(always)]
    pub(crate) unsafe fn next(node: NonNull<Self>) -> *mut Self {
        // Relaxed: the owner of the list wrote it, or acquired the list.
        // SAFETY: the node is live.
        unsafe { node.as_ref() }.next.load(Ordering::Relaxed)
    }

    /// Sets the link of a node that the caller owns.
    ///
    /// # Safety
    /// As for [`Node::next`].
    #[inline(always)]
    pub(crate) unsafe fn set_next(node: NonNull<Self>, to: *mut Self) {
        // Relaxed: whoever shares the node afterwards publishes it.
        // SAFETY: the node is live.
        unsafe { node.as_ref() }.next.store(to, Ordering::Relaxed);
    }

    /// Makes `node` the shared successor of `previous`.
    ///
    /// # Safety
    /// `previous` is live, and the caller is the one that makes its link. The node may be another sender's
    /// still, so that nothing else of it may be looked at.
    #[inline(always)]
    pub(crate) unsafe fn link(previous: NonNull<Self>, node: NonNull<Self>) {
        // Release: publishes the node and its payload; pairs with the Acquire in `linked`.
        let order = planted!("node-link-relaxed": Ordering::Release => Ordering::Relaxed);
        // SAFETY: the caller's promise.
        let next = unsafe { &raw const (*previous.as_ptr()).next };
        // SAFETY: as above; the link is shared by design.
        unsafe { &*next }.store(node.as_ptr(), order);
    }

    /// The shared successor of `node`, null until it is linked.
    ///
    /// # Safety
    /// `node` is live.
    #[inline(always)]
    pub(crate) unsafe fn linked(node: NonNull<Self>) -> *mut Self {
        // Acquire: pairs with the Release in `link`.
        // SAFETY: the caller's promise.
        unsafe { node.as_ref() }.next.load(Ordering::Acquire)
    }
}
