//! The receive timeout: a call when no message has come for a while.
//!
//! While one is set, the runner looks aside before each message ([`super::attention`]), and notes
//! which were messages of users; actors without one pay nothing. The alarm is not set anew at each
//! message: when it goes off too early, it is set for the rest of the time.

use super::attention;
use super::body;
use super::context::Context;
use super::interleave;
use super::local::LocalCall;
use super::signal::{Signal, call, signal_kind};
use super::stash;
use super::traits::{Actor, Behavior};
use crate::queue::node::{Kind, Node};
use crate::sync::planted;
use crate::task::cell::{CellRef, Header};
use crate::task::core::{Alarm, AlarmKey};
use crate::task::held::Held;
use crate::task::letter::Letter;
use crate::time::Time;
use std::fmt;
use std::ptr::NonNull;
use std::time::Duration;

/// The receive timeout of an incarnation.
pub(super) struct Silence {
    /// Tells this one from those that it replaced.
    number: u64,
    span: Duration,
    /// When the last message had been handled.
    since: Time,
    /// Not set between the call and the next message.
    alarm: Option<AlarmKey>,
    /// Makes the signal.
    letter: Box<dyn Fn(CellRef) -> Letter + Send>,
}

impl fmt::Debug for Silence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Silence({:?})", self.span)
    }
}

impl Silence {
    pub(super) fn into_alarm(self) -> Option<AlarmKey> {
        self.alarm
    }

    fn arm(&mut self, cell: CellRef) {
        let core = cell.core.clone();
        let letter = (self.letter)(cell);
        self.alarm = Some(core.set_alarm(self.since.after(self.span), Alarm::Push(letter)));
    }
}

impl<A: Behavior> Context<A> {
    /// Calls `method` whenever no message has come for `span`: once for each such silence, which
    /// begins now, and again when a message has been handled. While mail waits it is not called.
    /// Replaces the receive timeout that was set before. O(1).
    ///
    /// What counts is what was told or asked; timers, watches and what the actor itself began do not
    /// break the silence.
    ///
    /// # Examples
    /// ```
    /// use greenroom::{Actor, Context, System, handlers};
    /// use std::time::Duration;
    ///
    /// /// Ends when nobody has asked for a while, once somebody has logged in.
    /// #[derive(Actor)]
    /// struct Session;
    ///
    /// #[handlers]
    /// impl Session {
    ///     #[ask]
    ///     fn log_in(&mut self, cx: &mut Context<Self>) {
    ///         cx.receive_timeout(Duration::from_millis(20), Self::expire);
    ///     }
    ///     #[local]
    ///     fn expire(&mut self, cx: &mut Context<Self>) {
    ///         cx.stop();
    ///     }
    /// }
    ///
    /// #[greenroom::main]
    /// async fn main(system: System) -> Result<(), Box<dyn std::error::Error>> {
    ///     let session = system.spawn::<Session>(Session).await?;
    ///     session.log_in().await?;
    ///     session.ended().await;
    ///     Ok(())
    /// }
    /// ```
    pub fn receive_timeout<F: LocalCall<A, (), Shape>, Shape: 'static>(
        &mut self,
        span: Duration,
        method: F,
    ) {
        self.cancel_receive_timeout();
        let (number, epoch) = (self.core().next_id(), self.incarnation());
        let letter = Box::new(move |cell: CellRef| {
            let signal = Signal { method, value: number, epoch };
            let node = Node::new(fallen::<A, F, Shape>(&signal.method), signal);
            // SAFETY: the node is new, and its kind was made for this actor, whose cell this is.
            unsafe { Letter::new(cell, node) }
        });
        let since = self.core().clock.now();
        let mut silence = Silence { number, span, since, alarm: None, letter };
        silence.arm(self.cell());
        self.side().silence = Some(silence);
        attention::set(&mut self.held(), attention::SILENCE, true);
    }

    /// Ends the receive timeout; `false` if none was set. Its method is not called after this. O(1).
    pub fn cancel_receive_timeout(&mut self) -> bool {
        let silence = self.side_if_any().and_then(|side| side.silence.take());
        let Some(silence) = silence else { return false };
        if let Some(alarm) = silence.into_alarm() {
            self.core().cancel_alarm(alarm);
        }
        attention::set(&mut self.held(), attention::SILENCE, false);
        true
    }
}

impl<A: Actor> Context<A> {
    /// A message was handled: the silence begins anew.
    pub(super) fn break_silence(&mut self) {
        let (now, cell) = (self.core().clock.now(), self.cell());
        let Some(silence) = self.side_if_any().and_then(|side| side.silence.as_mut()) else {
            return;
        };
        silence.since = now;
        if silence.alarm.is_none() {
            silence.arm(cell);
        }
    }
}

// The method is named by a reference because most are of types that cannot be written.
fn fallen<A: Behavior, F: LocalCall<A, (), S>, S: 'static>(_: &F) -> &'static Kind {
    signal_kind!(deliver_silence::<A, F, S>, Signal<F, u64>)
}

/// # Safety
/// As [`Kind::deliver`]; the cell is an `A`'s, and the payload a `Signal<F, u64>`.
unsafe fn deliver_silence<A: Behavior, F: LocalCall<A, (), S>, S>(
    to: NonNull<()>,
    node: NonNull<Node>,
) {
    // SAFETY: the caller's promise.
    let signal = unsafe { Node::into_payload::<Signal<F, u64>>(node) };
    let header = to.cast::<Header>();
    // SAFETY: as above; no handler waits.
    let context = unsafe { body::context::<A>(header) };
    // SAFETY: as above; this is still the run that holds the token.
    let mut held = unsafe { Held::new(header) };
    let has_mail =
        held.has_mail() || stash::has_due(&mut held) || interleave::has_flights(&mut held);
    let (now, cell) = (context.core().clock.now(), context.cell());
    if signal.epoch != context.incarnation() {
        return;
    }
    let Some(silence) = &mut context.side().silence else { return };
    if silence.number != signal.value {
        return;
    }
    silence.alarm = None;
    if has_mail {
        // The message that waits, or is being handled, sets the alarm again.
        return;
    }
    if planted!("silence-early": now < silence.since.after(silence.span) => false) {
        return silence.arm(cell);
    }
    // SAFETY: as above.
    unsafe { call::<A, F, (), S>(header, signal.method, ()) };
}
