//! Children on other nodes, supervised from here.

use super::identity::Address;
use super::node::Node;
use super::peer::Peer;
use super::spawn::Spawnable;
use crate::actor::{
    Actor, Behavior, ByMacro, Context, Down, Options, Protocol, Receive, Ref, StartError, Step,
    TellError,
};
use crate::event::{DeadLetterReason, ExitReason, Undelivered};
use crate::mailbox::Mailbox;
use std::any::type_name;
use std::fmt;
use std::future::Future;

/// Messages that wait for a child at most, beside those on their way to it.
const MESSAGES_MAX: usize = 64;

/// An actor here that has started one on another node, and lives and ends with it: so any supervisor here restarts
/// and stops a child there.
///
/// It answers the calls of the other one, to which it hands its mail on. Its start connects with the node, if
/// need be, and starts the child there. When the child fails, or the connection ends, it fails, and its supervisor
/// does what it has declared: a restart starts a child anew, while references, mail that waits, and the order of mail stay.
/// When the child stops by itself, so does this; when this is stopped, the child is stopped first.
///
/// After the end of a connection, nobody here knows how the old child fares. Under [`Orphans::Stop`] it is stopped as
/// soon as its node notices; under [`Orphans::Keep`] it goes on beside a new one.
///
/// [`Orphans::Stop`]: super::Orphans::Stop
/// [`Orphans::Keep`]: super::Orphans::Keep
///
/// # Examples
/// ```
/// use greenroom::net::{Address, Node, Placement, RemoteChild};
/// use greenroom::{Actor, Context, StartError, Supervision, handlers};
///
/// #[derive(Actor)]
/// struct Worker(u64);
///
/// #[handlers(wire = "acme.worker/1")]
/// impl Worker {
///     #[start]
///     fn start(from: u64) -> Self {
///         Self(from)
///     }
///     #[ask]
///     fn next(&mut self) -> u64 {
///         self.0 += 1;
///         self.0
///     }
/// }
///
/// #[derive(Actor)]
/// #[actor(supervise = one_for_one(3 in "10s"))]
/// struct Boss;
///
/// #[handlers]
/// impl Boss {
///     #[start]
///     fn start(args: (Node, Address), cx: &mut Context<Self>) -> Result<Self, StartError> {
///         let (node, there) = args;
///         let place = Placement::<Worker>::new(&node, &there, "worker", 7);
///         cx.supervise::<RemoteChild<Worker>>(place).named("worker").start()?;
///         Ok(Self)
///     }
/// }
/// # fn main() {}
/// ```
pub struct RemoteChild<A: Spawnable> {
    peer: Peer,
    child: Ref<A>,
}

/// Where a [`RemoteChild`] is started, and from what.
pub struct Placement<A: Spawnable> {
    node: Node,
    address: Address,
    name: String,
    args: A::Args,
}

impl<A: Spawnable> Placement<A> {
    /// At the node at `address`, which `node` reaches, under the name by which that allows it.
    #[must_use]
    pub fn new(node: &Node, address: &Address, name: impl Into<String>, args: A::Args) -> Self {
        Self { node: node.clone(), address: address.clone(), name: name.into(), args }
    }
}

impl<A: Spawnable<Args: Clone>> Clone for Placement<A> {
    fn clone(&self) -> Self {
        Self::new(&self.node, &self.address, self.name.clone(), self.args.clone())
    }
}

impl<A: Spawnable> fmt::Debug for Placement<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Placement({} at {})", self.name, self.address)
    }
}

impl<A: Spawnable> fmt::Debug for RemoteChild<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RemoteChild({:?} at {:?})", self.child, self.peer)
    }
}

impl<A: Spawnable> Actor for RemoteChild<A> {
    const OPTIONS: Options = Options::new().mailbox(Mailbox::bounded(MESSAGES_MAX));
}

impl<A: Spawnable> Protocol for RemoteChild<A> {
    type Message = A::Message;
    type Calls = A::Calls;
}

impl<A: Spawnable> RemoteChild<A> {
    /// Ends as the child has.
    fn down(&mut self, down: Down, cx: &mut Context<Self>) {
        match down.reason {
            ExitReason::Stopped | ExitReason::Drained => cx.stop(),
            reason => cx.fail(reason),
        }
    }
}

// Who forgets `#[handlers]` is not helped by it.
#[diagnostic::do_not_recommend]
impl<A: Spawnable> Behavior for RemoteChild<A> {
    type Args = Placement<A>;

    fn start<'a>(
        args: Placement<A>,
        cx: &'a mut Context<Self>,
    ) -> Step<Result<Self, StartError>, impl Future<Output = Result<Self, StartError>> + Send + 'a>
    {
        Step::Later(async move {
            let peer = args.node.connect(&args.address).await?;
            let child = peer.spawn::<A>(&args.name, args.args).await?;
            // No watch, which would come behind the mail: what waits here is for the next child.
            child.when_ended(cx.caller(Self::down));
            Ok(Self { peer, child })
        })
    }

    fn stop<'a>(
        &'a mut self,
        _reason: &'a ExitReason,
        _cx: &'a mut Context<Self>,
    ) -> Step<(), impl Future<Output = ()> + Send + 'a> {
        self.peer.stop(&self.child);
        Step::Later(self.child.ended())
    }
}

impl<A: Spawnable> Drop for RemoteChild<A> {
    /// A kill leaves the stop hook out.
    fn drop(&mut self) {
        self.peer.stop(&self.child);
    }
}

impl<A: Spawnable> Receive<A::Message, ByMacro> for RemoteChild<A> {
    fn receive<'a>(
        &'a mut self,
        message: A::Message,
        cx: &'a mut Context<Self>,
    ) -> Step<(), impl Future<Output = ()> + Send + 'a> {
        let recipient = self.child.recipient_of();
        let message = match recipient.tell(message).try_send() {
            Ok(()) => return Step::Done(()),
            Err(TellError::Full(message) | TellError::SystemFull(message)) => message,
            Err(TellError::Closed(message) | TellError::Expired(message)) => message,
        };
        let child = self.child.clone();
        Step::Later(async move {
            if recipient.tell(message).await.is_err() {
                report::<A>(cx);
                // So that its end is heard next, and the other messages wait for the next child.
                child.ended().await;
            }
        })
    }
}

/// Reports a message that came when the child had ended.
fn report<A: Spawnable>(cx: &Context<RemoteChild<A>>) {
    let why = DeadLetterReason::Undelivered(Undelivered::NoSuchActor);
    cx.core().events.dead_letter(cx.id(), type_name::<A::Message>(), why);
}
