//! A group of nodes with a ring for each ordered pair: no two threads ever write the same line.
//!
//! See [`exchange`](crate::queue::exchange) for what a node does. A flush touches the rings to which
//! something was written, and no others; a poll reads the rings' indices in turn. Memory grows with
//! the square of the number of nodes; [`Node::memory_bytes`] says how much it is.
//!
//! ```
//! let nodes = greenroom::queue::flux::nodes::<[u8; 32], ()>(16, 64);
//! let bytes: usize = nodes.iter().map(|node| node.memory_bytes()).sum();
//! assert!(bytes < 4 << 20, "{bytes} bytes for 16 nodes");
//! ```

use super::exchange::{Node, Packet, Wires};
use super::spsc::{Receiver, Sender, channel};
use std::fmt;

/// Makes a group of `nodes` nodes, whose calls to one peer that wait for an answer are `depth` at most.
///
/// # Panics
/// When memory for the rings cannot be had.
#[must_use]
pub fn nodes<P: Send, U>(nodes: usize, depth: usize) -> Vec<Node<P, U, Rings<P>>> {
    let depth = depth.max(1);
    let mut all: Vec<_> = (0..nodes).map(|id| Rings::new(id, nodes, depth)).collect();
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

/// A node's ends of its rings. The place of the node itself is empty.
pub struct Rings<P: Send> {
    out: Box<[Option<Sender<Packet<P>>>]>,
    into: Box<[Option<Receiver<Packet<P>>>]>,
    /// A bit for each ring with something unflushed.
    dirty: Box<[u64]>,
    /// The ring that is read now.
    turn: usize,
    /// Slots in each ring that notices leave to calls and replies.
    reserve: usize,
}

impl<P: Send> Rings<P> {
    fn new(id: usize, nodes: usize, depth: usize) -> Self {
        Self {
            out: (0..nodes).map(|_| None).collect(),
            into: (0..nodes).map(|_| None).collect(),
            dirty: vec![0; nodes.div_ceil(64)].into(),
            turn: id,
            reserve: 2 * depth,
        }
    }

    #[inline]
    fn mark(&mut self, to: usize) {
        self.dirty[to / 64] |= 1 << (to % 64);
    }
}

impl<P: Send> Wires<P> for Rings<P> {
    #[inline]
    fn write(&mut self, to: usize, packet: Packet<P>) {
        let Some(ring) = &mut self.out[to] else { return };
        let written = ring.write(packet);
        debug_assert!(written.is_ok() || ring.is_disconnected(), "calls and replies find room");
        self.mark(to);
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
        for (word, dirty) in self.dirty.iter_mut().enumerate() {
            while *dirty != 0 {
                let to = word * 64 + dirty.trailing_zeros() as usize;
                *dirty &= *dirty - 1;
                if let Some(ring) = &mut self.out[to] {
                    // A node that has left is noticed where its answers are missed.
                    let _ = ring.flush();
                }
            }
        }
    }

    #[inline]
    fn read(&mut self) -> Option<(usize, Packet<P>)> {
        for _ in 0..=self.into.len() {
            if let Some(packet) = self.into[self.turn].as_mut().and_then(Receiver::poll) {
                return Some((self.turn, packet));
            }
            self.turn = if self.turn + 1 == self.into.len() { 0 } else { self.turn + 1 };
            if let Some(next) = &mut self.into[self.turn] {
                next.sync();
            }
        }
        None
    }

    #[inline]
    fn has_left(&self, peer: usize) -> bool {
        self.into[peer].as_ref().is_some_and(Receiver::is_disconnected)
    }

    fn memory_bytes(&self) -> usize {
        let ends = self.into.len() * size_of::<Option<Receiver<Packet<P>>>>()
            + self.out.len() * size_of::<Option<Sender<Packet<P>>>>();
        ends + self.into.iter().flatten().map(Receiver::memory_bytes).sum::<usize>()
    }
}

impl<P: Send> Drop for Rings<P> {
    fn drop(&mut self) {
        // All that was written is sent before anyone can see that this node has left.
        self.flush();
    }
}

impl<P: Send> fmt::Debug for Rings<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rings").field("nodes", &self.into.len()).finish_non_exhaustive()
    }
}
