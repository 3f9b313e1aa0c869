//! Handshakes that this node begins: asked, answered, asked again, and who has forgotten us.

use super::association::Association;
use super::epoch::Made;
use super::event::{Ended, Event};
use super::indices::{NoIndex, Owner};
use super::path::Control;
use super::peers::Attempt;
use super::{AssociationId, Endpoint};
use crate::link::Time;
use crate::secure::audit::What;
use crate::secure::entropy::draw;
use crate::secure::guard::{COOKIE_LIFE, stamp_second};
use crate::secure::handshake::{Answer, Asked, NotBegun, Role};
use crate::secure::hello::{Hello, Tai64n};
use crate::secure::key::PublicKey;
use crate::secure::reject::Reject;
use crate::secure::wire::{self, HandshakeHeader, Kind};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// A handshake was not begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The node is not allowed.
    #[error("the node is not allowed")]
    Forbidden,
    /// There is no room for another handshake.
    #[error("no room for another handshake")]
    Full,
    /// There is no randomness for its keys.
    #[error("no randomness is to be had")]
    NoEntropy,
    /// The key is a point of small order, which is the key of nobody.
    #[error("that is the key of nobody")]
    Key,
    /// First contacts need a cluster key.
    #[error("there is no cluster key")]
    NoCluster,
    /// The association is gone.
    #[error("there is no such association")]
    Gone,
}

impl From<NoIndex> for ConnectError {
    fn from(why: NoIndex) -> Self {
        match why {
            NoIndex::Full => Self::Full,
            NoIndex::Entropy => Self::NoEntropy,
        }
    }
}

impl From<NotBegun> for ConnectError {
    fn from(why: NotBegun) -> Self {
        match why {
            NotBegun::NoEntropy => Self::NoEntropy,
            NotBegun::Key => Self::Key,
        }
    }
}

impl Endpoint {
    /// Begins a handshake with an allowed node. What comes of it is told by an event: `Up`, `Rekeyed`
    /// if there is an association already, or `Unreachable`. One that is under way to another address
    /// begins anew at this one; one to this one goes on, for as long as one that begins now. While nothing has come
    /// under the keys of the last one, it is put off.
    ///
    /// # Errors
    ///
    /// [`ConnectError`]; nothing is sent then.
    pub fn connect(
        &mut self,
        now: Time,
        peer: &PublicKey,
        to: SocketAddr,
    ) -> Result<(), ConnectError> {
        self.connect_among(now, peer, to, &[])
    }

    /// As [`connect`](Self::connect), where the node may be at other addresses, too: whenever nobody answers in time, the
    /// next one is asked. One that is under way to one of them goes on, unless `to` is none of those that it goes to:
    /// that one is then asked at once.
    ///
    /// # Errors
    ///
    /// As [`connect`](Self::connect).
    pub fn connect_among(
        &mut self,
        now: Time,
        peer: &PublicKey,
        to: SocketAddr,
        others: &[SocketAddr],
    ) -> Result<(), ConnectError> {
        let place = self.peers.place(peer).filter(|&place| self.peers.at(place).allowed);
        let place = place.ok_or(ConnectError::Forbidden)?;
        if self.puts_off(place, now) {
            return Ok(());
        }
        let peer = self.peers.at_mut(place);
        // Who knows a new address knows better than who is waiting for the others to answer.
        let is_new = !peer.places.contains(&to);
        peer.places = [&[to], others].concat();
        match &mut peer.attempt {
            Some(attempt) if attempt.to == to || !is_new && peer.places.contains(&attempt.to) => {
                attempt.began = now;
                Ok(())
            }
            _ => self.ask(place, now, to, now, self.config.retry_first),
        }
    }

    /// Where a node is being asked.
    pub(crate) fn asked_at(&self, peer: &PublicKey) -> Option<SocketAddr> {
        let attempt = self.peers.at(self.peers.place(peer)?).attempt.as_ref()?;
        Some(attempt.to)
    }

    /// Renews the keys of an association, by a fresh exchange: whoever had learned the old ones
    /// learns nothing of the new ones. It begins now, or as soon as something has come under the keys there are.
    ///
    /// # Errors
    ///
    /// [`ConnectError`]; the keys stay.
    pub fn rekey(&mut self, now: Time, association: AssociationId) -> Result<(), ConnectError> {
        let found = self.associations.get(association).ok_or(ConnectError::Gone)?;
        let (place, to) = (found.peer, found.address);
        if self.peers.at(place).attempt.is_none() && !self.puts_off(place, now) {
            self.ask(place, now, to, now, self.config.retry_first)?;
        }
        Ok(())
    }

    /// Whether nothing has come yet under the keys of an association with a peer. It may not know of them, so that it
    /// would drop them for newer ones. Others are asked for as soon as it is heard. [UDP-47]
    pub(super) fn puts_off(&mut self, place: u32, now: Time) -> bool {
        let live = self.peers.at(place).live.and_then(|live| self.associations.at_mut(live));
        let Some(association) = live.filter(|it| !it.is_heard()) else { return false };
        association.rekey_at = Some(now);
        crate::planted!("unheard-keys-renewed": true => false)
    }

    /// Sends a first message, in place of one sent before.
    pub(super) fn ask(
        &mut self,
        place: u32,
        now: Time,
        to: SocketAddr,
        began: Time,
        retry_in: Duration,
    ) -> Result<(), ConnectError> {
        self.drop_attempt(place);
        let index = self.indices.insert(Owner::Attempt(place), self.entropy.as_mut())?;
        let time = self.time(place, now);
        let life = self.life(place);
        let hello = self.hello(time, index, to, life);
        let source = self.source_to(place, to);
        let peer = self.peers.at_mut(place);
        peer.gave_way = None;
        peer.cookie.take_if(|(_, since)| now.since(*since) >= COOKIE_LIFE);
        let cookie = peer.cookie.map(|(cookie, _)| cookie);
        let what = (self.config.suite(), index);
        let random = self.entropy.as_mut();
        let begun = Asked::begin(&self.local, &peer.key, what, &hello, cookie.as_ref(), random);
        let (asked, packet) = begun.inspect_err(|_| self.indices.remove(index))?;
        let retry_at = now + retry_in;
        self.send_from(source, to, packet.clone());
        self.peers.at_mut(place).attempt = Some(Attempt {
            asked,
            packet,
            index,
            to,
            token_for: to,
            began,
            sent: now,
            time,
            life,
            retry_at,
            retry_in,
            is_for_cookie: false,
            tried: cookie,
            cookies: 0,
            is_repeated: false,
        });
        self.arm(retry_at);
        Ok(())
    }

    /// From which address of this machine a peer is asked at that one.
    fn source_to(&self, place: u32, to: SocketAddr) -> Option<IpAddr> {
        let live = self.peers.at(place).live.and_then(|live| self.associations.at(live));
        let known = live.and_then(|association| association.source_to(to));
        self.arrived_at(to).or(known)
    }

    /// As [`ask`](Self::ask), where nobody waits for the answer but by its event.
    pub(super) fn ask_again(
        &mut self,
        place: u32,
        now: Time,
        to: SocketAddr,
        began: Time,
        retry_in: Duration,
    ) {
        if self.ask(place, now, to, began, retry_in).is_err() {
            self.give_up_reaching(place);
        }
    }

    /// Gives up the attempt to reach a peer, and says so.
    pub(super) fn give_up_reaching(&mut self, place: u32) {
        self.give_up(place);
        let peer = self.peers.at(place).key;
        self.tell(Event::Unreachable { peer });
    }

    pub(super) fn drop_attempt(&mut self, place: u32) {
        if let Some(attempt) = self.peers.at_mut(place).attempt.take() {
            self.indices.remove(attempt.index);
        }
    }

    /// Drops the attempt to reach a peer, and where that was to go on: what is asked for later is none of its.
    pub(super) fn give_up(&mut self, place: u32) {
        self.drop_attempt(place);
        let peer = self.peers.at_mut(place);
        (peer.gave_way, peer.places) = (None, Vec::new());
    }

    /// The time of a handshake: later than every one that the peer has heard of.
    fn time(&mut self, place: u32, now: Time) -> Tai64n {
        let elapsed = Duration::from_nanos(now.as_nanos());
        let peer = self.peers.at_mut(place);
        peer.told = Tai64n::since_epoch(self.epoch_start + elapsed).max(peer.told.next());
        peer.told
    }

    /// A peer has heard of this node at a later time than it was told now: the clock has been set back over a restart.
    /// What it is told next is later still. It is asked when that is due, so that one which says this without end is
    /// asked no more often than one which is silent; where it has said this, as that is where it is. A time that never
    /// comes is not believed, or there would be none later than that. [UDP-27]
    fn catch_up(
        &mut self,
        place: u32,
        now: Time,
        from: SocketAddr,
        heard: Tai64n,
    ) -> Result<(), Reject> {
        let peer = self.peers.at_mut(place);
        let is_reserved = heard.is_reserved();
        if heard <= peer.told || crate::planted!("no-time-left": is_reserved => false) {
            return Err(Reject::Handshake);
        }
        peer.told = heard;
        if peer.attempt.as_ref().is_some_and(|attempt| attempt.to == from) {
            peer.places = vec![from];
        }
        let peer = peer.key;
        self.audit.record(now, Some(from), What::SetBack { peer });
        Ok(())
    }

    pub(super) fn on_resp(
        &mut self,
        now: Time,
        from: SocketAddr,
        packet: &[u8],
    ) -> Result<(), Reject> {
        let (header, _) = HandshakeHeader::decode(Kind::Resp, packet)?;
        let index = header.receiver.ok_or(Reject::Length)?;
        let place = match self.indices.owner(index) {
            Some(Owner::Attempt(place)) => place,
            Some(Owner::Sought) => return self.on_found(now, from, index, packet),
            Some(Owner::Association(_) | Owner::Met(_)) => return Err(Reject::Unasked),
            None => return Err(Reject::Index),
        };
        self.codes.check(packet)?;
        let attempt = self.peers.at_mut(place).attempt.as_mut().ok_or(Reject::Unasked)?;
        let answer = attempt.asked.answered(&self.local, packet)?;
        if answer.hello.time != attempt.time {
            return self.catch_up(place, now, from, answer.hello.time);
        }
        // Others may tell of any number of nodes that this one then asks. It asks again, as there may be room by then.
        let life = attempt.life;
        if self.known(place, life, &answer.hello).is_none() && self.met_have_their_part(place) {
            return Err(Reject::Full);
        }
        let peer = self.peers.at_mut(place);
        let Some(attempt) = peer.attempt.take() else { return Ok(()) };
        peer.places.clear();
        self.establish(place, now, (from, packet.len()), &attempt, &answer);
        Ok(())
    }

    /// Takes the keys of an answer into use, and lets the other side know.
    fn establish(
        &mut self,
        place: u32,
        now: Time,
        (from, bytes): (SocketAddr, usize),
        attempt: &Attempt,
        answer: &Answer,
    ) {
        let (hello, index, life) = (answer.hello, attempt.index, attempt.life);
        let renewed = self.same_life(place, &hello);
        let known = self.known(place, life, &hello);
        let id = match known.and_then(|place| self.associations.at_mut(place)) {
            Some(association) => association.id,
            None => {
                let id = self.associations.reserve();
                self.associations.fill(self.unconfirmed(id, place, life, &hello, attempt.to));
                id
            }
        };
        self.indices.pass(index, Owner::Association(id.place));
        let (peer_index, peer_token) = (answer.index, hello.token);
        let lanes = self.lanes(&hello);
        let made = Made { index, peer_index, peer_token, role: Role::Initiator, lanes };
        let rekey_at = now + self.config.rekey_after;
        let confirm = (now + self.config.retry_first, self.config.retry_first);
        let Some(association) = self.associations.at_mut(id.place) else { return };
        let epoch = association.make(&made, &answer.secrets, now);
        if let Some((asked, until)) = &mut association.next {
            // The other one may go on with those for as long as they are good, if it hears nothing of these.
            *until = asked.since + self.config.reject_after;
        }
        association.rekey_at = Some(rekey_at);
        association.confirm = Some(confirm);
        let unused = self.associations.renew(id.place, &self.config, epoch, now);
        unused.into_iter().for_each(|index| self.indices.remove(index));
        self.arm(confirm.0);
        if renewed.is_some() {
            let peer = self.peers.at(place).key;
            self.audit.record(now, Some(from), What::Rekeyed { peer });
            self.tell(Event::Rekeyed { association: id });
        } else {
            // The peer may have asked for it from anywhere.
            let at = crate::planted!("put-where-it-says": attempt.to => from);
            let source = self.arrived_at(at);
            if let Some(association) = self.associations.at_mut(id.place) {
                (association.address, association.source) = (at, source);
            }
            self.bring_up(id, place, now, &hello, lanes);
            self.on_path(id.place, now, from, bytes);
        }
        let Some(association) = self.associations.at_mut(id.place) else { return };
        let address = association.address;
        // [UDP-62]
        let is_elsewhere = address != attempt.token_for;
        if crate::planted!("token-for-elsewhere": is_elsewhere => false) {
            association.rekey_at = Some(now);
        }
        self.control(id.place, now, address, Control::Confirm);
    }

    /// The association for which an answer has keys, if there is one.
    fn known(&self, place: u32, life: u16, hello: &Hello) -> Option<u32> {
        self.same_life(place, hello).or_else(|| self.same_birth(place, life, hello))
    }

    /// The association that a peer has asked for and not confirmed, if what this node has asked for makes the same one: the
    /// peer, in that life, already has it. [UDP-46]
    fn same_birth(&self, place: u32, life: u16, hello: &Hello) -> Option<u32> {
        let newborn = self.peers.at(place).newborn.and_then(|place| self.associations.at(place));
        let is_same =
            |it: &&Association| it.life == life && it.hello.incarnation == hello.incarnation;
        let same = newborn.filter(is_same).map(|association| association.id.place);
        crate::planted!("born-twice": same => None)
    }

    /// A cookie is asked for. It is used at once, but once for each time that the peer is asked: who gives cookies without
    /// end is asked no more often for them than one which is silent, and given up as that is. What was asked stays, and is
    /// sent with it: anybody who has read that can make a cookie, which must not undo an answer that is under way. [UDP-21]
    ///
    /// Of those that come later one is kept for the next time, each as likely: whoever makes the first one and the last one
    /// still does not make the one that is used. [UDP-29]
    pub(super) fn on_cookie(&mut self, now: Time, packet: &[u8]) -> Result<(), Reject> {
        let index = wire::short_index(packet, wire::COOKIE_BYTES)?;
        let place = match self.indices.owner(index) {
            Some(Owner::Attempt(place)) => place,
            Some(Owner::Sought) => return self.on_contact_cookie(now, index, packet),
            Some(Owner::Association(_) | Owner::Met(_)) => return Err(Reject::Unasked),
            None => return Err(Reject::Index),
        };
        let peer = self.peers.at_mut(place);
        let attempt = peer.attempt.as_mut().ok_or(Reject::Unasked)?;
        let cookie = peer.codes.open_reply(&attempt.asked.first_code, packet)?;
        if attempt.tried == Some(cookie) {
            return Ok(());
        }
        let asked = std::mem::replace(&mut attempt.is_for_cookie, true);
        if crate::planted!("cookies-without-end": asked => false) {
            attempt.cookies += 1;
            let drawn = draw(self.entropy.as_mut()).map_or(1, u64::from_le_bytes);
            if crate::planted!("last-cookie-wins": drawn % attempt.cookies == 0 => true) {
                peer.cookie = Some((cookie, now));
            }
            return Ok(());
        }
        peer.cookie = Some((cookie, now));
        attempt.tried = Some(cookie);
        stamp_second(&cookie, &mut attempt.packet);
        (attempt.sent, attempt.retry_at) = (now, now + attempt.retry_in);
        let (to, packet) = (attempt.to, attempt.packet.clone());
        self.send_from(self.source_to(place, to), to, packet);
        Ok(())
    }

    /// A peer says that it has forgotten us. [UDP-61]
    pub(super) fn on_reset(&mut self, now: Time, packet: &[u8]) -> Result<(), Reject> {
        let index = wire::short_index(packet, wire::RESET_BYTES)?;
        let token = &packet[packet.len() - 16..];
        let mut known = false;
        let place = self.associations.named(index).find_map(|association| {
            known = true;
            let epoch = association.current.as_ref()?;
            epoch.is_reset_by(token).then_some(association.id.place)
        });
        let Some(place) = place else {
            return Err(if known { Reject::Forged } else { Reject::Index });
        };
        self.end(place, now, Ended::Reset);
        Ok(())
    }
}
