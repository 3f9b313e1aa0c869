//! Nodes in one process, joined by pipes that can be broken at any point: for tests, also in simulated worlds.
//!
//! A pipe keeps the order of all frames, holds a bounded number of them, and loses none until it is cut. A cut
//! loses whatever the other node has not taken out yet, so that a test says exactly what arrives.

use super::frame_buf::FrameBuf;
use super::identity::{Address, Identity};
use super::transport::{ConnectError, Connecting, Link, LinkEnd, Order, SubmitError, Transport};
use crate::sync::{Arc, Mutex};
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::future::ready;
use std::task::{Context, Poll, Waker};

/// Frames that a pipe holds in each direction, unless told otherwise.
const FRAMES_MAX: usize = 256;
/// Bytes of a frame at most.
const FRAME_BYTES_MAX: usize = 16 << 20;

/// A network inside the process. Cloning gives another handle.
#[derive(Clone)]
pub struct Loopback {
    net: Arc<Mutex<Net>>,
    frames_max: usize,
}

#[derive(Default)]
struct Net {
    ports: BTreeMap<String, Port>,
    pipes: Vec<(Pair, Arc<Mutex<Pipe>>)>,
    /// Who does not reach whom.
    severed: Vec<Pair>,
}

/// The places that a pipe joins.
type Pair = (String, String);

/// A node's place in the network.
struct Port {
    identity: Identity,
    links: VecDeque<Box<dyn Link>>,
    waker: Option<Waker>,
    closed: bool,
}

/// Both directions between two nodes.
struct Pipe {
    ends: [End; 2],
    ended: Option<LinkEnd>,
}

/// What one node has to receive, and to wait for.
#[derive(Default)]
struct End {
    frames: VecDeque<Vec<u8>>,
    /// Frames that it took out.
    received: u64,
    /// How many it receives before the pipe is cut.
    cut_after: Option<u64>,
    reader: Option<Waker>,
    /// Wants to put frames into the other end.
    writer: Option<Waker>,
}

impl Loopback {
    /// A network without nodes.
    #[must_use]
    pub fn new() -> Self {
        Self { net: Arc::new(Mutex::new(Net::default())), frames_max: FRAMES_MAX }
    }

    /// Sets how many frames a pipe holds in each direction; by default 256.
    #[must_use]
    pub fn frames_max(mut self, frames: usize) -> Self {
        self.frames_max = frames.max(1);
        self
    }

    /// The transport of the node at `loopback:place`. One that was there before is gone: its links are lost.
    #[must_use]
    pub fn node(&self, place: &str, identity: Identity) -> LoopbackNode {
        let mut net = self.net.lock();
        let port = Port { identity, links: VecDeque::new(), waker: None, closed: false };
        let before = net.ports.insert(place.to_owned(), port);
        let lost = net.take_pipes(|(from, to)| from == place || to == place);
        drop(net);
        for pipe in lost {
            wake(pipe.lock().end(LinkEnd::Lost));
        }
        wake(before.and_then(|port| port.waker));
        LoopbackNode { network: self.clone(), place: place.to_owned(), identity }
    }

    /// Cuts the pipe between two nodes now. What is in it is lost.
    pub fn cut(&self, one: &str, other: &str) {
        for pipe in self.net.lock().take_pipes(|pipe| joins(pipe, one, other)) {
            wake(pipe.lock().end(LinkEnd::Lost));
        }
    }

    /// Cuts the pipe between two nodes now, and lets there be none until [`Loopback::mend`].
    pub fn sever(&self, one: &str, other: &str) {
        self.net.lock().severed.push((one.to_owned(), other.to_owned()));
        self.cut(one, other);
    }

    /// Lets two nodes reach each other again.
    pub fn mend(&self, one: &str, other: &str) {
        self.net.lock().severed.retain(|pair| !joins(pair, one, other));
    }

    /// Cuts the pipe between two nodes when `to` has received so many more frames from `from`; with 0, at once.
    pub fn cut_after(&self, from: &str, to: &str, frames: u64) {
        if frames == 0 {
            return self.cut(from, to);
        }
        let net = self.net.lock();
        for (pair, pipe) in net.pipes.iter().filter(|(pair, _)| joins(pair, from, to)) {
            let end = usize::from(pair.1 == to);
            pipe.lock().ends[end].cut_after = Some(frames);
        }
    }
}

impl Default for Loopback {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Loopback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let net = self.net.lock();
        f.debug_struct("Loopback").field("nodes", &net.ports.len()).finish_non_exhaustive()
    }
}

fn joins((from, to): &Pair, one: &str, other: &str) -> bool {
    (from == one && to == other) || (from == other && to == one)
}

/// Outside of every lock.
fn wake(wakers: impl IntoIterator<Item = Waker>) {
    wakers.into_iter().for_each(Waker::wake);
}

impl Net {
    fn take_pipes(&mut self, which: impl Fn(&Pair) -> bool) -> Vec<Arc<Mutex<Pipe>>> {
        self.pipes.extract_if(.., |(pair, _)| which(pair)).map(|(_, pipe)| pipe).collect()
    }
}

impl Pipe {
    /// Ends it; returns who waits at it. One that was closed is lost if some of what was submitted before is.
    fn end(&mut self, why: LinkEnd) -> Vec<Waker> {
        let loses = why == LinkEnd::Lost && self.ends.iter().any(|end| !end.frames.is_empty());
        if loses || self.ended.is_none() {
            self.ended = Some(why);
        }
        if why == LinkEnd::Lost {
            self.ends.iter_mut().for_each(|end| end.frames.clear());
        }
        let wakers = self.ends.iter_mut().flat_map(|end| [end.reader.take(), end.writer.take()]);
        wakers.flatten().collect()
    }
}

/// One node of a [`Loopback`].
#[derive(Debug)]
pub struct LoopbackNode {
    network: Loopback,
    place: String,
    identity: Identity,
}

impl LoopbackNode {
    /// Where others reach it.
    ///
    /// # Panics
    /// When the place was empty.
    #[must_use]
    pub fn address(&self) -> Address {
        format!("loopback:{}", self.place).parse().expect("a place is not empty")
    }

    /// Joins the two nodes, unless they are.
    fn join(&self, to: &Address) -> Result<Identity, ConnectError> {
        if to.scheme() != "loopback" {
            return Err(ConnectError::OtherScheme(to.clone()));
        }
        let unreachable = |text: &str| {
            Err(ConnectError::Unreachable { address: to.clone(), text: text.to_owned() })
        };
        let mut net = self.network.net.lock();
        let Some(theirs) = net.ports.get(to.place()).filter(|port| !port.closed) else {
            return unreachable("no node is there");
        };
        if net.severed.iter().any(|pair| joins(pair, &self.place, to.place())) {
            return unreachable("no way leads there");
        }
        let peer = theirs.identity;
        if peer == self.identity {
            return unreachable("that is this node itself");
        }
        match net.ports.get(&self.place) {
            Some(ours) if ours.identity == self.identity && !ours.closed => {}
            _ => return Err(ConnectError::Closed),
        }
        let is_up = |pipe: &Arc<Mutex<Pipe>>| pipe.lock().ended.is_none();
        net.pipes.retain(|(_, pipe)| is_up(pipe));
        if net.pipes.iter().any(|(pair, _)| joins(pair, &self.place, to.place())) {
            return Ok(peer);
        }
        let pipe = Arc::new(Mutex::new(Pipe { ends: Default::default(), ended: None }));
        let frames_max = self.network.frames_max;
        let mut wakers = Vec::new();
        for (side, place, peer) in [(0, self.place.as_str(), peer), (1, to.place(), self.identity)]
        {
            if let Some(port) = net.ports.get_mut(place) {
                let link = LoopbackLink { pipe: pipe.clone(), side, peer, frames_max };
                port.links.push_back(Box::new(link));
                wakers.extend(port.waker.take());
            }
        }
        net.pipes.push(((self.place.clone(), to.place().to_owned()), pipe));
        drop(net);
        wake(wakers);
        Ok(peer)
    }
}

impl Transport for LoopbackNode {
    fn identity(&self) -> Identity {
        self.identity
    }

    fn connect(&self, to: &Address) -> Connecting {
        Box::pin(ready(self.join(to)))
    }

    fn poll_link(&self, cx: &mut Context<'_>) -> Poll<Option<Box<dyn Link>>> {
        let mut net = self.network.net.lock();
        let port = net.ports.get_mut(&self.place);
        // Another one may have taken the place.
        let Some(port) = port.filter(|port| port.identity == self.identity) else {
            return Poll::Ready(None);
        };
        if let Some(link) = port.links.pop_front() {
            return Poll::Ready(Some(link));
        }
        if port.closed {
            return Poll::Ready(None);
        }
        port.waker = Some(cx.waker().clone());
        Poll::Pending
    }

    fn close(&self) {
        let mut net = self.network.net.lock();
        let port = net.ports.get_mut(&self.place);
        let port = port.filter(|port| port.identity == self.identity);
        let waker = port.and_then(|port| {
            port.closed = true;
            port.waker.take()
        });
        drop(net);
        wake(waker);
    }
}

/// One end of a pipe.
struct LoopbackLink {
    pipe: Arc<Mutex<Pipe>>,
    /// Which end.
    side: usize,
    peer: Identity,
    frames_max: usize,
}

impl Link for LoopbackLink {
    fn peer(&self) -> Identity {
        self.peer
    }

    fn submit(&self, _: Order, frame: &[u8]) -> Result<(), SubmitError> {
        let mut pipe = self.pipe.lock();
        if pipe.ended.is_some() {
            return Err(SubmitError::Ended);
        }
        if frame.len() > FRAME_BYTES_MAX {
            return Err(SubmitError::TooLarge);
        }
        let end = &mut pipe.ends[1 - self.side];
        if end.frames.len() >= self.frames_max {
            return Err(SubmitError::Full);
        }
        end.frames.push_back(frame.to_vec());
        let reader = end.reader.take();
        drop(pipe);
        wake(reader);
        Ok(())
    }

    fn poll_room(&self, cx: &mut Context<'_>) -> Poll<()> {
        let mut pipe = self.pipe.lock();
        if pipe.ended.is_some() || pipe.ends[1 - self.side].frames.len() < self.frames_max {
            return Poll::Ready(());
        }
        pipe.ends[self.side].writer = Some(cx.waker().clone());
        Poll::Pending
    }

    fn poll_receive(
        &self,
        cx: &mut Context<'_>,
        frame: &mut FrameBuf,
    ) -> Poll<Result<(), LinkEnd>> {
        let mut guard = self.pipe.lock();
        let pipe = &mut *guard;
        let end = &mut pipe.ends[self.side];
        let Some(bytes) = end.frames.pop_front() else {
            if let Some(why) = pipe.ended {
                return Poll::Ready(Err(why));
            }
            end.reader = Some(cx.waker().clone());
            return Poll::Pending;
        };
        end.received += 1;
        let left = end.cut_after.as_mut().map(|left| {
            *left -= 1;
            *left
        });
        let mut wakers: Vec<_> = pipe.ends[1 - self.side].writer.take().into_iter().collect();
        if left == Some(0) {
            wakers.extend(pipe.end(LinkEnd::Lost));
        }
        drop(guard);
        wake(wakers);
        *frame = bytes.into();
        Poll::Ready(Ok(()))
    }

    fn delivered(&self) -> u64 {
        self.pipe.lock().ends[1 - self.side].received
    }

    fn close(&self) {
        let mut pipe = self.pipe.lock();
        // Nothing more is received here; the other end takes out what it has.
        pipe.ends[self.side].frames.clear();
        let wakers = pipe.end(LinkEnd::Closed);
        drop(pipe);
        wake(wakers);
    }
}

impl Drop for LoopbackLink {
    fn drop(&mut self) {
        self.close();
    }
}
