//! One who speaks the wire as `book/src/spec/udp.md` has it, by an encoder and a handshake of his own: nothing here
//! comes from the crate under test. Panics where an honest answer would not.

#![allow(dead_code, reason = "each test uses what it needs of him")]

use blake2::digest::consts::U16;
use blake2::digest::{Digest, KeyInit, Mac};
use blake2::{Blake2s256, Blake2sMac, Blake2sMac256};
use chacha20poly1305::aead::AeadInOut;
use chacha20poly1305::{ChaCha20Poly1305, Nonce, Tag};
use curve25519_dalek::montgomery::MontgomeryPoint;

pub(crate) type Key = [u8; 32];

pub(crate) const INIT_BYTES: usize = 192;
pub(crate) const CONTROL: u8 = 255;

fn hash(parts: &[&[u8]]) -> Key {
    let mut state = Blake2s256::new();
    parts.iter().for_each(|part| state.update(part));
    state.finalize().into()
}

fn keyed(key: &Key, parts: &[&[u8]]) -> Key {
    let mut state = Blake2sMac256::new(key.into());
    parts.iter().for_each(|part| state.update(part));
    state.finalize().into_bytes().into()
}

fn code(key: &Key, bytes: &[u8]) -> [u8; 16] {
    let mut state = Blake2sMac::<U16>::new_from_slice(key).expect("32 bytes are a key");
    state.update(bytes);
    state.finalize().into_bytes().into()
}

/// HMAC (RFC 2104) by BLAKE2s, whose blocks have 64 bytes.
fn hmac(key: &Key, parts: &[&[u8]]) -> Key {
    let pad = |with: u8| -> [u8; 64] {
        std::array::from_fn(|at| key.get(at).copied().unwrap_or(0) ^ with)
    };
    let inner = hash(&[&[&pad(0x36)[..]], parts].concat());
    hash(&[&pad(0x5C), &inner])
}

fn seal(key: &Key, number: u64, header: &[u8], text: &[u8]) -> Vec<u8> {
    let mut sealed = text.to_vec();
    let tag = ChaCha20Poly1305::new(key.into()).encrypt_inout_detached(
        &nonce(number),
        header,
        sealed.as_mut_slice().into(),
    );
    sealed.extend(tag.expect("it is short"));
    sealed
}

fn open(key: &Key, number: u64, header: &[u8], sealed: &[u8]) -> Vec<u8> {
    let (text, tag) = sealed.split_last_chunk::<16>().expect("there is a tag");
    let mut text = text.to_vec();
    let opened = ChaCha20Poly1305::new(key.into()).decrypt_inout_detached(
        &nonce(number),
        header,
        text.as_mut_slice().into(),
        &Tag::from(*tag),
    );
    opened.expect("it is authentic");
    text
}

fn nonce(number: u64) -> Nonce {
    let mut nonce = [0; 12];
    nonce[4..].copy_from_slice(&number.to_le_bytes());
    Nonce::from(nonce)
}

pub(crate) fn public(secret: &Key) -> Key {
    MontgomeryPoint::mul_base_clamped(*secret).to_bytes()
}

fn agree(secret: &Key, public: &Key) -> Key {
    MontgomeryPoint(*public).mul_clamped(*secret).to_bytes()
}

/// Noise's symmetric state (revision 34, section 5.2).
struct Symmetric {
    chaining: Key,
    transcript: Key,
    key: Key,
    number: u64,
}

impl Symmetric {
    fn mix_hash(&mut self, bytes: &[u8]) {
        self.transcript = hash(&[&self.transcript, bytes]);
    }

    fn expand<const N: usize>(&self, input: &[u8]) -> [Key; N] {
        let root = hmac(&self.chaining, &[input]);
        let mut last = Vec::new();
        std::array::from_fn(|at| {
            let next = hmac(&root, &[&last, &[at as u8 + 1]]);
            last = next.to_vec();
            next
        })
    }

    fn mix_key(&mut self, input: &[u8]) {
        let [chaining, key] = self.expand(input);
        (self.chaining, self.key, self.number) = (chaining, key, 0);
    }

    fn mix_key_and_hash(&mut self, input: &[u8]) {
        let [chaining, hashed, key] = self.expand(input);
        self.chaining = chaining;
        self.mix_hash(&hashed);
        (self.key, self.number) = (key, 0);
    }

    fn encrypt(&mut self, text: &[u8]) -> Vec<u8> {
        let sealed = seal(&self.key, self.number, &self.transcript, text);
        self.number += 1;
        self.mix_hash(&sealed);
        sealed
    }

    fn decrypt(&mut self, sealed: &[u8]) -> Vec<u8> {
        let text = open(&self.key, self.number, &self.transcript, sealed);
        self.number += 1;
        self.mix_hash(sealed);
        text
    }
}

/// What he says of himself.
#[derive(Clone, Copy)]
pub(crate) struct Said {
    pub(crate) seconds: u64,
    pub(crate) incarnation: u64,
    pub(crate) index: u32,
}

/// A handshake that he began.
pub(crate) struct Asking {
    secret: Key,
    ephemeral: Key,
    cluster: Key,
    header: Vec<u8>,
    noise: Symmetric,
}

/// The first message to `target`, classic, without a cookie; `text` is what follows his hello.
pub(crate) fn ask(secret: &Key, target: &Key, cluster: &Key, said: Said) -> (Asking, Vec<u8>) {
    let ephemeral = keyed(secret, &[&said.seconds.to_le_bytes(), &said.index.to_le_bytes()]);
    let mut packet = vec![0x48, 1, 1, 0];
    packet.extend(said.index.to_le_bytes());
    let name = hash(&[b"Noise_IKpsk2_25519_ChaChaPoly_BLAKE2s"]);
    let mut noise = Symmetric { chaining: name, transcript: name, key: [0; 32], number: 0 };
    noise.mix_hash(&packet);
    noise.mix_hash(target);
    let header = packet.clone();
    packet.extend(public(&ephemeral));
    noise.mix_hash(&public(&ephemeral));
    noise.mix_key(&public(&ephemeral));
    noise.mix_key(&agree(&ephemeral, target));
    packet.extend(noise.encrypt(&public(secret)));
    noise.mix_key(&agree(secret, target));
    packet.extend(noise.encrypt(&hello(secret, said)));
    stamp(target, &mut packet);
    assert_eq!(packet.len(), INIT_BYTES);
    (Asking { secret: *secret, ephemeral, cluster: *cluster, header, noise }, packet)
}

fn hello(secret: &Key, said: Said) -> Vec<u8> {
    let mut hello = ((1_u64 << 62) + 10 + said.seconds).to_be_bytes().to_vec();
    hello.extend([0; 4]);
    hello.extend(&public(secret)[..8]);
    hello.extend(said.incarnation.to_le_bytes());
    hello.extend(1_u16.to_le_bytes());
    hello.extend(1452_u16.to_le_bytes());
    hello.extend((1_u64 << 20).to_le_bytes());
    hello.extend([9; 16]);
    hello
}

/// Puts both codes behind a handshake packet, the second zero.
pub(crate) fn stamp(target: &Key, packet: &mut Vec<u8>) {
    packet.extend(code(&hash(&[b"greenroom mac1", target]), packet));
    packet.extend([0; 16]);
}

/// An association as he sees it.
pub(crate) struct Stranger {
    ours: Key,
    theirs: Key,
    /// Under what the other knows the keys.
    pub(crate) index: u32,
}

impl Asking {
    /// Takes the answer.
    pub(crate) fn answered(mut self, packet: &[u8]) -> Stranger {
        assert_eq!((packet.len(), &packet[..4]), (148, &[0x50, 1, 1, 0][..]));
        assert_eq!(packet[8..12], self.header[4..8], "it names another index");
        let theirs: Key = packet[12..44].try_into().expect("a key");
        let noise = &mut self.noise;
        noise.mix_hash(&theirs);
        noise.mix_key(&theirs);
        noise.mix_key(&agree(&self.ephemeral, &theirs));
        noise.mix_key(&agree(&self.secret, &theirs));
        let both = keyed(&self.cluster, &[b"greenroom psk extract", &[0; 32]]);
        let psk = keyed(&both, &[b"greenroom psk", &hash(&[&self.header, &packet[..12]])]);
        noise.mix_key_and_hash(&psk);
        let hello = noise.decrypt(&packet[44..116]);
        assert_eq!(hello.len(), 56);
        let [ours, theirs] = noise.expand(&[]);
        let index = u32::from_le_bytes(packet[4..8].try_into().expect("four bytes"));
        Stranger { ours, theirs, index }
    }
}

impl Stranger {
    /// A data packet.
    pub(crate) fn seal(&self, lane: u8, number: u64, text: &[u8]) -> Vec<u8> {
        let mut packet = vec![0x40, lane, 0, 0];
        packet.extend(self.index.to_le_bytes());
        packet.extend(number.to_le_bytes());
        let key = keyed(&self.ours, &[b"greenroom lane", &[lane]]);
        let sealed = seal(&key, number, &packet, text);
        packet.extend(sealed);
        packet
    }

    /// What a data packet to him says: lane, number, text.
    pub(crate) fn open(&self, packet: &[u8]) -> (u8, u64, Vec<u8>) {
        let (header, sealed) = packet.split_at(16);
        assert_eq!((header[0], &header[2..4]), (0x40, &[0, 0][..]));
        let number = u64::from_le_bytes(header[8..16].try_into().expect("eight bytes"));
        let key = keyed(&self.theirs, &[b"greenroom lane", &[header[1]]]);
        (header[1], number, open(&key, number, header, sealed))
    }
}
