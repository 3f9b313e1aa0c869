//! The cell of an actor: header, control and state, in one block.
//!
//! ```text
//! | bound, if any | Frame: header, control, children | context | stage: arguments, then the actor |
//!                 ^ the address of the cell           no bytes
//! ```
//!
//! Invariants, beside those of [`crate::task`]:
//! 1. Everything but the header's atomics, the bound and the children belongs to the token's holder.
//! 2. While a handler waits, its future has `&mut` to the stage and the context; until it is dropped
//!    the runtime touches the control and the header's owner part only.
//! 3. `stage` holds what `phase` says: arguments in `Starting` before the hook, the actor from
//!    `Running` to the end of the stop hook, else nothing. The [`Life`] has it noted; that a running actor is
//!    there nothing checks again in release builds.

use super::context::{Context, Root, Side};
use super::extras::Extras;
use super::life;
use super::parent::Parent;
use super::phase::Phase;
use super::size::{limit_actor, limit_arguments};
use super::traits::Behavior;
use crate::mailbox::Bound;
use crate::queue::pool::{self, Release};
use crate::sync::UnsafeCell;
use crate::task::Priority;
use crate::task::cell::{CellRef, Header, VTable};
use crate::task::core_ref::CoreRef;
use crate::task::held::Held;
use crate::task::life::Life;
use crate::task::siblings::Siblings;
use std::alloc::Layout;
use std::any::TypeId;
use std::mem::ManuallyDrop;
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
    /// Whether there is anything in it to be dropped.
    fn holds_any(&self) -> bool {
        self.extras.is_some() || self.side.is_some()
    }

    pub(crate) fn extras(&mut self) -> &mut Extras {
        self.extras.get_or_insert_default()
    }
}

/// The part of a cell that is laid out alike for every actor.
#[repr(C)]
pub(crate) struct Frame {
    header: Header,
    /// Dropped by [`free`], which finds nothing in most of them.
    control: UnsafeCell<ManuallyDrop<Control>>,
    /// Each takes itself out when it has ended. Whether the actor waits for the last one to end is in its
    /// [header](Header::waits_for_children), where there is room.
    children: Siblings,
}

/// The whole cell.
#[repr(C)]
struct Body<A: Behavior> {
    frame: Frame,
    /// Where the context lies.
    _context: UnsafeCell<Root>,
    stage: UnsafeCell<Stage<A>>,
}

/// Arguments, or the actor made of them, as invariant 3 says. A union, since an enumeration of these would take a word to
/// say which.
union Stage<A: Behavior> {
    empty: (),
    args: ManuallyDrop<A::Args>,
    live: ManuallyDrop<A>,
}

/// The frame of a live cell.
pub(crate) fn frame(cell: &CellRef) -> &Frame {
    // SAFETY: every header is the start of a frame (`spawn` is the only maker of cells).
    unsafe { cell.as_ptr().cast::<Frame>().as_ref() }
}

/// How far behind the beginning of its cell a context lies, whatever the actor's type: right behind the frame.
pub(super) const CONTEXT_AT: usize = size_of::<Frame>();

/// The bound of an actor's mailbox, if it has one.
pub(crate) fn bound(cell: &CellRef) -> Option<&Bound> {
    if !cell.inbox.is_bounded() {
        return None;
    }
    // SAFETY: in front of a cell whose inbox is bounded there is its bound, which nobody changes.
    Some(unsafe { &*bound_of(cell.as_ptr()) })
}

/// Where the bound of a cell is that has one.
fn bound_of(header: NonNull<Header>) -> *mut Box<Bound> {
    header.as_ptr().cast::<Box<Bound>>().wrapping_sub(1)
}

/// The block of a cell, and where in it the cell begins: most have no bound, and no room for one.
const fn block_of<A: Behavior>(is_bounded: bool) -> (Layout, usize) {
    let body = Layout::new::<Body<A>>();
    if !is_bounded {
        return (body, 0);
    }
    match Layout::new::<Box<Bound>>().extend(body) {
        Ok((block, begin)) => (block.pad_to_align(), begin),
        Err(_) => panic!("an actor is smaller than memory"),
    }
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
    let root = unsafe { header.byte_add(CONTEXT_AT) }.cast::<Root>();
    // SAFETY: as above.
    unsafe { &mut *Context::at(root.as_ptr()) }
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
#[inline(always)]
pub(super) unsafe fn live<'a, A: Behavior>(header: NonNull<Header>) -> &'a mut A {
    // SAFETY: the caller's promise.
    debug_assert!(unsafe { is_live(header) }, "a running actor is live");
    // SAFETY: as above.
    let stage = unsafe { stage::<A>(header) };
    // SAFETY: by invariant 3 the stage holds the actor.
    unsafe { &mut stage.live }
}

/// Notes what the stage of a cell holds from now on; returns what it held.
///
/// # Safety
/// The caller holds the token, and uses no reference to what only its holder owns meanwhile.
unsafe fn note_stage(header: NonNull<Header>, holds: u8) -> u8 {
    // SAFETY: the caller's promise.
    unsafe { Held::new(header) }.owner().life.swap_stage(holds)
}

/// Takes the start arguments out.
///
/// # Safety
/// The caller holds the token, no handler waits, and the cell is an `A`'s.
pub(super) unsafe fn take_args<A: Behavior>(header: NonNull<Header>) -> A::Args {
    // SAFETY: the caller's promise.
    let held = unsafe { note_stage(header, 0) };
    assert!(held == Life::ARGS, "an actor that is to start has its arguments");
    // SAFETY: as above.
    let stage = unsafe { stage::<A>(header) };
    // SAFETY: the stage has held them until now.
    unsafe { ManuallyDrop::take(&mut stage.args) }
}

/// Puts arguments in for the next start.
///
/// # Safety
/// As [`take_args`].
pub(super) unsafe fn set_args<A: Behavior>(header: NonNull<Header>, args: A::Args) {
    // SAFETY: the caller's promise.
    unsafe { clear_stage::<A>(header) };
    // SAFETY: as above.
    unsafe { stage::<A>(header) }.args = ManuallyDrop::new(args);
    // SAFETY: as above.
    unsafe { note_stage(header, Life::ARGS) };
}

/// Puts the started actor in.
///
/// # Safety
/// As [`take_args`].
pub(super) unsafe fn set_live<A: Behavior>(header: NonNull<Header>, actor: A) {
    // SAFETY: the caller's promise.
    unsafe { clear_stage::<A>(header) };
    // SAFETY: as above.
    unsafe { stage::<A>(header) }.live = ManuallyDrop::new(actor);
    // SAFETY: as above.
    unsafe { note_stage(header, Life::LIVE) };
}

/// Drops the actor, or the arguments it was to be made of.
///
/// # Safety
/// As [`take_args`].
pub(super) unsafe fn clear_stage<A: Behavior>(header: NonNull<Header>) {
    // SAFETY: the caller's promise.
    let held = unsafe { note_stage(header, 0) };
    // SAFETY: as above.
    let stage = unsafe { stage::<A>(header) };
    // SAFETY: the stage has held that until now.
    unsafe { stage.drop_as(held) };
}

/// Whether the actor is there.
///
/// # Safety
/// As [`take_args`].
pub(super) unsafe fn is_live(header: NonNull<Header>) -> bool {
    // SAFETY: the caller's promise.
    unsafe { Held::new(header) }.owner().life.stage() == Life::LIVE
}

impl<A: Behavior> Stage<A> {
    /// Drops what it holds: [`Life::ARGS`], [`Life::LIVE`], or nothing.
    ///
    /// # Safety
    /// It does hold that, and is used as empty afterwards.
    unsafe fn drop_as(&mut self, held: u8) {
        match held {
            // SAFETY: the caller's promise.
            Life::LIVE => unsafe { ManuallyDrop::drop(&mut self.live) },
            // SAFETY: as above.
            Life::ARGS => unsafe { ManuallyDrop::drop(&mut self.args) },
            _ => {}
        }
    }
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
    let kept = kept.or_else(|| args.as_ref().and_then(Kept::by_policy));
    let bound = Bound::of(A::OPTIONS.get_mailbox(), &core);
    let (block, begin) = block_of::<A>(bound.is_some());
    // SAFETY: the pool hands out a block of at least this layout, inside of which the cell begins.
    let body = unsafe { pool::acquire(block).add(begin) }.cast::<Body<A>>();
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
    unsafe { place.control.write(UnsafeCell::new(ManuallyDrop::new(control))) };
    if let Some(bound) = bound {
        // SAFETY: the block was made for a bound, too.
        unsafe { bound_of(header).write(bound) };
    }
    // SAFETY: as above.
    unsafe { place.children.write(Siblings::new()) };
    // SAFETY: as above.
    #[cfg(miri)]
    unsafe {
        place.context.write(UnsafeCell::new(header));
    }
    let (stage, holds) = match args {
        Some(args) => (Stage { args: ManuallyDrop::new(args) }, Life::ARGS),
        None => (Stage { empty: () }, 0),
    };
    // SAFETY: as above.
    unsafe { place.stage.write(UnsafeCell::new(stage)) };
    // For the context, which knows its own address only.
    body.as_ptr().expose_provenance();
    // SAFETY: the maker of a cell holds its token.
    let mut held = unsafe { Held::new(header) };
    let life = &mut held.owner().life;
    life.phase = Phase::Starting as u8;
    life.swap_stage(holds);
    held
}

/// Where the fields behind the header go.
struct Fields<A: Behavior> {
    control: *mut UnsafeCell<ManuallyDrop<Control>>,
    children: *mut Siblings,
    #[cfg(miri)]
    context: *mut UnsafeCell<Root>,
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
        let children = unsafe { &raw mut (*body).frame.children };
        // SAFETY: as above.
        #[cfg(miri)]
        let context = unsafe { &raw mut (*body)._context };
        // SAFETY: as above.
        let stage = unsafe { &raw mut (*body).stage };
        Self {
            control,
            children,
            #[cfg(miri)]
            context,
            stage,
        }
    }
}

/// # Safety
/// The last reference is gone, and the cell is an `A`'s.
unsafe fn free<A: Behavior>(header: NonNull<Header>) {
    let body = header.cast::<Body<A>>();
    // SAFETY: the caller's promise.
    let is_bounded = unsafe { header.as_ref() }.inbox.is_bounded();
    let (block, begin) = block_of::<A>(is_bounded);
    // SAFETY: the cell begins there in its block.
    let start = unsafe { body.cast::<u8>().sub(begin) };
    // The first, so that the block is given back last, also if something panics.
    // SAFETY: the block came from the pool with this layout, and is not used again but by what is dropped here.
    let _block = unsafe { Release::new(start, block) };
    // What is dropped in other places than the header, but for the stage, is dropped if that panics, too.
    // SAFETY: as above; it is read this once.
    let _bound = is_bounded.then(|| unsafe { bound_of(header).read() });
    // SAFETY: as above.
    let held = unsafe { note_stage(header, 0) };
    // SAFETY: as above.
    let control = unsafe { body.as_ref() }.frame.control.with_mut(|control| control);
    // SAFETY: as above.
    let control = unsafe { &mut *control };
    // SAFETY: it is not used again.
    let _control = control.holds_any().then(|| unsafe { ManuallyDrop::take(control) });
    // SAFETY: as above.
    unsafe { Header::recycle_last_node(header) };
    // SAFETY: as above.
    unsafe { body.drop_in_place() };
    // SAFETY: only the address of the field is taken.
    let stage = unsafe { (&raw mut (*body.as_ptr()).stage).cast::<Stage<A>>() };
    // SAFETY: nobody else uses it.
    let stage = unsafe { &mut *stage };
    // SAFETY: nothing of it was dropped with the rest.
    unsafe { stage.drop_as(held) };
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
