//! The library's functions: those with names, and those that lie in an open device.

use super::super::abi::{
    Ah, AhAttr, AsyncEvent, Channel, Cq, DeviceAttr, DeviceHandle, Mr, Pd, PortAttr, Qp, QpAttr,
    QpInitAttr, RawGid, RecvWr, SendWr, Srq, SrqInitAttr, Wc,
};
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::mem;
use std::ptr::NonNull;
use std::sync::OnceLock;

type PollCq = unsafe extern "C" fn(*mut Cq, c_int, *mut Wc) -> c_int;
type ArmCq = unsafe extern "C" fn(*mut Cq, c_int) -> c_int;
type PostReceive<Q> = unsafe extern "C" fn(*mut Q, *mut RecvWr, *mut *mut RecvWr) -> c_int;
type PostSend = unsafe extern "C" fn(*mut Qp, *mut SendWr, *mut *mut SendWr) -> c_int;

/// The driver's functions, as they lie in an open device.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Ops {
    _before: [usize; 11],
    pub(super) poll_cq: PollCq,
    pub(super) req_notify_cq: ArmCq,
    _queues: [usize; 7],
    pub(super) post_srq_recv: PostReceive<Srq>,
    _pairs: [usize; 4],
    pub(super) post_send: PostSend,
    pub(super) post_recv: PostReceive<Qp>,
    _after: [usize; 5],
}

#[repr(C)]
pub(super) struct Context {
    pub(super) device: *mut DeviceHandle,
    pub(super) ops: Ops,
    _cmd_fd: c_int,
    pub(super) async_fd: c_int,
}

const _: () = assert!(size_of::<Ops>() == 256);
const _: () = assert!(mem::offset_of!(Ops, req_notify_cq) == 96);
const _: () = assert!(mem::offset_of!(Ops, post_srq_recv) == 160);
const _: () = assert!(mem::offset_of!(Ops, post_recv) == 208);
const _: () = assert!(mem::offset_of!(Context, async_fd) == 268);

macro_rules! library {
    ($($name:ident($($argument:ty),*) -> $result:ty;)*) => {
        /// The functions that have names.
        pub(super) struct Library { $(pub(super) $name: unsafe extern "C" fn($($argument),*) -> $result,)* }

        impl Library {
            fn load(file: &CStr) -> Result<Self, Missing> {
                // SAFETY: the name ends with a zero; what the library does when it is loaded needs nothing.
                let library = unsafe { libc::dlopen(file.as_ptr(), libc::RTLD_NOW) };
                let library = NonNull::new(library).ok_or(Missing::Library)?;
                Ok(Self { $($name: {
                    let name = concat!("ibv_", stringify!($name), "\0");
                    // SAFETY: the library is loaded and stays; the name ends with a zero.
                    let found = unsafe { libc::dlsym(library.as_ptr(), name.as_ptr().cast()) };
                    let missing = Missing::Function(concat!("ibv_", stringify!($name)));
                    let found = NonNull::new(found).ok_or(missing)?;
                    // SAFETY: the header declares the function like this.
                    unsafe { mem::transmute::<NonNull<c_void>, unsafe extern "C" fn($($argument),*) -> $result>(found) }
                },)* })
            }
        }
    };
}
library! {
    get_device_list(*mut c_int) -> *mut *mut DeviceHandle;
    free_device_list(*mut *mut DeviceHandle) -> ();
    get_device_name(*mut DeviceHandle) -> *const c_char;
    get_device_guid(*mut DeviceHandle) -> u64;
    open_device(*mut DeviceHandle) -> *mut Context;
    close_device(*mut Context) -> c_int;
    query_device(*mut Context, *mut DeviceAttr) -> c_int;
    query_port(*mut Context, u8, *mut PortAttr) -> c_int;
    query_gid(*mut Context, u8, c_int, *mut RawGid) -> c_int;
    alloc_pd(*mut Context) -> *mut Pd;
    dealloc_pd(*mut Pd) -> c_int;
    reg_mr(*mut Pd, *mut c_void, usize, c_int) -> *mut Mr;
    dereg_mr(*mut Mr) -> c_int;
    create_comp_channel(*mut Context) -> *mut Channel;
    destroy_comp_channel(*mut Channel) -> c_int;
    create_cq(*mut Context, c_int, *mut c_void, *mut Channel, c_int) -> *mut Cq;
    destroy_cq(*mut Cq) -> c_int;
    get_cq_event(*mut Channel, *mut *mut Cq, *mut *mut c_void) -> c_int;
    ack_cq_events(*mut Cq, c_uint) -> ();
    create_srq(*mut Pd, *mut SrqInitAttr) -> *mut Srq;
    destroy_srq(*mut Srq) -> c_int;
    create_qp(*mut Pd, *mut QpInitAttr) -> *mut Qp;
    destroy_qp(*mut Qp) -> c_int;
    modify_qp(*mut Qp, *mut QpAttr, c_int) -> c_int;
    query_qp(*mut Qp, *mut QpAttr, c_int, *mut QpInitAttr) -> c_int;
    create_ah(*mut Pd, *mut AhAttr) -> *mut Ah;
    destroy_ah(*mut Ah) -> c_int;
    get_async_event(*mut Context, *mut AsyncEvent) -> c_int;
    ack_async_event(*mut AsyncEvent) -> ();
}

/// What of the library this machine does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Missing {
    Library,
    Function(&'static str),
}

/// The library, if this machine has it.
pub(super) fn library() -> Result<&'static Library, Missing> {
    static LIBRARY: OnceLock<Result<Library, Missing>> = OnceLock::new();
    LIBRARY.get_or_init(|| Library::load(c"libibverbs.so.1")).as_ref().map_err(|missing| *missing)
}

#[cfg(test)]
mod tests;
