//! The end of an actor: its mail becomes dead letters, and everybody is told.

use super::body::{self, control};
use super::control::{self as orders, Order};
use super::extras::{Detour, Down};
use super::life::report_bad_drop;
use super::links::Link;
use super::phase::{Ending, reason, take_reason};
use super::stash;
use super::watchers::Watcher;
use super::{family, links};
use crate::event::{Event, ExitReason, Undelivered};
use crate::queue::oneshot;
use crate::sync::panic::quietly;
use crate::sync::{Patience, planted};
use crate::task::cell::{Advance, CellRef};
use crate::task::held::Held;

/// Tells everybody, turns what is queued into dead letters, and gives up the cell's own reference.
pub(super) fn bury(held: &mut Held) -> Advance {
    orders::close(held.cell());
    if let Some(bound) = body::bound(held.cell()) {
        while let Some(node) = bound.evict() {
            orders::discard_evicted(held.cell(), node);
        }
    }
    stash::bury(held);
    note_why(held);
    let mut patience = Patience::default();
    while !discard(held) {
        patience.wait();
    }
    let reason = take_reason(held);
    let is_supervised = family::supervisor(held).is_some();
    let parent = control(held).parent;
    held.cell().core.lives().add_end();
    // SAFETY: this is the cell's own reference, given up here and nowhere else.
    let own = unsafe { CellRef::from_raw(held.header()) };
    let mut mourners = None;
    gather(&mut mourners, held);
    // From its success on late senders own the token.
    while !held.die() {
        if !discard(held) {
            patience.wait();
        }
        gather(&mut mourners, held);
    }
    // Only now, so that whoever learns of the end finds every order to the actor refused.
    own.core.events.emit(|| Event::Ended { actor: own.actor_id(), reason: reason.clone() });
    if let Some(mourners) = mourners {
        mourners.tell(&own, &reason);
    }
    match parent {
        Some(parent) => {
            if is_supervised {
                orders::send(&parent.borrow(), Order::ChildGone(own.id));
            }
            orders::leave_parent(parent, &own);
        }
        None => own.core.root_ended(own.as_ptr()),
    }
    Advance::Ended
}

/// Notes why the mail of an actor of another node is not sent: because the actor had ended, or else the connection, or
/// this system ends it.
fn note_why(held: &mut Held) {
    if held.cell().vtable.distant {
        let has_ended =
            Ending::of(held) == Ending::Failed && !matches!(reason(held), ExitReason::NodeDown);
        let why = if has_ended { Undelivered::NoSuchActor } else { Undelivered::NodeDown };
        held.owner().life.unsent = why.code();
    }
}

/// As [`Held::discard_all_but_controls`]. Who asks an actor of another node hears that the question was not sent.
fn discard(held: &mut Held) -> bool {
    if planted!("net-waiting-unanswered": !held.cell().vtable.distant => true) {
        return held.discard_all_but_controls();
    }
    let why = held.owner().life.unsent;
    oneshot::dropping_for(why, || held.discard_all_but_controls())
}

/// Who is to be told of the end.
#[derive(Default)]
struct Mourners {
    starter: Option<oneshot::Sender<Result<(), String>>>,
    watchers: Vec<Watcher>,
    detour: Option<Detour>,
    links: Vec<Link>,
}

/// Frees what would outlive the actor, and notes who waits for its end, also those who came late. Of most actors there
/// is nobody to be noted.
fn gather(mourners: &mut Option<Mourners>, held: &mut Held) {
    if body::has_extras(held) {
        mourners.get_or_insert_default().gather(held);
    }
}

impl Mourners {
    #[inline(never)]
    fn gather(&mut self, held: &mut Held) {
        self.links.append(&mut links::take_all(held));
        let Some(mut extras) = control(held).extras.take() else { return };
        self.starter = self.starter.take().or(extras.starter.take());
        self.watchers.extend(std::mem::take(&mut extras.watchers).into_all());
        self.detour = self.detour.take().or(extras.detour.take());
        let cell = held.cell();
        if !quietly(|| extras.give_up(cell)) {
            report_bad_drop(cell);
        }
    }

    /// What is woken may be anybody's, and must not end the worker.
    #[inline(never)]
    fn tell(self, cell: &CellRef, reason: &ExitReason) {
        if let Some(starter) = self.starter {
            // An error means that nobody waits any more.
            quietly(|| drop(starter.send(Err(reason.to_string()))));
        }
        links::tell_all(self.links, cell, reason);
        for Watcher { by, tell, .. } in self.watchers {
            let down = Down { actor: cell.actor_id(), reason: reason.clone() };
            let tell = move || {
                quietly(|| tell(down));
            };
            match (&self.detour, by.filter(|by| by != cell)) {
                (Some(detour), Some(by)) => detour.take(by, tell),
                // At once: who is no actor, as the end of a connection, which waits for this; and a list that the actor is
                // on itself.
                _ => tell(),
            }
        }
    }
}
