//! The sending half of a connection, which its proxies and its session share.
//!
//! Messages of users go straight to the link, as credit and room allow, and wait in their proxies otherwise. What
//! the node itself has to say waits in a backlog, whose short frames go first: otherwise two nodes could each wait for
//! the other one to read. The [backlog] is bounded by what the peer may have under way.
//!
//! Invariants:
//! 1. Only the outlet submits to the link, under its lock, so frames are numbered in the order in which the
//!    link has them.
//! 2. While a frame is in the first line of the backlog, no message of a user is submitted. Those of other lines, nearly all
//!    of which are long answers, and messages of users each find what room there is.
//! 3. After `close` nothing is submitted, every question has its outcome, and nobody waits for room.

mod askers;
mod backlog;
mod gates;
mod items;
mod queues;
mod routes;
mod saying;

use super::endings::ConnectionEnd;
use super::frame_buf::FrameBuf;
use super::identity::Identity;
use super::message::Asker;
use super::node::Shared;
use super::remote::{self, Proxy};
use super::spawn::RemoteSpawnError;
use super::streams::Streams;
use super::transport::{Link, LinkEnd, Order, SubmitError};
use crate::event::{ActorId, DeadLetterReason, ExitReason, Undelivered};
use crate::sync::{Arc, AtomicBool, Mutex, planted};
use crate::task::core_ref::CoreRef;
use askers::Askers;
use backlog::Backlog;
use gates::Round;
pub(super) use gates::Sent;
use queues::Queues;
use routes::{Route, Search};
pub(super) use routes::{Searching, Wanted};
use saying::Leaver;
use std::collections::{BTreeMap, VecDeque};
use std::task::{Context, Poll, Waker};

/// Frames of messages that are told between two looks at which of them have arrived.
const CONFIRM_EVERY: usize = 64;

/// See the [module](self).
pub(super) struct Outlet {
    link: Box<dyn Link>,
    node: Arc<Shared>,
    state: Mutex<State>,
    /// Whether the backlog is too long for more answers.
    pressed: AtomicBool,
    streams: Streams,
}

#[derive(Default)]
struct State {
    closed: bool,
    /// Whether this node has ended the link.
    hung_up: bool,
    /// Why, where that is for the peer's sake.
    cut_off: Option<ConnectionEnd>,
    /// What the node itself has to say.
    backlog: Backlog,
    /// Proxies and streams that wait for room.
    waiting: Queues,
    /// Who sends the backlog and wakes those who wait.
    pump: Option<Waker>,
    /// Who receives.
    receiver: Option<Waker>,
    /// Who waits for something to have left.
    leavers: Vec<Leaver>,
    /// Frames submitted so far.
    submitted: u64,
    /// Messages that the peer may not have yet.
    unconfirmed: VecDeque<Unconfirmed>,
    askers: Askers,
    finds: BTreeMap<u64, Search>,
    /// Searches for which nobody waits any more, and which the peer has not answered.
    given_up: u64,
    /// The last number that was given to a search.
    correlation: u64,
    routes: BTreeMap<u64, Route>,
    /// Actors at the other end that were named in messages, and are not forgotten.
    opened: usize,
    /// Those that have ended and are not forgotten.
    ended: usize,
    /// Actors of this node of whose end the peer was told.
    told: u64,
    /// Those of whose end it is told next.
    round: Round,
    /// What stood in for actors, until the connection closed.
    parting: Vec<Arc<Box<dyn Proxy>>>,
}

/// Whose mail a message is, and which.
pub(super) type Letter = (ActorId, &'static str);

/// A frame that the peer may not have yet, and the messages in it.
struct Unconfirmed {
    frame: u64,
    letter: Letter,
    messages: u32,
}

/// Takes the outcome of a search.
pub(super) type Finding = Box<dyn FnOnce(Result<u64, NotFound>) + Send>;

/// Why a search found nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum NotFound {
    /// Nobody has the name.
    NoSuchName,
    /// The actor of that name speaks another protocol.
    Speaks(String),
    /// No actor was started.
    NotSpawned(RemoteSpawnError),
    /// The connection ended.
    NodeDown,
}

/// A frame with messages on its way through a proxy.
pub(super) struct Parcel {
    pub(super) actor: u64,
    /// The frame, behind what stands before it.
    pub(super) bytes: Vec<u8>,
    /// Where the frame begins.
    pub(super) start: usize,
    /// How many messages are in it.
    pub(super) messages: u32,
    pub(super) letter: Letter,
    /// Which question it is, if it is one; then there is no other.
    pub(super) question: Option<u64>,
}

/// What became of a parcel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Post {
    /// It is on its way, or nobody will ever take it, which was reported; for so many messages more there is credit.
    Done { credit: u64 },
    /// It has to wait for room or credit.
    Wait,
}

impl State {
    /// Why nothing is sent to an actor to which there is no way.
    fn why_lost(&self) -> Undelivered {
        if self.closed { Undelivered::NodeDown } else { Undelivered::NoSuchActor }
    }

    /// So many of what was submitted have arrived.
    fn confirm(&mut self, delivered: u64) {
        while self.unconfirmed.front().is_some_and(|first| first.frame <= delivered) {
            self.unconfirmed.pop_front();
        }
    }
}

impl Outlet {
    pub(super) fn new(link: Box<dyn Link>, node: Arc<Shared>) -> Self {
        let (state, streams) = (Mutex::new(State::default()), Streams::default());
        Self { link, node, state, pressed: AtomicBool::new(false), streams }
    }

    pub(super) fn peer(&self) -> Identity {
        self.link.peer()
    }

    /// The worker on which the parts of the connection live.
    pub(super) fn worker(&self) -> usize {
        let workers = u64::try_from(self.core().workers()).unwrap_or(1).max(1);
        usize::try_from(self.link.peer().node.0 % workers).unwrap_or(0)
    }

    pub(super) fn core(&self) -> &CoreRef {
        self.node.core()
    }

    pub(super) fn node(&self) -> &Arc<Shared> {
        &self.node
    }

    /// How many frames are submitted when the short one is that was said last, or hardly more: long ones may leave before
    /// it.
    pub(super) fn said(&self) -> u64 {
        let state = self.state.lock();
        state.submitted + state.backlog.short() as u64
    }

    /// How many of these the peer has for certain.
    pub(super) fn arrived(&self) -> u64 {
        self.link.delivered()
    }

    /// Sends the backlog and wakes those who wait, as often as there is room. Ready when the connection ends.
    pub(super) fn poll_pump(&self, cx: &mut Context<'_>) -> Poll<()> {
        let pumped = self.pump(cx);
        self.relieve();
        pumped
    }

    fn pump(&self, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            let mut state = self.state.lock();
            if state.closed {
                return Poll::Ready(());
            }
            state.pump = Some(cx.waker().clone());
            // Before the backlog is refused again, since room for others may have come that it does not use.
            let has_room = self.link.poll_room(cx).is_ready();
            state.submitted += state.backlog.submit(&*self.link);
            let is_empty = state.backlog.is_empty();
            let lets_pass = state.backlog.lets_pass();
            let lets_pass = planted!("net-room-unshared": lets_pass => is_empty);
            let waiting = if has_room && lets_pass { state.waiting.call() } else { Vec::new() };
            let leavers = state.take_leavers();
            let is_done = !has_room || is_empty;
            drop(state);
            drop(leavers);
            waiting.into_iter().for_each(Waker::wake);
            // Who was refused in this turn is told of room only if that is asked for once more.
            if is_done {
                return Poll::Pending;
            }
        }
    }

    /// For how many messages to an actor there is credit.
    pub(super) fn credit(&self, actor: u64) -> u64 {
        let state = self.state.lock();
        state.routes.get(&actor).map_or(0, |route| route.granted.saturating_sub(route.sent))
    }

    /// Sends a message, or notes `waker` to be woken when it is worth another try. Who was told to wait tries again when it is
    /// woken, or leaves.
    pub(super) fn post(this: &Arc<Self>, parcel: &Parcel, waker: Option<&Waker>) -> Post {
        let mut guard = this.state.lock();
        let state = &mut *guard;
        let route = state.routes.get_mut(&parcel.actor).filter(|route| route.ended.is_none());
        let Some(route) = route else {
            let why = state.why_lost();
            drop(guard);
            if planted!("net-gone-stays-first": true => false) {
                this.leave(parcel.actor);
            }
            return this.give_up(parcel, why);
        };
        let needed = route.sent + u64::from(parcel.messages);
        let needed = planted!("net-bundle-overdraws": needed => route.sent + 1);
        if planted!("net-credit-ignored": needed > route.granted => false) {
            route.waiting = waker.cloned();
            if route.holds_ends_up() {
                let freed = this.hold(state, parcel.actor);
                drop(guard);
                freed.into_iter().for_each(|freed| Self::let_go(this, freed));
            }
            return Post::Wait;
        }
        let frame = &parcel.bytes[parcel.start..];
        let place =
            state.waiting.come(&mut route.served, parcel.actor, frame.len(), state.submitted);
        if !place.is_first {
            state.waiting.wait(&place, waker);
            return Post::Wait;
        }
        let submitted = if state.backlog.lets_pass() {
            this.link.submit(Order::Within(parcel.actor), frame)
        } else {
            Err(SubmitError::Full)
        };
        match submitted {
            Ok(()) => {
                route.sent += u64::from(parcel.messages);
                let credit = route.granted.saturating_sub(route.sent);
                state.submitted += 1;
                route.served = state.submitted;
                if parcel.question.is_none() {
                    let Parcel { letter, messages, .. } = *parcel;
                    let frame = state.submitted;
                    state.unconfirmed.push_back(Unconfirmed { frame, letter, messages });
                    if state.unconfirmed.len().is_multiple_of(CONFIRM_EVERY) {
                        state.confirm(this.link.delivered());
                    }
                }
                let next = state.waiting.pass(&place);
                drop(guard);
                next.into_iter().for_each(Waker::wake);
                Post::Done { credit }
            }
            Err(SubmitError::Full) => {
                state.waiting.wait(&place, waker);
                let pump = state.pump.take();
                drop(guard);
                pump.into_iter().for_each(Waker::wake);
                Post::Wait
            }
            Err(error) => {
                let next = state.waiting.pass(&place);
                drop(guard);
                next.into_iter().for_each(Waker::wake);
                let too_large = error == SubmitError::TooLarge;
                let why = if too_large { Undelivered::TooLarge } else { Undelivered::NodeDown };
                this.give_up(parcel, why)
            }
        }
    }

    /// No message to that actor waits for room any more.
    pub(super) fn leave(&self, actor: u64) {
        let mut state = self.state.lock();
        let served = state.routes.get(&actor).map(|route| route.served);
        let next = served.and_then(|served| state.waiting.leave(served, actor));
        drop(state);
        next.into_iter().for_each(Waker::wake);
    }

    /// Says that a message is not sent.
    fn give_up(&self, parcel: &Parcel, why: Undelivered) -> Post {
        match parcel.question {
            Some(question) => self.answer(question, Err(why)),
            None => self.report_all(parcel.letter, parcel.messages, why),
        }
        Post::Done { credit: 0 }
    }

    /// Reports messages that waited for an actor which has ended, or whose node has.
    pub(super) fn lose(&self, actor: u64, letter: Letter, messages: u32) {
        if messages > 0 {
            self.report_all(letter, messages, self.why_lost(actor));
        }
    }

    /// Why nothing that waits for an actor is sent any more.
    pub(super) fn why_lost(&self, actor: u64) -> Undelivered {
        let state = self.state.lock();
        let is_there = state.routes.get(&actor).is_some_and(|route| route.ended.is_none());
        if is_there { Undelivered::NodeDown } else { state.why_lost() }
    }

    fn report_all(&self, letter: Letter, messages: u32, why: Undelivered) {
        for _ in 0..messages {
            self.report(letter, DeadLetterReason::Undelivered(why));
        }
    }

    /// Reports a message that is not handled.
    pub(super) fn report(&self, (actor, message): Letter, reason: DeadLetterReason) {
        self.core().events.dead_letter(actor, message, reason);
    }

    /// Keeps who asked until there is an answer; returns the question's number.
    pub(super) fn ask(&self, asker: Box<dyn Asker>) -> u64 {
        let mut state = self.state.lock();
        if state.closed {
            drop(state);
            asker.answer(Err(Undelivered::NodeDown));
            return Askers::NOBODY;
        }
        state.askers.add(asker)
    }

    /// Tells who asked the outcome; nothing happens where it is known, or nobody asked.
    pub(super) fn answer(&self, question: u64, outcome: Result<&[u8], Undelivered>) {
        let asker = self.state.lock().askers.remove(question);
        if let Some(asker) = asker {
            asker.answer(outcome);
        }
    }

    /// Ends the connection from this end: nothing is sent any more. Questions and searches fail, messages that
    /// the peer may not have are reported, and the proxies end.
    pub(super) fn close(&self) {
        let mut state = self.state.lock();
        if std::mem::replace(&mut state.closed, true) {
            return;
        }
        let delivered = self.link.delivered();
        let mut lost = std::mem::take(&mut state.unconfirmed);
        let askers = std::mem::take(&mut state.askers);
        let finds = std::mem::take(&mut state.finds);
        let mut wakers = state.waiting.end();
        wakers.extend(state.pump.take());
        wakers.extend(state.receiver.take());
        let leavers = std::mem::take(&mut state.leavers);
        let routes = std::mem::take(&mut state.routes);
        let round = std::mem::take(&mut state.round);
        // Before anybody sees that it is closed, and waits for them.
        state.parting = routes.values().filter_map(|route| route.proxy.clone()).collect();
        drop(state);
        self.link.close();
        self.streams.close();
        lost.retain(|lost| lost.frame > delivered);
        for lost in planted!("net-lost-unreported": lost => VecDeque::new()) {
            for _ in 0..lost.messages {
                self.report(lost.letter, DeadLetterReason::MaybeDelivered);
            }
        }
        for asker in askers.into_all() {
            asker.answer(Err(Undelivered::NodeDown));
        }
        for search in finds.into_values() {
            (search.finding)(Err(NotFound::NodeDown));
        }
        for mut route in routes.into_values() {
            wakers.extend(route.waiting.take());
            if let Some(proxy) = route.proxy.filter(|_| route.ended.is_none()) {
                remote::end(&self.node, &**proxy, ExitReason::NodeDown, None);
            }
        }
        wakers.into_iter().for_each(Waker::wake);
        drop(leavers);
        // Nobody hears of these ends any more.
        drop(round);
    }

    /// The next frame from the peer, or the end of the connection.
    pub(super) fn poll_receive(
        &self,
        cx: &mut Context<'_>,
        frame: &mut FrameBuf,
    ) -> Poll<Result<(), LinkEnd>> {
        self.link.poll_receive(cx, frame)
    }

    /// Who is to look when this node ends the link: the link itself may have told its end already.
    pub(super) fn set_receiver(&self, receiver: &Waker) {
        self.state.lock().receiver = Some(receiver.clone());
    }

    /// Ends the link; the session hears of it.
    pub(super) fn hang_up(&self) {
        let mut state = self.state.lock();
        state.hung_up = true;
        let receiver = state.receiver.take();
        drop(state);
        self.link.close();
        receiver.into_iter().for_each(Waker::wake);
    }

    /// The same where more waits for the peer, or because of it, than may.
    pub(super) fn cut_off(&self, why: ConnectionEnd) {
        self.state.lock().cut_off.get_or_insert(why);
        self.hang_up();
    }

    /// Whether that is why the link ends.
    pub(super) fn why_cut_off(&self) -> Option<ConnectionEnd> {
        self.state.lock().cut_off
    }

    /// Whether nothing is sent any more.
    pub(super) fn is_over(&self) -> bool {
        let state = self.state.lock();
        state.closed || state.hung_up
    }

    /// Whether it is this node that ended the link.
    pub(super) fn has_hung_up(&self) -> bool {
        self.state.lock().hung_up
    }
}
