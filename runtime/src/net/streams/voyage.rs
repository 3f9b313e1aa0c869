//! What becomes of the streams in a message, when that does not come to be read.
//!
//! A stream is read from when the message that it is in is decoded at the other node. A message that is never decoded there is
//! told of by its answer: so one with streams is always asked, also if it is told. The answer to a question, and an item
//! of a stream, have no answer: what is in them ends by itself if nobody reads it for a while.

use super::source;
use crate::actor::Items;
use crate::event::{ActorId, DeadLetterReason, Undelivered};
use crate::net::message::Asker;
use crate::net::outlet::Outlet;
use crate::net::reference;
use crate::sync::{Arc, planted, thread_local};
use crate::time::Time;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::cell::Cell;

/// Whether it becomes known that what takes a stream to the other node was not read there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::net) enum Voyage {
    /// By its answer.
    Watched,
    /// No.
    Unwatched,
}

thread_local! {
    /// The streams that go with what the thread encodes.
    static CARRIED: Cell<Option<(Voyage, Vec<u64>)>> = const { Cell::new(None) };
}

/// Does `encode`, which does not panic; returns the streams that go with what it encodes.
pub(in crate::net) fn carrying(voyage: Voyage, encode: impl FnOnce() -> bool) -> Vec<u64> {
    CARRIED.with(|carried| carried.set(Some((voyage, Vec::new()))));
    encode();
    CARRIED.with(Cell::take).map_or_else(Vec::new, |(_, streams)| streams)
}

/// Sends a stream to the other node; returns its number. [ENV-20]
pub(super) fn send<T: Serialize + DeserializeOwned + Send + 'static>(
    outlet: &Arc<Outlet>,
    items: &Items<T>,
) -> Result<u64, &'static str> {
    CARRIED.with(|carried| {
        let noted = carried.take();
        let Some((voyage, mut streams)) = noted else {
            return Err("streams go in messages, their answers, and streams, and nowhere else");
        };
        let sent = source::start(outlet, items, voyage);
        streams.extend(sent);
        carried.set(Some((voyage, streams)));
        sent.map_err(|why| {
            reference::note(why);
            "the connection takes no more streams"
        })
    })
}

/// Whoever waits for the answer, and for word of the streams in the question. [ENV-21]
pub(in crate::net) fn watched(
    outlet: &Arc<Outlet>,
    streams: Vec<u64>,
    letter: (ActorId, &'static str),
    asker: Option<Box<dyn Asker>>,
) -> Option<Box<dyn Asker>> {
    if planted!("net-stream-unwatched": streams.is_empty() => true) {
        return asker;
    }
    Some(Box::new(Watch { outlet: outlet.clone(), streams, letter, asker }))
}

struct Watch {
    outlet: Arc<Outlet>,
    streams: Vec<u64>,
    letter: (ActorId, &'static str),
    /// `None` if the message is told.
    asker: Option<Box<dyn Asker>>,
}

impl Asker for Watch {
    fn until(&self) -> Time {
        self.asker.as_ref().map_or(Time::NEVER, |asker| asker.until())
    }

    fn is_abandoned(&self) -> bool {
        // As long as a stream is there, it may wait for the answer.
        self.outlet.streams().are_over(&self.streams)
            && self.asker.as_ref().is_none_or(|asker| asker.is_abandoned())
    }

    fn answer(self: Box<Self>, outcome: Result<&[u8], Undelivered>) {
        match outcome {
            // It was read, and what it holds is, too.
            Ok(_) | Err(Undelivered::NoReply | Undelivered::NotEncoded) => {}
            Err(_) => self.outlet.streams().lose(&self.streams),
        }
        match (self.asker, outcome) {
            (Some(asker), outcome) => asker.answer(outcome),
            (None, Ok(_)) => {}
            (None, Err(Undelivered::NodeDown)) => {
                self.outlet.report(self.letter, DeadLetterReason::MaybeDelivered);
            }
            (None, Err(why)) => {
                self.outlet.report(self.letter, DeadLetterReason::Undelivered(why));
            }
        }
    }
}
