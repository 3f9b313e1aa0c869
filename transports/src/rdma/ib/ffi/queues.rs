//! Completion queues, queue pairs, shared receives and addresses.

use super::super::abi::{
    Ah, AhAttr, Cap, Channel, Cq, Qp, QpAttr, QpInitAttr, RecvWr, SEND_INLINE, SEND_SIGNALED,
    SendWr, Sge, Srq, SrqInitAttr, Wc,
};
use super::super::identities::{Identities, Identity, fresh};
use super::device::{Domain, do_not_block};
use super::memory::Slot;
use super::{Owned, done};
use crate::rdma::verbs::{Completion, PostError, QueuePairConfig, ReceiveRing, SendRing, WorkId};
use parking_lot::Mutex;
use std::ffi::c_int;
use std::ops::Range;
use std::os::fd::{AsRawFd, RawFd};
use std::sync::Arc;
use std::{io, mem, ptr};

/// A completion queue and the channel that tells of its events.
pub(in super::super) struct Completions {
    cq: Owned<Cq>,
    channel: Owned<Channel>,
    /// Of those that complete here. I5.
    pub(in super::super) identities: Identities,
    domain: Arc<Domain>,
}

impl Completions {
    pub(in super::super) fn new(domain: &Arc<Domain>, depth: c_int) -> io::Result<Self> {
        let library = domain.library;
        // SAFETY: the device is open.
        let channel = unsafe { (library.create_comp_channel)(domain.context.object) };
        let channel = Owned::new(channel, library.destroy_comp_channel)?;
        // SAFETY: it was just made.
        do_not_block(unsafe { (*channel.object).fd })?;
        let (context, nothing) = (domain.context.object, ptr::null_mut());
        // SAFETY: the device is open and the channel is of it.
        let cq = unsafe { (library.create_cq)(context, depth, nothing, channel.object, 0) };
        let cq = Owned::new(cq, library.destroy_cq)?;
        let identities = Identities::default();
        Ok(Self { cq, channel, identities, domain: Arc::clone(domain) })
    }

    /// Fills in what is there, and says how much; a negative number is the driver's error.
    pub(in super::super) fn poll(&self, into: &mut [Wc]) -> c_int {
        let room = c_int::try_from(into.len()).unwrap_or(c_int::MAX);
        // SAFETY: there is room for so many.
        unsafe { (self.domain.ops.poll_cq)(self.cq.object, room, into.as_mut_ptr()) }
    }

    pub(in super::super) fn arm(&self) -> io::Result<()> {
        // SAFETY: the queue is there.
        done(unsafe { (self.domain.ops.req_notify_cq)(self.cq.object, 0) })
    }

    /// Takes an event off the channel. Never waits.
    pub(in super::super) fn take_event(&self) -> io::Result<()> {
        let (mut cq, mut context) = (ptr::null_mut(), ptr::null_mut());
        let library = self.domain.library;
        let channel = self.channel.object;
        // SAFETY: the channel is there and its descriptor does not block; both pointers may be written.
        done(unsafe { (library.get_cq_event)(channel, &raw mut cq, &raw mut context) })?;
        // SAFETY: one event was taken, and the channel has no other queue.
        unsafe { (library.ack_cq_events)(self.cq.object, 1) };
        Ok(())
    }

    pub(in super::super) fn is_of(&self, domain: &Arc<Domain>) -> bool {
        Arc::ptr_eq(&self.domain, domain)
    }
}

impl AsRawFd for Completions {
    fn as_raw_fd(&self) -> RawFd {
        // SAFETY: the channel is there as long as this is.
        unsafe { (*self.channel.object).fd }
    }
}

/// Where to send datagrams to.
pub(in super::super) struct Address {
    ah: Owned<Ah>,
    domain: Arc<Domain>,
}

impl Address {
    pub(in super::super) fn new(domain: &Arc<Domain>, mut to: AhAttr) -> io::Result<Self> {
        // SAFETY: the domain is there, and what is read has the header's shape.
        let ah = unsafe { (domain.library.create_ah)(domain.pd.object, &raw mut to) };
        let ah = Owned::new(ah, domain.library.destroy_ah)?;
        Ok(Self { ah, domain: Arc::clone(domain) })
    }

    pub(in super::super) fn is_of(&self, domain: &Arc<Domain>) -> bool {
        Arc::ptr_eq(&self.domain, domain)
    }
}

/// Receives that were pushed, and those of them that wait for the doorbell.
struct Receiving {
    ring: ReceiveRing<Slot>,
    requests: Vec<RecvWr>,
    pieces: Vec<Sge>,
}

impl Receiving {
    fn new(max: u32, owner: u16) -> Self {
        let (requests, pieces) = (Vec::new(), Vec::new());
        Self { ring: ReceiveRing::new(max, owner), requests, pieces }
    }

    fn push(&mut self, slot: Slot, domain: &Arc<Domain>) -> Result<(), PostError<Slot>> {
        if !slot.is_of(domain) {
            return Err(PostError::Foreign(slot));
        }
        let piece = slot.piece(0, slot.as_ref().len());
        let work = self.ring.push(slot).map_err(|full| PostError::Full(full.0))?;
        let (next, sg_list) = (ptr::null_mut(), ptr::null_mut());
        self.requests.push(RecvWr { wr_id: work.to_bits(), next, sg_list, num_sge: 1 });
        self.pieces.push(piece);
        Ok(())
    }

    /// Links what waits and hands it to `post`, if there is anything.
    fn post(
        &mut self,
        post: impl FnOnce(*mut RecvWr, *mut *mut RecvWr) -> c_int,
    ) -> io::Result<()> {
        if self.requests.is_empty() {
            return Ok(());
        }
        let (first, pieces) = (self.requests.as_mut_ptr(), self.pieces.as_mut_ptr());
        let count = self.requests.len();
        for (at, request) in self.requests.iter_mut().enumerate() {
            request.sg_list = pieces.wrapping_add(at);
            request.next =
                if at + 1 < count { first.wrapping_add(at + 1) } else { ptr::null_mut() };
        }
        let mut refused = ptr::null_mut();
        let code = post(first, &raw mut refused);
        self.requests.clear();
        self.pieces.clear();
        done(code)
    }
}

// SAFETY: the pointers in the requests are written and read within one call of `post`.
unsafe impl Send for Receiving {}
// SAFETY: as above, and that call needs the only reference.
unsafe impl Sync for Receiving {}

/// A queue of receives that several queue pairs take from.
pub(in super::super) struct Shared {
    receiving: Option<Receiving>,
    queue: Arc<SharedQueue>,
}

/// The queue itself, which its queue pairs keep.
struct SharedQueue {
    srq: Owned<Srq>,
    /// Of all queues that there ever are. I5.
    identity: u64,
    /// What was still posted when the other end was dropped: goes after the queue.
    left: Mutex<Option<Receiving>>,
    domain: Arc<Domain>,
}

impl Shared {
    pub(in super::super) fn new(domain: &Arc<Domain>, depth: u32, owner: u16) -> io::Result<Self> {
        let nothing = ptr::null_mut();
        let mut init =
            SrqInitAttr { srq_context: nothing, max_wr: depth, max_sge: 1, srq_limit: 0 };
        // SAFETY: the domain is there, and what is read has the header's shape.
        let srq = unsafe { (domain.library.create_srq)(domain.pd.object, &raw mut init) };
        let srq = Owned::new(srq, domain.library.destroy_srq)?;
        let (identity, left, domain) = (fresh(), Mutex::new(None), Arc::clone(domain));
        let queue = SharedQueue { srq, identity, left, domain };
        Ok(Self { receiving: Some(Receiving::new(depth, owner)), queue: Arc::new(queue) })
    }

    pub(in super::super) fn is_of(&self, domain: &Arc<Domain>) -> bool {
        Arc::ptr_eq(&self.queue.domain, domain)
    }

    pub(in super::super) fn push(&mut self, slot: Slot) -> Result<(), PostError<Slot>> {
        match &mut self.receiving {
            Some(receiving) => receiving.push(slot, &self.queue.domain),
            None => Err(PostError::State(slot)),
        }
    }

    pub(in super::super) fn ring(&mut self) -> io::Result<()> {
        let (post, queue) = (self.queue.domain.ops.post_srq_recv, self.queue.srq.object);
        let Some(receiving) = &mut self.receiving else { return Ok(()) };
        // SAFETY: the list is well formed, and its slots lie in the ring until they are filled. I2.
        receiving.post(|first, refused| unsafe { post(queue, first, refused) })
    }

    pub(in super::super) fn take(&mut self, completion: &Completion) -> Option<Slot> {
        if completion.queue != self.queue.identity {
            return None;
        }
        self.receiving.as_mut()?.ring.take(completion.work)
    }

    pub(in super::super) fn posted(&self) -> usize {
        self.receiving.as_ref().map_or(0, |receiving| receiving.ring.len())
    }

    pub(in super::super) fn overtaken(&self) -> usize {
        self.receiving.as_ref().map_or(0, |receiving| receiving.ring.overtaken())
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        *self.queue.left.lock() = self.receiving.take();
    }
}

impl Drop for SharedQueue {
    fn drop(&mut self) {
        if !self.srq.destroy() {
            // I3.
            let left = mem::replace(&mut self.left, Mutex::new(None));
            Box::leak(Box::new((left, Arc::clone(&self.domain))));
        }
    }
}

/// A send that is not known to be done: its slot, unless it was copied, and where it goes.
struct Sent {
    slot: Option<Slot>,
    _to: Option<Arc<Address>>,
}

/// Whom a datagram is for: where, the queue pair there and its key.
pub(in super::super) type Peer = (Arc<Address>, u32, u32);

/// A queue pair.
pub(in super::super) struct Pair {
    qp: Owned<Qp>,
    pub(in super::super) qpn: u32,
    pub(in super::super) inline_max: usize,
    sends: SendRing<Sent>,
    receiving: Receiving,
    requests: Vec<SendWr>,
    pieces: Vec<Sge>,
    /// Copies of what goes inline: a place for each request that waits.
    copies: Box<[u8]>,
    identity: Identity,
    domain: Arc<Domain>,
    completions: Arc<Completions>,
    _shared: Option<Arc<SharedQueue>>,
}

// SAFETY: the pointers in the requests are written and read within one call of `ring_sends`.
unsafe impl Send for Pair {}
// SAFETY: as above, and that call needs the only reference.
unsafe impl Sync for Pair {}

impl Pair {
    /// Makes one of that kind (`IBV_QPT`) and that size. Both queues complete into `completions`.
    pub(in super::super) fn new(
        completions: &Arc<Completions>,
        shared: Option<&Shared>,
        kind: u32,
        config: &QueuePairConfig,
    ) -> io::Result<Self> {
        let domain = &completions.domain;
        let cq = completions.cq.object;
        let owner = config.owner;
        let cap = Cap {
            max_send_wr: config.sends_max.max(1),
            max_recv_wr: if shared.is_some() { 0 } else { config.receives_max },
            max_send_sge: 1,
            max_recv_sge: 1,
            max_inline_data: config.inline_bytes,
        };
        let mut init = QpInitAttr {
            qp_context: ptr::null_mut(),
            send_cq: cq,
            recv_cq: cq,
            srq: shared.map_or(ptr::null_mut(), |shared| shared.queue.srq.object),
            cap,
            qp_type: kind,
            sq_sig_all: 0,
        };
        // SAFETY: the domain is there, all parts are of it or refused, and it has the header's shape.
        let qp = unsafe { (domain.library.create_qp)(domain.pd.object, &raw mut init) };
        let qp = Owned::new(qp, domain.library.destroy_qp)?;
        // SAFETY: it was just made.
        let qpn = unsafe { (*qp.object).qp_num };
        // Devices give more than was asked for, and only what was asked for is used.
        let inline_max = cap.max_inline_data.min(init.cap.max_inline_data) as usize;
        let pair = fresh();
        let identity =
            Identity { pair, receives: shared.map_or(pair, |shared| shared.queue.identity) };
        completions.identities.add(qpn, identity);
        Ok(Self {
            qp,
            qpn,
            inline_max,
            sends: SendRing::new(cap.max_send_wr, owner).of(pair),
            receiving: Receiving::new(cap.max_recv_wr, owner),
            requests: Vec::with_capacity(cap.max_send_wr as usize),
            pieces: Vec::with_capacity(cap.max_send_wr as usize),
            copies: vec![0; inline_max * cap.max_send_wr as usize].into(),
            identity,
            domain: Arc::clone(domain),
            completions: Arc::clone(completions),
            _shared: shared.map(|shared| Arc::clone(&shared.queue)),
        })
    }

    pub(in super::super) fn domain(&self) -> &Arc<Domain> {
        &self.domain
    }

    pub(in super::super) fn modify(&mut self, mut to: QpAttr, mask: c_int) -> io::Result<()> {
        // SAFETY: the queue pair is there, and what is read has the header's shape.
        done(unsafe { (self.domain.library.modify_qp)(self.qp.object, &raw mut to, mask) })
    }

    pub(in super::super) fn attributes(&self, mask: c_int) -> io::Result<QpAttr> {
        let mut attributes = QpAttr::default();
        // SAFETY: it consists of numbers and pointers that nobody follows.
        let mut init = unsafe { mem::zeroed() };
        let (query, qp) = (self.domain.library.query_qp, self.qp.object);
        // SAFETY: the queue pair is there, and what is written has the header's shape.
        done(unsafe { query(qp, &raw mut attributes, mask, &raw mut init) })?;
        Ok(attributes)
    }

    /// Puts those bytes of the slot behind the sends that wait.
    pub(in super::super) fn push_send(
        &mut self,
        slot: Slot,
        bytes: Range<usize>,
        to: Option<Peer>,
        signalled: bool,
    ) -> Result<(), PostError<Slot>> {
        if !slot.is_of(&self.domain) {
            return Err(PostError::Foreign(slot));
        }
        if bytes.start > bytes.end || bytes.end > slot.as_ref().len() {
            return Err(PostError::TooLong(slot));
        }
        if self.sends.is_full() {
            return Err(PostError::Full(slot));
        }
        let piece = slot.piece(bytes.start, bytes.len());
        self.push(Some(slot), piece, to, if signalled { SEND_SIGNALED } else { 0 });
        Ok(())
    }

    /// As above, of bytes that are copied.
    pub(in super::super) fn push_inline(
        &mut self,
        bytes: &[u8],
        to: Option<Peer>,
        signalled: bool,
    ) -> Result<(), PostError<()>> {
        if bytes.len() > self.inline_max {
            return Err(PostError::TooLong(()));
        }
        if self.sends.is_full() {
            return Err(PostError::Full(()));
        }
        // Not more requests wait than the ring has places.
        let place = self.requests.len() * self.inline_max;
        let copy = &mut self.copies[place..place + bytes.len()];
        copy.copy_from_slice(bytes);
        let addr = copy.as_ptr().expose_provenance() as u64;
        let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        let flags = SEND_INLINE | if signalled { SEND_SIGNALED } else { 0 };
        self.push(None, Sge { addr, length, lkey: 0 }, to, flags);
        Ok(())
    }

    fn push(&mut self, slot: Option<Slot>, piece: Sge, to: Option<Peer>, flags: u32) {
        let (ah, peer) = match &to {
            Some((address, qpn, qkey)) => (address.ah.object, (*qpn, *qkey)),
            None => (ptr::null_mut(), (0, 0)),
        };
        let sent = Sent { slot, _to: to.map(|(address, ..)| address) };
        let work = self.sends.push(Some(sent)).map(WorkId::to_bits);
        let Ok(work) = work else { unreachable!("whoever pushes looked for room") };
        self.requests.push(SendWr::new(work, flags, ah, peer));
        self.pieces.push(piece);
    }

    /// Gives the device what waits.
    pub(in super::super) fn ring_sends(&mut self) -> io::Result<()> {
        if self.requests.is_empty() {
            return Ok(());
        }
        let (first, pieces) = (self.requests.as_mut_ptr(), self.pieces.as_mut_ptr());
        let count = self.requests.len();
        for (at, request) in self.requests.iter_mut().enumerate() {
            request.sg_list = pieces.wrapping_add(at);
            request.next =
                if at + 1 < count { first.wrapping_add(at + 1) } else { ptr::null_mut() };
        }
        let mut refused = ptr::null_mut();
        let (post, qp) = (self.domain.ops.post_send, self.qp.object);
        // SAFETY: the list is well formed. Slots and addresses lie in the ring until they are sent (I2), and
        // copies stay where they are until the call returns.
        let code = unsafe { post(qp, first, &raw mut refused) };
        self.requests.clear();
        self.pieces.clear();
        done(code)
    }

    /// Hands over the slots that this completion says were sent.
    pub(in super::super) fn sent(&mut self, completion: &Completion, mut back: impl FnMut(Slot)) {
        if self.owns(completion) {
            let back = |sent: Sent| sent.slot.into_iter().for_each(&mut back);
            self.sends.release(completion.work, back);
        }
    }

    pub(in super::super) fn owns(&self, completion: &Completion) -> bool {
        completion.queue == self.identity.pair && self.sends.has(completion.work)
    }

    pub(in super::super) fn sends_posted(&self) -> usize {
        self.sends.len()
    }

    pub(in super::super) fn push_receive(&mut self, slot: Slot) -> Result<(), PostError<Slot>> {
        self.receiving.push(slot, &self.domain)
    }

    pub(in super::super) fn ring_receives(&mut self) -> io::Result<()> {
        let (post, qp) = (self.domain.ops.post_recv, self.qp.object);
        // SAFETY: the list is well formed, and its slots lie in the ring until they are filled. I2.
        self.receiving.post(|first, refused| unsafe { post(qp, first, refused) })
    }

    pub(in super::super) fn received(&mut self, completion: &Completion) -> Option<Slot> {
        if completion.queue != self.identity.pair {
            return None;
        }
        self.receiving.ring.take(completion.work)
    }

    pub(in super::super) fn receives_posted(&self) -> usize {
        self.receiving.ring.len()
    }

    pub(in super::super) fn receives_overtaken(&self) -> usize {
        self.receiving.ring.overtaken()
    }

    /// Destroys the queue pair and hands over the slots that it had.
    pub(in super::super) fn end(mut self, mut back: impl FnMut(Slot)) {
        if self.qp.destroy() {
            self.sends.release_all(|sent| sent.slot.into_iter().for_each(&mut back));
            self.receiving.ring.take_all(back);
        } else {
            self.leave();
        }
    }

    /// Leaves the slots to the device, which does not let go of them. I3.
    fn leave(&mut self) {
        let receiving = mem::replace(&mut self.receiving, Receiving::new(1, 0));
        let sends = mem::replace(&mut self.sends, SendRing::new(1, 0));
        Box::leak(Box::new((receiving, sends, Arc::clone(&self.domain))));
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        if !self.qp.destroy() {
            self.leave();
        }
        self.completions.identities.remove(self.qpn, self.identity);
    }
}
