//! The server's end of a session.

use super::super::sends::SendError;
use super::seal::{Protection, Seals};
use super::wire::{Header, Kind};
use super::{Called, Carrier, Config};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    /// Nothing came, or what came is handled and its reply is sent.
    Answered,
    /// A request is with its handler.
    Asked,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    /// Of the last request.
    number: u64,
    progress: Progress,
    len: u32,
    /// Whether it is among those that leave next.
    is_leaving: bool,
}

#[derive(Debug)]
pub(super) struct Server<P> {
    pub(super) peer: P,
    pub(super) seals: Seals,
    /// What the client calls the session.
    remote: u32,
    slots: Box<[Slot]>,
    /// What is replied, for each slot, to be sent again.
    replies: Box<[u8]>,
    bytes_max: usize,
}

/// What becomes of a request that came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Taken {
    /// It is to be handled.
    New,
    /// It was handled, and its reply, in this slot, is to leave again.
    Answered(u16),
    /// It is being handled, its reply is about to leave, or the client needs it no more.
    Duplicate,
}

impl<P: Copy> Server<P> {
    /// Of the session that the client calls `remote`, and this end `own`.
    pub(super) fn new(
        peer: P,
        (remote, own): (u32, u32),
        protection: Protection,
        config: &Config,
    ) -> Self {
        let slot = |at: u16| Slot {
            number: at.into(),
            progress: Progress::Answered,
            len: 0,
            is_leaving: false,
        };
        Self {
            peer,
            seals: Seals::new(protection, Kind::Reply, remote, own),
            remote,
            slots: (0..config.slots).map(slot).collect(),
            replies: vec![0; usize::from(config.slots) * config.message_bytes_max].into(),
            bytes_max: config.message_bytes_max,
        }
    }

    #[expect(clippy::cast_possible_truncation, reason = "there are at most 2^15")]
    fn index(&self, number: u64) -> u16 {
        (number & (self.slots.len() as u64 - 1)) as u16
    }

    pub(super) fn on_request(&mut self, number: u64) -> Taken {
        let index = self.index(number);
        let slot = &mut self.slots[usize::from(index)];
        // [RDMA-32] The client uses a slot again only when the request in it has its outcome.
        let is_new =
            crate::planted!("rpc-duplicate-runs": number > slot.number => number >= slot.number);
        if is_new {
            slot.number = number;
            slot.progress = Progress::Asked;
            return Taken::New;
        }
        let is_answered = number == slot.number && slot.progress == Progress::Answered;
        if !is_answered || std::mem::replace(&mut slot.is_leaving, true) {
            return Taken::Duplicate;
        }
        Taken::Answered(index)
    }

    /// Takes the reply to that request into its slot, if it is wanted.
    pub(super) fn reply(
        &mut self,
        number: u64,
        fill: impl FnOnce(&mut [u8]) -> usize,
    ) -> Option<Called> {
        let index = self.index(number);
        let slot = &mut self.slots[usize::from(index)];
        if slot.number != number || slot.progress != Progress::Asked {
            return None;
        }
        let start = usize::from(index) * self.bytes_max;
        let len = fill(&mut self.replies[start..start + self.bytes_max]).min(self.bytes_max);
        #[expect(clippy::cast_possible_truncation, reason = "a packet is shorter")]
        let len = len as u32;
        slot.len = len;
        slot.progress = Progress::Answered;
        let is_new = !std::mem::replace(&mut slot.is_leaving, true);
        Some(Called { slot: index, is_new })
    }

    /// Sends the reply in that slot, unless a new request is in it by now.
    pub(super) fn transmit<C: Carrier<Peer = P>>(
        &mut self,
        carrier: &mut C,
        index: u16,
    ) -> Result<(), SendError> {
        let slot = &mut self.slots[usize::from(index)];
        slot.is_leaving = false;
        if slot.progress != Progress::Answered {
            return Ok(());
        }
        let start = usize::from(index) * self.bytes_max;
        let payload = &self.replies[start..start + slot.len as usize];
        let header = Header {
            kind: Kind::Reply,
            is_sealed: self.seals.is_sealed(),
            session: self.remote,
            number: slot.number,
        };
        let seals = &self.seals;
        let sent = carrier.send(self.peer, |packet| seals.write(&header, payload, packet));
        slot.is_leaving = sent == Err(SendError::Full);
        sent.map(|_| ())
    }
}
