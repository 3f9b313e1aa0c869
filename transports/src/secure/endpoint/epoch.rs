//! The keys of an association between two handshakes: one pair for each lane, and one for control.

use crate::link::Time;
use crate::secure::handshake::{Role, Secrets};
use crate::secure::identity::Token;
use crate::secure::packet::{Opener, SealError, Sealer};
use crate::secure::wire::OVERHEAD_BYTES;
use subtle::ConstantTimeEq;

/// The lane on which this layer speaks for itself: it confirms keys and proves paths.
pub const CONTROL_LANE: u8 = 255;

/// One lane under one set of keys.
#[derive(Debug)]
pub(super) struct Lane {
    number: u8,
    pub(super) sealer: Sealer,
    pub(super) opener: Opener,
    sent_packets: u64,
    sent_bytes: u64,
}

/// What a handshake has made.
#[derive(Debug)]
pub(super) struct Epoch {
    /// Under what the peer names it to us.
    pub(super) index: u32,
    /// Under what we name it to the peer.
    pub(super) peer_index: u32,
    /// What the peer sends if it has forgotten the association.
    peer_token: Token,
    /// The same, if it has been told another one for another address of ours, and in which packet of the control lane.
    told_token: Option<(u64, Token)>,
    pub(super) since: Time,
    /// Which of the handshakes of the association it is from.
    pub(super) order: u64,
    /// Whether anything under it has come.
    pub(super) heard: bool,
    lanes: Vec<Lane>,
}

/// What an epoch is made from.
pub(super) struct Made {
    pub(super) index: u32,
    pub(super) peer_index: u32,
    pub(super) peer_token: Token,
    pub(super) role: Role,
    pub(super) lanes: u8,
}

impl Epoch {
    /// Derives the keys. Packet numbers go on where those of the epoch before end.
    pub(super) fn new(
        made: &Made,
        secrets: &Secrets,
        before: Option<&Self>,
        order: u64,
        now: Time,
    ) -> Self {
        let &Made { index, peer_index, peer_token, role, lanes } = made;
        let other = match role {
            Role::Initiator => Role::Responder,
            Role::Responder => Role::Initiator,
        };
        let lane = |number: u8| {
            let next =
                before.and_then(|before| before.lane(number)).map_or(0, |lane| lane.sealer.next());
            Lane {
                number,
                sealer: Sealer::new(&secrets.lane(role, number), number, peer_index, next),
                opener: Opener::new(&secrets.lane(other, number)),
                sent_packets: 0,
                sent_bytes: 0,
            }
        };
        let lanes = (0..lanes).chain([CONTROL_LANE]).map(lane).collect();
        Self {
            index,
            peer_index,
            peer_token,
            told_token: None,
            since: now,
            order,
            heard: false,
            lanes,
        }
    }

    /// How many lanes there are for data.
    pub(super) fn lanes(&self) -> u8 {
        u8::try_from(self.lanes.len() - 1).unwrap_or(CONTROL_LANE)
    }

    fn lane(&self, number: u8) -> Option<&Lane> {
        self.place(number).map(|place| &self.lanes[place])
    }

    pub(super) fn lane_mut(&mut self, number: u8) -> Option<&mut Lane> {
        self.place(number).map(|place| &mut self.lanes[place])
    }

    /// The control lane stands behind the others.
    fn place(&self, number: u8) -> Option<usize> {
        let data = self.lanes.len() - 1;
        match number {
            CONTROL_LANE => Some(data),
            _ => Some(usize::from(number)).filter(|&place| place < data),
        }
    }

    /// The peer has told a token for another address of ours. The one from the handshake stays good: what is on its way
    /// may be told to go back there. What comes late says nothing of where we are now. [UDP-61]
    pub(super) fn tell_token(&mut self, number: u64, token: Token) {
        let is_late = self.told_token.is_some_and(|(newest, _)| number < newest);
        if crate::planted!("late-token-kept": is_late => false) {
            return;
        }
        self.told_token = crate::planted!("token-told-in-vain": Some((number, token)) => None);
    }

    /// Whether a reset with that token is the peer's.
    pub(super) fn is_reset_by(&self, token: &[u8]) -> bool {
        let told = self.told_token.is_some_and(|(_, told)| bool::from(told.0.ct_eq(token)));
        told | bool::from(self.peer_token.0.ct_eq(token))
    }

    pub(super) fn forgeries(&self) -> u64 {
        self.lanes.iter().map(|lane| lane.opener.forgeries()).sum()
    }
}

impl Lane {
    /// Seals a packet, and counts it.
    pub(super) fn seal(&mut self, number: Option<u64>, packet: &mut [u8]) -> Result<(), SealError> {
        debug_assert!(self.number == CONTROL_LANE || packet.len() >= OVERHEAD_BYTES, "no room");
        match number {
            Some(number) => self.sealer.seal_as(number, packet)?,
            None => drop(self.sealer.seal(packet)?),
        }
        self.sent_packets += 1;
        self.sent_bytes += packet.len() as u64;
        Ok(())
    }

    /// Whether the keys have carried so much that they are to be renewed.
    pub(super) fn is_worn(&self, packets: u64, bytes: u64) -> bool {
        self.sent_packets >= packets || self.sent_bytes >= bytes
    }
}
