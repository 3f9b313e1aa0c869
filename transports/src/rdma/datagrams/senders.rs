//! Whom datagrams are from: numbers of queue pairs are of one device, and other hosts use the same.

use super::super::verbs::{Completion, Endpoint, GRH_BYTES};
use super::PeerId;
use std::collections::BTreeMap;

/// Where a port is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Port {
    Gid([u8; 16]),
    /// Of a datagram without a route, which never left its InfiniBand subnet.
    Lid(u16),
}

/// The peers, by port and queue pair.
#[derive(Debug)]
pub(super) struct Senders {
    /// Of the port here.
    own: [u8; 16],
    peers: BTreeMap<(u32, Port), PeerId>,
}

/// The keys of what that peer sends to a port with that GID: it may come with a route or, within a subnet, without. Other
/// subnets have the same LIDs.
fn keys(peer: &Endpoint, own: [u8; 16]) -> impl Iterator<Item = (u32, Port)> {
    let is_near = peer.gid[..SUBNET_BYTES] == own[..SUBNET_BYTES];
    let lid = (peer.lid != 0 && is_near).then_some(Port::Lid(peer.lid));
    let qpn = peer.qpn;
    lid.into_iter().chain([Port::Gid(peer.gid)]).map(move |port| (qpn, port))
}

/// So many bytes of a GID say which subnet it is of.
const SUBNET_BYTES: usize = 8;

impl Senders {
    pub(super) const fn new(own: [u8; 16]) -> Self {
        Self { own, peers: BTreeMap::new() }
    }

    pub(super) fn add(&mut self, peer: &Endpoint, id: PeerId) {
        self.peers.extend(keys(peer, self.own).map(|key| (key, id)));
    }

    /// What that peer sends is from this one where it is from nobody.
    pub(super) fn give_back(&mut self, peer: &Endpoint, id: PeerId) {
        for key in keys(peer, self.own) {
            self.peers.entry(key).or_insert(id);
        }
    }

    /// Says whether what that peer sends was from this one.
    pub(super) fn remove(&mut self, peer: &Endpoint, id: PeerId) -> bool {
        let mut was_there = false;
        for key in keys(peer, self.own) {
            if self.peers.get(&key) == Some(&id) {
                self.peers.remove(&key);
                was_there = true;
            }
        }
        was_there
    }
}

/// Whom a datagram says it is from. Anyone can write that.
#[derive(Clone, Copy, Debug)]
pub struct Sender<'a> {
    senders: &'a Senders,
    completion: &'a Completion,
    route: &'a [u8; GRH_BYTES],
}

impl<'a> Sender<'a> {
    pub(super) const fn new(
        senders: &'a Senders,
        completion: &'a Completion,
        route: &'a [u8; GRH_BYTES],
    ) -> Self {
        Self { senders, completion, route }
    }

    /// The peer, if it is known: by its queue pair, and by its port. [RDMA-23]
    #[must_use]
    pub fn peer(&self) -> Option<PeerId> {
        let port = if self.completion.has_grh {
            Port::Gid(source(self.route, &self.senders.own)?)
        } else {
            Port::Lid(self.completion.from_lid)
        };
        let (peers, qpn) = (&self.senders.peers, self.completion.from);
        crate::planted!(
            "rdma-sender-by-number": peers.get(&(qpn, port))
                => peers.range((qpn, Port::Gid([0; 16]))..).map(|it| it.1).next()
        )
        .copied()
    }
}

/// The GID that a route to `own` comes from.
fn source(route: &[u8; GRH_BYTES], own: &[u8; 16]) -> Option<[u8; 16]> {
    // Both GIDs; RoCE over IPv6 has both addresses there, which are the GIDs.
    if route[24..] == *own {
        return route[8..24].try_into().ok();
    }
    // RoCE over IPv4 has a header of IPv4 at the end. What is before it means nothing, and GIDs are of the addresses.
    let (mapped, address) = own.split_at(12);
    if mapped != MAPPED || route[36..] != *address {
        return None;
    }
    let mut gid = *own;
    gid[12..].copy_from_slice(&route[32..36]);
    Some(gid)
}

/// How the GID of an IPv4 address begins.
const MAPPED: [u8; 12] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff];

#[cfg(test)]
mod tests;
