//! What stands before a handshake's costs: two codes behind each handshake packet, and cookies.
//!
//! 1. The first code needs the receiver's name (its public key, or the cluster key at a first contact).
//!    One hash tells scanners from those who know it; nothing is kept for them.
//! 2. The second code needs a cookie, which only one who receives at the source address can have. A node
//!    under load asks for it, and keeps nothing until it comes.
//! 3. A cookie is a code over the source under a secret that changes every two minutes; the last
//!    secret is honoured too. The reply that carries it is sealed, and bound to the packet it answers.
//! 4. Where the peer of an association is, a cookie is good once, as it is also over the number of those that were
//!    good before it: who repeats a packet with one uses up nothing of what that peer may ask for. [UDP-28]

use super::aead::Forged;
use super::aead::extended::{self, NONCE_BYTES};
use super::digest::{CODE_BYTES, code, derive, fits, hash};
use super::entropy::{Entropy, NoEntropy, draw};
use super::identity::address_bytes;
use super::key::{Key, PublicKey};
use super::reject::Reject;
use super::wire::{COOKIE_BYTES, Kind, short_header};
use crate::link::Time;
use std::net::SocketAddr;
use std::time::Duration;
use zeroize::Zeroizing;

/// For how long a cookie is taken, at least, and kept, at most.
pub(crate) const COOKIE_LIFE: Duration = Duration::from_secs(120);
/// How many bytes the two codes have.
pub(crate) const CODES_BYTES: usize = 2 * CODE_BYTES;

/// A cookie.
pub(crate) type Cookie = [u8; CODE_BYTES];

const SHORT_BYTES: usize = 8;

/// The keys of the codes for one receiver.
#[derive(Debug)]
pub(crate) struct Codes {
    first: Key,
    reply: Key,
}

/// What the second code of a packet says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Second {
    /// It is zero: the sender has no cookie.
    Absent,
    /// It was made with a cookie of its source.
    Valid,
    /// It was not.
    Wrong,
}

impl Codes {
    /// For packets to the node with that key.
    pub(crate) fn of(receiver: &PublicKey) -> Self {
        let key = |label: &[u8]| Key::new(hash(&[label, &receiver.0]));
        Self { first: key(b"greenroom mac1"), reply: key(b"greenroom cookie") }
    }

    /// For packets of a first contact, among those who know the cluster key.
    pub(crate) fn of_cluster(cluster: &Key) -> Self {
        let key = |label: &[u8]| derive(cluster, label, &[]);
        Self { first: key(b"greenroom contact mac1"), reply: key(b"greenroom contact cookie") }
    }

    /// Appends both codes, the second zero without a cookie; returns the first.
    pub(crate) fn stamp(&self, cookie: Option<&Cookie>, packet: &mut Vec<u8>) -> [u8; CODE_BYTES] {
        let first = code(&self.first, &[packet]);
        packet.extend(first);
        packet.extend([0; CODE_BYTES]);
        if let Some(cookie) = cookie {
            stamp_second(cookie, packet);
        }
        first
    }

    /// The packet without its codes, if the first fits.
    pub(crate) fn check<'a>(&self, packet: &'a [u8]) -> Result<&'a [u8], Reject> {
        let (body, codes) = split(packet)?;
        // [UDP-20]
        if fits(&self.first, &[body], &codes[..CODE_BYTES]) { Ok(body) } else { Err(Reject::Mac1) }
    }

    /// A packet that gives `cookie` to the sender of `asked`, who knows it by `index`.
    pub(crate) fn reply(
        &self,
        cookie: &Cookie,
        asked: &[u8],
        index: u32,
        entropy: &mut dyn Entropy,
    ) -> Result<Vec<u8>, NoEntropy> {
        let nonce: [u8; NONCE_BYTES] = draw(entropy)?;
        let mut sealed = *cookie;
        let tag = extended::seal(&self.reply, &nonce, first_code(asked), &mut sealed);
        let mut packet = Vec::with_capacity(COOKIE_BYTES);
        short_header(Kind::Cookie, index, &mut packet);
        packet.extend(nonce);
        packet.extend(sealed);
        packet.extend(tag);
        Ok(packet)
    }

    /// The cookie in a reply to the packet whose first code was `first`.
    pub(crate) fn open_reply(
        &self,
        first: &[u8; CODE_BYTES],
        reply: &[u8],
    ) -> Result<Cookie, Reject> {
        let sealed =
            reply.get(SHORT_BYTES..).and_then(|rest| rest.split_first_chunk::<NONCE_BYTES>());
        let (nonce, sealed) = sealed.ok_or(Reject::Length)?;
        let (cookie, tag) = sealed.split_first_chunk::<CODE_BYTES>().ok_or(Reject::Length)?;
        let tag = tag.try_into().map_err(|_| Reject::Length)?;
        let mut cookie = *cookie;
        let opened = extended::open(&self.reply, nonce, first, &mut cookie, tag);
        opened.map(|()| cookie).map_err(|Forged| Reject::Forged)
    }
}

/// The secrets under which cookies are made.
#[derive(Debug)]
pub(crate) struct Jar {
    now: Key,
    before: Key,
    since: Time,
}

impl Jar {
    /// A jar with fresh secrets.
    pub(crate) fn new(now: Time, entropy: &mut dyn Entropy) -> Result<Self, NoEntropy> {
        Ok(Self { now: Key::new(draw(entropy)?), before: Key::new(draw(entropy)?), since: now })
    }

    /// Changes the secret when its time is over.
    pub(crate) fn turn(&mut self, now: Time, entropy: &mut dyn Entropy) -> Result<(), NoEntropy> {
        let age = now.since(self.since);
        if age >= COOKIE_LIFE {
            let fresh = Key::new(draw(entropy)?);
            self.before = std::mem::replace(&mut self.now, fresh);
            if age >= 2 * COOKIE_LIFE {
                self.before = Key::new(draw(entropy)?);
            }
            self.since = now;
        }
        Ok(())
    }

    /// The cookie of a source where `used` were used up.
    pub(crate) fn cookie(&self, source: SocketAddr, used: u64) -> Cookie {
        bake(&self.now, source, used)
    }

    /// What the second code of a packet from `source`, where `used` cookies were used up, says.
    pub(crate) fn second(&self, source: SocketAddr, used: u64, packet: &[u8]) -> Second {
        let Some((body, second)) = packet.split_last_chunk::<CODE_BYTES>() else {
            return Second::Wrong;
        };
        if *second == [0; CODE_BYTES] {
            return Second::Absent;
        }
        let made = |secret| fits(&cookie_key(&bake(secret, source, used)), &[body], second);
        if made(&self.now) || made(&self.before) { Second::Valid } else { Second::Wrong }
    }
}

/// Makes the second code of a packet anew, with a cookie.
pub(crate) fn stamp_second(cookie: &Cookie, packet: &mut [u8]) {
    if let Some((body, second)) = packet.split_last_chunk_mut::<CODE_BYTES>() {
        *second = code(&cookie_key(cookie), &[body]);
    }
}

/// Whether the second code is zero, which it is where no cookie is ever asked for.
pub(crate) fn second_is_zero(packet: &[u8]) -> bool {
    packet.last_chunk() == Some(&[0; CODE_BYTES])
}

fn bake(secret: &Key, source: SocketAddr, used: u64) -> Cookie {
    let (ip, port) = (address_bytes(source.ip()), source.port().to_le_bytes());
    code(secret, &[&ip, &port, &used.to_le_bytes()])
}

fn cookie_key(cookie: &Cookie) -> Key {
    let key = Zeroizing::new(hash(&[b"greenroom mac2", cookie]));
    Key::new(*key)
}

fn split(packet: &[u8]) -> Result<(&[u8], &[u8]), Reject> {
    let body = packet.len().checked_sub(CODES_BYTES).ok_or(Reject::Length)?;
    Ok(packet.split_at(body))
}

fn first_code(packet: &[u8]) -> &[u8] {
    split(packet).map_or(&[], |(_, codes)| &codes[..CODE_BYTES])
}
