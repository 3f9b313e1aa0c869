//! The cell of an actor: header, control, context and state, in one block.
//!
//! ```text
//! | Frame: header, control, bound, children | context | stage: arguments, then the actor |
//! ```
//!
//! Invariants, beside those of [`crate::task`]:
//! 1. Everything but the header's atomics, the bound and the children belongs to the token's holder.
//! 2. While a handler waits, its future has `&mut` to the stage and the context; until it is dropped
//!    the runtime touches the control and the header's owner part only.
//! 3. `stage` holds what `phase` says: arguments in `Starting` before the hook, the actor from
//!    `Running` to the end of the stop hook, else nothing.

use super::context::{Context, Side};
use super::extras::Extras;
use super::life;
use super::parent::Parent;
use super::phase::Phase;
use super::size::{limit_actor, limit_arguments};
use super::traits::Behavior;
use crate::mailbox::Bound;
use crate::queue::pool;
use crate::sync::UnsafeCell;
use crate::task::Priority;
use crate::task::cell::{CellRef, Header, VTable};
use crate::task::core_ref::CoreRef;
use crate::task::held::Held;
use crate::task::siblings::Siblings;
use std::alloc::Layout;
use std::any::TypeId;
use std::ptr::NonNull;

/// What a restart starts from.
pub(super) struct Kept<A: Behavior> {
    args: A::Args,
    copy: fn(&A::Args) -> Option<A::Args>,
}

impl<A: Behavior> Kept<A> {
    /// A copy of the arguments, if the actor's own policy restarts it.
    fn by_policy(args: &A::Args) -> Option<Self> {
        Some(Self { args: A::keep_args(args)?, copy: A::keep_args })
    }

    /// Another copy of the arguments.
    pub(super) fn copy(&self) -> Option<A::Args> {
        (self.copy)(&self.args)
    }

    /// A copy of the arguments, for a supervisor that restarts the actor.
    pub(super) fn for_supervisor(args: &A::Args) -> Self
    where
        A::Args: Clone,
    {
        Self { args: args.clone(), copy: |args| Some(args.clone()) }
    }
}

/// What the runtime keeps of an actor's place and fate.
#[derive(Debug)]
pub(crate) struct Control {
    /// `None` for children of the system.
    pub(super) parent: Option<Parent>,
    /// What most actors never need.
    pub(crate) extras: Option<Box<Extras>>,
    /// What the incarnation has begun, if anything.
    pub(super) side: Option<Box<Side>>,
}

impl Control {
    pub(crate) fn extras(&mut self) -> &mut Extras {
        self.extras.get_or_insert_default()
    }
}

/// The part of a cell that is laid out alike for every actor.
#[repr(C)]
pub(crate) struct Frame {
    header: Header,
    control: UnsafeCell<Control>,
    bound: Option<Box<Bound>>,
    /// Each takes itself out when it has ended. Whether the actor waits for the last one to end is in its
    /// [header](Header::waits_for_children), where there is room.
    children: Siblings,
}

/// The whole cell.
#[repr(C)]
struct Body<A: Behavior> {
    frame: Frame,
    context: UnsafeCell<Context<A>>,
    stage: UnsafeCell<Stage<A>>,
}

/// Arguments, or the actor made of them.
enum Stage<A: Behavior> {
    Empty,
    Args(A::Args),
    Live(A),
}

/// The frame of a live cell.
pub(crate) fn frame(cell: &CellRef) -> &Frame {
    // SAFETY: every header is the start of a frame (`spawn` is the only maker of cells).
    unsafe { cell.as_ptr().cast::<Frame>().as_ref() }
}

/// Where in its cell a context lies, whatever the actor's type: right behind the frame.
pub(super) fn context_address(header: NonNull<Header>) -> usize {
    header.addr().get() + size_of::<Frame>()
}

/// The bound of an actor's mailbox, if it has one.
pub(crate) fn bound(cell: &CellRef) -> Option<&Bound> {
    let bound = frame(cell).bound.as_deref();
    debug_assert_eq!(cell.inbox.is_bounded(), bound.is_some(), "the inbox knows of the bound");
    bound
}

/// Whether a cell has what most actors never need.
pub(super) fn has_extras(held: &mut Held) -> bool {
    control(held).extras.is_some()
}

/// The children of a cell.
pub(super) fn children(cell: &CellRef) -> &Siblings {
    &frame(cell).children
}

/// The control of a cell.
pub(super) fn control(held: &mut Held) -> &mut Control {
    let control = frame(held.cell()).control.with_mut(|control| control);
    // SAFETY: by invariant 1 the holder of the token owns the control, and the borrow of `held` keeps
    // others away.
    unsafe { &mut *control }
}

/// The body of a cell.
///
/// # Safety
/// The cell is live and an `A`'s.
unsafe fn body<'a, A: Behavior>(header: NonNull<Header>) -> &'a Body<A> {
    // SAFETY: the caller's promise.
    unsafe { header.cast::<Body<A>>().as_ref() }
}

/// The context of a cell, for a hook, a handler or its future.
///
/// # Safety
/// The caller holds the token and uses the reference no longer than the handler or its future runs
/// (invariant 2); the cell is an `A`'s.
pub(super) unsafe fn context<'a, A: Behavior>(header: NonNull<Header>) -> &'a mut Context<A> {
    // SAFETY: the caller's promise; the cell outlives its handlers.
    let context = unsafe { body::<A>(header) }.context.with_mut(|context| context);
    // SAFETY: as above.
    unsafe { &mut *context }
}

/// The stage of a cell; as [`context`].
///
/// # Safety
/// As [`context`].
unsafe fn stage<'a, A: Behavior>(header: NonNull<Header>) -> &'a mut Stage<A> {
    // SAFETY: the caller's promise; the cell outlives its handlers.
    let stage = unsafe { body::<A>(header) }.stage.with_mut(|stage| stage);
    // SAFETY: as above.
    unsafe { &mut *stage }
}

/// The actor in a cell; as [`context`].
///
/// # Safety
/// As [`context`]; the actor has started and not ended.
pub(super) unsafe fn live<'a, A: Behavior>(header: NonNull<Header>) -> &'a mut A {
    // SAFETY: the caller's promise.
    match unsafe { stage::<A>(header) } {
        Stage::Live(actor) => actor,
        Stage::Empty | Stage::Args(_) => unreachable!("a running actor is live"),
    }
}

/// Takes the start arguments out.
///
/// # Safety
/// The caller holds the token, no handler waits, and the cell is an `A`'s.
pub(super) unsafe fn take_args<A: Behavior>(header: NonNull<Header>) -> A::Args {
    // SAFETY: the caller's promise.
    match std::mem::replace(unsafe { stage::<A>(header) }, Stage::Empty) {
        Stage::Args(args) => args,
        Stage::Empty | Stage::Live(_) => {
            unreachable!("an actor that is to start has its arguments")
        }
    }
}

/// Puts arguments in for the next start.
///
/// # Safety
/// As [`take_args`].
pub(super) unsafe fn set_args<A: Behavior>(header: NonNull<Header>, args: A::Args) {
    // SAFETY: the caller's promise.
    *unsafe { stage::<A>(header) } = Stage::Args(args);
}

/// Puts the started actor in.
///
/// # Safety
/// As [`take_args`].
pub(super) unsafe fn set_live<A: Behavior>(header: NonNull<Header>, actor: A) {
    // SAFETY: the caller's promise.
    *unsafe { stage::<A>(header) } = Stage::Live(actor);
}

/// Drops the actor, or the arguments it was to be made of.
///
/// # Safety
/// As [`take_args`].
pub(super) unsafe fn clear_stage<A: Behavior>(header: NonNull<Header>) {
    // SAFETY: the caller's promise.
    *unsafe { stage::<A>(header) } = Stage::Empty;
}

/// Whether the actor is there.
///
/// # Safety
/// As [`take_args`].
pub(super) unsafe fn is_live<A: Behavior>(header: NonNull<Header>) -> bool {
    // SAFETY: the caller's promise.
    matches!(unsafe { stage::<A>(header) }, Stage::Live(_))
}

fn vtable<A: Behavior>() -> &'static VTable {
    const {
        &VTable {
            advance: life::advance::<A>,
            crashed: life::crashed,
            free: free::<A>,
            name: std::any::type_name::<A>,
            type_id: TypeId::of::<A>,
            distant: A::OPTIONS.is_distant(),
        }
    }
}

/// Makes the cell of an actor that is about to start, or, without arguments, to sleep; its maker holds the
/// token and two references, one of which is to be the cell's own.
pub(super) fn build<A: Behavior>(
    core: CoreRef,
    id: u64,
    parent: Option<Parent>,
    args: Option<A::Args>,
    kept: Option<Kept<A>>,
    priority: Priority,
) -> Held {
    const { limit_actor::<A>() };
    const { limit_arguments::<A::Args>() };
    let body = pool::acquire(Layout::new::<Body<A>>()).cast::<Body<A>>();
    let mailbox = A::OPTIONS.get_mailbox();
    let kept = kept.or_else(|| args.as_ref().and_then(Kept::by_policy));
    let bound = Bound::of(mailbox, &core);
    // SAFETY: the pool handed out a free block of at least this layout.
    unsafe { Header::init(body.cast(), vtable::<A>(), core, id, bound.is_some(), priority) };
    let header = body.cast::<Header>();
    let mut control = Control { parent, extras: None, side: None };
    if let Some(kept) = kept {
        control.extras().kept_args = Some(Box::new(kept));
    }
    // SAFETY: as above; the fields behind the header are written one by one.
    let place = unsafe { Fields::of(body) };
    // SAFETY: as above.
    unsafe { place.control.write(UnsafeCell::new(control)) };
    // SAFETY: as above.
    unsafe { place.bound.write(bound) };
    // SAFETY: as above.
    unsafe { place.children.write(Siblings::new()) };
    // SAFETY: as above.
    unsafe { place.context.write(UnsafeCell::new(Context::new(header))) };
    // SAFETY: as above.
    unsafe { place.stage.write(UnsafeCell::new(args.map_or(Stage::Empty, Stage::Args))) };
    // SAFETY: the maker of a cell holds its token.
    let mut held = unsafe { Held::new(header) };
    held.owner().life.phase = Phase::Starting as u8;
    held
}

/// Where the fields behind the header go.
struct Fields<A: Behavior> {
    control: *mut UnsafeCell<Control>,
    bound: *mut Option<Box<Bound>>,
    children: *mut Siblings,
    context: *mut UnsafeCell<Context<A>>,
    stage: *mut UnsafeCell<Stage<A>>,
}

impl<A: Behavior> Fields<A> {
    /// # Safety
    /// `body` points to memory for a body, initialised or not.
    unsafe fn of(body: NonNull<Body<A>>) -> Self {
        let body = body.as_ptr();
        // SAFETY: only an address is computed, inside the caller's memory.
        let control = unsafe { &raw mut (*body).frame.control };
        // SAFETY: as above.
        let bound = unsafe { &raw mut (*body).frame.bound };
        // SAFETY: as above.
        let children = unsafe { &raw mut (*body).frame.children };
        // SAFETY: as above.
        let context = unsafe { &raw mut (*body).context };
        // SAFETY: as above.
        let stage = unsafe { &raw mut (*body).stage };
        Self { control, bound, children, context, stage }
    }
}

/// # Safety
/// The last reference is gone, and the cell is an `A`'s.
unsafe fn free<A: Behavior>(header: NonNull<Header>) {
    let body = header.cast::<Body<A>>();
    // SAFETY: the caller's promise.
    unsafe { Header::recycle_last_node(header) };
    // SAFETY: as above.
    unsafe { body.drop_in_place() };
    // SAFETY: the block came from the pool with this layout.
    unsafe { pool::release(body.cast(), Layout::new::<Body<A>>()) };
}

/// A cell, and those of all who are below it.
pub(crate) fn family(cell: CellRef) -> Vec<CellRef> {
    let mut family = vec![cell];
    let mut next = 0;
    while let Some(parent) = family.get(next) {
        let children = children(parent).lock().all();
        family.extend(children);
        next += 1;
    }
    family
}

/// The name of an actor, if it has one, and which it is; for reports of what hangs.
pub(crate) fn describe_cell(cell: &CellRef) -> String {
    let name = cell.core.names.of(cell);
    match name {
        Some(name) => format!("{name} ({})", cell.actor_id()),
        None => cell.actor_id().to_string(),
    }
}

/// Bytes of a cell beside its actor and arguments.
#[cfg(test)]
pub(crate) const fn overhead<A: Behavior>() -> usize {
    size_of::<Body<A>>() - size_of::<Stage<A>>()
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
