//! One association: up to three sets of keys, and where the peer is.
//!
//! Both sides may ask for keys at a time. What holds then:
//!
//! 1. Both sides come to their common keys in the same order. Who answers gives up what it has asked for itself, and
//!    drops answers to that. So of two handshakes that gave keys to both sides, one was answered before the other was
//!    asked for, on either side.
//! 2. Each side seals under the last of its keys of which it knows that the other side has them: what it was
//!    answered, or what a packet has come under. It has left all keys before those. [UDP-46]
//! 3. Nobody asks while nothing has come under its current keys. So who is asked knows that the other side seals
//!    under no keys that it was asked for before and has seen no packet of: it may drop them. [UDP-47]
//!
//! By these, keys under which the other side may still seal are the current ones, those before, and one set that was
//! asked for: three are enough, and what either side seals the other one opens.

use super::config::Config;
use super::epoch::{Epoch, Made};
use super::path::Candidate;
use crate::link::Time;
use crate::secure::handshake::Secrets;
use crate::secure::hello::Hello;
use crate::secure::packet::{NUMBER_MAX, Opened, SealError};
use crate::secure::reject::Reject;
use crate::secure::wire::DataHeader;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// Names an association of one endpoint, for as long as the endpoint lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AssociationId {
    pub(super) place: u32,
    pub(super) generation: u32,
}

#[cfg(test)]
impl AssociationId {
    /// One of an endpoint that there is not, for tests of what only tells them apart.
    pub(crate) const fn of_nobody(place: u32) -> Self {
        Self { place, generation: 0 }
    }
}

/// Which keys a packet came under.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Under {
    Current,
    /// The current ones, which nothing had come under before.
    Fresh,
    Previous,
    /// Keys that the peer asked for, which nothing had come under before.
    Next,
}

#[derive(Debug)]
pub(super) struct Association {
    pub(super) id: AssociationId,
    /// The place of the peer.
    pub(super) peer: u32,
    /// The life of this node that the peer was told.
    pub(super) life: u16,
    /// What the peer said of itself last.
    pub(super) hello: Hello,
    /// Where the peer has proved to be; of one not confirmed, where it asked from.
    pub(super) address: SocketAddr,
    /// To which address of this machine it spoke last from there.
    pub(super) source: Option<IpAddr>,
    pub(super) current: Option<Epoch>,
    /// The keys before, and until when they are kept.
    pub(super) previous: Option<(Epoch, Time)>,
    /// How many handshakes have given it keys.
    pub(super) made: u64,
    /// Keys that the peer asked for and has not used yet, and until when it may. The current ones may be later.
    pub(super) next: Option<(Epoch, Time)>,
    pub(super) candidate: Option<Candidate>,
    /// When the keys are to be renewed, if that is for this node to do: at their age it is for the one that asked for them.
    pub(super) rekey_at: Option<Time>,
    /// When the current keys are confirmed again, and after which pause once more.
    pub(super) confirm: Option<(Time, Duration)>,
    pub(super) linger: Duration,
    pub(super) alarmed: bool,
}

/// How many forgeries in an association raise an alarm.
const ALARM: u64 = 1 << 16;

impl Association {
    /// Opens a packet in place. Rejected, it changes nothing but the count of forgeries.
    pub(super) fn open(
        &mut self,
        config: &Config,
        now: Time,
        header: &DataHeader,
        datagram: &mut [u8],
    ) -> Result<(Opened, Under), Reject> {
        let (epoch, under) = self.epoch(header.index, now).ok_or(Reject::Index)?;
        // [UDP-43]
        if now.since(epoch.since) >= config.reject_after {
            return Err(Reject::Expired);
        }
        let lane = epoch.lane_mut(header.lane).ok_or(Reject::Lane)?;
        let opened = lane.opener.open(header, datagram)?;
        let is_first = !std::mem::replace(&mut epoch.heard, true);
        if is_first && under == Under::Current {
            self.let_linger(now);
            return Ok((opened, Under::Fresh));
        }
        Ok((opened, under))
    }

    /// The keys that we know by `index`.
    fn epoch(&mut self, index: u32, now: Time) -> Option<(&mut Epoch, Under)> {
        if let Some(epoch) = self.current.as_mut().filter(|epoch| epoch.index == index) {
            return Some((epoch, Under::Current));
        }
        if let Some((epoch, until)) =
            self.previous.as_mut().filter(|(epoch, _)| epoch.index == index)
        {
            // [UDP-44]
            let kept = now < *until || crate::planted!("old-key-kept": false => true);
            return kept.then_some((epoch, Under::Previous));
        }
        let (epoch, until) = self.next.as_mut().filter(|(epoch, _)| epoch.index == index)?;
        (now < *until).then_some((epoch, Under::Next))
    }

    /// Seals a packet of a lane under the current keys, and says whether they are worn.
    pub(super) fn seal(
        &mut self,
        config: &Config,
        now: Time,
        lane: u8,
        number: Option<u64>,
        packet: &mut [u8],
    ) -> Result<bool, SealFailed> {
        let epoch = self.current.as_mut().ok_or(SealFailed::Unconfirmed)?;
        if now.since(epoch.since) >= config.reject_after {
            return Err(SealFailed::Expired);
        }
        let lane = epoch.lane_mut(lane).ok_or(SealFailed::Lane)?;
        lane.seal(number, packet).map_err(SealFailed::Packet)?;
        Ok(lane.is_worn(config.rekey_packets, config.rekey_bytes))
    }

    /// Puts new keys in the place of the current ones, which linger. Returns the index that nobody
    /// needs any more, if there is one.
    pub(super) fn renew(&mut self, config: &Config, epoch: Epoch, now: Time) -> Option<u32> {
        let before = self.current.replace(epoch)?;
        // The peer goes on with them until something under the current ones has come to it.
        let expiry = before.since + config.reject_after;
        self.set_aside((before, expiry), now)
    }

    /// Keeps keys from before the current ones, in the place of such from before them: nothing but what is late comes
    /// under those. Returns the index that nobody needs any more, if there is one.
    pub(super) fn set_aside(&mut self, kept: (Epoch, Time), now: Time) -> Option<u32> {
        let dropped = self.previous.replace(kept);
        if crate::planted!("unheard-keys-replace": self.is_heard() => true) {
            self.let_linger(now);
        }
        dropped.map(|(epoch, _)| epoch.index)
    }

    /// Whether something has come under the current keys.
    pub(super) fn is_heard(&self) -> bool {
        self.current.as_ref().is_some_and(|epoch| epoch.heard)
    }

    /// When the keys are to be renewed, unless that waits until something has come under them.
    pub(super) fn renews_at(&self) -> Option<Time> {
        self.rekey_at.filter(|_| self.is_heard())
    }

    /// New keys are due: now, or when it is clear that those which the peer has asked for do not come into use. [UDP-48]
    pub(super) fn want_keys(&mut self, config: &Config, now: Time) {
        let current = self.current.as_ref().map_or(0, |epoch| epoch.order);
        let asked = self.next.as_ref().filter(|(epoch, _)| epoch.order > current);
        let until = asked.map(|(epoch, _)| epoch.since + config.confirm_within);
        let until = crate::planted!("renewal-not-awaited": until => None);
        self.rekey_at = Some(until.map_or(now, |until| until.max(now)));
    }

    /// The keys of a handshake, later than all others so far.
    pub(super) fn make(&mut self, made: &Made, secrets: &Secrets, now: Time) -> Epoch {
        self.made += 1;
        Epoch::new(made, secrets, self.current.as_ref(), self.made, now)
    }

    /// The peer has the current keys: those from before them are for what is late, also such as it asked for and never
    /// used. [UDP-44]
    fn let_linger(&mut self, now: Time) {
        let late = now + self.linger;
        let current = self.current.as_ref().map_or(0, |epoch| epoch.order);
        for (epoch, until) in [&mut self.previous, &mut self.next].into_iter().flatten() {
            if crate::planted!("unused-keys-stay": epoch.order < current => false) {
                *until = late.min(*until);
            }
        }
    }

    /// From which address of this machine to send to that one.
    pub(super) fn source_to(&self, to: SocketAddr) -> Option<IpAddr> {
        match &self.candidate {
            Some(candidate) if candidate.address == to => candidate.source,
            _ if self.address == to => self.source,
            _ => None,
        }
    }

    /// Whether so many packets did not open that it is time to say so; true once.
    pub(super) fn raises_alarm(&mut self) -> bool {
        let forgeries = self.current.as_ref().map_or(0, Epoch::forgeries);
        let raised = !self.alarmed && forgeries >= ALARM;
        self.alarmed |= raised;
        raised
    }

    /// The indices of all its keys.
    pub(super) fn indices(&self) -> impl Iterator<Item = u32> + '_ {
        let aside = [&self.previous, &self.next].into_iter().flatten().map(|(epoch, _)| epoch);
        self.current.iter().chain(aside).map(|epoch| epoch.index)
    }

    /// When something of it is due.
    pub(super) fn deadline(&self, config: &Config) -> Option<Time> {
        let expiry = self.current.as_ref().map(|epoch| epoch.since + config.reject_after);
        let aside = [&self.previous, &self.next].into_iter().flatten().map(|&(_, until)| until);
        let confirm = self.confirm.map(|(at, _)| at);
        let path = self.candidate.as_ref().map(|candidate| candidate.due);
        aside.chain(expiry).chain(self.renews_at()).chain(confirm).chain(path).min()
    }

    /// What must be the same after a packet that was rejected.
    #[cfg(any(test, fuzzing))]
    pub(super) fn digest(&mut self, state: &mut impl std::hash::Hasher) {
        use super::epoch::CONTROL_LANE;
        use std::hash::Hash;
        let Self { current, previous, next, .. } = self;
        let aside = [previous, next].into_iter().flatten().map(|(epoch, _)| epoch);
        for epoch in current.iter_mut().chain(aside) {
            (epoch.index, epoch.peer_index, epoch.heard, epoch.since).hash(state);
            for lane in (0..epoch.lanes()).chain([CONTROL_LANE]) {
                let lane = epoch.lane_mut(lane).expect("the lane is there");
                (lane.opener.window(), lane.sealer.next()).hash(state);
            }
        }
        (self.address, self.rekey_at, self.confirm, self.candidate.is_some()).hash(state);
    }
}

/// Why a packet of an association was not sealed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SealFailed {
    /// The association is gone, or never was.
    #[error("there is no such association")]
    Gone,
    /// The peer has not yet shown that it has the keys.
    #[error("the association is not confirmed")]
    Unconfirmed,
    /// The keys are too old; a handshake is under way or the association is about to end.
    #[error("the keys have expired")]
    Expired,
    /// The association has no such lane.
    #[error("there is no such lane")]
    Lane,
    /// The packet could not be sealed.
    #[error(transparent)]
    Packet(#[from] SealError),
}

const _: () = assert!(NUMBER_MAX > 1 << 40, "keys are renewed before they must not be used");
