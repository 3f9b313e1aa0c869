//! Supervisors and their children: the orders that pass between them.
//!
//! ```text
//! child                                     supervisor
//!   | the incarnation has ended wholly          |
//!   | -------- ChildFailed, waits ------------> | counts, asks its tree
//!   | <------- Suspend, to a sibling ---------- | the last one first
//!   | -------- ChildFailed, waits ------------> |
//!   | <------- Revive ------------------------- | the first one first
//!   | -------- ChildStarted ------------------> |
//!   | -------- ChildGone, at its burial ------> |
//! ```
//!
//! The supervisor obeys in its urgent lane, between and beside its own handlers: children are restarted
//! also while a handler or its start hook waits.

use super::body::control;
use super::control::{self as orders, End, Order};
use super::options::{Restart, RestartKind};
use super::parent::Parent;
use super::supervision::{Shutdown, Supervision};
use super::tree::{Key, Step, TooMany, Tree};
use super::{life, revival};
use crate::event::{ActorId, ExitReason};
use crate::sync::planted;
use crate::task::cell::{CellRef, Header};
use crate::task::core::{Alarm, AlarmKey};
use crate::task::held::Held;
use std::mem::ManuallyDrop;
use std::time::Duration;

/// What a supervisor declares of a child.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spec {
    pub(super) policy: &'static Supervision,
    pub(super) kind: RestartKind,
    pub(super) shutdown: Shutdown,
}

/// How a supervisor reaches a child.
#[derive(Debug)]
pub(super) struct Link {
    cell: CellRef,
    /// What kills the child unless it has stopped by then.
    limit: Option<AlarmKey>,
    /// How often it was asked to stop, so that a limit of an earlier time is known.
    stops: u32,
    /// Whether it was asked to end for good.
    for_good: bool,
    /// Whether it was asked to drain.
    drains: bool,
}

/// The children of one incarnation of a supervisor.
pub(super) type Family = Tree<Link>;

/// Makes `child`, which is about to start for the first time, one of the supervisor's.
pub(super) fn add(supervisor: &mut Held, child: &CellRef, spec: &Spec) {
    let link = Link { cell: child.clone(), limit: None, stops: 0, for_good: false, drains: false };
    let family = &mut control(supervisor).extras().family;
    let family = family.get_or_insert_with(|| Box::new(Family::new(*spec.policy)));
    family.add(child.id, link, spec.kind, spec.shutdown);
}

fn family(held: &mut Held) -> Option<&mut Family> {
    control(held).extras.as_mut()?.family.as_deref_mut()
}

/// Whether the actor supervises `child`.
pub(super) fn is_supervised(held: &mut Held, child: &CellRef) -> bool {
    family(held).is_some_and(|family| family.child(child.id).is_some())
}

/// The supervised children, in the order of their start.
pub(super) fn children(held: &mut Held) -> Vec<ActorId> {
    let family = family(held);
    family.map_or_else(Vec::new, |family| {
        family.children().map(|(_, child)| child.link.cell.actor_id()).collect()
    })
}

/// Restarts a child that has not failed; `false` if it is no child that could be.
pub(super) fn restart(held: &mut Held, child: &CellRef) -> bool {
    let restarts = family(held).is_some_and(|family| {
        let is_same = family
            .child(child.id)
            .is_some_and(|found| found.link.cell == *child && found.kind != RestartKind::Never);
        is_same && family.restart(child.id)
    });
    work(held);
    restarts
}

/// Ends a child for good; `false` if it is none, or is ending already.
pub(super) fn remove(held: &mut Held, child: &CellRef) -> bool {
    let leaves = family(held).is_some_and(|family| {
        let is_same = family.child(child.id).is_some_and(|found| found.link.cell == *child);
        is_same && family.leave(child.id)
    });
    if leaves {
        stop(held, child.id, true);
    }
    leaves
}

/// Ends all supervised children for good as their supervisor ended, one after the other, the last one first.
pub(super) fn close(held: &mut Held) {
    if let Some(family) = family(held) {
        family.close();
        work(held);
    }
}

/// Forgets the children, who have all ended.
pub(super) fn forget(held: &mut Held) {
    let Some(extras) = &mut control(held).extras else { return };
    let Some(family) = extras.family.take() else { return };
    for (_, child) in family.children() {
        cancel(held.cell(), child.link.limit);
    }
}

fn cancel(cell: &Header, limit: Option<AlarmKey>) {
    if let Some(limit) = limit {
        cell.core.cancel_alarm(limit);
    }
}

/// A control: an incarnation of a child has ended, and the child waits.
pub(super) fn child_failed(held: &mut Held, child: Key, reason: ExitReason) {
    cancel_limit(held, child);
    let core = held.cell().core.clone();
    let Some(family) = family(held) else { return };
    let actor = family.child(child).map(|child| child.link.cell.actor_id());
    let counted = family.failed(child, &reason, core.clock.now(), || revival::draw(&core));
    if let (Err(TooMany), Some(actor)) = (counted, actor) {
        let last = Box::new(reason);
        life::fail_with(held, ExitReason::TooManyRestarts { actor, last }, true);
    }
    work(held);
}

/// A control: a child runs again.
pub(super) fn child_started(held: &mut Held, child: Key) {
    if let Some(family) = family(held) {
        family.started(child);
    }
    work(held);
}

/// A control: a child has ended for good.
pub(super) fn child_gone(held: &mut Held, child: Key) {
    cancel_limit(held, child);
    if let Some(family) = family(held) {
        family.gone(child);
    }
    work(held);
}

fn cancel_limit(held: &mut Held, child: Key) {
    let limit = family(held).and_then(|family| family.child(child)?.link.limit.take());
    cancel(held.cell(), limit);
}

/// A control: a child has had the time that it was given to stop.
pub(super) fn child_late(held: &mut Held, child: Key, stops: u32) {
    let Some(child) = family(held).and_then(|family| family.child(child)) else { return };
    let link = &mut child.link;
    if link.stops == stops && link.limit.take().is_some() {
        ask_to_stop(&link.cell, link.for_good, true);
    }
}

/// Does what the tree says is next.
fn work(held: &mut Held) {
    while let Some(step) = family(held).and_then(Family::next) {
        match step {
            Step::Stop { child, for_good } => stop(held, child, for_good),
            Step::Start { child, delay } => {
                let cell = family(held).and_then(|family| family.child(child));
                if let Some(cell) = cell.map(|child| child.link.cell.clone()) {
                    orders::send(&cell, Order::Revive(delay));
                }
            }
        }
    }
}

/// The actor, which had its children drain, is not to wait for their mail any more. A child that is being stopped for a
/// restart has none to wait for: later ones that are down end before it.
pub(super) fn hasten(held: &mut Held) {
    let Some(family) = family(held) else { return };
    let Some(child) = family.stopping() else { return };
    let drains = family.child(child).is_some_and(|child| child.link.drains);
    if planted!("stop-ends-restarting": drains => true) {
        stop(held, child, true);
    }
}

/// Asks a child to stop in the way that was declared for it, or to drain if its supervisor has drained.
fn stop(held: &mut Held, key: Key, for_good: bool) {
    let me = held.reference();
    let drains = for_good && life::has_drained(held);
    let drains = planted!("drain-stops-supervised": drains => false);
    let Some(child) = family(held).and_then(|family| family.child(key)) else { return };
    child.link.for_good |= for_good;
    cancel(&me, child.link.limit.take());
    let kill = child.shutdown == Shutdown::Kill;
    let link = &mut child.link;
    link.drains |= drains;
    if drains {
        orders::send_end(&link.cell, End::Drain);
        return;
    }
    link.stops = link.stops.wrapping_add(1);
    if let Shutdown::Within(limit) = child.shutdown {
        let core = &me.core;
        let late = Order::ChildLate { child: key, stops: link.stops };
        let letter = orders::letter(me.clone(), late);
        let due = core.clock.now().after(limit);
        let alarm = core.set_alarm(due, Alarm::Push(letter));
        link.limit = planted!("family-limit-forgotten": Some(alarm) => {
            core.cancel_alarm(alarm);
            None
        });
    }
    ask_to_stop(&link.cell, for_good, kill);
}

fn ask_to_stop(child: &CellRef, for_good: bool, kill: bool) {
    if for_good {
        orders::send_end(child, if kill { End::Kill } else { End::Stop });
    } else {
        orders::send(child, Order::Suspend { kill });
    }
}

/// The child's side: tells the supervisor that an incarnation has ended, and the child waits.
pub(super) fn report_failure(child: &mut Held, reason: ExitReason) {
    let number = child.cell().id;
    if let Some(supervisor) = supervisor(child) {
        orders::send(&supervisor, Order::ChildFailed { child: number, reason });
    }
}

/// The child's side: tells the supervisor that it runs again.
pub(super) fn report_start(child: &mut Held) {
    let number = child.cell().id;
    if let Some(supervisor) = supervisor(child) {
        orders::send(&supervisor, Order::ChildStarted(number));
    }
}

/// The child's side: who supervises it, if somebody does.
pub(super) fn supervisor(child: &mut Held) -> Option<ManuallyDrop<CellRef>> {
    let control = control(child);
    control.extras.as_ref()?.place.as_ref()?;
    control.parent.map(Parent::borrow)
}

/// What a child notes of its place in the family.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// How it is supervised.
    policy: &'static Supervision,
    /// After which ends it is restarted.
    pub(super) kind: RestartKind,
    /// Whether its supervisor is restarting it, so that its own policy has no say.
    pub(super) suspended: bool,
    /// How long to wait before the next incarnation.
    pub(super) delay: Duration,
}

impl Place {
    pub(super) fn new(spec: &Spec) -> Self {
        let Spec { policy, kind, .. } = *spec;
        Self { policy, kind, suspended: false, delay: Duration::ZERO }
    }

    /// What the supervisor allows, as a policy of the child's own.
    pub(super) fn as_own(&self) -> Restart {
        self.policy.limits().of_kind(self.kind)
    }
}
