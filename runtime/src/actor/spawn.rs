//! Starting actors.

use super::address::Ref;
use super::body::{self, Kept, control};
use super::dormancy::{self, Dormancy};
use super::error::SpawnError;
use super::family::{self, Place, Spec};
use super::life;
use super::parent::Parent;
use super::traits::Behavior;
use super::until_end::UntilEnd;
use crate::queue::inbox::Inbox;
use crate::queue::oneshot;
use crate::task::cell::CellRef;
use crate::task::core_ref::CoreRef;
use crate::task::held::Held;
use crate::task::life::Life;
use crate::task::{Priority, Ready};
use std::any::TypeId;
use std::fmt;
use std::future::{Future, IntoFuture};
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Whose child a new actor is.
pub(crate) enum Owner {
    /// The system's.
    System,
    /// The running actor's.
    Parent(Parent),
}

/// An actor about to be started.
///
/// `.await` starts it and waits for its start hook; [`Spawn::start`] starts it and goes on.
///
/// # Errors
/// Of `.await`: those of [`Spawn::start`], and [`SpawnError::StartFailed`] when the start hook failed, panicked, or
/// was cut off.
#[must_use = "nothing starts before `.await` or `.start()`"]
pub struct Spawn<'a, A: Behavior> {
    core: CoreRef,
    owner: Owner,
    args: A::Args,
    name: Option<Name>,
    worker: Option<usize>,
    priority: Priority,
    /// Apart, so that what most have not is no more than a word to be passed on.
    supervised: Option<Box<(Spec, Kept<A>)>>,
    /// A child is started by its parent's handler, which this borrows.
    by: PhantomData<&'a mut ()>,
}

impl<A: Behavior> Spawn<'_, A> {
    pub(crate) fn new(core: CoreRef, owner: Owner, args: A::Args) -> Self {
        let priority = A::OPTIONS.get_priority();
        let (name, worker, supervised) = (None, None, None);
        Self { core, owner, args, name, worker, priority, supervised, by: PhantomData }
    }

    /// Lets the parent supervise the actor.
    pub(super) fn supervised(mut self, spec: Spec) -> Self
    where
        A::Args: Clone,
    {
        self.supervised = Some(Box::new((spec, Kept::for_supervisor(&self.args))));
        self
    }

    /// How the parent supervises the actor.
    pub(super) fn spec(&mut self) -> Option<&mut Spec> {
        self.supervised.as_deref_mut().map(|(spec, _)| spec)
    }

    /// Registers the actor under `name`, unique in its system, until it ends.
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = Some(Name::Wanted(name.into()));
        self
    }

    /// Lets the actor live on worker `worker`, counted from zero, where each lives on one
    /// ([`Scheduler::per_core`](crate::Scheduler::per_core)); only [`Ref::migrate`] moves it then.
    /// Under other schedulers any worker runs it all the same.
    pub fn on(mut self, worker: usize) -> Self {
        self.worker = Some(worker);
        self
    }

    /// Sets how urgent the actor is, instead of what its `#[actor(priority = ..)]` declares.
    pub fn priority(mut self, priority: Priority) -> Self {
        self.priority = priority;
        self
    }

    /// Starts the actor and returns at once; its start hook runs in its first turn, and mail waits
    /// for it. If the hook fails, the actor ends, and who watches it is told.
    ///
    /// # Errors
    /// [`SpawnError::NameTaken`], [`SpawnError::NoSuchWorker`], or [`SpawnError::Closed`] when the
    /// parent or system is ending.
    pub fn start(self) -> Result<Ref<A>, SpawnError> {
        self.build(None)
    }

    /// Starts the actor and returns at once, with what will say how its start hook went.
    #[cfg(all(feature = "net", not(shuttle)))]
    pub(crate) fn begin(self) -> Result<(Ref<A>, Outcome), SpawnError> {
        let (sender, receiver) = oneshot::pair();
        Ok((self.build(Some(sender))?, receiver))
    }

    fn build(
        self,
        starter: Option<oneshot::Sender<Result<(), String>>>,
    ) -> Result<Ref<A>, SpawnError> {
        let Self { core, owner, args, name, worker, priority, supervised, .. } = self;
        let (spec, kept) = supervised.map(|supervised| *supervised).unzip();
        let workers = core.workers();
        if let Some(worker) = worker.filter(|&worker| worker >= workers) {
            return Err(SpawnError::NoSuchWorker { worker, workers });
        }
        let parent = match owner {
            Owner::System => None,
            Owner::Parent(parent) => Some(parent),
        };
        let reserved = match name {
            None => None,
            Some(Name::Wanted(name)) => Some(Reserved::new(&core, name)?),
            Some(Name::Reserved(reserved)) => Some(reserved),
        };
        // A supervisor knows its children in the order of their start by their numbers.
        let id = if spec.is_some() { core.next_id() } else { core.any_id() };
        let mut held = body::build::<A>(core, id, parent, Some(args), kept, priority);
        if let Some(worker) = worker {
            held.cell().pin(worker);
        }
        let (own, cell) = references(&held);
        if !belongs(&mut held, &cell, spec.as_ref()) {
            return Err(SpawnError::Closed);
        }
        if reserved.is_some() || starter.is_some() {
            let extras = control(&mut held).extras();
            extras.name = reserved.and_then(|reserved| reserved.publish(&cell));
            extras.starter = starter;
        }
        // SAFETY: the maker of the cell holds its token and its own reference, and hands both over.
        let ready = unsafe { Ready::new(own.into_raw()) };
        cell.core.schedule_new(ready);
        Ok(Ref::from_cell(cell))
    }
}

/// How a start hook went; nothing if it was cut off.
#[cfg(all(feature = "net", not(shuttle)))]
type Outcome = oneshot::Receiver<Result<(), String>>;

/// What a new actor is to be called.
enum Name {
    /// If nobody else is.
    Wanted(String),
    /// It is certain that nobody else is.
    Reserved(Reserved),
}

/// A name that is nobody else's; free again when dropped unpublished, so that an actor which is refused
/// is never found.
struct Reserved {
    core: CoreRef,
    /// `None` once it is published.
    name: Option<String>,
}

impl Reserved {
    fn new(core: &CoreRef, name: String) -> Result<Self, SpawnError> {
        if core.names.reserve(&name) {
            Ok(Self { core: core.clone(), name: Some(name) })
        } else {
            Err(SpawnError::NameTaken(name))
        }
    }

    fn publish(mut self, cell: &CellRef) -> Option<String> {
        if let Some(name) = &self.name {
            self.core.names.publish(name, cell);
        }
        self.name.take()
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        if let Some(name) = &self.name {
            self.core.names.give_back(name);
        }
    }
}

/// The actor called `name`, or, if there is none, one that is started now; see
/// [`System::find_or_spawn`](crate::System::find_or_spawn).
pub(crate) async fn find_or_spawn<A: Behavior>(
    core: CoreRef,
    name: String,
    args: A::Args,
) -> Result<Ref<A>, SpawnError> {
    loop {
        if let Ok(reserved) = Reserved::new(&core, name.clone()) {
            let mut spawn = Spawn::<A>::new(core, Owner::System, args);
            spawn.name = Some(Name::Reserved(reserved));
            return spawn.await;
        }
        match core.names.find(&name) {
            Some(cell) if (cell.vtable.type_id)() != TypeId::of::<A>() => {
                return Err(SpawnError::NameTaken(name));
            }
            Some(cell) if !cell.inbox.is_closed() => return Ok(Ref::from_cell(cell)),
            // The name is free before anybody is told of the end.
            Some(ending) => UntilEnd::come(&ending).await,
            // Somebody is between taking the name and giving it to an actor, for a few steps.
            None => tokio::task::yield_now().await,
        }
    }
}

/// Makes an actor at the top of the system that sleeps until its first message.
pub(super) fn asleep<A: Behavior>(core: CoreRef, dormancy: Dormancy) -> Result<Ref<A>, SpawnError> {
    let id = core.any_id();
    let mut held = body::build::<A>(core, id, None, None, None, A::OPTIONS.get_priority());
    let (own, cell) = references(&held);
    if !belongs(&mut held, &cell, None) {
        return Err(SpawnError::Closed);
    }
    dormancy::begin_asleep(&mut held, dormancy);
    let own = own.into_raw();
    // Nobody sends to it yet, but the system may be ending.
    if !held.rest_as(Inbox::rest) {
        // SAFETY: the maker of the cell holds its token and its own reference, and hands both over.
        cell.core.schedule_new(unsafe { Ready::new(own) });
    }
    Ok(Ref::from_cell(cell))
}

/// The references of a new cell: its own, and one for whoever wants it.
fn references(held: &Held) -> (CellRef, CellRef) {
    // SAFETY: the cell is new, and its maker owns two references to it.
    let own = unsafe { CellRef::from_raw(held.header()) };
    // SAFETY: as above; this is the other one.
    (own, unsafe { CellRef::from_raw(held.header()) })
}

/// Makes the cell its parent's or the system's; `false` when that is ending.
fn belongs(held: &mut Held, cell: &CellRef, spec: Option<&Spec>) -> bool {
    let Some(parent) = control(held).parent else {
        return cell.core.add_root(cell);
    };
    // SAFETY: a `Spawn` of a child borrows its parent's context, so the parent's handler runs.
    let parent = &mut unsafe { Held::new(parent.as_ptr()) };
    let is_adopted = adopt(parent, cell);
    if let Some(spec) = spec.filter(|_| is_adopted) {
        family::add(parent, cell, spec);
        control(held).extras().place = Some(Place::new(spec));
    }
    is_adopted
}

/// Makes `child` one of the actor's children; `false` when the actor is ending.
fn adopt(parent: &mut Held, child: &CellRef) -> bool {
    if life::is_ending(parent) {
        return false;
    }
    parent.owner().life.ever |= Life::PARENTAL;
    // SAFETY: the child is new.
    unsafe { body::children(parent.cell()).lock().link(child.as_ptr()) };
    true
}

impl<A: Behavior> fmt::Debug for Spawn<'_, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Spawn({})", std::any::type_name::<A>())
    }
}

impl<'a, A: Behavior> IntoFuture for Spawn<'a, A> {
    type Output = Result<Ref<A>, SpawnError>;
    type IntoFuture = Starting<'a, A>;

    fn into_future(self) -> Starting<'a, A> {
        let (sender, receiver) = oneshot::pair();
        Starting { actor: Some(self.build(Some(sender))), receiver, by: PhantomData }
    }
}

/// The future of an awaited [`Spawn`]: ready when the start hook is done.
///
/// # Cancel safety
/// Dropped before it is ready, the actor goes on starting.
#[must_use = "futures do nothing unless polled"]
pub struct Starting<'a, A: Behavior> {
    actor: Option<Result<Ref<A>, SpawnError>>,
    receiver: oneshot::Receiver<Result<(), String>>,
    by: PhantomData<&'a mut ()>,
}

impl<A: Behavior> Unpin for Starting<'_, A> {}

impl<A: Behavior> Future for Starting<'_, A> {
    type Output = Result<Ref<A>, SpawnError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        if matches!(this.actor, Some(Ok(_))) {
            let Poll::Ready(started) = this.receiver.poll(cx) else { return Poll::Pending };
            let cut_off = || Err("it was cut off".to_owned());
            if let Err(text) = started.unwrap_or_else(cut_off) {
                this.actor = None;
                return Poll::Ready(Err(SpawnError::StartFailed(text)));
            }
        }
        Poll::Ready(this.actor.take().expect("a future is not polled after it was ready"))
    }
}

impl<A: Behavior> fmt::Debug for Starting<'_, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Starting({})", std::any::type_name::<A>())
    }
}
