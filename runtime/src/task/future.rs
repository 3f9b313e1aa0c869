//! Futures, each kept in one recycled block while it waits.

use crate::queue::node::Kind;
use crate::queue::pool::{self, Release};
use crate::time::Time;
use std::alloc::Layout;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::{Context, Poll};

/// The start of the block; the future lies behind it.
struct Head<T> {
    poll: unsafe fn(NonNull<Self>, &mut Context<'_>) -> Poll<T>,
    drop: unsafe fn(NonNull<Self>),
    deadline: Time,
    kind: Option<&'static Kind>,
}

#[repr(C)]
struct Block<F: Future> {
    head: Head<F::Output>,
    future: F,
}

/// A pinned future of any type; one word.
///
/// Does not allocate in steady state for futures up to about 1000 bytes.
pub(crate) struct Pending<T = ()>(NonNull<Head<T>>);

impl<T> Pending<T> {
    /// Takes `future` in.
    ///
    /// # Safety
    /// The future is `Send`, and whatever it borrows outlives this value.
    pub(crate) unsafe fn new<F: Future<Output = T>>(future: F) -> Self {
        let block = pool::acquire(Layout::new::<Block<F>>()).cast::<Block<F>>();
        let head =
            Head { poll: poll::<F>, drop: drop_in_place::<F>, deadline: Time::NEVER, kind: None };
        // SAFETY: the pool handed out a free block of at least this layout.
        unsafe { block.write(Block { head, future }) };
        Self(block.cast())
    }

    fn head(&self) -> &Head<T> {
        // SAFETY: the block is live while `self` is.
        unsafe { self.0.as_ref() }
    }

    /// Notes for whom and until when the handler runs.
    pub(crate) fn belongs_to(&mut self, kind: Option<&'static Kind>, deadline: Time) {
        // SAFETY: the block is live, and this is the only pointer to it.
        let head = unsafe { self.0.as_mut() };
        head.kind = kind;
        head.deadline = deadline;
    }

    /// When the handler's caller stops waiting.
    pub(crate) fn deadline(&self) -> Time {
        self.head().deadline
    }

    /// The message that is being handled; `None` for hooks.
    pub(crate) fn kind(&self) -> Option<&'static Kind> {
        self.head().kind
    }

    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<T> {
        // SAFETY: the block holds the future that the functions were made for.
        unsafe { (self.head().poll)(self.0, cx) }
    }
}

/// # Safety
/// `head` starts a live `Block<F>`.
unsafe fn poll<F: Future>(head: NonNull<Head<F::Output>>, cx: &mut Context<'_>) -> Poll<F::Output> {
    // SAFETY: the caller's promise; the caller has the only pointer.
    let future = unsafe { &mut (*head.cast::<Block<F>>().as_ptr()).future };
    // SAFETY: the future stays in its block until it is dropped there.
    unsafe { Pin::new_unchecked(future) }.poll(cx)
}

/// # Safety
/// `head` starts a live `Block<F>`, which is not used again.
unsafe fn drop_in_place<F: Future>(head: NonNull<Head<F::Output>>) {
    let block = head.cast::<Block<F>>();
    // Also when the future's drop panics.
    // SAFETY: the block came from the pool with this layout, and its future is dropped before.
    let _release = unsafe { Release::new(block.cast(), Layout::new::<Block<F>>()) };
    // SAFETY: the caller's promise.
    unsafe { block.drop_in_place() };
}

impl<T> Drop for Pending<T> {
    fn drop(&mut self) {
        // SAFETY: the block holds the future that the functions were made for; it ends here.
        unsafe { (self.head().drop)(self.0) };
    }
}

impl<T> fmt::Debug for Pending<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pending")
    }
}
