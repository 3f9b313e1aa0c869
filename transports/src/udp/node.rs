//! An endpoint with a socket and a clock: what a task drives.
//!
//! ```text
//! send → pooled buffer → seal in place → socket        socket → batch → open in place → what happened
//!                          endpoint's own datagrams ↗
//! ```
//!
//! Texts are sealed and opened where they lie; after the first few sends nothing allocates for a text.
//! They arrive at most once, in any order, or not at all: order and resending are the link's business.

use super::socket::{Batch, PathError, SendError, Socket};
use crate::link::Time;
use crate::secure::endpoint::{AssociationId, Endpoint, Event, Received, SealFailed, Transmit};
use crate::secure::wire::{HEADER_BYTES, OVERHEAD_BYTES};
use std::fmt;
use std::future::{Future, poll_fn};
use std::io;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::{Instant, Sleep};

/// What happened while a node was driven.
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Happened<'a> {
    /// A text has come.
    Text {
        /// In which association.
        association: AssociationId,
        /// In which lane.
        lane: u8,
        /// Under which number.
        number: u64,
        /// What it says.
        text: &'a [u8],
    },
    /// An association or a peer has changed.
    Event(Event),
    /// Something was said about a path.
    Path(PathError),
    /// A datagram of the endpoint itself could not be sent, and is dropped; it is sent again in time.
    Unsent,
}

/// Texts were not sent, from one on.
#[derive(Debug, thiserror::Error)]
#[error("{sent} texts were sent: {why}")]
pub struct NotSent {
    /// How many were sent before.
    pub sent: usize,
    /// Why no more.
    #[source]
    pub why: Why,
}

/// Why a text was not sent.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Why {
    /// It could not be sealed.
    #[error(transparent)]
    Sealed(#[from] SealFailed),
    /// It could not be sent.
    #[error(transparent)]
    Socket(#[from] SendError),
}

/// An endpoint, its socket and its clock.
pub struct Node {
    endpoint: Endpoint,
    socket: Socket,
    start: Instant,
    batch: Batch,
    /// Where texts are sealed before they are sent together.
    out: Vec<u8>,
    /// What the endpoint wants to send and the socket did not take.
    waiting: Option<Transmit>,
    sleep: Pin<Box<Sleep>>,
}

impl Node {
    /// Puts an endpoint on a socket. The clock, which the endpoint's times are read from, starts now.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime with its time enabled.
    #[must_use]
    pub fn new(endpoint: Endpoint, socket: Socket) -> Self {
        let (batch, sleep) = (Batch::new(), Box::pin(tokio::time::sleep(Duration::ZERO)));
        Self {
            endpoint,
            socket,
            start: Instant::now(),
            batch,
            out: Vec::new(),
            waiting: None,
            sleep,
        }
    }

    /// The time that the endpoint lives in.
    #[must_use]
    pub fn now(&self) -> Time {
        let nanos = self.start.elapsed().as_nanos();
        Time::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// The endpoint, to connect, close and look at. What it wants to send goes out when the node is
    /// driven next.
    pub fn endpoint(&mut self) -> &mut Endpoint {
        &mut self.endpoint
    }

    /// The socket.
    #[must_use]
    pub fn socket(&self) -> &Socket {
        &self.socket
    }

    /// Seals texts and sends them, those of equal length that follow one another with one call. Never
    /// waits.
    ///
    /// # Errors
    ///
    /// [`NotSent`] with how many were sent; the text that failed and those behind it were not. After
    /// [`SendError::Full`] drive the node until it is writable again.
    pub fn send(
        &mut self,
        association: AssociationId,
        lane: u8,
        texts: &[&[u8]],
    ) -> Result<(), NotSent> {
        let mut sent = 0;
        while let Some((first, _)) = texts.get(sent..).and_then(<[_]>::split_first) {
            let packet = NonZeroUsize::MIN.saturating_add(first.len() + OVERHEAD_BYTES - 1);
            let alike = texts[sent..].iter().take_while(|text| text.len() == first.len());
            let together = alike.count().min(self.socket.segments_max().max(1));
            let sealed = self.seal(association, lane, &texts[sent..sent + together], packet);
            let done = match sealed {
                Ok(to) => self
                    .socket
                    .send(to, &self.out, packet)
                    .map_err(|(bytes, why)| (bytes, why.into())),
                Err(why) => Err((0, Why::Sealed(why))),
            };
            if let Err((bytes, why)) = done {
                return Err(NotSent { sent: sent + bytes / packet, why });
            }
            sent += together;
        }
        Ok(())
    }

    /// Seals texts of equal length one after the other into the node's buffer.
    fn seal(
        &mut self,
        association: AssociationId,
        lane: u8,
        texts: &[&[u8]],
        packet: NonZeroUsize,
    ) -> Result<std::net::SocketAddr, SealFailed> {
        let now = self.now();
        self.out.resize(packet.get() * texts.len(), 0);
        let mut to = Err(SealFailed::Gone);
        for (packet, text) in self.out.chunks_mut(packet.get()).zip(texts) {
            packet[HEADER_BYTES..HEADER_BYTES + text.len()].copy_from_slice(text);
            to = Ok(self.endpoint.seal_next(now, association, lane, packet)?);
        }
        to
    }

    /// Waits until something is to be done, does it, and tells `sink` what happened: what came with one
    /// receive, and the events after it. The sink says when to stop.
    ///
    /// # Errors
    ///
    /// What the kernel says about the socket; the node is of no use after that.
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost if the future is dropped.
    pub async fn drive(
        &mut self,
        sink: &mut impl FnMut(Happened<'_>) -> ControlFlow<()>,
    ) -> io::Result<()> {
        while self.turn(sink)?.is_continue() {
            poll_fn(|context| self.poll(context)).await?;
        }
        Ok(())
    }

    /// Everything that can be done without waiting.
    fn turn(
        &mut self,
        sink: &mut impl FnMut(Happened<'_>) -> ControlFlow<()>,
    ) -> io::Result<ControlFlow<()>> {
        let mut flow = ControlFlow::Continue(());
        let mut tell = |happened: Happened<'_>| {
            if sink(happened).is_break() {
                flow = ControlFlow::Break(());
            }
        };
        while let Some(error) = self.socket.path_error()? {
            tell(Happened::Path(error));
        }
        self.socket.receive(&mut self.batch)?;
        let now = self.now();
        for (from, datagram) in self.batch.datagrams() {
            let received = self.endpoint.handle(now, from, datagram);
            while let Some(event) = self.endpoint.poll_event() {
                tell(Happened::Event(event));
            }
            if let Received::Text { association, lane, number, text } = received {
                let text = datagram.get(text).unwrap_or_default();
                tell(Happened::Text { association, lane, number, text });
            }
        }
        self.endpoint.handle_timeout(now);
        while let Some(event) = self.endpoint.poll_event() {
            tell(Happened::Event(event));
        }
        if !self.flush() {
            tell(Happened::Unsent);
        }
        Ok(flow)
    }

    /// Sends what the endpoint wants to, as far as the socket takes it; whether nothing was dropped.
    fn flush(&mut self) -> bool {
        let mut kept = true;
        while let Some(transmit) = self.waiting.take().or_else(|| self.endpoint.poll_transmit()) {
            let Some(length) = NonZeroUsize::new(transmit.packet.len()) else { continue };
            match self.socket.send(transmit.to, &transmit.packet, length) {
                Ok(()) => {}
                Err((_, SendError::Full)) => {
                    self.waiting = Some(transmit);
                    break;
                }
                Err(_) => kept = false,
            }
        }
        kept
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if let Poll::Ready(ready) = self.socket.poll_readable(context) {
            return Poll::Ready(ready);
        }
        if self.waiting.is_some()
            && let Poll::Ready(ready) = self.socket.poll_writable(context)
        {
            return Poll::Ready(ready);
        }
        let Some(due) = self.endpoint.poll_timeout() else { return Poll::Pending };
        let due = self.start + Duration::from_nanos(due.as_nanos());
        if self.sleep.deadline() != due {
            self.sleep.as_mut().reset(due);
        }
        self.sleep.as_mut().poll(context).map(Ok)
    }
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Node")
            .field("endpoint", &self.endpoint)
            .field("socket", &self.socket)
            .finish_non_exhaustive()
    }
}
