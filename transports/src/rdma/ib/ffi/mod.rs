//! libibverbs behind owned handles. All of this crate's `unsafe` is in this module, and no pointer leaves it.
//!
//! The library is loaded when it is first asked for, and stays: a program that never does runs without it.
//! Requests and completions go through functions that the header defines inline; they call what the device's
//! driver put into the open device, and so do we.
//!
//! Invariants:
//! 1. An [`Owned`] object was made by the library and is freed once, after everything that was made of it:
//!    each handle holds those that it depends on, behind its own object.
//! 2. A [`Slot`] is the only one to its piece of memory, which stays where it is until the last slot is gone and the device has
//!    forgotten it. What was posted lies in the queue's ring, where nobody can reach it, and the ring holds the device.
//! 3. What the device may still touch is not freed: if a queue or a registration cannot be destroyed, its
//!    memory is left to the device for ever, and that of a queue with what the queue was made of.
//! 4. The library's functions may be called by several threads at once, for the same object too; that is
//!    libibverbs' own promise.
//! 5. A completion is only made by polling, and its number and queue cannot be changed outside of
//!    [`rdma`](crate::rdma). Polling finds out which [queue](super::identities) it is of, and only that one gives back
//!    the slot. A device that has given the number of a queue pair to another one says nothing more of the first.
#![expect(unsafe_code, reason = "calls libibverbs; the one module that does")]

mod device;
mod library;
mod memory;
mod queues;

pub(super) use device::{Domain, devices};
pub(super) use library::Missing;
pub use memory::Slot;
pub(in crate::rdma) use memory::lockable_bytes;
pub(super) use memory::register;
pub(super) use queues::{Address, Completions, Pair, Peer, Shared};

use std::ffi::c_int;
use std::{io, mem, ptr};

/// Some of the library's functions return an error's number, others -1 and leave the number in `errno`.
fn done(code: c_int) -> io::Result<()> {
    match code {
        0 => Ok(()),
        -1 => Err(io::Error::last_os_error()),
        code => Err(io::Error::from_raw_os_error(code.abs())),
    }
}

/// An object of the library's. I1.
struct Owned<T> {
    object: *mut T,
    free: unsafe extern "C" fn(*mut T) -> c_int,
}

// SAFETY: I4.
unsafe impl<T> Send for Owned<T> {}
// SAFETY: I4.
unsafe impl<T> Sync for Owned<T> {}

impl<T> Owned<T> {
    /// What the library just made, or why it did not.
    fn new(object: *mut T, free: unsafe extern "C" fn(*mut T) -> c_int) -> io::Result<Self> {
        if object.is_null() {
            return Err(io::Error::last_os_error());
        }
        Ok(Self { object, free })
    }

    /// Whether the object is gone. If it cannot be destroyed, the library keeps it. I3.
    fn destroy(&mut self) -> bool {
        let object = mem::replace(&mut self.object, ptr::null_mut());
        // SAFETY: I1, it is freed with the function that belongs to it, and forgotten.
        object.is_null() || unsafe { (self.free)(object) } == 0
    }
}

impl<T> Drop for Owned<T> {
    fn drop(&mut self) {
        self.destroy();
    }
}
