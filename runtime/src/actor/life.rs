//! The life of an actor, one step at a time.
//!
//! ```text
//!            start hook                 stop, drain, kill, panic, fail
//! Starting ------------> Running ------------------------------------> Children
//!    ^  | failed                                                          | none left
//!    |  +------------------------------------------------------> ...      v
//!  Backoff <---- restart ---- Cleanup <------------------------------ StopHook
//!                                | end
//!                                v
//!                             Burial  (mail becomes dead letters, watchers and parent are told)
//! ```
//!
//! [`advance`] is called by the runner whenever the actor is not running and no hook waits. Each call
//! takes one step. An incarnation ends wholly (children, stop hook, state) before the next one starts
//! or the end is announced.

use super::body::{self, Control, control_of};
use super::control::{self, End, Order};
use super::extras::{Down, Extras};
use super::options::{Restart, RestartKind};
use super::restart::Verdict;
use super::traits::{Behavior, Step};
use crate::event::{Event, ExitReason};
use crate::queue::inbox::Inbox;
use crate::sync::yield_now;
use crate::task::cell::{Advance, CellRef, Header};
use crate::task::core::Alarm;
use crate::task::future::Pending;
use crate::task::run::quietly;
use std::ptr::NonNull;
use std::time::Duration;

/// Where in its life an actor is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Phase {
    /// The start hook is to run, or runs.
    Starting,
    /// Messages are handled.
    Running,
    /// The children are told to stop, and waited for.
    Children,
    /// The stop hook is to run, or runs.
    StopHook,
    /// The state is to be dropped, and what follows decided.
    Cleanup,
    /// The next incarnation waits for its time.
    Backoff,
    /// Everybody is to be told.
    Burial,
}

impl Phase {
    fn of(header: &Header) -> Self {
        const ALL: [Phase; 7] = [
            Phase::Starting,
            Phase::Running,
            Phase::Children,
            Phase::StopHook,
            Phase::Cleanup,
            Phase::Backoff,
            Phase::Burial,
        ];
        // SAFETY: only the token's holder asks.
        ALL[usize::from(unsafe { header.with_owner(|owner| owner.life.phase) })]
    }
}

fn enter(header: &Header, phase: Phase) {
    // SAFETY: only the token's holder takes steps.
    unsafe {
        header.with_owner(|owner| {
            owner.life.phase = phase as u8;
            owner.running = phase == Phase::Running;
        });
    }
}

/// How an incarnation ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Ending {
    /// It does not.
    None,
    /// The actor stops itself.
    Own,
    /// It was asked to stop.
    Stopped,
    /// It was asked to handle its mail and stop.
    Drained,
    /// It was killed.
    Killed,
    /// It failed; why is in the extras.
    Failed,
}

impl Ending {
    fn from_mark(mark: u8) -> Self {
        const ALL: [Ending; 6] = [
            Ending::None,
            Ending::Own,
            Ending::Stopped,
            Ending::Drained,
            Ending::Killed,
            Ending::Failed,
        ];
        ALL[usize::from(mark)]
    }

    fn of(cell: &Header) -> Self {
        // SAFETY: only the token's holder asks.
        Self::from_mark(unsafe { cell.with_owner(|owner| owner.life.ending) })
    }

    /// As others are told it.
    fn reason(self, cell: &Header) -> ExitReason {
        match self {
            Self::None | Self::Own | Self::Stopped => ExitReason::Stopped,
            Self::Drained => ExitReason::Drained,
            Self::Killed => ExitReason::Killed,
            // SAFETY: only the token's holder asks.
            Self::Failed => unsafe {
                control_of(cell, |control| {
                    let failure = control.extras.as_ref().and_then(|extras| extras.failure.clone());
                    failure.unwrap_or(ExitReason::Stopped)
                })
            },
        }
    }
}

/// Takes the next step; see the [module](self).
///
/// # Safety
/// The caller holds the token, no hook or handler waits, and the cell is an `A`'s.
pub(super) unsafe fn advance<A: Behavior>(header: NonNull<Header>) -> Advance {
    // SAFETY: the cell is live while its token is held.
    let cell = unsafe { header.as_ref() };
    match Phase::of(cell) {
        // SAFETY, for all hooks: the caller's promise.
        Phase::Starting => unsafe { start::<A>(header) },
        Phase::Running => {
            begin_end(cell, Ending::Drained, true);
            Advance::Again
        }
        Phase::Children => wait_for_children(cell),
        // SAFETY: as above.
        Phase::StopHook => unsafe { stop::<A>(header) },
        // SAFETY: as above.
        Phase::Cleanup => unsafe { clean_up::<A>(header) },
        Phase::Backoff => Advance::Wait,
        // SAFETY: as above.
        Phase::Burial => unsafe { bury(header) },
    }
}

unsafe fn start<A: Behavior>(header: NonNull<Header>) -> Advance {
    // SAFETY: the caller's promise.
    let args = unsafe { body::take_args::<A>(header) };
    // From here on a panic, or a kill while the hook waits, is a failed start.
    // SAFETY: as above.
    let context = unsafe { body::context::<A>(header) };
    match A::start(args, context) {
        // SAFETY: as above; the hook is over.
        Step::Done(result) => unsafe { started::<A>(header, result) },
        Step::Later(hook) => {
            // SAFETY: the runner polls this future under the token, and drops it before the cell.
            let hook = async move { unsafe { started::<A>(Cell(header).into(), hook.await) } };
            // SAFETY: what it borrows is the cell, which outlives it; the hook is `Send`.
            let pending = unsafe { Pending::new(hook) };
            // SAFETY: the caller's promise.
            unsafe { header.as_ref().with_owner(|owner| owner.pending = Some(pending)) };
        }
    }
    Advance::Again
}

/// A pointer to a cell in its own future.
struct Cell(NonNull<Header>);

impl From<Cell> for NonNull<Header> {
    fn from(cell: Cell) -> Self {
        cell.0
    }
}

unsafe fn started<A: Behavior>(header: NonNull<Header>, result: Result<A, super::StartError>) {
    // SAFETY: the cell is live while its token is held.
    let cell = unsafe { header.as_ref() };
    match result {
        Ok(actor) => {
            // SAFETY: the caller's promise.
            unsafe { body::set_live(header, actor) };
            // SAFETY: as above.
            unsafe { cell.with_owner(|owner| owner.life.born = true) };
            let incarnation = incarnation(cell);
            let counters = &cell.core.events.counters;
            if incarnation == 0 {
                counters.started.add_one()
            } else {
                counters.restarts.add_one()
            }
            cell.core.events.emit(|| Event::Started { actor: cell.actor_id(), incarnation });
            tell_starter(cell, Ok(()));
            // Its end may have been asked for meanwhile.
            if Ending::of(cell) == Ending::None {
                enter(cell, Phase::Running)
            } else {
                part_with_children(cell)
            }
        }
        Err(error) => {
            fail_with(cell, ExitReason::StartFailed(error.into_text()), false);
            part_with_children(cell);
        }
    }
}

fn incarnation(cell: &Header) -> u32 {
    // SAFETY: only the token's holder asks.
    unsafe {
        control_of(cell, |control| control.extras.as_ref().map_or(0, |extras| extras.incarnation))
    }
}

fn tell_starter(cell: &Header, result: Result<(), String>) {
    // SAFETY: only the token's holder takes steps.
    let starter = unsafe {
        control_of(cell, |control| control.extras.as_mut().and_then(|extras| extras.starter.take()))
    };
    if let Some(starter) = starter {
        // An error means that nobody waits any more.
        let _ = starter.send(result);
    }
}

/// Ends the incarnation after the running handler; with `hook`, its stop hook runs. An end that is
/// under way is not replaced.
pub(super) fn begin_end(cell: &Header, ending: Ending, hook: bool) {
    // SAFETY: only the token's holder ends an actor, in a step, a control, or its own handler.
    let (begun, hook_waits) = unsafe {
        cell.with_owner(|owner| {
            let begun = owner.life.ending == Ending::None as u8;
            if begun {
                owner.life.ending = ending as u8;
                owner.life.hook = hook;
            }
            (begun, owner.pending.is_some())
        })
    };
    // A start hook that waits is let finish: `started` goes on from there.
    if begun && !(hook_waits && Phase::of(cell) == Phase::Starting) {
        part_with_children(cell);
    }
}

/// The incarnation fails, after the running handler.
pub(super) fn fail_with(cell: &Header, reason: ExitReason, hook: bool) {
    if Ending::of(cell) != Ending::None {
        return;
    }
    // SAFETY: only the token's holder ends an actor.
    unsafe { control_of(cell, |control| control.extras().failure = Some(reason)) };
    begin_end(cell, Ending::Failed, hook);
}

/// Whether the incarnation is ending. For the actor's own handlers and hooks.
pub(super) fn is_ending(cell: &Header) -> bool {
    Ending::of(cell) != Ending::None
}

/// Tells the children to end, and waits for them in the next steps.
fn part_with_children(cell: &Header) {
    enter(cell, Phase::Children);
    let end = if Ending::of(cell) == Ending::Killed { End::Kill } else { End::Stop };
    end_children(cell, end);
}

fn end_children(cell: &Header, end: End) {
    // SAFETY: only the token's holder takes steps and obeys controls.
    for child in unsafe { control::children(cell) } {
        control::send_end(&child, end);
    }
}

fn wait_for_children(cell: &Header) -> Advance {
    // SAFETY: only the token's holder takes steps.
    if unsafe { control_of(cell, |control| control.children.is_some()) } {
        return Advance::Wait;
    }
    enter(cell, Phase::StopHook);
    Advance::Again
}

unsafe fn stop<A: Behavior>(header: NonNull<Header>) -> Advance {
    // SAFETY: the cell is live while its token is held.
    let cell = unsafe { header.as_ref() };
    enter(cell, Phase::Cleanup);
    // SAFETY: the caller's promise.
    let hook = unsafe { cell.with_owner(|owner| owner.life.hook) && body::is_live::<A>(header) };
    if !hook {
        return Advance::Again;
    }
    // SAFETY: as above.
    let (actor, context) = unsafe { (body::live::<A>(header), body::context::<A>(header)) };
    let reason = Ending::of(cell).reason(cell);
    let hook = async move {
        match actor.stop(&reason, context) {
            Step::Done(()) => {}
            Step::Later(hook) => hook.await,
        }
    };
    // SAFETY: what it borrows is the cell, which outlives it; the hook is `Send`.
    let pending = unsafe { Pending::new(hook) };
    // SAFETY: as above.
    unsafe { cell.with_owner(|owner| owner.pending = Some(pending)) };
    Advance::Again
}

unsafe fn clean_up<A: Behavior>(header: NonNull<Header>) -> Advance {
    // SAFETY: the cell is live while its token is held.
    let cell = unsafe { header.as_ref() };
    // SAFETY: the caller's promise.
    if !quietly(|| unsafe { body::clear_stage::<A>(header) }) {
        cell.core.events.emit(|| Event::DropPanicked { actor: cell.actor_id() });
    }
    // SAFETY: as above; no handler runs any more.
    unsafe { body::context::<A>(header) }.end_incarnation();
    match restart_after(cell, &A::OPTIONS.get_restart()) {
        // SAFETY: as above.
        Some(delay) => unsafe { prepare_restart::<A>(header, delay) },
        None => enter(cell, Phase::Burial),
    }
    Advance::Again
}

/// How long to wait before a restart; `None` if the actor ends with this incarnation.
fn restart_after(cell: &Header, policy: &Restart) -> Option<Duration> {
    // SAFETY: only the token's holder takes steps.
    let (last, born) = unsafe { cell.with_owner(|owner| (owner.life.last, owner.life.born)) };
    if last != Ending::None as u8 {
        // SAFETY: as above.
        unsafe { cell.with_owner(|owner| owner.life.ending = last) };
        return None;
    }
    // A first start that fails is the spawner's to deal with.
    if policy.kind() == RestartKind::Never || !born {
        return None;
    }
    let ending = Ending::of(cell);
    let reason = ending.reason(cell);
    let now = cell.core.clock.now();
    let judge = |control: &mut Control| {
        control.extras().history.judge(policy, &reason, ending == Ending::Own, now)
    };
    // SAFETY: as above.
    match unsafe { control_of(cell, judge) } {
        Verdict::Restart(delay) => return Some(delay),
        Verdict::End => {}
        Verdict::TooMany => {
            // SAFETY: as above.
            unsafe { cell.with_owner(|owner| owner.life.ending = Ending::None as u8) };
            fail_with(cell, ExitReason::TooManyRestarts(reason.to_string()), false);
        }
    }
    None
}

unsafe fn prepare_restart<A: Behavior>(header: NonNull<Header>, delay: Duration) {
    // SAFETY: the cell is live while its token is held.
    let cell = unsafe { header.as_ref() };
    // SAFETY: the caller's promise.
    let args = unsafe {
        control_of(cell, |control| {
            let extras = control.extras();
            extras.incarnation += 1;
            extras
                .kept_args
                .as_deref()
                .and_then(|args| args.downcast_ref::<A::Args>())
                .and_then(A::keep_args)
        })
    };
    let args = args.expect("an actor that restarts has kept its arguments");
    let (actor, reason) = (cell.actor_id(), Ending::of(cell).reason(cell));
    cell.core.events.emit(|| Event::Restarting { actor, reason, delay });
    // SAFETY: as above.
    unsafe { cell.with_owner(|owner| owner.life.ending = Ending::None as u8) };
    // SAFETY: as above.
    unsafe { body::set_args::<A>(header, args) };
    if delay.is_zero() {
        return enter(cell, Phase::Starting);
    }
    enter(cell, Phase::Backoff);
    // SAFETY: the cell is live.
    let to = unsafe { CellRef::to(header) };
    let letter = control::letter(to, Order::EndBackoff);
    cell.core.set_alarm(cell.core.clock.now().after(delay), Alarm::Push(letter));
}

/// A control: the back-off is over.
pub(super) fn end_backoff(cell: &Header) {
    if Phase::of(cell) == Phase::Backoff {
        enter(cell, Phase::Starting);
    }
}

/// A control: somebody asks for the end.
pub(super) fn end_requested(cell: &Header, end: End) {
    let phase = Phase::of(cell);
    if phase == Phase::Burial {
        return;
    }
    cell.inbox.close();
    let ending = match end {
        End::Drain => {
            // Whatever is under way, the mail is handled before the end.
            // SAFETY: controls are obeyed under the token.
            return unsafe { cell.with_owner(|owner| owner.draining = true) };
        }
        End::Stop => Ending::Stopped,
        End::Kill => Ending::Killed,
    };
    if end == End::Kill {
        drop_pending(cell);
    }
    // Whatever is under way, no restart follows it.
    // SAFETY: controls are obeyed under the token.
    unsafe {
        cell.with_owner(|owner| {
            if end == End::Kill || owner.life.last == Ending::None as u8 {
                owner.life.last = ending as u8;
            }
        });
    }
    begin_end(cell, ending, end == End::Stop);
    match (end, phase) {
        (_, Phase::Backoff) => enter(cell, Phase::Cleanup),
        // Children that are stopping are killed as well; a start hook was just dropped.
        (End::Kill, Phase::Children) => end_children(cell, End::Kill),
        (End::Kill, Phase::Starting) => part_with_children(cell),
        _ => {}
    }
}

/// Drops a handler or hook in the middle of its wait.
fn drop_pending(cell: &Header) {
    // SAFETY: controls are obeyed under the token.
    let Some(pending) = (unsafe { cell.with_owner(|owner| owner.pending.take()) }) else { return };
    if let Some(kind) = pending.kind() {
        cell.report_crashed(kind);
    }
    if !quietly(|| drop(pending)) {
        cell.core.events.emit(|| Event::DropPanicked { actor: cell.actor_id() });
    }
}

/// A handler or hook panicked.
///
/// # Safety
/// The caller holds the token; the panic has unwound every reference into the cell.
pub(super) unsafe fn crashed(header: NonNull<Header>, text: String) {
    // SAFETY: the cell is live while its token is held.
    let cell = unsafe { header.as_ref() };
    cell.core.events.counters.panics.add_one();
    drop_pending(cell);
    let phase = Phase::of(cell);
    fail_with(cell, ExitReason::Panicked(text), phase == Phase::Running);
}

/// Tells everybody, turns what is queued into dead letters, and gives up the cell's own reference.
///
/// # Safety
/// The caller holds the token, and the state is dropped.
unsafe fn bury(header: NonNull<Header>) -> Advance {
    // SAFETY: the cell is live while its token is held.
    let cell = unsafe { header.as_ref() };
    cell.inbox.close();
    if let Some(bound) = body::bound(cell) {
        bound.close();
        while let Some(node) = bound.evict() {
            control::discard_evicted(cell, node);
        }
    }
    // SAFETY: the caller's promise.
    if !unsafe { cell.discard_mail() } {
        yield_now();
        return Advance::Again;
    }
    let reason = Ending::of(cell).reason(cell);
    // SAFETY: as above.
    let (parent, extras) =
        unsafe { control_of(cell, |control| (control.parent.take(), control.extras.take())) };
    cell.core.events.counters.ended.add_one();
    cell.core.events.emit(|| Event::Ended { actor: cell.actor_id(), reason: reason.clone() });
    if let Some(extras) = extras {
        tell_all(cell, *extras, &reason);
    }
    // SAFETY: this is the cell's own reference, given up here and nowhere else.
    let own = unsafe { CellRef::from_raw(header) };
    // SAFETY: the caller's promise; from `die` on late senders own the token.
    while !unsafe { cell.rest_as(Inbox::die) } {
        // SAFETY: as above.
        unsafe { cell.discard_mail() };
    }
    match parent {
        Some(parent) => {
            control::send(&parent, Order::ChildEnded(own));
        }
        None => own.core.root_ended(own.as_ptr()),
    }
    Advance::Ended
}

/// Frees the name, and tells the starter and the watchers.
fn tell_all(cell: &Header, mut extras: Extras, reason: &ExitReason) {
    if let Some(name) = &extras.name {
        cell.core.names.remove_if(name, |_, named| named.as_ptr() == NonNull::from(cell));
    }
    if let Some(starter) = extras.starter.take() {
        // An error means that nobody waits any more.
        let _ = starter.send(Err(reason.to_string()));
    }
    for watcher in extras.watchers.drain(..) {
        (watcher.tell)(Down { actor: cell.actor_id(), reason: reason.clone() });
    }
}
