//! The contract between a node and what carries its frames to other nodes.
//!
//! ```text
//! Ref::tell -> proxy -> frame -> Link::submit  ~~~>  Link::poll_receive -> frame -> mailbox
//! ```
//!
//! A [`Transport`] makes [`Link`]s, one for each connection to a node, and a link carries frames. Nothing calls
//! back: what happens is polled for. What a link promises, and a node relies on:
//!
//! 1. A frame that was submitted is received once, or the link ends.
//! 2. Frames come in the order that each asked for ([`Order`]).
//! 3. The link of a node ends before there is another one to that node, in both of them: nothing that was
//!    submitted to the old one is received after anything of the new one.
//! 4. A link that is broken ends in bounded time at both ends, and what is under way is bounded: `submit` says
//!    [`SubmitError::Full`].

use super::frame_buf::FrameBuf;
use super::identity::{Address, Identity};
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

/// What becomes of an attempt to reach a node: who it is, once there is a link to it.
pub type Connecting = Pin<Box<dyn Future<Output = Result<Identity, ConnectError>> + Send>>;

/// What carries frames between nodes.
pub trait Transport: Send + Sync + 'static {
    /// Who this node is. Always the same.
    fn identity(&self) -> Identity;

    /// Reaches the node at an address, or finds that there is a link to it already. The link itself comes by
    /// [`Transport::poll_link`].
    fn connect(&self, to: &Address) -> Connecting;

    /// As [`Transport::connect`], to an address that another node has told. Nobody becomes known by that: a transport that
    /// says who may connect reaches those only who may already, or who prove that they belong to the same cluster.
    ///
    /// A transport that lets everybody connect has nothing to add.
    fn connect_told(&self, to: &Address) -> Connecting {
        self.connect(to)
    }

    /// Does what the transport has to do by `now`, the time on the clock of the node's system since a start that
    /// stays the same: receive, send again, notice who is silent. One actor calls, on a worker of the system, inside
    /// of its tokio runtime. It calls again when its waker is woken, or at the time that the answer names.
    ///
    /// A transport whose nodes share memory has nothing to do.
    fn drive(&self, cx: &mut Context<'_>, now: Duration) -> Drive {
        let _ = (cx, now);
        Drive::Ended
    }

    /// The next link that is up, whichever of the nodes began it; `None` when there will be none any more. One
    /// task polls.
    fn poll_link(&self, cx: &mut Context<'_>) -> Poll<Option<Box<dyn Link>>>;

    /// Makes and accepts no more links. Those that there are stay.
    fn close(&self);

    /// Tells the other nodes that this one is gone, without waiting: its system ends, and nobody drives the transport
    /// any more. What is still to be sent may be lost.
    ///
    /// A transport whose links end when they are dropped has nothing to do.
    fn depart(&self) {}
}

/// A connection to another node. One task receives, and one waits for room; any number submit.
pub trait Link: Send + Sync + 'static {
    /// The node at the other end. Always the same.
    fn peer(&self) -> Identity;

    /// Takes a frame on its way. Never blocks. One of 2 KiB is never too large. Whether there is room depends on how long it
    /// is and on whether it may overtake others, not on which others it is to stay in order of: who waits for room takes
    /// turns with others.
    ///
    /// A node may hold locks meanwhile, so nobody is woken by it but who drives the transport, and who waits at the other end of
    /// the link.
    ///
    /// # Errors
    /// [`SubmitError`]; the frame is not on its way then.
    fn submit(&self, order: Order, frame: &[u8]) -> Result<(), SubmitError>;

    /// Ready when there was room since this was ready last for a frame that was refused as [`SubmitError::Full`], a short one
    /// where longer ones find none, also if one was refused again; when nobody was refused; or when the link has ended.
    fn poll_room(&self, cx: &mut Context<'_>) -> Poll<()>;

    /// The next frame, or why there will be none. Frames that arrived before the end come before it. It takes the place of
    /// `frame`, whose [memory](FrameBuf::into_own) may be used for frames to come.
    fn poll_receive(&self, cx: &mut Context<'_>, frame: &mut FrameBuf)
    -> Poll<Result<(), LinkEnd>>;

    /// How many of the frames submitted first the other node has for certain. Never fewer than before.
    fn delivered(&self) -> u64;

    /// Ends the link, in order: the other node receives what was submitted, and then that it was
    /// [closed](LinkEnd::Closed). This end receives nothing more.
    fn close(&self);
}

/// Until when a transport has nothing to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drive {
    /// Until its waker is woken, or by this time at the latest.
    Until(Option<Duration>),
    /// For ever.
    Ended,
}

/// Which frames a frame must not overtake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Order {
    /// None.
    Free,
    /// Those submitted with the same key before it.
    Within(u64),
    /// All that were submitted before it.
    BehindAll,
}

/// Why a frame is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SubmitError {
    /// Too much is under way. Worth another try when there is room.
    #[error("too much is under way")]
    Full,
    /// The link has ended.
    #[error("the link has ended")]
    Ended,
    /// The frame is larger than the link takes, ever.
    #[error("the frame is larger than any may be")]
    TooLarge,
}

/// Why a link has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
#[non_exhaustive]
pub enum LinkEnd {
    /// One of the nodes closed it.
    #[error("closed")]
    Closed,
    /// The other node has started anew or knows nothing of the link, or the link broke in another way.
    #[error("lost")]
    Lost,
    /// The other node was not heard of for too long.
    #[error("silent for too long")]
    Silent,
    /// The other node did what the transport's rules forbid, or what this node's limits do.
    #[error("ended as the other node broke the rules")]
    Misbehaved,
    /// The other node says so of this one: their limits may differ.
    #[error("ended as the other node says that this one broke the rules")]
    Refused,
}

/// Why a node is not reached.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The transport is for other addresses.
    #[error("{0} is no address of this transport")]
    OtherScheme(Address),
    /// Nobody answers there; the text says more.
    #[error("{address} is out of reach: {text}")]
    Unreachable {
        /// The address asked for.
        address: Address,
        /// Why.
        text: String,
    },
    /// This node is closed.
    #[error("this node is closed")]
    Closed,
}
