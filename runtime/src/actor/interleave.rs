//! Handlers that do not hold their actor while they wait.
//!
//! Such a handler is a future that borrows nothing of its actor. It is polled in turns of the actor alone,
//! as a signal: so no other handler runs meanwhile, and what it does between two awaits it may do with the
//! state, which [`Interleaved::with`] lends it.
//!
//! ```text
//! message -> begin -> signal -> poll -> ready: the handler is done
//!                       ^         | pending: other messages are handled
//!                       +- wake --+
//! ```
//!
//! A handler that was woken while it was polled, as one that sends without end is whenever it gives way, is not
//! polled again before the actor has handled some mail, if there is any.
//!
//! Invariants:
//! 1. A future of the list is polled by the token's holder only, while no other handler waits.
//! 2. `POLLED` names the future that the thread polls. Only its own [`Interleaved`] reaches the actor then.
//! 3. At most [`Interleaves::IN_FLIGHT_MAX`] are in the list. A message that would be one more goes before
//!    all others, and the mailbox is held, until one is done.
//! 4. The list is empty when the stop hook runs.
//! 5. While a future has given way to mail, the actor is asked before each message ([`attention`]).

use super::address::Ref;
use super::attention;
use super::body::{self, control};
use super::context::Context;
use super::dispatch::{again, dispatch, told_until};
use super::life::{self, report_bad_drop};
use super::signal::discard_signal;
use super::stash;
use super::traits::{Actor, Behavior, ByMacro, Message, Receive};
use crate::queue::list::List;
use crate::queue::node::{Kind, Lane, Node};
use crate::sync::panic::quietly;
use crate::sync::{Arc, AtomicBool, Ordering, Wake, planted, thread_local, waker};
use crate::task::cell::{Advance, CellRef, Header};
use crate::task::current;
use crate::task::future::Pending;
use crate::task::held::Held;
use crate::task::life::Life;
use crate::time::Time;
use std::cell::Cell;
use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::task::{self, Waker};
use std::time::Duration;

/// Messages that are handled before a handler goes on that has given way to them.
const MAIL_BETWEEN: u32 = if cfg!(shuttle) { 2 } else { 64 };

/// An actor with handlers that do not hold it while they wait; `#[actor(interleave = 16)]` makes it one.
#[diagnostic::on_unimplemented(
    message = "`{Self}` interleaves no handlers",
    note = "write `#[actor(interleave = 16)]` on it: how many handlers may wait at a time"
)]
pub trait Interleaves: Actor {
    /// How many interleaved handlers may wait at a time.
    const IN_FLIGHT_MAX: usize;
}

/// What an `#[interleave]` handler has of its actor: the state, for as long as it does not wait.
///
/// # Examples
/// ```
/// use greenroom::{Actor, Interleaved, System, handlers};
/// use std::collections::BTreeMap;
///
/// #[derive(Actor)]
/// #[actor(interleave = 16)]
/// struct Cache {
///     pages: BTreeMap<String, String>,
/// }
///
/// #[handlers]
/// impl Cache {
///     #[ask]
///     #[interleave]
///     async fn page(cx: &mut Interleaved<Self>, url: String) -> String {
///         if let Some(page) = cx.with(|me, _| me.pages.get(&url).cloned()) {
///             return page;
///         }
///         let page = download(&url).await; // other messages are handled meanwhile
///         cx.with(|me, _| me.pages.insert(url, page.clone()));
///         page
///     }
/// }
///
/// async fn download(url: &str) -> String {
///     tokio::task::yield_now().await;
///     format!("the page at {url}")
/// }
///
/// #[greenroom::main]
/// async fn main(system: System) -> Result<(), Box<dyn std::error::Error>> {
///     let cache = system.spawn::<Cache>(Cache { pages: BTreeMap::new() }).await?;
///     let url = "https://example.org".to_owned();
///     assert_eq!(cache.page(url).await?, "the page at https://example.org");
///     Ok(())
/// }
/// ```
pub struct Interleaved<A: Actor> {
    header: NonNull<Header>,
    id: u64,
    of: PhantomData<fn(A)>,
}

// SAFETY: it is an address, which is used on the thread that runs the actor only (invariant 2).
unsafe impl<A: Actor> Send for Interleaved<A> {}
// SAFETY: a shared one offers nothing of the actor's.
unsafe impl<A: Actor> Sync for Interleaved<A> {}

thread_local! {
    /// The future that the thread polls: its actor's address, and its number.
    static POLLED: Cell<(usize, u64)> = const { Cell::new((0, 0)) };
}

impl<A: Behavior> Interleaved<A> {
    /// Calls `work` with the actor and its context, at once: no other handler runs meanwhile, and nothing
    /// else has the state. Whatever was read before an await may have changed after it.
    ///
    /// # Panics
    /// In a destructor that runs because the handler is cut off.
    pub fn with<T>(&mut self, work: impl FnOnce(&mut A, &mut Context<A>) -> T) -> T {
        let polled = POLLED.with(Cell::get);
        assert!(
            polled == (self.header.addr().get(), self.id),
            "an interleaved handler has its actor only while it runs"
        );
        // SAFETY: by invariants 1 and 2 this thread holds the actor's token and no other handler runs or
        // waits; `work` cannot get here again, which has `self` exclusively.
        let actor = unsafe { body::live::<A>(self.header) };
        // SAFETY: as above.
        let context = unsafe { body::context::<A>(self.header) };
        work(actor, context)
    }

    /// A reference to this actor.
    #[must_use]
    pub fn me(&mut self) -> Ref<A> {
        self.with(|_, cx| cx.me())
    }

    /// How long the caller of this handler still waits; [`Duration::MAX`] where nobody waits.
    #[must_use]
    pub fn remaining(&mut self) -> Duration {
        self.with(|_, cx| cx.remaining())
    }
}

impl<A: Actor> fmt::Debug for Interleaved<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Interleaved")
    }
}

/// The interleaved handlers of one incarnation that are not done.
#[derive(Default)]
pub(super) struct Flights {
    list: Vec<Flight>,
    /// Whether a message waits for one of them to be done.
    crowded: bool,
    /// Messages until those go on that have given way to mail.
    mail_left: u32,
}

struct Flight {
    resume: Arc<Resume>,
    waker: Waker,
    pending: Pending,
    /// Whether it was woken while it was polled: then mail comes before it.
    gives_way: bool,
    /// Whether it has given way, and is to go on.
    is_aside: bool,
}

/// Has a handler polled again.
struct Resume {
    cell: CellRef,
    id: u64,
    /// Whether that is on its way.
    is_sent: AtomicBool,
}

impl Wake for Resume {
    fn wake(&self) {
        // AcqRel: releases what the waker did to the poll that follows, which acquires it, also when the
        // signal was sent by another.
        if planted!("interleave-wake-lost": !self.is_sent.swap(true, Ordering::AcqRel) => false) {
            // SAFETY: the node is new, and its kind fits every cell.
            unsafe { self.cell.push_urgent(Node::new(&RESUME, self.id)) };
        }
    }
}

static RESUME: Kind = Kind {
    lane: Lane::Signal,
    deliver: resume,
    discard: discard_signal::<u64>,
    weigh: None,
    block: Node::NO_BLOCK,
    name: || "interleaved",
    type_id: std::any::TypeId::of::<()>,
    answers: false,
};

/// The first time, which belongs to its message.
static BEGIN: Kind = Kind { lane: Lane::Prior, ..RESUME };

impl Flights {
    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The messages whose handlers are not done.
    #[cfg(not(shuttle))]
    pub(super) fn names(&self) -> impl Iterator<Item = &'static str> {
        self.list.iter().filter_map(|flight| flight.pending.kind()).map(|kind| (kind.name)())
    }

    fn take(&mut self, id: u64) -> Option<Flight> {
        let place = self.list.iter().position(|flight| flight.resume.id == id)?;
        Some(self.list.swap_remove(place))
    }

    /// Puts a handler aside until some mail is handled.
    fn put_aside(&mut self, flight: Flight) {
        if !self.list.iter().any(|other| other.is_aside) {
            self.mail_left = MAIL_BETWEEN;
        }
        self.list.push(Flight { gives_way: false, is_aside: true, ..flight });
    }
}

/// Begins a handler, which is polled before the next message is handled.
pub fn interleave<A, M, F>(context: &mut Context<A>, handler: impl FnOnce(Interleaved<A>) -> F)
where
    A: Behavior + Receive<M, ByMacro>,
    M: Message,
    F: Future<Output = ()> + Send + 'static,
{
    let (cell, id) = (context.cell(), context.core().next_id());
    let future = handler(Interleaved { header: cell.as_ptr(), id, of: PhantomData });
    let future = told_until(current::told_until(), future);
    // SAFETY: the future is `Send`, and borrows nothing.
    let mut pending = unsafe { Pending::new(future) };
    pending
        .belongs_to(Some(&dispatch::<A, M, ByMacro>().tell), current::swap_deadline(Time::NEVER));
    let resume = Arc::new(Resume { cell, id, is_sent: AtomicBool::new(true) });
    let waker = waker(Arc::clone(&resume));
    let mut held = context.held();
    let flight = Flight { resume, waker, pending, gives_way: false, is_aside: false };
    control(&mut held).extras().flights.list.push(flight);
    held.cell().note_in_flight(true);
    let mut first = List::new();
    // SAFETY: the node is new.
    unsafe { first.push_back(Node::new(&BEGIN, id)) };
    first.append(&mut held.owner().signals);
    held.owner().signals = first;
}

/// Lets `message`, which begins an interleaved handler, wait if there are as many as may be.
pub fn hold_back<A, M>(message: M, context: &mut Context<A>) -> Option<M>
where
    A: Behavior + Interleaves + Receive<M, ByMacro>,
    M: Message,
{
    let mut held = context.held();
    let flights = &mut control(&mut held).extras().flights;
    if planted!("interleave-unbounded": flights.list.len() < A::IN_FLIGHT_MAX => true) {
        return Some(message);
    }
    flights.crowded = true;
    stash::put_first(&mut held, again::<A, M, ByMacro>(message));
    None
}

/// Whether a message waits for an interleaved handler to be done.
pub(super) fn is_crowded(held: &mut Held) -> bool {
    control(held).extras.as_ref().is_some_and(|extras| extras.flights.crowded)
}

/// Whether interleaved handlers are not done.
pub(super) fn has_flights(held: &mut Held) -> bool {
    control(held).extras.as_ref().is_some_and(|extras| !extras.flights.is_empty())
}

/// The actor is to end when its mail is handled, as it is, and these handlers are done.
pub(super) fn drain(held: &mut Held) -> Advance {
    if held.owner().signals.is_empty() { Advance::Wait } else { Advance::Signal }
}

/// # Safety
/// `to` is a cell whose token the caller holds, its actor runs and no handler waits; the caller owns `node`,
/// which is of `RESUME`.
unsafe fn resume(to: NonNull<()>, node: NonNull<Node>) {
    // SAFETY: the caller's promise.
    let id = unsafe { Node::into_payload::<u64>(node) };
    // SAFETY: as above; the runner uses its own value again when this is over.
    let mut held = unsafe { Held::new(to.cast::<Header>()) };
    let flights = control(&mut held).extras.as_mut().map(|extras| &mut extras.flights);
    let Some(flight) = flights.and_then(|flights| flights.take(id)) else { return };
    if planted!("interleave-hogs": flight.gives_way => false) && gives_way_to_mail(&mut held) {
        control(&mut held).extras().flights.put_aside(flight);
        return attention::set(&mut held, attention::GAVE_WAY, true);
    }
    let Some(flight) = poll(held.header(), flight) else { return landed(&mut held) };
    if life::is_ending(&mut held) {
        return cut_off(&held, flight);
    }
    control(&mut held).extras().flights.list.push(flight);
}

/// Whether there is mail, and a handler would not hold it up by waiting for its turn.
fn gives_way_to_mail(held: &mut Held) -> bool {
    !is_crowded(held) && (held.has_mail() || stash::has_due(held))
}

/// Lets those that have given way go on, if enough mail was handled or none is left. `heard` says that a message was
/// handled since this was asked.
pub(super) fn go_on(held: &mut Held, heard: bool) {
    if let Some(extras) = &mut control(held).extras {
        extras.flights.mail_left = extras.flights.mail_left.saturating_sub(u32::from(heard));
        if extras.flights.mail_left > 0 && gives_way_to_mail(held) {
            return;
        }
    }
    if let Some(extras) = &mut control(held).extras {
        let list = &mut extras.flights.list;
        let mut resumed = List::new();
        for flight in list.iter_mut() {
            if std::mem::take(&mut flight.is_aside) {
                // SAFETY: the node is new.
                unsafe { resumed.push_back(Node::new(&RESUME, flight.resume.id)) };
            }
        }
        held.owner().signals.append(&mut resumed);
    }
    attention::set(held, attention::GAVE_WAY, false);
}

/// Polls a handler; gives it back if it waits.
fn poll(header: NonNull<Header>, mut flight: Flight) -> Option<Flight> {
    // Acquire: pairs with the AcqRel in `wake`.
    flight.resume.is_sent.swap(false, Ordering::Acquire);
    let inside = Inside::enter(header, &flight);
    let polled = flight.pending.poll(&mut task::Context::from_waker(&flight.waker));
    drop(inside);
    // Relaxed: a wake that comes later only lets it go on sooner.
    flight.gives_way = flight.resume.is_sent.load(Ordering::Relaxed);
    polled.is_pending().then_some(flight)
}

/// Says which handler the thread polls, and reports its message if it panics.
struct Inside {
    cell: CellRef,
    kind: Option<&'static Kind>,
    outside: ((usize, u64), Time),
}

impl Inside {
    fn enter(header: NonNull<Header>, flight: &Flight) -> Self {
        let polled = POLLED.with(|polled| polled.replace((header.addr().get(), flight.resume.id)));
        let deadline = current::swap_deadline(flight.pending.deadline());
        let (cell, kind) = (flight.resume.cell.clone(), flight.pending.kind());
        Self { cell, kind, outside: (polled, deadline) }
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        let (polled, deadline) = self.outside;
        POLLED.with(|place| place.set(polled));
        current::swap_deadline(deadline);
        if crate::sync::thread::panicking()
            && let Some(kind) = self.kind
        {
            self.cell.report_crashed(kind);
        }
    }
}

/// A handler is done: whoever waits for its place may begin, and silence begins anew.
fn landed(held: &mut Held) {
    held.owner().life.lately |= Life::HEARD;
    let flights = &mut control(held).extras().flights;
    flights.crowded = false;
    let is_last = flights.is_empty();
    if is_last {
        held.cell().note_in_flight(false);
    }
}

/// The incarnation ends: handlers that wait are dropped, and reported.
pub(super) fn cut_off_all(held: &mut Held) {
    let Some(extras) = &mut control(held).extras else { return };
    let flights = std::mem::take(&mut extras.flights);
    for flight in flights.list {
        cut_off(held, flight);
    }
    held.cell().note_in_flight(false);
}

fn cut_off(held: &Held, flight: Flight) {
    if let Some(kind) = planted!("interleave-cut-unreported": flight.pending.kind() => None) {
        held.cell().report_crashed(kind);
    }
    if !quietly(|| drop(flight)) {
        report_bad_drop(held.cell());
    }
}
