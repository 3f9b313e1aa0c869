//! One connection: a queue pair and its credit.

use super::super::credit::{Credit, Told};
use super::super::ended::Ended;
use super::super::pool::Pool;
use super::super::sends::{SendError, Sends};
use super::super::verbs::{
    Completion, ConnectError, Device, DeviceError, Endpoint, QueuePair, Timing, Via,
};
use super::{Came, PREFIX_BYTES};

#[derive(Debug)]
pub(super) struct Link<D: Device> {
    pair: D::QueuePair,
    qpn: u32,
    sends: Sends,
    /// What it has claimed of the shared receives from the beginning.
    start: u32,
    /// From the moment it is connected.
    credit: Option<Credit>,
    /// Whether it is among those with something to do.
    pub(super) dirty: bool,
    /// Whether something came that is not posted again yet.
    has_come: bool,
    /// Whether something came since this was asked.
    is_active: bool,
    /// Whether it is among those whose peers are to have more.
    pub(super) waits: bool,
}

impl<D: Device> Link<D> {
    pub(super) fn new(pair: D::QueuePair, sends: u32, start: u32) -> Self {
        let (qpn, sends) = (pair.endpoint().qpn, Sends::new(sends));
        Self {
            pair,
            qpn,
            sends,
            start,
            credit: None,
            dirty: false,
            has_come: false,
            is_active: false,
            waits: false,
        }
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
        most: u32,
        peer_start: u32,
        timing: &Timing,
    ) -> Result<(), ConnectError> {
        self.pair.connect(peer, timing)?;
        self.begin(most, peer_start);
        Ok(())
    }

    /// Its queue pair is connected.
    pub(super) fn begin(&mut self, most: u32, peer_start: u32) {
        self.credit = Some(Credit::new(self.start, most, peer_start));
    }

    /// Its queue pair, by which nothing was sent, and what it has claimed of the shared receives.
    pub(super) fn into_pair(self) -> (D::QueuePair, u32) {
        (self.pair, self.start)
    }

    pub(super) fn has_room(&self) -> bool {
        let may_send = self.credit.as_ref().is_some_and(Credit::may_send);
        may_send && self.sends.has_room(&self.pair)
    }

    /// Sends what `fill` writes, from one of the slots that are free.
    pub(super) fn send(
        &mut self,
        free: &mut Vec<D::Slot>,
        fill: impl FnOnce(&mut [u8]) -> usize,
    ) -> Result<usize, SendError> {
        let credit = self.credit.as_mut().ok_or(SendError::Full)?;
        if !credit.may_send() {
            return Err(SendError::Full);
        }
        let whole = self.sends.send(&mut self.pair, free, Via::Connection, |slot| {
            let (prefix, room) = slot.split_at_mut(PREFIX_BYTES);
            let bytes = fill(room);
            if bytes == 0 {
                return 0;
            }
            prefix.copy_from_slice(&credit.on_sent().to_bytes());
            PREFIX_BYTES + bytes
        })?;
        Ok(whole.saturating_sub(PREFIX_BYTES))
    }

    /// Whether the peer has to be told something.
    pub(super) fn must_tell(&self) -> bool {
        self.credit.as_ref().is_some_and(Credit::must_tell)
    }

    /// Tells the peer what it needs to know, and rings the doorbell; says whether there was room for it.
    pub(super) fn flush(&mut self, free: &mut Vec<D::Slot>) -> Result<bool, DeviceError> {
        let mut has_told = true;
        if let Some(credit) = &mut self.credit {
            if credit.must_tell() {
                let sent = self.sends.send(&mut self.pair, free, Via::Connection, |slot| {
                    slot[..PREFIX_BYTES].copy_from_slice(&credit.on_tell().to_bytes());
                    PREFIX_BYTES
                });
                if sent == Err(SendError::Ended) {
                    return Err(DeviceError::Failed);
                }
                has_told = sent.is_ok();
            } else {
                credit.on_flushed();
            }
        }
        self.sends.ring(&mut self.pair)?;
        Ok(has_told)
    }

    /// Whether what was sent may not have left. Behind the last that is not signalled goes a packet that is, and that only
    /// tells.
    pub(super) fn is_sending(&mut self, free: &mut Vec<D::Slot>) -> bool {
        if self.is_drained() {
            return false;
        }
        if let Some(credit) = self.credit.as_mut().filter(|credit| credit.can_tell())
            && self.sends.signal_next()
        {
            // Without room for it now there is some later.
            let _ = self.sends.send(&mut self.pair, free, Via::Connection, |slot| {
                slot[..PREFIX_BYTES].copy_from_slice(&credit.on_tell().to_bytes());
                PREFIX_BYTES
            });
        }
        self.sends.ring(&mut self.pair).is_ok()
    }

    /// Whether that is of one of its sends.
    pub(super) fn owns(&self, completion: &Completion) -> bool {
        completion.qpn == self.qpn && self.pair.owns(completion)
    }

    /// Sends are done; their slots are free.
    pub(super) fn on_sent(&mut self, completion: &Completion, free: &mut Vec<D::Slot>) {
        self.pair.sent(completion, |slot| free.push(slot));
    }

    /// That came; says whether it is a packet, of which what the peer told is taken off.
    pub(super) fn on_received(
        &mut self,
        completion: &Completion,
        came: &mut Came<'_, D>,
        pool: &mut Pool,
    ) -> Result<bool, Ended> {
        let (short, bytes) = (Ended::Short(completion.bytes), completion.bytes as usize);
        let packet = came.get(..bytes).ok_or(short)?;
        let told = *packet.first_chunk::<PREFIX_BYTES>().ok_or(short)?;
        // Nothing comes to a queue pair that is not connected.
        let credit = self.credit.as_mut().ok_or(short)?;
        credit.on_told(Told::from_bytes(told)?, pool)?;
        self.has_come = true;
        came.narrow(PREFIX_BYTES..bytes);
        Ok(bytes > PREFIX_BYTES)
    }

    /// What came is posted again; says whether anything has come.
    pub(super) fn on_posted(&mut self) -> bool {
        let has_come = std::mem::take(&mut self.has_come);
        self.is_active |= has_come;
        if has_come && let Some(credit) = &mut self.credit {
            credit.on_posted();
        }
        has_come
    }

    /// Lets as much come as the peer is to have; says whether there was enough for it.
    pub(super) fn grant(&mut self, pool: &mut Pool) -> bool {
        self.credit.as_mut().is_none_or(|credit| credit.grant(pool))
    }

    /// Whether the peer has used up what it had, since this was asked.
    pub(super) fn take_used_up(&mut self) -> bool {
        self.credit.as_mut().is_some_and(Credit::take_used_up)
    }

    /// Whether nothing came since this was asked.
    pub(super) const fn is_silent(&mut self) -> bool {
        !std::mem::replace(&mut self.is_active, false)
    }

    /// Whether the peer was asked, and has not answered.
    pub(super) fn is_asking(&self) -> bool {
        self.credit.as_ref().is_some_and(Credit::is_asking)
    }

    /// Asks the peer for what it does not need; false if there is nothing to ask it for.
    pub(super) fn ask(&mut self) -> bool {
        self.credit.as_mut().is_some_and(Credit::ask)
    }

    /// What of the shared receives is its own.
    pub(super) fn claimed(&self) -> u32 {
        self.credit.as_ref().map_or(self.start, Credit::claimed)
    }

    /// Whether something may have come by it.
    pub(super) const fn was_connected(&self) -> bool {
        self.credit.is_some()
    }

    /// Has it fail, and say so once everything of it was said.
    pub(super) fn drain(&mut self) -> Result<(), DeviceError> {
        self.pair.drain()
    }

    /// Whether everything of it was said.
    pub(super) fn is_drained(&self) -> bool {
        self.pair.sends_posted() == 0
    }

    /// Destroys the queue pair; its memory is for others.
    pub(super) fn end(self, free: &mut Vec<D::Slot>) {
        self.pair.end(|slot| free.push(slot));
    }
}
