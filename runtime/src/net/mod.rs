//! Actors that are reached from other nodes, by the same references and calls as at home.
//!
//! `#[handlers(wire = "acme.book/3")]` gives a protocol a name and a version, under which its messages go to
//! other nodes. What a message looks like there follows from the names and types in its handler's signature.
//!
//! | part | what it is |
//! |---|---|
//! | [`Node`] | a system that other nodes reach, and that reaches them |
//! | [`Peer`] | a connection to another node, by which its actors are found |
//! | [`Export`] | an actor that others may find, with what it understands beside its protocol |
//! | [`Transport`] | what carries frames between nodes |
//! | [`Loopback`] | a transport inside the process |
//! | [`Manifest`] | what a protocol looks like from outside |
//! | [`lock`], [`Shape`] | the committed record of that and of what is inside, and what changes mean for a rolling upgrade |
//! | [`NodeId`], [`Incarnation`], [`Address`] | who a node is, which run of it, and where |
//! | [`Frame`] | what nodes say to each other, as bytes |
//! | `membership` | which nodes are in the cluster, with the feature of that name |
//! | [`rendezvous()`] | which of the nodes a key belongs to |
//! | [`Items`](crate::Items) | a stream, which a message may take to another node |
//! | [`Codec`] | how values become bytes; [`Postcard`] unless the protocol names another |

mod answers;
mod association;
mod bundle;
mod codec;
mod conformance;
mod endings;
mod export;
mod find;
mod frame;
mod frame_buf;
mod groups;
mod identity;
mod limit;
pub mod lock;
mod looking;
mod loopback;
mod manifest;
#[cfg(feature = "membership")]
pub mod membership;
mod message;
mod node;
mod outlet;
mod peer;
mod reach;
mod reason;
mod reference;
mod remote;
mod remote_child;
mod rendezvous;
mod scratch;
mod session;
mod shape;
mod spare;
mod spawn;
mod streams;
mod transport;
mod whole;

pub use bytes::Bytes;
#[cfg(feature = "prost")]
pub use codec::Prost;
#[cfg(feature = "zerocopy")]
pub use codec::Zerocopy;
pub use codec::{Codec, DecodeError, EncodeError, Postcard};
pub use conformance::transport_conforms;
pub use endings::{ConnectionEnd, Ending};
pub use export::Export;
pub use frame::{Envelope, Frame, FrameError, TEXT_BYTES_MAX, Tells};
pub use frame_buf::FrameBuf;
pub use groups::SharedGroup;
pub use identity::{Address, Identity, Incarnation, NodeId, ParseError};
pub use limit::{Bucket, Rate};
pub use loopback::{Loopback, LoopbackNode};
pub use manifest::{Manifest, MessageId, Signature};
pub use message::{Decoded, Encoded, Until, WireMessage};
pub use node::{ExportError, Node};
pub use peer::{LookupError, Peer};
pub use remote_child::{Placement, RemoteChild};
pub use rendezvous::rendezvous;
pub use shape::Shape;
pub use spawn::{Orphans, RemoteSpawnError, Spawnable};
pub use transport::{
    ConnectError, Connecting, Drive, Link, LinkEnd, Order, SubmitError, Transport,
};

#[doc(hidden)]
pub use codec::{decode, encode, finish};
#[doc(hidden)]
pub use message::{AnswerBytes, question};
#[doc(hidden)]
pub use shape::shape;
