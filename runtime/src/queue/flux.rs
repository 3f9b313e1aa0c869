//! A group of nodes with a ring for each ordered pair: packets are copied once, and no lock is taken.
//!
//! See [`exchange`](crate::queue::exchange) for what a node does. A flush touches the rings to which
//! something was written, and no others, and puts the node into the set of those who told the receiver:
//! one read-modify-write per flush and peer. A poll looks at that set, one load per 64 nodes, and then at
//! the rings of those who told, in turn; so it costs the same however many nodes are silent. Memory grows
//! with the square of the number of nodes; [`Node::memory_bytes`] says how much it is.
//!
//! ```
//! let nodes = greenroom::queue::flux::nodes::<[u8; 32], ()>(16, 64);
//! let bytes: usize = nodes.iter().map(|node| node.memory_bytes()).sum();
//! assert!(bytes < 4 << 20, "{bytes} bytes for 16 nodes");
//! ```

use super::exchange::{Node, Packet, Wires};
use super::peers::{Peers, Told};
use super::spsc::{Receiver, Sender, channel};
use crate::sync::{Arc, planted};
use std::fmt;

/// Makes a group of `nodes` nodes, whose calls to one peer that wait for an answer are `depth` at most.
///
/// # Panics
/// When the rings for such a depth would be too large, or memory for them cannot be had.
#[must_use]
pub fn nodes<P: Send, U>(nodes: usize, depth: usize) -> Vec<Node<P, U, Rings<P>>> {
    let depth = depth.max(1);
    let told: Arc<Box<[Told]>> = Arc::new((0..nodes).map(|_| Told::new(nodes)).collect());
    let mut all: Vec<_> = (0..nodes).map(|id| Rings::new(id, depth, told.clone())).collect();
    for from in 0..nodes {
        for to in (0..nodes).filter(|to| *to != from) {
            // Calls, replies, and a quarter that was taken and not given back, must fit: 8/3 of depth.
            let (sender, receiver) = channel(depth.saturating_mul(8).div_ceil(3));
            all[from].out[to] = Some(sender);
            all[to].into[from] = Some(receiver);
        }
    }
    all.into_iter().enumerate().map(|(id, rings)| Node::new(id, nodes, depth, rings)).collect()
}

/// A node's ends of its rings. The place of the node itself is empty, and so is that of a node that has left, once all that
/// it sent is read.
pub struct Rings<P: Send> {
    id: usize,
    out: Box<[Option<Sender<Packet<P>>>]>,
    into: Box<[Option<Receiver<Packet<P>>>]>,
    /// To whom something unflushed is to go.
    dirty: Peers,
    /// Of each node, who has flushed something to it since it looked.
    told: Arc<Box<[Told]>>,
    /// Those of whom this node has heard, and not taken in everything.
    waiting: Peers,
    /// The ring that is read now.
    turn: usize,
    /// Slots in each ring that notices leave to calls and replies.
    reserve: usize,
}

impl<P: Send> Rings<P> {
    fn new(id: usize, depth: usize, told: Arc<Box<[Told]>>) -> Self {
        let nodes = told.len();
        Self {
            id,
            out: (0..nodes).map(|_| None).collect(),
            into: (0..nodes).map(|_| None).collect(),
            dirty: Peers::new(nodes),
            told,
            waiting: Peers::new(nodes),
            turn: id,
            reserve: depth.saturating_mul(2),
        }
    }

    /// Reads from the ring whose turn it is, the sender of which has left: what is still there, and then that it has.
    #[cold]
    fn read_last(&mut self) -> Packet<P> {
        let ring = &mut self.into[self.turn];
        // It flushed before it left, maybe after the last look.
        if let Some(last) = ring.as_mut().and_then(|ring| ring.try_recv().ok()) {
            return last;
        }
        *ring = None;
        Packet::Left
    }
}

impl<P: Send> Wires<P> for Rings<P> {
    #[inline]
    fn write(&mut self, to: usize, packet: Packet<P>) {
        let Some(ring) = &mut self.out[to] else { return };
        let written = ring.write(packet);
        debug_assert!(written.is_ok() || ring.is_disconnected(), "calls and replies find room");
        self.dirty.insert(to);
    }

    #[inline]
    fn write_notice(&mut self, to: usize, payload: P) -> Result<(), P> {
        let reserved = self.reserve + 1;
        if !self.out[to].as_mut().is_some_and(|ring| ring.has_room(reserved)) {
            return Err(payload);
        }
        self.write(to, Packet::Notice(payload));
        Ok(())
    }

    #[inline]
    fn flush(&mut self) {
        while let Some(to) = self.dirty.pop() {
            if let Some(ring) = &mut self.out[to] {
                // A node that has left is noticed where its answers are missed.
                let _ = ring.flush();
                self.told[to].tell(self.id);
            }
        }
    }

    #[inline]
    fn read(&mut self) -> Option<(usize, Packet<P>)> {
        loop {
            if let Some(ring) = &mut self.into[self.turn] {
                if let Some(packet) = ring.poll() {
                    return Some((self.turn, packet));
                }
                if ring.is_disconnected() {
                    return Some((self.turn, self.read_last()));
                }
            }
            self.waiting.remove(self.turn);
            self.told[self.id].take(&mut self.waiting);
            self.turn = self.waiting.next_after(self.turn)?;
            if let Some(next) = &mut self.into[self.turn] {
                next.sync();
            }
        }
    }

    #[inline]
    fn has_left(&self, peer: usize) -> bool {
        self.into[peer].as_ref().is_none_or(Receiver::is_disconnected)
    }

    fn memory_bytes(&self) -> usize {
        let ends = self.into.len() * size_of::<Option<Receiver<Packet<P>>>>()
            + self.out.len() * size_of::<Option<Sender<Packet<P>>>>();
        let rings: usize = self.into.iter().flatten().map(Receiver::memory_bytes).sum();
        ends + rings + size_of::<Told>() + self.told[self.id].memory_bytes()
    }
}

impl<P: Send> Drop for Rings<P> {
    fn drop(&mut self) {
        // All that was written is sent before anyone can see that this node has left.
        self.flush();
        for (to, ring) in self.out.iter_mut().enumerate() {
            if let Some(ring) = ring.take() {
                drop(ring);
                // So that the ring is looked at once more.
                planted!("flux-leaves-untold": self.told[to].tell(self.id) => ());
            }
        }
    }
}

impl<P: Send> fmt::Debug for Rings<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rings").field("nodes", &self.into.len()).finish_non_exhaustive()
    }
}
