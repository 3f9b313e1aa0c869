//! The end of a stream at the node that reads it.

use super::excess::Share;
use super::table::{Coming, Refused};
use super::{GRANT, ITEM_COST_BYTES, LEFT, say_or_end};
use crate::actor::{Cut, Flow, Items};
use crate::event::Undelivered;
use crate::net::codec::{self, Codec, Postcard};
use crate::net::outlet::Outlet;
use crate::net::reference;
use crate::net::transport::Order;
use crate::sync::panic::{quietly, wake_quietly};
use crate::sync::{Arc, Mutex, planted};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::VecDeque;
use std::task::{Context, Poll, Waker};

/// What has come and was not read.
struct Sink<T>(Mutex<Basin<T>>);

struct Basin<T> {
    /// Each with what it costs.
    items: VecDeque<(T, u64)>,
    /// The cost of all that came.
    received: u64,
    /// The cost of all that was read.
    read: u64,
    /// What an item may begin below.
    granted: u64,
    excess: Share,
    end: Option<Result<(), Cut>>,
    reader: Option<Waker>,
}

impl<T> Basin<T> {
    /// What is beyond the window if so much has come.
    fn excess(&self, received: u64) -> u64 {
        let bounded = if self.end.is_some() { self.read } else { self.granted };
        received.saturating_sub(bounded)
    }

    fn note_excess(&mut self) {
        self.excess.set(self.excess(self.received));
    }
}

/// What reads a stream from another node.
struct Reader<T> {
    sink: Arc<Sink<T>>,
    outlet: Arc<Outlet>,
    stream: u64,
    /// What was let be under way last.
    window: u64,
}

/// Reads a stream of the other node. [ENV-20]
pub(super) fn open<T: Serialize + DeserializeOwned + Send + 'static>(
    outlet: &Arc<Outlet>,
    stream: u64,
) -> Result<Items<T>, Undelivered> {
    let basin = Basin {
        items: VecDeque::new(),
        received: 0,
        read: 0,
        granted: 0,
        excess: outlet.streams().excess().share(),
        end: None,
        reader: None,
    };
    let sink = Arc::new(Sink(Mutex::new(basin)));
    let coming = Arc::new(Box::new(Inlet(sink.clone())) as Box<dyn Coming>);
    let window = outlet.streams().arrive(stream, coming)?;
    let mut reader = Reader { sink, outlet: outlet.clone(), stream, window: 0 };
    reader.grant(window);
    Ok(Items::far(reader))
}

/// Where the session puts items; the sink itself has two owners.
struct Inlet<T>(Arc<Sink<T>>);

impl<T: Serialize + DeserializeOwned + Send + 'static> Coming for Inlet<T> {
    fn item(&self, mut bytes: &[u8], by: &Arc<Outlet>) -> Result<(), Refused> {
        let cost = bytes.len() as u64 + ITEM_COST_BYTES;
        let basin = self.0.0.lock();
        let is_granted = basin.received < basin.granted;
        let fits = basin.excess.may_be(basin.excess(basin.received + cost));
        drop(basin);
        if !planted!("net-stream-overrun": is_granted => true) {
            return Err(Refused::Overrun);
        }
        if !fits {
            return Err(Refused::Cut(Cut::OverLimit));
        }
        let mut decoded = None;
        // A codec is anybody's code.
        quietly(|| reference::by(by, || decoded = decode(&mut bytes)));
        let item = decoded.ok_or(Refused::Cut(Cut::Malformed))?;
        let mut basin = self.0.0.lock();
        basin.received += cost;
        basin.items.push_back((item, cost));
        basin.note_excess();
        let reader = basin.reader.take();
        drop(basin);
        reader.into_iter().for_each(wake_quietly);
        Ok(())
    }

    fn end(&self, end: Result<(), Cut>) {
        let mut basin = self.0.0.lock();
        basin.end = basin.end.or(Some(end));
        basin.note_excess();
        let reader = basin.reader.take();
        drop(basin);
        reader.into_iter().for_each(wake_quietly);
    }
}

fn decode<T: Serialize + DeserializeOwned + 'static>(bytes: &mut &[u8]) -> Option<T> {
    let item = <Postcard as Codec<T>>::decode(bytes).ok()?;
    codec::finish(bytes).ok()?;
    Some(item)
}

impl<T> Reader<T> {
    /// Lets so many bytes be under way.
    fn grant(&mut self, window: u64) {
        self.window = window;
        let mut basin = self.sink.0.lock();
        basin.granted = basin.granted.max(basin.read + window);
        basin.note_excess();
        let granted = basin.granted;
        drop(basin);
        say_or_end(&self.outlet, Order::Free, GRANT, self.stream, &granted.to_le_bytes());
    }

    /// Grants more when no more than that is left, and that is half of the window.
    fn went_on(&mut self, left: u64) {
        let is_half = left <= self.window / 2;
        if planted!("net-stream-ungranted": is_half => false) {
            self.grant(self.outlet.streams().window());
        }
    }
}

impl<T: Send> Flow<T> for Reader<T> {
    fn poll_item(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<T, Cut>>> {
        let mut basin = self.sink.0.lock();
        if let Some((item, cost)) = basin.items.pop_front() {
            basin.read += cost;
            let left = basin.granted.saturating_sub(basin.read);
            let is_open = basin.end.is_none();
            if !is_open {
                basin.note_excess();
            }
            drop(basin);
            if is_open {
                self.went_on(left);
            }
            return Poll::Ready(Some(Ok(item)));
        }
        if let Some(end) = basin.end {
            return Poll::Ready(end.err().map(Err));
        }
        basin.reader = Some(cx.waker().clone());
        Poll::Pending
    }
}

impl<T> Drop for Reader<T> {
    fn drop(&mut self) {
        if self.outlet.streams().leave(self.stream) {
            say_or_end(&self.outlet, Order::Free, LEFT, self.stream, &[]);
        }
    }
}
