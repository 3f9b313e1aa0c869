//! Who waits for a link to come up.
//!
//! A node that is not known has to be met before it is connected to, so that it knows this one, too. One address at
//! a time is asked who is there, each for a while.

use super::Station;
use crate::link::Time;
use crate::secure::key::PublicKey;
use greenroom::net::{Address, ConnectError, Identity};
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::sync::oneshot;

/// For how long one address is asked who is there while others wait to be.
const TURN: Duration = Duration::from_secs(1);

/// What becomes of an attempt.
type Outcome = Result<Identity, ConnectError>;

/// Those who wait.
#[derive(Default)]
pub(super) struct Connecting {
    attempts: Vec<Attempt>,
    /// Addresses to be asked who is there, the first of them now.
    meets: VecDeque<SocketAddr>,
    /// Since when the first one has been asked.
    since: Time,
}

/// Somebody who waits for a link.
pub struct Attempt {
    /// What was asked for.
    pub address: Address,
    /// Where that is.
    pub at: SocketAddr,
    /// Who has to be there, if that is known.
    pub key: Option<PublicKey>,
    /// Whether the node there knows this one, or is to be met first, which needs the cluster's key.
    pub is_known: bool,
    /// Takes the outcome.
    pub done: oneshot::Sender<Outcome>,
}

impl Attempt {
    fn succeed(self, peer: Identity) {
        // An error means that nobody waits any more, here and below.
        let _ = self.done.send(Ok(peer));
    }

    fn fail(self, text: &str) {
        let why = ConnectError::Unreachable { address: self.address, text: text.to_owned() };
        let _ = self.done.send(Err(why));
    }

    fn meets_at(&self, at: SocketAddr) -> bool {
        !self.is_known && self.at == at
    }
}

impl std::fmt::Debug for Attempt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Attempt({})", self.address)
    }
}

impl Connecting {
    /// Ends the attempts that `which` names.
    fn end(&mut self, which: impl Fn(&Attempt) -> bool, then: impl Fn(Attempt)) {
        self.attempts.extract_if(.., |attempt| which(attempt)).for_each(then);
    }

    pub(super) fn connected(&mut self, key: &PublicKey, peer: Identity) {
        self.end(|attempt| attempt.key == Some(*key), |attempt| attempt.succeed(peer));
    }

    pub(super) fn unreachable(&mut self, key: &PublicKey) {
        let which = |attempt: &Attempt| attempt.is_known && attempt.key == Some(*key);
        self.end(which, |attempt| attempt.fail("no answer to the handshake"));
    }

    pub(super) fn forbidden(&mut self, key: &PublicKey) {
        self.end(|attempt| attempt.key == Some(*key), |it| it.fail("the node is forbidden"));
    }

    pub(super) fn learned(&mut self, key: PublicKey, at: SocketAddr) {
        let is_another = |attempt: &Attempt| attempt.key.is_some_and(|expected| expected != key);
        self.end(
            |attempt| attempt.meets_at(at) && is_another(attempt),
            |attempt| attempt.fail("another node is there"),
        );
        for attempt in self.attempts.iter_mut().filter(|attempt| attempt.meets_at(at)) {
            (attempt.key, attempt.is_known) = (Some(key), true);
        }
        self.meets.retain(|meet| *meet != at);
    }

    pub(super) fn nobody(&mut self, at: SocketAddr, why: &str) {
        self.end(|attempt| attempt.meets_at(at), |attempt| attempt.fail(why));
        self.meets.retain(|meet| *meet != at);
    }

    pub(super) fn fail_all(&mut self) {
        self.meets.clear();
        self.end(
            |_| true,
            |attempt| {
                let _ = attempt.done.send(Err(ConnectError::Closed));
            },
        );
    }

    /// When the next address has its turn to be asked.
    pub(super) fn timeout(&self) -> Option<Time> {
        (self.meets.len() > 1).then(|| self.since + TURN)
    }

    /// Forgets those who gave up waiting.
    fn forget_abandoned(&mut self) {
        self.attempts.retain(|attempt| !attempt.done.is_closed());
        let attempts = &self.attempts;
        self.meets.retain(|at| attempts.iter().any(|attempt| attempt.meets_at(*at)));
    }
}

impl Station {
    /// Reaches the node at an address, or finds that there is a line to it.
    pub fn connect(&mut self, attempt: Attempt) {
        if self.is_closed {
            let _ = attempt.done.send(Err(ConnectError::Closed));
            return;
        }
        if attempt.key == Some(self.endpoint.public()) {
            return attempt.fail("that is this node itself");
        }
        let (at, key, is_known) = (attempt.at, attempt.key, attempt.is_known);
        if key.is_some_and(|key| self.endpoint.is_forbidden(&key)) {
            return attempt.fail("the node is forbidden");
        }
        self.connecting.attempts.push(attempt);
        if let Some(key) = key {
            if is_known {
                self.endpoint.allow(key);
            }
            self.begin(&key);
        }
        let still_waits = |attempt: &Attempt| attempt.meets_at(at);
        if self.connecting.attempts.iter().any(still_waits) && !self.connecting.meets.contains(&at)
        {
            self.connecting.meets.push_back(at);
            if self.connecting.meets.len() == 1 {
                self.meet_next();
            }
        }
        self.tell_driver();
    }

    /// Goes on with the attempts to reach a node: it is there, or it is asked, unless a line to it is just ending.
    pub(super) fn begin(&mut self, key: &PublicKey) {
        let line = self.lines.values().find(|line| line.key == *key && !line.is_finished());
        if let Some(line) = line {
            let peer = line.peer;
            if line.is_open() {
                self.connecting.connected(key, peer);
            }
            return;
        }
        let wanted = |attempt: &&Attempt| attempt.is_known && attempt.key == Some(*key);
        let Some(attempt) = self.connecting.attempts.iter().find(wanted) else { return };
        let began = self.endpoint.connect(self.now, key, attempt.at);
        if let Err(error) = began {
            let text = error.to_string();
            self.connecting.end(|attempt| attempt.key == Some(*key), |it| it.fail(&text));
        }
    }

    /// Asks at the first address who is there.
    pub(super) fn meet_next(&mut self) {
        self.connecting.forget_abandoned();
        while let Some(at) = self.connecting.meets.front().copied() {
            self.connecting.since = self.now;
            let Err(error) = self.endpoint.meet(self.now, at) else { return };
            self.connecting.nobody(at, &error.to_string());
        }
    }

    /// Lets another address have its turn, if others wait for it.
    pub(super) fn take_turns(&mut self) {
        if self.connecting.timeout().is_some_and(|due| due <= self.now) {
            self.connecting.meets.rotate_left(1);
            self.meet_next();
        }
    }
}
