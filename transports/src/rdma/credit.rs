//! Credit for packets between two connected queue pairs, so that a receiver is always ready.
//!
//! Each end counts what it has let come since the beginning, and says so in every packet. The other never sends more
//! packets than that. Where it comes into is shared by all connections of an end: a [`Pool`] says how much may be let
//! come altogether. Invariants, for each direction:
//! 1. `sent <= limit <= granted at the peer`, so a packet always finds a receive. [RDMA-11]
//! 2. The last credit is for a packet that only tells: so two ends that both sent all they could can still
//!    tell each other. Such a packet goes when half of what the peer has is news to it; until then the peer has the
//!    other half. [RDMA-12]
//! 3. Of what a connection may have come, it has claimed as much from the pool, and never less than its start. So it
//!    goes on whatever others hold, and what all hold was posted. [RDMA-17]
//! 4. Counts wrap; differences do not, for there are no more than 2^16 receives.

use super::pool::Pool;

/// What a peer may never leave its sender with: the credit to tell.
const RESERVE: u32 = 1;

/// So many receives are shared at most, and so far is a count ahead.
pub(super) const RECEIVES_MAX: u32 = 1 << 16;

/// Bytes in front of each packet.
pub const PREFIX_BYTES: usize = 8;

/// The peer told something that cannot be. [RDMA-13]
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the peer's credit cannot be")]
pub struct BadCredit;

/// What stands in front of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Told {
    /// Packets that its sender lets come, in all.
    granted: u32,
    /// How many it will not send, of those that it was to let come.
    back: u16,
    /// Whether the other is to give back what it does not need.
    asks: bool,
    /// Whether this was the last packet that may be sent for now.
    is_last: bool,
}

const ASKS: u8 = 1;
const LAST: u8 = 2;

impl Told {
    pub(super) const fn to_bytes(self) -> [u8; PREFIX_BYTES] {
        let ([a, b, c, d], [e, f]) = (self.granted.to_le_bytes(), self.back.to_le_bytes());
        let flags = if self.asks { ASKS } else { 0 } | if self.is_last { LAST } else { 0 };
        [a, b, c, d, e, f, flags, 0]
    }

    /// # Errors
    /// It is none that an end says.
    pub(super) const fn from_bytes(bytes: [u8; PREFIX_BYTES]) -> Result<Self, BadCredit> {
        let [a, b, c, d, e, f, flags, 0] = bytes else { return Err(BadCredit) };
        if flags & !(ASKS | LAST) != 0 {
            return Err(BadCredit);
        }
        let (granted, back) = (u32::from_le_bytes([a, b, c, d]), u16::from_le_bytes([e, f]));
        Ok(Self { granted, back, asks: flags & ASKS != 0, is_last: flags & LAST != 0 })
    }
}

/// Whether the peer was asked for what it does not need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asking {
    No,
    /// The next packet asks.
    Due,
    /// Nothing has come since.
    Done,
}

/// The credit of one connection, both ways.
#[derive(Debug)]
pub(super) struct Credit {
    /// Packets that the peer lets come, in all.
    limit: u32,
    /// Packets sent, and what was given back, in all.
    sent: u32,
    /// What the peer let come at the start: not given back.
    keeps: u32,
    is_asked: bool,
    /// Whether the peer has used up what it had, since this was looked at.
    is_used_up: bool,
    /// Packets that the peer may send, in all.
    granted: u32,
    /// What the peer was told last.
    told: u32,
    /// Packets that came, and what the peer gave back, in all.
    came: u32,
    /// What the peer is to have at a time: from the start to the most.
    window: u32,
    start: u32,
    most: u32,
    asking: Asking,
}

impl Credit {
    /// Each end has let the other one's start come. This one has claimed its own, and lets `most` come at a time.
    pub(super) const fn new(start: u32, most: u32, peer_start: u32) -> Self {
        Self {
            limit: peer_start,
            sent: 0,
            keeps: peer_start,
            is_asked: false,
            is_used_up: false,
            granted: start,
            told: start,
            came: 0,
            window: start,
            start,
            most,
            asking: Asking::No,
        }
    }

    const fn left(&self) -> u32 {
        self.limit.wrapping_sub(self.sent)
    }

    /// Whether a packet may be sent.
    pub(super) fn may_send(&self) -> bool {
        // [RDMA-11] [RDMA-12]
        crate::planted!("rdma-credit-ignored": self.left() > RESERVE => true)
    }

    /// Whether the peer can be told something.
    pub(super) const fn can_tell(&self) -> bool {
        self.left() > 0
    }

    /// Whether the peer has to be told, and can be.
    pub(super) const fn must_tell(&self) -> bool {
        let news = self.granted.wrapping_sub(self.told);
        let is_half = news > 0 && news >= self.held() / 2 && self.left() > 0;
        is_half || self.must_ask() || self.must_give_back()
    }

    const fn must_ask(&self) -> bool {
        matches!(self.asking, Asking::Due) && self.left() > RESERVE
    }

    const fn must_give_back(&self) -> bool {
        self.is_asked && self.left() > self.keeps
    }

    /// A packet leaves: what stands in front of it.
    pub(super) const fn on_sent(&mut self) -> Told {
        self.sent = self.sent.wrapping_add(1);
        self.told = self.granted;
        let asks = matches!(self.asking, Asking::Due);
        if asks {
            self.asking = Asking::Done;
        }
        Told { granted: self.granted, back: 0, asks, is_last: self.left() <= RESERVE }
    }

    /// A packet leaves that only tells, after all that the caller had to send: what was asked for goes back.
    pub(super) fn on_tell(&mut self) -> Told {
        let told = self.on_sent();
        let spare = if self.is_asked { self.left().saturating_sub(self.keeps) } else { 0 };
        self.is_asked = false;
        let back = u16::try_from(spare).unwrap_or(u16::MAX);
        self.sent = self.sent.wrapping_add(back.into());
        Told { back, is_last: false, ..told }
    }

    /// Nothing is left to send for now, and nothing has to be told.
    pub(super) const fn on_flushed(&mut self) {
        // What was asked for is on its way as packets.
        self.is_asked = false;
    }

    /// A packet came; what stood in front of it. What it does not need any more is the pool's. A peer that has used up
    /// what it had is to have twice as much.
    ///
    /// # Errors
    /// The peer lets fewer come than before or more than there can be, has sent more than it was told, or gives back
    /// what it has not.
    pub(super) fn on_told(&mut self, told: Told, pool: &mut Pool) -> Result<(), BadCredit> {
        let is_back = told.granted.wrapping_sub(self.limit) > RECEIVES_MAX;
        if is_back || told.granted.wrapping_sub(self.sent) > RECEIVES_MAX {
            return Err(BadCredit);
        }
        let used = 1 + u32::from(told.back);
        if self.told.wrapping_sub(self.came) < used {
            return Err(BadCredit);
        }
        let claimed = self.claimed();
        self.limit = told.granted;
        let used = crate::planted!("rdma-credit-leaks": used => used - 1);
        self.came = self.came.wrapping_add(used);
        self.is_asked |= told.asks;
        self.is_used_up |= told.is_last;
        if told.is_last {
            self.window = self.window.saturating_mul(2).min(self.most);
        }
        if self.asking == Asking::Done {
            self.asking = Asking::No;
        }
        pool.release(claimed - self.claimed());
        Ok(())
    }

    /// How many packets may still come.
    const fn held(&self) -> u32 {
        self.granted.wrapping_sub(self.came)
    }

    /// What of the pool is this connection's.
    pub(super) const fn claimed(&self) -> u32 {
        if self.held() > self.start { self.held() } else { self.start }
    }

    /// What came is posted again. Of what is its own the peer has all at once.
    pub(super) const fn on_posted(&mut self) {
        let own = self.start.saturating_sub(self.held());
        self.granted = self.granted.wrapping_add(own);
    }

    /// Lets as many come as the peer is to have, if the pool has them; says whether it has.
    pub(super) fn grant(&mut self, pool: &mut Pool) -> bool {
        let wanted = self.window.saturating_sub(self.claimed());
        let claimed = pool.claim(wanted);
        self.granted = self.granted.wrapping_add(claimed);
        claimed == wanted
    }

    /// Whether the peer has used up what it had, since this was asked.
    pub(super) const fn take_used_up(&mut self) -> bool {
        std::mem::replace(&mut self.is_used_up, false)
    }

    /// Whether the peer was asked for what it does not need, and has not answered.
    pub(super) fn is_asking(&self) -> bool {
        self.asking != Asking::No
    }

    /// Asks the peer for what it does not need; false if it has no more than its start, or was asked.
    pub(super) fn ask(&mut self) -> bool {
        let asks = self.asking == Asking::No && self.held() > self.start;
        if asks {
            self.asking = Asking::Due;
            // It grows again with what the peer uses.
            self.window = self.start;
        }
        asks
    }
}

#[cfg(test)]
mod tests;
