//! Members as the protocol knows them.

use super::member::Member;
use crate::net::frame::TEXT_BYTES_MAX;
use crate::net::{Address, Identity, Incarnation, NodeId};
use crate::sync::planted;
use serde::{Deserialize, Serialize};

/// A member: which node, which run of it, and which of that run's memberships.
///
/// Once the others have declared a member down it stays so; a node that finds itself declared down takes part as
/// a later generation. Generations begin at the time by the node's wall clock, so that a node that starts anew
/// comes after itself; where the clock went back, renewing finds a later one in few steps, each twice as far, up to 35 years:
/// there are more such steps than a node is ever declared down.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub(super) struct Id {
    pub(super) identity: Identity,
    pub(super) address: Address,
    generation: u64,
    renewals: u8,
}

impl Id {
    /// A member that begins now.
    pub(super) fn new(identity: Identity, address: Address, wall_ms: u64) -> Self {
        Self { identity, address, generation: wall_ms, renewals: 0 }
    }

    /// Somebody who is greeted: only which node it is matters.
    pub(super) fn stranger(identity: Identity, address: Address) -> Self {
        Self::new(identity, address, 0)
    }

    pub(super) fn member(&self) -> Member {
        Member { identity: self.identity, address: self.address.clone() }
    }
}

impl foca::Identity for Id {
    type Addr = NodeId;

    fn renew(&self) -> Option<Self> {
        let step = 1_u64 << self.renewals.min(DOUBLINGS_MAX);
        let generation = self.generation.checked_add(step)?;
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

/// So often a step is twice as far as the one before.
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
        Ok(Self { identity, address, generation, renewals })
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

    #[test]
    fn a_clock_that_went_back_by_ten_years_is_made_up_for_in_few_steps() {
        let identity = Identity { node: NodeId(1), incarnation: Incarnation(1) };
        let id = |wall_ms| Id::new(identity, "loopback:here".parse().unwrap(), wall_ms);
        let before = id(315_360_000_000);
        let mut after = id(0);
        for _ in 0..40 {
            let next = after.renew().unwrap();
            assert!(next.win_addr_conflict(&after) && !after.win_addr_conflict(&next));
            after = next;
        }
        assert!(after.win_addr_conflict(&before));
    }

    #[test]
    fn a_node_takes_part_again_however_often_it_was_declared_down() {
        let identity = Identity { node: NodeId(1), incarnation: Incarnation(1) };
        let mut id = Id::new(identity, "loopback:here".parse().unwrap(), 1_800_000_000_000);
        for time in 0..10_000 {
            let next = id.renew().unwrap_or_else(|| panic!("not after {time} times"));
            assert!(next.win_addr_conflict(&id) && !id.win_addr_conflict(&next));
            id = next;
        }
    }
}
