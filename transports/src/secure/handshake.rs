//! The handshake: Noise IKpsk2 in one round trip, and with it, for a hybrid one, ML-KEM-768.
//!
//! ```text
//! init   header 8  | e 32 | s 32+16 | hello 56 [| kem key 1184] +16 | codes 32     192 or 1376 bytes
//! resp   header 12 [| kem text 1088] | e 32 | hello 56 +16          | codes 32     148 or 1236 bytes
//! ```
//!
//! The psk that Noise mixes into the answer is derived from the cluster key, the key that the KEM
//! transports (zero without one) and a hash of both headers, the KEM's key and its text. So what either
//! X25519 or ML-KEM protects stays secret, both sides have seen the same indices, suite and version, and
//! only who has the cluster key can answer. The first header is the prologue: a suite cannot be changed.

use super::digest::{derive, hash};
use super::entropy::{Entropy, NoEntropy, draw};
use super::guard::{CODES_BYTES, Codes, Cookie, second_is_zero};
use super::hello::{HELLO_BYTES, Hello};
use super::identity::Identity;
#[cfg(feature = "pq")]
use super::kem;
use super::kem_sizes::{KEM_KEY_BYTES, KEM_TEXT_BYTES};
use super::key::{KEY_BYTES, Key, PublicKey};
use super::noise::{Start, psk_place};
use super::reject::Reject;
use super::wire::{HandshakeHeader, Kind, Suite};
use snow::HandshakeState;
use zeroize::Zeroizing;

/// How many bytes a first message has. [UDP-31]
pub(crate) const fn init_bytes(suite: Suite) -> usize {
    match suite {
        Suite::Classic | Suite::FirstContact => 192,
        Suite::Hybrid => 192 + KEM_KEY_BYTES,
    }
}

/// How many bytes an answer has: fewer than what it answers.
pub(crate) const fn resp_bytes(suite: Suite) -> usize {
    match suite {
        Suite::Classic => 148,
        Suite::Hybrid => 148 + KEM_TEXT_BYTES,
        Suite::FirstContact => 140,
    }
}

/// What a node brings into each of its handshakes.
#[derive(Debug)]
pub(crate) struct Local {
    pub(crate) identity: Identity,
    /// Zero where there is none.
    pub(crate) cluster: Key,
}

/// What both sides have at the end: a secret for each direction.
#[derive(Debug)]
pub(crate) struct Secrets {
    of_initiator: Key,
    of_responder: Key,
}

/// Who sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Initiator,
    Responder,
}

impl Secrets {
    pub(super) fn split(noise: &mut HandshakeState) -> Self {
        let (first, second) = noise.dangerously_get_raw_split();
        let (first, second) = (Zeroizing::new(first), Zeroizing::new(second));
        Self { of_initiator: Key::new(*first), of_responder: Key::new(*second) }
    }

    /// The key of a lane for what that side sends.
    pub(crate) fn lane(&self, sender: Role, lane: u8) -> Key {
        derive(self.of(sender), b"greenroom lane", &[&[lane]])
    }

    /// What that side's keys are derived from.
    pub(super) fn of(&self, sender: Role) -> &Key {
        match crate::planted!("one-key-both-ways": sender => Role::Initiator) {
            Role::Initiator => &self.of_initiator,
            Role::Responder => &self.of_responder,
        }
    }
}

/// Why a handshake is not begun.
#[derive(Debug)]
pub(crate) enum NotBegun {
    NoEntropy,
    /// With the other's key, nobody agrees on anything.
    Key,
}

impl From<NoEntropy> for NotBegun {
    fn from(_: NoEntropy) -> Self {
        Self::NoEntropy
    }
}

/// A handshake that this node began.
pub(crate) struct Asked {
    noise: HandshakeState,
    suite: Suite,
    header: Vec<u8>,
    #[cfg(feature = "pq")]
    kem: Option<kem::Secret>,
    /// The first code of the packet, to which a cookie is bound.
    pub(crate) first_code: [u8; 16],
}

/// What an answer tells.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) hello: Hello,
    pub(crate) secrets: Secrets,
    /// Under what the other knows the keys.
    pub(crate) index: u32,
}

impl Asked {
    /// Begins a handshake with the node `remote`, whose answer will name `index`.
    pub(crate) fn begin(
        local: &Local,
        remote: &PublicKey,
        (suite, index): (Suite, u32),
        hello: &Hello,
        cookie: Option<&Cookie>,
        entropy: &mut dyn Entropy,
    ) -> Result<(Self, Vec<u8>), NotBegun> {
        let mut packet = Vec::with_capacity(init_bytes(suite));
        HandshakeHeader { kind: Kind::Init, suite, sender: index, receiver: None }
            .encode(&mut packet);
        let header = packet.clone();
        let text = hello.encode().to_vec();
        #[cfg(feature = "pq")]
        let kem = match suite {
            Suite::Hybrid => Some(kem::Secret::from_seed(&Zeroizing::new(draw(entropy)?))),
            Suite::Classic | Suite::FirstContact => None,
        };
        #[cfg(feature = "pq")]
        let text = [text, kem.iter().flat_map(kem::Secret::public).collect()].concat();
        let start = Start {
            suite,
            secret: local.identity.secret(),
            remote: Some(&remote.0),
            prologue: &header,
            psk: None,
            ephemeral: Key::new(draw(entropy)?),
        };
        let mut noise = start.initiator().expect("the pattern has all it needs");
        write(&mut noise, &text, &mut packet).map_err(|_| NotBegun::Key)?;
        let first_code = Codes::of(remote).stamp(cookie, &mut packet);
        debug_assert_eq!(packet.len(), init_bytes(suite), "UDP-31");
        Ok((
            Self {
                noise,
                suite,
                header,
                #[cfg(feature = "pq")]
                kem,
                first_code,
            },
            packet,
        ))
    }

    /// Takes an answer, its first code checked. A wrong one leaves the handshake as it was.
    pub(crate) fn answered(&mut self, local: &Local, packet: &[u8]) -> Result<Answer, Reject> {
        if packet.len() != resp_bytes(self.suite) {
            return Err(Reject::Length);
        }
        // A cookie is never asked for from one that answers.
        if !second_is_zero(packet) {
            return Err(Reject::Mac2);
        }
        let (header, length) = HandshakeHeader::decode(Kind::Resp, packet)?;
        if header.suite != self.suite {
            return Err(Reject::Suite);
        }
        let (head, body) = packet[..packet.len() - CODES_BYTES].split_at(length);
        let (text, message) = body.split_at(kem_text_bytes(self.suite));
        let key = self.open_kem(text)?;
        let bound =
            Bound { init: &self.header, resp: head, kem_key: &self.kem_key(), kem_text: text };
        let psk = bound.psk(&local.cluster, &key);
        set_psk(&mut self.noise, self.suite, &psk);
        let mut hello = [0; HELLO_BYTES + 16];
        let read = self.noise.read_message(message, &mut hello).map_err(|_| Reject::Handshake)?;
        let hello = hello.get(..read).and_then(Hello::decode).ok_or(Reject::Handshake)?;
        Ok(Answer { hello, secrets: Secrets::split(&mut self.noise), index: header.sender })
    }

    #[cfg(feature = "pq")]
    fn open_kem(&self, text: &[u8]) -> Result<Key, Reject> {
        match &self.kem {
            None => Ok(Key::new([0; KEY_BYTES])),
            Some(secret) => secret.open(text).map_err(|_| Reject::Handshake),
        }
    }

    #[cfg(feature = "pq")]
    fn kem_key(&self) -> Vec<u8> {
        self.kem.iter().flat_map(kem::Secret::public).collect()
    }

    #[cfg(not(feature = "pq"))]
    fn open_kem(&self, _: &[u8]) -> Result<Key, Reject> {
        Ok(Key::new([0; KEY_BYTES]))
    }

    #[cfg(not(feature = "pq"))]
    fn kem_key(&self) -> Vec<u8> {
        Vec::new()
    }
}

/// A handshake that another node began, read and found authentic.
pub(crate) struct Question {
    noise: HandshakeState,
    header: HandshakeHeader,
    prologue: Vec<u8>,
    kem_key: Vec<u8>,
    pub(crate) remote: PublicKey,
    pub(crate) hello: Hello,
}

impl Question {
    /// Reads a first message without its codes, which were checked.
    pub(crate) fn read(
        local: &Local,
        body: &[u8],
        entropy: &mut dyn Entropy,
    ) -> Result<Self, Reject> {
        let (header, length) = HandshakeHeader::decode(Kind::Init, body)?;
        let (head, message) = body.split_at(length);
        let start = Start {
            suite: header.suite,
            secret: local.identity.secret(),
            remote: None,
            prologue: head,
            psk: None,
            ephemeral: Key::new(draw(entropy).map_err(|_| Reject::Handshake)?),
        };
        let mut noise = start.responder().map_err(|_| Reject::Handshake)?;
        let mut text = vec![0; message.len()];
        let read = noise.read_message(message, &mut text).map_err(|_| Reject::Handshake)?;
        let (hello, kem_key) = text
            .get(..read)
            .and_then(|text| text.split_at_checked(HELLO_BYTES))
            .ok_or(Reject::Handshake)?;
        let remote = noise.get_remote_static().and_then(|key| key.try_into().ok());
        Ok(Self {
            remote: PublicKey(remote.ok_or(Reject::Handshake)?),
            hello: Hello::decode(hello).ok_or(Reject::Handshake)?,
            kem_key: kem_key.to_vec(),
            prologue: head.to_vec(),
            header,
            noise,
        })
    }

    /// What the handshake is.
    pub(crate) fn header(&self) -> &HandshakeHeader {
        &self.header
    }

    /// Answers. The asker will be known by `index`.
    pub(crate) fn answer(
        mut self,
        local: &Local,
        index: u32,
        hello: &Hello,
        entropy: &mut dyn Entropy,
    ) -> Result<(Secrets, Vec<u8>), Reject> {
        let suite = self.header.suite;
        let mut packet = Vec::with_capacity(resp_bytes(suite));
        let receiver = Some(self.header.sender);
        HandshakeHeader { kind: Kind::Resp, suite, sender: index, receiver }.encode(&mut packet);
        let (key, text) = self.encapsulate(entropy)?;
        let bound =
            Bound { init: &self.prologue, resp: &packet, kem_key: &self.kem_key, kem_text: &text };
        let psk = bound.psk(&local.cluster, &key);
        packet.extend(&text);
        set_psk(&mut self.noise, suite, &psk);
        write(&mut self.noise, &hello.encode(), &mut packet).map_err(|_| Reject::Handshake)?;
        Codes::of(&self.remote).stamp(None, &mut packet);
        debug_assert_eq!(packet.len(), resp_bytes(suite), "UDP-31");
        Ok((Secrets::split(&mut self.noise), packet))
    }

    #[cfg(feature = "pq")]
    fn encapsulate(&self, entropy: &mut dyn Entropy) -> Result<(Key, Vec<u8>), Reject> {
        if self.header.suite != Suite::Hybrid {
            return Ok((Key::new([0; KEY_BYTES]), Vec::new()));
        }
        let random = Zeroizing::new(draw(entropy).map_err(|_| Reject::Handshake)?);
        let (key, text) =
            kem::encapsulate(&self.kem_key, &random).map_err(|_| Reject::Handshake)?;
        Ok((key, text.to_vec()))
    }

    #[cfg(not(feature = "pq"))]
    fn encapsulate(&self, _: &mut dyn Entropy) -> Result<(Key, Vec<u8>), Reject> {
        Ok((Key::new([0; KEY_BYTES]), Vec::new()))
    }
}

/// What a psk is bound to.
struct Bound<'a> {
    init: &'a [u8],
    resp: &'a [u8],
    kem_key: &'a [u8],
    kem_text: &'a [u8],
}

impl Bound<'_> {
    /// Extracts from both keys, then expands over the transcript. [UDP-30]
    fn psk(&self, cluster: &Key, kem: &Key) -> Key {
        let both = derive(cluster, b"greenroom psk extract", &[kem.bytes()]);
        let seen = hash(&[self.init, self.resp, self.kem_key, self.kem_text]);
        derive(&both, b"greenroom psk", &[&seen])
    }
}

fn kem_text_bytes(suite: Suite) -> usize {
    if suite == Suite::Hybrid { KEM_TEXT_BYTES } else { 0 }
}

fn set_psk(noise: &mut HandshakeState, suite: Suite, psk: &Key) {
    let set = noise.set_psk(usize::from(psk_place(suite)), psk.bytes());
    set.expect("the pattern has a psk there");
}

/// Appends the next Noise message to the packet, if what the other side has said agrees with ours on something: what it
/// takes for a key may be none. [UDP-35]
pub(super) fn write(
    noise: &mut HandshakeState,
    text: &[u8],
    packet: &mut Vec<u8>,
) -> Result<(), snow::Error> {
    let start = packet.len();
    // A key, a key sealed and a text sealed are the most a message has.
    packet.resize(start + text.len() + 32 + 48 + 16, 0);
    let written = noise.write_message(text, &mut packet[start..]);
    packet.truncate(start + written?);
    Ok(())
}
