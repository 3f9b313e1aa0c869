//! First contact: Noise XXpsk3 between nodes that share a cluster key but not each other's public keys.
//!
//! ```text
//! init    header 8  | e 32 | zeros 104 +16      | codes 32     192 bytes
//! resp    header 12 | e 32 | s 32+16 | tag 16   | codes 32     140 bytes
//! finish  header 12 | s 32+16 | tag 16          | codes 32     108 bytes
//! ```
//!
//! It makes no keys for data. The one who is asked learns the asker's key from the third message, which
//! only a holder of the cluster key can seal. The asker learns a key from the second, and believes it when
//! a handshake with that key, in which the cluster key is mixed, has been answered.

use super::entropy::{Entropy, NoEntropy, draw};
use super::guard::{CODES_BYTES, Codes, Cookie, second_is_zero};
use super::handshake::{Local, init_bytes, resp_bytes, write};
use super::key::{Key, PublicKey};
use super::noise::Start;
use super::reject::Reject;
use super::wire::{HandshakeHeader, Kind, Suite};
use snow::HandshakeState;

/// How many bytes a third message has.
pub(crate) const FINISH_BYTES: usize = 108;

const SUITE: Suite = Suite::FirstContact;
const ZEROS: [u8; 104] = [0; 104];

/// A first contact that this node began.
pub(crate) struct Sought {
    noise: HandshakeState,
    index: u32,
    /// The first code of the packet, to which a cookie is bound.
    pub(crate) first_code: [u8; 16],
}

/// A first contact that another node began, answered.
pub(crate) struct Met {
    noise: HandshakeState,
}

fn start<'a>(local: &'a Local, prologue: &'a [u8], ephemeral: Key) -> Start<'a> {
    Start {
        suite: SUITE,
        secret: local.identity.secret(),
        remote: None,
        prologue,
        psk: Some(&local.cluster),
        ephemeral,
    }
}

impl Sought {
    /// Asks whoever is there; the answer will name `index`.
    pub(crate) fn begin(
        local: &Local,
        index: u32,
        cookie: Option<&Cookie>,
        entropy: &mut dyn Entropy,
    ) -> Result<(Self, Vec<u8>), NoEntropy> {
        let mut packet = Vec::with_capacity(init_bytes(SUITE));
        HandshakeHeader { kind: Kind::Init, suite: SUITE, sender: index, receiver: None }
            .encode(&mut packet);
        let header = packet.clone();
        let start = start(local, &header, Key::new(draw(entropy)?));
        let mut noise = start.initiator().expect("the pattern has all it needs");
        write(&mut noise, &ZEROS, &mut packet).expect("nothing is agreed on yet");
        let first_code = Codes::of_cluster(&local.cluster).stamp(cookie, &mut packet);
        debug_assert_eq!(packet.len(), init_bytes(SUITE), "UDP-31");
        Ok((Self { noise, index, first_code }, packet))
    }

    /// Takes an answer, its first code checked: whose it is, if it is honest, and the third message. A
    /// wrong one leaves the contact as it was; after a right one it is over.
    pub(crate) fn answered(
        &mut self,
        local: &Local,
        packet: &[u8],
    ) -> Result<(PublicKey, Vec<u8>), Reject> {
        if packet.len() != resp_bytes(SUITE) {
            return Err(Reject::Length);
        }
        if !second_is_zero(packet) {
            return Err(Reject::Mac2);
        }
        let (header, length) = HandshakeHeader::decode(Kind::Resp, packet)?;
        if header.suite != SUITE {
            return Err(Reject::Suite);
        }
        let message = &packet[length..packet.len() - CODES_BYTES];
        let read = self.noise.read_message(message, &mut [0; 64]).map_err(|_| Reject::Handshake)?;
        let remote = remote(&self.noise).filter(|_| read == 0).ok_or(Reject::Handshake)?;
        let mut finish = Vec::with_capacity(FINISH_BYTES);
        let receiver = Some(header.sender);
        HandshakeHeader { kind: Kind::Finish, suite: SUITE, sender: self.index, receiver }
            .encode(&mut finish);
        write(&mut self.noise, &[], &mut finish).map_err(|_| Reject::Handshake)?;
        Codes::of_cluster(&local.cluster).stamp(None, &mut finish);
        debug_assert_eq!(finish.len(), FINISH_BYTES, "UDP-31");
        Ok((remote, finish))
    }
}

impl Met {
    /// Reads a first message without its codes, which were checked, and answers under `index`.
    pub(crate) fn answer(
        local: &Local,
        body: &[u8],
        index: u32,
        entropy: &mut dyn Entropy,
    ) -> Result<(Self, Vec<u8>), Reject> {
        let (header, length) = HandshakeHeader::decode(Kind::Init, body)?;
        let (head, message) = body.split_at(length);
        let ephemeral = Key::new(draw(entropy).map_err(|_| Reject::Handshake)?);
        let responder = start(local, head, ephemeral).responder();
        let mut noise = responder.map_err(|_| Reject::Handshake)?;
        let mut zeros = [1; ZEROS.len() + 16];
        noise.read_message(message, &mut zeros).map_err(|_| Reject::Handshake)?;
        if !zeros.starts_with(&ZEROS) {
            return Err(Reject::Handshake);
        }
        let mut packet = Vec::with_capacity(resp_bytes(SUITE));
        let receiver = Some(header.sender);
        HandshakeHeader { kind: Kind::Resp, suite: SUITE, sender: index, receiver }
            .encode(&mut packet);
        write(&mut noise, &[], &mut packet).map_err(|_| Reject::Handshake)?;
        Codes::of_cluster(&local.cluster).stamp(None, &mut packet);
        debug_assert_eq!(packet.len(), resp_bytes(SUITE), "UDP-31");
        Ok((Self { noise }, packet))
    }

    /// Takes a third message, its first code checked: who asked, and proved to have the cluster key.
    pub(crate) fn finished(&mut self, packet: &[u8]) -> Result<PublicKey, Reject> {
        if packet.len() != FINISH_BYTES {
            return Err(Reject::Length);
        }
        if !second_is_zero(packet) {
            return Err(Reject::Mac2);
        }
        let (_, length) = HandshakeHeader::decode(Kind::Finish, packet)?;
        let message = &packet[length..packet.len() - CODES_BYTES];
        self.noise.read_message(message, &mut [0; 64]).map_err(|_| Reject::Handshake)?;
        remote(&self.noise).ok_or(Reject::Handshake)
    }
}

fn remote(noise: &HandshakeState) -> Option<PublicKey> {
    noise.get_remote_static().and_then(|key| key.try_into().ok()).map(PublicKey)
}
