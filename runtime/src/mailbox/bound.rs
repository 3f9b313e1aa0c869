//! Room in a bounded mailbox: permits for messages and bytes.
//!
//! A sender takes the permits before it pushes, and the receiver returns them when it takes the
//! message out; so what waits never exceeds the bound. Waiting senders are served first come, first
//! served.
//!
//! Dropping the oldest needs a queue that senders can take from. There the messages wait in a
//! *window* behind a lock, and the lane of the inbox carries one *ticket* while the window is not
//! empty; whoever handles the ticket takes the oldest message and renews the ticket. Room is taken
//! and given back under that lock, so a sender that may push the oldest out always finds it, unless
//! the room is promised to senders that wait.
//!
//! Where an actor can be overloaded, or its system has a budget, the *level* counts what waits, and the
//! budget has its share of each message: [`Bound::enter`] takes both beside the room, and
//! [`Bound::leave`] gives both back.

use super::policy::{Full, Mailbox};
use crate::queue::level::{Level, Mark};
use crate::queue::list::List;
use crate::queue::node::Node;
use crate::queue::permits::{Permit, Permits, Taking};
use crate::sync::{Mutex, Rare, buggify, planted};
use crate::task::budget::Budget;
use crate::task::cell::CellRef;
use crate::task::core::Core;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::ptr::NonNull;
use std::task::{Poll, Waker};

/// What the bound says to a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Admission {
    /// There is room, and it is taken.
    Admitted,
    /// There is none now.
    Full,
    /// There is none in the system's budget.
    SystemFull,
    /// The actor is overloaded, and the sender can wait.
    Held,
    /// The actor has ended.
    Closed,
}

/// Whether a sender is let in where others are held back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pass {
    /// Only if there is room.
    IfClear,
    /// In any case.
    Anyway,
}

/// How a message passes the overload of its receiver, and the budget of the system.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Claim {
    pub(crate) level: Pass,
    pub(crate) budget: Pass,
}

impl Claim {
    /// Of a sender that does not wait.
    pub(crate) const AT_ONCE: Self = Self { level: Pass::Anyway, budget: Pass::IfClear };
}

/// Where the room of a message for the window comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RoomFrom {
    /// The sender has waited for it and has it.
    Wait,
    /// What is free.
    Rest,
    /// What is free, and the oldest messages.
    Oldest,
}

/// What became of a message for the window. Unless it is in, the node stays the caller's.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Slide {
    /// It is in.
    In,
    /// It is in, and a ticket has to be sent.
    InWithTicket,
    /// There is no room.
    Full,
    /// The actor has ended.
    Closed,
}

/// The bound of one mailbox.
#[derive(Debug)]
pub(crate) struct Bound {
    mailbox: Mailbox,
    /// None where any number may wait.
    messages: Option<Permits>,
    bytes: Option<Permits>,
    window: Mutex<Window>,
    /// What waits, where that matters beyond the bound.
    level: Option<Level>,
    /// Whether anybody asks how many bytes a message counts for.
    counts_bytes: bool,
}

#[derive(Debug)]
struct Window {
    nodes: VecDeque<(NonNull<Node>, usize)>,
    ticket: bool,
    closed: bool,
}

// SAFETY: the nodes' payloads are `Send`, and the lock gives each node to one thread.
unsafe impl Send for Window {}

impl Bound {
    /// The bound of a mailbox in a system, if there is any.
    #[inline(always)]
    pub(crate) fn of(mailbox: Mailbox, core: &Core) -> Option<Box<Self>> {
        let is_free = !mailbox.is_bounded()
            && mailbox.overload_at().is_none()
            && core.limits.overload.is_none()
            && core.budget.is_none();
        if is_free { None } else { Self::of_some(mailbox, core) }
    }

    #[inline(never)]
    fn of_some(mailbox: Mailbox, core: &Core) -> Option<Box<Self>> {
        let high = mailbox.overload_at().or(core.limits.overload);
        if high.is_some() {
            core.begin_slowing();
        }
        let counts = high.is_some() || core.budget.is_some();
        let level = || {
            let high = high.unwrap_or(Level::MAX);
            Level::new(Mark { high, low: high / 2, resume: high / 2 })
        };
        (mailbox.is_bounded() || counts).then(|| {
            Box::new(Self {
                messages: mailbox.messages_max().map(Permits::new),
                bytes: mailbox.bytes_max().map(Permits::new),
                window: Mutex::new(Window { nodes: VecDeque::new(), ticket: false, closed: false }),
                level: counts.then(level),
                counts_bytes: mailbox.bytes_max().is_some()
                    || core.budget.as_ref().is_some_and(Budget::counts_bytes),
                mailbox,
            })
        })
    }

    /// What happens to a message that does not fit and does not wait.
    pub(crate) fn when_full(&self) -> Full {
        self.mailbox.when_full()
    }

    /// What a message counts for: its `bytes`, which are not worked out where nobody counts them.
    #[inline(always)]
    pub(crate) fn weigh(&self, bytes: impl FnOnce() -> usize) -> usize {
        if self.counts_bytes { bytes() } else { 0 }
    }

    /// Whether messages wait in the window.
    pub(crate) fn has_window(&self) -> bool {
        self.when_full() == Full::DropOldest
    }

    /// Whether a message of `bytes` could never fit.
    pub(crate) fn is_too_large(&self, bytes: usize) -> bool {
        self.mailbox.bytes_max().is_some_and(|max| bytes > max)
    }

    /// Takes room for a message of `bytes` if there is some now.
    pub(crate) fn try_admit(&self, bytes: usize) -> Admission {
        let message = take(self.messages.as_ref(), planted!("bound-unpaid": 1 => 0));
        if message != Admission::Admitted {
            return message;
        }
        let weight = take(self.bytes.as_ref(), bytes);
        if weight != Admission::Admitted {
            give(self.messages.as_ref(), 1);
        }
        weight
    }

    /// Waits for room for a message of `bytes`.
    ///
    /// # Cancel safety
    /// Dropping the future gives up the place in the queue and takes no room.
    pub(crate) async fn admit(&self, bytes: usize) -> Admission {
        if self.is_too_large(bytes) {
            return Admission::Full;
        }
        let mut taken = [None, None];
        let wishes = [(&self.messages, 1), (&self.bytes, bytes)];
        for (taken, (permits, count)) in taken.iter_mut().zip(wishes) {
            if let Some(permits) = permits {
                *taken = permits.take(count).await;
                if taken.is_none() {
                    return Admission::Closed;
                }
            }
        }
        if buggify(Rare::RoomLate) {
            give_way().await;
        }
        taken.into_iter().flatten().for_each(Permit::keep);
        Admission::Admitted
    }

    /// Gives back the room of a message of `bytes` that was taken out of the lane.
    pub(crate) fn taken_out(&self, bytes: usize) {
        // A window has given it back before.
        if !self.has_window() {
            self.release(bytes);
        }
    }

    /// Gives back the room of a message of `bytes`.
    pub(crate) fn release(&self, bytes: usize) {
        give(self.messages.as_ref(), 1);
        give(self.bytes.as_ref(), bytes);
    }

    /// Shows how each sender is woken that waits for room, or for the end of an overload, and for which of them.
    pub(crate) fn look_at_waiting(&self, mut each: impl FnMut(&'static str, &Waker)) {
        for permits in self.messages.iter().chain(&self.bytes) {
            permits.look_at_waiting(|waker| each("room", waker));
        }
        if let Some(level) = &self.level {
            level.look_at_waiting(|waker| each("the end of the overload", waker));
        }
    }

    /// Ends every wait: the actor has ended. Whatever is in the window is to be evicted then.
    pub(crate) fn close(&self, cell: &CellRef) {
        // First: where permits are refused, a message that still got in would push the oldest out.
        self.window.lock().closed = true;
        self.messages.iter().chain(&self.bytes).for_each(Permits::close);
        if let Some(level) = &self.level {
            level.close(cell);
        }
    }

    /// Counts a message of `bytes` that is about to go in, here and in the system's budget. What is not
    /// admitted is not counted.
    #[inline(always)]
    pub(crate) fn enter(&self, cell: &CellRef, bytes: usize, claim: Claim) -> Admission {
        match &self.level {
            None => Admission::Admitted,
            Some(level) => Self::enter_counted(level, cell, bytes, claim),
        }
    }

    #[inline(never)]
    fn enter_counted(level: &Level, cell: &CellRef, bytes: usize, claim: Claim) -> Admission {
        if cell.inbox.is_closed() {
            return Admission::Closed;
        }
        let events = &cell.core.events;
        match (&cell.core.budget, claim.budget) {
            (None, _) => {}
            (Some(budget), _) if budget.is_too_large(bytes) => return Admission::SystemFull,
            (Some(budget), Pass::Anyway) => budget.enter_anyway(bytes, events),
            (Some(budget), Pass::IfClear) if budget.try_enter(bytes, events) => {}
            (Some(_), Pass::IfClear) => return Admission::SystemFull,
        }
        let taking = match claim.level {
            Pass::Anyway => {
                level.take_anyway(1, cell);
                Taking::Taken
            }
            Pass::IfClear => level.try_take(1, cell),
        };
        match taking {
            Taking::Taken => return Admission::Admitted,
            Taking::Short | Taking::Closed => cell.core.leave_budget(bytes),
        }
        if taking == Taking::Closed { Admission::Closed } else { Admission::Held }
    }

    /// Counts a message of `bytes` less, which is not in any more.
    #[inline(always)]
    pub(crate) fn leave(&self, cell: &CellRef, bytes: usize) {
        if let Some(level) = &self.level {
            Self::leave_counted(level, cell, bytes);
        }
    }

    #[inline(never)]
    fn leave_counted(level: &Level, cell: &CellRef, bytes: usize) {
        level.give(1, cell);
        cell.core.leave_budget(bytes);
    }

    /// What waits, if it is counted.
    pub(crate) fn level(&self) -> Option<&Level> {
        self.level.as_ref()
    }

    /// Whether others are, or may be, held back by this actor: it must not be held back itself.
    pub(crate) fn is_pressed(&self) -> bool {
        self.level.as_ref().is_some_and(Level::is_overloaded)
            || self.messages.iter().chain(&self.bytes).any(Permits::is_waited_for)
    }

    /// Puts a message of `bytes` into the window in the place of the oldest, or of several where it is larger, which go
    /// to `replaced`: it has their room, and their part of the system's budget. Nobody loses a place to a message that
    /// does not go in. All in one step, so that no drain comes in between.
    pub(crate) fn replace_oldest(
        &self,
        cell: &CellRef,
        node: NonNull<Node>,
        bytes: usize,
        replaced: &mut List,
    ) -> Slide {
        let mut window = self.window.lock();
        if planted!("pushed-out-too-late": window.closed => false) {
            return Slide::Closed;
        }
        let (mut count, mut weight) = (0, 0);
        let suffice = window.nodes.iter().any(|(_, bytes_of_one)| {
            count += 1;
            weight += bytes_of_one;
            self.take_beyond(cell, bytes.saturating_sub(weight))
        });
        if !suffice {
            return Slide::Full;
        }
        for (oldest, _) in window.nodes.drain(..count) {
            // SAFETY: the window gives the node away.
            unsafe { replaced.push_back(oldest) };
        }
        // A ticket for those that were there is in the lane, or on its way there.
        window.nodes.push_back((node, bytes));
        drop(window);
        self.give_surplus(cell, count - 1, weight.saturating_sub(bytes));
        Slide::In
    }

    /// Takes `bytes` more, here and from the system's budget, or nothing.
    fn take_beyond(&self, cell: &CellRef, bytes: usize) -> bool {
        if bytes == 0 {
            return true;
        }
        let room = self.bytes.as_ref();
        if take(room, bytes) != Admission::Admitted {
            return false;
        }
        let budget = cell.core.budget.as_ref();
        let has_all = budget.is_none_or(|budget| budget.try_grow(bytes, &cell.core.events));
        if !has_all {
            give(room, bytes);
        }
        has_all
    }

    /// Gives back what messages that were replaced had and the one in their place does not need.
    fn give_surplus(&self, cell: &CellRef, messages: usize, bytes: usize) {
        give(self.messages.as_ref(), messages);
        give(self.bytes.as_ref(), bytes);
        if let Some(level) = self.level.as_ref().filter(|_| messages > 0) {
            level.give(messages, cell);
        }
        if let Some(budget) = &cell.core.budget {
            budget.shrink(messages, bytes, &cell.core.events);
        }
    }

    /// Puts a message of `bytes` into the window; what has to make room for it goes to `pushed_out`.
    pub(crate) fn slide_in(
        &self,
        node: NonNull<Node>,
        bytes: usize,
        room: RoomFrom,
        pushed_out: &mut List,
    ) -> Slide {
        let mut window = self.window.lock();
        if window.closed {
            return Slide::Closed;
        }
        let has_room = match room {
            RoomFrom::Wait => true,
            RoomFrom::Rest => self.try_admit(bytes) == Admission::Admitted,
            RoomFrom::Oldest => {
                !self.is_too_large(bytes) && self.take_room(bytes, &mut window.nodes, pushed_out)
            }
        };
        if !has_room {
            return Slide::Full;
        }
        window.nodes.push_back((node, bytes));
        if std::mem::replace(&mut window.ticket, true) { Slide::In } else { Slide::InWithTicket }
    }

    /// Takes room for a message of `bytes`: what is free, and the oldest messages' until it suffices.
    /// Senders that wait get nothing of theirs.
    fn take_room(
        &self,
        bytes: usize,
        nodes: &mut VecDeque<(NonNull<Node>, usize)>,
        pushed_out: &mut List,
    ) -> bool {
        let (messages, room) = (self.messages.as_ref(), self.bytes.as_ref());
        let mut weight = 0;
        let mut has_message = take(messages, 1) == Admission::Admitted;
        loop {
            if has_message && (bytes <= weight || room.is_none()) {
                give(room, weight.saturating_sub(bytes));
                return true;
            }
            if has_message && take(room, bytes - weight) == Admission::Admitted {
                return true;
            }
            let Some((oldest, bytes)) = nodes.pop_front() else { break };
            // SAFETY: the window gave the node away.
            unsafe { pushed_out.push_back(oldest) };
            weight += bytes;
            if std::mem::replace(&mut has_message, true) {
                give(messages, 1);
            }
        }
        give(room, weight);
        if has_message {
            give(messages, 1);
        }
        false
    }

    /// Takes the oldest message out of the window; `true` beside it if the ticket has to be renewed.
    pub(crate) fn slide_out(&self) -> Option<(NonNull<Node>, bool)> {
        let mut window = self.window.lock();
        let oldest = window.nodes.pop_front();
        window.ticket = !window.nodes.is_empty();
        let (node, bytes) = oldest?;
        self.release(bytes);
        Some((node, window.ticket))
    }

    /// The oldest message in the window.
    #[cfg(not(any(loom, shuttle)))]
    pub(crate) fn oldest(&self) -> Option<NonNull<Node>> {
        Some(self.window.lock().nodes.front()?.0)
    }

    /// Whether a message waits in the window; then a ticket is in the lane, or on its way there.
    pub(crate) fn holds_any(&self) -> bool {
        !self.window.lock().nodes.is_empty()
    }

    /// Takes a message that will not be handled out of the window.
    pub(crate) fn evict(&self) -> Option<NonNull<Node>> {
        Some(self.window.lock().nodes.pop_front()?.0)
    }
}

/// Lets others run before the caller goes on.
async fn give_way() {
    let mut has_waited = false;
    poll_fn(|cx| {
        if std::mem::replace(&mut has_waited, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// Takes permits that are free now and not promised to anyone.
fn take(permits: Option<&Permits>, count: usize) -> Admission {
    match permits.map_or(Taking::Taken, |permits| permits.try_take(count)) {
        Taking::Taken => Admission::Admitted,
        Taking::Short => Admission::Full,
        Taking::Closed => Admission::Closed,
    }
}

fn give(permits: Option<&Permits>, count: usize) {
    if let Some(permits) = permits
        && count > 0
    {
        permits.give(count);
    }
}
