//! Which node a key belongs to.

use super::identity::NodeId;
use super::manifest::{BASIS, go_on};
use crate::sync::planted;
use crate::task::random::spread;

/// The node that a key belongs to: the same at every node that names the same nodes, in whatever order; `None` when
/// there are none.
///
/// When a node goes, only its keys move; when one comes, it takes its share from each of the others. The nodes
/// get about the same number of keys. This is rendezvous hashing (Thaler and Ravishankar 1998): each node has a
/// weight for each key, and the highest counts. Costs time in proportion to the number of nodes and the length of the
/// key. What it says stays the same across versions of this crate. It does not withstand keys that are made to go
/// to one node.
///
/// ```
/// use greenroom::net::{NodeId, rendezvous};
///
/// let nodes = [NodeId(1), NodeId(2), NodeId(3)];
/// let owner = rendezvous(b"ferret", nodes).expect("there are nodes");
/// let without_another = nodes.into_iter().filter(|node| *node == owner || node.0 == 3);
/// assert_eq!(rendezvous(b"ferret", without_another), Some(owner));
/// assert_eq!(rendezvous(b"ferret", []), None);
/// ```
#[must_use]
pub fn rendezvous(key: &[u8], nodes: impl IntoIterator<Item = NodeId>) -> Option<NodeId> {
    // `spread` makes up for what this hash lacks.
    let key = key.iter().fold(BASIS, |hash, byte| go_on(hash, *byte));
    nodes.into_iter().max_by_key(|node| {
        let node_alone = planted!("rendezvous-not-spread": spread(node.0) => node.0);
        (spread(key ^ node_alone), *node)
    })
}
