//! Who lives in a system, what each waits for and how much mail it has, for who looks on while nobody runs.

use super::body;
use crate::task::cell::CellRef;
use crate::task::core::Core;
use crate::task::held::Held;
use crate::task::waker::with_actor_of;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::task::Waker;

/// Visits every actor that has not ended, children behind their parents and one deeper.
///
/// # Safety
/// Nobody else runs an actor of the system meanwhile.
pub(super) unsafe fn visit_all(core: &Core, visit: &mut dyn FnMut(&CellRef, usize)) {
    for root in core.roots.all() {
        // SAFETY: the caller's promise.
        unsafe { visit_family(&root, 0, visit) };
    }
}

/// # Safety
/// As [`visit_all`].
unsafe fn visit_family(cell: &CellRef, depth: usize, visit: &mut dyn FnMut(&CellRef, usize)) {
    visit(cell, depth);
    let children = body::children(cell).lock().all();
    for child in children {
        // SAFETY: the caller's promise.
        unsafe { visit_family(&child, depth + 1, visit) };
    }
}

/// Describes every actor that has not ended, children behind and further in than their parents.
///
/// # Safety
/// Nobody runs an actor of the system meanwhile.
pub(crate) unsafe fn describe_all(core: &Core) -> Vec<String> {
    let mut cells = Vec::new();
    // SAFETY: the caller's promise.
    unsafe { visit_all(core, &mut |cell, depth| cells.push((cell.clone(), depth))) };
    let held_up = HeldUp::find(core, cells.iter().map(|(cell, _)| cell));
    let mut lines = Vec::new();
    for (cell, depth) in &cells {
        // SAFETY: the caller's promise.
        lines.push(unsafe { describe(cell, *depth) } + &held_up.describe(cell));
    }
    if held_up.for_budget > 0 {
        lines.push(format!("{} others wait for a part of the system's budget", held_up.for_budget));
    }
    lines
}

/// Who waits until a message may go in. Nobody keeps a list of it: it is read off the queues in which senders wait,
/// by the wakers that they left there.
#[derive(Default)]
struct HeldUp {
    /// What each actor's handlers wait for, by the address of its cell.
    senders: BTreeMap<usize, Vec<String>>,
    /// How many others, tasks, interleaved handlers and actors of other systems, wait for what of each actor.
    others: BTreeMap<(usize, &'static str), usize>,
    /// How many of those wait for the budget.
    for_budget: usize,
}

impl HeldUp {
    fn find<'a>(core: &Core, cells: impl Iterator<Item = &'a CellRef>) -> Self {
        let mut found = Self::default();
        for cell in cells {
            let Some(bound) = body::bound(cell) else { continue };
            bound.look_at_waiting(|what, waker| {
                if !found.note(core, waker, || format!("{what} of {}", body::describe_cell(cell))) {
                    *found.others.entry((address(cell), what)).or_default() += 1;
                }
            });
        }
        if let Some(budget) = &core.budget {
            budget.look_at_waiting(|waker| {
                if !found.note(core, waker, || "a part of the system's budget".to_owned()) {
                    found.for_budget += 1;
                }
            });
        }
        found
    }

    /// Notes what an actor's handler waits for; `false` if it is no actor of the system whom the waker wakes.
    fn note(&mut self, core: &Core, waker: &Waker, what: impl FnOnce() -> String) -> bool {
        let sender =
            with_actor_of(waker, |actor| actor.filter(|actor| actor.is_in(core)).map(address));
        let Some(sender) = sender else { return false };
        self.senders.entry(sender).or_default().push(what());
        true
    }

    fn describe(&self, cell: &CellRef) -> String {
        let mut text = String::new();
        for what in self.senders.get(&address(cell)).into_iter().flatten() {
            write!(text, ", for {what}").expect("writing to a string");
        }
        let of_cell = (address(cell), "")..(address(cell) + 1, "");
        for ((_, what), count) in self.others.range(of_cell) {
            write!(text, "; {count} others wait for {what} of it").expect("writing to a string");
        }
        text
    }
}

/// What tells a cell from all others.
fn address(cell: &CellRef) -> usize {
    cell.as_ptr().as_ptr().addr()
}

/// # Safety
/// As [`describe_all`].
unsafe fn describe(cell: &CellRef, depth: usize) -> String {
    let mut line = format!("{:width$}{} ", "", body::describe_cell(cell), width = depth * 2);
    // SAFETY: the token may be anybody's, but by the caller's promise nobody uses it.
    let mut held = unsafe { Held::new(cell.as_ptr()) };
    let owner = held.owner();
    match &owner.pending {
        Some(pending) => match pending.kind() {
            Some(kind) => write!(line, "waits inside its handler of {}", (kind.name)()),
            None => write!(line, "waits inside a hook"),
        },
        None if owner.running => write!(line, "waits for a message"),
        None => write!(line, "is starting or ending"),
    }
    .expect("writing to a string");
    if let Some(extras) = &body::control(&mut held).extras {
        for name in extras.flights.names() {
            write!(line, ", and inside its handler of {name}").expect("writing to a string");
        }
    }
    for asked in cell.core.waits.of(cell.id) {
        let asked = body::describe_cell(&asked);
        write!(line, ", for the answer of {asked}").expect("writing to a string");
    }
    line
}
