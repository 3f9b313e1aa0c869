//! Two endpoints and the packets between them, which tests and fuzzers hold in their hands.

use super::*;
use crate::secure::wire::{OVERHEAD_BYTES, Suite};
use rustc_hash::FxHasher;
use std::hash::{Hash, Hasher};
use std::sync::OnceLock;

/// Randomness from a seed, by splitmix64.
#[derive(Clone, Debug)]
pub(crate) struct Seeded(pub(crate) u64);

impl Seeded {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }
}

impl Entropy for Seeded {
    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), NoEntropy> {
        bytes.iter_mut().for_each(|byte| *byte = self.next() as u8);
        Ok(())
    }
}

pub(crate) fn ms(millis: u64) -> Time {
    Time::from_nanos(millis * 1_000_000)
}

pub(crate) fn address(host: u8) -> SocketAddr {
    SocketAddr::from(([192, 0, 2, host], 7000))
}

/// That of a host, which is made once: worlds are many, and public keys take long.
pub(crate) fn identity(host: u8) -> Identity {
    static MADE: [OnceLock<Identity>; 256] = [const { OnceLock::new() }; 256];
    let made = MADE[usize::from(host)].get_or_init(|| Identity::new(Key::new([host; 32])));
    made.clone()
}

/// Limits by which nodes are made soon: tables for few sources and entries, instead of nearly half a megabyte.
pub(crate) fn small_config(suite: Suite) -> Config {
    Config { suite, source_sets: 4, audit_entries: 64, ..Config::default() }
}

pub(crate) fn cluster() -> Key {
    Key::new(*b"the key that the cluster shares.")
}

/// A node that may talk to the hosts 1 to 3.
pub(super) fn node(host: u8, life: u64, config: Config) -> Endpoint {
    let entropy = Box::new(Seeded(u64::from(host) << 32 | life));
    let since = Duration::from_secs(1_700_000_000 + life);
    let node = Endpoint::new(config, identity(host), Some(cluster()), since, entropy);
    let mut node = node.expect("there is randomness");
    (1..=3).filter(|&other| other != host).for_each(|other| node.allow(identity(other).public()));
    node
}

/// Two nodes and the packets between them, delivered when told so.
pub(super) struct Pair {
    pub(super) now: Time,
    pub(super) a: Endpoint,
    pub(super) b: Endpoint,
}

pub(super) fn pair(config: &Config) -> Pair {
    // The same seeds give the same keys, so each pair is a world of its own.
    #[cfg(test)]
    crate::secure::packet::watch::forget();
    Pair { now: ms(1), a: node(1, 0, config.clone()), b: node(2, 0, config.clone()) }
}

/// The association that the next event brings up.
pub(super) fn up(node: &mut Endpoint) -> Option<AssociationId> {
    std::iter::from_fn(|| node.poll_event()).find_map(|event| match event {
        Event::Up { association, .. } => Some(association),
        _ => None,
    })
}

pub(super) fn events(node: &mut Endpoint) -> Vec<Event> {
    std::iter::from_fn(|| node.poll_event()).collect()
}

/// A sealed packet with the text.
pub(super) fn sealed(
    node: &mut Endpoint,
    now: Time,
    association: AssociationId,
    number: u64,
    text: &[u8],
) -> Result<Transmit, SealFailed> {
    let mut packet = vec![0; text.len() + OVERHEAD_BYTES];
    packet[16..16 + text.len()].copy_from_slice(text);
    let to = node.seal(now, association, 0, number, &mut packet)?;
    Ok(Transmit { to, source: node.source(association), packet })
}

/// Everything that a rejected packet must leave as it was.
pub(super) fn digest(node: &mut Endpoint) -> u64 {
    let mut state = FxHasher::default();
    node.associations.iter_mut().for_each(|association| association.digest(&mut state));
    node.peers.places().for_each(|place| {
        let peer = node.peers.at(place);
        let attempt = peer.attempt.as_ref().map(|attempt| (attempt.index, attempt.retry_at));
        (peer.newest.0, peer.live, peer.newborn, attempt, peer.cookie.is_some()).hash(&mut state);
    });
    (node.indices.len(), node.associations.len(), node.deadline).hash(&mut state);
    (node.transmits.len(), node.events.len(), node.contacts.deadline()).hash(&mut state);
    state.finish()
}
