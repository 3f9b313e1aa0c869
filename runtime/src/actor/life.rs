//! The life of an actor, one step at a time.
//!
//! ```text
//!            start hook                 stop, drain, kill, panic, fail
//! Starting ------------> Running ------------------------------------> Children
//!    ^  | failed                                                          | none left,
//!    |  +------------------------------------------------------> ...      | stop hook
//!  Backoff <---- restart ---- Cleanup <-----------------------------------+
//!    ^                           | the supervisor's word
//!    +------- Reviving <------ Held
//!                                | end
//!                                v
//!                             Burial  (mail becomes dead letters, watchers and parent are told)
//! ```
//!
//! [`advance`] is called by the runner whenever the actor is not running and no hook waits. Each call
//! takes one step, or several that nothing has to come between. An incarnation ends wholly (children,
//! stop hook, tasks, state) before the next one starts or the end is announced.

use super::attention;
use super::body::{self, control};
use super::burial::bury;
use super::control::{self as orders, End};
use super::dormancy;
use super::options::RestartKind;
use super::phase::{Ending, Phase, enter, reason};
use super::traits::{Behavior, Step};
use super::{family, interleave, revival, tasks};
use crate::event::{Event, ExitReason};
use crate::mailbox::Bound;
use crate::sync::panic::quietly;
use crate::sync::{Rare, buggify, planted};
use crate::task::cell::{Advance, Header};
use crate::task::future::Pending;
use crate::task::held::Held;
use crate::task::life::Life;
use std::ptr::NonNull;

/// Takes the next step; see the [module](self).
///
/// # Safety
/// No hook or handler waits, and the cell is an `A`'s.
pub(super) unsafe fn advance<A: Behavior>(held: &mut Held) -> Advance {
    match Phase::of(held) {
        // SAFETY: the caller's promise.
        Phase::Starting => unsafe { start::<A>(held) },
        // SAFETY: the caller's promise.
        Phase::Running if attention::is_on(held) => return unsafe { attention::step::<A>(held) },
        // The runtime's own mail is never refused, and some has a user's message behind it.
        Phase::Running if held.owner().draining && held.has_mail() => held.owner().running = true,
        Phase::Running if is_window_due(held) => return Advance::Yield,
        Phase::Running if planted!("drain-cuts-off": interleave::has_flights(held) => false) => {
            return interleave::drain(held);
        }
        Phase::Running => begin_end(held, Ending::Drained, true),
        // SAFETY: the caller's promise.
        Phase::Children if unsafe { has_to_wait::<A>(held) } => return Advance::Wait,
        // SAFETY: the caller's promise.
        Phase::Children if unsafe { stop::<A>(held) } => return Advance::Again,
        // The stop hook is over.
        Phase::Children | Phase::Cleanup if tasks::have_to_end(held) => return Advance::Wait,
        // SAFETY: the caller's promise.
        Phase::Children | Phase::Cleanup => return unsafe { revival::clean_up::<A>(held) },
        // SAFETY: the caller's promise.
        Phase::Reviving => unsafe { revival::begin::<A>(held) },
        Phase::Held | Phase::Backoff => return Advance::Wait,
        // SAFETY: the caller's promise.
        Phase::Dormant => return unsafe { dormancy::step::<A>(held) },
        Phase::Burial => return bury(held),
    }
    if buggify(Rare::StepLate) { Advance::Yield } else { Advance::Again }
}

/// Whether an actor that drains has accepted messages whose ticket a sender is about to put into the lane.
pub(super) fn is_window_due(held: &mut Held) -> bool {
    held.owner().draining && body::bound(held.cell()).is_some_and(Bound::holds_any)
}

/// Leaves a hook's future in its cell.
///
/// # Safety
/// The future is `Send` and borrows nothing but the cell.
unsafe fn wait(held: &mut Held, hook: impl Future<Output = ()>) {
    // SAFETY: the caller's promise; the cell drops the future before what it borrows.
    let pending = unsafe { Pending::new(hook) };
    held.owner().pending = Some(pending);
}

/// # Safety
/// As [`advance`].
unsafe fn start<A: Behavior>(held: &mut Held) {
    // SAFETY: the caller's promise.
    unsafe { dormancy::limit_idleness::<A>(held) };
    // SAFETY: as above.
    let args = unsafe { body::take_args::<A>(held.header()) };
    // SAFETY: as above.
    let context = unsafe { body::context::<A>(held.header()) };
    match A::start(args, context) {
        // SAFETY: as above; the hook is over.
        Step::Done(result) => unsafe { started::<A>(held, result) },
        Step::Later(hook) => {
            let address = Address(held.header());
            let hook = async move {
                let result = hook.await;
                // SAFETY: the runner polls this under the token.
                let mut held = unsafe { Held::new(address.header()) };
                // SAFETY: the cell is an `A`'s, and its hook is over.
                unsafe { started::<A>(&mut held, result) };
            };
            // SAFETY: the hook is `Send`, and borrows the context.
            unsafe { wait(held, hook) };
        }
    }
}

/// The address of a cell in its own future.
struct Address(NonNull<Header>);

impl Address {
    /// A method, so that a future holds the whole and not the bare pointer.
    fn header(&self) -> NonNull<Header> {
        self.0
    }
}

/// # Safety
/// As [`advance`].
unsafe fn started<A: Behavior>(held: &mut Held, result: Result<A, super::StartError>) {
    let actor = match result {
        Ok(actor) => actor,
        Err(error) => {
            fail_with(held, ExitReason::StartFailed(error.into_text()), false);
            return part_with_children(held);
        }
    };
    // SAFETY: the caller's promise.
    unsafe { body::set_live(held.header(), actor) };
    let life = &mut held.owner().life;
    let again = life.has_ever(Life::BORN);
    life.ever |= Life::BORN;
    let incarnation = incarnation(held);
    let cell = held.cell();
    if again {
        cell.core.events.counters.restarts.add_one();
    } else {
        cell.core.lives().add_start();
    }
    cell.core.events.emit(|| Event::Started { actor: cell.actor_id(), incarnation });
    if incarnation > 0 {
        family::report_start(held);
    }
    if body::has_extras(held) {
        tell_starter(held, Ok(()));
    }
    // Its end may have been asked for meanwhile.
    if is_ending(held) { part_with_children(held) } else { enter(held, Phase::Running) }
}

fn tell_starter(held: &mut Held, result: Result<(), String>) {
    let extras = &mut control(held).extras;
    if let Some(starter) = extras.as_mut().and_then(|extras| extras.starter.take()) {
        // An error means that nobody waits any more.
        let _ = starter.send(result);
    }
    // Many had the box for the starter alone.
    extras.take_if(|extras| extras.is_empty());
}

/// Ends the incarnation after the running handler; with `hook`, its stop hook runs. An end that is
/// under way is not replaced.
pub(super) fn begin_end(held: &mut Held, ending: Ending, hook: bool) {
    let owner = held.owner();
    if owner.life.ending != Ending::None as u8 {
        return;
    }
    owner.life.ending = ending as u8;
    owner.life.hook = hook;
    // A start hook that waits is let finish: `started` goes on from there.
    if owner.pending.is_none() || owner.life.phase != Phase::Starting as u8 {
        part_with_children(held);
    }
}

/// The incarnation fails, after the running handler.
pub(super) fn fail_with(held: &mut Held, reason: ExitReason, hook: bool) {
    if is_ending(held) {
        return report_if_panic(held.cell(), reason);
    }
    control(held).extras().failure = Some(reason);
    begin_end(held, Ending::Failed, hook);
}

/// Something that incarnation `number` depended on failed, and so it fails, unless it is over.
pub(super) fn fail_incarnation(held: &mut Held, number: u32, reason: ExitReason) {
    if incarnation(held) == number {
        fail_with(held, reason, true);
    } else {
        report_if_panic(held.cell(), reason);
    }
}

/// How many incarnations were before this one, or, between two, before the next.
pub(super) fn incarnation(held: &mut Held) -> u32 {
    held.owner().life.incarnation
}

/// Whether the incarnation is ending.
pub(super) fn is_ending(held: &mut Held) -> bool {
    Ending::of(held) != Ending::None
}

/// Whether the incarnation is ending because all accepted mail was handled.
pub(super) fn has_drained(held: &mut Held) -> bool {
    Ending::of(held) == Ending::Drained
}

/// Tells the children to end, and waits for them in the next steps.
pub(super) fn part_with_children(held: &mut Held) {
    enter(held, Phase::Children);
    if body::has_extras(held) {
        interleave::cut_off_all(held);
    }
    if !held.owner().life.has_ever(Life::PARENTAL) {
        return;
    }
    let end = match Ending::of(held) {
        Ending::Killed => End::Kill,
        Ending::Restarted if !held.owner().life.hook => End::Kill,
        Ending::Drained => planted!("drain-stops-children": End::Drain => End::Stop),
        _ => End::Stop,
    };
    end_children(held, end);
}

/// Kills all children, or stops or drains them: those that it supervises one after the other, the rest at once.
pub(super) fn end_children(held: &mut Held, end: End) {
    if !held.owner().life.has_ever(Life::PARENTAL) {
        return;
    }
    for child in orders::children(held) {
        if end == End::Kill || !family::is_supervised(held, &child) {
            orders::send_end(&child, end);
        }
    }
    family::close(held);
}

/// Whether children are left, before whose end the actor's own does not go on. Where no other incarnation can follow, mail is
/// refused from here on, and whoever looks for the actor sees that it is ending.
///
/// # Safety
/// The cell is an `A`'s.
unsafe fn has_to_wait<A: Behavior>(held: &mut Held) -> bool {
    if A::OPTIONS.get_restart().kind() == RestartKind::Never && !may_go_on(held) {
        planted!("own-end-takes-mail": orders::close(held.cell()) => ());
    }
    has_children(held)
}

/// Whether others than its own policy may have the actor go on: a supervisor, or whoever calls a virtual one.
fn may_go_on(held: &mut Held) -> bool {
    let extras = control(held).extras.as_deref();
    extras.is_some_and(|extras| extras.place.is_some() || extras.dormancy.is_some())
}

/// Whether children are left; the last one then wakes the cell.
fn has_children(held: &mut Held) -> bool {
    if !held.owner().life.has_ever(Life::PARENTAL) {
        return false;
    }
    let children = body::children(held.cell()).lock();
    let has_some = !children.is_empty();
    held.cell().wait_for_children(has_some);
    has_some
}

/// Runs the stop hook, if it is to run; `true` if it waits.
///
/// # Safety
/// As [`advance`].
unsafe fn stop<A: Behavior>(held: &mut Held) -> bool {
    enter(held, Phase::Cleanup);
    // SAFETY: the caller's promise.
    if !held.owner().life.hook || !unsafe { body::is_live(held.header()) } {
        return false;
    }
    // SAFETY: as above.
    let actor = unsafe { body::live::<A>(held.header()) };
    // SAFETY: as above.
    let context = unsafe { body::context::<A>(held.header()) };
    // SAFETY: the reason is a constant, or lies in the extras, where it stays until the hook is over.
    let reason = unsafe { NonNull::from(reason(held)).as_ref() };
    match actor.stop(reason, context) {
        Step::Done(()) => false,
        Step::Later(hook) => {
            // SAFETY: the hook is `Send`, and borrows the actor, the context and the reason.
            unsafe { wait(held, hook) };
            true
        }
    }
}

/// A control: somebody asks for the end.
pub(super) fn end_requested(held: &mut Held, end: End) {
    let phase = Phase::of(held);
    if phase == Phase::Burial {
        return;
    }
    held.cell().inbox.close();
    let ending = match end {
        // Whatever is under way, the mail is handled before the end.
        End::Drain => {
            held.owner().draining = true;
            // What it has accepted is there, and waits for no longer than it must.
            revival::hasten(held);
            // An order that another signal had collected may be here before its sender touched the word.
            // Whoever pushes behind this exchange finds the mailbox closed; who came before is seen.
            held.cell().inbox.wake();
            planted!("drain-stops": () => begin_end(held, Ending::Stopped, true));
            return;
        }
        End::Stop => Ending::Stopped,
        End::Kill => Ending::Killed,
    };
    if matches!(phase, Phase::Held | Phase::Reviving) {
        return revival::give_up(held, ending);
    }
    let is_distant = held.cell().vtable.distant;
    if is_distant && is_ending(held) {
        // It never restarts, and those who watch it are to be told what became of the other node's actor.
        return;
    }
    // What waits for room at another node may wait for ever.
    if end == End::Kill || is_distant {
        drop_pending(held);
    }
    // Whatever is under way, no restart follows it.
    let last = &mut held.owner().life.last;
    if end == End::Kill || *last == Ending::None as u8 {
        *last = ending as u8;
    }
    begin_end(held, ending, end == End::Stop);
    if end == End::Stop && phase == Phase::Children && has_drained(held) {
        stop_waiting_for_mail(held);
    }
    if end == End::Kill {
        // Whatever was under way, no hook runs any more, and the children are killed too.
        let life = &mut held.owner().life;
        life.ending = Ending::Killed as u8;
        life.hook = false;
    }
    match (end, phase) {
        (_, Phase::Backoff) => enter(held, Phase::Cleanup),
        // Children that are stopping are killed as well; a start hook was just dropped.
        (End::Kill, Phase::Children) => end_children(held, End::Kill),
        (End::Kill, Phase::Starting) => part_with_children(held),
        _ => {}
    }
}

/// The actor has drained, and its children do: they are to stop as if it had been stopped.
pub(super) fn stop_waiting_for_mail(held: &mut Held) {
    held.owner().life.ending = Ending::Stopped as u8;
    end_children(held, End::Stop);
    family::hasten(held);
}

/// Drops a handler or hook in the middle of its wait.
pub(super) fn drop_pending(held: &mut Held) {
    let Some(pending) = held.owner().pending.take() else { return };
    if let Some(kind) = pending.kind() {
        held.cell().report_crashed(kind);
    }
    if !quietly(|| drop(pending)) {
        report_bad_drop(held.cell());
    }
}

/// A handler or hook panicked; the panic has unwound every reference into the cell.
pub(super) fn crashed(held: &mut Held, text: String) {
    held.cell().core.events.counters.panics.add_one();
    drop_pending(held);
    let hook = Phase::of(held) == Phase::Running;
    fail_with(held, ExitReason::Panicked(text), hook);
    if Phase::of(held) == Phase::Starting {
        // The end that was asked for meanwhile has waited for this start hook.
        part_with_children(held);
    }
}

/// Reports a panic that is not why an incarnation ends.
fn report_if_panic(cell: &Header, reason: ExitReason) {
    if let ExitReason::Panicked(text) = reason {
        let event = || Event::EndPanicked { actor: cell.actor_id(), text };
        planted!("end-panic-untold": cell.core.events.emit(event) => ());
    }
}

/// Reports that what nobody wanted any more panicked when it was dropped.
pub(super) fn report_bad_drop(cell: &Header) {
    cell.core.events.emit(|| Event::DropPanicked { actor: cell.actor_id() });
}

#[cfg(all(test, not(any(loom, shuttle))))]
pub(super) mod tests;
