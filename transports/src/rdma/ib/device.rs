//! Devices, and what is made of one.

use super::super::inline::Inline;
use super::super::verbs::{
    CreateError, Device, DeviceError, DeviceEvent, DeviceInfo, Endpoint, Limits, LinkLayer,
    OWNER_MAX, OpenError, Port, QueuePairConfig, RegisterError, Timing, Verbs,
};
use super::abi::{
    AhAttr, DeviceAttr, LINK_LAYER_ETHERNET, PORT_ACTIVE, PortAttr, QPT_RC, QPT_UD, event,
};
use super::connecting::IbConnecting;
use super::ffi::{self, Address, Completions, Domain, Shared, Slot};
use super::files::is_barred;
use super::queues::{IbCompletionQueue, IbQueuePair, IbSharedReceives};
use super::{Watched, device_error};
use std::alloc::Layout;
use std::ffi::c_int;
use std::io;
use std::sync::Arc;
use std::task::{Context, Poll};

/// What a user is told of it.
fn no_library(missing: ffi::Missing) -> OpenError {
    let (library, package) = ("libibverbs.so.1", "libibverbs1 (and ibverbs-providers)");
    match missing {
        ffi::Missing::Library => OpenError::NoLibrary { library, package },
        ffi::Missing::Function(function) => OpenError::OldLibrary { library, function, package },
    }
}

/// This machine's devices.
#[derive(Clone, Copy, Debug, Default)]
pub struct IbVerbs;

impl Verbs for IbVerbs {
    type Device = IbDevice;

    fn devices(&self) -> Result<Vec<DeviceInfo>, OpenError> {
        match ffi::devices().map_err(no_library)? {
            Ok(all) => Ok(all.into_iter().map(|(name, guid)| DeviceInfo { name, guid }).collect()),
            // A kernel without RDMA has no devices.
            Err(error) if error.raw_os_error() == Some(libc::ENOSYS) => Ok(Vec::new()),
            Err(error) => Err(OpenError::System(error)),
        }
    }

    fn open(&self, name: &str, port: u8, gid_index: u8) -> Result<IbDevice, OpenError> {
        if !self.devices()?.iter().any(|device| device.name == name) {
            return Err(OpenError::NoDevice(name.to_owned()));
        }
        let opened = Domain::open(name).ok_or_else(|| OpenError::NoDevice(name.to_owned()))?;
        let domain = opened.map_err(|error| match error.kind() {
            io::ErrorKind::PermissionDenied => OpenError::NotPermitted,
            _ if is_barred(name) => OpenError::NotPermitted,
            _ => OpenError::System(error),
        })?;
        if domain.is_iwarp() {
            return Err(OpenError::Iwarp);
        }
        let attributes = domain.attributes().map_err(OpenError::System)?;
        if port == 0 || port > attributes.phys_port_cnt {
            return Err(OpenError::NoPort(port));
        }
        let state = domain.port(port).map_err(OpenError::System)?;
        if c_int::from(gid_index) >= state.gid_tbl_len {
            return Err(OpenError::NoGid(gid_index));
        }
        let gid = domain.gid(port, gid_index).map_err(OpenError::System)?;
        if state.state != PORT_ACTIVE {
            return Err(OpenError::PortDown(port));
        }
        if gid == [0; 16] {
            return Err(OpenError::NoGid(gid_index));
        }
        let limits = limits(&attributes);
        let is_ethernet = state.link_layer == LINK_LAYER_ETHERNET;
        let place = Place { port, gid_index, is_ethernet };
        let (inline, events) = (Inline::new(), Watched(None));
        Ok(IbDevice { domain, place, limits, inline, events })
    }
}

fn limits(of: &DeviceAttr) -> Limits {
    let count = |number: c_int| u32::try_from(number).unwrap_or(0);
    Limits {
        ports: of.phys_port_cnt,
        queue_pairs: count(of.max_qp),
        requests: count(of.max_qp_wr),
        completions: count(of.max_cqe),
        shared_receives: count(of.max_srq),
        shared_requests: count(of.max_srq_wr),
        addresses: count(of.max_ah),
        memory_bytes: of.max_mr_size,
    }
}

/// Which port of a device, and by which of its addresses.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) port: u8,
    gid_index: u8,
    is_ethernet: bool,
}

impl Place {
    /// How packets get to that port.
    pub(super) fn way(&self, peer: &Endpoint) -> AhAttr {
        let (first, second) = peer.gid.split_at(8);
        let half = |bytes: &[u8]| bytes.try_into().map_or(0, u64::from_ne_bytes);
        AhAttr {
            dgid: [half(first), half(second)],
            sgid_index: self.gid_index,
            hop_limit: HOPS_MAX,
            dlid: peer.lid,
            // Within an InfiniBand subnet the LID says where to, and saves 40 bytes. [RDMA-8]
            is_global: u8::from(self.is_ethernet || peer.lid == 0),
            port_num: self.port,
            ..AhAttr::default()
        }
    }
}

/// An open device and one of its ports.
pub struct IbDevice {
    domain: Arc<Domain>,
    pub(super) place: Place,
    limits: Limits,
    inline: Inline,
    events: Watched<Domain>,
}

impl std::fmt::Debug for IbDevice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("IbDevice").field("port", &self.place.port).finish_non_exhaustive()
    }
}

/// Where to send datagrams to.
#[derive(Clone)]
pub struct IbAddress(pub(super) Arc<Address>);

impl std::fmt::Debug for IbAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("IbAddress").finish_non_exhaustive()
    }
}

fn within(what: &'static str, asked: u32, max: u32) -> Result<(), CreateError> {
    if asked <= max {
        return Ok(());
    }
    Err(CreateError::LimitReached { what, asked: asked.into(), max: max.into() })
}

pub(super) fn not_made(error: io::Error) -> CreateError {
    if let Some(limit) = met(&error, ffi::lockable_bytes()) {
        return CreateError::Locked { limit };
    }
    match device_error(&error) {
        DeviceError::Gone => CreateError::Device(DeviceError::Gone),
        _ => CreateError::System(error),
    }
}

/// The limit to locked memory that an error may come of, if there is one.
fn met(error: &io::Error, lockable: Option<u64>) -> Option<u64> {
    let is_short = error.raw_os_error() == Some(libc::ENOMEM);
    lockable.filter(|&limit| is_short && limit < u64::MAX)
}

impl IbDevice {
    pub(super) fn attributes(&self) -> Result<PortAttr, DeviceError> {
        self.domain.port(self.place.port).map_err(|error| device_error(&error))
    }

    fn pair(
        &self,
        completions: &IbCompletionQueue,
        shared: Option<&IbSharedReceives>,
        config: &QueuePairConfig,
        qkey: Option<u32>,
    ) -> Result<IbQueuePair, CreateError> {
        within("sends of a queue pair", config.sends_max, self.limits.requests)?;
        within("receives of a queue pair", config.receives_max, self.limits.requests)?;
        owner_is_in_range(config.owner)?;
        let is_own = completions.queue.is_of(&self.domain);
        if !is_own || shared.is_some_and(|shared| !shared.0.is_of(&self.domain)) {
            return Err(CreateError::Foreign);
        }
        let kind = if qkey.is_some() { QPT_UD } else { QPT_RC };
        let (queue, shared) = (&completions.queue, shared.map(|shared| &shared.0));
        let made = self.inline.make(config.inline_bytes, |inline_bytes| {
            ffi::Pair::new(queue, shared, kind, &QueuePairConfig { inline_bytes, ..*config })
        });
        IbQueuePair::ready(self, made.map_err(not_made)?, shared.is_some(), config.psn, qkey)
    }
}

/// The most routers on the way.
const HOPS_MAX: u8 = 64;
/// Slots begin where cache lines do, and pieces of memory where pages do.
const LINE_BYTES: usize = 64;
const PAGE_BYTES: usize = 4096;

fn owner_is_in_range(owner: u16) -> Result<(), CreateError> {
    if owner > OWNER_MAX { Err(CreateError::Range("the owner")) } else { Ok(()) }
}

impl Device for IbDevice {
    type Slot = Slot;
    type CompletionQueue = IbCompletionQueue;
    type SharedReceives = IbSharedReceives;
    type Address = IbAddress;
    type QueuePair = IbQueuePair;
    type Connecting = IbConnecting;

    fn limits(&self) -> Limits {
        self.limits
    }

    fn port(&self) -> Result<Port, DeviceError> {
        let (attributes, Place { port, gid_index, .. }) = (self.attributes()?, self.place);
        let gid = self.domain.gid(port, gid_index).map_err(|error| device_error(&error))?;
        Ok(port_of(&attributes, gid))
    }

    fn register(&self, count: usize, slot_bytes: usize) -> Result<Vec<Slot>, RegisterError> {
        if count == 0 || slot_bytes == 0 {
            return Err(RegisterError::Nothing);
        }
        let max = self.limits.memory_bytes;
        let stride = slot_bytes.checked_next_multiple_of(LINE_BYTES);
        let layout = stride.and_then(|stride| {
            let bytes = stride.checked_mul(count).filter(|&bytes| bytes as u64 <= max)?;
            Some((stride, Layout::from_size_align(bytes, PAGE_BYTES).ok()?))
        });
        let too_long = slot_bytes > u32::MAX as usize;
        let Some((stride, layout)) = layout.filter(|_| !too_long) else {
            return Err(RegisterError::TooLong { max });
        };
        ffi::register(&self.domain, layout, stride, slot_bytes).map_err(|error| {
            let limit = met(&error, ffi::lockable_bytes());
            let wanted = layout.size() as u64;
            limit.map_or(RegisterError::System(error), |limit| RegisterError::Locked {
                wanted,
                limit,
            })
        })
    }

    fn completion_queue(&self, depth: u32) -> Result<IbCompletionQueue, CreateError> {
        within("completions", depth, self.limits.completions)?;
        let depth = c_int::try_from(depth).unwrap_or(c_int::MAX);
        let queue = Completions::new(&self.domain, depth).map_err(not_made)?;
        Ok(IbCompletionQueue::new(queue))
    }

    fn shared_receives(&self, depth: u32, owner: u16) -> Result<IbSharedReceives, CreateError> {
        within("shared receives", depth, self.limits.shared_requests)?;
        owner_is_in_range(owner)?;
        Shared::new(&self.domain, depth, owner).map(IbSharedReceives).map_err(not_made)
    }

    fn connected(
        &self,
        completions: &IbCompletionQueue,
        shared: Option<&IbSharedReceives>,
        config: &QueuePairConfig,
    ) -> Result<IbQueuePair, CreateError> {
        self.pair(completions, shared, config, None)
    }

    fn connect_apart(&self, pair: IbQueuePair, peer: &Endpoint, timing: &Timing) -> IbConnecting {
        IbConnecting::new(pair, *peer, *timing)
    }

    fn datagram(
        &self,
        completions: &IbCompletionQueue,
        config: &QueuePairConfig,
        qkey: u32,
    ) -> Result<IbQueuePair, CreateError> {
        if qkey >> 31 != 0 {
            return Err(CreateError::Range("the Q_Key"));
        }
        self.pair(completions, None, config, Some(qkey))
    }

    fn address(&self, peer: &Endpoint) -> Result<IbAddress, CreateError> {
        let address = Address::new(&self.domain, self.place.way(peer)).map_err(not_made)?;
        Ok(IbAddress(Arc::new(address)))
    }

    fn poll_event(&mut self, context: &mut Context<'_>) -> Poll<Result<DeviceEvent, DeviceError>> {
        let taken = self.events.poll(&self.domain, context, Domain::event);
        taken
            .map_err(|error| device_error(&error))
            .map_ok(|(kind, number)| happened(kind, number, self.place.port))
    }
}

/// Some drivers give a port on Ethernet a LID, which means nothing there.
fn port_of(attributes: &PortAttr, gid: [u8; 16]) -> Port {
    let is_ethernet = attributes.link_layer == LINK_LAYER_ETHERNET;
    Port {
        is_up: attributes.state == PORT_ACTIVE,
        layer: if is_ethernet { LinkLayer::Ethernet } else { LinkLayer::InfiniBand },
        mtu_bytes: mtu_bytes(attributes.active_mtu),
        lid: if is_ethernet { 0 } else { attributes.lid },
        gid,
    }
}

/// What an event says, about that queue pair or port, to who uses the port `own`.
fn happened(kind: u32, number: u32, own: u8) -> DeviceEvent {
    let is_own = number == u32::from(own);
    match kind {
        event::CQ_ERR => DeviceEvent::CompletionsFailed,
        // The last is of one with shared receives, and comes once it has failed, maybe as the only word of it; also of one that
        // was made to fail, whose number nobody knows any more.
        event::QP_FATAL | event::QP_REQ_ERR | event::QP_ACCESS_ERR | event::QP_LAST_WQE_REACHED => {
            DeviceEvent::QueuePairFailed { qpn: number }
        }
        event::DEVICE_FATAL => DeviceEvent::Gone,
        event::PORT_ACTIVE if is_own => DeviceEvent::PortUp,
        event::PORT_ERR if is_own => DeviceEvent::PortDown,
        event::GID_CHANGE if is_own => DeviceEvent::GidsChanged,
        event::SRQ_ERR => DeviceEvent::ReceivesFailed,
        other => DeviceEvent::Other(other),
    }
}

/// The header numbers MTUs 256, 512, ... 4096 from 1.
pub(super) fn mtu_bytes(number: u32) -> u16 {
    if (1..=5).contains(&number) { 128 << number } else { 0 }
}

/// The number of the longest MTU of at most that many bytes; zero is none.
pub(super) fn mtu_number(bytes: u16) -> u32 {
    (1..=5).rev().find(|&number| mtu_bytes(number) <= bytes).unwrap_or(0)
}

#[cfg(test)]
mod tests;
