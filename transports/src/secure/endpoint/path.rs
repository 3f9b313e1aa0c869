//! Roaming: a peer that sends from another address is asked there to prove it, and until then everything
//! goes on to where it was.
//!
//! 1. Only the newest packet of a lane says something about where the peer is; what was delayed does not.
//! 2. To an address that is not proved go at most three times the bytes that came from it.
//! 3. What leaves for an address leaves from that of this machine's to which it came from there: what answers a datagram
//!    from that one's, what is said in an association from that of the newest packet. [UDP-52]
//! 4. The proof is the answer to a random token, sealed: who has it received there. It comes from anywhere but the address
//!    where everything goes: whose newest packet comes from there has not moved, or is back.
//! 5. With that token goes what a reset from here would have for that address. [UDP-63]

use super::epoch::{CONTROL_LANE, Epoch};
use super::event::Event;
use super::{AssociationId, Endpoint, Received, Transmit};
use crate::link::{Ecn, End, Time};
use crate::secure::audit::What;
use crate::secure::entropy::draw;
use crate::secure::identity::Token;
use crate::secure::key::PublicKey;
use crate::secure::reject::Reject;
use crate::secure::wire::OVERHEAD_BYTES;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// Where a datagram came from, and to which address of this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Where from.
    pub from: SocketAddr,
    /// Where to; `None` if that is not known, or does not matter because there is one only.
    pub at: Option<IpAddr>,
    /// What the network has marked it with.
    pub ecn: Ecn,
}

impl From<SocketAddr> for Arrival {
    fn from(from: SocketAddr) -> Self {
        Self { from, at: None, ecn: Ecn::NotCapable }
    }
}

/// An address at which a peer may be.
#[derive(Debug)]
pub(super) struct Candidate {
    pub(super) address: SocketAddr,
    /// To which address of this machine it spoke.
    pub(super) source: Option<IpAddr>,
    token: u64,
    received: u64,
    sent: u64,
    tries: u32,
    pub(super) due: Time,
}

impl Candidate {
    /// Counts bytes to it, if as many may be sent. [UDP-51]
    fn pays(&mut self, bytes: u64) -> bool {
        let most = AMPLIFICATION_MAX * self.received;
        let pays =
            self.sent + bytes <= crate::planted!("amplification-unbounded": most => u64::MAX);
        self.sent += if pays { bytes } else { 0 };
        pays
    }
}

const TRIES_MAX: u32 = 8;
const TRY_EVERY: Duration = Duration::from_millis(250);
const AMPLIFICATION_MAX: u64 = 3;

/// What this layer says on its own lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Control {
    /// The keys work; confirm that yours do.
    Confirm,
    /// They do.
    Confirmed,
    /// Say this token if you are there; and if I forget you, I say so there by that index with that other token. Nodes from
    /// before tell none. [UDP-63]
    Challenge { token: u64, reset: Option<(u32, Token)> },
    /// I am.
    Response(u64),
}

impl Control {
    fn encode(self) -> Vec<u8> {
        match self {
            Self::Confirm => vec![0],
            Self::Confirmed => vec![1],
            Self::Challenge { token, reset: None } => {
                [2].into_iter().chain(token.to_le_bytes()).collect()
            }
            Self::Challenge { token, reset: Some((index, reset)) } => {
                [&[2][..], &token.to_le_bytes(), &index.to_le_bytes(), &reset.0].concat()
            }
            Self::Response(token) => [3].into_iter().chain(token.to_le_bytes()).collect(),
        }
    }

    pub(super) fn decode(text: &[u8]) -> Option<Self> {
        match text {
            [0] => Some(Self::Confirm),
            [1] => Some(Self::Confirmed),
            [2, rest @ ..] => {
                let (token, rest) = rest.split_first_chunk()?;
                let token = u64::from_le_bytes(*token);
                let is_short = rest.is_empty();
                if crate::planted!("short-challenge-refused": is_short => false) {
                    return Some(Self::Challenge { token, reset: None });
                }
                let (index, reset) = rest.split_first_chunk()?;
                let reset = Some((u32::from_le_bytes(*index), Token(reset.try_into().ok()?)));
                Some(Self::Challenge { token, reset })
            }
            [3, token @ ..] => Some(Self::Response(u64::from_le_bytes(token.try_into().ok()?))),
            _ => None,
        }
    }
}

impl Endpoint {
    /// Counts the end of a link by an association, and notes it unless it was in order.
    pub(crate) fn end_link(
        &mut self,
        now: Time,
        association: AssociationId,
        peer: PublicKey,
        end: End,
    ) {
        let address = self.address(association);
        self.audit.end_link(now, address, peer, end);
    }

    /// From which address of this machine the packets of an association leave, if that is not for the kernel to choose.
    pub(crate) fn source(&self, association: AssociationId) -> Option<IpAddr> {
        self.associations.get(association)?.source
    }

    /// To which address of this machine the datagram that is being handled came, if it came from there.
    pub(super) fn arrived_at(&self, from: SocketAddr) -> Option<IpAddr> {
        let arrival = self.arrival.filter(|arrival| arrival.from == from)?;
        crate::planted!("source-forgotten": arrival.at => None)
    }

    /// Queues a datagram. Anybody may cause more than leave, also within one turn, so the oldest make room:
    /// whoever still waits for one asks again. [UDP-26] Nothing goes to port 0, from where anybody may seem to write:
    /// kernels refuse it, which looks as if they refused more.
    pub(super) fn send(&mut self, to: SocketAddr, packet: Vec<u8>) {
        let source = self.arrived_at(to);
        self.send_from(source, to, packet);
    }

    /// Whether there is room for what anybody may call forth without end, and nobody loses much by. It leaves half of the room
    /// to the rest, which it would drop. Says `false` at a loss that is counted. [UDP-26]
    pub(super) fn has_room_to_spare(&mut self) -> bool {
        let has_room = 2 * self.transmits.len() < self.config.transmits_max.max(1);
        let has_room = crate::planted!("cookies-drop-answers": has_room => true);
        if !has_room {
            self.audit.drop_unsent();
        }
        has_room
    }

    /// As [`send`](Self::send), from that address of this machine.
    pub(super) fn send_from(&mut self, source: Option<IpAddr>, to: SocketAddr, packet: Vec<u8>) {
        if to.port() == 0 {
            return;
        }
        let is_full = self.transmits.len() >= self.config.transmits_max.max(1);
        if crate::planted!("transmits-unbounded": is_full => false) {
            self.transmits.pop_front();
            self.audit.drop_unsent();
        }
        self.transmits.push_back(Transmit { to, source, packet });
    }

    /// Seals a control message and queues it, if so much may be sent there.
    pub(super) fn control(&mut self, place: u32, now: Time, to: SocketAddr, what: Control) {
        let (text, arrived) = (what.encode(), self.arrived_at(to));
        let mut packet = vec![0; text.len() + OVERHEAD_BYTES];
        packet[16..16 + text.len()].copy_from_slice(&text);
        let Some(association) = self.associations.at_mut(place) else { return };
        let source = arrived.or_else(|| association.source_to(to));
        let candidate = association.candidate.as_mut().filter(|candidate| candidate.address == to);
        if !candidate.is_none_or(|candidate| candidate.pays(packet.len() as u64)) {
            return;
        }
        if association.seal(&self.config, now, CONTROL_LANE, None, &mut packet).is_ok() {
            self.send_from(source, to, packet);
        }
    }

    /// Takes a control message that was opened, from the packet of that number.
    pub(super) fn on_control(
        &mut self,
        place: u32,
        now: Time,
        from: SocketAddr,
        number: u64,
        text: &[u8],
    ) -> Result<(), Reject> {
        match Control::decode(text).ok_or(Reject::Control)? {
            // Whoever asks does so again until it hears something.
            Control::Confirm => {
                if self.has_room_to_spare() {
                    self.control(place, now, from, Control::Confirmed);
                }
            }
            Control::Confirmed => {}
            Control::Challenge { token, reset } => {
                if let Some((index, reset)) = reset {
                    self.on_token(place, number, index, reset);
                }
                if self.has_room_to_spare() {
                    self.control(place, now, from, Control::Response(token));
                }
            }
            Control::Response(token) => self.on_response(place, now, token),
        }
        Ok(())
    }

    /// As [`Endpoint::handle`], for what came by another way than the socket: it says nothing of where the peer is, neither
    /// that it moved nor that it is where it was.
    pub(crate) fn handle_beside(
        &mut self,
        now: Time,
        of: SocketAddr,
        datagram: &mut [u8],
    ) -> Received {
        self.on_datagram(now, of, datagram)
    }

    /// Notes that the newest packet of an association came from an address. [UDP-50]
    pub(super) fn on_path(&mut self, place: u32, now: Time, from: SocketAddr, bytes: usize) {
        if self.arrival.is_none() {
            return;
        }
        let source = self.arrived_at(from);
        let Some(association) = self.associations.at_mut(place) else { return };
        if association.address == from {
            association.source = source.or(association.source);
            // Whoever was heard elsewhere is back, or somebody there has sent its packet before it came from here.
            association.candidate = None;
            return;
        }
        match &mut association.candidate {
            Some(candidate) if candidate.address == from => {
                candidate.received += bytes as u64;
                candidate.source = source.or(candidate.source);
            }
            _ => {
                let Ok(token) = draw(self.entropy.as_mut()) else { return };
                let received = bytes as u64;
                let token = u64::from_le_bytes(token);
                let (address, sent, tries) = (from, 0, 0);
                let candidate =
                    Candidate { address, source, token, received, sent, tries, due: now };
                association.candidate = Some(candidate);
                self.challenge(place, now);
            }
        }
    }

    /// Asks the candidate for its proof, as far as it may be sent to, and gives it up in the end.
    pub(super) fn challenge(&mut self, place: u32, now: Time) {
        let Some(association) = self.associations.at_mut(place) else { return };
        let Some(candidate) = &mut association.candidate else { return };
        if candidate.tries == TRIES_MAX {
            association.candidate = None;
            return;
        }
        candidate.tries += 1;
        candidate.due = now + TRY_EVERY * candidate.tries;
        let (address, token, due) = (candidate.address, candidate.token, candidate.due);
        if let Some(index) = association.current.as_ref().map(|epoch| epoch.index) {
            let reset = Some((index, self.local.identity.reset_token(index, address)));
            self.control(place, now, address, Control::Challenge { token, reset });
        }
        self.arm(due);
    }

    /// Keeps the token that the peer goes by where it has asked for a proof. So whoever has proved to be there has it. [UDP-63]
    fn on_token(&mut self, place: u32, number: u64, index: u32, token: Token) {
        let current = self.associations.at_mut(place).and_then(|it| it.current.as_mut());
        let is_of = |epoch: &&mut Epoch| crate::planted!("token-for-other-keys": epoch.peer_index == index => true);
        if let Some(epoch) = current.filter(is_of) {
            epoch.tell_token(number, token);
        }
    }

    /// Moves the association if the token is the candidate's.
    fn on_response(&mut self, place: u32, now: Time, token: u64) {
        let Some(association) = self.associations.at_mut(place) else { return };
        let Some(candidate) = association.candidate.take_if(|candidate| candidate.token == token)
        else {
            return;
        };
        let left = std::mem::replace(&mut association.address, candidate.address);
        association.source = candidate.source;
        let (id, of) = (association.id, association.peer);
        self.associations.settle(place, Some(left));
        let peer = self.peers.at_mut(of);
        // A renewal that was asked for where it was would never be answered.
        let attempt = peer.attempt.as_mut().filter(|attempt| attempt.to == left);
        let is_renewing = attempt.is_some();
        if let Some(attempt) = attempt {
            (attempt.to, attempt.retry_at) = (candidate.address, now);
        }
        let peer = peer.key;
        if is_renewing {
            self.arm(now);
        }
        self.audit.record(now, Some(candidate.address), What::Moved { peer });
        self.tell(Event::Moved { association: id, address: candidate.address });
    }
}
