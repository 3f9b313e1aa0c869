//! Handshakes that others begin: checked, answered, crossed, confirmed.

use super::association::Association;
use super::epoch::Made;
use super::event::{Ended, Event};
use super::indices::Owner;
use super::peers::GaveWay;
use super::{AssociationId, Endpoint, RUN};
use crate::link::Time;
use crate::secure::audit::What;
use crate::secure::guard::{CODES_BYTES, Codes, Second};
use crate::secure::handshake::{Question, Role, Secrets, init_bytes};
use crate::secure::hello::Hello;
use crate::secure::reject::Reject;
use crate::secure::wire::{HandshakeHeader, Kind, Suite};
use std::net::SocketAddr;
use std::time::Duration;

/// After which time a handshake that another one crosses is sent once more to where it went; at once to elsewhere.
const CROSSED_PAUSE: Duration = Duration::from_millis(100);

/// What an answer names that no association is for.
const NO_INDEX: u32 = 0;

impl Endpoint {
    pub(super) fn on_init(
        &mut self,
        now: Time,
        from: SocketAddr,
        packet: &[u8],
    ) -> Result<(), Reject> {
        let (header, _) = HandshakeHeader::decode(Kind::Init, packet)?;
        self.check_suite(header.suite)?;
        if packet.len() != init_bytes(header.suite) {
            return Err(Reject::Length);
        }
        self.check_init(now, from, &header, packet)?;
        let body = &packet[..packet.len() - CODES_BYTES];
        if header.suite == Suite::FirstContact {
            return self.on_contact(now, from, body);
        }
        let question = Question::read(&self.local, body, self.entropy.as_mut())?;
        let place = self.peers.place(&question.remote).ok_or(Reject::Peer)?;
        let peer = self.peers.at(place);
        if !peer.allowed {
            return Err(Reject::Peer);
        }
        // [UDP-24]
        if question.hello.time <= peer.newest {
            self.tell_newest(place, from, question);
            return Err(Reject::Stale);
        }
        self.check_crossing(place, now, from, &question)?;
        self.answer(place, now, from, question)
    }

    /// Tells a node whose clock was set back after which time its next handshake has to be. The answer opens for who made
    /// the question alone, not for who repeats it, and its keys are dropped. One to a question that was taken could be
    /// taken for the other answer to it. [UDP-27]
    fn tell_newest(&mut self, place: u32, from: SocketAddr, question: Question) {
        let newest = self.peers.at(place).newest;
        if question.hello.time == newest || crate::planted!("set-back-untold": false => true) {
            return;
        }
        if !self.has_room_to_spare() {
            return;
        }
        let ours = self.hello(newest, NO_INDEX, from, self.peers.at(place).lives);
        let answered = question.answer(&self.local, NO_INDEX, &ours, self.entropy.as_mut());
        if let Ok((_, packet)) = answered {
            self.send(from, packet);
        }
    }

    fn check_suite(&self, suite: Suite) -> Result<(), Reject> {
        let allowed = match suite {
            Suite::Classic => !self.config.require_hybrid,
            Suite::Hybrid => cfg!(feature = "pq"),
            Suite::FirstContact => self.cluster_codes.is_some(),
        };
        if allowed { Ok(()) } else { Err(Reject::Suite) }
    }

    /// What a first message must pass before anything is computed or kept for it.
    fn check_init(
        &mut self,
        now: Time,
        from: SocketAddr,
        header: &HandshakeHeader,
        packet: &[u8],
    ) -> Result<(), Reject> {
        let codes = match (header.suite, &self.cluster_codes) {
            (Suite::FirstContact, Some(codes)) => codes,
            _ => &self.codes,
        };
        codes.check(packet)?;
        self.jar.turn(now, self.entropy.as_mut()).map_err(|_| Reject::Handshake)?;
        let second = self.jar.second(from, self.good_cookie(from), packet);
        let loaded = self.is_loaded(now) && crate::planted!("cookie-forgotten": true => false);
        // [UDP-74] Who answers there may have the rest of the places.
        let crowded = header.suite == Suite::FirstContact
            && self.contacts.is_half_full(self.config.contacts_max);
        // [UDP-21] [UDP-22] Who has not proved its address may be anybody who writes it on a datagram. What
        // such do is counted apart, so that they can use up no more than the right to do without a cookie.
        let passes = match second {
            Second::Valid => true,
            Second::Absent => !loaded && !crowded && self.may_ask(now, from, second),
            Second::Wrong => false,
        };
        if !passes {
            self.give_cookie(from, header, packet);
            return Err(if second == Second::Wrong { Reject::Mac2 } else { Reject::Cookie });
        }
        let within = second == Second::Absent || self.may_ask(now, from, second);
        if within { Ok(()) } else { Err(Reject::Rate) }
    }

    /// Whether one more first message from there is within its rate. One from where the peer of an association is counts
    /// for that peer alone, in whichever of its lives: many behind one address would use up each other's renewals, and so
    /// would a stranger there. It may do less than one address may, as there may be as many peers behind one as there
    /// are associations. Who writes that address on datagrams leaves it what it may do with a cookie. [UDP-28]
    fn may_ask(&mut self, now: Time, from: SocketAddr, second: Second) -> bool {
        let (at, proved) = (now.as_nanos(), second == Second::Valid);
        if let Some(association) = self.associations.settled_at(from) {
            let peer = self.peers.at_mut(association.peer);
            let bucket = if proved { &mut peer.proved } else { &mut peer.unproved };
            let taken = bucket.take(&self.config.renewal_rate, at, 1);
            let uses_up = crate::planted!("cookie-good-twice": taken && proved => false);
            peer.good_cookie += u64::from(uses_up);
            return taken;
        }
        let sources = if proved { &mut self.proved } else { &mut self.unproved };
        sources.take(from.ip(), at)
    }

    /// Which of a source's cookies is good: elsewhere than where the peer of an association is, each. [UDP-28]
    fn good_cookie(&self, from: SocketAddr) -> u64 {
        let association = self.associations.settled_at(from);
        association.map_or(0, |association| self.peers.at(association.peer).good_cookie)
    }

    /// Whether cookies are asked for; a first message more is counted.
    fn is_loaded(&mut self, now: Time) -> bool {
        let was = self.loaded_until.is_some_and(|until| now < until);
        if !self.load.take(&self.config.load_rate, now.as_nanos(), 1) {
            self.loaded_until = Some(now + self.config.load_hold);
            if !was {
                self.audit.record(now, None, What::Load { asking: true });
            }
            return true;
        }
        if !was && self.loaded_until.take().is_some() {
            self.audit.record(now, None, What::Load { asking: false });
        }
        was
    }

    fn give_cookie(&mut self, from: SocketAddr, header: &HandshakeHeader, packet: &[u8]) {
        if !self.has_room_to_spare() {
            return;
        }
        let codes = match (header.suite, &self.cluster_codes) {
            (Suite::FirstContact, Some(codes)) => codes,
            _ => &self.codes,
        };
        let cookie = self.jar.cookie(from, self.good_cookie(from));
        if let Ok(reply) = codes.reply(&cookie, packet, header.sender, self.entropy.as_mut()) {
            self.send(from, reply);
        }
    }

    /// Of two handshakes that cross, that of the smaller key goes on. [UDP-25]
    fn check_crossing(
        &mut self,
        place: u32,
        now: Time,
        from: SocketAddr,
        question: &Question,
    ) -> Result<(), Reject> {
        let ours = self.public();
        let peer = self.peers.at_mut(place);
        let Some(attempt) = &mut peer.attempt else { return Ok(()) };
        if peer.key < ours {
            return Ok(());
        }
        let is_new = question.hello.time > peer.crossed;
        let is_new = crate::planted!("crossed-repeated": is_new => true);
        let is_long = init_bytes(self.config.suite()) <= init_bytes(question.header().suite);
        // The peer is there, and what we sent it may have been lost: there it is sent the same once more, no longer
        // than what came. An answer that is under way still fits, and whoever has answered it drops it. The attempt
        // goes on where it was: anybody may repeat what the peer has asked, from an address that is none of its.
        let is_due = now.since(attempt.sent) >= CROSSED_PAUSE || from != attempt.to;
        let repeats = is_new && is_long && is_due;
        if repeats && !std::mem::replace(&mut attempt.is_repeated, true) {
            let packet = attempt.packet.clone();
            self.send(from, packet);
        }
        let peer = self.peers.at_mut(place);
        peer.crossed = peer.crossed.max(question.hello.time);
        Err(Reject::Crossed)
    }

    fn answer(
        &mut self,
        place: u32,
        now: Time,
        from: SocketAddr,
        question: Question,
    ) -> Result<(), Reject> {
        let hello = question.hello;
        let renewed = self.same_life(place, &hello);
        let is_full = self.associations.len() >= self.config.associations_max;
        if renewed.is_none() && (is_full || self.met_have_their_part(place)) {
            return Err(Reject::Full);
        }
        let id = match renewed.and_then(|place| self.associations.at_mut(place)) {
            Some(association) => association.id,
            None => self.associations.reserve(),
        };
        let life = if renewed.is_some() { self.life(place) } else { self.peers.at(place).lives };
        let owner = Owner::Association(id.place);
        let index = self.indices.insert(owner, self.entropy.as_mut()).map_err(|_| Reject::Full);
        let header = *question.header();
        let made = index.and_then(|index| {
            let ours = self.hello(hello.time, index, from, life);
            let answered = question.answer(&self.local, index, &ours, self.entropy.as_mut());
            answered.map(|answered| (index, answered)).inspect_err(|_| self.indices.remove(index))
        });
        let (index, (secrets, packet)) = match made {
            Ok(made) => made,
            Err(reject) => {
                if renewed.is_none() {
                    self.associations.release(id.place);
                }
                return Err(reject);
            }
        };
        let made = Made {
            index,
            peer_index: header.sender,
            peer_token: hello.token,
            role: Role::Responder,
            lanes: self.lanes(&hello),
        };
        self.give_way(place, now, renewed.is_some());
        self.peers.at_mut(place).newest = hello.time;
        self.expect(place, now, from, (id, renewed.is_some(), life), &hello, &made, &secrets);
        self.send(from, packet);
        Ok(())
    }

    /// Gives up what was asked of a peer for what that has asked. Where that renews nothing, somebody may repeat
    /// what the peer has asked long ago, so that nothing comes of it: it is asked anew if so. [UDP-25] So it is where it
    /// renews keys that this node was about to renew. [UDP-48]
    fn give_way(&mut self, place: u32, now: Time, renews: bool) {
        let peer = self.peers.at_mut(place);
        let asked = peer.attempt.as_ref().map(|it| (it.to, it.began, it.retry_in, now));
        let before = peer.gave_way.take().map(|it| (it.to, it.began, it.retry_in, it.since));
        let Some((to, began, retry_in, since)) = asked.or(before).filter(|_| !renews) else {
            let was_asking = peer.attempt.is_some();
            let live = peer.live.and_then(|live| self.associations.at_mut(live));
            if let Some(association) = live.filter(|_| was_asking) {
                association.rekey_at = Some(now);
            }
            self.give_up(place);
            return;
        };
        // A later one that the peer asks for has as long to be confirmed, but who repeats what it has asked long ago does
        // not put it off for ever.
        let latest = (since + 2 * retry_in).min(began + self.config.give_up_after);
        let again_at = (now + retry_in).min(latest);
        peer.gave_way = Some(GaveWay { to, began, since, again_at, retry_in });
        self.drop_attempt(place);
        self.arm(again_at);
    }

    /// Whether a peer was met by the cluster key alone, and such peers have all the associations that they may: whoever has
    /// that key has as many keys of nodes as it likes. Those that the owner allows have the rest. [UDP-75]
    pub(super) fn met_have_their_part(&self, place: u32) -> bool {
        let is_met = |place| self.peers.at(place).is_met;
        let part = self.config.met_associations_max();
        // They are counted only where there are enough of all.
        is_met(place)
            && self.associations.len() >= part
            && self.associations.iter().filter(|it| is_met(it.peer)).count() >= part
    }

    /// The association with a peer, if it is with the life that the peer now says it has. [UDP-42]
    pub(super) fn same_life(&self, place: u32, hello: &Hello) -> Option<u32> {
        self.peers.at(place).live.filter(|&live| {
            self.associations.at(live).is_some_and(|it| {
                let is_same = it.hello.incarnation == hello.incarnation;
                crate::planted!("lives-not-compared": is_same => true)
            })
        })
    }

    /// Keeps the keys of an answered handshake until something comes under them.
    #[expect(clippy::too_many_arguments, reason = "one call, of what a handshake has given")]
    fn expect(
        &mut self,
        place: u32,
        now: Time,
        from: SocketAddr,
        (id, renewed, life): (AssociationId, bool, u16),
        hello: &Hello,
        made: &Made,
        secrets: &Secrets,
    ) {
        let until = now + self.config.confirm_within;
        if !renewed {
            if let Some(old) = self.peers.at(place).newborn {
                self.end(old, now, Ended::Replaced);
            }
            self.peers.at_mut(place).newborn = Some(id.place);
            self.associations.fill(self.unconfirmed(id, place, life, hello, from));
        }
        let Some(association) = self.associations.at_mut(id.place) else { return };
        let current = association.current.as_ref();
        // The other one uses them from now on, and may not be heard for a while.
        let until = current.map_or(until, |current| current.since + self.config.reject_after);
        let epoch = association.make(made, secrets, now);
        if let Some((unused, _)) = association.next.replace((epoch, until)) {
            self.indices.remove(unused.index);
        }
        if association.rekey_at.is_some_and(|at| at <= now) {
            association.want_keys(&self.config, now);
        }
        self.arm(until);
    }

    pub(super) fn unconfirmed(
        &self,
        id: AssociationId,
        peer: u32,
        life: u16,
        hello: &Hello,
        at: SocketAddr,
    ) -> Association {
        Association {
            id,
            peer,
            life,
            hello: *hello,
            address: at,
            source: self.arrived_at(at),
            current: None,
            previous: None,
            next: None,
            candidate: None,
            rekey_at: None,
            confirm: None,
            made: 0,
            linger: self.config.linger,
            alarmed: false,
        }
    }

    pub(super) fn lanes(&self, hello: &Hello) -> u8 {
        u8::try_from(hello.lanes).unwrap_or(u8::MAX).min(self.config.lanes).min(254)
    }

    /// A packet has come under keys that were answered: both sides have them. [UDP-41] If this side has later ones by now,
    /// it goes on with those, as the other will when it hears of them. [UDP-46]
    pub(super) fn confirm(&mut self, place: u32, now: Time, from: SocketAddr) {
        let Some(association) = self.associations.at_mut(place) else { return };
        let Some((epoch, until)) = association.next.take() else { return };
        let current = association.current.as_ref();
        let is_former = current.is_some_and(|current| epoch.order < current.order);
        if crate::planted!("former-keys-return": is_former => false) {
            // Not for longer than they were good for: they may linger already. [UDP-44]
            let anew = epoch.since + self.config.reject_after;
            let until = crate::planted!("late-keys-linger-anew": until => anew);
            if let Some(unused) = association.set_aside((epoch, until), now) {
                self.indices.remove(unused);
            }
            return;
        }
        let lanes = epoch.lanes();
        let expiry = epoch.since + self.config.reject_after;
        let (id, peer, hello) = (association.id, association.peer, association.hello);
        let renewed = association.current.is_some();
        // The one that asked last renews the keys; it is the other side. What was put off until now is done.
        let put_off = association.rekey_at.filter(|at| *at <= now);
        association.rekey_at = put_off;
        if let Some(unused) = self.associations.renew(place, &self.config, epoch, now) {
            self.indices.remove(unused);
        }
        self.arm(put_off.unwrap_or(expiry.min(now + self.config.linger)));
        let key = self.peers.at(peer).key;
        if renewed {
            self.audit.record(now, Some(from), What::Rekeyed { peer: key });
            self.tell(Event::Rekeyed { association: id });
        } else {
            self.bring_up(id, peer, now, &hello, lanes);
        }
    }

    /// Puts an association in the place of the peer's former one, and says so. It is where the peer was asked or answered,
    /// wherever what it has said seems to have come from. [UDP-53]
    pub(super) fn bring_up(
        &mut self,
        id: AssociationId,
        place: u32,
        now: Time,
        hello: &Hello,
        lanes: u8,
    ) {
        // [UDP-42] The end of the old comes before the new.
        if let Some(old) = self.peers.at(place).live {
            self.end(old, now, Ended::Replaced);
        }
        let Some(address) = self.associations.at(id.place).map(|it| it.address) else { return };
        self.associations.settle(id.place, None);
        let peer = self.peers.at_mut(place);
        (peer.live, peer.gave_way) = (Some(id.place), None);
        peer.places.clear();
        peer.newborn.take_if(|newborn| *newborn == id.place);
        let other = peer.on_run(hello.incarnation & RUN, address);
        let peer = peer.key;
        self.audit.record(now, Some(address), What::Associated { peer });
        if let Some(other) = other {
            self.audit.share(now, [address, other], peer);
        }
        self.tell(Event::Up { association: id, peer, hello: *hello, lanes, address });
    }

    /// The codes of first contacts.
    pub(super) fn contact_codes(&self) -> Result<&Codes, Reject> {
        self.cluster_codes.as_ref().ok_or(Reject::Suite)
    }
}
