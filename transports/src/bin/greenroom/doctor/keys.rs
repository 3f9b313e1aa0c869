//! Whose keys the file of a node has, to be compared with what the files of the others have.

use super::Finding;
use greenroom_transports::config::{NodeConfig, Peer};

pub(crate) fn look(config: &NodeConfig) -> Vec<Finding> {
    let own = format!("{} is this node's", config.identity.public());
    let others = config.peers.iter().map(|peer| format!("{} is that of {}", peer.key, name(peer)));
    std::iter::once(own).chain(others).map(|seen| Finding::good("key", seen)).collect()
}

fn name(peer: &Peer) -> &str {
    peer.name.as_ref().or(peer.address.as_ref()).map_or("a peer without a name", String::as_str)
}
