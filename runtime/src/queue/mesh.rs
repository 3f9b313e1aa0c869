//! A group of nodes with one queue each, into which all others push.
//!
//! See [`exchange`](crate::queue::exchange) for what a node does. What a node writes is chained up per
//! peer, and a flush appends each chain by one swap. Queues are unbounded: calls and replies are few by
//! the nodes' depth, but a node that does not poll collects notices without end. Memory grows with what
//! is under way, and with the most calls to a peer that there have been at a time; beside that it is small.
//!
//! ```
//! use greenroom::queue::{exchange::Received, mesh};
//!
//! let mut nodes = mesh::nodes::<u64, ()>(2, 8);
//! nodes[0].notify(1, 7).unwrap();
//! nodes[0].flush();
//! assert!(matches!(nodes[1].poll(), Some(Received::Notice { from: 0, payload: 7 })));
//! ```

use super::exchange::{Node, Packet, Wires};
use super::mpsc::{Chain, Inlet, Outlet, queue};
use super::peers::Peers;
use crate::sync::{Arc, AtomicBool, Ordering, planted};
use std::fmt;

/// Makes a group of `nodes` nodes, whose calls to one peer that wait for an answer are `depth` at most.
#[must_use]
pub fn nodes<P: Send, U>(nodes: usize, depth: usize) -> Vec<Node<P, U, Inboxes<P>>> {
    let (inlets, outlets): (Vec<_>, Vec<_>) = (0..nodes).map(|_| queue()).unzip();
    let left: Arc<Box<[AtomicBool]>> =
        Arc::new((0..nodes).map(|_| AtomicBool::new(false)).collect());
    let node = |(id, inbox)| {
        let wires = Inboxes {
            id,
            inbox,
            out: inlets.iter().map(|inlet| (inlet.clone(), Chain::new())).collect(),
            dirty: Peers::new(nodes),
            left: left.clone(),
        };
        Node::new(id, nodes, depth.max(1), wires)
    };
    outlets.into_iter().enumerate().map(node).collect()
}

/// A node's inbox, and its ways into those of the others.
pub struct Inboxes<P: Send> {
    id: usize,
    inbox: Outlet<(usize, Packet<P>)>,
    out: Box<[Out<P>]>,
    /// The peers with a chain to append.
    dirty: Peers,
    left: Arc<Box<[AtomicBool]>>,
}

/// A way into an inbox, and what is to be appended there.
type Out<P> = (Inlet<(usize, Packet<P>)>, Chain<(usize, Packet<P>)>);

impl<P: Send> Wires<P> for Inboxes<P> {
    #[inline]
    fn write(&mut self, to: usize, packet: Packet<P>) {
        self.out[to].1.push((self.id, packet));
        self.dirty.insert(to);
    }

    #[inline]
    fn write_notice(&mut self, to: usize, payload: P) -> Result<(), P> {
        self.write(to, Packet::Notice(payload));
        Ok(())
    }

    #[inline]
    fn flush(&mut self) {
        while let Some(to) = self.dirty.pop() {
            let (inlet, chain) = &mut self.out[to];
            inlet.append(chain);
        }
    }

    #[inline]
    fn read(&mut self) -> Option<(usize, Packet<P>)> {
        planted!("mesh-gap-unseen": self.inbox.pop() => self.inbox.pop().or_else(|| {
            let gone = (0..self.out.len()).find(|&peer| peer != self.id && self.has_left(peer));
            gone.map(|peer| (peer, Packet::Left))
        }))
    }

    #[inline]
    fn has_left(&self, peer: usize) -> bool {
        // Acquire: pairs with the Release in `drop`.
        self.left[peer].load(Ordering::Acquire)
    }

    fn memory_bytes(&self) -> usize {
        self.out.len() * size_of::<Out<P>>() + Outlet::<(usize, Packet<P>)>::BYTES
    }
}

impl<P: Send> Drop for Inboxes<P> {
    fn drop(&mut self) {
        // Release: what the node did before is visible to who sees this; pairs with the Acquire in `has_left`. Before the
        // last packets: who has read those calls no more.
        let order = planted!("mesh-left-relaxed": Ordering::Release => Ordering::Relaxed);
        self.left[self.id].store(true, order);
        let own = self.id;
        for to in (0..self.out.len()).filter(|to| *to != own) {
            self.write(to, Packet::Left);
        }
        self.flush();
    }
}

impl<P: Send> fmt::Debug for Inboxes<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inboxes").field("nodes", &self.out.len()).finish_non_exhaustive()
    }
}
