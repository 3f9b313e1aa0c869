//! Registered memory, in pieces of one owner each.

use super::super::abi::{ACCESS_LOCAL_WRITE, Mr, Sge};
use super::Owned;
use super::device::Domain;
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::NonNull;
use std::sync::{Arc, Weak};
use std::{io, ptr, slice};

/// How many bytes this user may lock, if the system says.
pub(in crate::rdma) fn lockable_bytes() -> Option<u64> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the limit may be written.
    let code = unsafe { libc::getrlimit(libc::RLIMIT_MEMLOCK, &raw mut limit) };
    (code == 0).then_some(limit.rlim_cur)
}

/// Memory for slots, whether or not a device may still write into it.
struct Region {
    memory: NonNull<u8>,
    layout: Layout,
}

// SAFETY: the memory is this region's, and only slots look at it. I2.
unsafe impl Send for Region {}
// SAFETY: as above.
unsafe impl Sync for Region {}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: it was allocated with that layout, no slot is left, and no device knows of it: its registration holds it.
        unsafe { dealloc(self.memory.as_ptr(), self.layout) };
    }
}

/// Lets the device write what it receives into a region. Nobody else gets a right to it.
pub(super) struct Registration {
    mr: Owned<Mr>,
    region: Arc<Region>,
}

impl Drop for Registration {
    fn drop(&mut self) {
        if !self.mr.destroy() {
            // I3.
            Box::leak(Box::new(Arc::clone(&self.region)));
        }
    }
}

/// What slots were registered together. The registration ends when none of them is left, or with what else there is of the device:
/// whoever keeps one when the device is closed keeps memory, and holds up nobody who wants to take the device away.
struct Slab {
    keys: (u32, u32),
    domain: Weak<Domain>,
    region: Arc<Region>,
}

impl Drop for Slab {
    fn drop(&mut self) {
        let Some(domain) = self.domain.upgrade() else { return };
        let mut registrations = domain.registrations.lock();
        let at = registrations.iter().position(|other| Arc::ptr_eq(&other.region, &self.region));
        let ended = at.map(|at| registrations.swap_remove(at));
        // The system is asked with the lock free.
        drop(registrations);
        drop(ended);
    }
}

/// A piece of registered memory, of one owner. I2.
pub struct Slot {
    at: NonNull<u8>,
    bytes: usize,
    slab: Arc<Slab>,
}

// SAFETY: it is the only one to its bytes, as a `Box<[u8]>`.
unsafe impl Send for Slot {}
// SAFETY: as above.
unsafe impl Sync for Slot {}

impl AsRef<[u8]> for Slot {
    fn as_ref(&self) -> &[u8] {
        // SAFETY: I2; the bytes were zeroed when they were allocated.
        unsafe { slice::from_raw_parts(self.at.as_ptr(), self.bytes) }
    }
}

impl AsMut<[u8]> for Slot {
    fn as_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above.
        unsafe { slice::from_raw_parts_mut(self.at.as_ptr(), self.bytes) }
    }
}

impl std::fmt::Debug for Slot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Slot").field("bytes", &self.bytes).finish_non_exhaustive()
    }
}

impl Slot {
    /// The key by which peers would reach it, as the device says: zero on devices that give none.
    #[must_use]
    pub fn remote_key(&self) -> u32 {
        self.slab.keys.1
    }

    pub(super) fn is_of(&self, domain: &Arc<Domain>) -> bool {
        ptr::eq(self.slab.domain.as_ptr(), Arc::as_ptr(domain))
    }

    pub(super) fn piece(&self, from: usize, bytes: usize) -> Sge {
        let addr = self.at.as_ptr().expose_provenance() as u64 + from as u64;
        Sge { addr, length: u32::try_from(bytes).unwrap_or(u32::MAX), lkey: self.slab.keys.0 }
    }
}

/// Registers zeroed memory and cuts it into slots that begin `stride` bytes apart.
pub(in super::super) fn register(
    domain: &Arc<Domain>,
    layout: Layout,
    stride: usize,
    slot_bytes: usize,
) -> io::Result<Vec<Slot>> {
    assert!(0 < slot_bytes && slot_bytes <= stride && stride <= layout.size(), "slots have bytes");
    // SAFETY: the layout has bytes.
    let memory = NonNull::new(unsafe { alloc_zeroed(layout) });
    let region = Region { memory: memory.ok_or(io::ErrorKind::OutOfMemory)?, layout };
    let library = domain.library;
    let address = region.memory.as_ptr().cast();
    // [RDMA-2]
    // SAFETY: the memory is there, of that length, and is freed after the registration.
    let mr =
        unsafe { (library.reg_mr)(domain.pd.object, address, layout.size(), ACCESS_LOCAL_WRITE) };
    let mr = Owned::new(mr, library.dereg_mr)?;
    // SAFETY: it was just made.
    let made = unsafe { &*mr.object };
    let (keys, region) = ((made.lkey, made.rkey), Arc::new(region));
    domain.registrations.lock().push(Registration { mr, region: Arc::clone(&region) });
    let (memory, domain) = (region.memory, Arc::downgrade(domain));
    let slab = Arc::new(Slab { keys, domain, region });
    let starts = (0..layout.size() / stride).map(|index| index * stride);
    let slots = starts.map(|start| Slot {
        // SAFETY: it is within the memory, and not beyond: the last slot ends there at most.
        at: unsafe { memory.add(start) },
        bytes: slot_bytes,
        slab: Arc::clone(&slab),
    });
    Ok(slots.collect())
}
