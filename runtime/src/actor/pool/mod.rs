//! Pools: several actors of one type behind one reference.
//!
//! A pool is an actor itself. It speaks the protocol of its workers, so a reference to it is called
//! like one of theirs; each message goes on to one worker, and an answer goes straight to who asked.

mod load;
mod routing;

pub use routing::Routing;

use super::address::Ref;
use super::context::Context;
use super::error::{SpawnError, StartError, TellError};
use super::extras::Down;
use super::group::Group;
use super::options::Options;
use super::traits::{Actor, Behavior, ByMacro, HandleAsync, Message, Protocol, Receive, Step};
use super::until_end::UntilEnd;
use crate::event::{DeadLetterReason, ExitReason};
use crate::sync::{Arc, Mutex, planted};
use load::Load;
use std::fmt;
use std::future::{Future, poll_fn};
use std::time::Duration;

/// Workers of the type `A` that share one mailbox, in the sense that each message goes to one of them.
///
/// The workers are children of the pool: they end with it. One that ends for good is not replaced, which
/// is for its restart policy to see to; with the last of them the pool ends. The pool's mailbox is bounded
/// as a worker's is, and it waits for room at the worker that a message is for, so that a bound holds all
/// the way. Drained, it has its workers handle what they have accepted.
///
/// [`Resize`] changes the number of workers; those that are too many handle what they have accepted, and
/// then end. Messages that are not part of `A`'s protocol, hand-written ones, do not go through a pool.
///
/// A pool can be supervised: `cx.supervise::<Pool<A>>(Pool::of(4, args))`. When it fails, with its last worker or by
/// another child's failure, it is started again with as many workers as it was declared with, under the same
/// reference. Its mail stays; what its workers had accepted becomes dead letters when they stop. Unless the supervisor
/// declares it, the pool has as long to stop as a worker has.
///
/// # Examples
/// ```
/// use greenroom::{Actor, Pool, Resize, System, handlers};
///
/// #[derive(Actor)]
/// struct Hasher;
///
/// #[handlers]
/// impl Hasher {
///     #[start]
///     fn start() -> Self {
///         Hasher
///     }
///     #[ask]
///     fn hash(&self, text: String) -> u32 {
///         text.bytes().map(u32::from).sum()
///     }
/// }
///
/// #[greenroom::main]
/// async fn main(system: System) -> Result<(), Box<dyn std::error::Error>> {
///     let pool = system.spawn::<Pool<Hasher>>(Pool::of(4, || ())).await?;
///     assert_eq!(pool.hash("abc".to_owned()).await?, 294); // as with a Ref<Hasher>
///     pool.ask(Resize(8)).await??;
///     Ok(())
/// }
/// ```
pub struct Pool<A: Behavior> {
    workers: Vec<Worker<A>>,
    routing: Routing<A>,
    make: Make<A>,
    group: Option<Group<A>>,
    /// The number of the next worker.
    next: u64,
}

/// What makes the arguments of a worker, for all incarnations of a pool.
type Make<A> = Arc<Mutex<Box<dyn FnMut() -> <A as Behavior>::Args + Send>>>;

/// The most workers of one pool: what is asked for by mistake shall not fill the memory.
const WORKERS_MAX: usize = 65_536;

/// One worker of a pool.
struct Worker<A: Behavior> {
    actor: Ref<A>,
    /// Never another's.
    number: u64,
    /// What it was sent and has not handled; counted where the routing looks at it.
    load: Load,
    /// Why it ended, when it has.
    end: UntilEnd,
}

/// What a [`Pool`] starts from; see [`Pool::of`].
///
/// Clones are what a supervisor starts a pool from again. What makes the arguments is the same in all of them.
#[must_use = "it is what a pool is spawned with"]
pub struct Workers<A: Behavior> {
    count: usize,
    make: Make<A>,
    routing: Routing<A>,
    group: Option<Group<A>>,
}

/// Sets the number of workers of a [`Pool`], at least one; the answer is how many there were, or
/// [`SpawnError::PoolTooLarge`] above 65,536, which changes nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resize(pub usize);

#[diagnostic::do_not_recommend]
impl Message for Resize {
    type Reply = Result<usize, SpawnError>;
}

impl<A: Behavior> Pool<A> {
    /// A pool of `count` workers, 65,536 at most, round robin; `args` makes what each of them starts from, also when
    /// a supervisor starts the pool again.
    ///
    /// # Panics
    /// If `count` is zero: there would be nobody to handle a message.
    pub fn of(count: usize, args: impl FnMut() -> A::Args + Send + 'static) -> Workers<A> {
        assert!(count > 0, "a pool has at least one worker");
        let make: Make<A> = Arc::new(Mutex::new(Box::new(args)));
        Workers { count, make, routing: Routing::round_robin(), group: None }
    }

    /// Starts workers until there are `count`.
    async fn grow(&mut self, count: usize, cx: &mut Context<Self>) -> Result<(), SpawnError> {
        if count > WORKERS_MAX {
            return Err(SpawnError::PoolTooLarge { count, max: WORKERS_MAX });
        }
        while self.workers.len() < count {
            let args = (*self.make.lock())();
            let actor = cx.spawn::<A>(args).await?;
            cx.watch(&actor, Self::worker_down);
            if let Some(group) = &self.group {
                group.join(&actor);
            }
            let end = UntilEnd::of(actor.cell());
            self.workers.push(Worker { actor, number: self.next, load: Load::new(), end });
            self.next += 1;
        }
        Ok(())
    }

    /// Has the newest workers end after what they have accepted, and sends them nothing more.
    fn shrink(&mut self, count: usize) {
        for worker in self.workers.drain(count.min(self.workers.len())..) {
            if let Some(group) = &self.group {
                group.leave(&worker.actor);
            }
            worker.actor.drain();
        }
    }

    #[expect(clippy::needless_pass_by_value, reason = "watches call it with the value")]
    fn worker_down(&mut self, down: Down, cx: &mut Context<Self>) {
        self.workers.retain(|worker| worker.actor.id() != down.actor);
        if self.workers.is_empty() {
            last_ended(&down.reason, cx);
        }
    }

    /// Sends a message to the worker that it is for; a worker that has just ended is passed over.
    async fn route(&mut self, mut message: A::Message, cx: &mut Context<Self>) {
        while !self.workers.is_empty() {
            let chosen = self.routing.choose(&message, &self.workers);
            let worker = &self.workers[chosen];
            let tell = worker.actor.recipient_of().tell(message);
            let told = match cx.remaining() {
                Duration::MAX => tell.await,
                remaining => tell.within(remaining).await,
            };
            match told {
                Ok(()) => return self.routing.note(worker),
                Err(TellError::Closed(back)) => message = back,
                Err(TellError::Expired(_)) => return report(cx, DeadLetterReason::Expired),
                // Larger than any mailbox here, the pool's included.
                Err(TellError::Full(_) | TellError::SystemFull(_)) => {
                    return report(cx, DeadLetterReason::DroppedNewest);
                }
            }
            // Its `Down` is on its way.
            let mut gone = self.workers.remove(chosen);
            if planted!("pool-mail-for-nobody": self.workers.is_empty() => false) {
                // Mail that came to hand before its end is known would be for nobody; another incarnation can handle it.
                let end = poll_fn(|task| gone.end.poll(task)).await;
                last_ended(&end.unwrap_or(ExitReason::NoActor), cx);
            }
        }
        report(cx, DeadLetterReason::Stopped);
    }
}

/// Ends the pool, whose last worker has ended.
fn last_ended<A: Behavior>(reason: &ExitReason, cx: &mut Context<Pool<A>>) {
    match reason.is_normal() {
        true => cx.stop(),
        false => cx.fail(format_args!("its last worker ended: {reason}")),
    }
}

/// Reports a message that no worker took.
fn report<A: Behavior>(cx: &Context<Pool<A>>, reason: DeadLetterReason) {
    cx.core().events.dead_letter(cx.id(), std::any::type_name::<A::Message>(), reason);
}

impl<A: Behavior> Workers<A> {
    /// Sets which worker a message goes to; by default one after the other.
    pub fn routing(mut self, routing: Routing<A>) -> Self {
        self.routing = routing;
        self
    }

    /// Has the workers join `group`, by which all of them are reached at once.
    pub fn group(mut self, group: &Group<A>) -> Self {
        self.group = Some(group.clone());
        self
    }
}

impl<A: Behavior> Clone for Workers<A> {
    fn clone(&self) -> Self {
        let Self { count, make, routing, group } = self;
        Self { count: *count, make: make.clone(), routing: routing.clone(), group: group.clone() }
    }
}

impl<A: Behavior> Actor for Pool<A> {
    const OPTIONS: Options =
        Options::new().mailbox(A::OPTIONS.get_mailbox()).shutdown(A::OPTIONS.get_shutdown());
}

impl<A: Behavior> Protocol for Pool<A> {
    type Message = A::Message;
    type Calls = A::Calls;
}

#[diagnostic::do_not_recommend]
impl<A: Behavior> Behavior for Pool<A> {
    type Args = Workers<A>;

    fn start<'a>(
        args: Workers<A>,
        cx: &'a mut Context<Self>,
    ) -> Step<Result<Self, StartError>, impl Future<Output = Result<Self, StartError>> + Send + 'a>
    {
        Step::Later(async move {
            let Workers { count, make, routing, group } = args;
            let mut pool = Self { workers: Vec::new(), routing, make, group, next: 0 };
            pool.grow(count, cx).await?;
            Ok(pool)
        })
    }
}

impl<A: Behavior> Receive<A::Message, ByMacro> for Pool<A> {
    fn receive<'a>(
        &'a mut self,
        message: A::Message,
        cx: &'a mut Context<Self>,
    ) -> Step<(), impl Future<Output = ()> + Send + 'a> {
        Step::Later(self.route(message, cx))
    }
}

impl<A: Behavior> HandleAsync<Resize> for Pool<A> {
    async fn handle<'a>(
        &'a mut self,
        Resize(count): Resize,
        cx: &'a mut Context<Self>,
    ) -> Result<usize, SpawnError> {
        let (before, count) = (self.workers.len(), count.max(1));
        self.shrink(count);
        self.grow(count, cx).await?;
        Ok(before)
    }
}

impl<A: Behavior> fmt::Debug for Pool<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pool({} of {})", self.workers.len(), std::any::type_name::<A>())
    }
}

impl<A: Behavior> fmt::Debug for Workers<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Workers({} of {})", self.count, std::any::type_name::<A>())
    }
}
