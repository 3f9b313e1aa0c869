//! What an endpoint tells its owner.

use super::association::AssociationId;
use crate::secure::hello::Hello;
use crate::secure::key::PublicKey;
use std::net::SocketAddr;

/// Something that happened to an association or a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// An association is there, confirmed by both sides as far as this one can tell.
    Up {
        /// Its name.
        association: AssociationId,
        /// The node.
        peer: PublicKey,
        /// What the node says of itself.
        hello: Hello,
        /// How many lanes both have.
        lanes: u8,
        /// Where the node is.
        address: SocketAddr,
    },
    /// An association has fresh keys. Packet numbers go on.
    Rekeyed {
        /// Its name.
        association: AssociationId,
    },
    /// The peer has proved to be elsewhere: what was known of the path is void.
    Moved {
        /// Its name.
        association: AssociationId,
        /// Where the node is now.
        address: SocketAddr,
    },
    /// An association has ended. Nothing of it comes after this.
    Down {
        /// Its name.
        association: AssociationId,
        /// The node.
        peer: PublicKey,
        /// Why.
        why: Ended,
    },
    /// A handshake was given up.
    Unreachable {
        /// The node.
        peer: PublicKey,
    },
    /// A first contact taught us a node, which may now be connected to.
    Learned {
        /// The node.
        peer: PublicKey,
        /// Where it was found, if this node began, and otherwise where it has proved to be.
        address: SocketAddr,
    },
    /// A first contact was given up.
    Nobody {
        /// Where nobody answered.
        address: SocketAddr,
    },
    /// A first contact came back to this node.
    Itself {
        /// The address that was asked.
        address: SocketAddr,
    },
}

/// Why an association has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ended {
    /// Its owner closed it.
    Closed,
    /// The peer has begun another life, and an association of that is there.
    Replaced,
    /// The peer proved that it has forgotten it.
    Reset,
    /// Its keys became too old.
    Expired,
    /// The peer is no longer allowed.
    Forbidden,
}
