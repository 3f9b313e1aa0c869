//! Proxies: actors that stand in for those of another node.
//!
//! A `Ref<Book>` to another node leads to a proxy, which has a bounded mailbox like any other actor and, instead
//! of handling a message, puts it into a frame and sends it, with those that wait behind it. So senders wait, or hear that there is no room, as
//! they do at home; the order of one sender's messages is that of the mailbox; and a watch is one of the proxy,
//! which ends when the actor does, or the connection.

use super::bundle::{self, Bound, Bundle, Shape, put_head};
use super::frame::Frame;
use super::manifest::MessageId;
use super::message::{Asker, Encoded, WireMessage};
use super::node::Shared;
use super::outlet::{Letter, NotFound, Outlet, Parcel, Post};
use super::reach::Home;
use super::reference::{self, Lent};
use super::scratch;
use super::streams::{self, Voyage};
use crate::actor::{
    Actor, Behavior, ByMacro, Calls, Context, Detour, Message, Options, Protocol, Receive,
    Recipient, Ref, StartError, Step,
};
use crate::event::{ActorId, DeadLetterReason, ExitReason, Undelivered};
use crate::mailbox::Mailbox;
use crate::sync::panic::quietly;
use crate::sync::{Arc, Mutex, planted};
use crate::time::Time;
use std::any::{Any, type_name};
use std::convert::Infallible;
use std::fmt;
use std::future::{Future, Ready, poll_fn};
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Poll, Waker};

/// Messages that wait in a proxy's mailbox at most, beside those in its hands and those that the other node gives
/// credit for.
const PROXY_MESSAGES_MAX: usize = 256;

/// Stands in for an actor of another node.
pub(super) struct Remote<M: WireMessage> {
    outlet: Arc<Outlet>,
    /// The same one, for what is encoded.
    lent: Lent,
    actor: u64,
    letter: Letter,
    /// The messages that were sent before.
    shapes: Vec<Known>,
    /// Messages that leave with the next one, which waits in the mailbox.
    bundle: Bundle,
    of: PhantomData<fn(M)>,
}

/// The shape of a message by the name of its handler.
type Known = (&'static str, Shape);

/// What a proxy starts from.
pub(super) struct Distant {
    outlet: Arc<Outlet>,
    /// The actor's number at its node.
    actor: u64,
}

impl<M: WireMessage> Remote<M> {
    /// Puts a message into the bundle, or into a parcel of its own, which is to leave behind the bundle. Neither if
    /// it cannot be put into a frame, which was reported.
    fn pack(&mut self, message: M) -> Option<Parcel> {
        let (at, bytes) = self.bundle.begin();
        let mut encoded = None;
        // A codec is anybody's code.
        let encode = || self.lent.during(|| encoded = message.encode(bytes).ok());
        let carried = streams::carrying(Voyage::Watched, || quietly(encode));
        let whole = self.bundle.is_whole(at);
        let Some(Encoded { name, asker }) = encoded.filter(|_| whole) else {
            let why = reference::failure().unwrap_or(Undelivered::NotEncoded);
            self.outlet.streams().lose(&carried);
            for _ in 0..=self.bundle.forget(at) {
                self.outlet.report(self.letter, DeadLetterReason::Undelivered(why));
            }
            return None;
        };
        let asker = streams::watched(&self.outlet, carried, self.letter, asker);
        let shape = self.shape(name);
        if let Some(asker) = asker {
            let bytes = self.bundle.split(at);
            return self.question((bytes, at), shape, asker);
        }
        if self.bundle.is_too_long() {
            let mut bytes = self.bundle.split(at);
            let head = bundle::tell(self.actor, M::MANIFEST.version(), shape);
            let start = put_head(&head, &mut bytes, at);
            return Some(self.parcel(Bound { bytes, start, messages: 1 }, None));
        }
        self.bundle.add(at, shape);
        None
    }

    /// The parcel of a question, whose arguments begin at a place in front of which the head has room; `None` if its time
    /// is over, of which the asker was told.
    fn question(
        &self,
        (mut bytes, at): (Vec<u8>, usize),
        shape: Shape,
        asker: Box<dyn Asker>,
    ) -> Option<Parcel> {
        let now = self.outlet.core().clock.now();
        let remaining_us = match asker.until() {
            Time::NEVER => u64::MAX,
            until => u64::try_from(until.since(now).as_micros()).unwrap_or(u64::MAX),
        };
        if remaining_us == 0 {
            asker.answer(Err(Undelivered::Expired));
            return None;
        }
        let envelope = bundle::envelope(self.actor, M::MANIFEST.version(), shape);
        let correlation = self.outlet.ask(asker);
        let head = Frame::Ask { envelope, correlation, remaining_us };
        let start = put_head(&head, &mut bytes, at);
        Some(self.parcel(Bound { bytes, start, messages: 1 }, Some(correlation)))
    }

    /// The parcel of what is in the bundle, if anything is.
    fn close_bundle(&mut self) -> Option<Parcel> {
        let bound = self.bundle.close(self.actor, M::MANIFEST.version())?;
        Some(self.parcel(bound, None))
    }

    fn parcel(&self, bound: Bound, question: Option<u64>) -> Parcel {
        let Bound { bytes, start, messages } = bound;
        Parcel { actor: self.actor, bytes, start, messages, letter: self.letter, question }
    }

    /// What the message of that name is called on the wire, worked out once.
    fn shape(&mut self, name: &'static str) -> Shape {
        // Two texts of one name are two entries, each found without reading it.
        if let Some((_, shape)) = self.shapes.iter().find(|(known, _)| std::ptr::eq(*known, name)) {
            return *shape;
        }
        let id = MessageId::of(name);
        let schema = M::MANIFEST.signature(id).map_or(0, |shape| M::MANIFEST.schema(shape));
        let shape = Shape { id, schema };
        self.shapes.push((name, shape));
        shape
    }
}

impl<M: WireMessage> Drop for Remote<M> {
    fn drop(&mut self) {
        let messages = planted!("net-bundle-unreported": self.bundle.messages() => 0);
        self.outlet.lose(self.actor, self.letter, messages);
    }
}

/// What is to leave, in this order. The actor that it is for ends, or its node does, if it is dropped before.
struct Unsent<'a> {
    outlet: &'a Arc<Outlet>,
    parcels: [Option<Parcel>; 2],
}

impl Unsent<'_> {
    fn send(&mut self, waker: Option<&Waker>) -> Post {
        let mut post = Post::Done { credit: 0 };
        for slot in &mut self.parcels {
            let Some(parcel) = slot else { continue };
            post = Outlet::post(self.outlet, parcel, waker);
            if post == Post::Wait {
                break;
            }
            scratch::give(std::mem::take(&mut parcel.bytes));
            *slot = None;
        }
        post
    }
}

impl Drop for Unsent<'_> {
    fn drop(&mut self) {
        if let Some(parcel) = self.parcels.iter().flatten().next() {
            self.outlet.leave(parcel.actor);
        }
        // The last message is the one that is handled, and reported as such.
        let mut reported = 1;
        for parcel in self.parcels.iter().rev().flatten() {
            let messages = parcel.messages - reported;
            let messages = planted!("net-bundle-lost-waiting": messages => 0);
            self.outlet.lose(parcel.actor, parcel.letter, messages);
            if let Some(question) = parcel.question {
                self.outlet.answer(question, Err(self.outlet.why_lost(parcel.actor)));
            }
            reported = 0;
        }
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
        cx: &'a mut Context<Self>,
    ) -> Step<Result<Self, StartError>, impl Future<Output = Result<Self, StartError>> + Send + 'a>
    {
        let Distant { outlet, actor } = args;
        let mut bundle = Bundle::default();
        bundle.set_credit(outlet.credit(actor));
        let proxy = Self {
            lent: Lent::new(outlet.clone()),
            outlet,
            actor,
            letter: (cx.id(), type_name::<M>()),
            shapes: Vec::new(),
            bundle,
            of: PhantomData,
        };
        Step::<_, Ready<_>>::Done(Ok(proxy))
    }
}

impl<M: WireMessage> Receive<M, ByMacro> for Remote<M> {
    fn receive<'a>(
        &'a mut self,
        message: M,
        cx: &'a mut Context<Self>,
    ) -> Step<(), impl Future<Output = ()> + Send + 'a> {
        let apart = self.pack(message);
        // Nothing comes between: what joins a bundle is the next message that is handled, or the proxy ends.
        if apart.is_none() && self.bundle.has_room() && cx.gets_next::<M>() {
            return Step::Done(());
        }
        let parcels = [self.close_bundle(), apart];
        if parcels.iter().all(Option::is_none) {
            return Step::Done(());
        }
        let Self { outlet, bundle, .. } = self;
        let mut unsent = Unsent { outlet, parcels };
        if let Post::Done { credit } = unsent.send(None) {
            bundle.set_credit(credit);
            return Step::Done(());
        }
        Step::Later(poll_fn(move |cx| match unsent.send(Some(cx.waker())) {
            Post::Done { credit } => {
                bundle.set_credit(credit);
                Poll::Ready(())
            }
            Post::Wait => Poll::Pending,
        }))
    }
}

/// The reference to what stands in for an actor that was found or is opened: the one that there is, or one that
/// is started now.
pub(super) fn stand_in<P: Protocol<Message: WireMessage>>(
    outlet: &Arc<Outlet>,
    actor: u64,
) -> Result<Ref<P>, NotFound> {
    let start = || Some(Arc::new(Box::new(start::<P>(outlet, actor)?) as Box<dyn Proxy>));
    let read = |proxy: &dyn Proxy| {
        let proxy = proxy.reference().downcast_ref::<Ref<Remote<P::Message>>>();
        Some(proxy.map(Ref::api::<P>))
    };
    // The inner `None`: two protocols of this program have one name.
    let reference = outlet.proxy(actor, start, read).ok_or(NotFound::NodeDown)?;
    reference.ok_or_else(|| NotFound::Speaks(P::Message::MANIFEST.name().to_owned()))
}

/// A reference to an actor that has ended: what stands in for it ends at once.
pub(super) fn dead<P: Protocol<Message: WireMessage>>(outlet: &Arc<Outlet>) -> Option<Ref<P>> {
    let proxy = start::<P>(outlet, 0)?;
    end(outlet.node(), &proxy, ExitReason::NoActor, None);
    Some(proxy.api())
}

/// Ends what stands in for an actor, which has ended or is out of reach. Actors that watch it are told by way of `detour`, if
/// there is one.
pub(super) fn end(
    node: &Arc<Shared>,
    proxy: &dyn Proxy,
    reason: ExitReason,
    detour: Option<Detour>,
) {
    let (id, _) = proxy.letter();
    // Until it is seen to have ended, it is sent as an actor of this node that nobody reaches.
    node.reach().settle(id, Home { identity: node.identity(), actor: id.number() });
    proxy.end_with(reason, detour);
    let node = node.clone();
    proxy.when_ended(Box::new(move || node.reach().unsettle(id)));
}

/// Starts a proxy at the top of the system, where whoever decodes a reference may do so; the association ends
/// after it.
fn start<P: Protocol<Message: WireMessage>>(
    outlet: &Arc<Outlet>,
    actor: u64,
) -> Option<Ref<Remote<P::Message>>> {
    let args = Distant { outlet: outlet.clone(), actor };
    let spawn = outlet.node().system().spawn::<Remote<P::Message>>(args);
    spawn.on(outlet.worker()).start().ok()
}

/// The message of an actor to which nothing is ever told.
#[derive(Debug)]
pub(super) struct Nothing(Infallible);

impl Message for Nothing {
    type Reply = ();
}

impl Nothing {
    /// What its handler does.
    pub(super) fn handled(self) -> Step<(), Ready<()>> {
        match self.0 {}
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
pub(super) trait Proxy: Send + Sync {
    /// Ends it, because the actor has ended or is out of reach. Actors that watch it are told by way of `detour`, if there is
    /// one.
    fn end_with(&self, reason: ExitReason, detour: Option<Detour>);
    /// Lets `fence` go when all that it has accepted from the calling worker was sent.
    fn drop_behind(&self, fence: Fence);
    /// The same of all that it has accepted from anybody.
    fn drop_behind_all(&self, fence: Fence);
    /// Whether there may be anything that it has accepted and not sent; `from_any` as the second of these sees it.
    fn may_have_mail(&self, from_any: bool) -> bool;
    /// Which actor it is, and the type of its messages, for reports.
    fn letter(&self) -> (ActorId, &'static str);
    /// The reference to it.
    fn reference(&self) -> &dyn Any;
    /// Waits until nothing is left of it.
    fn ended(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>>;
    /// Calls `tell` when nothing is left of it.
    fn when_ended(&self, tell: Box<dyn FnOnce() + Send>);
}

impl<M: WireMessage> Proxy for Ref<Remote<M>> {
    fn end_with(&self, reason: ExitReason, detour: Option<Detour>) {
        Self::end_with(self, reason, detour);
    }

    fn drop_behind(&self, fence: Fence) {
        Self::drop_behind(self, fence);
    }

    fn drop_behind_all(&self, fence: Fence) {
        Self::drop_behind_all(self, fence);
    }

    fn may_have_mail(&self, from_any: bool) -> bool {
        Self::may_have_mail(self, from_any)
    }

    fn letter(&self) -> (ActorId, &'static str) {
        (self.id(), type_name::<M>())
    }

    fn reference(&self) -> &dyn Any {
        self
    }

    fn ended(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(Self::ended(self))
    }

    fn when_ended(&self, tell: Box<dyn FnOnce() + Send>) {
        Self::when_ended(self, move |_| tell());
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
