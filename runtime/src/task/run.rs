//! One run of a cell: from taking the token to giving it back.

use super::cell::{Advance, CellRef, Header};
use super::future::Pending;
use super::held::Held;
use super::home::Home;
use super::life::Life;
use super::priority::{self, Priority};
use super::share::Share;
use super::watch::{Doing, HOOK};
use super::witness::{Nobody, Witness};
use super::{current, waker};
use crate::queue::list::List;
use crate::queue::node::{Kind, Lane, Node};
use crate::sync::panic::describe;
use crate::sync::planted;
use crate::time::{Clock, Time};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;
use std::task::{Context, Poll};

/// An actor that is ready to run: the right, held once, to run it.
///
/// A [`ReadyQueue`](crate::ReadyQueue) hands out each `Ready` that it was given exactly once; an
/// actor whose `Ready` is lost never runs again.
#[must_use = "an actor whose `Ready` is lost never runs again"]
pub struct Ready(NonNull<Header>);

// SAFETY: the token may be passed to any thread: the actor is `Send`.
unsafe impl Send for Ready {}
// SAFETY: a shared `Ready` offers nothing but its identity.
unsafe impl Sync for Ready {}

impl fmt::Debug for Ready {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Ready({:p})", self.0)
    }
}

/// Where in its ready queue an actor wants to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hint {
    /// Soon: the running actor just sent it something, which is still in this core's cache.
    Next,
    /// Behind the others: it used up its turn, or comes from elsewhere.
    Back,
}

/// How a run ended.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// The token was given back.
    Rested,
    /// The turn was used up; the token is returned to be queued at the back.
    Yielded(Ready),
    /// The actor was told to live on that worker; its token is returned.
    Moves(Ready, usize),
}

/// What one turn may use.
#[derive(Debug)]
pub(crate) struct Turn<'a> {
    /// Messages that it may handle and send.
    pub(crate) share: Share,
    /// Messages in a turn before the first look at the clock.
    pub(crate) look: u32,
    /// Time after which a turn ends at the next message.
    pub(crate) until: Time,
    /// The clock to read.
    pub(crate) clock: &'a Clock,
    /// Where the worker notes what it is doing.
    pub(crate) doing: &'a Doing,
}

impl Ready {
    /// Names the token of `header`.
    ///
    /// # Safety
    /// The caller has just taken the token from the cell's inbox, or made the cell.
    pub(crate) unsafe fn new(header: NonNull<Header>) -> Self {
        Self(header)
    }

    /// A token of no cell, for checks of queues; it must not be run. There are 1024 of each priority.
    pub(crate) fn fake(number: usize, priority: Priority) -> Self {
        Self(NonNull::from(priority::fake(number, priority)).cast())
    }

    /// Whether it is a fake.
    pub(crate) fn is_fake(&self) -> bool {
        priority::is_fake(self.0.addr().get())
    }

    /// The number of a fake.
    pub(crate) fn into_fake(self) -> usize {
        priority::number_of_fake(self.0.addr().get())
    }

    /// How urgent the actor is. It never changes.
    #[inline]
    #[must_use]
    pub fn priority(&self) -> Priority {
        // SAFETY: a cell lives while its token is held and begins with its priority, which is never
        // written again; and a fake's token points to a priority.
        unsafe { self.0.cast::<Priority>().read() }
    }

    /// The token as a word, for queues of words; [`Ready::from_word`] undoes it. The word is even.
    pub(crate) fn into_word(self) -> usize {
        self.0.as_ptr().expose_provenance()
    }

    /// The cell whose token it is; not of a fake.
    ///
    /// # Safety
    /// The token was made by [`Ready::new`].
    pub(crate) unsafe fn header(&self) -> &Header {
        // SAFETY: a cell lives while its token is held.
        unsafe { self.0.as_ref() }
    }

    /// A reference to the cell whose token it is; not of a fake.
    ///
    /// # Safety
    /// As [`Ready::header`].
    #[cfg(not(shuttle))]
    pub(crate) unsafe fn cell(&self) -> CellRef {
        // SAFETY: a cell lives while its token is held.
        unsafe { CellRef::to(self.0) }
    }

    /// The actor's number in its system; a fake's own.
    pub(crate) fn number(&self) -> u64 {
        if self.is_fake() {
            return self.0.addr().get() as u64 / 4;
        }
        // SAFETY: every other token was made by `Ready::new`, because cells are aligned.
        unsafe { self.header() }.id
    }

    /// Whether it is the token of `cell`.
    pub(crate) fn is_of(&self, cell: &CellRef) -> bool {
        self.0 == cell.as_ptr()
    }

    /// Whose token it is; the token is the caller's to keep.
    pub(crate) fn into_header(self) -> NonNull<Header> {
        self.0
    }

    /// # Safety
    /// `word` came from [`Ready::into_word`] and is used once.
    pub(crate) unsafe fn from_word(word: usize) -> Self {
        let header = std::ptr::with_exposed_provenance_mut(word);
        // SAFETY: the word was made from a non-null pointer.
        Self(unsafe { NonNull::new_unchecked(header) })
    }

    /// Runs the actor until it has nothing to do or its turn is over.
    pub(crate) fn run(self, turn: &Turn<'_>) -> Outcome {
        self.run_before(turn, Nobody)
    }

    /// As [`Ready::run`]; `witness` looks on.
    pub(crate) fn run_before(self, turn: &Turn<'_>, witness: impl Witness) -> Outcome {
        assert!(!self.is_fake(), "this is no actor but a conformance check's");
        // SAFETY: a `Ready` is the token of its cell.
        let mut held = unsafe { Held::new(self.0) };
        turn.doing.begin_turn(held.cell());
        let called = if held.owner().life.take_lately(Life::CALLED) { 0 } else { NONE };
        let (doing, look_at) = (turn.doing, turn.look);
        let mut run =
            Run { held, turn, doing, handled: 0, look_at, called, signalled: false, witness };
        let is_steady = run.held.cell().inbox.is_steady();
        let sends = if is_steady { turn.share.sends } else { run.adapt() };
        let sends = current::swap_sends(sends);
        let outcome = loop {
            // Panics of user code are caught per batch, not per message: entering costs nothing then.
            match catch_unwind(AssertUnwindSafe(|| run.batch())) {
                Ok(true) => break run.yielded(),
                Ok(false) => break Outcome::Rested,
                Err(payload) => run.crashed(payload),
            }
        };
        // A handler that goes on has been attended to as well.
        current::end_turn(run.handled.max(1), sends);
        outcome
    }
}

/// What was handled last was no signal, or one that counts for none.
const NONE: u32 = u32::MAX;

/// The holder of a token at work.
struct Run<'a, W> {
    held: Held,
    turn: &'a Turn<'a>,
    /// Where it is noted what the running handler was sent.
    doing: &'a Doing,
    handled: u32,
    /// Messages after which it is asked whether the turn is over.
    look_at: u32,
    /// What `handled` was when the last signal was handled, [`NONE`], or zero if the turn before left it at that.
    called: u32,
    /// Whether a signal was handled since this was set.
    signalled: bool,
    witness: W,
}

impl<W: Witness> Run<'_, W> {
    /// Works out how long the turn is that begins, of an actor whose mail grows or has grown; returns what it may send.
    #[cold]
    fn adapt(&self) -> u64 {
        let inbox = &self.held.cell().inbox;
        if inbox.is_behind() {
            inbox.adapt_turn();
        }
        self.turn.share.sends_doubled(inbox.doublings())
    }

    /// What becomes of the token when the turn is over.
    fn yielded(&mut self) -> Outcome {
        self.note_called();
        let ready = Ready(self.held.header());
        match std::mem::take(&mut self.held.owner().move_to) {
            0 => {
                if self.turn.share.may_grow() {
                    self.held.cell().inbox.note_spent();
                }
                Outcome::Yielded(ready)
            }
            worker => Outcome::Moves(ready, usize::from(worker) - 1),
        }
    }

    /// Works until the token is given back (`false`) or the turn is over (`true`).
    fn batch(&mut self) -> bool {
        loop {
            if self.held.cell().inbox.is_urgent() {
                self.collect();
                if self.held.owner().move_to != 0 {
                    return true;
                }
            }
            let owner = self.held.owner();
            let more = match (owner.pending.is_some(), owner.running) {
                (true, _) => self.wait(),
                (false, true) => self.handle_some(),
                (false, false) => self.advance(),
            };
            match more {
                Some(rested) => return !rested,
                None if self.handled >= self.look_at && self.is_spent() => return true,
                None => {}
            }
        }
    }

    /// Lets the waiting handler go on. `Some(true)`: rested, `Some(false)`: the turn is over.
    fn wait(&mut self) -> Option<bool> {
        let kind = self.held.owner().pending.as_ref().and_then(Pending::kind);
        if self.poll().is_pending() {
            // A handler that was woken while it ran goes behind the others: it may wake itself for ever.
            return Some(self.held.cell().inbox.park());
        }
        self.note_handled(kind);
        None
    }

    /// Takes the next step of an actor that is starting or ending; the result as in `wait`.
    fn advance(&mut self) -> Option<bool> {
        let advance = self.held.cell().vtable.advance;
        self.note_called();
        self.doing.begin(&HOOK);
        // SAFETY: the cell's own table is for its actor's type.
        let next = unsafe { advance(&mut self.held) };
        self.doing.end();
        match next {
            Advance::Again => None,
            Advance::Yield => Some(false),
            Advance::Ended => Some(true),
            Advance::Wait => self.held.cell().inbox.park().then_some(true),
            Advance::Rest => self.rest(),
            Advance::Message => self.attend(),
            Advance::Signal => self.call(),
            Advance::Handle(node) => {
                self.deliver(node);
                self.held.owner().life.lately |= Life::HEARD;
                None
            }
        }
    }

    /// Handles messages until something else is to be looked at, or rests; the result as in `wait`.
    #[inline(always)]
    fn handle_some(&mut self) -> Option<bool> {
        loop {
            if !self.held.owner().signals.is_empty() {
                return self.handle_signal();
            }
            let Some(node) = self.held.pop_linked() else { return self.rest() };
            let goes_on = !self.deliver(node) && self.handled < self.look_at;
            if !goes_on || self.held.cell().inbox.is_urgent() || !self.held.owner().running {
                return None;
            }
        }
    }

    /// Handles one message, or rests; the result as in `wait`.
    #[inline(always)]
    fn handle(&mut self) -> Option<bool> {
        if !self.held.owner().signals.is_empty() {
            return self.handle_signal();
        }
        let Some(node) = self.held.pop_linked() else { return self.rest() };
        self.deliver(node);
        None
    }

    /// Handles the first signal, or a message that goes before it; the result as in `wait`. Of timers that are due
    /// again whenever their calls are over there is always a next one.
    fn handle_signal(&mut self) -> Option<bool> {
        if self.was_called() && !self.held.has_prior() {
            if let Some(node) = self.held.pop_linked() {
                self.deliver(node);
                return None;
            }
            if self.held.owner().draining {
                return self.end_draining();
            }
        }
        self.call()
    }

    /// Handles the first signal; the result as in `wait`. An interleaved handler that gives way is woken by the next
    /// signal: its turn is over, or it would do nothing else.
    fn call(&mut self) -> Option<bool> {
        let signal = self.held.owner().signals.pop_front().expect("its caller has seen one");
        // SAFETY: the list gave the node away.
        let kind = unsafe { Node::kind(signal) };
        current::take_gave_way();
        self.deliver(signal);
        self.signalled = true;
        self.note_handled(Some(kind));
        current::take_gave_way().then_some(false)
    }

    /// Notes what was handled last, a signal or what a handler was sent that has waited.
    fn note_handled(&mut self, kind: Option<&Kind>) {
        let is_call = kind.is_some_and(|kind| kind.lane == Lane::Signal);
        self.called = if is_call { self.handled } else { NONE };
    }

    /// Whether what was handled last was a signal, so that a message goes before the next one.
    fn was_called(&self) -> bool {
        planted!("signals-keep-mail-out": self.called == self.handled => false)
    }

    /// Notes that for the next turn, and for the layer above.
    fn note_called(&mut self) {
        let called = if self.was_called() { Life::CALLED } else { 0 };
        let life = &mut self.held.owner().life;
        life.lately = life.lately & !Life::CALLED | called;
    }

    /// As [`Run::handle`], and notes whether it was a user's message.
    #[cold]
    fn attend(&mut self) -> Option<bool> {
        let before = self.handled;
        self.signalled = false;
        let more = self.handle();
        // Otherwise it may have rested, and be another worker's by now.
        if self.handled > before && !self.signalled {
            self.held.owner().life.lately |= Life::HEARD;
        }
        more
    }

    /// Gives the token back when no mail was found, unless the actor is to end now that it is handled, or
    /// something has come after all; the result as in `wait`.
    #[inline(always)]
    fn rest(&mut self) -> Option<bool> {
        if self.held.owner().draining {
            return self.end_draining();
        }
        let at_home = self.held.cell().home() != Home::ANY;
        let rested = self
            .held
            .rest_as(|inbox, end| if at_home { inbox.rest_home(end) } else { inbox.rest(end) });
        if rested { Some(true) } else { self.held.is_mail_broken().then_some(false) }
    }

    /// As [`Run::rest`], for an actor that ends when its mail is handled.
    #[cold]
    fn end_draining(&mut self) -> Option<bool> {
        if self.held.has_mail() {
            return self.held.is_mail_broken().then_some(false);
        }
        let owner = self.held.owner();
        owner.running = false;
        owner.life.attended = 0;
        None
    }

    /// Moves new signals to their list and obeys controls.
    fn collect(&mut self) {
        let mut controls = List::new();
        let arrived = self.held.cell().inbox.take_urgent();
        let signals = &mut self.held.owner().signals;
        arrived.into_oldest_first(|node| {
            // SAFETY: the lane gave the node away.
            let is_control = unsafe { Node::kind(node) }.lane == Lane::Control;
            let list = if is_control { &mut controls } else { &mut *signals };
            // SAFETY: as above.
            unsafe { list.push_back(node) };
        });
        while let Some(node) = controls.pop_front() {
            self.hand_over(node);
        }
    }

    /// Hands a message to its handler; if that waits, notes what for: `true`.
    #[inline(always)]
    fn deliver(&mut self, node: NonNull<Node>) -> bool {
        self.handled += 1;
        // SAFETY: the lane or list gave the node away.
        let kind = unsafe { Node::kind(node) };
        self.witness.sees(self.held.cell(), node);
        self.doing.begin(kind);
        self.hand_over(node);
        self.doing.end();
        let waits = self.held.owner().pending.is_some();
        if waits {
            self.wait_for(kind);
        } else {
            current::set_deadline(Time::NEVER);
        }
        waits
    }

    /// Notes what the handler waits for that has just begun to.
    #[inline(never)]
    fn wait_for(&mut self, kind: &'static Kind) {
        let deadline = current::swap_deadline(Time::NEVER);
        if let Some(pending) = &mut self.held.owner().pending {
            pending.belongs_to(pending.kind().or(Some(kind)), deadline);
        }
    }

    fn hand_over(&self, node: NonNull<Node>) {
        // SAFETY: the lane or list gave the node away.
        let kind = unsafe { Node::kind(node) };
        // SAFETY: this run holds the token; the node was sent to this cell, so its kind fits.
        unsafe { (kind.deliver)(self.held.header().cast(), node) };
    }

    /// Polls the waiting handler.
    fn poll(&mut self) -> Poll<()> {
        let Some(mut pending) = self.held.owner().pending.take() else { return Poll::Ready(()) };
        self.doing.begin(pending.kind().unwrap_or(&HOOK));
        let before = current::swap_deadline(pending.deadline());
        let is_inspected = self.held.cell().awaited.begin_poll();
        let waker = waker::borrowed(self.held.header(), is_inspected);
        let polled = pending.poll(&mut Context::from_waker(&waker));
        // The handler of an ask sets its deadline when it is polled first.
        let deadline = current::swap_deadline(before);
        self.doing.end();
        if polled.is_pending() {
            pending.belongs_to(pending.kind(), deadline);
            self.held.owner().pending = Some(pending);
            if is_inspected && self.held.cell().awaited.end_inspection() {
                self.held.cell().core.waits.search(self.held.cell());
            }
        }
        polled
    }

    /// Whether the turn is over. The clock is read after 2, 4, 8, … messages, or, where turns have been short
    /// lately, from later on.
    #[cold]
    fn is_spent(&mut self) -> bool {
        let share = self.turn.share.doubled(self.held.cell().inbox.doublings());
        // Long turns look once per ordinary one: what comes may suddenly take longer.
        let next = self.handled.saturating_mul(2).min(self.turn.share.after_batch(self.handled));
        self.look_at = next.min(share);
        self.handled >= share || self.turn.clock.now() >= self.turn.until
    }

    fn crashed(&mut self, payload: Box<dyn std::any::Any + Send>) {
        current::swap_deadline(Time::NEVER);
        let message = describe(payload);
        if let Some(kind) = self.doing.take() {
            self.held.cell().report_crashed(kind);
        }
        (self.held.cell().vtable.crashed)(&mut self.held, message);
    }
}
