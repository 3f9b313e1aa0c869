//! Which incarnation of each node is the current one, and when messages of a newer one may be seen.
//!
//! A node that starts again has a new incarnation, a number that says nothing about order. So whoever once
//! was replaced or declared dead stays so: it is in quarantine. [LINK-75] And the lanes of a newer one
//! open only when every worker has let go of the older one's lane: else one worker could deliver new
//! messages while another still delivers old ones. [LINK-76]
//!
//! ```text
//!   absent -- greet --> open -- down --> closing -- retired by every lane --> absent: NodeDown
//!                        |                 ^    \-- and one waits ----------> open: NodeDown, Opened
//!                        +-- greet newer --+
//! ```

use std::collections::{BTreeMap, VecDeque};

/// The life of a node's process, as its handshake says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Incarnation(pub u64);

/// The peers of a node, by any key that names a node whatever its incarnation.
///
/// One thread at a time uses it: that of the association's control, not of its lanes.
#[derive(Debug)]
pub struct Peers<N> {
    nodes: BTreeMap<N, Peer>,
    lanes: u16,
    quarantine_max: usize,
}

#[derive(Debug, Default)]
struct Peer {
    state: State,
    /// The one that opens when the current one is closed.
    next: Option<Incarnation>,
    /// Those that are over, the latest last.
    quarantine: VecDeque<Incarnation>,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    Absent,
    Open(Incarnation),
    Closing {
        incarnation: Incarnation,
        retired: Vec<bool>,
    },
}

/// What to make of a handshake that proves to come from an incarnation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Greeting {
    /// It is the current one.
    Known,
    /// It is the current one from now on: its lanes open.
    Opened,
    /// It replaces another one, which closes: tell its lanes, and wait for [`Change::Opened`].
    Replaces(Incarnation),
    /// It waits for another one that closes.
    Waits,
    /// It is over.
    Quarantined,
}

/// What became of a node, in the order in which its users have to learn of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The incarnation is down: nothing more of it will be delivered.
    NodeDown(Incarnation),
    /// The incarnation's lanes open.
    Opened(Incarnation),
}

impl<N: Ord> Peers<N> {
    /// Peers whose associations have `lanes` lanes each. Of every node the latest `quarantine_max`
    /// incarnations that are over are remembered; older ones are kept out by the handshake, which takes
    /// no greeting older than the last.
    ///
    /// # Panics
    /// If an association would have no lane.
    #[must_use]
    pub const fn new(lanes: u16, quarantine_max: usize) -> Self {
        assert!(lanes > 0, "an association has a lane");
        Self { nodes: BTreeMap::new(), lanes, quarantine_max }
    }

    /// A handshake with the node succeeded.
    pub fn greet(&mut self, node: N, incarnation: Incarnation) -> Greeting {
        let lanes = usize::from(self.lanes);
        let peer = self.nodes.entry(node).or_default();
        let is_over = peer.quarantine.contains(&incarnation);
        if crate::planted!("link-quarantine-skipped": is_over => false) {
            return Greeting::Quarantined;
        }
        match peer.state {
            State::Open(current) if current == incarnation => Greeting::Known,
            State::Absent => {
                peer.state = State::Open(incarnation);
                Greeting::Opened
            }
            State::Open(current) => {
                peer.close(current, lanes, self.quarantine_max);
                peer.next = Some(incarnation);
                Greeting::Replaces(current)
            }
            State::Closing { .. } => {
                // Of two that wait the later one is the newer: it could prove that it is there.
                if let Some(older) = peer.next.replace(incarnation)
                    && older != incarnation
                {
                    peer.quarantine(older, self.quarantine_max);
                }
                Greeting::Waits
            }
        }
    }

    /// The incarnation is dead, closed or reset. Says whether it was the current one: then its lanes
    /// are to be told.
    pub fn down(&mut self, node: &N, incarnation: Incarnation) -> bool {
        let Some(peer) = self.nodes.get_mut(node) else { return false };
        let State::Open(current) = peer.state else { return false };
        if current != incarnation {
            return false;
        }
        peer.close(current, usize::from(self.lanes), self.quarantine_max);
        true
    }

    /// A lane's worker has delivered the last message of the incarnation that it will ever deliver, and
    /// has handed back what was under way. Says what follows, in this order.
    pub fn retired(
        &mut self,
        node: &N,
        incarnation: Incarnation,
        lane: u16,
    ) -> impl Iterator<Item = Change> + use<N> {
        let peer = self.nodes.get_mut(node);
        let changes = peer.map_or([None, None], |peer| peer.retired(incarnation, lane));
        changes.into_iter().flatten()
    }

    /// Whether messages of the incarnation may be delivered.
    #[must_use]
    pub fn is_open(&self, node: &N, incarnation: Incarnation) -> bool {
        let state = self.nodes.get(node).map(|peer| &peer.state);
        matches!(state, Some(State::Open(current)) if *current == incarnation)
    }
}

impl Peer {
    fn close(&mut self, incarnation: Incarnation, lanes: usize, quarantine_max: usize) {
        self.state = State::Closing { incarnation, retired: vec![false; lanes] };
        self.quarantine(incarnation, quarantine_max);
    }

    fn quarantine(&mut self, incarnation: Incarnation, max: usize) {
        self.quarantine.push_back(incarnation);
        while self.quarantine.len() > max {
            self.quarantine.pop_front();
        }
    }

    fn retired(&mut self, closing: Incarnation, lane: u16) -> [Option<Change>; 2] {
        let State::Closing { incarnation, retired } = &mut self.state else { return [None, None] };
        if *incarnation != closing {
            return [None, None];
        }
        if let Some(lane) = retired.get_mut(usize::from(lane)) {
            *lane = true;
        }
        let is_over = retired.iter().all(|lane| *lane);
        if !crate::planted!("link-barrier-forgotten": is_over => true) {
            return [None, None];
        }
        let next = self.next.take();
        self.state = next.map_or(State::Absent, State::Open);
        [Some(Change::NodeDown(closing)), next.map(Change::Opened)]
    }
}

#[cfg(test)]
mod tests;
