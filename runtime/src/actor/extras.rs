//! What most actors never need, kept in a box of its own.

use super::body::Kept;
use super::dormancy::Dormancy;
use super::family::{Family, Place};
use super::interleave::Flights;
use super::links::Links;
use super::restart::History;
use super::stash::Stash;
use super::traits::Behavior;
use super::watchers::Watchers;
use crate::event::{ActorId, ExitReason};
use crate::queue::oneshot;
use crate::task::cell::CellRef;
use crate::task::core::AlarmKey;
use std::any::Any;
use std::fmt;

/// What an actor is told about the end of another that it watches.
#[derive(Clone, Debug)]
pub struct Down {
    /// Which actor ended.
    pub actor: ActorId,
    /// Why.
    pub reason: ExitReason,
}

/// Takes what tells an actor of the end of another, to call it later: when mail has found room that came before.
pub(crate) struct Detour(Box<dyn Fn(CellRef, Callback) + Send>);

type Callback = Box<dyn FnOnce() + Send>;

impl Detour {
    #[cfg(all(feature = "net", not(shuttle)))]
    pub(crate) fn new(take: impl Fn(CellRef, Callback) + Send + 'static) -> Self {
        Self(Box::new(take))
    }

    /// Has `tell` called, which tells `watcher`.
    pub(super) fn take(&self, watcher: CellRef, tell: impl FnOnce() + Send + 'static) {
        (self.0)(watcher, Box::new(tell));
    }
}

impl fmt::Debug for Detour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Detour")
    }
}

/// See the [module](self).
#[derive(Default)]
pub(crate) struct Extras {
    /// The name to free at the end.
    pub(super) name: Option<String>,
    /// Who wants to know of the end.
    pub(super) watchers: Watchers,
    /// By which way they are told, if they are actors and it is another than usual.
    pub(super) detour: Option<Detour>,
    /// When it was restarted.
    pub(super) history: History,
    /// What ends the wait before a restart.
    pub(super) backoff: Option<AlarmKey>,
    /// Why it failed.
    pub(super) failure: Option<ExitReason>,
    /// Who waits for the start; told once.
    pub(super) starter: Option<oneshot::Sender<Result<(), String>>>,
    /// What a restart starts from.
    pub(super) kept_args: Option<Box<dyn Any + Send>>,
    /// How it comes and goes, if it is virtual.
    pub(super) dormancy: Option<Dormancy>,
    /// How it is supervised.
    pub(super) place: Option<Place>,
    /// Whom it supervises.
    pub(super) family: Option<Box<Family>>,
    /// Whose fate it shares.
    pub(super) links: Links,
    /// What it has put aside.
    pub(super) stash: Stash,
    /// Its handlers that do not hold it.
    pub(super) flights: Flights,
}

impl Extras {
    /// Frees what would outlive the actor, before anybody is told of its end. The arguments come last,
    /// because their drop may panic.
    pub(super) fn give_up(&mut self, cell: &CellRef) {
        if let Some(name) = &self.name {
            cell.core.names.release(name, cell.as_ptr());
        }
        if let Some(alarm) = self.backoff.take() {
            cell.core.cancel_alarm(alarm);
        }
        if let Some(dormancy) = self.dormancy.take() {
            dormancy.give_up(cell.as_ptr());
        }
        drop(self.kept_args.take());
    }

    /// Whether nothing is noted here, so that the box can go.
    pub(super) fn is_empty(&self) -> bool {
        self.name.is_none()
            && self.watchers.is_empty()
            && self.detour.is_none()
            && self.failure.is_none()
            && self.starter.is_none()
            && self.kept_args.is_none()
            && self.dormancy.is_none()
            && self.place.is_none()
            && self.family.is_none()
            && self.links.is_empty()
            && self.stash.is_empty()
            && self.flights.is_empty()
    }

    /// What the next incarnation starts from.
    pub(super) fn next_args<A: Behavior>(&self) -> Option<A::Args> {
        match &self.dormancy {
            Some(dormancy) => dormancy.args::<A>(),
            None => self.kept_args.as_deref()?.downcast_ref::<Kept<A>>()?.copy(),
        }
    }
}

impl fmt::Debug for Extras {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Extras").field("name", &self.name).finish_non_exhaustive()
    }
}
