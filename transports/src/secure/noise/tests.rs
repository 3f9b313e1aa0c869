//! The handshakes against the vectors of another implementation, by the parts that the crate uses.

use super::*;
use crate::secure::handshake::Role;
use crate::secure::handshake::Secrets;
use std::collections::BTreeMap;

const VECTORS: &str = include_str!("cacophony.txt");

fn bytes(hex: &str) -> Vec<u8> {
    let digit = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
    (0..hex.len()).step_by(2).map(digit).collect()
}

/// A curve on which every public key is the point zero, which agrees with nobody on anything.
struct Zero(X25519);

impl Dh for Zero {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn pub_len(&self) -> usize {
        self.0.pub_len()
    }

    fn priv_len(&self) -> usize {
        self.0.priv_len()
    }

    fn set(&mut self, secret: &[u8]) {
        self.0.set(secret);
    }

    fn generate(&mut self, random: &mut dyn Random) -> Result<(), Error> {
        self.0.generate(random)
    }

    fn pubkey(&self) -> &[u8] {
        &[0; KEY_BYTES]
    }

    fn privkey(&self) -> &[u8] {
        self.0.privkey()
    }

    fn dh(&self, public: &[u8], out: &mut [u8]) -> Result<(), Error> {
        self.0.dh(public, out)
    }
}

struct OnZero(Resolver);

impl CryptoResolver for OnZero {
    fn resolve_rng(&self) -> Option<Box<dyn Random>> {
        self.0.resolve_rng()
    }

    fn resolve_dh(&self, _: &DHChoice) -> Option<Box<dyn Dh>> {
        Some(Box::new(Zero(X25519::default())))
    }

    fn resolve_hash(&self, choice: &HashChoice) -> Option<Box<dyn Hash>> {
        self.0.resolve_hash(choice)
    }

    fn resolve_cipher(&self, choice: &CipherChoice) -> Option<Box<dyn Cipher>> {
        self.0.resolve_cipher(choice)
    }
}

impl Start<'_> {
    /// One that asks with the point zero.
    pub(crate) fn zero_initiator(self) -> HandshakeState {
        let resolver = Box::new(OnZero(Resolver(self.ephemeral.clone())));
        self.builder(resolver).unwrap().build_initiator().unwrap()
    }
}

struct Vector<'a> {
    values: BTreeMap<&'a str, Vec<u8>>,
    suite: Suite,
    messages: Vec<(Vec<u8>, Vec<u8>)>,
}

fn vectors() -> Vec<Vector<'static>> {
    let parse = |section: &'static str| {
        let (mut values, mut messages) = (BTreeMap::new(), Vec::new());
        let mut suite = Suite::Classic;
        for line in section.lines() {
            match *line.split(' ').collect::<Vec<_>>() {
                ["message", payload, text] => messages.push((bytes(payload), bytes(text))),
                ["protocol", name] if name.contains("XXpsk3") => suite = Suite::FirstContact,
                ["protocol", name] => assert!(name.contains("IKpsk2")),
                [name, value] => drop(values.insert(name, bytes(value))),
                _ => panic!("{line}"),
            }
        }
        Vector { values, suite, messages }
    };
    VECTORS.split("\n\n").skip(1).map(|section| parse(section.trim())).collect()
}

impl Vector<'_> {
    fn key(&self, name: &str) -> Key {
        Key::new(self.values[name].clone().try_into().unwrap())
    }

    fn sides(&self) -> [HandshakeState; 2] {
        let remote =
            self.values.get("init_remote_static").map(|key| key.as_slice().try_into().unwrap());
        let psk = self.key("psk");
        let start = |side: &str, remote| {
            let secret = self.key(&format!("{side}_static"));
            let ephemeral = self.key(&format!("{side}_ephemeral"));
            (secret, ephemeral, remote)
        };
        let build = |(secret, ephemeral, remote): (Key, Key, Option<&[u8; 32]>),
                     initiator: bool| {
            let prologue = &self.values["prologue"];
            let start = Start {
                suite: self.suite,
                secret: &secret,
                remote,
                prologue,
                psk: Some(&psk),
                ephemeral,
            };
            if initiator { start.initiator() } else { start.responder() }
        };
        [build(start("init", remote), true).unwrap(), build(start("resp", None), false).unwrap()]
    }
}

#[test]
fn the_vectors_of_another_library_come_out() {
    let vectors = vectors();
    assert_eq!(vectors.len(), 2);
    for vector in vectors {
        let mut sides = vector.sides();
        let length = if vector.suite == Suite::FirstContact { 3 } else { 2 };
        for (turn, (payload, expected)) in vector.messages[..length].iter().enumerate() {
            let [first, second] = &mut sides;
            let (writer, reader) = if turn % 2 == 0 { (first, second) } else { (second, first) };
            let (mut message, mut read) = ([0; 256], [0; 256]);
            let written = writer.write_message(payload, &mut message).unwrap();
            assert_eq!(&message[..written], expected, "{:?}, message {turn}", vector.suite);
            let length = reader.read_message(&message[..written], &mut read).unwrap();
            assert_eq!(&read[..length], payload);
        }
        let [mut first, mut second] = sides;
        assert_eq!(first.get_handshake_hash(), vector.values["handshake_hash"]);
        let secrets = [Secrets::split(&mut first), Secrets::split(&mut second)];
        texts_come_out(&vector, &secrets, length);
    }
}

/// The secrets that both sides split off seal what the vectors go on with.
fn texts_come_out(vector: &Vector<'_>, secrets: &[Secrets; 2], length: usize) {
    for (turn, (payload, expected)) in vector.messages.iter().enumerate().skip(length) {
        let role = if turn % 2 == 0 { Role::Initiator } else { Role::Responder };
        for secrets in secrets {
            let mut text = payload.clone();
            let number = (turn - length) as u64 / 2;
            let tag = Sealing::new(secrets.of(role)).seal(number, &[], &mut text);
            assert_eq!([text.as_slice(), &tag].concat(), *expected, "message {turn}");
        }
    }
}

#[test]
fn a_message_that_does_not_open_leaves_the_handshake_as_it_was() {
    let vector = &vectors()[0];
    let [mut first, mut second] = vector.sides();
    let (mut message, mut read) = ([0; 256], [0; 256]);
    let written = first.write_message(b"one", &mut message).unwrap();
    second.read_message(&message[..written], &mut read).unwrap();
    let written = second.write_message(b"two", &mut message).unwrap();
    for bit in 0..written * 8 {
        let mut altered = message;
        altered[bit / 8] ^= 1 << (bit % 8);
        // The curve ignores the highest bit of a point, but the hash does not.
        assert!(first.read_message(&altered[..written], &mut read).is_err(), "bit {bit}");
    }
    assert!(first.read_message(&message[..written], &mut read).is_ok());
}

#[test]
fn points_of_small_order_are_refused() {
    let mut curve = X25519::default();
    curve.set(&[7; 32]);
    for point in [[0; 32], std::array::from_fn(|at| u8::from(at == 0))] {
        assert!(curve.dh(&point, &mut [0; 32]).is_err());
    }
}
