//! What keeps the packets of a session secret and whole. [RDMA-36]
//!
//! Requests have a key and replies have one, and the nonce is the request's number. A number names one request and one
//! reply, and all that is sent of either is the same bytes; so what is repeated is sealed again to the same packet, and no
//! nonce seals two texts.

use super::wire::{HEADER_BYTES, Header, Kind};
use crate::secure::aead::{Aead, Cipher, TAG_BYTES};
use crate::secure::digest::derive;
use crate::secure::key::Key;

/// What protects the packets of one session. Both ends have to say the same.
#[derive(Debug)]
pub enum Protection {
    /// They are sealed under keys made of this secret and of both numbers of the session. Only the two ends have it, and for
    /// this session alone: one draws it at random, and tells it with its number of the session. Whoever sees packets of two
    /// sessions that have one secret, and the same numbers, can read and forge both; numbers are the same at the first
    /// sessions of all nodes, so they make up for nothing.
    Sealed(Key),
    /// The peer is trusted, and everybody on the network to it: whoever is on the way can read and forge them.
    Trusted,
}

/// The ciphers of one end of a session, if there are any.
#[derive(Debug)]
pub(super) struct Seals {
    sends: Option<Cipher>,
    takes: Option<Cipher>,
}

impl Seals {
    /// Of the end that sends packets of that kind, of the session that the client and the server call so.
    #[expect(clippy::needless_pass_by_value, reason = "the secret is wiped when its keys are made")]
    pub(super) fn new(protection: Protection, sends: Kind, client: u32, server: u32) -> Self {
        let Protection::Sealed(secret) = &protection else {
            return Self { sends: None, takes: None };
        };
        let server = crate::planted!("rpc-key-of-any-session": server => client);
        let session = [client.to_le_bytes(), server.to_le_bytes()];
        let cipher = |label: &[u8]| Some(Cipher::new(&derive(secret, label, &[&session.concat()])));
        let (requests, replies) = (b"greenroom rpc requests".as_slice(), b"greenroom rpc replies");
        let replies = crate::planted!("rpc-one-key-both-ways": replies => requests);
        let (requests, replies) = (cipher(requests), cipher(replies));
        match sends {
            Kind::Request => Self { sends: requests, takes: replies },
            Kind::Reply => Self { sends: replies, takes: requests },
        }
    }

    /// Whether packets that are sent are sealed.
    pub(super) const fn is_sealed(&self) -> bool {
        self.sends.is_some()
    }

    /// Writes a packet; how many bytes that is, or zero if there is no room.
    #[inline]
    pub(super) fn write(&self, header: &Header, payload: &[u8], into: &mut [u8]) -> usize {
        let end = HEADER_BYTES + payload.len();
        let Some(packet) = into.get_mut(..end) else { return 0 };
        let (head, text) = packet.split_at_mut(HEADER_BYTES);
        head.copy_from_slice(&header.encode());
        text.copy_from_slice(payload);
        match &self.sends {
            Some(cipher) => {
                into.get_mut(..end + TAG_BYTES).map_or(0, |it| seal(cipher, header, it))
            }
            None => end,
        }
    }

    /// What is in a packet, opened in place. None if it is not protected as this session's are.
    #[inline]
    pub(super) fn open<'p>(&self, header: &Header, packet: &'p mut [u8]) -> Option<&'p [u8]> {
        match (&self.takes, header.is_sealed) {
            (Some(cipher), true) => open(cipher, header, packet),
            (None, false) => packet.get(HEADER_BYTES..),
            _ if crate::planted!("rpc-plain-taken": false => true) => packet.get(HEADER_BYTES..),
            _ => None,
        }
    }
}

/// What the nonce of a packet is made of.
#[inline]
fn counter(header: &Header) -> u64 {
    crate::planted!("rpc-one-nonce": header.number => 0)
}

/// Seals a packet, which has room for its tag; how many bytes that is. Apart, so that one that is not sealed pays nothing.
#[inline(never)]
fn seal(cipher: &Cipher, header: &Header, packet: &mut [u8]) -> usize {
    let len = packet.len();
    let (head, rest) = packet.split_at_mut(HEADER_BYTES);
    let Some((text, tag)) = rest.split_last_chunk_mut() else { return 0 };
    *tag = cipher.seal(counter(header), head, text);
    len
}

#[inline(never)]
fn open<'p>(cipher: &Cipher, header: &Header, packet: &'p mut [u8]) -> Option<&'p [u8]> {
    let (head, rest) = packet.split_at_mut_checked(HEADER_BYTES)?;
    let (text, tag) = rest.split_last_chunk_mut()?;
    cipher.open(counter(header), head, text, tag).ok()?;
    Some(text)
}
