//! What two nodes say to each other about a queue pair, as bytes. [RDMA-40]
#![deny(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation
)]

use crate::rdma::verbs::Endpoint;

/// What an end says of its queue pair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Terms {
    /// How it is reached.
    pub endpoint: Endpoint,
    /// How many receives it has posted.
    pub receives: u32,
    /// Bytes of a packet that it takes, keys included.
    pub packet_bytes: u32,
}

/// See the [module](self).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
    /// I have a queue pair for you. `plain` if packets need not be sealed.
    Offer { attempt: u64, terms: Terms, plain: bool },
    /// I have one, too, which is connected to yours. `plain` if packets are not sealed.
    Accept { attempt: u64, terms: Terms, plain: bool },
    /// I have none for you.
    Refuse { attempt: u64 },
    /// It carries: said by the queue pair itself, with zeros behind it so that it is as long as what follows.
    Ready { attempt: u64 },
    /// I use it no more.
    End { attempt: u64 },
    /// Offer again: I have a device now.
    Again,
}

const OFFER: u8 = 1;
const ACCEPT: u8 = 2;
const REFUSE: u8 = 3;
const READY: u8 = 4;
const END: u8 = 5;
const AGAIN: u8 = 6;

impl Word {
    /// Its first byte.
    pub(super) const fn kind(&self) -> u8 {
        match self {
            Self::Offer { .. } => OFFER,
            Self::Accept { .. } => ACCEPT,
            Self::Refuse { .. } => REFUSE,
            Self::Ready { .. } => READY,
            Self::End { .. } => END,
            Self::Again => AGAIN,
        }
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let (attempt, rest) = match *self {
            Self::Offer { attempt, terms, plain } | Self::Accept { attempt, terms, plain } => {
                (attempt, Some((terms, plain)))
            }
            Self::Refuse { attempt } | Self::Ready { attempt } | Self::End { attempt } => {
                (attempt, None)
            }
            Self::Again => (0, None),
        };
        let mut bytes = vec![self.kind()];
        bytes.extend(attempt.to_le_bytes());
        if let Some((terms, plain)) = rest {
            let Endpoint { gid, lid, qpn, psn, mtu_bytes, .. } = terms.endpoint;
            bytes.push(u8::from(plain));
            bytes.extend(gid);
            bytes.extend(lid.to_le_bytes());
            bytes.extend(qpn.to_le_bytes());
            bytes.extend(psn.to_le_bytes());
            bytes.extend(mtu_bytes.to_le_bytes());
            bytes.extend(terms.receives.to_le_bytes());
            bytes.extend(terms.packet_bytes.to_le_bytes());
        }
        bytes
    }

    /// None if it is no word.
    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let (&kind, rest) = bytes.split_first()?;
        let (attempt, rest) = rest.split_first_chunk()?;
        let attempt = u64::from_le_bytes(*attempt);
        if matches!(kind, OFFER | ACCEPT) {
            let (terms, plain) = decode_terms(rest)?;
            return Some(match kind {
                OFFER => Self::Offer { attempt, terms, plain },
                _ => Self::Accept { attempt, terms, plain },
            });
        }
        match (kind, rest) {
            (REFUSE, []) => Some(Self::Refuse { attempt }),
            (READY, zeros) if zeros.iter().all(|it| *it == 0) => Some(Self::Ready { attempt }),
            (END, []) => Some(Self::End { attempt }),
            (AGAIN, []) if attempt == 0 => Some(Self::Again),
            _ => None,
        }
    }
}

fn decode_terms(bytes: &[u8]) -> Option<(Terms, bool)> {
    let (&plain, rest) = bytes.split_first()?;
    let plain = match plain {
        0 => false,
        1 => true,
        _ => return None,
    };
    let (gid, rest) = rest.split_first_chunk()?;
    let (lid, rest) = rest.split_first_chunk()?;
    let (qpn, rest) = rest.split_first_chunk()?;
    let (psn, rest) = rest.split_first_chunk()?;
    let (mtu, rest) = rest.split_first_chunk()?;
    let (receives, rest) = rest.split_first_chunk()?;
    let packet_bytes: &[u8; 4] = rest.try_into().ok()?;
    let endpoint = Endpoint {
        gid: *gid,
        lid: u16::from_le_bytes(*lid),
        qpn: u32::from_le_bytes(*qpn),
        psn: u32::from_le_bytes(*psn),
        qkey: 0,
        mtu_bytes: u16::from_le_bytes(*mtu),
    };
    let receives = u32::from_le_bytes(*receives);
    Some((Terms { endpoint, receives, packet_bytes: u32::from_le_bytes(*packet_bytes) }, plain))
}

#[cfg(test)]
#[allow(clippy::indexing_slicing, reason = "a test may panic")]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn words() -> impl Strategy<Value = Word> {
        let numbers = (any::<[u8; 16]>(), any::<u16>(), any::<u32>(), any::<u32>(), any::<u16>());
        let terms =
            (numbers, any::<u32>(), any::<u32>()).prop_map(|(it, receives, packet_bytes)| {
                let (gid, lid, qpn, psn, mtu_bytes) = it;
                let endpoint = Endpoint { gid, lid, qpn, psn, qkey: 0, mtu_bytes };
                Terms { endpoint, receives, packet_bytes }
            });
        (0..6, any::<u64>(), terms, any::<bool>()).prop_map(|(kind, attempt, terms, plain)| {
            match kind {
                0 => Word::Offer { attempt, terms, plain },
                1 => Word::Accept { attempt, terms, plain },
                2 => Word::Refuse { attempt },
                3 => Word::Ready { attempt },
                4 => Word::End { attempt },
                _ => Word::Again,
            }
        })
    }

    proptest! {
        // [RDMA-40]
        #[test]
        fn words_come_back_and_nothing_else_is_one(
            word in words(),
            bytes in prop::collection::vec(any::<u8>(), 0..60),
        ) {
            let encoded = word.encode();
            prop_assert_eq!(Word::decode(&encoded), Some(word));
            for len in 0..encoded.len() {
                prop_assert_eq!(Word::decode(&encoded[..len]), None);
            }
            let padded: Vec<u8> = encoded.iter().copied().chain([0; 5]).collect();
            let is_padded = matches!(word, Word::Ready { .. });
            prop_assert_eq!(Word::decode(&padded), is_padded.then_some(word));
            // Most bytes name no kind of word.
            for kind in OFFER..=AGAIN {
                let bytes: Vec<u8> = [kind].into_iter().chain(bytes.iter().copied()).collect();
                for len in [9, 46, bytes.len()] {
                    let Some(bytes) = bytes.get(..len) else { continue };
                    if let Some(word) = Word::decode(bytes) {
                        let mut encoded = word.encode();
                        if kind == READY {
                            encoded.resize(bytes.len(), 0);
                        }
                        prop_assert_eq!(encoded, bytes);
                    }
                }
            }
        }
    }
}
