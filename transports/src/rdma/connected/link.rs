//! One connection: a queue pair, its slots and its credit.

use super::super::credit::Credit;
use super::super::ended::Ended;
use super::super::sends::{SendError, Sends};
use super::super::verbs::{
    Completion, ConnectError, Device, DeviceError, Direction, Endpoint, Outcome, PostError,
    QueuePair, QueuePairConfig, Receives, Timing, Via,
};
use super::PREFIX_BYTES;

#[derive(Debug)]
pub(super) struct Link<D: Device> {
    pair: D::QueuePair,
    qpn: u32,
    sends: Sends<D::Slot>,
    receives: u32,
    /// From the moment it is connected.
    credit: Option<Credit>,
    /// Receives that wait for the doorbell.
    to_post: u32,
    /// Whether it is among those with something to do.
    pub(super) dirty: bool,
}

impl<D: Device> Link<D> {
    pub(super) fn new(
        mut pair: D::QueuePair,
        mut slots: Vec<D::Slot>,
        config: &QueuePairConfig,
    ) -> Result<Self, DeviceError> {
        let qpn = pair.endpoint().qpn;
        // [RDMA-10] Before the peer can know that this end is there.
        for slot in slots.split_off(config.sends_max as usize) {
            pair.push_receive(slot).map_err(|_| DeviceError::Failed)?;
        }
        pair.ring_receives()?;
        let sends = Sends::new(config.sends_max, slots);
        let receives = config.receives_max;
        Ok(Self { pair, qpn, sends, receives, credit: None, to_post: 0, dirty: false })
    }

    pub(super) const fn qpn(&self) -> u32 {
        self.qpn
    }

    pub(super) fn endpoint(&self) -> Endpoint {
        self.pair.endpoint()
    }

    pub(super) fn connect(
        &mut self,
        peer: &Endpoint,
        peer_receives: u32,
        timing: &Timing,
    ) -> Result<(), ConnectError> {
        self.pair.connect(peer, timing)?;
        self.credit = Some(Credit::new(self.receives, peer_receives));
        Ok(())
    }

    pub(super) fn has_room(&self) -> bool {
        let may_send = self.credit.as_ref().is_some_and(Credit::may_send);
        may_send && self.sends.has_room(&self.pair)
    }

    pub(super) fn send(
        &mut self,
        fill: impl FnOnce(&mut [u8]) -> usize,
    ) -> Result<usize, SendError> {
        let credit = self.credit.as_mut().ok_or(SendError::Full)?;
        if !credit.may_send() {
            return Err(SendError::Full);
        }
        let whole = self.sends.send(&mut self.pair, Via::Connection, |slot| {
            let (prefix, room) = slot.split_at_mut(PREFIX_BYTES);
            let bytes = fill(room);
            if bytes == 0 {
                return 0;
            }
            prefix.copy_from_slice(&credit.on_sent().to_le_bytes());
            PREFIX_BYTES + bytes
        })?;
        Ok(whole.saturating_sub(PREFIX_BYTES))
    }

    /// Tells the peer what it needs to know, and rings the doorbell.
    pub(super) fn flush(&mut self) -> Result<(), DeviceError> {
        if let Some(credit) = &mut self.credit
            && credit.must_tell()
        {
            // Without room for now, the next completion makes some, and this is asked again.
            let sent = self.sends.send(&mut self.pair, Via::Connection, |slot| {
                slot[..PREFIX_BYTES].copy_from_slice(&credit.on_sent().to_le_bytes());
                PREFIX_BYTES
            });
            if sent == Err(SendError::Ended) {
                return Err(DeviceError::Failed);
            }
        }
        self.sends.ring(&mut self.pair)
    }

    /// Says whether a packet came, which `sink` had.
    pub(super) fn on_completion(
        &mut self,
        completion: &Completion,
        sink: impl FnOnce(&mut [u8]),
    ) -> Result<bool, Ended> {
        let failed =
            crate::planted!("rdma-failure-ignored": completion.outcome != Outcome::Done => false);
        if failed {
            return Err(Ended::Failed(completion.outcome));
        }
        match completion.work.direction() {
            Direction::Send => {
                self.pair.sent(completion, |slot| self.sends.free(slot));
                Ok(false)
            }
            Direction::Receive => self.on_received(completion, sink),
        }
    }

    fn on_received(
        &mut self,
        completion: &Completion,
        sink: impl FnOnce(&mut [u8]),
    ) -> Result<bool, Ended> {
        let Some(mut slot) = self.pair.received(completion) else { return Ok(false) };
        let short = Ended::Short(completion.bytes);
        let packet = slot.as_mut().get_mut(..completion.bytes as usize).ok_or(short)?;
        let (told, inside) = packet.split_first_chunk_mut::<PREFIX_BYTES>().ok_or(short)?;
        // Nothing comes to a queue pair that is not connected.
        let credit = self.credit.as_mut().ok_or(short)?;
        credit.on_told(u32::from_le_bytes(*told))?;
        let is_packet = !inside.is_empty();
        if is_packet {
            sink(inside);
        }
        self.pair.push_receive(slot).map_err(|error| match error {
            PostError::State(_) => Ended::Failed(Outcome::Flushed),
            _ => Ended::Device(DeviceError::Failed),
        })?;
        self.to_post += 1;
        Ok(is_packet)
    }

    /// Rings the doorbell for receives; from then on they are the peer's to use.
    pub(super) fn post_receives(&mut self) -> Result<(), DeviceError> {
        let count = std::mem::take(&mut self.to_post);
        if count > 0 {
            self.pair.ring_receives()?;
            if let Some(credit) = &mut self.credit {
                credit.on_posted(count);
            }
        }
        Ok(())
    }

    /// Destroys the queue pair; its memory is for another one.
    pub(super) fn end(self, spare: &mut Vec<D::Slot>) {
        spare.extend(self.sends.into_free());
        self.pair.end(|slot| spare.push(slot));
    }
}
