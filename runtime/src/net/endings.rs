//! Why connections ended: how often for each reason, and the last ones.

use super::identity::Identity;
use super::transport::LinkEnd;
use std::collections::{BTreeMap, VecDeque};

/// Entries that are kept.
const KEPT: usize = 64;

/// Why a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectionEnd {
    /// Its link ended.
    #[error("the link was {0}")]
    Link(LinkEnd),
    /// The peer said what the rules forbid, or has caused more than may wait here.
    #[error("the peer did what it must not")]
    Misbehaved,
    /// Too much waited, which is no breach of the rules. 65,536 frames waited to be said to the peer: it did not read, or nothing
    /// reaches it. Or as many ends were to be heard here behind messages that the peer has for actors of this node: these had
    /// no time for their mail, or it does not come.
    #[error("too much waited for one of the two to read")]
    Behind,
}

/// That connections with a node ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ending {
    /// The node, as it was the last time.
    pub peer: Identity,
    /// Why.
    pub why: ConnectionEnd,
    /// How often, for as long as this entry is kept.
    pub count: u64,
}

/// See the [module](self).
#[derive(Default)]
pub(super) struct Endings {
    last: VecDeque<Ending>,
    counts: BTreeMap<ConnectionEnd, u64>,
}

impl Endings {
    /// Notes one. A node that comes back without end has one entry for each reason, and leaves the others their room.
    pub(super) fn note(&mut self, peer: Identity, why: ConnectionEnd) {
        *self.counts.entry(why).or_default() += 1;
        let is_same = |known: &Ending| (known.peer.node, known.why) == (peer.node, why);
        let known = self.last.iter().position(is_same).and_then(|at| self.last.remove(at));
        let count = known.map_or(0, |known| known.count) + 1;
        if self.last.len() >= KEPT {
            self.last.pop_front();
        }
        self.last.push_back(Ending { peer, why, count });
    }

    pub(super) fn last(&self) -> Vec<Ending> {
        self.last.iter().copied().collect()
    }

    pub(super) fn count(&self, why: ConnectionEnd) -> u64 {
        self.counts.get(&why).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::{Incarnation, NodeId};

    // [G-REMOTE-8]
    #[test]
    fn a_node_that_comes_back_without_end_leaves_the_others_their_room() {
        let mut endings = Endings::default();
        let of = |node, incarnation| Identity {
            node: NodeId(node),
            incarnation: Incarnation(incarnation),
        };
        let lost = ConnectionEnd::Link(LinkEnd::Lost);
        endings.note(of(1, 1), lost);
        (0..1_000).for_each(|life| endings.note(of(2, life), ConnectionEnd::Misbehaved));
        let why = ConnectionEnd::Misbehaved;
        let expected = [
            Ending { peer: of(1, 1), why: lost, count: 1 },
            Ending { peer: of(2, 999), why, count: 1_000 },
        ];
        assert_eq!(endings.last(), expected);
        (3..1_000).for_each(|node| endings.note(of(node, 1), lost));
        assert_eq!(
            (endings.last().len(), endings.count(why), endings.count(lost)),
            (64, 1_000, 998)
        );
    }
}
