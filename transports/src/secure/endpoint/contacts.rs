//! First contacts: ours, which wait for an answer, and those that wait for their third message.

use super::indices::Owner;
use super::{AssociationId, ConnectError, Endpoint, Event};
use crate::link::Time;
use crate::secure::audit::What;
use crate::secure::contact::{Met, Sought};
use crate::secure::guard::Cookie;
use crate::secure::key::KEY_BYTES;
use crate::secure::reject::Reject;
use crate::secure::wire::{HandshakeHeader, Kind};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

#[derive(Default)]
pub(super) struct Contacts {
    /// Ours, each to another address, the one that began first before the others.
    sought: Vec<Ours>,
    met: BTreeMap<u32, Theirs>,
}

struct Ours {
    sought: Sought,
    index: u32,
    to: SocketAddr,
    began: Time,
    retry_at: Time,
    retry_in: Duration,
    has_cookie: bool,
}

struct Theirs {
    met: Met,
    /// The key that it was asked with, for this once.
    ephemeral: [u8; KEY_BYTES],
    answer: Vec<u8>,
    /// Where it was answered; none if at several addresses, of which anybody may have repeated what it asked.
    at: Option<SocketAddr>,
    until: Time,
}

impl Contacts {
    pub(super) fn deadline(&self) -> Option<Time> {
        let ours = self.sought.iter().map(|ours| ours.retry_at);
        ours.chain(self.met.values().map(|theirs| theirs.until)).min()
    }

    /// Whether half of so many places are taken by others.
    pub(super) fn is_half_full(&self, places: usize) -> bool {
        2 * self.met.len() >= places
    }
}

impl Endpoint {
    /// Asks the node at an address who it is, unless it is being asked. [UDP-70] Both learn each other's key and allow
    /// each other; then this one connects. Nobody without the cluster key can take part. Of more than
    /// [`Config::contacts_max`](super::Config::contacts_max) the one that began first is given up without a word.
    ///
    /// # Errors
    ///
    /// [`ConnectError::NoCluster`] without a cluster key, and as [`connect`](Self::connect).
    pub fn meet(&mut self, now: Time, to: SocketAddr) -> Result<(), ConnectError> {
        if self.cluster_codes.is_none() {
            return Err(ConnectError::NoCluster);
        }
        if self.contacts.sought.iter().any(|ours| ours.to == to) {
            return Ok(());
        }
        if self.contacts.sought.len() >= self.contacts_max() {
            let oldest = self.contacts.sought.remove(0);
            self.indices.remove(oldest.index);
        }
        self.seek(now, to, now, self.config.retry_first, None)
    }

    /// Asks at an address no more who is there.
    pub(crate) fn leave_alone(&mut self, to: SocketAddr) {
        for left in self.contacts.sought.extract_if(.., |ours| ours.to == to) {
            self.indices.remove(left.index);
        }
    }

    /// The association whose peer has proved to be at an address.
    pub(crate) fn association_at(&self, address: SocketAddr) -> Option<AssociationId> {
        self.associations.settled_at(address).map(|found| found.id)
    }

    /// How many addresses are asked at once who is there.
    pub(crate) fn contacts_max(&self) -> usize {
        self.config.contacts_max.max(1)
    }

    /// For how long a node is asked that does not answer.
    pub(crate) fn give_up_after(&self) -> Duration {
        self.config.give_up_after
    }

    fn seek(
        &mut self,
        now: Time,
        to: SocketAddr,
        began: Time,
        retry_in: Duration,
        cookie: Option<&Cookie>,
    ) -> Result<(), ConnectError> {
        self.leave_alone(to);
        let index = self.indices.insert(Owner::Sought, self.entropy.as_mut())?;
        let Ok((sought, packet)) = Sought::begin(&self.local, index, cookie, self.entropy.as_mut())
        else {
            self.indices.remove(index);
            return Err(ConnectError::NoEntropy);
        };
        let retry_at = now + retry_in;
        let has_cookie = cookie.is_some();
        let ours = Ours { sought, index, to, began, retry_at, retry_in, has_cookie };
        let place = self.contacts.sought.partition_point(|other| other.began <= began);
        self.contacts.sought.insert(place, ours);
        self.send(to, packet);
        self.arm(retry_at);
        Ok(())
    }

    fn seek_again(
        &mut self,
        now: Time,
        to: SocketAddr,
        began: Time,
        retry_in: Duration,
        cookie: Option<&Cookie>,
    ) {
        if self.seek(now, to, began, retry_in, cookie).is_err() {
            self.tell(Event::Nobody { address: to });
        }
    }

    /// Somebody who knows the cluster key asks who we are, or somebody repeats that. What was asked before is answered as
    /// before, and takes no other place: whose it is may come behind one who has read it. [UDP-74]
    pub(super) fn on_contact(
        &mut self,
        now: Time,
        from: SocketAddr,
        body: &[u8],
    ) -> Result<(), Reject> {
        let (_, length) = HandshakeHeader::decode(Kind::Init, body)?;
        let ephemeral = *body[length..].first_chunk::<KEY_BYTES>().ok_or(Reject::Length)?;
        let known = self.contacts.met.values_mut().find(|theirs| theirs.ephemeral == ephemeral);
        if let Some(theirs) = known {
            theirs.at.take_if(|at| *at != from);
            let answer = theirs.answer.clone();
            self.send(from, answer);
            return Ok(());
        }
        if self.contacts.met.len() >= self.config.contacts_max {
            return Err(Reject::Full);
        }
        let index =
            self.indices.insert(Owner::Met(0), self.entropy.as_mut()).map_err(|_| Reject::Full)?;
        match Met::answer(&self.local, body, index, self.entropy.as_mut()) {
            Ok((met, answer)) => {
                let until = now + self.config.confirm_within;
                self.indices.pass(index, Owner::Met(index));
                self.send(from, answer.clone());
                let theirs = Theirs { met, ephemeral, answer, at: Some(from), until };
                self.contacts.met.insert(index, theirs);
                self.arm(until);
                Ok(())
            }
            Err(reject) => {
                self.indices.remove(index);
                Err(reject)
            }
        }
    }

    /// Somebody says who it is. It is believed once a handshake with that key is answered, so until
    /// then it is only asked, where it was found: there it has heard us. Where there is an association already, its keys
    /// stay. [UDP-77]
    pub(super) fn on_found(
        &mut self,
        now: Time,
        from: SocketAddr,
        index: u32,
        packet: &[u8],
    ) -> Result<(), Reject> {
        self.contact_codes()?.check(packet)?;
        let mut all = self.contacts.sought.iter_mut();
        let ours = all.find(|ours| ours.index == index).ok_or(Reject::Unasked)?;
        let (peer, finish) = ours.sought.answered(&self.local, packet)?;
        let to = ours.to;
        self.leave_alone(to);
        // [UDP-76]
        if peer == self.public() {
            self.tell(Event::Itself { address: to });
            return Ok(());
        }
        self.send(from, finish);
        let place = self.peers.meet(now, peer, &self.config).ok_or(Reject::TooManyMet)?;
        if !self.peers.at(place).allowed {
            return Err(Reject::Peer);
        }
        self.audit.record(now, Some(from), What::Learned { peer });
        self.tell(Event::Learned { peer, address: to });
        let known = self.peers.at(place);
        let live = known.live.and_then(|live| self.associations.at(live));
        // One at another address may be that of its former life.
        let is_there = live.is_some_and(|association| association.address == to);
        if known.attempt.is_none() && !is_there {
            self.ask_again(place, now, to, now, self.config.retry_first);
        }
        Ok(())
    }

    /// Somebody has proved who it is, and that it has the cluster key. Where it is it has proved if it was answered there
    /// alone. [UDP-77]
    pub(super) fn on_finish(
        &mut self,
        now: Time,
        from: SocketAddr,
        packet: &[u8],
    ) -> Result<(), Reject> {
        let (header, _) = HandshakeHeader::decode(Kind::Finish, packet)?;
        self.contact_codes()?.check(packet)?;
        let index = header.receiver.ok_or(Reject::Length)?;
        let Some(Owner::Met(_)) = self.indices.owner(index) else { return Err(Reject::Index) };
        let theirs = self.contacts.met.get_mut(&index).ok_or(Reject::Index)?;
        let peer = theirs.met.finished(packet)?;
        let at = theirs.at.filter(|at| *at == from);
        self.contacts.met.remove(&index);
        self.indices.remove(index);
        let place = self.peers.meet(now, peer, &self.config).ok_or(Reject::TooManyMet)?;
        if !self.peers.at(place).allowed {
            return Err(Reject::Peer);
        }
        self.audit.record(now, Some(from), What::Learned { peer });
        if let Some(address) = at {
            self.tell(Event::Learned { peer, address });
        }
        Ok(())
    }

    /// As [`on_cookie`](Self::on_cookie): one that is asked for again and again is of no use.
    pub(super) fn on_contact_cookie(
        &mut self,
        now: Time,
        index: u32,
        packet: &[u8],
    ) -> Result<(), Reject> {
        let mut all = self.contacts.sought.iter();
        let ours = all.find(|ours| ours.index == index).ok_or(Reject::Unasked)?;
        if ours.has_cookie {
            return Err(Reject::Unasked);
        }
        let cookie = self.contact_codes()?.open_reply(&ours.sought.first_code, packet)?;
        let (to, began, retry_in) = (ours.to, ours.began, ours.retry_in);
        self.seek_again(now, to, began, retry_in, Some(&cookie));
        Ok(())
    }

    pub(super) fn contacts_due(&mut self, now: Time) {
        let due = self.contacts.met.iter().filter(|(_, theirs)| theirs.until <= now);
        let due: Vec<_> = due.map(|(&index, _)| index).collect();
        for index in due {
            self.contacts.met.remove(&index);
            self.indices.remove(index);
        }
        let due = self.contacts.sought.iter().filter(|ours| ours.retry_at <= now);
        let due: Vec<_> = due.map(|ours| (ours.to, ours.began, ours.retry_in)).collect();
        for (to, began, retry_in) in due {
            if now.since(began) < self.config.give_up_after {
                let retry_in = (retry_in * 2).min(self.config.retry_max);
                self.seek_again(now, to, began, retry_in, None);
            } else {
                self.leave_alone(to);
                self.tell(Event::Nobody { address: to });
            }
        }
    }
}
