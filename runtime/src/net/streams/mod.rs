//! Streams between nodes.
//!
//! An [`Items`] that a message takes to another node stays where it is: a [source](source) reads it there, as an actor
//! of that node, and tells what it read to the other node, where a [sink](sink) hands it to the new `Items`.
//!
//! ```text
//! Emitter -> Items -> source --item, finish, cut--> sink -> Items
//!                           <--grant, left---------
//! ```
//!
//! What the two say to each other goes as messages that are told to the other node itself, which has the number 0.
//!
//! Invariants:
//! 1. No item leaves beyond what the sink has granted, but for the rest of one that begins below it. So the memory
//!    of a stream is bounded, and no stream holds up another, or a message. That of all streams of a connection is
//!    bounded by [excess], too.
//! 2. A source ends when its stream does, when the sink is left, when it becomes certain that the message which
//!    takes the stream is not read, and with the connection. So does a sink.

mod excess;
mod sink;
mod source;
mod table;
mod voyage;

pub(super) use table::Streams;
pub(super) use voyage::{Voyage, carrying, watched};

use super::endings::ConnectionEnd;
use super::frame::{Envelope, Frame};
use super::outlet::Outlet;
use super::reference;
use super::transport::Order;
use crate::actor::{Cut, Items};
use crate::sync::{Arc, planted};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer, ser};

/// The number of the node itself among its actors.
pub(super) const THE_NODE: u64 = 0;

/// The version of what is said of streams.
const VERSION: u16 = 1;

/// What is said of streams, each with the stream's number in front. [ENV-20]
const ITEM: u32 = 1;
const FINISH: u32 = 2;
const CUT: u32 = 3;
const GRANT: u32 = 4;
const LEFT: u32 = 5;

/// What an item costs beside its bytes, so that their number is bounded as well.
const ITEM_COST_BYTES: u64 = 64;

/// A stream may be an argument or an answer of a message to another node, and is empty here from then on. Fails
/// outside of such messages.
impl<T: Serialize + DeserializeOwned + Send + 'static> Serialize for Items<T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let connection = reference::connection().map_err(ser::Error::custom)?;
        voyage::send(&connection, self).map_err(ser::Error::custom)?.serialize(to)
    }
}

impl<'de, T: Serialize + DeserializeOwned + Send + 'static> Deserialize<'de> for Items<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let stream = u64::deserialize(from)?;
        let connection = reference::connection().map_err(serde::de::Error::custom)?;
        sink::open(&connection, stream).map_err(reference::failed)
    }
}

/// Takes what the other node says of a stream; `false` if it must not say that. [ENV-20]
pub(super) fn receive(outlet: &Arc<Outlet>, envelope: &Envelope<'_>) -> bool {
    let Some((stream, rest)) = envelope.arguments.split_first_chunk() else { return false };
    let stream = u64::from_le_bytes(*stream);
    let streams = outlet.streams();
    match envelope.message {
        ITEM => return streams.item(outlet, stream, rest),
        FINISH => streams.end(stream, Ok(())),
        CUT => streams.end(stream, Err(Cut::Abandoned)),
        GRANT => {
            let Ok(bytes) = rest.try_into() else { return false };
            let is_over = !streams.grant(stream, u64::from_le_bytes(bytes));
            if planted!("net-stream-gone-unsaid": is_over => false) {
                // Perhaps it was given up as one that nobody reads.
                let said = say(outlet, Order::BehindAll, CUT, stream, &[]);
                return planted!("net-stream-backlog": said => true);
            }
        }
        LEFT => streams.left(stream),
        _ => return false,
    }
    true
}

/// The frame of a message about a stream, with nothing behind the stream's number yet.
fn frame(message: u32, stream: u64, bytes: &mut Vec<u8>) {
    let arguments = &stream.to_le_bytes();
    let (actor, version, schema) = (THE_NODE, VERSION, 0);
    Frame::Tell(Envelope { actor, version, message, schema, arguments }).write(bytes);
}

/// Says it to the other node; `false` if that has caused more than may wait.
#[must_use]
fn say(outlet: &Outlet, order: Order, message: u32, stream: u64, more: &[u8]) -> bool {
    let mut bytes = super::scratch::take();
    frame(message, stream, &mut bytes);
    bytes.extend_from_slice(more);
    outlet.say_bytes(order, bytes)
}

/// The same for an end of a stream, which is not the session: ends the connection if too much waits. The session
/// may never say anything else, and not see it.
fn say_or_end(outlet: &Outlet, order: Order, message: u32, stream: u64, more: &[u8]) {
    if !say(outlet, order, message, stream, more) {
        outlet.cut_off(ConnectionEnd::Behind);
    }
}
