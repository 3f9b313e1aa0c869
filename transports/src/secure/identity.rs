//! Who a node is: an X25519 pair, and what follows from its secret half alone.

use super::digest::{code, derive};
use super::key::{KEY_BYTES, Key, PublicKey};
use curve25519_dalek::montgomery::MontgomeryPoint;
use std::fmt;
use std::net::{IpAddr, SocketAddr};

/// How many bytes a reset token has.
pub const TOKEN_BYTES: usize = 16;

/// By what a node proves, also after a restart, that it has forgotten an association. Who has it can end that: it is never
/// shown.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Token(pub [u8; TOKEN_BYTES]);

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}

/// The identity of this node.
#[derive(Clone, Debug)]
pub struct Identity {
    secret: Key,
    public: PublicKey,
    reset: Key,
}

impl Identity {
    /// The identity with this secret key: 32 bytes that were random once.
    #[must_use]
    pub fn new(secret: Key) -> Self {
        let public = PublicKey(MontgomeryPoint::mul_base_clamped(*secret.bytes()).to_bytes());
        let reset = derive(&secret, b"greenroom reset", &[]);
        Self { secret, public, reset }
    }

    /// The public key, by which others know this node.
    #[must_use]
    pub fn public(&self) -> PublicKey {
        self.public
    }

    pub(crate) fn secret(&self) -> &Key {
        &self.secret
    }

    /// What proves, also after a restart, that this node gave out `index` to a peer at that address. That
    /// is part of it, with the port, so that a token called forth by somebody else is of no use, also by one behind the
    /// same IP address.
    pub(crate) fn reset_token(&self, index: u32, peer: SocketAddr) -> Token {
        let (ip, port) = (address_bytes(peer.ip()), peer.port().to_le_bytes());
        let token = code(&self.reset, &[&index.to_le_bytes(), &ip, &port]);
        #[cfg(test)]
        super::packet::watch::never_show(&token);
        Token(token)
    }
}

/// The address as IPv6 writes it.
pub(crate) fn address_bytes(address: IpAddr) -> [u8; 16] {
    match address.to_canonical() {
        IpAddr::V4(v4) => v4.to_ipv6_mapped().octets(),
        IpAddr::V6(v6) => v6.octets(),
    }
}

/// X25519 (RFC 7748). None if the result is zero, which it is for points of small order only.
pub(crate) fn agree(secret: &[u8; KEY_BYTES], public: &[u8; KEY_BYTES]) -> Option<[u8; KEY_BYTES]> {
    let shared = MontgomeryPoint(*public).mul_clamped(*secret).to_bytes();
    (shared != [0; KEY_BYTES]).then_some(shared)
}

/// The public key of a secret.
pub(crate) fn public_of(secret: &[u8; KEY_BYTES]) -> [u8; KEY_BYTES] {
    MontgomeryPoint::mul_base_clamped(*secret).to_bytes()
}
