//! Who waits for a link to come up.
//!
//! A node may be at several addresses, each of which is tried. One that is not known has to be met before it is connected
//! to, so that it knows this one, too. Some addresses at a time are asked who is there; while others wait for that, each
//! for a while. Whoever waits hears in time what became of it, also of an address that has not had its turn for long
//! enough. [UDP-71]

use super::meets::Meets;
use super::{Station, Wakes};
use crate::link::Time;
use crate::secure::key::PublicKey;
use greenroom::net::{Address, ConnectError, Identity};
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::sync::oneshot;

/// For how long addresses are asked who is there while others wait to be.
const TURN: Duration = Duration::from_secs(1);

/// Addresses at most at which a node is sought at a time.
pub const PLACES_MAX: usize = 16;

/// What is said of a node that does not answer, and of an address where none does.
const SILENT: &str = "no answer to the handshake";
pub(super) const NOBODY: &str = "nobody there has the cluster's key";
pub(super) const ITSELF: &str = "that is this node itself";

/// What becomes of an attempt.
type Outcome = Result<Identity, ConnectError>;

/// Those who wait.
#[derive(Default)]
pub(super) struct Connecting {
    /// Who waits, with until when, the first that is due before the others.
    attempts: Vec<(Time, Attempt)>,
    /// Addresses to be asked who is there, the first so many of them now.
    meets: Meets,
    /// Those that are asked.
    asked: Vec<SocketAddr>,
    /// Since when the first ones have been asked.
    since: Time,
}

/// Who has said where a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// Its owner, who so allows the node there.
    Owner,
    /// Other nodes, which allow nobody. [UDP-78]
    Others,
}

/// Somebody who waits for a link.
pub struct Attempt {
    /// What was asked for.
    pub address: Address,
    /// Where that is, or may be: at one of these.
    pub at: Vec<SocketAddr>,
    /// Who has to be there, if that is known.
    pub key: Option<PublicKey>,
    /// Whether the node there knows this one, or is to be met first, which needs the cluster's key.
    pub is_known: bool,
    /// Who has said where it is.
    pub by: By,
    /// Takes the outcome.
    pub done: oneshot::Sender<Outcome>,
}

impl Attempt {
    fn succeed(self, peer: Identity) -> Told {
        Told { done: self.done, outcome: Ok(peer) }
    }

    fn fail(self, text: &str) -> Told {
        let why = ConnectError::Unreachable { address: self.address, text: text.to_owned() };
        Told { done: self.done, outcome: Err(why) }
    }

    fn refuse(self) -> Told {
        Told { done: self.done, outcome: Err(ConnectError::Closed) }
    }

    /// The addresses that it wants to be asked who is there.
    pub(super) fn meets(&self) -> &[SocketAddr] {
        if self.is_known { &[] } else { &self.at }
    }

    fn meets_at(&self, at: SocketAddr) -> bool {
        self.meets().contains(&at)
    }
}

impl std::fmt::Debug for Attempt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Attempt({})", self.address)
    }
}

/// Who is told the outcome of an attempt.
pub(super) struct Told {
    done: oneshot::Sender<Outcome>,
    outcome: Outcome,
}

impl Told {
    pub(super) fn tell(self) {
        // An error means that nobody waits any more.
        let _ = self.done.send(self.outcome);
    }
}

impl Connecting {
    /// Ends the attempts that `which` names, of which `wakes` tells those who wait.
    fn end(
        &mut self,
        which: impl Fn(&Attempt) -> bool,
        then: impl Fn(Attempt) -> Told,
        wakes: &mut Wakes,
    ) {
        let Self { attempts, meets, .. } = self;
        wakes.told.extend(attempts.extract_if(.., |(_, attempt)| which(attempt)).map(
            |(_, attempt)| {
                meets.forgo(&attempt);
                then(attempt)
            },
        ));
    }

    pub(super) fn connected(&mut self, key: &PublicKey, peer: Identity, wakes: &mut Wakes) {
        self.end(|attempt| attempt.key == Some(*key), |attempt| attempt.succeed(peer), wakes);
    }

    pub(super) fn unreachable(&mut self, key: &PublicKey, wakes: &mut Wakes) {
        let which = |attempt: &Attempt| attempt.is_known && attempt.key == Some(*key);
        self.end(which, |attempt| attempt.fail(SILENT), wakes);
    }

    pub(super) fn forbidden(&mut self, key: &PublicKey, wakes: &mut Wakes) {
        let which = |attempt: &Attempt| attempt.key == Some(*key);
        self.end(which, |attempt| attempt.fail("the node is forbidden"), wakes);
    }

    /// The node with that key is at that address, and knows this one.
    pub(super) fn learned(&mut self, key: PublicKey, at: SocketAddr, wakes: &mut Wakes) {
        let is_another = |attempt: &Attempt| attempt.key.is_some_and(|expected| expected != key);
        self.rule_out(at, is_another, "another node is there", wakes);
        for (_, attempt) in self.attempts.iter_mut().filter(|(_, attempt)| attempt.meets_at(at)) {
            self.meets.forgo(attempt);
            (attempt.key, attempt.is_known, attempt.at) = (Some(key), true, vec![at]);
            // What a node has proved itself is as good as what the owner says.
            attempt.by = By::Owner;
        }
    }

    pub(super) fn nobody(&mut self, at: SocketAddr, why: &str, wakes: &mut Wakes) {
        self.rule_out(at, |_| true, why, wakes);
    }

    /// Who is sought is not at that address. Attempts that have no other one fail.
    fn rule_out(
        &mut self,
        at: SocketAddr,
        which: impl Fn(&Attempt) -> bool,
        why: &str,
        wakes: &mut Wakes,
    ) {
        let attempts = self.attempts.iter_mut().map(|(_, attempt)| attempt);
        for attempt in attempts.filter(|attempt| attempt.meets_at(at) && which(attempt)) {
            attempt.at.retain(|other| *other != at);
            self.meets.forgo_at(at, attempt.by);
        }
        self.end(|attempt| attempt.at.is_empty(), |attempt| attempt.fail(why), wakes);
    }

    /// Drops the attempts for which nobody waits any more.
    fn drop_unwanted(&mut self) {
        let Self { attempts, meets, .. } = self;
        for (_, left) in attempts.extract_if(.., |(_, attempt)| attempt.done.is_closed()) {
            meets.forgo(&left);
        }
    }

    pub(super) fn fail_all(&mut self, wakes: &mut Wakes) {
        self.end(|_| true, Attempt::refuse, wakes);
    }

    /// When somebody has waited for long enough, or the next addresses have their turn to be asked, of which
    /// `at_once` are at a time. They have it at once in the place of others that nobody wants any more.
    pub(super) fn timeout(&self, at_once: usize) -> Option<Time> {
        let first = self.attempts.first().map(|(until, _)| *until);
        let left = self.meets.has_left().then_some(self.since);
        first.into_iter().chain(self.turn(at_once)).chain(left).min()
    }

    fn turn(&self, at_once: usize) -> Option<Time> {
        (self.meets.len() > at_once).then(|| self.since + TURN)
    }

    /// Tells those who have waited for long enough; whether there were any.
    fn give_up(&mut self, now: Time, wakes: &mut Wakes) -> bool {
        let due = self.attempts.iter().take_while(|(until, _)| *until <= now).count();
        let late = self.attempts.drain(..due).map(|(_, attempt)| {
            self.meets.forgo(&attempt);
            let why = if attempt.is_known { SILENT } else { NOBODY };
            attempt.fail(why)
        });
        wakes.told.extend(late);
        due > 0
    }
}

impl Station {
    /// Reaches the node at an address, or finds that there is a line to it.
    pub fn connect(&mut self, mut attempt: Attempt) {
        if self.is_closed {
            return self.wakes.told.push(attempt.refuse());
        }
        if attempt.key == Some(self.endpoint.public()) {
            return self.wakes.told.push(attempt.fail(ITSELF));
        }
        let key = attempt.key;
        let allows = attempt.is_known && attempt.by == By::Owner;
        if key.is_some_and(|key| self.endpoint.is_forbidden(&key)) {
            return self.wakes.told.push(attempt.fail("the node is forbidden"));
        }
        // [UDP-76]
        if key.is_none()
            && let Some(peer) = self.connected_at(&attempt.at)
        {
            return self.wakes.told.push(attempt.succeed(peer));
        }
        let until = self.now + self.endpoint.give_up_after();
        let until = crate::planted!("station-silence-untold": until => Time::from_nanos(u64::MAX));
        self.connecting.drop_unwanted();
        let mut known = BTreeSet::new();
        attempt.at.retain(|at| known.insert(*at));
        let is_new = self.connecting.meets.want(&attempt);
        self.connecting.attempts.push((until, attempt));
        if let Some(key) = key {
            if crate::planted!("told-are-allowed": allows => true) {
                self.endpoint.allow(key);
            }
            self.begin(&key);
        }
        if is_new {
            self.meet();
        }
        self.tell_driver();
    }

    /// The node at one of those addresses with which there is a line.
    fn connected_at(&self, places: &[SocketAddr]) -> Option<Identity> {
        let found = places.iter().filter_map(|at| self.endpoint.association_at(*at));
        let mut lines = found.filter_map(|id| self.lines.get(&id));
        lines.find(|line| line.is_open()).map(|line| line.peer)
    }

    /// Whether the peer of an association has proved to be there.
    #[cfg(test)]
    pub(crate) fn has_proved(&self, at: SocketAddr) -> bool {
        self.endpoint.association_at(at).is_some()
    }

    /// Goes on with the attempts to reach a node: it is there, or it is asked, unless a line to it is just ending.
    pub(super) fn begin(&mut self, key: &PublicKey) {
        let line = self.lines.values().find(|line| line.key == *key && !line.is_finished());
        if let Some(line) = line {
            let peer = line.peer;
            if line.is_open() {
                self.connecting.connected(key, peer, &mut self.wakes);
            }
            return;
        }
        let wanted = |attempt: &&Attempt| {
            attempt.is_known && attempt.key == Some(*key) && !attempt.done.is_closed()
        };
        let attempts = self.connecting.attempts.iter().map(|(_, attempt)| attempt);
        // What was asked for last is the likeliest, but for what others say.
        let attempts = attempts.rev().filter(wanted);
        let last = attempts.clone().next().map(|attempt| attempt.by);
        let by = |by| attempts.clone().filter(move |attempt| attempt.by == by);
        // Who is told of without end would be asked anew without end, and no answer would be in time. [UDP-73]
        let goes_on = crate::planted!("told-asked-anew": last == Some(By::Others) => false);
        let asked = self.endpoint.asked_at(key).filter(|_| goes_on);
        let is_wanted = |at: &SocketAddr| attempts.clone().any(|attempt| attempt.at.contains(at));
        let mut places: Vec<_> = asked.into_iter().filter(is_wanted).collect();
        for at in by(By::Owner).chain(by(By::Others)).flat_map(|attempt| &attempt.at) {
            if places.len() < PLACES_MAX && !places.contains(at) {
                places.push(*at);
            }
        }
        let Some((to, others)) = places.split_first() else { return };
        let began = self.endpoint.connect_among(self.now, key, *to, others);
        if let Err(error) = began {
            let text = error.to_string();
            let which = |attempt: &Attempt| attempt.key == Some(*key);
            self.connecting.end(which, |attempt| attempt.fail(&text), &mut self.wakes);
        }
    }

    /// Asks at the first addresses who is there, and no more where nobody waits for that.
    pub(super) fn meet(&mut self) {
        self.connecting.drop_unwanted();
        let Connecting { meets, asked, since, .. } = &mut self.connecting;
        let at_once = self.endpoint.contacts_max();
        if meets.len() <= at_once {
            *since = self.now;
        }
        let first = meets.first(at_once);
        meets.looked_at();
        // Before others are asked: the endpoint has no more places than these, and would give up another one.
        for at in asked.iter().filter(|at| !first.contains(at)) {
            self.endpoint.leave_alone(*at);
        }
        asked.clone_from(&first);
        for at in first {
            if let Err(error) = self.endpoint.meet(self.now, at) {
                self.connecting.nobody(at, &error.to_string(), &mut self.wakes);
            }
        }
    }

    /// Tells those who have waited for long enough, and lets other addresses have their turn, if some wait for it.
    pub(super) fn take_turns(&mut self) {
        let at_once = self.endpoint.contacts_max();
        let gave_up = self.connecting.give_up(self.now, &mut self.wakes);
        if gave_up || self.connecting.meets.has_left() {
            self.meet();
        }
        if self.connecting.turn(at_once).is_some_and(|due| due <= self.now) {
            self.connecting.since = self.now;
            self.connecting.meets.rotate(at_once);
            self.meet();
        }
    }
}
