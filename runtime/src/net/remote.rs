//! Proxies: actors that stand in for those of another node.
//!
//! A `Ref<Book>` to another node leads to a proxy, which has a bounded mailbox like any other actor and, instead
//! of handling a message, puts it into a frame and sends it. So senders wait, or hear that there is no room, as
//! they do at home; the order of one sender's messages is that of the mailbox; and a watch is one of the proxy,
//! which ends when the actor does, or the connection.

use super::frame::{Envelope, Frame};
use super::manifest::MessageId;
use super::message::{Encoded, WireMessage};
use super::outlet::{Outlet, Parcel, Post};
use crate::actor::{
    Actor, Behavior, ByMacro, Calls, Context, Message, Options, Protocol, Receive, Recipient, Ref,
    StartError, Step,
};
use crate::event::{ActorId, DeadLetterReason, ExitReason, Undelivered};
use crate::mailbox::Mailbox;
use crate::sync::{Arc, Mutex};
use crate::task::run::quietly;
use crate::time::Time;
use std::any::{Any, type_name};
use std::fmt;
use std::future::{Future, poll_fn};
use std::marker::PhantomData;
use std::task::Poll;

/// Messages that wait in a proxy at most, beside those that the other node gives credit for.
const PROXY_MESSAGES_MAX: usize = 64;

/// Stands in for an actor of another node.
pub(super) struct Remote<M: WireMessage> {
    outlet: Arc<Outlet>,
    actor: u64,
    of: PhantomData<fn(M)>,
}

/// What a proxy starts from.
pub(super) struct Distant {
    pub(super) outlet: Arc<Outlet>,
    /// The actor's number at its node.
    pub(super) actor: u64,
}

impl<M: WireMessage> Remote<M> {
    /// Puts a message into a frame; `None` when it cannot be, which was reported.
    fn pack(&mut self, message: M, cx: &Context<Self>) -> Option<Parcel> {
        let letter = (cx.id(), type_name::<M>());
        let mut arguments = Vec::new();
        let mut encoded = None;
        // A codec is anybody's code.
        quietly(|| encoded = message.encode(&mut arguments).ok());
        let Some(Encoded { name, asker }) = encoded else {
            let why = DeadLetterReason::Undelivered(Undelivered::NotEncoded);
            self.outlet.report(letter, why);
            return None;
        };
        let id = MessageId::of(name);
        let schema = M::MANIFEST.signature(id).map_or(0, |shape| M::MANIFEST.schema(shape));
        let envelope = Envelope {
            actor: self.actor,
            version: M::MANIFEST.version(),
            message: id.0,
            schema,
            arguments: &arguments,
        };
        let Some(asker) = asker else {
            let frame = Frame::Tell(envelope).to_bytes();
            return Some(Parcel { actor: self.actor, frame, letter, question: None });
        };
        let now = self.outlet.core().clock.now();
        let remaining_us = match asker.until() {
            Time::NEVER => u64::MAX,
            until => u64::try_from(until.since(now).as_micros()).unwrap_or(u64::MAX),
        };
        if remaining_us == 0 {
            asker.answer(Err(Undelivered::Expired));
            return None;
        }
        let correlation = self.outlet.ask(asker);
        let frame = Frame::Ask { envelope, correlation, remaining_us }.to_bytes();
        Some(Parcel { actor: self.actor, frame, letter, question: Some(correlation) })
    }
}

impl<M: WireMessage> Actor for Remote<M> {
    const OPTIONS: Options = Options::new().mailbox(Mailbox::bounded(PROXY_MESSAGES_MAX)).distant();
}

impl<M: WireMessage> Protocol for Remote<M> {
    type Message = M;
    type Calls = NoCalls<M>;
}

impl<M: WireMessage> Behavior for Remote<M> {
    type Args = Distant;

    fn start<'a>(
        args: Distant,
        _cx: &'a mut Context<Self>,
    ) -> Step<Result<Self, StartError>, impl Future<Output = Result<Self, StartError>> + Send + 'a>
    {
        let Distant { outlet, actor } = args;
        let proxy = Self { outlet, actor, of: PhantomData };
        Step::<_, std::future::Ready<_>>::Done(Ok(proxy))
    }
}

impl<M: WireMessage> Receive<M, ByMacro> for Remote<M> {
    fn receive<'a>(
        &'a mut self,
        message: M,
        cx: &'a mut Context<Self>,
    ) -> Step<(), impl Future<Output = ()> + Send + 'a> {
        let Some(parcel) = self.pack(message, cx) else { return Step::Done(()) };
        if self.outlet.post(&parcel, None) == Post::Done {
            return Step::Done(());
        }
        Step::Later(poll_fn(move |cx| match self.outlet.post(&parcel, Some(cx.waker())) {
            Post::Done => Poll::Ready(()),
            Post::Wait => Poll::Pending,
        }))
    }
}

/// The callers of an actor that has none of its own.
pub(super) struct NoCalls<M: Message<Reply = ()>>(Recipient<M>);

impl<M: Message<Reply = ()>> Clone for NoCalls<M> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<M: Message<Reply = ()>> Calls for NoCalls<M> {
    type Message = M;

    fn from_recipient(recipient: Recipient<M>) -> Self {
        Self(recipient)
    }

    fn recipient(&self) -> &Recipient<M> {
        &self.0
    }
}

/// A proxy, whatever it speaks.
pub(super) trait Proxy: Send {
    /// Ends it, because the actor has ended or is out of reach.
    fn end_with(&self, reason: ExitReason);
    /// Lets `fence` go when all that it has accepted was sent.
    fn drop_behind(&self, fence: Fence);
    /// Which actor it is, and the type of its messages, for reports.
    fn letter(&self) -> (ActorId, &'static str);
    /// The reference to it.
    fn reference(&self) -> &dyn Any;
}

impl<M: WireMessage> Proxy for Ref<Remote<M>> {
    fn end_with(&self, reason: ExitReason) {
        Self::end_with(self, reason);
    }

    fn drop_behind(&self, fence: Fence) {
        Self::drop_behind(self, fence);
    }

    fn letter(&self) -> (ActorId, &'static str) {
        (self.id(), type_name::<M>())
    }

    fn reference(&self) -> &dyn Any {
        self
    }
}

/// Does something when the last of its clones is gone.
#[derive(Clone)]
pub(super) struct Fence {
    _last: Arc<Last>,
}

struct Last(Mutex<Option<Box<dyn FnOnce() + Send>>>);

impl Fence {
    pub(super) fn new(then: impl FnOnce() + Send + 'static) -> Self {
        Self { _last: Arc::new(Last(Mutex::new(Some(Box::new(then))))) }
    }
}

impl Drop for Last {
    fn drop(&mut self) {
        let then = self.0.lock().take();
        if let Some(then) = then {
            then();
        }
    }
}

impl fmt::Debug for Fence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Fence")
    }
}
