//! Which shard a key lies on, and which node that shard: the same at every node whose file names the same nodes.
//!
//! Shards are numbered through: those of the first node in the order of their ids, then those of the second. A key's
//! node is found by rendezvous hashing, and its shard there as on a server that is alone. Nothing moves when a node is
//! down: its keys wait for it.

use std::sync::Arc;

use greenroom::net::{NodeId, rendezvous};

use super::store::{route, tag};

/// Where keys lie.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    /// The nodes with shards, in the order of their ids; none if the server is alone.
    nodes: Arc<[NodeId]>,
    /// How many shards each of them has.
    per_node: usize,
    /// The first shard that is here, if any is.
    first: Option<usize>,
}

impl Layout {
    /// That of a server without others.
    pub(crate) fn alone(shards: usize) -> Self {
        Self { nodes: Arc::from([]), per_node: shards, first: Some(0) }
    }

    /// That of `me` among nodes with shards, which are in the order of their ids.
    pub(crate) fn of(nodes: Vec<NodeId>, me: NodeId, per_node: usize) -> Self {
        let first = nodes.binary_search(&me).ok().map(|place| place * per_node);
        Self { nodes: nodes.into(), per_node, first }
    }

    /// Returns how many shards there are on all nodes.
    pub(crate) fn shards(&self) -> usize {
        self.per_node * self.nodes.len().max(1)
    }

    /// Returns how many shards one node has.
    pub(crate) fn per_node(&self) -> usize {
        self.per_node
    }

    /// Returns the first shard that is on this node, if any is.
    pub(crate) fn first(&self) -> Option<usize> {
        self.first
    }

    /// Returns whether a shard is on this node.
    pub(crate) fn is_here(&self, shard: usize) -> bool {
        let place = self.first.and_then(|first| shard.checked_sub(first));
        place.is_some_and(|place| place < self.per_node)
    }

    /// Returns the nodes with shards.
    pub(crate) fn nodes(&self) -> &[NodeId] {
        &self.nodes
    }

    /// Returns the shard of a key; keys with the same `{tag}` lie together, as in Redis Cluster.
    pub(crate) fn route(&self, key: &[u8]) -> usize {
        let local = route(key, self.per_node);
        if self.nodes.len() < 2 {
            return local;
        }
        let node = rendezvous(tag(key), self.nodes.iter().copied());
        let place = self.nodes.iter().position(|other| Some(*other) == node).unwrap_or(0);
        place * self.per_node + local
    }

    /// Returns a number that differs, most likely, for nodes that lay keys out otherwise.
    pub(crate) fn fingerprint(&self) -> u64 {
        self.nodes.iter().fold(self.per_node as u64, |print, node| {
            (print.rotate_left(5) ^ node.0).wrapping_mul(0x9e37_79b9_7f4a_7c15)
        })
    }
}
