//! Calls, replies and notices between the nodes of a group, one node per thread, everyone with everyone.
//!
//! ```text
//! Node::call -> Wires::write -> (Node::flush) -> Wires::read -> Node::poll -> Received::Call
//!   Received::Reply <- Node::poll <- (Node::flush) <- Node::reply(request, payload)
//! ```
//!
//! What carries the packets is a choice: [`flux`](crate::queue::flux) has a ring for each ordered pair of
//! nodes, [`mesh`](crate::queue::mesh) one queue per node with many producers. Nodes of either kind have
//! this same interface.
//!
//! # Invariants
//! 1. A node has at most [`depth`](Node::depth) calls to one peer that are not answered, and wires hold
//!    that many calls and as many replies per direction beside any notices. So a reply always finds room,
//!    and nodes that call each other cannot block each other.
//! 2. A node that finds nothing to take in flushes what it has written. So nothing stays behind
//!    unflushed while its writer waits for an answer.
//! 3. A call ends once: by its reply, or as [`Received::Lost`] when its peer has declined it, or has left and all that it
//!    sent is taken in, whatever others send. What the caller keeps with it ([`user_data`](Node::call)) never leaves the
//!    caller's thread.
//! 4. What one node sends to one other arrives in order, and that it has left comes last of all.
//!
//! A request is answered by the node that took it in, or [declined](Node::decline). One that is dropped keeps its place
//! among the caller's calls until its own node leaves.
//!
//! # Example
//! ```
//! use greenroom::queue::exchange::{CallError, Received};
//! use greenroom::queue::flux;
//!
//! let mut nodes = flux::nodes::<u64, &str>(2, 8).into_iter();
//! let (mut asker, mut answerer) = (nodes.next().unwrap(), nodes.next().unwrap());
//! let thread = std::thread::spawn(move || {
//!     while !answerer.has_left(0) {
//!         if let Some(Received::Call(request)) = answerer.poll() {
//!             let double = request.payload * 2;
//!             answerer.reply(request, double);
//!         }
//!     }
//! });
//! asker.call(1, 21, "first")?;
//! asker.call(1, 50, "second")?;
//! let mut replies = Vec::new();
//! while replies.len() < 2 {
//!     if let Some(Received::Reply { user_data, payload, .. }) = asker.poll() {
//!         replies.push((user_data, payload));
//!     }
//! }
//! assert_eq!(replies, [("first", 42), ("second", 100)]);
//! drop(asker);
//! # thread.join().unwrap();
//! # Ok::<(), CallError<u64, &str>>(())
//! ```

use crate::sync::unique;
use std::fmt;
use std::marker::PhantomData;

/// What nodes send each other.
#[derive(Debug)]
#[doc(hidden)]
pub enum Packet<P> {
    /// A call, by its number among the sender's calls to the receiver.
    Call(u32, P),
    /// The reply to the receiver's call of that number.
    Reply(u32, P),
    /// The receiver's call of that number is not answered.
    Declined(u32),
    /// Neither answered nor counted.
    Notice(P),
    /// The sender has left, and this is the last of it.
    Left,
}

mod sealed {
    #[expect(unnameable_types, reason = "it cannot be named, so it cannot be implemented")]
    pub trait Sealed {}
    impl<P: Send> Sealed for crate::queue::flux::Rings<P> {}
    impl<P: Send> Sealed for crate::queue::mesh::Inboxes<P> {}
}

/// What carries a node's packets. Not to be implemented.
pub trait Wires<P>: sealed::Sealed + fmt::Debug {
    /// Writes a call, or what ends one, for which there is room; it is sent by the next flush, or before.
    #[doc(hidden)]
    fn write(&mut self, to: usize, packet: Packet<P>);

    /// Writes a notice, unless that would take room from calls and replies.
    #[doc(hidden)]
    fn write_notice(&mut self, to: usize, payload: P) -> Result<(), P>;

    /// Sends what was written, to those for whom something was.
    #[doc(hidden)]
    fn flush(&mut self);

    /// The next packet, from the nodes in turn; once of each node that has left, [`Packet::Left`] behind all others.
    #[doc(hidden)]
    fn read(&mut self) -> Option<(usize, Packet<P>)>;

    /// Whether the node has left; what it has sent may still have to be read.
    #[doc(hidden)]
    fn has_left(&self, peer: usize) -> bool;

    /// Bytes of memory for what this node receives, its share of the group's.
    #[doc(hidden)]
    fn memory_bytes(&self) -> usize;
}

/// A call that came in, to be answered by [`Node::reply`], or by [`Node::decline`].
#[derive(Debug)]
#[must_use = "the caller waits for a reply"]
pub struct Request<P> {
    /// The node that calls.
    pub from: usize,
    /// What it sent.
    pub payload: P,
    number: u32,
    /// As `from`, which anyone can change.
    caller: usize,
    /// The [key](Node::key) of the node that took it in.
    taken_by: u64,
}

/// What [`Node::poll`] takes in.
#[derive(Debug)]
pub enum Received<P, U> {
    /// Another node calls.
    Call(Request<P>),
    /// A call of this node was answered.
    Reply {
        /// The node that answered.
        from: usize,
        /// What was kept with the call.
        user_data: U,
        /// The answer.
        payload: P,
    },
    /// Another node says something, and waits for no answer.
    Notice {
        /// The node that says it.
        from: usize,
        /// What it says.
        payload: P,
    },
    /// A call of this node will not be answered: the other node has declined it, or has left.
    Lost {
        /// The node that was called.
        peer: usize,
        /// What was kept with the call.
        user_data: U,
    },
}

/// A call that was not made, with what was to be sent and kept.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallError<P, U> {
    /// As many calls as allowed wait for this node's answer. Poll, then try again.
    #[error("too many calls to this node wait for an answer")]
    Full(P, U),
    /// The other node has left; what it did before is visible.
    #[error("the node has left")]
    Disconnected(P, U),
    /// There is no such node, or it is this one.
    #[error("there is no such node to call")]
    NoSuchNode(P, U),
}

/// A notice that was not sent.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotifyError<P> {
    /// The room beside calls and replies is used up. Flush, then try again later.
    #[error("there is no room for a notice")]
    Full(P),
    /// The other node has left; what it did before is visible.
    #[error("the node has left")]
    Disconnected(P),
    /// There is no such node, or it is this one.
    #[error("there is no such node to notify")]
    NoSuchNode(P),
}

/// The calls to one peer that wait for an answer.
#[derive(Debug)]
struct Calls<U> {
    /// By their numbers; as many as there have been at a time.
    kept: Vec<Option<U>>,
    /// The numbers that no call has.
    free: Vec<u32>,
}

impl<U> Calls<U> {
    /// A number that no call has had, if there are not `depth` of them.
    #[cold]
    fn new_number(&mut self, depth: usize) -> Option<u32> {
        let number = u32::try_from(self.kept.len()).ok().filter(|_| self.kept.len() < depth)?;
        self.kept.push(None);
        Some(number)
    }
}

/// One member of a group: it calls, answers, and polls.
#[derive(Debug)]
pub struct Node<P, U, W: Wires<P>> {
    id: usize,
    /// What no other node of any group has.
    key: u64,
    wires: W,
    calls: Box<[Calls<U>]>,
    in_flight: usize,
    depth: usize,
    /// Of each peer, whether it has left and all that it sent is taken in.
    left: Box<[bool]>,
    /// A peer that has left, with whom calls may be lost of which this node is not told yet: those from that number on.
    losing: Option<(usize, usize)>,
    payload: PhantomData<fn(P) -> P>,
}

impl<P, U, W: Wires<P>> Node<P, U, W> {
    /// A node of as many as `nodes`, itself included.
    pub(super) fn new(id: usize, nodes: usize, depth: usize, wires: W) -> Self {
        let calls = (0..nodes).map(|_| Calls { kept: Vec::new(), free: Vec::new() }).collect();
        let depth = depth.min(u32::MAX as usize);
        let key = unique();
        let left = vec![false; nodes].into();
        let (in_flight, losing, payload) = (0, None, PhantomData);
        Self { id, key, wires, calls, in_flight, depth, left, losing, payload }
    }

    /// This node's place in its group.
    #[must_use]
    pub fn id(&self) -> usize {
        self.id
    }

    /// Calls that may wait for one peer's answers: as many as were asked for, but one at least, and `u32::MAX` at most.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// Calls of this node that wait for an answer.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// Bytes of memory of this node: for what it receives, and for the calls it makes.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        let bytes = |calls: &Calls<U>| {
            let kept = calls.kept.capacity() * size_of::<Option<U>>();
            size_of_val(calls) + kept + calls.free.capacity() * size_of::<u32>()
        };
        let calls: usize = self.calls.iter().map(bytes).sum();
        size_of::<Self>() + calls + self.left.len() + self.wires.memory_bytes()
    }

    /// Whether a peer has left, and all that it sent is taken in. A node learns of that by polling. `false` for itself, and
    /// where there is no such node.
    ///
    /// So a node that only answers may poll until all of its callers have left.
    #[inline]
    #[must_use]
    pub fn has_left(&self, peer: usize) -> bool {
        self.left.get(peer).is_some_and(|left| *left)
    }

    /// Calls a peer; `user_data` comes back with the reply. Sent by the next flush. Does not block. Takes memory where more
    /// calls to the peer wait than ever before.
    ///
    /// # Errors
    /// Payload and user data, when the call cannot be made.
    #[inline]
    pub fn call(&mut self, to: usize, payload: P, user_data: U) -> Result<(), CallError<P, U>> {
        let Some(calls) = self.calls.get_mut(to).filter(|_| to != self.id) else {
            return Err(CallError::NoSuchNode(payload, user_data));
        };
        let Some(number) = calls.free.pop().or_else(|| calls.new_number(self.depth)) else {
            return Err(CallError::Full(payload, user_data));
        };
        if self.wires.has_left(to) {
            calls.free.push(number);
            return Err(CallError::Disconnected(payload, user_data));
        }
        calls.kept[number as usize] = Some(user_data);
        self.in_flight += 1;
        self.wires.write(to, Packet::Call(number, payload));
        Ok(())
    }

    /// Answers a call. Sent by the next flush; always finds room. If the caller has left, the answer
    /// is dropped. Does not block.
    ///
    /// # Panics
    /// When another node took the request in: its caller waits for that one's answer.
    #[inline]
    #[expect(clippy::needless_pass_by_value, reason = "a request is answered once")]
    pub fn reply(&mut self, request: Request<P>, payload: P) {
        self.check(&request);
        self.wires.write(request.caller, Packet::Reply(request.number, payload));
    }

    /// Ends a call without an answer: its caller is told [`Received::Lost`], and may call once more. Sent by the next
    /// flush; always finds room. Does not block.
    ///
    /// # Panics
    /// As [`reply`](Self::reply).
    #[inline]
    #[expect(clippy::needless_pass_by_value, reason = "a request is answered once")]
    pub fn decline(&mut self, request: Request<P>) {
        self.check(&request);
        self.wires.write(request.caller, Packet::Declined(request.number));
    }

    #[inline]
    fn check(&self, request: &Request<P>) {
        assert!(request.taken_by == self.key, "a request is answered by the node that took it in");
    }

    /// Tells a peer something that needs no answer. Sent by the next flush. Does not block.
    ///
    /// # Errors
    /// The payload, when it cannot be sent.
    #[inline]
    pub fn notify(&mut self, to: usize, payload: P) -> Result<(), NotifyError<P>> {
        if to >= self.calls.len() || to == self.id {
            return Err(NotifyError::NoSuchNode(payload));
        }
        if self.wires.has_left(to) {
            return Err(NotifyError::Disconnected(payload));
        }
        self.wires.write_notice(to, payload).map_err(NotifyError::Full)
    }

    /// Sends what was written. Touches nothing that belongs to peers for whom nothing was.
    #[inline]
    pub fn flush(&mut self) {
        self.wires.flush();
    }

    /// Takes in the next packet, from the peers in turn. If there is none, it flushes. Does not block. Takes memory where more
    /// calls to a peer have ended, and no others been made in their place, than ever before.
    #[inline]
    pub fn poll(&mut self) -> Option<Received<P, U>> {
        if self.losing.is_some()
            && let Some(lost) = self.take_lost()
        {
            return Some(lost);
        }
        self.take_in().or_else(|| {
            self.wires.flush();
            None
        })
    }

    #[inline]
    fn take_in(&mut self) -> Option<Received<P, U>> {
        loop {
            let (from, packet) = self.wires.read()?;
            return Some(match packet {
                Packet::Call(number, payload) => {
                    let taken_by = self.key;
                    Received::Call(Request { from, payload, number, caller: from, taken_by })
                }
                Packet::Notice(payload) => Received::Notice { from, payload },
                Packet::Reply(number, payload) => {
                    let user_data = self.end_call(from, number);
                    Received::Reply { from, user_data, payload }
                }
                Packet::Declined(number) => {
                    Received::Lost { peer: from, user_data: self.end_call(from, number) }
                }
                Packet::Left => {
                    self.left[from] = true;
                    self.losing = Some((from, 0));
                    match self.take_lost() {
                        Some(lost) => lost,
                        None => continue,
                    }
                }
            });
        }
    }

    #[inline]
    fn end_call(&mut self, peer: usize, number: u32) -> U {
        let calls = &mut self.calls[peer];
        calls.free.push(number);
        self.in_flight -= 1;
        calls.kept[number as usize].take().expect("by invariant 3 a call ends once")
    }

    /// Ends one of the calls to the peer that has just left, of which no more comes.
    #[cold]
    fn take_lost(&mut self) -> Option<Received<P, U>> {
        let (peer, from) = self.losing.take()?;
        let waiting = self.calls[peer].kept[from..].iter().position(Option::is_some)?;
        let place = from + waiting;
        self.losing = Some((peer, place + 1));
        let number = u32::try_from(place).expect("calls are numbered by that");
        Some(Received::Lost { peer, user_data: self.end_call(peer, number) })
    }
}

#[cfg(all(test, loom))]
mod model;

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
