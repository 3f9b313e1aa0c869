//! Telling: one message, no answer.

use super::body;
use super::control::drop_evicted;
use super::dispatch::weight;
use super::error::TellError;
use super::traits::Message;
use crate::event::DeadLetterReason;
use crate::mailbox::{Admission, Bound, Full, RoomFrom, Slide};
use crate::queue::inbox::Push;
use crate::queue::list::List;
use crate::queue::node::{Kind, Lane, Node};
use crate::task::cell::{CellRef, Header, Reach};
use crate::task::current;
use crate::task::held::Held;
use crate::task::{Hint, Ready};
use std::fmt;
use std::future::{Future, IntoFuture};
use std::mem::ManuallyDrop;
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::{Context, Poll};

/// A message about to be told. Nothing is sent until one of the three spellings says how:
///
/// | | mailbox has room | mailbox is full |
/// |---|---|---|
/// | `.await` | sent | waits for room |
/// | `.try_send()` | sent | gives the message back: `Full` |
/// | `.tell()` | sent | what the receiver declared: wait and reject give it back, the drop policies drop |
#[must_use = "nothing is sent before `.await`, `.try_send()` or `.tell()`"]
pub struct Tell<'a, M: Message> {
    cell: &'a CellRef,
    kind: &'static Kind,
    message: M,
}

impl<'a, M: Message> Tell<'a, M> {
    #[inline]
    pub(super) fn new(cell: &'a CellRef, kind: &'static Kind, message: M) -> Self {
        Self { cell, kind, message }
    }

    /// Sends at once or not at all. Does not block, does not allocate in steady state.
    ///
    /// # Errors
    /// [`TellError::Full`] or [`TellError::Closed`], with the message.
    #[inline]
    pub fn try_send(self) -> Result<(), TellError<M>> {
        let Self { cell, kind, message } = self;
        if !cell.bounded {
            return push(cell, kind, message, run_soon).map_err(TellError::Closed);
        }
        try_bounded(cell, kind, message, weight).map_err(|error| match error {
            TellError::Full(message) => refuse_full(cell, message),
            closed @ TellError::Closed(_) => closed,
        })
    }

    /// Sends at once, and lets the receiver's declared policy decide when its mailbox is full. Does
    /// not block, does not allocate in steady state.
    ///
    /// # Errors
    /// [`TellError::Closed`]; and [`TellError::Full`] where the policy is to wait or to reject, the
    /// message is larger than the whole mailbox, or all its room is promised to senders that wait.
    #[inline]
    pub fn tell(self) -> Result<(), TellError<M>> {
        let Self { cell, kind, message } = self;
        if !cell.bounded {
            return push(cell, kind, message, run_soon).map_err(TellError::Closed);
        }
        tell_bounded(cell, kind, message)
    }
}

impl<M: Message> fmt::Debug for Tell<'_, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tell({} to {})", (self.kind.name)(), self.cell.actor_id())
    }
}

impl<'a, M: Message> IntoFuture for Tell<'a, M> {
    type Output = Result<(), TellError<M>>;
    type IntoFuture = Telling<'a, M>;

    fn into_future(self) -> Telling<'a, M> {
        Telling {
            cell: self.cell,
            kind: self.kind,
            message: ManuallyDrop::new(Some(self.message)),
            room: ManuallyDrop::new(None),
        }
    }
}

/// A wait for room that allocates, but only when there is none.
pub(super) type Room<'a> = Pin<Box<dyn Future<Output = Admission> + Send + 'a>>;

/// The future of an awaited [`Tell`]: waits for room, then sends. A handler that awaits more of them in
/// a turn than the turn may handle messages gives way once, so that the receivers get theirs; and it gives
/// way while the ring to the receiver's worker is full, where actors live on one worker each.
///
/// # Cancel safety
/// Dropped before it is ready, it has not sent the message, which is dropped with it.
#[must_use = "futures do nothing unless polled"]
pub struct Telling<'a, M: Message> {
    cell: &'a CellRef,
    kind: &'static Kind,
    // Both are dropped by `drop`, which has one thing to look at when the message was sent.
    message: ManuallyDrop<Option<M>>,
    room: ManuallyDrop<Option<Room<'a>>>,
}

// No field is ever pinned in place: the wait for room has its own box.
impl<M: Message> Unpin for Telling<'_, M> {}

impl<M: Message> Drop for Telling<'_, M> {
    #[inline(always)]
    fn drop(&mut self) {
        if self.message.is_some() {
            self.drop_unsent();
        }
    }
}

impl<M: Message> Telling<'_, M> {
    /// Drops the message, and the wait for room, which ends when the message is sent.
    #[cold]
    fn drop_unsent(&mut self) {
        drop(self.room.take());
        drop(self.message.take());
    }

    /// Does what the first poll of a message to an open and unbounded mailbox need not.
    #[inline(never)]
    fn poll_further(
        &mut self,
        gives_way: bool,
        cx: &mut Context<'_>,
    ) -> Poll<Result<(), TellError<M>>> {
        if gives_way {
            // The receiver may be waiting for this very worker, or has too much under way from here.
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let sending = Sending { weigh: weight, run: run_soon };
        poll_send(self.cell, self.kind, &mut self.message, &mut self.room, &sending, cx)
    }
}

impl<M: Message> Future for Telling<'_, M> {
    type Output = Result<(), TellError<M>>;

    #[inline(always)]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        let mut gives_way = !current::spend_send();
        let is_plain = !gives_way && !this.cell.bounded && !this.cell.inbox.is_closed();
        if is_plain && let Some(message) = this.message.take() {
            let carry = |node| {
                // SAFETY: the node is new, and its kind was made for this cell's actor.
                unsafe { this.cell.core.carry_mail_when_clear(this.cell, node) }
            };
            let node = Node::new(this.kind, message);
            let Err(node) = push_node_or(this.cell, node, run_soon, carry) else {
                return Poll::Ready(Ok(()));
            };
            // SAFETY: the node was made of an `M`, and given back.
            *this.message = Some(unsafe { Node::into_payload(node) });
            gives_way = true;
        }
        this.poll_further(gives_way, cx)
    }
}

impl<M: Message> fmt::Debug for Telling<'_, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Telling({} to {})", (self.kind.name)(), self.cell.actor_id())
    }
}

/// How a message of one payload type is sent.
pub(super) struct Sending<P> {
    /// What it counts for in a mailbox bounded by bytes.
    pub(super) weigh: fn(&P) -> usize,
    /// How its receiver is run, if the message wakes it.
    pub(super) run: fn(&CellRef, Ready),
}

/// Runs the receiver soon: the sender goes on.
pub(super) fn run_soon(cell: &CellRef, ready: Ready) {
    let at_home = cell.reach() == Reach::Home;
    let left = if at_home { current::push_home(ready).err() } else { Some(ready) };
    if let Some(ready) = left {
        cell.core.schedule(ready, Hint::Next);
    }
}

/// Runs the receiver now, if that is all right: the sender waits for it.
pub(super) fn run_now(cell: &CellRef, ready: Ready) {
    cell.core.run_or_schedule(ready);
}

/// Sends a message of any payload type as soon as there is room.
pub(super) fn poll_send<'a, P: Send + 'static>(
    cell: &'a CellRef,
    kind: &'static Kind,
    message: &mut Option<P>,
    room: &mut Option<Room<'a>>,
    sending: &Sending<P>,
    cx: &mut Context<'_>,
) -> Poll<Result<(), TellError<P>>> {
    let weigh = sending.weigh;
    if room.is_none() {
        let payload = message.take().expect("a send is not polled after it was ready");
        if !cell.bounded {
            return Poll::Ready(push(cell, kind, payload, sending.run).map_err(TellError::Closed));
        }
        match try_bounded(cell, kind, payload, weigh) {
            Err(TellError::Full(payload)) => {
                let Some(bound) = body::bound(cell) else {
                    return Poll::Ready(Err(TellError::Full(payload)));
                };
                *room = Some(Box::pin(bound.admit(weigh(&payload))));
                *message = Some(payload);
            }
            sent => return Poll::Ready(sent),
        }
    }
    let Some(wait) = room else { return Poll::Pending };
    let Poll::Ready(admission) = wait.as_mut().poll(cx) else { return Poll::Pending };
    let payload = message.take().expect("a send that waits has its message");
    *room = None;
    Poll::Ready(match admission {
        Admission::Admitted => push_admitted(cell, kind, payload, weigh),
        Admission::Full => Err(refuse_full(cell, payload)),
        Admission::Closed => Err(refuse_closed(cell, payload)),
    })
}

/// Puts a message into the lane of an unbounded mailbox.
///
/// # Errors
/// The message, when the actor has ended or is draining.
#[inline(always)]
fn push<P: Send>(
    cell: &CellRef,
    kind: &'static Kind,
    message: P,
    run: fn(&CellRef, Ready),
) -> Result<(), P> {
    if cell.inbox.is_closed() {
        note_refusal(cell);
        return Err(message);
    }
    push_node(cell, Node::new(kind, message), run);
    Ok(())
}

/// Puts a node into the user lane and sees that the actor runs.
#[inline(always)]
pub(super) fn push_node(cell: &CellRef, node: NonNull<Node>, run: fn(&CellRef, Ready)) {
    let carry = |node| {
        // SAFETY: the node is new, and its kind was made for this cell's actor.
        unsafe { cell.core.carry_mail(cell, node) };
        Ok(())
    };
    // It is never given back.
    let _ = push_node_or(cell, node, run, carry);
}

/// As [`push_node`]; `carry` has the node brought to an actor that lives elsewhere, or gives it back.
#[inline(always)]
fn push_node_or(
    cell: &CellRef,
    node: NonNull<Node>,
    run: fn(&CellRef, Ready),
    carry: impl FnOnce(NonNull<Node>) -> Result<(), NonNull<Node>>,
) -> Result<(), NonNull<Node>> {
    let push = match cell.reach() {
        // SAFETY: the node is new, and its kind was made for this cell's actor.
        Reach::Shared => unsafe { cell.inbox.push(node) },
        // SAFETY: as above; the actor lives on this thread.
        Reach::Home => unsafe { cell.inbox.push_home(node) },
        Reach::Away => return carry(node),
    };
    if push != Push::Queued {
        settle(cell, push == Push::Woke, run);
    }
    Ok(())
}

/// Does what the taker of a token has to do: lets the actor run, or, if it has ended, buries what was
/// sent.
#[inline(never)]
fn settle(cell: &CellRef, woke: bool, run: fn(&CellRef, Ready)) {
    if woke {
        // SAFETY: `Woke` says that this thread took the token.
        run(cell, unsafe { Ready::new(cell.as_ptr()) });
    } else {
        // SAFETY: `Dead` says that this thread took the token of an actor that has ended.
        unsafe { Held::new(cell.as_ptr()) }.bury();
    }
}

#[cold]
fn note_refusal(cell: &CellRef) {
    cell.core.events.counters.rejected_closed.add_one();
}

fn refuse_closed<P>(cell: &CellRef, message: P) -> TellError<P> {
    note_refusal(cell);
    TellError::Closed(message)
}

fn refuse_full<P>(cell: &CellRef, message: P) -> TellError<P> {
    cell.core.events.counters.rejected_full.add_one();
    TellError::Full(message)
}

/// Sends to a bounded mailbox if there is room now; whether that there is none matters is the
/// caller's to say and to count.
fn try_bounded<P: Send + 'static>(
    cell: &CellRef,
    kind: &'static Kind,
    message: P,
    weigh: fn(&P) -> usize,
) -> Result<(), TellError<P>> {
    let Some(bound) = body::bound(cell) else {
        return push(cell, kind, message, run_soon).map_err(TellError::Closed);
    };
    let bytes = weigh(&message);
    if bound.has_window() {
        return slide_in(cell, bound, kind, message, bytes, RoomFrom::Rest);
    }
    match bound.try_admit(bytes) {
        Admission::Admitted => push_admitted(cell, kind, message, weigh),
        Admission::Full => Err(TellError::Full(message)),
        Admission::Closed => Err(refuse_closed(cell, message)),
    }
}

/// Sends a message whose room is taken.
fn push_admitted<P: Send + 'static>(
    cell: &CellRef,
    kind: &'static Kind,
    message: P,
    weigh: fn(&P) -> usize,
) -> Result<(), TellError<P>> {
    let Some(bound) = body::bound(cell) else {
        return push(cell, kind, message, run_soon).map_err(TellError::Closed);
    };
    let bytes = weigh(&message);
    if bound.has_window() {
        return slide_in(cell, bound, kind, message, bytes, RoomFrom::Wait);
    }
    if cell.inbox.is_closed() {
        bound.release(bytes);
        return Err(refuse_closed(cell, message));
    }
    push_node(cell, Node::new(kind, message), run_soon);
    Ok(())
}

/// Sends a message of `bytes` through the window.
fn slide_in<P: Send + 'static>(
    cell: &CellRef,
    bound: &Bound,
    kind: &'static Kind,
    message: P,
    bytes: usize,
    room: RoomFrom,
) -> Result<(), TellError<P>> {
    if cell.inbox.is_closed() {
        if room == RoomFrom::Wait {
            bound.release(bytes);
        }
        return Err(refuse_closed(cell, message));
    }
    let node = Node::new(kind, message);
    let mut pushed_out = List::new();
    let slide = bound.slide_in(node, bytes, room, &mut pushed_out);
    while let Some(oldest) = pushed_out.pop_front() {
        // SAFETY: the list gave the node away.
        report_dropped(cell, unsafe { Node::kind(oldest) }, DeadLetterReason::DroppedOldest);
        drop_evicted(oldest);
    }
    match slide {
        Slide::In => {}
        Slide::InWithTicket => push_node(cell, Node::new(&TICKET, ()), run_soon),
        Slide::Full | Slide::Closed => {
            // SAFETY: the window did not take the node.
            let message = unsafe { Node::into_payload(node) };
            let full = slide == Slide::Full;
            return Err(if full { TellError::Full(message) } else { refuse_closed(cell, message) });
        }
    }
    Ok(())
}

#[cold]
fn tell_bounded<M: Message>(
    cell: &CellRef,
    kind: &'static Kind,
    message: M,
) -> Result<(), TellError<M>> {
    let Some(bound) = body::bound(cell) else {
        return push(cell, kind, message, run_soon).map_err(TellError::Closed);
    };
    let sent = if bound.has_window() {
        let bytes = weight(&message);
        slide_in(cell, bound, kind, message, bytes, RoomFrom::Oldest)
    } else {
        try_bounded(cell, kind, message, weight)
    };
    match sent {
        Err(TellError::Full(_)) if bound.when_full() == Full::DropNewest => {
            report_dropped(cell, kind, DeadLetterReason::DroppedNewest);
            Ok(())
        }
        Err(TellError::Full(message)) => Err(refuse_full(cell, message)),
        sent => sent,
    }
}

fn report_dropped(cell: &Header, kind: &'static Kind, reason: DeadLetterReason) {
    cell.core.events.dead_letter(cell.actor_id(), (kind.name)(), reason);
}

/// Stands in the lane for whatever is oldest in the window.
static TICKET: Kind = Kind {
    // It is no user's message: nobody misses it.
    lane: Lane::Signal,
    deliver: redeem,
    discard: super::dispatch::drop_payload::<()>,
    block: Some(Node::block::<()>()),
    name: || "ticket",
};

/// # Safety
/// `to` is a cell whose token the caller holds.
unsafe fn redeem(to: NonNull<()>, _ticket: NonNull<Node>) {
    // SAFETY: the caller holds the token, so the cell is live.
    let cell = unsafe { CellRef::to(to.cast::<Header>()) };
    let Some((node, more)) = body::bound(&cell).and_then(Bound::slide_out) else { return };
    if more {
        push_node(&cell, Node::new(&TICKET, ()), run_soon);
    }
    // SAFETY: the window gave the node away; it was made for this cell.
    let kind = unsafe { Node::kind(node) };
    let _block = Redeemed { cell: &cell, node, kind };
    // SAFETY: as above.
    unsafe { (kind.deliver)(to, node) };
    // SAFETY: as above: this is still the run that holds the token.
    if let Some(pending) = &mut unsafe { Held::new(to.cast::<Header>()) }.owner().pending {
        pending.belongs_to(Some(kind), current::deadline());
    }
}

/// Gives the block of a delivered node back, and reports the message if its handler panics.
struct Redeemed<'a> {
    cell: &'a Header,
    node: NonNull<Node>,
    kind: &'static Kind,
}

impl Drop for Redeemed<'_> {
    fn drop(&mut self) {
        if crate::sync::thread::panicking() {
            self.cell.report_crashed(self.kind);
        }
        // SAFETY: the node is in no lane, and its payload was moved out.
        unsafe { Node::recycle(self.node) };
    }
}
