//! The shapes and numbers of `infiniband/verbs.h`, as far as they are needed. They are libibverbs' ABI
//! since version 1.1 and do not change; what is not named here is never looked at.
//!
//! The sizes and places at the end were printed by a C compiler from the header of rdma-core 44. Objects
//! that only the library makes are shorter here than there.

use std::ffi::c_int;
use std::mem::{align_of, offset_of, size_of};

/// What only the library looks into.
macro_rules! opaque {
    ($($name:ident)*) => { $(#[repr(C)] pub(super) struct $name { _opaque: [u8; 0] })* };
}
opaque! { Ah Pd Srq }

#[repr(C)]
pub(super) struct DeviceHandle {
    _ops: [usize; 2],
    _node_type: c_int,
    pub(super) transport_type: c_int,
}

/// A union there, one part of which is two numbers of 64 bits.
#[repr(C, align(8))]
#[derive(Clone, Copy, Default)]
pub(super) struct RawGid(pub(super) [u8; 16]);

#[repr(C)]
pub(super) struct Channel {
    _context: *mut u8,
    pub(super) fd: c_int,
}

#[repr(C)]
pub(super) struct Mr {
    _objects: [*mut u8; 2],
    _address: *mut u8,
    _length: usize,
    _handle: u32,
    pub(super) lkey: u32,
    pub(super) rkey: u32,
}

#[repr(C)]
pub(super) struct Cq {
    _context: *mut u8,
}

#[repr(C)]
pub(super) struct Qp {
    _objects: [*mut u8; 6],
    _handle: u32,
    pub(super) qp_num: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct DeviceAttr {
    _fw_ver: [u8; 64],
    _guids: [u64; 2],
    pub(super) max_mr_size: u64,
    _page_size_cap: u64,
    _vendor: [u32; 3],
    pub(super) max_qp: c_int,
    pub(super) max_qp_wr: c_int,
    _device_cap_flags: u32,
    _max_sge: [c_int; 2],
    _max_cq: c_int,
    pub(super) max_cqe: c_int,
    _max_mr_to_mcast: [c_int; 16],
    pub(super) max_ah: c_int,
    _max_fmr: [c_int; 2],
    pub(super) max_srq: c_int,
    pub(super) max_srq_wr: c_int,
    _max_srq_sge: c_int,
    _max_pkeys: u16,
    _local_ca_ack_delay: u8,
    pub(super) phys_port_cnt: u8,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(super) struct PortAttr {
    pub(super) state: u32,
    _max_mtu: u32,
    pub(super) active_mtu: u32,
    pub(super) gid_tbl_len: c_int,
    _port_cap_flags: u32,
    pub(super) max_msg_sz: u32,
    _counters: [u32; 2],
    _pkey_tbl_len: u16,
    pub(super) lid: u16,
    _sm_lid: u16,
    _small: [u8; 8],
    pub(super) link_layer: u8,
    _flags: u8,
    _port_cap_flags2: u16,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(super) struct Cap {
    pub(super) max_send_wr: u32,
    pub(super) max_recv_wr: u32,
    pub(super) max_send_sge: u32,
    pub(super) max_recv_sge: u32,
    pub(super) max_inline_data: u32,
}

#[repr(C)]
pub(super) struct QpInitAttr {
    pub(super) qp_context: *mut u8,
    pub(super) send_cq: *mut Cq,
    pub(super) recv_cq: *mut Cq,
    pub(super) srq: *mut Srq,
    pub(super) cap: Cap,
    pub(super) qp_type: u32,
    pub(super) sq_sig_all: c_int,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(super) struct AhAttr {
    pub(super) dgid: [u64; 2],
    pub(super) flow_label: u32,
    pub(super) sgid_index: u8,
    pub(super) hop_limit: u8,
    pub(super) traffic_class: u8,
    pub(super) dlid: u16,
    pub(super) sl: u8,
    pub(super) src_path_bits: u8,
    pub(super) static_rate: u8,
    pub(super) is_global: u8,
    pub(super) port_num: u8,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(super) struct QpAttr {
    pub(super) qp_state: u32,
    pub(super) cur_qp_state: u32,
    pub(super) path_mtu: u32,
    pub(super) path_mig_state: u32,
    pub(super) qkey: u32,
    pub(super) rq_psn: u32,
    pub(super) sq_psn: u32,
    pub(super) dest_qp_num: u32,
    pub(super) qp_access_flags: u32,
    pub(super) cap: Cap,
    pub(super) ah_attr: AhAttr,
    pub(super) alt_ah_attr: AhAttr,
    pub(super) pkey_index: u16,
    pub(super) alt_pkey_index: u16,
    pub(super) en_sqd_async_notify: u8,
    pub(super) sq_draining: u8,
    pub(super) max_rd_atomic: u8,
    pub(super) max_dest_rd_atomic: u8,
    pub(super) min_rnr_timer: u8,
    pub(super) port_num: u8,
    pub(super) timeout: u8,
    pub(super) retry_cnt: u8,
    pub(super) rnr_retry: u8,
    pub(super) alt_port_num: u8,
    pub(super) alt_timeout: u8,
    pub(super) rate_limit: u32,
}

#[repr(C)]
pub(super) struct SrqInitAttr {
    pub(super) srq_context: *mut u8,
    pub(super) max_wr: u32,
    pub(super) max_sge: u32,
    pub(super) srq_limit: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(super) struct Sge {
    pub(super) addr: u64,
    pub(super) length: u32,
    pub(super) lkey: u32,
}

#[repr(C)]
pub(super) struct SendWr {
    pub(super) wr_id: u64,
    pub(super) next: *mut Self,
    pub(super) sg_list: *mut Sge,
    pub(super) num_sge: c_int,
    pub(super) opcode: u32,
    pub(super) send_flags: u32,
    pub(super) imm_data: u32,
    /// The part of a union that datagrams use; the other parts are of one-sided operations.
    pub(super) ah: *mut Ah,
    pub(super) remote_qpn: u32,
    pub(super) remote_qkey: u32,
    _unused: [u64; 9],
}

impl SendWr {
    pub(super) const fn new(wr_id: u64, send_flags: u32, ah: *mut Ah, to: (u32, u32)) -> Self {
        let (next, sg_list) = (std::ptr::null_mut(), std::ptr::null_mut());
        let (num_sge, opcode, imm_data) = (1, WR_SEND, 0);
        let (remote_qpn, remote_qkey) = to;
        Self {
            wr_id,
            next,
            sg_list,
            num_sge,
            opcode,
            send_flags,
            imm_data,
            ah,
            remote_qpn,
            remote_qkey,
            _unused: [0; 9],
        }
    }
}

#[repr(C)]
pub(super) struct RecvWr {
    pub(super) wr_id: u64,
    pub(super) next: *mut Self,
    pub(super) sg_list: *mut Sge,
    pub(super) num_sge: c_int,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(super) struct Wc {
    pub(super) wr_id: u64,
    pub(super) status: u32,
    pub(super) opcode: u32,
    pub(super) vendor_err: u32,
    pub(super) byte_len: u32,
    pub(super) imm_data: u32,
    pub(super) qp_num: u32,
    pub(super) src_qp: u32,
    pub(super) wc_flags: u32,
    pub(super) pkey_index: u16,
    pub(super) slid: u16,
    pub(super) sl: u8,
    pub(super) dlid_path_bits: u8,
}

/// What an event is about.
#[repr(C)]
pub(super) union Element {
    pub(super) queue: *mut u8,
    pub(super) port: c_int,
}

#[repr(C)]
pub(super) struct AsyncEvent {
    pub(super) element: Element,
    pub(super) event_type: u32,
}

pub(super) const QPT_RC: u32 = 2;
pub(super) const QPT_UD: u32 = 4;

pub(super) const QPS_INIT: u32 = 1;
pub(super) const QPS_RTR: u32 = 2;
pub(super) const QPS_RTS: u32 = 3;
pub(super) const QPS_SQD: u32 = 4;
pub(super) const QPS_ERR: u32 = 6;

pub(super) const QP_STATE: c_int = 1;
pub(super) const QP_ACCESS_FLAGS: c_int = 1 << 3;
pub(super) const QP_PKEY_INDEX: c_int = 1 << 4;
pub(super) const QP_PORT: c_int = 1 << 5;
pub(super) const QP_QKEY: c_int = 1 << 6;
pub(super) const QP_AV: c_int = 1 << 7;
pub(super) const QP_PATH_MTU: c_int = 1 << 8;
pub(super) const QP_TIMEOUT: c_int = 1 << 9;
pub(super) const QP_RETRY_CNT: c_int = 1 << 10;
pub(super) const QP_RNR_RETRY: c_int = 1 << 11;
pub(super) const QP_RQ_PSN: c_int = 1 << 12;
pub(super) const QP_MAX_QP_RD_ATOMIC: c_int = 1 << 13;
pub(super) const QP_MIN_RNR_TIMER: c_int = 1 << 15;
pub(super) const QP_SQ_PSN: c_int = 1 << 16;
pub(super) const QP_MAX_DEST_RD_ATOMIC: c_int = 1 << 17;
pub(super) const QP_DEST_QPN: c_int = 1 << 20;

/// The one right that memory is registered with: the device may write what it receives.
pub(super) const ACCESS_LOCAL_WRITE: c_int = 1;
pub(super) const WR_SEND: u32 = 2;
pub(super) const SEND_SIGNALED: u32 = 1 << 1;
pub(super) const SEND_INLINE: u32 = 1 << 3;
pub(super) const WC_GRH: u32 = 1;
pub(super) const PORT_ACTIVE: u32 = 4;
pub(super) const LINK_LAYER_ETHERNET: u8 = 2;
pub(super) const TRANSPORT_IWARP: c_int = 1;

pub(super) mod status {
    pub(in super::super) const SUCCESS: u32 = 0;
    pub(in super::super) const LOC_LEN: u32 = 1;
    pub(in super::super) const WR_FLUSH: u32 = 5;
    pub(in super::super) const REM_INV_REQ: u32 = 9;
    pub(in super::super) const REM_ACCESS: u32 = 10;
    pub(in super::super) const REM_OP: u32 = 11;
    pub(in super::super) const RETRY_EXC: u32 = 12;
    pub(in super::super) const RNR_RETRY_EXC: u32 = 13;
}

pub(super) mod event {
    pub(in super::super) const CQ_ERR: u32 = 0;
    pub(in super::super) const QP_FATAL: u32 = 1;
    pub(in super::super) const QP_REQ_ERR: u32 = 2;
    pub(in super::super) const QP_ACCESS_ERR: u32 = 3;
    pub(in super::super) const DEVICE_FATAL: u32 = 8;
    pub(in super::super) const PORT_ACTIVE: u32 = 9;
    pub(in super::super) const PORT_ERR: u32 = 10;
    pub(in super::super) const SRQ_ERR: u32 = 14;
    pub(in super::super) const QP_LAST_WQE_REACHED: u32 = 16;
    pub(in super::super) const GID_CHANGE: u32 = 18;
}

const _: () = assert!(size_of::<DeviceAttr>() == 232);
const _: () = assert!(offset_of!(DeviceAttr, max_mr_size) == 80);
const _: () = assert!(offset_of!(DeviceAttr, max_qp) == 108);
const _: () = assert!(offset_of!(DeviceAttr, max_cqe) == 132);
const _: () = assert!(offset_of!(DeviceAttr, max_srq_wr) == 216);
const _: () = assert!(offset_of!(DeviceAttr, phys_port_cnt) == 227);
const _: () = assert!(size_of::<PortAttr>() == 52);
const _: () = assert!(offset_of!(PortAttr, lid) == 34);
const _: () = assert!(offset_of!(PortAttr, link_layer) == 46);
const _: () = assert!(offset_of!(DeviceHandle, transport_type) == 20);
const _: () = assert!(size_of::<RawGid>() == 16 && align_of::<RawGid>() == 8);
const _: () = assert!(offset_of!(Mr, lkey) == 36);
const _: () = assert!(offset_of!(Qp, qp_num) == 52);
const _: () = assert!(offset_of!(Channel, fd) == 8);
const _: () = assert!(size_of::<QpInitAttr>() == 64);
const _: () = assert!(offset_of!(QpInitAttr, qp_type) == 52);
const _: () = assert!(size_of::<AhAttr>() == 32);
const _: () = assert!(offset_of!(AhAttr, sgid_index) == 20);
const _: () = assert!(offset_of!(AhAttr, dlid) == 24);
const _: () = assert!(offset_of!(AhAttr, is_global) == 29);
const _: () = assert!(size_of::<QpAttr>() == 144);
const _: () = assert!(offset_of!(QpAttr, qp_access_flags) == 32);
const _: () = assert!(offset_of!(QpAttr, ah_attr) == 56);
const _: () = assert!(offset_of!(QpAttr, pkey_index) == 120);
const _: () = assert!(offset_of!(QpAttr, max_rd_atomic) == 126);
const _: () = assert!(offset_of!(QpAttr, rnr_retry) == 132);
const _: () = assert!(offset_of!(QpAttr, rate_limit) == 136);
const _: () = assert!(size_of::<SrqInitAttr>() == 24);
const _: () = assert!(size_of::<Sge>() == 16);
const _: () = assert!(size_of::<RecvWr>() == 32);
const _: () = assert!(size_of::<SendWr>() == 128);
const _: () = assert!(offset_of!(SendWr, ah) == 40);
const _: () = assert!(offset_of!(SendWr, remote_qkey) == 52);
const _: () = assert!(size_of::<Wc>() == 48);
const _: () = assert!(offset_of!(Wc, wc_flags) == 36);
const _: () = assert!(size_of::<AsyncEvent>() == 16);
const _: () = assert!(offset_of!(AsyncEvent, event_type) == 8);
