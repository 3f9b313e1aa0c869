//! Members as the protocol knows them.

use super::member::Member;
use crate::net::frame::TEXT_BYTES_MAX;
use crate::net::{Address, Identity, Incarnation, NodeId};
use crate::sync::{Arc, Mutex, planted};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A member: which node, which run of it, and which of that run's memberships.
///
/// Once the others have declared a member down it stays so; a node that finds itself declared down takes part as
/// a later generation. Generations begin at the time by the node's wall clock, so that a node that starts anew
/// comes after itself. Where the clock went back, or somebody has claimed a later one for it, a node takes one beyond all that it
/// was heard to be of; until it has heard so, it finds one in few steps, each twice as far.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub(super) struct Id {
    pub(super) identity: Identity,
    pub(super) address: Address,
    generation: u64,
    renewals: u8,
    standing: Standing,
}

impl Id {
    /// A member that begins now.
    pub(super) fn new(identity: Identity, address: Address, wall_ms: u64) -> Self {
        Self { identity, address, generation: wall_ms, renewals: 0, standing: Standing(None) }
    }

    /// This node itself, which stands so with the others.
    pub(super) fn standing(self, standing: Standing) -> Self {
        Self { standing, ..self }
    }

    /// Somebody who is greeted: only which node it is matters.
    pub(super) fn stranger(identity: Identity, address: Address) -> Self {
        Self::new(identity, address, 0)
    }

    pub(super) fn member(&self) -> Member {
        Member { identity: self.identity, address: self.address.clone() }
    }

    /// Whether it is of a later generation than that.
    pub(super) const fn is_after(&self, generation: u64) -> bool {
        self.generation > generation
    }
}

/// How a node stands with the others: what they were heard to take it for, and whether it may take part anew. It is for the node's
/// own [`Id`] alone, and says nothing of which member that is.
#[derive(Clone)]
pub(super) struct Standing(Option<Arc<Mutex<Renewal>>>);

#[derive(Default)]
struct Renewal {
    /// The latest generation of this node that others have named.
    heard: u64,
    turn: Turn,
}

/// A node takes part anew once a period at most: whatever others say of it, it says little to that.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Turn {
    /// It may.
    #[default]
    Free,
    /// It did in this period.
    Taken,
    /// It is to in the next one.
    Owed,
}

impl Standing {
    pub(super) fn new() -> Self {
        Self(Some(Arc::new(Mutex::new(Renewal::default()))))
    }

    /// Others have named this node so.
    pub(super) fn hear(&self, id: &Id) {
        if let Some(renewal) = &self.0 {
            let mut renewal = renewal.lock();
            renewal.heard = renewal.heard.max(id.generation);
        }
    }

    /// A period is over; returns whether the node is to take part anew since then.
    pub(super) fn next_period(&self) -> bool {
        let turn = self.0.as_ref().map(|renewal| std::mem::take(&mut renewal.lock().turn));
        turn == Some(Turn::Owed)
    }

    /// That generation, or one beyond what was heard; `None` if there was one in this period.
    fn beyond(&self, generation: u64) -> Option<u64> {
        let mut renewal = self.0.as_ref()?.lock();
        if planted!("membership-renewal-storm": renewal.turn != Turn::Free => false) {
            renewal.turn = Turn::Owed;
            return None;
        }
        renewal.turn = Turn::Taken;
        let heard = planted!("membership-claim-unheard": renewal.heard => 0);
        Some(generation.max(heard.saturating_add(1)))
    }
}

impl PartialEq for Standing {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Standing {}

impl fmt::Debug for Standing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Standing")
    }
}

impl foca::Identity for Id {
    type Addr = NodeId;

    fn renew(&self) -> Option<Self> {
        let step = if self.renewals < DOUBLINGS_MAX { 1_u64 << self.renewals } else { 1 };
        let generation = self.standing.beyond(self.generation.checked_add(step)?)?;
        Some(Self { generation, renewals: self.renewals.saturating_add(1), ..self.clone() })
    }

    fn addr(&self) -> NodeId {
        self.identity.node
    }

    fn win_addr_conflict(&self, adversary: &Self) -> bool {
        let rank = |id: &Self| (id.generation, id.identity.incarnation);
        let later = rank(self) > rank(adversary);
        let larger = self.identity.incarnation > adversary.identity.incarnation;
        planted!("membership-runs-unordered": later => larger)
    }
}

/// So often a step is twice as far as the one before: 35 years in all, by which the clock may have gone back.
const DOUBLINGS_MAX: u8 = 40;

/// An [`Id`] in bytes.
#[derive(Serialize, Deserialize)]
struct Written {
    node: u64,
    incarnation: u64,
    generation: u64,
    renewals: u8,
    address: String,
}

/// What is written as an address is none.
#[derive(Debug, thiserror::Error)]
#[error("a member has no address")]
struct NoAddress;

impl TryFrom<Written> for Id {
    type Error = NoAddress;

    fn try_from(written: Written) -> Result<Self, NoAddress> {
        let Written { node, incarnation, generation, renewals, address } = written;
        if address.len() > TEXT_BYTES_MAX {
            return Err(NoAddress);
        }
        let identity = Identity { node: NodeId(node), incarnation: Incarnation(incarnation) };
        let address = address.parse().map_err(|_| NoAddress)?;
        Ok(Self { identity, address, generation, renewals, standing: Standing(None) })
    }
}

impl From<Id> for Written {
    fn from(id: Id) -> Self {
        Self {
            node: id.identity.node.0,
            incarnation: id.identity.incarnation.0,
            generation: id.generation,
            renewals: id.renewals,
            address: id.address.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use foca::Identity as _;

    /// This node, as it begins at that time.
    fn own(wall_ms: u64) -> Id {
        let identity = Identity { node: NodeId(1), incarnation: Incarnation(1) };
        let id = Id::new(identity, "loopback:here".parse().unwrap(), wall_ms);
        id.standing(Standing::new())
    }

    /// What it is in the next period, if it is declared down in each.
    fn next(id: &Id) -> Id {
        id.standing.next_period();
        let next = id.renew().unwrap();
        assert!(next.win_addr_conflict(id) && !id.win_addr_conflict(&next));
        next
    }

    #[test]
    fn a_clock_that_went_back_by_ten_years_is_made_up_for_in_few_steps() {
        let before = own(315_360_000_000);
        let after = (0..40).fold(own(0), |id, _| next(&id));
        assert!(after.win_addr_conflict(&before));
    }

    #[test]
    fn a_node_takes_part_again_however_often_it_was_declared_down() {
        let first = own(1_800_000_000_000);
        let last = (0..10_000).fold(first.clone(), |id, _| next(&id));
        // And goes hardly further for it than by making up for its clock.
        assert!(last.generation - first.generation < 1 << (DOUBLINGS_MAX + 1));
    }

    #[test]
    fn a_node_goes_beyond_what_it_was_heard_to_be_of() {
        let (id, claimed) = (own(7), own(1 << 60));
        id.standing.hear(&claimed);
        id.standing.hear(&id);
        assert!(next(&id).win_addr_conflict(&claimed));
    }

    #[test]
    fn a_node_takes_part_anew_once_a_period() {
        let first = own(7);
        let second = first.renew().unwrap();
        assert_eq!((second.renew(), second.renew()), (None, None));
        assert!(second.standing.next_period(), "it is to in the next one");
        let third = second.renew().unwrap();
        assert!(!third.standing.next_period() && third.renew().is_some());
    }
}
