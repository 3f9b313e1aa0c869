//! Actors that are reached from other nodes, by the same references and calls as at home.
//!
//! `#[handlers(wire = "acme.book/3")]` gives a protocol a name and a version, under which its messages go to
//! other nodes. What a message looks like there follows from the names and types in its handler's signature.
//!
//! | part | what it is |
//! |---|---|
//! | [`Manifest`] | what a protocol looks like from outside |
//! | [`lock`] | the committed record of that, and what changes mean for a rolling upgrade |
//! | [`NodeId`], [`Incarnation`], [`Address`] | who a node is, which run of it, and where |
//! | [`Frame`] | what nodes say to each other, as bytes |
//! | [`Codec`] | how values become bytes; [`Postcard`] unless the protocol names another |

mod association;
mod codec;
mod export;
mod frame;
mod identity;
pub mod lock;
mod loopback;
mod manifest;
mod message;
mod node;
mod outlet;
mod peer;
mod reason;
mod remote;
mod session;
mod transport;

pub use codec::{Codec, DecodeError, EncodeError, Postcard};
pub use export::Export;
pub use frame::{Envelope, Frame, FrameError, TEXT_BYTES_MAX};
pub use identity::{Address, Identity, Incarnation, NodeId, ParseError};
pub use loopback::{Loopback, LoopbackNode};
pub use manifest::{Manifest, MessageId, Signature};
pub use message::{Decoded, Encoded, Until, WireMessage};
pub use node::{ExportError, Node};
pub use peer::{LookupError, Peer};
pub use transport::{ConnectError, Connecting, Link, LinkEnd, Order, SubmitError, Transport};

#[doc(hidden)]
pub use codec::{decode, encode, finish};
#[doc(hidden)]
pub use message::{AnswerBytes, question};
