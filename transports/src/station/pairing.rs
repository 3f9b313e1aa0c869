//! The queue pair of one association: offered, accepted, proved, used and given up, without I/O.
//!
//! ```text
//!  smaller public key                     the other
//!   open      ------ offer, by UDP ----->  open, connect
//!   connect   <----- accept, by UDP -----
//!             ------ ready, by RDMA ---->  packets go by RDMA
//!   packets   <----- ready, by RDMA -----
//!   go by RDMA
//! ```
//!
//! 1. No packet of the link goes by a queue pair before a sealed word of the peer's has come by it. [RDMA-42]
//! 2. Every attempt has a number of its own that nobody guesses. Words of another one do nothing. [RDMA-41]
//! 3. Whoever gives up says so, and the end that offers tries again, ever more seldom. [RDMA-44]
//! 4. However often the peer asks, attempts begin at least [`PAUSE_MIN`] apart, and ever more seldom while they fail, at
//!    both ends. [RDMA-48]
//! 5. A queue pair whose packets are much later than they would be over UDP is given up. [RDMA-50]

mod attempts;
mod waiting;

pub(super) use attempts::Attempts;
pub(super) use waiting::Blocked;

use super::word::{Terms, Word};
use crate::link::Time;
use crate::rdma::Ended;
use std::time::Duration;
use waiting::Waiting;

/// How often an offer is sent.
const OFFERS: u32 = 5;
/// After which time it is sent again; doubled each time.
const OFFER_AGAIN: Duration = Duration::from_millis(100);
/// How long a queue pair may take to prove that it carries.
const PROVE_WITHIN: Duration = Duration::from_secs(3);
/// How long packets may wait for a queue pair before it is given up.
const STALL: Duration = Duration::from_secs(1);
/// Packets that wait, or are late, are looked at so often; what nobody looked at for longer, because this node stood still,
/// counts as this.
const LOOK: Duration = Duration::from_millis(100);
/// The pause before another attempt, at least and at most.
const PAUSE_MIN: Duration = Duration::from_millis(250);
const PAUSE_MAX: Duration = Duration::from_secs(30);

/// Why packets to a node go by UDP, and not by RDMA.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Why {
    /// The other node does not use RDMA.
    #[error("the other node does not use RDMA")]
    PeerWithout,
    /// This node has no device that can be used: [`Udp::rdma_failure`](crate::udp::Udp::rdma_failure) says more.
    #[error("this node has no RDMA device that can be used")]
    NoDevice,
    /// The port is down.
    #[error("the port of this node's RDMA device is down")]
    PortDown,
    /// The device was pulled away, or is of no more use.
    #[error("this node's RDMA device is gone")]
    DeviceGone,
    /// The device does not make or connect a queue pair: [`Udp::rdma_failure`](crate::udp::Udp::rdma_failure) says more.
    #[error("the RDMA device does not make or connect a queue pair")]
    NotMade,
    /// The memory that a queue pair needs is not registered, or there is none for its queues, mostly because the process may
    /// not lock as much: [`Udp::rdma_failure`](crate::udp::Udp::rdma_failure) says more.
    #[error("the memory that a queue pair needs is not registered")]
    NoMemory,
    /// The other node refuses, because its device does not serve.
    #[error("the other node's RDMA device does not serve")]
    Refused,
    /// The other node does not answer the offer.
    #[error("the other node does not answer the offer of a queue pair")]
    Unanswered,
    /// Nothing came by the queue pair in time.
    #[error("nothing came by the queue pair in time")]
    Unproved,
    /// Packets had to wait too long.
    #[error("packets had to wait too long for the queue pair")]
    Stalled,
    /// Packets by the queue pair were acknowledged much later than they would have been by UDP, or not at all. It is the peer
    /// that acknowledges, so one that did not run for a second looks the same.
    #[error(
        "packets were acknowledged much later by the queue pair than by UDP, or the peer did not run"
    )]
    Slow,
    /// The other node gave the queue pair up.
    #[error("the other node gave the queue pair up")]
    PeerEnded,
    /// The queue pair ended.
    #[error(transparent)]
    Ended(Ended),
}

/// What the carrier of queue pairs is to do for an association.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Want {
    /// Open a queue pair; its packets count from there.
    Open {
        /// For which attempt.
        attempt: u64,
        /// The number of its first packet.
        psn: u32,
    },
    /// Open one, and connect it to the peer's.
    Accept {
        /// For which attempt.
        attempt: u64,
        /// The number of its first packet.
        psn: u32,
        /// The peer's end.
        peer: Terms,
    },
    /// Connect the one that is open to the peer's.
    Connect {
        /// For which attempt.
        attempt: u64,
        /// The peer's end.
        peer: Terms,
    },
    /// End it.
    End,
}

impl Want {
    /// The attempt whose outcome is to be told, if there is one to tell.
    #[must_use]
    pub const fn attempt(&self) -> Option<u64> {
        match *self {
            Self::Open { attempt, .. }
            | Self::Accept { attempt, .. }
            | Self::Connect { attempt, .. } => Some(attempt),
            Self::End => None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// There is none. The end that offers tries again then.
    Idle(Time),
    /// Until the carrier has opened it; with the peer's end if that offered.
    Opening(Option<Terms>),
    /// Open, and offered: so often, and again then.
    Offered { count: u32, again: Time },
    /// Until the carrier has connected it.
    Connecting,
    /// Connected: the peer is to show until then that it carries.
    Proving(Time),
    /// The link's packets go by it since then.
    Used(Time),
}

/// What comes of a word, a timer, or what the carrier says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Nothing.
    Stay,
    /// The carrier is to do something.
    Want(Want),
    /// The peer is to be told by UDP.
    Tell(Word),
    /// The peer is to be told by the queue pair.
    Show,
    /// As [`Step::Show`], and packets go by it from now on; each of so many bytes, keys included.
    ShowAndUse { bytes: u32 },
    /// Packets go by it from now on; each of so many bytes, keys included.
    Use { bytes: u32 },
    /// The word came too early, and does nothing.
    Drop,
    /// It is given up, and the peer told if there is something to tell.
    GiveUp { why: Why, word: Option<Word> },
}

/// See the [module](self).
#[derive(Debug)]
pub(super) struct Pairing {
    /// Whether it is this end that offers.
    offers: bool,
    /// Whether packets need not be sealed as far as this end is concerned.
    trusts: bool,
    /// Whether they are not.
    plain: bool,
    attempt: u64,
    /// Whether the peer said that it is over.
    is_left: bool,
    phase: Phase,
    attempts: Attempts,
    own: Terms,
    /// Bytes of a packet that both take.
    bytes: u32,
    blocked: Option<Waiting>,
    /// What was said last of why it is not used.
    pub(super) said: Option<Why>,
}

impl Pairing {
    /// After so many attempts of other associations with that peer.
    pub(super) fn new(now: Time, role: Role, trust: Trust, attempts: Attempts) -> Self {
        Self {
            offers: role == Role::Offers,
            trusts: trust == Trust::Plain,
            plain: false,
            attempt: 0,
            is_left: false,
            phase: Phase::Idle(attempts.offers_from().max(now)),
            attempts,
            own: Terms::default(),
            bytes: 0,
            blocked: None,
            said: None,
        }
    }

    /// Whether the link's packets go by it.
    pub(super) const fn is_used(&self) -> bool {
        matches!(self.phase, Phase::Used(_))
    }

    /// Whether packets are not sealed.
    pub(super) const fn is_plain(&self) -> bool {
        self.plain
    }

    pub(super) const fn attempt(&self) -> u64 {
        self.attempt
    }

    /// Bytes of a packet that both take, keys included.
    pub(super) const fn bytes(&self) -> u32 {
        self.bytes
    }

    /// The attempts so far, of which none is under way any more.
    pub(super) fn into_attempts(mut self, now: Time) -> Attempts {
        if self.has_pair() {
            self.give_up(now, Why::PeerEnded);
        }
        self.attempts
    }

    /// When [`Pairing::on_timeout`] is to be called, while the oldest packet that waits for an acknowledgement left then.
    pub(super) fn timeout(&self, oldest: Option<Time>) -> Option<Time> {
        match self.phase {
            Phase::Idle(at) => self.offers.then_some(at),
            Phase::Offered { again, .. } => Some(again),
            Phase::Proving(until) => Some(until),
            Phase::Used(_) => {
                let late = oldest.map(|oldest| self.attempts.look_at(oldest));
                let blocked = self.blocked.map(|waiting| waiting.look_at());
                blocked.into_iter().chain(late).min()
            }
            Phase::Opening(_) | Phase::Connecting => None,
        }
    }

    /// Does what is due. `random` is a number that nobody guesses; the oldest packet that waits for an acknowledgement left
    /// at `oldest`.
    pub(super) fn on_timeout(&mut self, now: Time, random: u64, oldest: Option<Time>) -> Step {
        if self.timeout(oldest).is_none_or(|due| due > now) {
            return Step::Stay;
        }
        let is_stalled = self.blocked.is_some_and(Waiting::is_too_long);
        match &mut self.phase {
            Phase::Idle(_) => {
                self.begin(now, random, None);
                Step::Want(Want::Open { attempt: random, psn: psn(random) })
            }
            Phase::Offered { count: OFFERS.., .. } => self.give_up(now, Why::Unanswered),
            Phase::Offered { count, again } => {
                *again = now + OFFER_AGAIN * (1 << *count);
                *count += 1;
                Step::Tell(self.offer())
            }
            Phase::Proving(_) => self.give_up(now, Why::Unproved),
            Phase::Used(_) if is_stalled => self.give_up(now, Why::Stalled),
            Phase::Used(_) => {
                let late = oldest.filter(|oldest| self.attempts.look_at(*oldest) <= now);
                let lateness = self.attempts.lateness();
                let is_slow = late.is_some_and(|oldest| lateness.is_too_much(now, oldest));
                if is_slow { self.give_up(now, Why::Slow) } else { Step::Stay }
            }
            Phase::Opening(_) | Phase::Connecting => Step::Stay,
        }
    }

    fn offer(&self) -> Word {
        Word::Offer { attempt: self.attempt, terms: self.own, plain: self.trusts }
    }

    fn accept(&self) -> Word {
        Word::Accept { attempt: self.attempt, terms: self.own, plain: self.plain }
    }

    /// Takes a word that came sealed, by UDP.
    pub(super) fn on_word(&mut self, now: Time, word: &Word, random: u64) -> Step {
        match *word {
            Word::Offer { attempt, terms, plain } if !self.offers => {
                if attempt == self.attempt && !matches!(self.phase, Phase::Idle(_)) {
                    let is_open = !matches!(self.phase, Phase::Opening(_));
                    return if is_open { Step::Tell(self.accept()) } else { Step::Stay };
                }
                if !matches!(self.phase, Phase::Idle(_)) {
                    // The peer offers again in time.
                    return self.give_up(now, Why::PeerEnded);
                }
                if self.is_left && attempt == self.attempt {
                    // A late copy, of a queue pair that is gone.
                    return Step::Stay;
                }
                if self.attempts.is_too_early(now) {
                    // The peer offers again in time, too.
                    return Step::Drop;
                }
                self.begin(now, attempt, Some(terms));
                // [RDMA-43]
                self.plain = crate::planted!("rdma-plain-untrusted": plain && self.trusts => plain);
                Step::Want(Want::Accept { attempt, psn: psn(random), peer: terms })
            }
            Word::Accept { attempt, terms, plain }
                if attempt == self.attempt && matches!(self.phase, Phase::Offered { .. }) =>
            {
                if plain && !self.trusts {
                    return self.give_up(now, Why::NotMade);
                }
                self.plain = plain;
                self.bytes = self.own.packet_bytes.min(terms.packet_bytes);
                self.phase = Phase::Connecting;
                Step::Want(Want::Connect { attempt, peer: terms })
            }
            Word::Refuse { attempt } if attempt == self.attempt && self.has_pair() => {
                self.attempts.refuse();
                self.give_up(now, Why::Refused)
            }
            Word::End { attempt } if attempt == self.attempt && self.has_pair() => {
                self.give_up(now, Why::PeerEnded)
            }
            Word::Again => {
                self.heed(now);
                Step::Stay
            }
            _ => Step::Stay,
        }
    }

    /// A sealed word of this attempt has come by the queue pair.
    pub(super) fn on_ready(&mut self, now: Time) -> Step {
        let Phase::Proving(_) = self.phase else { return Step::Stay };
        self.phase = Phase::Used(now);
        self.blocked = None;
        let bytes = self.bytes;
        if self.offers { Step::Use { bytes } } else { Step::ShowAndUse { bytes } }
    }

    /// The carrier has done what it was asked for an attempt, or not. One that was given up meanwhile is ended
    /// next. [RDMA-41]
    pub(super) fn on_made(&mut self, now: Time, attempt: u64, made: Result<Terms, Why>) -> Step {
        if crate::planted!("rdma-attempts-mixed": attempt != self.attempt => false) {
            return Step::Stay;
        }
        let own = match made {
            Ok(own) => own,
            Err(why) => return self.on_ended(now, why),
        };
        match self.phase {
            Phase::Opening(None) => {
                self.own = own;
                self.phase = Phase::Offered { count: 1, again: now + OFFER_AGAIN };
                Step::Tell(self.offer())
            }
            Phase::Opening(Some(peer)) => {
                self.own = own;
                self.bytes = own.packet_bytes.min(peer.packet_bytes);
                self.phase = Phase::Proving(now + PROVE_WITHIN);
                Step::Tell(self.accept())
            }
            Phase::Connecting => {
                self.phase = Phase::Proving(now + PROVE_WITHIN);
                if crate::planted!("rdma-unproved": false => true) {
                    self.phase = Phase::Used(now);
                    return Step::ShowAndUse { bytes: self.bytes };
                }
                Step::Show
            }
            _ => Step::Stay,
        }
    }

    /// The carrier has no queue pair for it any more.
    pub(super) fn on_ended(&mut self, now: Time, why: Why) -> Step {
        if self.has_pair() { self.give_up(now, why) } else { Step::Stay }
    }

    fn begin(&mut self, now: Time, attempt: u64, peer: Option<Terms>) {
        (self.attempt, self.phase) = (attempt, Phase::Opening(peer));
        self.is_left = false;
        self.attempts.begin(now);
    }

    fn has_pair(&self) -> bool {
        !matches!(self.phase, Phase::Idle(_))
    }

    /// Packets wait for room, or do not.
    pub(super) fn set_blocked(&mut self, now: Time, is_blocked: Blocked) {
        match is_blocked {
            Blocked::No => self.blocked = None,
            Blocked::Yes => {
                self.blocked.get_or_insert(Waiting::new(now)).look(now);
            }
        }
    }

    /// What a round trip takes over UDP.
    pub(super) fn set_round_trip(&mut self, rtt: Duration) {
        self.attempts.lateness().set_round_trip(rtt);
    }

    /// A device is there: what failed may succeed.
    pub(super) fn retry(&mut self, now: Time) {
        if !self.has_pair() {
            self.attempts.retry(now);
            self.phase = Phase::Idle(self.attempts.offers_from());
        }
    }

    /// The peer says that it has a device, again.
    fn heed(&mut self, now: Time) {
        if !self.has_pair() {
            self.attempts.heed(now);
            self.phase = Phase::Idle(self.attempts.offers_from());
        }
    }

    fn give_up(&mut self, now: Time, why: Why) -> Step {
        let served =
            if let Phase::Used(since) = self.phase { Some(now.since(since)) } else { None };
        let attempt = self.attempt;
        let word = match (self.phase, why) {
            (Phase::Opening(None), _) | (_, Why::PeerEnded | Why::Refused) => None,
            // What fails otherwise may succeed soon.
            (Phase::Opening(Some(_)), Why::NoDevice | Why::PortDown | Why::NoMemory) => {
                Some(Word::Refuse { attempt })
            }
            _ => Some(Word::End { attempt }),
        };
        self.is_left = why == Why::PeerEnded;
        self.attempts.end(now, served, attempt);
        self.phase = Phase::Idle(self.attempts.offers_from());
        (self.plain, self.blocked) = (false, None);
        Step::GiveUp { why, word }
    }
}

/// Which end of an association it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Offers,
    Answers,
}

/// Whether packets of the peer's need not be sealed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trust {
    Sealed,
    Plain,
}

/// The number of the first packet: 24 bits that nobody guesses.
const fn psn(random: u64) -> u32 {
    (random >> 40) as u32
}

#[cfg(test)]
mod tests;
