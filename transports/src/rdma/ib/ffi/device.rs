//! Devices: their list, and one that is open.

use super::super::abi::{
    AsyncEvent, DeviceAttr, DeviceHandle, Element, Pd, PortAttr, Qp, RawGid, TRANSPORT_IWARP, event,
};
use super::library::{Context, Library, Missing, Ops, library};
use super::memory::Registration;
use super::{Owned, done};
use parking_lot::Mutex;
use std::ffi::CStr;
use std::os::fd::{AsRawFd, RawFd};
use std::sync::Arc;
use std::{io, mem, ptr, slice};

/// The names and numbers of all devices, or what of the library is missing.
pub(in super::super) fn devices() -> Result<io::Result<Vec<(String, u64)>>, Missing> {
    let library = library()?;
    Ok(with_devices(library, |device| {
        // SAFETY: the list it is of is not freed yet.
        let guid = unsafe { (library.get_device_guid)(device) };
        (name(library, device), u64::from_be(guid))
    }))
}

fn name(library: &Library, device: *mut DeviceHandle) -> String {
    // SAFETY: the list it is of is not freed yet.
    let name = unsafe { (library.get_device_name)(device) };
    // SAFETY: the name is a string that ends with a zero and lives as long as the list.
    unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned()
}

fn with_devices<T>(
    library: &Library,
    look: impl FnMut(*mut DeviceHandle) -> T,
) -> io::Result<Vec<T>> {
    let mut count = 0;
    // SAFETY: the count may be written.
    let list = unsafe { (library.get_device_list)(&raw mut count) };
    if list.is_null() {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the list has that many devices.
    let devices = unsafe { slice::from_raw_parts(list, usize::try_from(count).unwrap_or(0)) };
    let seen = devices.iter().copied().map(look).collect();
    // SAFETY: nothing of the list is used any more.
    unsafe { (library.free_device_list)(list) };
    Ok(seen)
}

/// An open device, with a protection domain.
pub(in super::super) struct Domain {
    /// What is registered in it, which goes first.
    pub(super) registrations: Mutex<Vec<Registration>>,
    pub(super) pd: Owned<Pd>,
    pub(super) context: Owned<Context>,
    pub(super) ops: Ops,
    pub(super) library: &'static Library,
}

impl Domain {
    /// Opens the device of that name. None without the library or the device.
    pub(in super::super) fn open(wanted: &str) -> Option<io::Result<Arc<Self>>> {
        let library = library().ok()?;
        let opened = with_devices(library, |device| {
            (name(library, device) == wanted).then(|| {
                // SAFETY: the list it is of is not freed yet.
                let context = unsafe { (library.open_device)(device) };
                // Here, for what went wrong may be written over when the list is freed.
                Owned::new(context, library.close_device)
            })
        });
        let opened = match opened {
            Ok(all) => all.into_iter().flatten().next()?,
            Err(error) => Err(error),
        };
        Some(opened.and_then(|context| Self::new(library, context)))
    }

    fn new(library: &'static Library, context: Owned<Context>) -> io::Result<Arc<Self>> {
        // SAFETY: it is open, and drivers put their functions there before it is.
        let ops = unsafe { (*context.object).ops };
        // SAFETY: as above.
        let events = unsafe { (*context.object).async_fd };
        do_not_block(events)?;
        // SAFETY: it is open.
        let pd = Owned::new(unsafe { (library.alloc_pd)(context.object) }, library.dealloc_pd)?;
        Ok(Arc::new(Self { registrations: Mutex::default(), pd, context, ops, library }))
    }

    pub(in super::super) fn is_iwarp(&self) -> bool {
        // SAFETY: it is open.
        let device = unsafe { (*self.context.object).device };
        // SAFETY: the library keeps what it says of a device as long as that is open.
        unsafe { (*device).transport_type == TRANSPORT_IWARP }
    }

    pub(in super::super) fn attributes(&self) -> io::Result<DeviceAttr> {
        // SAFETY: it consists of numbers, for which all bits zero is fine.
        let mut attributes = unsafe { mem::zeroed() };
        // SAFETY: the device is open, and what is written has the header's shape.
        done(unsafe { (self.library.query_device)(self.context.object, &raw mut attributes) })?;
        Ok(attributes)
    }

    pub(in super::super) fn port(&self, port: u8) -> io::Result<PortAttr> {
        let mut attributes = PortAttr::default();
        // SAFETY: as above. The function may write no more than a part, the rest is zero then.
        done(unsafe { (self.library.query_port)(self.context.object, port, &raw mut attributes) })?;
        Ok(attributes)
    }

    pub(in super::super) fn gid(&self, port: u8, index: u8) -> io::Result<[u8; 16]> {
        let mut gid = RawGid::default();
        let index = index.into();
        // SAFETY: the device is open, and what is written has the header's shape.
        done(unsafe { (self.library.query_gid)(self.context.object, port, index, &raw mut gid) })?;
        Ok(gid.0)
    }

    /// The kind of the next event and the number of the queue pair or port that it is about, or zero. Never waits.
    pub(in super::super) fn event(&self) -> io::Result<(u32, u32)> {
        let element = Element { queue: ptr::null_mut() };
        let mut event = AsyncEvent { element, event_type: 0 };
        // SAFETY: the device is open; its descriptor does not block.
        done(unsafe { (self.library.get_async_event)(self.context.object, &raw mut event) })?;
        let number = match event.event_type {
            event::QP_FATAL
            | event::QP_REQ_ERR
            | event::QP_ACCESS_ERR
            | event::QP_LAST_WQE_REACHED => {
                // SAFETY: it is about a queue pair, so there is a pointer.
                let pair = unsafe { event.element.queue };
                // SAFETY: the queue pair cannot be destroyed before the event is acknowledged.
                unsafe { (*pair.cast::<Qp>()).qp_num }
            }
            event::PORT_ACTIVE | event::PORT_ERR | event::GID_CHANGE => {
                // SAFETY: it is about a port, so there is its number.
                unsafe { event.element.port }.try_into().unwrap_or(0)
            }
            _ => 0,
        };
        // SAFETY: it came from the device, and is acknowledged once.
        unsafe { (self.library.ack_async_event)(&raw mut event) };
        Ok((event.event_type, number))
    }
}

impl AsRawFd for Domain {
    fn as_raw_fd(&self) -> RawFd {
        // SAFETY: the device is open as long as the domain is there.
        unsafe { (*self.context.object).async_fd }
    }
}

pub(super) fn do_not_block(fd: RawFd) -> io::Result<()> {
    // SAFETY: asks for the flags of a descriptor, whatever it is.
    let flags = unsafe { libc::fcntl(fd, libc::F_GETFL) };
    // SAFETY: adds to the flags of a descriptor, whatever it is.
    let code = unsafe { libc::fcntl(fd, libc::F_SETFL, flags | libc::O_NONBLOCK) };
    if code < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
