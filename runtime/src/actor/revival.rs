//! What follows an incarnation: another one, now or later, the supervisor's word, or the end.

use super::body::{self, control};
use super::burial::bury;
use super::control::{self as orders, End, Order};
use super::dormancy;
use super::family::{self, Place};
use super::life::{self, report_bad_drop};
use super::links;
use super::options::{Restart, RestartKind};
use super::phase::{Ending, Phase, enter, reason};
use super::restart::{History, Verdict};
use super::stash;
use super::traits::Behavior;
use crate::event::{Event, ExitReason};
use crate::sync::panic::quietly;
use crate::sync::{Rare, buggify, planted};
use crate::task::cell::Advance;
use crate::task::core::{Alarm, Core};
use crate::task::held::Held;
use crate::task::life::Life;
use std::time::Duration;

/// What follows an incarnation.
enum Next {
    /// Another one after the delay.
    Restart(Duration),
    /// What the supervisor says, who is told that reason.
    Wait(ExitReason),
    /// The actor's end.
    End,
}

/// Drops what is left of the incarnation, and decides what follows. Before another one it is the others'
/// turn: it may end while it starts, and so may the next.
///
/// # Safety
/// As [`life::advance`].
pub(super) unsafe fn clean_up<A: Behavior>(held: &mut Held) -> Advance {
    let header = held.header();
    // SAFETY: the caller's promise.
    let has_started = unsafe { body::is_live(header) };
    // SAFETY: as above.
    if !quietly(|| unsafe { body::clear_stage::<A>(header) }) {
        report_bad_drop(held.cell());
    }
    // SAFETY: as above; no handler runs any more.
    let context = unsafe { body::context::<A>(header) };
    if !quietly(|| context.end_incarnation()) {
        report_bad_drop(held.cell());
    }
    let never = const { matches!(A::OPTIONS.get_restart().kind(), RestartKind::Never) };
    if never && !body::has_extras(held) {
        // Nobody has a say in what follows, as of most actors.
        ends_as_asked(held);
        enter(held, Phase::Burial);
        return bury(held);
    }
    family::forget(held);
    stash::put_back(held);
    let policy = A::OPTIONS.get_restart();
    let next =
        if ends_as_asked(held) { Next::End } else { what_follows(held, &policy, has_started) };
    // One that cannot start ends, also when it was to start again.
    let sleeps = planted!("restart-sleeps": has_started => true) && dormancy::follows(held);
    let breaks_links = |held: &mut Held| links::break_all(held, |held| reason(held).clone());
    if matches!(next, Next::End) && !sleeps {
        planted!("link-ends-early": () => breaks_links(held));
        enter(held, Phase::Burial);
        return bury(held);
    }
    breaks_links(held);
    match next {
        // SAFETY: the caller's promise.
        Next::Restart(delay) => unsafe { prepare_restart::<A>(held, delay) },
        Next::Wait(reason) => hold(held, reason),
        Next::End => dormancy::fall_asleep(held),
    }
    Advance::Yield
}

/// Whether the end was asked for, whatever the policy; then that is how the actor ends.
fn ends_as_asked(held: &mut Held) -> bool {
    let life = &mut held.owner().life;
    let is_end = life.last != Ending::None as u8;
    if is_end {
        life.ending = life.last;
    }
    is_end
}

/// What follows an incarnation whose actor may go on. One that drains goes on for the rest of its mail, and its
/// supervisor, which has no say, is not asked; after a start that failed no other is tried, which would get no mail handled
/// and might go on for ever.
fn what_follows(held: &mut Held, policy: &Restart, has_started: bool) -> Next {
    let born = held.owner().life.has_ever(Life::BORN);
    let ending = Ending::of(held);
    let place = place(held).copied();
    let is_suspended = place.is_some_and(|place| place.suspended);
    // A virtual actor that stops itself sleeps, whatever its policy says of others.
    let is_sleepy = ending == Ending::Own && dormancy::follows(held);
    let drains = held.owner().draining;
    let is_hopeless = !has_started && drains && ending == Ending::Failed;
    if planted!("drain-tries-starts": is_hopeless => false) {
        return Next::End;
    }
    let is_alone = drains && !is_suspended;
    let is_alone = planted!("drain-escalates": is_alone => false);
    let policy = match place {
        Some(place) if is_alone && policy.kind() == RestartKind::Never => place.as_own(),
        _ => *policy,
    };
    // A first start that fails is the spawner's to deal with.
    let is_own_matter = policy.kind() != RestartKind::Never && born && !is_sleepy;
    let delay =
        if is_own_matter && ending != Ending::Restarted { judge(held, &policy) } else { None };
    if let Some(delay) = delay.filter(|_| !is_suspended) {
        return Next::Restart(delay);
    }
    let Some(Place { kind, .. }) = place.filter(|_| !is_alone) else { return Next::End };
    let starter = control(held).extras.as_ref().and_then(|extras| extras.starter.as_ref());
    // Who awaited it may have given up.
    let is_awaited = starter
        .is_some_and(|starter| planted!("start-awaited-for-ever": !starter.is_abandoned() => true));
    let again = match ending {
        Ending::Restarted => true,
        // Again a first start, that nobody waits for.
        Ending::Failed if !born && is_awaited => false,
        _ => kind.restarts_after(reason(held), ending == Ending::Own),
    };
    // What the actor's own policy deals with, and what fails as it drains, is no failure to its supervisor.
    let is_uncounted = delay.is_some() || drains;
    let reason = if is_uncounted { ExitReason::Restarted } else { reason(held).clone() };
    if again { Next::Wait(reason) } else { Next::End }
}

/// How long the actor's own policy lets it wait before a restart; `None` if it does not restart it.
fn judge(held: &mut Held, policy: &Restart) -> Option<Duration> {
    let own_wish = Ending::of(held) == Ending::Own;
    let reason = reason(held).clone();
    let core = held.cell().core.clone();
    let actor = held.cell().actor_id();
    let extras = control(held).extras();
    match extras.history.judge(policy, &reason, own_wish, core.clock.now(), || draw(&core)) {
        Verdict::Restart(delay) => return Some(delay),
        Verdict::End => {}
        Verdict::TooMany => {
            let last = Box::new(reason);
            extras.failure = Some(ExitReason::TooManyRestarts { actor, last });
            held.owner().life.ending = Ending::Failed as u8;
        }
    }
    None
}

/// By what a wait before a restart is shortened, as [`Restart::delay`] takes it.
pub(super) fn draw(core: &Core) -> u64 {
    if buggify(Rare::BackoffEarly) { u64::MAX } else { core.random.next() }
}

/// # Safety
/// As [`life::advance`].
unsafe fn prepare_restart<A: Behavior>(held: &mut Held, delay: Duration) {
    let reason = reason(held).clone();
    let drains = planted!("drain-waits-out": held.owner().draining => false);
    let delay = if drains { Duration::ZERO } else { delay };
    let cell = held.cell();
    cell.core.events.emit(|| Event::Restarting { actor: cell.actor_id(), reason, delay });
    held.owner().life.ending = Ending::None as u8;
    let args = control(held).extras().next_args::<A>();
    let args = args.expect("an actor that restarts has kept its arguments");
    // SAFETY: the caller's promise.
    unsafe { body::set_args::<A>(held.header(), args) };
    if delay.is_zero() {
        return enter(held, Phase::Starting);
    }
    enter(held, Phase::Backoff);
    let incarnation = life::incarnation(held);
    let letter = orders::letter(held.reference(), Order::EndBackoff { incarnation });
    let core = &held.cell().core;
    let alarm = core.set_alarm(core.clock.now().after(delay), Alarm::Push(letter));
    control(held).extras().backoff = Some(alarm);
}

/// A control: the back-off before the incarnation is over.
pub(super) fn end_backoff(held: &mut Held, incarnation: u32) {
    if Phase::of(held) == Phase::Backoff && life::incarnation(held) == incarnation {
        enter(held, Phase::Starting);
    }
}

/// The actor, which drains, waits for nothing any more before its next incarnation, if it does: neither for a time nor for
/// its supervisor, which may be waiting for others.
pub(super) fn hasten(held: &mut Held) {
    match Phase::of(held) {
        Phase::Held => planted!("drain-waits-its-turn": enter(held, Phase::Reviving) => ()),
        Phase::Backoff => cut_backoff(held),
        _ => {}
    }
}

fn cut_backoff(held: &mut Held) {
    let core = held.cell().core.clone();
    if let Some(alarm) = control(held).extras().backoff.take() {
        core.cancel_alarm(alarm);
    }
    enter(held, Phase::Starting);
}

fn place(held: &mut Held) -> Option<&mut Place> {
    control(held).extras.as_mut()?.place.as_mut()
}

/// Tells the supervisor, and waits for it, unless the actor drains.
fn hold(held: &mut Held, reason: ExitReason) {
    enter(held, Phase::Held);
    family::report_failure(held, reason);
    if held.owner().draining {
        hasten(held);
    }
}

/// A control: the supervisor restarts the actor, and its incarnation ends for that.
pub(super) fn suspend(held: &mut Held, kill: bool) {
    let phase = Phase::of(held);
    let Some(place) = place(held) else { return };
    match phase {
        // The supervisor has been told, or will be.
        Phase::Held | Phase::Burial => return,
        // What its last incarnation failed of has been told.
        Phase::Reviving => return hold(held, ExitReason::Restarted),
        _ => place.suspended = true,
    }
    if phase == Phase::Backoff {
        held.owner().life.ending = Ending::Restarted as u8;
        held.owner().life.hook = false;
        return enter(held, Phase::Cleanup);
    }
    if kill {
        life::drop_pending(held);
    }
    if phase == Phase::Children && life::has_drained(held) {
        life::stop_waiting_for_mail(held);
    }
    let hook = planted!("suspend-skips-hook": !kill => false);
    life::begin_end(held, Ending::Restarted, hook);
    if kill {
        held.owner().life.hook = false;
        match phase {
            Phase::Children => life::end_children(held, End::Kill),
            Phase::Starting => life::part_with_children(held),
            _ => {}
        }
    }
}

/// A control: the supervisor wants another incarnation.
pub(super) fn revive(held: &mut Held, delay: Duration) {
    if Phase::of(held) != Phase::Held {
        return;
    }
    if let Some(place) = place(held) {
        place.delay = delay;
        enter(held, Phase::Reviving);
    }
}

/// Begins the incarnation that the supervisor wants.
///
/// # Safety
/// As [`life::advance`].
pub(super) unsafe fn begin<A: Behavior>(held: &mut Held) {
    let extras = control(held).extras();
    // Whoever supervises it counts anew.
    extras.history = History::default();
    let place = extras.place.as_mut();
    let delay = place.map_or(Duration::ZERO, |place| {
        place.suspended = false;
        std::mem::take(&mut place.delay)
    });
    // SAFETY: the caller's promise.
    unsafe { prepare_restart::<A>(held, delay) };
}

/// The actor, which waits for its supervisor, ends instead, for the reason that its last incarnation
/// did; if that was a restart, for this one.
pub(super) fn give_up(held: &mut Held, ending: Ending) {
    if Ending::of(held) == Ending::Restarted {
        held.owner().life.ending = ending as u8;
    }
    enter(held, Phase::Burial);
}
