//! The nodes that may be talked to, and what is under way with each.

use super::config::Config;
use crate::link::Time;
use crate::secure::guard::{Codes, Cookie};
use crate::secure::handshake::Asked;
use crate::secure::hello::Tai64n;
use crate::secure::key::PublicKey;
use crate::secure::limit::Bucket;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

/// A handshake of ours that waits for its answer.
pub(super) struct Attempt {
    pub(super) asked: Asked,
    /// What was sent.
    pub(super) packet: Vec<u8>,
    pub(super) index: u32,
    pub(super) to: SocketAddr,
    /// For which address of the peer the token is that it was told.
    pub(super) token_for: SocketAddr,
    pub(super) began: Time,
    pub(super) sent: Time,
    pub(super) time: Tai64n,
    /// The life that the peer was told.
    pub(super) life: u16,
    pub(super) retry_at: Time,
    pub(super) retry_in: Duration,
    /// Whether it was sent at once because a cookie had come.
    pub(super) is_for_cookie: bool,
    /// The cookie that it was sent with last.
    pub(super) tried: Option<Cookie>,
    /// How many other cookies have come.
    pub(super) cookies: u64,
    /// Whether it was sent once more because another one crossed it.
    pub(super) is_repeated: bool,
}

/// A handshake of ours that another one crossed, and when it begins anew unless that one is confirmed.
pub(super) struct GaveWay {
    pub(super) to: SocketAddr,
    pub(super) began: Time,
    /// When it was crossed.
    pub(super) since: Time,
    pub(super) again_at: Time,
    pub(super) retry_in: Duration,
}

/// A run of a peer's program.
#[derive(Clone, Copy)]
pub(super) struct Run {
    number: u64,
    /// Where it was when it came last.
    address: SocketAddr,
}

pub(super) struct Peer {
    pub(super) key: PublicKey,
    pub(super) codes: Codes,
    pub(super) allowed: bool,
    /// Whether the owner has forbidden it, which only the owner takes back.
    pub(super) forbidden: bool,
    /// Whether it is here because it was met by the cluster key alone.
    pub(super) is_met: bool,
    /// When it was met last, or an association with it ended.
    pub(super) idle_since: Time,
    /// How many associations with it have ended. [UDP-45]
    pub(super) lives: u16,
    /// The time of its last handshake.
    pub(super) newest: Tai64n,
    /// The time of its last one that crossed one of ours and was dropped.
    pub(super) crossed: Tai64n,
    /// The latest time that it has heard of this node.
    pub(super) told: Tai64n,
    pub(super) attempt: Option<Attempt>,
    /// Where it may be, while it is sought.
    pub(super) places: Vec<SocketAddr>,
    /// What it is asked with next, and since when that is known. [UDP-29]
    pub(super) cookie: Option<(Cookie, Time)>,
    /// The place of its association.
    pub(super) live: Option<u32>,
    /// The place of one that it asked for and has not confirmed.
    pub(super) newborn: Option<u32>,
    /// The attempt of ours that was given up for that.
    pub(super) gave_way: Option<GaveWay>,
    /// What first messages from where it is may ask for, without a cookie and with one. Here, so that another life of it
    /// finds them as the one before has left them.
    pub(super) unproved: Bucket,
    pub(super) proved: Bucket,
    /// Which cookie is good where it is: one more than were used up there. None is zero, which is what is good elsewhere.
    pub(super) good_cookie: u64,
    /// Its run that came last, and the one before that.
    runs: [Option<Run>; 2],
}

impl Peer {
    fn new(key: PublicKey) -> Self {
        Self {
            key,
            codes: Codes::of(&key),
            allowed: false,
            forbidden: false,
            is_met: false,
            idle_since: Time::default(),
            lives: 0,
            newest: Tai64n::default(),
            crossed: Tai64n::default(),
            told: Tai64n::default(),
            attempt: None,
            places: Vec::new(),
            cookie: None,
            live: None,
            newborn: None,
            gave_way: None,
            unproved: Bucket::default(),
            proved: Bucket::default(),
            good_cookie: 1,
            runs: [None; 2],
        }
    }

    /// Whether it was met, and nothing is under way with it. None that the owner allows or forbids is such.
    fn may_be_forgotten(&self) -> bool {
        let is_asked = self.attempt.is_some() || self.gave_way.is_some();
        let is_associated = self.live.is_some() || self.newborn.is_some();
        self.is_met && !is_asked && !is_associated
    }

    /// A run of it has come. If it was there before the last one, both are there at a time, as a program that has ended
    /// never comes again: returns where the other one was. [UDP-64]
    pub(super) fn on_run(&mut self, number: u64, address: SocketAddr) -> Option<SocketAddr> {
        let is = |run: &Option<Run>| run.is_some_and(|run| run.number == number);
        let [last, before] = self.runs;
        if is(&last) {
            self.runs[0] = Some(Run { number, address });
            return None;
        }
        self.runs = [Some(Run { number, address }), last];
        let is_back = crate::planted!("shared-key-unseen": is(&before) => false);
        last.filter(|_| is_back).map(|other| other.address)
    }

    /// Where to ask after silence there: at the next place, behind the last at the first. [UDP-73]
    pub(super) fn place_after(&self, silent: SocketAddr) -> SocketAddr {
        let asked = self.places.iter().position(|place| *place == silent);
        let next = asked.and_then(|asked| self.places.iter().cycle().nth(asked + 1));
        crate::planted!("first-address-alone": next.copied().unwrap_or(silent) => silent)
    }
}

/// All peers, by place and by key.
#[derive(Default)]
pub(super) struct Peers {
    all: Vec<Peer>,
    by_key: BTreeMap<PublicKey, u32>,
    /// How many were met by the cluster key alone.
    met: usize,
    /// No fewer than the lives of this node that any peer knows who was forgotten: by its own clock it may not have let go.
    lives_forgotten: u16,
}

impl Peers {
    /// The place of the peer with that key, allowed or not.
    pub(super) fn place(&self, key: &PublicKey) -> Option<u32> {
        self.by_key.get(key).copied()
    }

    /// Allows the owner's peer unless it is forbidden, and returns its place.
    pub(super) fn allow(&mut self, key: PublicKey) -> u32 {
        let place = self.place(&key).unwrap_or_else(|| self.add(key));
        let peer = self.at_mut(place);
        peer.allowed = !peer.forbidden;
        let was_met = std::mem::replace(&mut peer.is_met, false);
        self.met -= usize::from(was_met);
        place
    }

    /// Allows a peer that was met unless it is forbidden, and returns its place; none if there is room for no more. [UDP-75]
    pub(super) fn meet(&mut self, now: Time, key: PublicKey, config: &Config) -> Option<u32> {
        let place = match self.place(&key) {
            Some(place) => place,
            None if self.met < config.met_max => {
                let place = self.add(key);
                self.at_mut(place).is_met = true;
                self.met += 1;
                place
            }
            None => self.put_in_place_of_idle(now, key, config)?,
        };
        let peer = self.at_mut(place);
        peer.allowed = !peer.forbidden;
        peer.idle_since = now;
        Some(place)
    }

    /// Puts a peer that was met in the place of the one with which nothing was under way for longest. It has let go by then
    /// of what there was, by the clock of this node; lives are counted on from those of all who were forgotten, since it may
    /// still know one of them. [UDP-45]
    fn put_in_place_of_idle(&mut self, now: Time, key: PublicKey, config: &Config) -> Option<u32> {
        let places = self.places().filter(|place| self.at(*place).may_be_forgotten());
        let place = places.min_by_key(|place| self.at(*place).idle_since)?;
        let (former, idle_since) = (self.at(place).key, self.at(place).idle_since);
        let is_over = now.since(idle_since) >= config.reject_after;
        if !crate::planted!("met-for-ever": is_over => false) {
            return None;
        }
        self.by_key.remove(&former);
        self.by_key.insert(key, place);
        self.lives_forgotten = self.lives_forgotten.max(self.at(place).lives);
        *self.at_mut(place) = Peer { is_met: true, ..self.new_peer(key) };
        Some(place)
    }

    fn add(&mut self, key: PublicKey) -> u32 {
        let place = u32::try_from(self.all.len()).unwrap_or(u32::MAX);
        self.by_key.insert(key, place);
        self.all.push(self.new_peer(key));
        place
    }

    fn new_peer(&self, key: PublicKey) -> Peer {
        Peer { lives: self.lives_forgotten, ..Peer::new(key) }
    }

    pub(super) fn at(&self, place: u32) -> &Peer {
        &self.all[place as usize]
    }

    pub(super) fn at_mut(&mut self, place: u32) -> &mut Peer {
        &mut self.all[place as usize]
    }

    pub(super) fn places(&self) -> std::ops::Range<u32> {
        0..u32::try_from(self.all.len()).unwrap_or(u32::MAX)
    }
}
