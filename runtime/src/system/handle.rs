//! The handle of a running system.

use super::builder::Builder;
use crate::actor::{Actor, Behavior, Context, End, Owner, Ref, Spawn, describe_cell, send_end};
use crate::event::{Counts, DeadLetters, EventStream};
use crate::mailbox::{Pressure, SystemPressure};
use crate::sync::{Arc, planted};
use crate::task::core::{Alarm, AlarmKey, Core};
use crate::task::core_ref::CoreRef;
use crate::task::current;
use crate::time::Time;
use std::any::TypeId;
use std::fmt;
use std::future::Future;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

/// A running system of actors. Cloning gives another handle.
///
/// When the last handle is dropped without [`System::shutdown`], every actor is killed and the
/// workers end; handles from [`Context::system`](crate::Context::system) do not count.
///
/// ```
/// # #[greenroom::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let system = greenroom::System::builder().workers(2).build()?;
/// system.shutdown(std::time::Duration::from_secs(1)).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct System {
    pub(super) core: CoreRef,
    _keep: Option<Arc<Keep>>,
}

/// Ends the system when the last handle goes.
struct Keep(CoreRef);

/// Why there is no reference to give.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FindError {
    /// No actor has the name.
    #[error("no actor is named {0:?}")]
    NoSuchName(String),
    /// The actor is of another type.
    #[error("the actor named {name:?} is a {found}, not a {wanted}")]
    OtherType {
        /// The name asked for.
        name: String,
        /// The type asked for.
        wanted: &'static str,
        /// The type found.
        found: &'static str,
    },
}

/// What kept a system from ending in time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{} actors did not end in time: {}", self.hanging.len(), self.hanging.join(", "))]
pub struct ShutdownError {
    /// The actors at the top under which something still ran, by name where they have one.
    pub hanging: Vec<String>,
}

impl System {
    /// Settings of a new system, all at their defaults.
    pub fn builder() -> Builder {
        Builder::new()
    }

    pub(super) fn new(core: &Arc<Core>) -> Self {
        let core = CoreRef::to(core);
        let keep = Keep(core.clone());
        Self { core, _keep: Some(Arc::new(keep)) }
    }

    /// A handle that does not keep the system alive.
    #[cfg(all(feature = "net", not(shuttle)))]
    pub(crate) fn handle(&self) -> Self {
        Self { core: self.core.clone(), _keep: None }
    }

    pub(crate) fn core(&self) -> &CoreRef {
        &self.core
    }

    /// Starts an actor at the top of the system.
    pub fn spawn<A: Behavior>(&self, args: A::Args) -> Spawn<'static, A> {
        Spawn::new(self.core.clone(), Owner::System, args)
    }

    /// The actor with a name.
    ///
    /// # Errors
    /// [`FindError`] when there is none, or it is of another type.
    pub fn find<A: Behavior>(&self, name: &str) -> Result<Ref<A>, FindError> {
        let Some(cell) = self.core.names.find(name) else {
            return Err(FindError::NoSuchName(name.to_owned()));
        };
        if (cell.vtable.type_id)() == TypeId::of::<A>() {
            return Ok(Ref::from_cell(cell));
        }
        Err(FindError::OtherType {
            name: name.to_owned(),
            wanted: std::any::type_name::<A>(),
            found: (cell.vtable.name)(),
        })
    }

    /// The messages that will not be handled, from now on. Takes a lock for a moment, and does not allocate.
    #[must_use]
    pub fn dead_letters(&self) -> DeadLetters {
        self.core.events.subscribe_letters()
    }

    /// What happens to actors, from now on. Takes a lock for a moment, and does not allocate.
    #[must_use]
    pub fn events(&self) -> EventStream {
        self.core.events.subscribe()
    }

    /// What the system has counted.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.core.counts()
    }

    /// How much of its budget the system uses.
    #[must_use]
    pub fn pressure(&self) -> SystemPressure {
        let Some(budget) = &self.core.budget else { return SystemPressure::default() };
        let [messages, bytes] = budget.read().map(|reading| reading.map(Pressure::from));
        SystemPressure { messages, bytes }
    }

    /// Stops every actor, children before parents, and then the workers. New actors are refused from
    /// now on. Every later call waits for the same end. Afterwards everything is counted and reported,
    /// unless the caller runs on a worker itself, or some worker is stuck until the deadline. A handler that
    /// awaits this waits for itself, until the deadline.
    ///
    /// # Errors
    /// [`ShutdownError`] with the actors at the top under which something still ran after `deadline`; they
    /// are killed, and the workers end as soon as their handlers and tasks let them.
    pub async fn shutdown(&self, deadline: Duration) -> Result<(), ShutdownError> {
        self.end_all(End::Stop, deadline).await
    }

    /// As [`System::shutdown`], but every actor at the top handles the mail it has accepted first. A handler
    /// that awaits this waits for itself, too.
    ///
    /// # Errors
    /// As [`System::shutdown`].
    pub async fn drain(&self, deadline: Duration) -> Result<(), ShutdownError> {
        self.end_all(planted!("drain-stops-all": End::Drain => End::Stop), deadline).await
    }

    async fn end_all(&self, end: End, deadline: Duration) -> Result<(), ShutdownError> {
        let until = self.deadline(deadline);
        self.core.roots.seal();
        for root in self.core.roots.all() {
            send_end(&root, end);
        }
        let ended = self.by(until, self.core.roots_gone()).await;
        let mut hanging = Vec::new();
        if ended.is_none() {
            for root in self.core.roots.all() {
                hanging.push(describe_cell(&root));
                send_end(&root, End::Kill);
            }
        }
        if hanging.is_empty() {
            self.core.end_workers();
            if !current::is_worker() {
                // They report what never arrived. One that is stuck in a task of tokio holds nobody up.
                self.by(until, self.core.workers_gone()).await;
            }
            return Ok(());
        }
        // Until then the workers are there to carry the kills out.
        self.core.end_with_last_root();
        Err(ShutdownError { hanging })
    }

    /// The moment so long after now.
    pub(crate) fn deadline(&self, span: Duration) -> Time {
        self.core.clock.now().after(span)
    }

    /// `future`'s output, or `None` from `until` on, or where the last worker has ended before. Works on any executor: the
    /// timekeeper wakes it.
    pub(crate) async fn by<F: Future>(&self, until: Time, future: F) -> Option<F::Output> {
        let mut future = pin!(future);
        let mut reminder = Reminder { core: &self.core, alarm: None };
        std::future::poll_fn(|cx| {
            if let Poll::Ready(output) = future.as_mut().poll(cx) {
                return Poll::Ready(Some(output));
            }
            if self.core.clock.now() >= until || !self.core.has_workers() {
                return Poll::Ready(None);
            }
            let wake = Alarm::Wake(cx.waker().clone());
            reminder.replace(Some(self.core.set_alarm(until, wake)));
            Poll::Pending
        })
        .await
    }
}

/// An alarm that is taken back by whoever needs it no more, also by giving up.
struct Reminder<'a> {
    core: &'a CoreRef,
    alarm: Option<AlarmKey>,
}

impl Reminder<'_> {
    fn replace(&mut self, alarm: Option<AlarmKey>) {
        if let Some(before) = std::mem::replace(&mut self.alarm, alarm) {
            self.core.cancel_alarm(before);
        }
    }
}

impl Drop for Reminder<'_> {
    fn drop(&mut self) {
        self.replace(None);
    }
}

impl<A: Actor> Context<A> {
    /// The system that the actor lives in.
    ///
    /// The handle does not keep the system alive by itself.
    #[must_use]
    pub fn system(&self) -> System {
        System { core: self.core().clone(), _keep: None }
    }
}

impl Drop for Keep {
    fn drop(&mut self) {
        self.0.roots.seal();
        for root in self.0.roots.all() {
            send_end(&root, End::Kill);
        }
        self.0.end_with_last_root();
    }
}

impl fmt::Debug for System {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("System")
            .field("actors_at_top", &self.core.roots.count())
            .finish_non_exhaustive()
    }
}
