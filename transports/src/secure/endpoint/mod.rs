//! The secure side of a node, without I/O: handshakes, associations, keys, paths. Datagrams and the time
//! come in; datagrams, events and the next deadline are asked for.
//!
//! ```text
//! datagram → handle → kind → (index → association → keys → lane → window → open) → Received::Text
//!                         ↘ init, resp, cookie, finish, reset → queue of datagrams, queue of events
//! ```
//!
//! 1. A datagram that is rejected moves one counter, and no state but a count of forgeries.
//! 2. Nothing is kept for a first message before its first code fits; under load, before its second does.
//! 3. The one that answered a handshake seals nothing under its keys before a packet under them has come.
//!    So a replayed first message costs one answer, and no live association.
//! 4. To an address that has proved nothing goes at most what came from it; at a change of address at
//!    most three times that.
//! 5. Of two handshakes that cross, that of the smaller public key goes on.
//!
//! What happens per data packet allocates nothing: it is opened and sealed where it lies. Handshakes and
//! control messages, a handful in two minutes, do allocate.

mod answering;
mod asking;
mod association;
mod associations;
mod config;
mod contacts;
mod epoch;
mod event;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzz;
#[cfg(any(test, fuzzing))]
pub(crate) mod harness;
mod indices;
mod path;
mod peers;
#[cfg(test)]
mod tests;
mod timers;

pub use asking::ConnectError;
pub use association::{AssociationId, SealFailed};
pub use config::{Config, StartError};
pub use epoch::CONTROL_LANE;
pub use event::{Ended, Event};
pub use path::Arrival;

use super::audit::{Audit, SendFailure, What};
use super::entropy::{Entropy, NoEntropy, draw};
use super::guard::{Codes, Jar};
use super::handshake::Local;
use super::hello::{Hello, Tai64n};
use super::identity::Identity;
use super::key::{KEY_BYTES, Key, PublicKey};
use super::limit::{Bucket, Prefixes};
use super::reject::Reject;
use super::wire::{self, DataHeader, Kind};
use crate::link::Time;
use association::Under;
use associations::Associations;
use contacts::Contacts;
use indices::{Indices, Owner};
use peers::Peers;
use std::collections::VecDeque;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::ops::Range;
use std::time::Duration;

/// The bits of an incarnation that name the run of a node's program. The others count its lives in one peer's
/// eyes, of which another begins with each association that ends. [UDP-45]
pub const RUN: u64 = !0xFFFF;

/// What became of a datagram.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Received {
    /// It was a sealed text, now open.
    Text {
        /// Of which association.
        association: AssociationId,
        /// Of which lane.
        lane: u8,
        /// Its number in that lane.
        number: u64,
        /// Where in the datagram the text stands.
        text: Range<usize>,
    },
    /// It concerned this layer, which is done with it.
    Done,
    /// It was dropped and counted.
    Dropped(Reject),
}

/// A datagram to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// Where to.
    pub to: SocketAddr,
    /// From which address of this machine, if that is not for the kernel to choose.
    pub source: Option<IpAddr>,
    /// What.
    pub packet: Vec<u8>,
}

/// Handshakes, associations and keys of one node. It has no socket and no clock.
pub struct Endpoint {
    config: Config,
    local: Local,
    codes: Codes,
    /// Codes of first contacts, if there is a cluster key.
    cluster_codes: Option<Codes>,
    incarnation: u64,
    /// The time since 1970 at the carrier's start.
    epoch_start: Duration,
    entropy: Box<dyn Entropy>,
    jar: Jar,
    load: Bucket,
    loaded_until: Option<Time>,
    /// What sources ask for: without a cookie, with one, and by data packets that nobody knows. Apart, so
    /// that one who writes another's address on datagrams cannot use up what that one may do.
    unproved: Prefixes,
    proved: Prefixes,
    resets: Prefixes,
    peers: Peers,
    associations: Associations,
    indices: Indices,
    contacts: Contacts,
    audit: Audit,
    /// The datagram that is being handled.
    arrival: Option<Arrival>,
    transmits: VecDeque<Transmit>,
    events: VecDeque<Event>,
    deadline: Option<Time>,
}

impl Endpoint {
    /// An endpoint that begins its life now.
    ///
    /// `cluster` is the key that all nodes of a cluster may share; with it come first contacts, and no
    /// handshake without it succeeds. `since_epoch` is the time since 1970 at the carrier's start: a
    /// handshake is refused unless it is later than the last of its node. A node that knows a later one says so to
    /// this one, which costs a message more.
    ///
    /// # Errors
    ///
    /// [`StartError`].
    pub fn new(
        config: Config,
        identity: Identity,
        cluster: Option<Key>,
        since_epoch: Duration,
        mut entropy: Box<dyn Entropy>,
    ) -> Result<Self, StartError> {
        config.check()?;
        let random = entropy.as_mut();
        let seed = u64::from_le_bytes(draw(random)?);
        let sources = || Prefixes::new(config.source_rate, config.source_sets, seed);
        Ok(Self {
            codes: Codes::of(&identity.public()),
            cluster_codes: cluster.as_ref().map(Codes::of_cluster),
            local: Local { identity, cluster: cluster.unwrap_or(Key::new([0; KEY_BYTES])) },
            incarnation: u64::from_le_bytes(draw(random)?) & RUN,
            epoch_start: since_epoch,
            jar: Jar::new(Time::default(), random)?,
            entropy,
            load: Bucket::default(),
            loaded_until: None,
            unproved: sources(),
            proved: sources(),
            resets: sources(),
            peers: Peers::default(),
            associations: Associations::default(),
            indices: Indices::default(),
            contacts: Contacts::default(),
            audit: Audit::new(config.audit_entries),
            arrival: None,
            transmits: VecDeque::new(),
            events: VecDeque::new(),
            deadline: None,
            config,
        })
    }

    /// The public key of this node.
    #[must_use]
    pub fn public(&self) -> PublicKey {
        self.local.identity.public()
    }

    /// Which run of the node's program this is: bits of [`RUN`], drawn at its start.
    #[must_use]
    pub fn incarnation(&self) -> u64 {
        self.incarnation
    }

    /// A number that nobody can guess; none if there is no randomness.
    pub(crate) fn seed(&mut self) -> Result<u64, NoEntropy> {
        draw(self.entropy.as_mut()).map(u64::from_le_bytes)
    }

    /// What happened that bears on security.
    #[must_use]
    pub fn audit(&self) -> &Audit {
        &self.audit
    }

    /// Allows handshakes with a node, also if it was forbidden.
    pub fn allow(&mut self, peer: PublicKey) {
        let place = self.peers.allow(peer);
        let peer = self.peers.at_mut(place);
        (peer.allowed, peer.forbidden) = (true, false);
    }

    /// Whether a node was forbidden, and not allowed since.
    #[must_use]
    pub fn is_forbidden(&self, peer: &PublicKey) -> bool {
        self.peers.place(peer).is_some_and(|place| self.peers.at(place).forbidden)
    }

    /// Ends what there is with a node, and allows nothing more.
    pub fn forbid(&mut self, now: Time, peer: &PublicKey) {
        let place = self.peers.allow(*peer);
        let forbidden = self.peers.at_mut(place);
        (forbidden.allowed, forbidden.forbidden) = (false, true);
        self.give_up(place);
        let peer = self.peers.at(place);
        for association in [peer.live, peer.newborn].into_iter().flatten() {
            self.end(association, now, Ended::Forbidden);
        }
    }

    /// Ends an association, without a word to the peer.
    pub fn close(&mut self, now: Time, association: AssociationId) {
        if self.associations.get(association).is_some() {
            self.end(association.place, now, Ended::Closed);
        }
    }

    /// How long keys are kept after they were replaced: at least [`Config::linger`], and longer where the
    /// path asks for it (three times its probe timeout).
    pub fn set_linger(&mut self, association: AssociationId, linger: Duration) {
        let least = self.config.linger;
        if let Some(association) = self.associations.get_mut(association) {
            association.linger = linger.max(least);
        }
    }

    /// Where the peer of an association is, as far as it has proved.
    pub(crate) fn address(&self, association: AssociationId) -> Option<SocketAddr> {
        self.associations.get(association).map(|found| found.address)
    }

    /// Takes a datagram, and opens it in place if it is a sealed text. It never fails: what is wrong with
    /// a datagram is counted, and said in the answer. What it calls forth leaves from the address that it came to.
    pub fn handle(
        &mut self,
        now: Time,
        arrival: impl Into<Arrival>,
        datagram: &mut [u8],
    ) -> Received {
        let arrival = arrival.into();
        self.arrival = Some(arrival);
        let received = self.on_datagram(now, arrival.from, datagram);
        self.arrival = None;
        received
    }

    fn on_datagram(&mut self, now: Time, from: SocketAddr, datagram: &mut [u8]) -> Received {
        let handled = match Kind::of(datagram) {
            Ok(Kind::Data) => self.on_data(now, from, datagram),
            Ok(kind) => self.on_handshake(kind, now, from, datagram).map(|()| Received::Done),
            Err(reject) => Err(reject),
        };
        handled.unwrap_or_else(|reject| {
            self.audit.reject(now, from, reject);
            Received::Dropped(reject)
        })
    }

    /// Counts what came from there, and its owner has dropped.
    pub(crate) fn reject(&mut self, now: Time, from: SocketAddr, reason: Reject) {
        self.audit.reject(now, from, reason);
    }

    /// Counts what was to go there, and the kernel did not take.
    pub(crate) fn fail_to_send(&mut self, now: Time, to: SocketAddr, why: SendFailure) {
        self.audit.fail_to_send(now, to, why);
    }

    /// Seals the packet whose text stands in `packet[16..len - 16]`, in place, and says where it goes.
    /// `number` is the packet's number in its lane, which must grow.
    ///
    /// # Errors
    ///
    /// [`SealFailed`]; the packet is then as it was.
    pub fn seal(
        &mut self,
        now: Time,
        association: AssociationId,
        lane: u8,
        number: u64,
        packet: &mut [u8],
    ) -> Result<SocketAddr, SealFailed> {
        self.seal_as(now, association, lane, Some(number), packet)
    }

    /// As [`seal`](Self::seal), for owners that do not number packets: under the lane's next number.
    ///
    /// # Errors
    ///
    /// As [`seal`](Self::seal).
    pub fn seal_next(
        &mut self,
        now: Time,
        association: AssociationId,
        lane: u8,
        packet: &mut [u8],
    ) -> Result<SocketAddr, SealFailed> {
        self.seal_as(now, association, lane, None, packet)
    }

    fn seal_as(
        &mut self,
        now: Time,
        association: AssociationId,
        lane: u8,
        number: Option<u64>,
        packet: &mut [u8],
    ) -> Result<SocketAddr, SealFailed> {
        let found = self.associations.get_mut(association).ok_or(SealFailed::Gone)?;
        if lane == CONTROL_LANE {
            return Err(SealFailed::Lane);
        }
        let worn = found.seal(&self.config, now, lane, number, packet)?;
        let address = found.address;
        // Timers look at all peers, so they are called once and not for each packet until new keys come.
        if worn && self.peers.at(found.peer).attempt.is_none() {
            found.want_keys(&self.config, now);
            found.renews_at().into_iter().for_each(|at| self.arm(at));
        }
        Ok(address)
    }

    /// The next datagram to be sent, if there is one.
    pub fn poll_transmit(&mut self) -> Option<Transmit> {
        self.transmits.pop_front()
    }

    /// The next event, if there is one.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// When [`handle_timeout`](Self::handle_timeout) is to be called.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Time> {
        self.deadline
    }

    fn on_data(
        &mut self,
        now: Time,
        from: SocketAddr,
        datagram: &mut [u8],
    ) -> Result<Received, Reject> {
        let header = DataHeader::decode(datagram)?;
        let owner = self.indices.owner(header.index);
        // What is under way may be an association soon, which a token for it would end.
        if owner.is_none() {
            self.say_forgotten(now, from, header.index);
        }
        let Some(Owner::Association(place)) = owner else { return Err(Reject::Index) };
        let association = self.associations.at_mut(place).ok_or(Reject::Index)?;
        let (opened, under) = match association.open(&self.config, now, &header, datagram) {
            Ok(opened) => opened,
            Err(reject) => {
                if reject == Reject::Forged && association.raises_alarm() {
                    let peer = self.peers.at(association.peer).key;
                    self.audit.record(now, Some(from), What::Forgeries { peer });
                }
                return Err(reject);
            }
        };
        match under {
            Under::Next => self.confirm(place, now, from),
            Under::Fresh => {
                let due = association.deadline(&self.config);
                due.into_iter().for_each(|at| self.arm(at));
            }
            Under::Current | Under::Previous => {}
        }
        // Under other keys than the current ones a packet is late, unless the peer has not come to those yet.
        let current = self.associations.at(place).and_then(|it| it.current.as_ref());
        let is_late = current.is_some_and(|epoch| epoch.heard && epoch.index != header.index);
        if opened.newest && !is_late {
            self.on_path(place, now, from, datagram.len());
        }
        if header.lane == CONTROL_LANE {
            let text = datagram.get(opened.text).unwrap_or_default();
            let number = opened.number;
            return self.on_control(place, now, from, number, text).map(|()| Received::Done);
        }
        let association = self.associations.at_mut(place).ok_or(Reject::Index)?.id;
        Ok(Received::Text {
            association,
            lane: header.lane,
            number: opened.number,
            text: opened.text,
        })
    }

    fn on_handshake(
        &mut self,
        kind: Kind,
        now: Time,
        from: SocketAddr,
        datagram: &[u8],
    ) -> Result<(), Reject> {
        match kind {
            Kind::Init => self.on_init(now, from, datagram),
            Kind::Resp => self.on_resp(now, from, datagram),
            Kind::Cookie => self.on_cookie(now, datagram),
            Kind::Reset => self.on_reset(now, datagram),
            Kind::Finish => self.on_finish(now, from, datagram),
            Kind::Data => Err(Reject::Kind),
        }
    }

    /// Tells the sender of a packet for an index that nobody has that it is forgotten, if it asks
    /// seldom enough. The answer is shorter than any packet that calls it forth. [UDP-60]
    fn say_forgotten(&mut self, now: Time, from: SocketAddr, index: u32) {
        if self.resets.take(from.ip(), now.as_nanos()) && self.has_room_to_spare() {
            let mut packet = Vec::with_capacity(wire::RESET_BYTES);
            wire::short_header(Kind::Reset, index, &mut packet);
            packet.extend(self.local.identity.reset_token(index, from).0);
            self.send(from, packet);
        }
    }

    /// The life of this node in its association with a peer, or in the one to come. [UDP-45]
    fn life(&self, place: u32) -> u16 {
        let peer = self.peers.at(place);
        let live = peer.live.and_then(|live| self.associations.at(live));
        live.map_or(peer.lives, |association| association.life)
    }

    /// What this node says of itself to a peer that will know it by `index` at that address.
    fn hello(&self, time: Tai64n, index: u32, to: SocketAddr, life: u16) -> Hello {
        let [a, b, c, d, e, f, g, h, ..] = self.public().0;
        Hello {
            time,
            node: u64::from_le_bytes([a, b, c, d, e, f, g, h]),
            incarnation: self.incarnation | u64::from(life),
            lanes: u16::from(self.config.lanes),
            datagram_bytes_max: self.config.datagram_bytes_max,
            window_bytes: self.config.window_bytes,
            token: self.local.identity.reset_token(index, to),
        }
    }

    /// Ends an association and gives its indices back.
    fn end(&mut self, place: u32, now: Time, why: Ended) {
        let Some(association) = self.associations.remove(place) else { return };
        association.indices().for_each(|index| self.indices.remove(index));
        let peer = self.peers.at_mut(association.peer);
        let was_up = peer.live == Some(place);
        if was_up && why != Ended::Replaced {
            // An answer that is under way would renew the keys of an association that only the peer still has.
            peer.lives = peer.lives.wrapping_add(1);
            self.give_up(association.peer);
        }
        let peer = self.peers.at_mut(association.peer);
        peer.live.take_if(|live| *live == place);
        peer.newborn.take_if(|newborn| *newborn == place);
        peer.idle_since = now;
        if was_up {
            let peer = peer.key;
            self.audit.record(now, Some(association.address), What::Ended { peer });
            self.tell(Event::Down { association: association.id, peer, why });
        }
    }

    fn tell(&mut self, event: Event) {
        self.events.push_back(event);
    }

    /// Sees to it that the timers are looked at by then.
    fn arm(&mut self, at: Time) {
        if self.deadline.is_none_or(|deadline| at < deadline) {
            self.deadline = Some(at);
        }
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Endpoint");
        shown.field("public", &self.public()).field("associations", &self.associations.len());
        shown.finish_non_exhaustive()
    }
}
