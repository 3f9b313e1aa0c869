//! Packets that name more nodes than there is room for.
//!
//! Those who come may take the places of those who are down; news of the dead takes nobody's. Whoever was forgotten for
//! it would be news again, and would go round for ever among nodes that all have no room.

use super::id::Id;
use crate::net::NodeId;
use crate::sync::planted;
use bytes::{Buf, BufMut};
use foca::{Codec, Header, Member, PostcardCodec, State};
use std::collections::BTreeSet;

/// What would be taken of such a packet.
pub(super) struct Crowd {
    /// The packet without news of those that are down and not known.
    pub(super) packet: Vec<u8>,
    /// Which nodes it speaks of.
    pub(super) named: BTreeSet<NodeId>,
}

impl Crowd {
    /// Reads a packet; `None` if it is malformed.
    pub(super) fn of(packet: &[u8], is_known: impl Fn(NodeId) -> bool) -> Option<Self> {
        let mut rest = packet;
        let header: Header<Id> = PostcardCodec.decode_header(&mut rest).ok()?;
        let mut named = BTreeSet::from([header.src.identity.node]);
        let mut kept = packet[..packet.len() - rest.len()].to_vec();
        if rest.len() >= 2 {
            let (mut count, mut members) = (0, Vec::new());
            for _ in 0..rest.get_u16() {
                let before = rest;
                let member: Member<Id> = PostcardCodec.decode_member(&mut rest).ok()?;
                let node = member.id().identity.node;
                let is_news_of_the_dead = member.state() == State::Down && !is_known(node);
                if planted!("membership-dead-evict": is_news_of_the_dead => false) {
                    continue;
                }
                named.insert(node);
                members.extend_from_slice(&before[..before.len() - rest.len()]);
                count += 1;
            }
            kept.put_u16(count);
            kept.append(&mut members);
        }
        kept.extend_from_slice(rest);
        Some(Self { packet: kept, named })
    }
}
