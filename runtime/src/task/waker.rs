//! The waker of a waiting handler is its cell: no allocation, no table.

use super::cell::{CellRef, Header};
use std::mem::ManuallyDrop;
use std::ptr::NonNull;
use std::task::{RawWaker, RawWakerVTable, Waker};

static VTABLE: RawWakerVTable = RawWakerVTable::new(clone, wake, wake_by_ref, release);
/// Of the waker that inspects a handler ([`awaited`](super::awaited)). Its clones are ordinary ones, which it does not
/// equal: what is waited for is left a clone again in each such poll.
static INSPECTING: RawWakerVTable =
    RawWakerVTable::new(clone_inspecting, wake, wake_by_ref_inspecting, release);

/// A waker that borrows the running cell: it counts no reference, and must not be dropped. Another one if the poll is
/// inspected.
pub(crate) fn borrowed(header: NonNull<Header>, is_inspected: bool) -> ManuallyDrop<Waker> {
    let table = if is_inspected { &INSPECTING } else { &VTABLE };
    let raw = RawWaker::new(header.as_ptr().cast_const().cast(), table);
    // SAFETY: the functions below keep the contract of a raw waker; the count that this one lacks
    // is never given back, because it is never dropped.
    ManuallyDrop::new(unsafe { Waker::from_raw(raw) })
}

/// Lets `look` see the actor whose waiting handler `waker` wakes, if it is one.
pub(crate) fn with_actor_of<R>(waker: &Waker, look: impl FnOnce(Option<&CellRef>) -> R) -> R {
    if !std::ptr::eq(waker.vtable(), &raw const VTABLE) && !is_inspecting(waker) {
        return look(None);
    }
    // SAFETY: the table says that a cell is behind it, which the waker keeps alive.
    let cell = unsafe { cell(waker.data()) };
    look(Some(&*cell))
}

/// Whether a handler is inspected by `waker`.
#[inline]
pub(crate) fn is_inspecting(waker: &Waker) -> bool {
    std::ptr::eq(waker.vtable(), &raw const INSPECTING)
}

/// The ordinary waker in the place of one that inspects, which it borrows.
pub(crate) fn ordinary(waker: &Waker) -> ManuallyDrop<Waker> {
    let raw =
        RawWaker::new(waker.data(), if is_inspecting(waker) { &VTABLE } else { waker.vtable() });
    // SAFETY: both tables are for a cell; the count that this waker lacks is never given back.
    ManuallyDrop::new(unsafe { Waker::from_raw(raw) })
}

/// # Safety
/// `data` is the address of a live cell.
unsafe fn cell(data: *const ()) -> ManuallyDrop<CellRef> {
    // SAFETY: a waker is made from a non-null header.
    let header = unsafe { NonNull::new_unchecked(data.cast::<Header>().cast_mut()) };
    // SAFETY: the waker owns or borrows a reference.
    unsafe { CellRef::lent(header) }
}

unsafe fn clone(data: *const ()) -> RawWaker {
    // SAFETY: the waker that is cloned keeps the cell alive.
    let cell = unsafe { cell(data) };
    let _one_more = ManuallyDrop::new(CellRef::clone(&cell));
    RawWaker::new(data, &VTABLE)
}

unsafe fn wake(data: *const ()) {
    // SAFETY: the waker owns a reference, which is dropped here.
    let cell = ManuallyDrop::into_inner(unsafe { cell(data) });
    cell.wake();
}

unsafe fn wake_by_ref(data: *const ()) {
    // SAFETY: the waker keeps the cell alive.
    unsafe { cell(data) }.wake();
}

unsafe fn clone_inspecting(data: *const ()) -> RawWaker {
    // SAFETY: the waker that is cloned keeps the cell alive.
    unsafe { cell(data) }.awaited.note_other();
    // SAFETY: as above.
    unsafe { clone(data) }
}

unsafe fn wake_by_ref_inspecting(data: *const ()) {
    // SAFETY: the waker keeps the cell alive.
    let cell = unsafe { cell(data) };
    cell.awaited.note_other();
    cell.wake();
}

unsafe fn release(data: *const ()) {
    // SAFETY: the waker owns a reference, which is dropped here.
    drop(ManuallyDrop::into_inner(unsafe { cell(data) }));
}
