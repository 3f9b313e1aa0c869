//! Who lives in a system, what each waits for and how much mail it has, for who looks on while nobody runs.

use super::body;
use crate::task::cell::CellRef;
use crate::task::core::Core;
use crate::task::held::Held;
use std::fmt::Write;

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
    let mut lines = Vec::new();
    // SAFETY: the caller's promise.
    let mut visit = |cell: &CellRef, depth: usize| lines.push(unsafe { describe(cell, depth) });
    // SAFETY: as above.
    unsafe { visit_all(core, &mut visit) };
    lines
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
