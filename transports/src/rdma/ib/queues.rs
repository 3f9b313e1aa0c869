//! Completion queues, queue pairs and shared receives of a device.

use super::super::verbs::{
    Completion, CompletionQueue, ConnectError, CreateError, Device, DeviceError, Endpoint, Outcome,
    PostError, QueuePair, QueuePairState, Receives, Timing, Via, WorkId,
};
use super::abi::{
    QP_ACCESS_FLAGS, QP_AV, QP_DEST_QPN, QP_MAX_DEST_RD_ATOMIC, QP_MAX_QP_RD_ATOMIC,
    QP_MIN_RNR_TIMER, QP_PATH_MTU, QP_PKEY_INDEX, QP_PORT, QP_QKEY, QP_RETRY_CNT, QP_RNR_RETRY,
    QP_RQ_PSN, QP_SQ_PSN, QP_STATE, QP_TIMEOUT, QPS_ERR, QPS_INIT, QPS_RTR, QPS_RTS, QPS_SQD,
    QpAttr, WC_GRH, Wc, status,
};
use super::device::{IbAddress, IbDevice, Place, mtu_number, not_made};
use super::ffi::{Completions, Pair, Peer, Shared, Slot};
use super::identities::Known;
use super::{Watched, device_error};
use std::ffi::c_int;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::task::{Context, Poll};

/// The most completions that one call takes.
const BATCH: usize = 32;

/// Where a device says what it has done.
pub struct IbCompletionQueue {
    pub(super) queue: Arc<Completions>,
    batch: [Wc; BATCH],
    known: Known,
    events: Watched<Completions>,
}

impl std::fmt::Debug for IbCompletionQueue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("IbCompletionQueue").finish_non_exhaustive()
    }
}

impl IbCompletionQueue {
    pub(super) fn new(queue: Completions) -> Self {
        let batch = [Wc::default(); BATCH];
        let known = Known::default();
        Self { queue: Arc::new(queue), batch, known, events: Watched(None) }
    }
}

impl CompletionQueue for IbCompletionQueue {
    fn poll(&mut self, into: &mut [Completion]) -> Result<usize, DeviceError> {
        let room = into.len().min(BATCH);
        let count = self.queue.poll(&mut self.batch[..room]);
        let Ok(count) = usize::try_from(count) else {
            return Err(device_error(&io::Error::from_raw_os_error(count.saturating_neg())));
        };
        for (completion, raw) in into.iter_mut().zip(&self.batch[..count]) {
            *completion = completed(raw);
        }
        self.queue.identities.mark(&mut self.known, &mut into[..count]);
        Ok(count)
    }

    fn arm(&mut self) -> Result<(), DeviceError> {
        self.queue.arm().map_err(|error| device_error(&error))
    }

    fn poll_event(&mut self, context: &mut Context<'_>) -> Poll<Result<(), DeviceError>> {
        let taken = self.events.poll(&self.queue, context, Completions::take_event);
        taken.map_err(|error| device_error(&error))
    }
}

fn completed(raw: &Wc) -> Completion {
    Completion {
        work: WorkId::from_bits(raw.wr_id),
        outcome: match raw.status {
            status::SUCCESS => Outcome::Done,
            status::WR_FLUSH => Outcome::Flushed,
            status::RETRY_EXC => Outcome::Unanswered,
            status::RNR_RETRY_EXC => Outcome::ReceiverNotReady,
            status::LOC_LEN => Outcome::TooLong,
            status::REM_INV_REQ | status::REM_ACCESS | status::REM_OP => Outcome::Refused,
            other => Outcome::Failed(other),
        },
        qpn: raw.qp_num,
        queue: 0,
        bytes: raw.byte_len,
        from: raw.src_qp,
        from_lid: raw.slid,
        has_grh: raw.wc_flags & WC_GRH != 0,
    }
}

/// Receives that several connected queue pairs take from.
pub struct IbSharedReceives(pub(super) Shared);

impl std::fmt::Debug for IbSharedReceives {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("IbSharedReceives").field("posted", &self.0.posted()).finish()
    }
}

impl Receives for IbSharedReceives {
    type Slot = Slot;

    fn push_receive(&mut self, slot: Slot) -> Result<(), PostError<Slot>> {
        self.0.push(slot)
    }

    fn ring_receives(&mut self) -> Result<(), DeviceError> {
        self.0.ring().map_err(|error| device_error(&error))
    }

    fn received(&mut self, completion: &Completion) -> Option<Slot> {
        self.0.take(completion)
    }

    fn receives_posted(&self) -> usize {
        self.0.posted()
    }

    fn receives_overtaken(&self) -> usize {
        self.0.overtaken()
    }
}

/// How far a queue pair is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Made,
    Sends,
    Failed,
}

/// Sends and receives.
pub struct IbQueuePair {
    pair: Pair,
    stage: Stage,
    is_datagram: bool,
    takes_shared: bool,
    endpoint: Endpoint,
    /// Bytes of the longest message.
    message_max: usize,
    place: Place,
}

impl std::fmt::Debug for IbQueuePair {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("IbQueuePair").field("endpoint", &self.endpoint).finish_non_exhaustive()
    }
}

/// Numbers of queue pairs and packets have so many bits.
const NUMBER_BITS: u32 = 24;

impl IbQueuePair {
    /// Brings a queue pair that was just made to where it takes receives; one for datagrams also sends.
    pub(super) fn ready(
        device: &IbDevice,
        mut pair: Pair,
        takes_shared: bool,
        psn: u32,
        qkey: Option<u32>,
    ) -> Result<Self, CreateError> {
        let port = device.port()?;
        let psn = psn & ((1 << NUMBER_BITS) - 1);
        // No right to this node's memory, for anyone: `qp_access_flags` stays zero.
        let mut to =
            QpAttr { qp_state: QPS_INIT, port_num: device.place.port, ..QpAttr::default() };
        let mask = QP_STATE | QP_PKEY_INDEX | QP_PORT;
        if let Some(qkey) = qkey {
            to.qkey = qkey;
            pair.modify(to, mask | QP_QKEY).map_err(not_made)?;
            let to = QpAttr { qp_state: QPS_RTR, ..QpAttr::default() };
            pair.modify(to, QP_STATE).map_err(not_made)?;
            let to = QpAttr { qp_state: QPS_RTS, sq_psn: psn, ..QpAttr::default() };
            pair.modify(to, QP_STATE | QP_SQ_PSN).map_err(not_made)?;
        } else {
            pair.modify(to, mask | QP_ACCESS_FLAGS).map_err(not_made)?;
        }
        let message_max = match qkey {
            Some(_) => port.mtu_bytes.into(),
            None => device.attributes()?.max_msg_sz as usize,
        };
        let endpoint = Endpoint {
            gid: port.gid,
            lid: port.lid,
            qpn: pair.qpn,
            psn,
            qkey: qkey.unwrap_or(0),
            mtu_bytes: port.mtu_bytes,
        };
        let stage = if qkey.is_some() { Stage::Sends } else { Stage::Made };
        let (is_datagram, place) = (qkey.is_some(), device.place);
        Ok(Self { pair, stage, is_datagram, takes_shared, endpoint, message_max, place })
    }

    /// Where a send of that kind goes, if this queue pair may make it now.
    fn peer(&self, via: Via<'_, IbAddress>) -> Result<Option<Peer>, PostError<()>> {
        if self.stage != Stage::Sends {
            return Err(PostError::State(()));
        }
        match via {
            Via::Connection if !self.is_datagram => Ok(None),
            Via::Datagram { address, .. } if !address.0.is_of(self.pair.domain()) => {
                Err(PostError::Foreign(()))
            }
            Via::Datagram { address, qpn, qkey } if self.is_datagram => {
                Ok(Some((Arc::clone(&address.0), qpn, qkey)))
            }
            _ => Err(PostError::State(())),
        }
    }

    /// A device that does not take requests is done with the queue pair.
    fn rung(&mut self, rung: io::Result<()>) -> Result<(), DeviceError> {
        rung.map_err(|error| {
            self.stage = Stage::Failed;
            match device_error(&error) {
                DeviceError::Gone => DeviceError::Gone,
                _ => DeviceError::Failed,
            }
        })
    }
}

impl Receives for IbQueuePair {
    type Slot = Slot;

    fn push_receive(&mut self, slot: Slot) -> Result<(), PostError<Slot>> {
        if self.takes_shared || self.stage == Stage::Failed {
            return Err(PostError::State(slot));
        }
        self.pair.push_receive(slot)
    }

    fn ring_receives(&mut self) -> Result<(), DeviceError> {
        let rung = self.pair.ring_receives();
        self.rung(rung)
    }

    fn received(&mut self, completion: &Completion) -> Option<Slot> {
        self.pair.received(completion)
    }

    fn receives_posted(&self) -> usize {
        self.pair.receives_posted()
    }

    fn receives_overtaken(&self) -> usize {
        self.pair.receives_overtaken()
    }
}

impl QueuePair for IbQueuePair {
    type Address = IbAddress;

    fn endpoint(&self) -> Endpoint {
        self.endpoint
    }

    fn inline_bytes_max(&self) -> usize {
        self.pair.inline_max
    }

    fn connect(&mut self, peer: &Endpoint, timing: &Timing) -> Result<(), ConnectError> {
        if self.stage != Stage::Made {
            return Err(ConnectError::State);
        }
        let path_mtu = mtu_number(self.endpoint.mtu_bytes.min(peer.mtu_bytes));
        in_range(peer, timing, path_mtu)?;
        let to = QpAttr {
            qp_state: QPS_RTR,
            path_mtu,
            dest_qp_num: peer.qpn,
            rq_psn: peer.psn,
            min_rnr_timer: timing.not_ready_delay,
            ah_attr: self.place.way(peer),
            ..QpAttr::default()
        };
        let mask = QP_STATE | QP_AV | QP_PATH_MTU | QP_DEST_QPN | QP_RQ_PSN;
        let mask = mask | QP_MAX_DEST_RD_ATOMIC | QP_MIN_RNR_TIMER;
        self.pair.modify(to, mask).map_err(not_connected)?;
        let to = QpAttr {
            qp_state: QPS_RTS,
            sq_psn: self.endpoint.psn,
            timeout: timing.timeout,
            retry_cnt: timing.retries,
            rnr_retry: timing.not_ready_retries,
            ..QpAttr::default()
        };
        let mask = QP_STATE | QP_SQ_PSN | QP_TIMEOUT | QP_RETRY_CNT | QP_RNR_RETRY;
        self.pair.modify(to, mask | QP_MAX_QP_RD_ATOMIC).map_err(not_connected)?;
        self.stage = Stage::Sends;
        Ok(())
    }

    fn push_send(
        &mut self,
        slot: Slot,
        bytes: Range<usize>,
        via: Via<'_, IbAddress>,
        signalled: bool,
    ) -> Result<(), PostError<Slot>> {
        let to = match self.peer(via) {
            Ok(to) => to,
            Err(error) => return Err(with(error, slot)),
        };
        if bytes.len() > self.message_max {
            return Err(PostError::TooLong(slot));
        }
        self.pair.push_send(slot, bytes, to, signalled)
    }

    fn push_inline(
        &mut self,
        bytes: &[u8],
        via: Via<'_, IbAddress>,
        signalled: bool,
    ) -> Result<(), PostError<()>> {
        let to = self.peer(via)?;
        if bytes.len() > self.message_max {
            return Err(PostError::TooLong(()));
        }
        self.pair.push_inline(bytes, to, signalled)
    }

    fn ring_sends(&mut self) -> Result<(), DeviceError> {
        let rung = self.pair.ring_sends();
        self.rung(rung)
    }

    fn sent(&mut self, completion: &Completion, back: impl FnMut(Slot)) {
        self.pair.sent(completion, back);
    }

    fn owns(&self, completion: &Completion) -> bool {
        self.pair.owns(completion)
    }

    fn sends_posted(&self) -> usize {
        self.pair.sends_posted()
    }

    fn state(&self) -> Result<QueuePairState, DeviceError> {
        Ok(match self.attributes(QP_STATE)?.qp_state {
            ..QPS_RTR => QueuePairState::Made,
            QPS_RTR => QueuePairState::Receives,
            QPS_RTS | QPS_SQD => QueuePairState::Ready,
            _ => QueuePairState::Failed,
        })
    }

    fn access(&self) -> Result<u32, DeviceError> {
        Ok(self.attributes(QP_ACCESS_FLAGS)?.qp_access_flags)
    }

    fn fail(&mut self) -> Result<(), DeviceError> {
        self.stage = Stage::Failed;
        let to = QpAttr { qp_state: QPS_ERR, ..QpAttr::default() };
        self.pair.modify(to, QP_STATE).map_err(|error| device_error(&error))
    }

    fn drain(&mut self) -> Result<(), DeviceError> {
        self.fail()?;
        self.pair.push_inline(&[], None, true).map_err(|_| DeviceError::Failed)?;
        self.ring_sends()
    }

    fn end(self, back: impl FnMut(Slot)) {
        self.pair.end(back);
    }
}

impl IbQueuePair {
    fn attributes(&self, mask: c_int) -> Result<QpAttr, DeviceError> {
        self.pair.attributes(mask).map_err(|error| device_error(&error))
    }
}

/// The same, of a slot.
fn with(error: PostError<()>, slot: Slot) -> PostError<Slot> {
    match error {
        PostError::Full(()) => PostError::Full(slot),
        PostError::TooLong(()) => PostError::TooLong(slot),
        PostError::State(()) => PostError::State(slot),
        PostError::Foreign(()) => PostError::Foreign(slot),
    }
}

fn in_range(peer: &Endpoint, timing: &Timing, path_mtu: u32) -> Result<(), ConnectError> {
    let checks = [
        (peer.qpn >> NUMBER_BITS == 0, "the peer's queue pair"),
        (peer.psn >> NUMBER_BITS == 0, "the peer's first packet"),
        (path_mtu > 0, "the peer's MTU"),
        (timing.timeout < 32, "the timeout"),
        (timing.retries < 8 && timing.not_ready_retries < 8, "the number of retries"),
        (timing.not_ready_delay < 32, "the delay"),
    ];
    checks
        .iter()
        .find(|(holds, _)| !holds)
        .map_or(Ok(()), |(_, what)| Err(ConnectError::Range(what)))
}

fn not_connected(error: io::Error) -> ConnectError {
    match device_error(&error) {
        DeviceError::Gone => ConnectError::Device(DeviceError::Gone),
        _ => ConnectError::System(error),
    }
}
