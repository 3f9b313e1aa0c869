//! First contacts: ours, one at a time, and those that wait for their third message.

use super::indices::Owner;
use super::{ConnectError, Endpoint, Event};
use crate::link::Time;
use crate::secure::audit::What;
use crate::secure::contact::{Met, Sought};
use crate::secure::guard::Cookie;
use crate::secure::reject::Reject;
use crate::secure::wire::{HandshakeHeader, Kind};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

#[derive(Default)]
pub(super) struct Contacts {
    sought: Option<Ours>,
    met: BTreeMap<u32, Theirs>,
}

struct Ours {
    sought: Sought,
    index: u32,
    to: SocketAddr,
    began: Time,
    retry_at: Time,
    retry_in: Duration,
}

struct Theirs {
    met: Met,
    until: Time,
}

impl Contacts {
    pub(super) fn deadline(&self) -> Option<Time> {
        let ours = self.sought.iter().map(|ours| ours.retry_at);
        ours.chain(self.met.values().map(|theirs| theirs.until)).min()
    }
}

impl Endpoint {
    /// Asks the node at an address who it is. Both learn each other's key and allow each other; then
    /// this one connects. Nobody without the cluster key can take part. One at a time: a second call
    /// takes the place of the first.
    ///
    /// # Errors
    ///
    /// [`ConnectError::NoCluster`] without a cluster key, and as [`connect`](Self::connect).
    pub fn meet(&mut self, now: Time, to: SocketAddr) -> Result<(), ConnectError> {
        if self.cluster_codes.is_none() {
            return Err(ConnectError::NoCluster);
        }
        self.seek(now, to, now, self.config.retry_first, None)
    }

    fn seek(
        &mut self,
        now: Time,
        to: SocketAddr,
        began: Time,
        retry_in: Duration,
        cookie: Option<&Cookie>,
    ) -> Result<(), ConnectError> {
        if let Some(former) = self.contacts.sought.take() {
            self.indices.remove(former.index);
        }
        let index = self.indices.insert(Owner::Sought, self.entropy.as_mut())?;
        let Ok((sought, packet)) = Sought::begin(&self.local, index, cookie, self.entropy.as_mut())
        else {
            self.indices.remove(index);
            return Err(ConnectError::NoEntropy);
        };
        let retry_at = now + retry_in;
        self.contacts.sought = Some(Ours { sought, index, to, began, retry_at, retry_in });
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

    /// Somebody who knows the cluster key asks who we are.
    pub(super) fn on_contact(
        &mut self,
        now: Time,
        from: SocketAddr,
        body: &[u8],
    ) -> Result<(), Reject> {
        if self.contacts.met.len() >= self.config.contacts_max {
            return Err(Reject::Full);
        }
        let index =
            self.indices.insert(Owner::Met(0), self.entropy.as_mut()).map_err(|_| Reject::Full)?;
        match Met::answer(&self.local, body, index, self.entropy.as_mut()) {
            Ok((met, packet)) => {
                let until = now + self.config.confirm_within;
                self.indices.pass(index, Owner::Met(index));
                self.contacts.met.insert(index, Theirs { met, until });
                self.send(from, packet);
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
    /// then it is only asked.
    pub(super) fn on_found(
        &mut self,
        now: Time,
        from: SocketAddr,
        packet: &[u8],
    ) -> Result<(), Reject> {
        self.contact_codes()?.check(packet)?;
        let ours = self.contacts.sought.as_mut().ok_or(Reject::Unasked)?;
        let (peer, finish) = ours.sought.answered(&self.local, packet)?;
        let (index, to) = (ours.index, ours.to);
        self.contacts.sought = None;
        self.indices.remove(index);
        self.send(from, finish);
        let place = self.peers.allow(peer);
        if !self.peers.at(place).allowed {
            return Err(Reject::Peer);
        }
        self.audit.record(now, Some(from), What::Learned { peer });
        self.tell(Event::Learned { peer, address: from, asked: Some(to) });
        if self.peers.at(place).attempt.is_none() {
            self.ask_again(place, now, from, now, self.config.retry_first);
        }
        Ok(())
    }

    /// Somebody has proved who it is, and that it has the cluster key.
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
        self.contacts.met.remove(&index);
        self.indices.remove(index);
        let place = self.peers.allow(peer);
        if !self.peers.at(place).allowed {
            return Err(Reject::Peer);
        }
        self.audit.record(now, Some(from), What::Learned { peer });
        self.tell(Event::Learned { peer, address: from, asked: None });
        Ok(())
    }

    pub(super) fn on_contact_cookie(&mut self, now: Time, packet: &[u8]) -> Result<(), Reject> {
        let ours = self.contacts.sought.as_ref().ok_or(Reject::Unasked)?;
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
        let Some(ours) = self.contacts.sought.as_ref().filter(|ours| ours.retry_at <= now) else {
            return;
        };
        let (to, began) = (ours.to, ours.began);
        if now.since(began) < self.config.give_up_after {
            let retry_in = (ours.retry_in * 2).min(self.config.retry_max);
            self.seek_again(now, to, began, retry_in, None);
        } else if let Some(given_up) = self.contacts.sought.take() {
            self.indices.remove(given_up.index);
            self.tell(Event::Nobody { address: to });
        }
    }
}
