//! What a station does with queue pairs: words about them, and the packets of lines that go by them.
//!
//! The packets are those of the line's lane, sealed under keys of their own. The lane alone decides what is missing,
//! double or out of order. So a line that moves to its queue pair, or back to UDP, loses nothing: what was under way
//! is sent again by the other way, and does nothing where it had arrived. [RDMA-45]

mod packets;

pub(super) use packets::is_by_pair;

use super::outgoing::Outgoing;
use super::pairing::{Attempts, Blocked, Pairing, Role, Step, Trust, Want, Why};
use super::word::{Terms, Word};
use super::{LANE, Station};
use crate::link::{Config, Time};
use crate::secure::endpoint::AssociationId;
use crate::secure::hello::Hello;
use crate::secure::key::PublicKey;
use crate::secure::reject::Reject;
use crate::secure::wire::{HEADER_BYTES, OVERHEAD_BYTES};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::task::{Context, Poll, Waker};

/// The lane of an association on which words about its queue pair are sealed.
const WORDS: u8 = LANE + 1;
/// The lane on which packets are sealed that go by the queue pair.
const PACKETS: u8 = WORDS + 1;
/// How many lanes the associations of nodes have that use queue pairs.
pub(crate) const LANES: u8 = PACKETS + 1;

/// How many changes are remembered.
const CHANGES_MAX: usize = 256;

/// Of so many nodes the attempts are remembered after their associations. [RDMA-48]
const REMEMBERED_MAX: usize = 256;

/// By what the packets of a link go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carrier {
    /// By an RDMA queue pair, sealed.
    Rdma,
    /// By an RDMA queue pair, and not sealed: both nodes trust each other and the network between.
    RdmaPlain,
    /// By UDP, and why not by RDMA.
    Udp(Why),
}

/// A change of what carries a link's packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// When.
    pub at: Time,
    /// The other node.
    pub peer: PublicKey,
    /// By what packets go from now on.
    pub to: Carrier,
}

/// What is kept for queue pairs.
#[derive(Debug, Default)]
pub(super) struct Pairs {
    is_on: bool,
    trusted: BTreeSet<PublicKey>,
    wants: VecDeque<(AssociationId, Want)>,
    /// Words to go by UDP: for each association the newest one of each kind. [RDMA-47]
    words: BTreeMap<(AssociationId, u8), Word>,
    /// Lines that are to show the peer that their queue pair carries.
    shows: VecDeque<AssociationId>,
    /// Touched lines whose packets go by a queue pair.
    pub(super) touched: VecDeque<AssociationId>,
    /// Of these, those without room.
    blocked: VecDeque<AssociationId>,
    changes: VecDeque<Change>,
    /// How many there were.
    said: u64,
    /// Who waits for the next one, by numbers of their own.
    watchers: BTreeMap<u64, Waker>,
    watchers_made: u64,
    /// The attempts with nodes whose association is gone.
    attempts: BTreeMap<PublicKey, Attempts>,
}

impl Pairs {
    /// Remembers the attempts with a node, in place of those with the one that had its last one longest ago.
    fn remember(&mut self, peer: PublicKey, attempts: Attempts) {
        if !self.attempts.contains_key(&peer) && self.attempts.len() >= REMEMBERED_MAX {
            let oldest = self.attempts.iter().min_by_key(|(_, attempts)| attempts.began());
            let oldest = oldest.map(|(peer, _)| *peer);
            oldest.map(|peer| self.attempts.remove(&peer));
        }
        self.attempts.insert(peer, attempts);
    }

    fn tell(&mut self, id: AssociationId, word: Word) {
        self.words.insert((id, word.kind()), word);
    }

    /// The queue pair of an association is of no use, and there is nothing to show of it.
    fn end(&mut self, id: AssociationId) {
        self.shows.retain(|it| *it != id);
        self.wants.push_back((id, Want::End));
    }
}

impl Station {
    /// Uses queue pairs from now on, for the associations to come; packets to those that are trusted need not be
    /// sealed. The endpoint has to have [`LANES`](Station::LANES).
    pub fn use_pairs(&mut self, trusted: impl IntoIterator<Item = PublicKey>) {
        self.pairs.is_on = true;
        self.pairs.trusted = trusted.into_iter().collect();
    }

    /// Whether it [uses](Self::use_pairs) queue pairs.
    pub(super) const fn uses_pairs(&self) -> bool {
        self.pairs.is_on
    }

    /// How many lanes an endpoint has whose station uses queue pairs.
    pub const LANES: u8 = LANES;

    /// The changes of what carries links, the oldest first, as far as they are remembered.
    pub fn changes(&self) -> impl Iterator<Item = &Change> {
        self.pairs.changes.iter()
    }

    /// Somebody who looks at changes from now on: a number of its own, and how many there were.
    pub fn watch(&mut self) -> (u64, u64) {
        self.pairs.watchers_made += 1;
        (self.pairs.watchers_made, self.pairs.said)
    }

    /// The change after the first `seen`, or the oldest that is remembered, once there is one; `None` when the node is
    /// closed. Beside it the waker that is replaced: to be dropped outside of the station's lock, as that is anybody's code.
    pub fn poll_change(
        &mut self,
        cx: &mut Context<'_>,
        watcher: u64,
        seen: &mut u64,
    ) -> (Poll<Option<Change>>, Option<Waker>) {
        let Pairs { changes, said, watchers, .. } = &mut self.pairs;
        let forgotten = *said - changes.len() as u64;
        let next = (*seen).max(forgotten);
        let place = usize::try_from(next - forgotten).unwrap_or(usize::MAX);
        if let Some(change) = changes.get(place) {
            *seen = next + 1;
            return (Poll::Ready(Some(*change)), None);
        }
        if self.is_closed {
            return (Poll::Ready(None), None);
        }
        (Poll::Pending, watchers.insert(watcher, cx.waker().clone()))
    }

    /// That watcher does not wait any more; its waker, to be dropped as [there](Station::poll_change).
    pub fn unwatch(&mut self, watcher: u64) -> Option<Waker> {
        self.pairs.watchers.remove(&watcher)
    }

    /// Wakes those who wait for a change.
    pub(super) fn wake_watchers(&mut self) {
        let watchers = std::mem::take(&mut self.pairs.watchers);
        self.wakes.wakers.extend(watchers.into_values());
    }

    /// By what the packets to a node go; none without a link to it.
    #[must_use]
    pub fn carrier(&self, peer: &PublicKey) -> Option<Carrier> {
        let line = self.lines.values().find(|line| line.key == *peer && line.is_open())?;
        let Some(pairing) = &line.pairing else { return Some(Carrier::Udp(Why::PeerWithout)) };
        Some(match (line.is_paired, pairing.is_plain()) {
            (true, false) => Carrier::Rdma,
            (true, true) => Carrier::RdmaPlain,
            // Nothing has kept it from it so far.
            (false, _) => Carrier::Udp(pairing.said.unwrap_or(Why::Unproved)),
        })
    }

    /// A line is up; its association has so many lanes.
    pub(super) fn offer_pair(&mut self, id: AssociationId, lanes: u8, hello: &Hello, at: IpAddr) {
        if !self.pairs.is_on {
            return;
        }
        let udp = self.lane_config(hello, at, 0);
        let own = self.endpoint.public();
        let Some(line) = self.lines.get_mut(&id) else { return };
        let peer = line.key;
        if lanes < LANES {
            return self.say(peer, Carrier::Udp(Why::PeerWithout));
        }
        let role = if own < peer { Role::Offers } else { Role::Answers };
        let is_trusted = self.pairs.trusted.contains(&peer);
        let trust = if is_trusted { Trust::Plain } else { Trust::Sealed };
        line.udp = Some(udp);
        let now = self.now;
        let attempts =
            crate::planted!("rdma-attempts-forgotten": self.pairs.attempts.remove(&peer) => None);
        let attempts = attempts.unwrap_or_else(|| Attempts::new(now));
        line.pairing = Some(Pairing::new(now, role, trust, attempts));
    }

    /// What the carrier is to do next.
    pub fn poll_want(&mut self) -> Option<(AssociationId, Want)> {
        self.pairs.wants.pop_front()
    }

    /// The node that an association is with, while there is a link by it.
    #[must_use]
    pub fn peer_of(&self, id: AssociationId) -> Option<PublicKey> {
        self.lines.get(&id).map(|line| line.key)
    }

    /// What became of the [`Want`] of an [attempt](Want::attempt): this node's end of the queue pair, or why there is
    /// none.
    pub fn made(&mut self, now: Time, id: AssociationId, attempt: u64, made: Result<Terms, Why>) {
        match self.lines.get_mut(&id).and_then(|line| line.pairing.as_mut()) {
            Some(pairing) => {
                let step = pairing.on_made(now, attempt, made);
                self.step(now, id, step);
            }
            None => self.pairs.wants.push_back((id, Want::End)),
        }
    }

    /// A queue pair has ended by itself; the carrier has none any more for that association.
    pub fn pair_ended(&mut self, now: Time, id: AssociationId, why: Why) {
        if crate::planted!("rdma-end-unheard": false => true) {
            return;
        }
        let Some(pairing) = self.lines.get_mut(&id).and_then(|it| it.pairing.as_mut()) else {
            return;
        };
        let step = pairing.on_ended(now, why);
        self.step(now, id, step);
    }

    /// A device is there, or there again.
    pub fn retry_pairs(&mut self, now: Time) {
        for (id, line) in &mut self.lines {
            if let Some(pairing) = &mut line.pairing
                && !pairing.is_used()
            {
                pairing.retry(now);
                self.pairs.tell(*id, Word::Again);
            }
        }
        self.pairs.attempts.values_mut().for_each(|attempts| attempts.retry(now));
        let ids: Vec<_> = self.lines.keys().copied().collect();
        ids.into_iter().for_each(|id| self.touch(id));
    }

    /// A text of another lane than that of the link has come by UDP.
    pub(super) fn on_word(&mut self, now: Time, id: AssociationId, lane: u8, text: &[u8]) {
        let Some(word) = Word::decode(text).filter(|_| lane == WORDS) else { return };
        let Ok(random) = self.endpoint.seed() else { return };
        let Some(pairing) = self.lines.get_mut(&id).and_then(|it| it.pairing.as_mut()) else {
            return;
        };
        let step = pairing.on_word(now, &word, random);
        self.step(now, id, step);
        self.touch(id);
    }

    /// What is due of the queue pair of a line.
    pub(super) fn on_pair_timeout(&mut self, now: Time, id: AssociationId) {
        let Some(line) = self.lines.get_mut(&id) else { return };
        let (oldest, Some(pairing)) = (line.lane.oldest_under_way(), &mut line.pairing) else {
            return;
        };
        if pairing.timeout(oldest).is_some_and(|due| due <= now)
            && let Ok(random) = self.endpoint.seed()
        {
            let step = pairing.on_timeout(now, random, oldest);
            self.step(now, id, step);
        }
    }

    /// Datagrams to a node take another path, which is that of its line's packets unless they go by the queue pair.
    pub(super) fn on_moved(&mut self, id: AssociationId) {
        if let Some(line) = self.lines.get_mut(&id).filter(|line| !line.is_paired) {
            line.lane.on_path_change(self.now);
            self.touch(id);
        }
    }

    /// A line is gone, and its queue pair is of no use.
    pub(super) fn drop_pair(&mut self, id: AssociationId) {
        if let Some(line) = self.lines.get_mut(&id)
            && let Some(pairing) = line.pairing.take()
        {
            line.is_paired = false;
            let (peer, attempts) = (line.key, pairing.into_attempts(self.now));
            if attempts.began().is_some() {
                self.pairs.remember(peer, attempts);
            }
            self.tell_driver();
            self.pairs.end(id);
        }
    }

    /// Counts what came from a node and was dropped.
    fn reject(&mut self, id: AssociationId, why: Reject) {
        if let Some(from) = self.endpoint.address(id) {
            self.endpoint.reject(self.now, from, why);
        }
    }

    fn step(&mut self, now: Time, id: AssociationId, step: Step) {
        match step {
            Step::Stay => {}
            Step::Want(want) => self.pairs.wants.push_back((id, want)),
            Step::Tell(word) => self.pairs.tell(id, word),
            Step::Drop => self.reject(id, Reject::Rate),
            Step::Show => self.pairs.shows.push_back(id),
            Step::ShowAndUse { bytes } => {
                self.pairs.shows.push_back(id);
                self.use_pair(now, id, bytes);
            }
            Step::Use { bytes } => self.use_pair(now, id, bytes),
            Step::GiveUp { why, word } => {
                self.pairs.end(id);
                if let Some(word) = word {
                    self.pairs.tell(id, word);
                }
                self.leave_pair(now, id, why);
            }
        }
        self.touch(id);
    }

    /// The packets of a line go by its queue pair.
    fn use_pair(&mut self, now: Time, id: AssociationId, bytes: u32) {
        let Some(line) = self.lines.get_mut(&id) else { return };
        let (Some(udp), Some(pairing)) = (&line.udp, &mut line.pairing) else { return };
        if let Some(rtt) = line.lane.round_trip() {
            pairing.set_round_trip(rtt);
        }
        let inside = (bytes as usize).saturating_sub(OVERHEAD_BYTES);
        let credit = usize::try_from(udp.window_bytes_start / 4).unwrap_or(usize::MAX);
        let len = inside.min(credit);
        let (packet_len_base, packet_len_start, packet_len_max) = (len, len, len);
        // Credit says what the peer holds of what goes by the queue pair, not the buffer of its socket.
        let flight_bytes_max = None;
        let config = Config {
            packet_len_base,
            packet_len_start,
            packet_len_max,
            flight_bytes_max,
            ..udp.clone()
        };
        if line.lane.on_carrier_change(now, &config).is_err() {
            let step = pairing.on_ended(now, Why::NotMade);
            return self.step(now, id, step);
        }
        line.alone = None;
        line.is_paired = true;
        pairing.said = None;
        // What it has to send leaves by the queue pair, also while no datagram can be sent.
        if line.is_touched && !self.pairs.touched.contains(&id) {
            self.touched.retain(|it| *it != id);
            self.pairs.touched.push_back(id);
        }
        let (peer, is_plain) = (line.key, pairing.is_plain());
        self.say(peer, if is_plain { Carrier::RdmaPlain } else { Carrier::Rdma });
    }

    /// The packets of a line go by UDP, again or still.
    fn leave_pair(&mut self, now: Time, id: AssociationId, why: Why) {
        let was_used = self.go_by_udp(now, id);
        let Some(line) = self.lines.get_mut(&id) else { return };
        let Some(pairing) = &mut line.pairing else { return };
        if was_used || pairing.said != Some(why) {
            pairing.said = Some(why);
            let peer = line.key;
            self.say(peer, Carrier::Udp(why));
        }
    }

    /// The packets of a line go by UDP from now on; `false` if they did before.
    pub(super) fn go_by_udp(&mut self, now: Time, id: AssociationId) -> bool {
        let Some(line) = self.lines.get_mut(&id) else { return false };
        if !std::mem::take(&mut line.is_paired) {
            return false;
        }
        line.alone = None;
        if let Some(udp) = &line.udp {
            // It was made with these limits, which fit together.
            let _ = line.lane.on_carrier_change(now, udp);
        }
        // What it has to send leaves by UDP, whoever was to ask it for that.
        let lines = [&mut self.pairs.touched, &mut self.pairs.blocked];
        lines.into_iter().for_each(|lines| lines.retain(|it| *it != id));
        if line.is_touched && !self.touched.contains(&id) {
            self.touched.push_back(id);
        }
        true
    }

    /// Has a link that ends go on by UDP, which says that as well: the device may lose the word, or have no room for it, and the
    /// queue pair goes before it is said again. `false` if it does not end. [RDMA-45]
    pub(super) fn ends_by_udp(&mut self, id: AssociationId) -> bool {
        let Some(line) = self.lines.get_mut(&id) else { return false };
        if crate::planted!("rdma-close-once": !line.lane.is_closing() => true) {
            return false;
        }
        if let Some(pairing) = &mut line.pairing {
            pairing.set_blocked(self.now, Blocked::No);
        }
        self.go_by_udp(self.now, id);
        self.wake_driver();
        true
    }

    /// Notes by what the packets to a node go from now on. [RDMA-46]
    fn say(&mut self, peer: PublicKey, to: Carrier) {
        if self.pairs.changes.len() == CHANGES_MAX {
            self.pairs.changes.pop_front();
        }
        self.pairs.changes.push_back(Change { at: self.now, peer, to });
        self.pairs.said += 1;
        self.wake_watchers();
    }

    /// The next word to go by UDP, put into `out`.
    pub(super) fn poll_word(&mut self, now: Time, out: &mut Outgoing) -> bool {
        while let Some(((id, _), word)) = self.pairs.words.pop_first() {
            if let Some((to, packet)) = self.seal_word(now, id, word) {
                out.set(to, packet);
                out.set_source(self.endpoint.source(id));
                return true;
            }
        }
        false
    }

    fn seal_word(
        &mut self,
        now: Time,
        id: AssociationId,
        word: Word,
    ) -> Option<(SocketAddr, Vec<u8>)> {
        self.seal_text(now, id, &word.encode())
    }

    fn seal_text(
        &mut self,
        now: Time,
        id: AssociationId,
        text: &[u8],
    ) -> Option<(SocketAddr, Vec<u8>)> {
        let mut packet = vec![0; text.len() + OVERHEAD_BYTES];
        packet.get_mut(HEADER_BYTES..HEADER_BYTES + text.len())?.copy_from_slice(text);
        let to = self.endpoint.seal_next(now, id, WORDS, &mut packet).ok()?;
        Some((to, packet))
    }
}

#[cfg(test)]
mod tests;
