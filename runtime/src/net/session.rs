//! The receiving half of a connection: what each frame means.
//!
//! The frames are taken one after the other, so the messages to an actor reach its mailbox in the order in
//! which they came. An actor whose mailbox is full holds back its own messages only: they wait here, as many as
//! the peer was given credit for.
//!
//! Invariants:
//! 1. When the session has ended, nothing that came by the connection reaches a mailbox any more; only then does
//!    the association end, and only when that has ended is there another connection to the node.
//! 2. Messages of an actor that waits for room are parked behind that one, never handed in past it.
//! 3. The end of an actor of the peer is told to an actor here behind all messages of the peer that this one was sent before.
//! 4. Whatever the peer sends, memory is bounded: by the credit that it was given, and by the backlog. While that has too
//!    many bytes, no question is handed in, so that no more answers are made than those for which there was credit.

mod children;
mod closing;
mod ends;
mod held;
mod moving;
mod news;
mod parking;
mod run;
mod window;

use super::answers::{Answers, Question};
use super::endings::ConnectionEnd;
use super::export::{Exported, Taken, Waiting};
use super::frame::{Envelope, Frame};
use super::frame_buf::FrameBuf;
use super::limit::{self, Limit};
use super::message::{Answer, Until};
use super::node::{Reached, Shared};
use super::outlet::{NotFound, Outlet};
use super::reason;
use super::reference::Lent;
use super::spawn::RemoteSpawnError;
use super::streams::{self, THE_NODE};
use super::transport::{LinkEnd, Order};
use super::whole;
use crate::actor::WatchId;
use crate::event::{DeadLetterReason, Undelivered};
use crate::sync::panic::quietly;
use crate::sync::{Arc, planted};
use crate::time::Time;
use children::{Child, Start};
use closing::Closing;
use ends::Ends;
use held::Held;
use news::{Behind, News};
use parking::{Load, Parked, Parking};
use std::collections::{BTreeMap, VecDeque};
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio::task::JoinSet;
use window::Window;

pub(super) use window::WIDTH_MIN;

/// Messages, and frames that are none, that are taken before others have their turn: a turn of any actor.
pub(super) const MESSAGES_PER_TURN: u32 = 64;

/// See the [module](self).
pub(super) struct Session {
    outlet: Arc<Outlet>,
    /// The same one, for what is decoded.
    lent: Lent,
    node: Arc<Shared>,
    inlets: BTreeMap<u64, Inlet>,
    ends: Arc<Ends>,
    /// Actors that have ended, in this order; some of them may be forgotten.
    ended: VecDeque<u64>,
    /// Actors with messages that wait.
    held: Held,
    /// What they are to hear behind these.
    news: Arc<News>,
    /// Actors with messages that wait at the peer.
    behind: Behind,
    /// If the peer has closed the connection, and some have messages that wait.
    closing: Option<Closing>,
    /// What is parked for them.
    load: Load,
    /// Of all messages of the peer.
    limit: Option<Limit>,
    answers: Answers,
    /// Starts that are waited for; dropped with the session.
    starts: JoinSet<Start>,
    /// Actors that were started for the peer.
    children: BTreeMap<u64, Child>,
    /// The frame that came last; its memory is used again, unless somebody has kept it.
    frame: Arc<FrameBuf>,
}

/// The way to one actor that the peer has found.
struct Inlet {
    actor: Arc<Box<dyn Exported>>,
    /// By which the peer is told of its end.
    watch: Option<WatchId>,
    window: Window,
    /// Of those to this actor.
    limit: Option<Limit>,
    /// The message that waits for room.
    waiting: Option<(Waiting, Origin)>,
    /// Has that looked at; `None` if none ever waited.
    waker: Option<Waker>,
    parked: Parking,
    /// Whether the peer was told that the actor has ended.
    has_ended: bool,
    /// The number by which the peer said that it has heard so.
    parting: Option<u64>,
}

/// Which message it is, for those who are told what became of it.
#[derive(Clone, Copy)]
struct Origin {
    actor: u64,
    message: u32,
    question: Option<Question>,
}

/// What a session has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// So many messages moved on or came in a frame, or one came that is no less work than a message.
    Went(u32),
    /// There is none.
    Waits,
    /// The connection has ended, or the peer did what it must not.
    Ended,
}

/// The peer did what it must not. [ENV-5]
struct Misbehaved;

impl Session {
    /// `waker` is that of whoever calls [`Session::turn`].
    pub(super) fn new(outlet: Arc<Outlet>, node: Arc<Shared>, waker: &Waker) -> Self {
        node.groups().connected(&outlet);
        Self {
            limit: node.limit(),
            answers: Answers::new(outlet.clone(), waker),
            lent: Lent::new(outlet.clone()),
            ends: Ends::new(outlet.clone()),
            ended: VecDeque::new(),
            outlet,
            node,
            inlets: BTreeMap::new(),
            held: Held::new(waker),
            load: Load::default(),
            news: News::new(waker),
            behind: Behind::default(),
            closing: None,
            starts: JoinSet::new(),
            children: BTreeMap::new(),
            frame: Arc::new(FrameBuf::default()),
        }
    }

    /// Lets messages that waited for room move on; behind that, takes the next frame, if there is one.
    pub(super) fn turn(&mut self, cx: &mut Context<'_>) -> Turn {
        self.answers.turn();
        while let Poll::Ready(Some(done)) = self.starts.poll_join_next(cx) {
            if let Ok(start) = done {
                self.started(start);
            }
        }
        let moved = if self.held.is_empty() { 0 } else { self.move_due() };
        match self.take_frame(cx) {
            Turn::Went(messages) => Turn::Went(moved + messages),
            // Others have their turn first.
            Turn::Waits if self.held.has_due() => Turn::Went(moved),
            turn => turn,
        }
    }

    fn take_frame(&mut self, cx: &mut Context<'_>) -> Turn {
        let Poll::Ready(received) = self.outlet.poll_receive(cx, self.frame.unshared()) else {
            return Turn::Waits;
        };
        match received {
            Ok(()) => {}
            Err(LinkEnd::Closed) if self.goes_on_closing(cx.waker()) => return Turn::Waits,
            Err(why) => {
                let cut_off = self.outlet.why_cut_off();
                return self.end(cut_off.unwrap_or(ConnectionEnd::Link(why)));
            }
        }
        let frame = self.frame.clone();
        let mut messages = 1;
        let taken = whole::noted(&frame, || {
            let frame = Frame::parse(&frame).map_err(|_| Misbehaved)?;
            if let Frame::Tells(tells) = frame {
                messages = tells.in_frame();
            }
            self.receive(&frame)
        });
        drop(frame);
        if planted!("net-lent-held": self.frame.is_lent() => false) {
            // Whoever lends it has it back once nobody else has any of it.
            *self.frame.unshared() = FrameBuf::default();
        }
        match taken {
            Ok(()) => Turn::Went(messages),
            Err(Misbehaved) if self.outlet.was_overfull() => self.end(ConnectionEnd::Behind),
            Err(Misbehaved) => self.end(ConnectionEnd::Misbehaved),
        }
    }

    fn end(&self, why: ConnectionEnd) -> Turn {
        self.node.note_end(self.outlet.peer(), why);
        Turn::Ended
    }

    fn receive(&mut self, frame: &Frame<'_>) -> Result<(), Misbehaved> {
        let expected = match *frame {
            Frame::Tell(envelope) => return self.take(&envelope, None),
            Frame::Tells(mut messages) => {
                self.take_run(&mut messages)?;
                return messages.try_for_each(|envelope| self.take(&envelope, None));
            }
            Frame::Ask { envelope, correlation, remaining_us } => {
                let until = match remaining_us {
                    u64::MAX => Time::NEVER,
                    micros => self.outlet.core().clock.now().after(Duration::from_micros(micros)),
                };
                return self.take(&envelope, Some(Question { correlation, until }));
            }
            Frame::Answer { correlation, bytes } => {
                self.lent.during(|| self.outlet.answer(correlation, Ok(bytes)));
                true
            }
            Frame::Unanswered { correlation, why } => {
                self.outlet.answer(correlation, Err(why));
                true
            }
            Frame::Undelivered { actor, why, .. } => self.outlet.refused(actor, why),
            Frame::Find { correlation, protocol, name } => {
                self.give(correlation, protocol, self.node.exported(name))
            }
            Frame::Open { correlation, actor, protocol: "" } => self.part(correlation, actor),
            Frame::Open { correlation, actor, protocol } => {
                let reached = self.node.reach().of(actor).map(|exported| (actor, exported));
                self.give(correlation, protocol, reached)
            }
            Frame::Found { correlation, actor, window } => {
                self.outlet.found(correlation, Ok((actor, window)))
            }
            Frame::NotFound { correlation, speaks } => {
                let none = speaks.is_empty();
                let why =
                    if none { NotFound::NoSuchName } else { NotFound::Speaks(speaks.to_owned()) };
                self.outlet.found(correlation, Err(why))
            }
            Frame::Ended { actor, how, text } => {
                reason::read(how, text).is_some_and(|reason| self.ended(actor, reason))
            }
            Frame::Credit { actor, messages } => self.outlet.grant(actor, messages),
            Frame::Held { actor } => self.hold_back(actor),
            Frame::Released { actor, ends } => self.released(actor, ends),
            Frame::Spawn { correlation, protocol, name, arguments } => {
                self.spawn(correlation, protocol, name, arguments)
            }
            Frame::NotSpawned { correlation, why, text } => RemoteSpawnError::read(why, text)
                .is_some_and(|why| self.outlet.found(correlation, Err(NotFound::NotSpawned(why)))),
            Frame::Joined { actor, protocol, group } => {
                self.node.groups().joined(&self.outlet, (group, protocol), actor)
            }
            Frame::Left { actor, protocol, group } => {
                self.node.groups().left(&self.outlet, (group, protocol), actor)
            }
            Frame::Stop { actor } => {
                // One that this peer did not start is none of its business, and has perhaps ended.
                if let Some(child) = self.children.get(&actor) {
                    child.actor.stop();
                }
                true
            }
        };
        if expected { Ok(()) } else { Err(Misbehaved) }
    }

    /// Answers a search. [ENV-10] [ENV-13]
    fn give(&mut self, correlation: u64, protocol: &str, actor: Option<Reached>) -> bool {
        let Some((number, actor)) = actor else {
            let frame = Frame::NotFound { correlation, speaks: "" };
            return self.outlet.say(Order::Free, &frame);
        };
        if actor.protocol() != protocol {
            let frame = Frame::NotFound { correlation, speaks: actor.protocol() };
            return self.outlet.say(Order::Free, &frame);
        }
        self.give_found(correlation, number, &actor).0
    }

    /// Tells the peer of an actor; the number says whether that has [left](Outlet::has_left).
    fn give_found(
        &mut self,
        correlation: u64,
        number: u64,
        actor: &Arc<Box<dyn Exported>>,
    ) -> (bool, u64) {
        let is_new = !self.inlets.contains_key(&number);
        if is_new {
            self.inlets.insert(number, Inlet::new(actor.clone()));
        }
        let found = Frame::Found { correlation, actor: number, window: WIDTH_MIN };
        let said = self.outlet.say_numbered(Order::Within(number), &found);
        if is_new {
            self.note_ends();
        }
        if is_new && let Some(inlet) = self.inlets.get_mut(&number) {
            inlet.watch = Some(Ends::watch(&self.ends, number, &***actor));
        }
        said
    }

    fn take(
        &mut self,
        envelope: &Envelope<'_>,
        question: Option<Question>,
    ) -> Result<(), Misbehaved> {
        if envelope.actor == THE_NODE {
            // [ENV-20]
            let expected = question.is_none() && streams::receive(&self.outlet, envelope);
            return if expected { Ok(()) } else { Err(Misbehaved) };
        }
        let origin = Origin { actor: envelope.actor, message: envelope.message, question };
        let Some(inlet) = self.inlets.get_mut(&envelope.actor) else {
            // It was never found.
            return Err(Misbehaved);
        };
        if !inlet.window.receive(envelope.arguments.len()) {
            return Err(Misbehaved);
        }
        // [ENV-16]
        let limits = [&mut inlet.limit, &mut self.limit];
        let allowed = limit::allow(limits, || self.outlet.core().clock.now());
        if !planted!("net-limit-ignored": allowed => true) {
            return self.settle(origin, Err(Undelivered::OverLimit));
        }
        let waits = !inlet.is_idle() || (question.is_some() && self.outlet.is_pressed());
        if planted!("net-overtakes-parked": waits => false) {
            let message = Parked::new(envelope, origin);
            let is_too_much = self.load.is_too_much(&inlet.parked, message.bytes());
            if planted!("net-parked-unbounded": is_too_much => false) {
                return self.settle(origin, Err(Undelivered::OverLimit));
            }
            inlet.parked.park(message, &mut self.load);
            if inlet.waiting.is_none() {
                self.held.stall(origin.actor);
            }
            return Ok(());
        }
        self.hand_in(envelope, origin)
    }

    /// Hands a message to its actor.
    fn hand_in(&mut self, envelope: &Envelope<'_>, origin: Origin) -> Result<(), Misbehaved> {
        let Some(inlet) = self.inlets.get_mut(&origin.actor) else { return Ok(()) };
        let until = origin.question.map_or(Time::NEVER, |question| question.until);
        // Most mail has no deadline, and the clock is dear.
        let taken = if until != Time::NEVER && until <= self.outlet.core().clock.now() {
            Err(Undelivered::Expired)
        } else {
            inlet.actor.take(envelope, Until(until), &mut self.lent)
        };
        self.became(origin, taken)
    }

    /// Goes on with what became of a message.
    fn became(
        &mut self,
        origin: Origin,
        taken: Result<Taken, Undelivered>,
    ) -> Result<(), Misbehaved> {
        match taken {
            Ok(Taken::In(answer)) => self.settle(origin, Ok(answer)),
            Ok(Taken::Waits(waiting)) => {
                let Some(inlet) = self.inlets.get_mut(&origin.actor) else { return Ok(()) };
                inlet.waiting = Some((waiting, origin));
                self.held.wait(origin.actor);
                Ok(())
            }
            Err(why) => self.settle(origin, Err(why)),
        }
    }

    /// A message is in its mailbox, or will never be.
    fn settle(
        &mut self,
        origin: Origin,
        outcome: Result<Option<Answer>, Undelivered>,
    ) -> Result<(), Misbehaved> {
        let Some(inlet) = self.inlets.get_mut(&origin.actor) else { return Ok(()) };
        let mut said = inlet.settle(1, origin.actor, &self.load, &self.outlet);
        match (outcome, origin.question) {
            (Ok(Some(answer)), Some(question)) => self.answers.wait(answer, question),
            // [ENV-21]
            (Ok(None), Some(Question { correlation, .. })) => {
                said &= self.outlet.say(Order::Free, &Frame::Answer { correlation, bytes: &[] });
            }
            (Ok(_), None) => {}
            (Err(why), question) => {
                let letter = (inlet.actor.id(), inlet.actor.message());
                self.outlet.report(letter, DeadLetterReason::Undelivered(why));
                said &= self.outlet.say(Order::Free, &refusal(origin, question, why));
            }
        }
        if said { Ok(()) } else { Err(Misbehaved) }
    }
}

/// Says that a message was not handed in. [ENV-8]
fn refusal(origin: Origin, question: Option<Question>, why: Undelivered) -> Frame<'static> {
    match question {
        Some(Question { correlation, .. }) => Frame::Unanswered { correlation, why },
        None => Frame::Undelivered { actor: origin.actor, message: origin.message, why },
    }
}

impl Inlet {
    fn new(actor: Arc<Box<dyn Exported>>) -> Self {
        let limit = actor.limit().map(Limit::new);
        let window = Window::new();
        Self {
            actor,
            watch: None,
            window,
            limit,
            waiting: None,
            waker: None,
            parked: Parking::default(),
            has_ended: false,
            parting: None,
        }
    }

    /// So many messages to the actor, of that number, do not wait any more: the peer gets credit for others when it is time.
    /// `false` if it has caused more than may wait to be said. [ENV-11]
    fn settle(&mut self, count: u32, actor: u64, load: &Load, outlet: &Outlet) -> bool {
        // Who is refused gets no credit for it: that comes when those that wait find room.
        if !self.window.settle(count) || load.is_too_much(&self.parked, 1) {
            return true;
        }
        let messages = self.window.advance(outlet.arrived());
        let said = outlet.say(Order::Free, &Frame::Credit { actor, messages });
        self.window.tell(outlet.said());
        said
    }

    /// Whether nothing of what came waits.
    fn is_idle(&self) -> bool {
        self.waiting.is_none() && self.parked.is_empty()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.stop_closing();
        self.part_with_children();
        self.node.groups().disconnected(&self.outlet);
        self.ends.close();
        self.news.close();
        for inlet in self.inlets.values_mut() {
            let letter = (inlet.actor.id(), inlet.actor.message());
            let waiting = inlet.waiting.take();
            let waited = usize::from(waiting.is_some());
            // What drops it is anybody's code, and all others are told still.
            quietly(|| drop(waiting));
            // What stands behind them is told with that.
            let parked = std::mem::take(&mut inlet.parked);
            for _ in 0..waited + parked.len() {
                let reason = DeadLetterReason::Undelivered(Undelivered::NodeDown);
                self.outlet.report(letter, reason);
            }
            if let Some(watch) = inlet.watch {
                inlet.actor.unwatch_end(watch);
            }
        }
        drop(std::mem::take(&mut self.behind));
        self.outlet.close();
    }
}
