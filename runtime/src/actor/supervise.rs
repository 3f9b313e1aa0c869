//! Starting children that are supervised, and what else a supervisor does with them.

use super::address::Ref;
use super::context::Context;
use super::error::SpawnError;
use super::family::{self, Spec};
use super::options::RestartKind;
use super::spawn::{Spawn, Starting};
use super::supervision::{Shutdown, Supervisor};
use super::traits::{Actor, Behavior, Protocol};
use crate::event::ActorId;
use crate::task::Priority;
use std::future::IntoFuture;

impl<A: Actor> Context<A> {
    /// Starts a child that this actor supervises: it is started again, with its mail, its name and its
    /// references, from a copy of `args`, as the actor's [`Supervision`](super::supervision::Supervision)
    /// and the child's restart type say.
    ///
    /// Works in the start hook as in any handler, so children come and go while the supervisor runs. When
    /// it ends, or is restarted itself, its children end for good, the last one first, each before the
    /// next.
    ///
    /// A first start that fails is an error of the `.await`, and the child is gone. Where nobody awaits
    /// it, it counts as a failure of the child.
    pub fn supervise<C: Behavior>(&mut self, args: C::Args) -> Supervise<'_, C>
    where
        A: Supervisor,
        C::Args: Clone,
    {
        let shutdown = C::OPTIONS.get_shutdown();
        let policy = const { &A::SUPERVISION };
        let spec = Spec { policy, kind: RestartKind::Permanent, shutdown };
        Supervise { spawn: self.spawn::<C>(args).supervised(spec) }
    }

    /// Restarts a child as if it had failed, but counts no failure, and touches no other child. One that fails by
    /// itself before the order reaches it has failed, as without it. Returns at once; `false` if it is no child of
    /// this supervisor that restarts, or is ending.
    pub fn restart<P: Protocol>(&mut self, child: &Ref<P>) -> bool
    where
        A: Supervisor,
    {
        family::restart(&mut self.held(), child.cell())
    }

    /// Ends a child for good, in the way that was declared for it, and touches no other child. Returns at
    /// once; `false` if it is no child that this actor supervises, or is ending.
    pub fn remove<P: Protocol>(&mut self, child: &Ref<P>) -> bool
    where
        A: Supervisor,
    {
        family::remove(&mut self.held(), child.cell())
    }

    /// The children that this actor supervises, in the order of their start, with those that wait for a
    /// restart.
    #[must_use]
    pub fn supervised(&mut self) -> Vec<ActorId>
    where
        A: Supervisor,
    {
        family::children(&mut self.held())
    }
}

/// A supervised child about to be started; permanent unless declared otherwise.
///
/// `.await` starts it and waits for its start hook; [`Supervise::start`] starts it and goes on.
#[must_use = "nothing starts before `.await` or `.start()`"]
#[derive(Debug)]
pub struct Supervise<'a, C: Behavior> {
    spawn: Spawn<'a, C>,
}

impl<'a, C: Behavior> Supervise<'a, C> {
    /// Restarts the child after failures only; one that stops itself is gone.
    pub fn transient(self) -> Self {
        self.kind(RestartKind::Transient)
    }

    /// Never restarts the child. It stops with its siblings, and its failure restarts nobody.
    pub fn temporary(self) -> Self {
        self.kind(RestartKind::Never)
    }

    fn kind(mut self, kind: RestartKind) -> Self {
        if let Some(spec) = self.spawn.spec() {
            spec.kind = kind;
        }
        self
    }

    /// Says how the supervisor stops the child; by default within five seconds, and a child that is a
    /// supervisor itself for ever.
    pub fn shutdown(mut self, shutdown: Shutdown) -> Self {
        if let Some(spec) = self.spawn.spec() {
            spec.shutdown = shutdown;
        }
        self
    }

    /// As [`Spawn::named`]; the name outlives restarts.
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.spawn = self.spawn.named(name);
        self
    }

    /// As [`Spawn::on`].
    pub fn on(mut self, worker: usize) -> Self {
        self.spawn = self.spawn.on(worker);
        self
    }

    /// As [`Spawn::priority`].
    pub fn priority(mut self, priority: Priority) -> Self {
        self.spawn = self.spawn.priority(priority);
        self
    }

    /// As [`Spawn::start`].
    ///
    /// # Errors
    /// As [`Spawn::start`].
    pub fn start(self) -> Result<Ref<C>, SpawnError> {
        self.spawn.start()
    }
}

impl<'a, C: Behavior> IntoFuture for Supervise<'a, C> {
    type Output = Result<Ref<C>, SpawnError>;
    type IntoFuture = Starting<'a, C>;

    fn into_future(self) -> Starting<'a, C> {
        self.spawn.into_future()
    }
}
