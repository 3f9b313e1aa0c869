//! What a handler can do: the [`Context`] of its actor.

use super::address::Ref;
use super::attention;
use super::body::{self, Control};
use super::control::{self, Order};
use super::dispatch::drop_payload;
use super::extras::Down;
#[cfg(feature = "journal")]
use super::incarnation::Incarnation;
use super::life;
use super::local::LocalCall;
use super::parent::Parent;
use super::phase::Ending;
use super::reply::{Reply, report_unhandled};
use super::signal::{Signal, call, send_behind, send_signal, signal_kind};
use super::silence::Silence;
use super::spawn::{Owner, Spawn};
use super::tasks::Tasks;
use super::timers::Timers;
use super::traits::{Actor, Behavior, Protocol};
use super::watchers::Watcher;
use crate::event::{ActorId, DeadLetterReason, ExitReason};
use crate::queue::node::{Kind, Lane, Node};
use crate::sync::planted;
use crate::task::cell::{CellRef, Header};
use crate::task::core_ref::CoreRef;
use crate::task::count::TaskCount;
use crate::task::current;
use crate::task::held::Held;
use crate::time::Time;
use std::cell::Cell;
use std::fmt;
use std::future::{Future, poll_fn};
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::time::Duration;

/// The running actor's own view of itself and its system.
///
/// Handlers and hooks get it as `cx: &mut Context<Self>`. It stays where it is, since its size is not known:
///
/// ```compile_fail,E0277
/// # use greenroom::{Actor, Context};
/// fn exchange<A: Actor>(one: &mut Context<A>, other: &mut Context<A>) {
///     std::mem::swap(one, other);
/// }
/// ```
#[repr(C)]
pub struct Context<A: Actor> {
    of: PhantomData<fn(A)>,
    /// Under strict provenance no address leads to the cell.
    #[cfg(miri)]
    header: NonNull<Header>,
    /// No bytes: it speaks for the cell that it lies in. No compiler knows how many these are, so that nobody can take it
    /// from there or exchange it, and what lies around them may change while it is shared.
    place: [Cell<()>],
}

/// What a [`Context`] holds where it lies.
#[cfg(miri)]
pub(super) type Root = NonNull<Header>;
#[cfg(not(miri))]
pub(super) type Root = ();

/// What an incarnation has begun and must end with it.
#[derive(Default)]
pub(super) struct Side {
    pub(super) timers: Timers,
    pub(super) silence: Option<Silence>,
    watches: Vec<(WatchId, CellRef)>,
    pub(super) tasks: Tasks,
}

impl fmt::Debug for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Side").finish_non_exhaustive()
    }
}

/// Names a watch of an actor; see [`Context::unwatch`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WatchId(u64);

// SAFETY: a context is used by whoever runs its actor, on one thread at a time; the header's shared
// parts may be used by any thread.
unsafe impl<A: Actor> Send for Context<A> {}
// SAFETY: a shared context offers reads of the header's shared parts only.
unsafe impl<A: Actor> Sync for Context<A> {}

impl<A: Actor> Context<A> {
    /// That of the cell in which it lies at `root`.
    pub(super) const fn at(root: *mut Root) -> *mut Self {
        std::ptr::slice_from_raw_parts_mut(root.cast::<Cell<()>>(), 0) as *mut Self
    }

    /// The cell that the context lies in.
    #[inline(always)]
    fn address(&self) -> NonNull<Header> {
        let header = std::ptr::from_ref(self).cast::<Root>().addr() - body::CONTEXT_AT;
        #[cfg(miri)]
        {
            assert_eq!(header, self.header.addr().get(), "a context lies in its own cell");
            self.header
        }
        #[cfg(not(miri))]
        {
            let header = std::ptr::with_exposed_provenance_mut(header);
            // SAFETY: nobody has a context but by a reference to where it lies, in a cell behind the frame. What makes
            // a cell exposes its address.
            unsafe { NonNull::new_unchecked(header) }
        }
    }

    pub(super) fn header(&self) -> &Header {
        // SAFETY: a running actor's cell is live.
        unsafe { self.address().as_ref() }
    }

    /// The token, which the thread holds that runs the actor.
    pub(super) fn held(&mut self) -> Held {
        // SAFETY: the actor's own handler or hook runs, to the end of which the runner uses no
        // reference of its own.
        unsafe { Held::new(self.address()) }
    }

    pub(crate) fn core(&self) -> &CoreRef {
        &self.header().core
    }

    pub(super) fn cell(&self) -> CellRef {
        // SAFETY: a running actor's cell is live.
        unsafe { CellRef::to(self.address()) }
    }

    pub(super) fn side(&mut self) -> &mut Side {
        self.control().side.get_or_insert_default()
    }

    /// As [`Context::side`], where nothing was begun makes no box.
    pub(super) fn side_if_any(&mut self) -> Option<&mut Side> {
        self.control().side.as_deref_mut()
    }

    fn control(&mut self) -> &mut Control {
        let control = NonNull::from(body::control(&mut self.held()));
        // SAFETY: the thread holds the token while `self` is borrowed, and only through that is the control reached.
        unsafe { &mut *control.as_ptr() }
    }

    /// Ends everything that the incarnation began, but its tasks, which [are gone](super::tasks::have_to_end).
    pub(super) fn end_incarnation(&mut self) {
        let mut held = self.held();
        let life = &mut held.owner().life;
        life.incarnation = life.incarnation.wrapping_add(1);
        let Some(side) = self.control().side.take() else { return };
        let silence = side.silence.and_then(Silence::into_alarm);
        for alarm in side.timers.into_alarms().chain(silence) {
            self.header().core.cancel_alarm(alarm);
        }
        attention::set(&mut self.held(), attention::SILENCE, false);
        for (WatchId(id), target) in side.watches {
            control::send(&target, Order::Unwatch { id, by: Some(self.cell()) });
        }
    }

    /// Which actor this is.
    #[must_use]
    pub fn id(&self) -> ActorId {
        self.header().actor_id()
    }

    /// This incarnation, for what it depends on.
    #[cfg(feature = "journal")]
    pub(crate) fn handle(&self) -> Incarnation {
        Incarnation::new(self.cell(), self.incarnation())
    }

    /// How often the actor was restarted, also where its first start was not over.
    #[must_use]
    pub fn incarnation(&self) -> u32 {
        self.header().owner.with(|owner| {
            // SAFETY: the part of the header is live, and this number is written between incarnations
            // only, when no handler or hook has a context to ask.
            unsafe { (*owner).life.incarnation }
        })
    }

    /// How long the caller of the running handler still waits; [`Duration::MAX`] where nobody waits.
    #[must_use]
    pub fn remaining(&self) -> Duration {
        match current::deadline() {
            Time::NEVER => Duration::MAX,
            deadline => deadline.since(self.header().core.clock.now()),
        }
    }

    /// A random number, any of its type with the same chance; not for secrets. The numbers of a system follow from
    /// [`Builder::seed`](crate::Builder::seed), in a simulated world from the world's own seed. Which actor gets which of
    /// them depends on who asks first: that is the same each time in a simulated world alone. What is to be drawn from
    /// a distribution can be drawn by a generator of any library that is seeded with one.
    ///
    /// # Examples
    /// ```
    /// use greenroom::{Actor, Context, System, handlers};
    ///
    /// #[derive(Actor)]
    /// struct Die;
    ///
    /// #[handlers]
    /// impl Die {
    ///     #[ask]
    ///     fn throw(&self, cx: &mut Context<Self>) -> u64 {
    ///         cx.random() % 6 + 1
    ///     }
    /// }
    ///
    /// let system = System::builder().workers(1).seed(7).build()?;
    /// let die = system.spawn::<Die>(Die).start()?;
    /// assert!((1..=6).contains(&die.throw().wait()?));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn random(&self) -> u64 {
        self.header().core.random.next()
    }

    /// Starts a child: an actor that ends before this one does.
    pub fn spawn<C: Behavior>(&mut self, args: C::Args) -> Spawn<'_, C> {
        let core = self.header().core.clone();
        // Not from the borrowed header, through which the rest of the cell would be out of reach.
        // SAFETY: the value borrows this context, which only a handler or hook has.
        let me = unsafe { Parent::new(self.address()) };
        Spawn::new(core, Owner::Parent(me), args)
    }

    /// Ends this actor after the running handler.
    pub fn stop(&mut self) {
        life::begin_end(&mut self.held(), Ending::Own, true);
    }

    /// Fails this actor after the running handler, for `reason`; its restart policy decides what
    /// follows.
    pub fn fail(&mut self, reason: impl fmt::Display) {
        let reason = ExitReason::Failed(reason.to_string());
        life::fail_with(&mut self.held(), reason, true);
    }

    /// The reply again, if the handler of a question in an `M` is to begin; if not, that is reported.
    #[doc(hidden)]
    #[inline]
    #[must_use]
    pub fn begin_ask<M, R>(&self, reply: Reply<R>) -> Option<Reply<R>> {
        reply.begin::<M>(false, || self.header())
    }

    /// As [`Context::begin_ask`], for a handler that an asker cancels who goes.
    #[doc(hidden)]
    #[must_use]
    pub fn begin_ask_if_wanted<M, R>(&self, reply: Reply<R>) -> Option<Reply<R>> {
        reply.begin::<M>(true, || self.header())
    }

    /// Reports that the handler of a question in an `M` was dropped because the asker went.
    #[doc(hidden)]
    pub fn note_cancelled<M>(&self) {
        report_unhandled::<M>(self.header(), DeadLetterReason::Cancelled);
    }

    /// Runs `work`, which may block, on a thread kept for that, and is ready with its result. Nothing interrupts it: when
    /// the incarnation ends it goes on, and nobody waits for it, a restart neither.
    ///
    /// # Panics
    /// The future panics as `work` does.
    pub fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> impl Future<Output = T> + Send + 'static {
        let count = TaskCount::of(self.cell());
        let work = move || {
            let value = work();
            drop(count);
            value
        };
        // A simulated world has one thread, and lets the work be one of its steps.
        let task = match self.header().core.clock.entrance() {
            Some(mut entrance) => tokio::spawn(async move {
                poll_fn(|cx| entrance.poll_pass(cx)).await;
                work()
            }),
            None => tokio::task::spawn_blocking(work),
        };
        async move {
            match task.await {
                Ok(value) => value,
                Err(error) => match error.try_into_panic() {
                    Ok(payload) => std::panic::resume_unwind(payload),
                    // The worker is ending, and with it this handler: it will not be polled again.
                    Err(_) => std::future::pending().await,
                },
            }
        }
    }
}

impl<A: Behavior> Context<A> {
    /// A reference to this actor.
    #[must_use]
    pub fn me(&self) -> Ref<A> {
        Ref::from_cell(self.cell())
    }

    /// Calls `method` with a [`Down`] once, when `target` has ended for good, or at once if it has
    /// ended already. For an actor of another node that is also when the connection ends, and the call comes
    /// after the messages that had come from there.
    pub fn watch<P: Protocol, Shape: 'static>(
        &mut self,
        target: &Ref<P>,
        method: impl LocalCall<A, Down, Shape>,
    ) -> WatchId {
        let id = WatchId(self.header().core.next_id());
        let (me, epoch) = (self.cell(), self.incarnation());
        let by = Some(me.clone());
        let target = target.cell().clone();
        let is_distant = target.vtable.distant;
        let tell = Box::new(move |down: Down| {
            let signal = Signal { method, value: (id, down), epoch };
            if is_distant {
                send_behind(&me, watched_behind::<A, _, Shape>(&signal.method), signal);
            } else if planted!("down-lost": true => signal.value.1.reason != ExitReason::Killed) {
                send_signal(&me, watched::<A, _, Shape>(&signal.method), signal);
            }
        });
        let watcher = Watcher { id: id.0, by, target: target.actor_id(), tell };
        self.side().watches.push((id, target.clone()));
        control::send(&target, Order::Watch(watcher));
        id
    }

    /// Ends a watch. A `Down` that is already on its way is dropped.
    pub fn unwatch(&mut self, watch: WatchId) {
        if let Some(target) = self.forget_watch(watch) {
            control::send(&target, Order::Unwatch { id: watch.0, by: Some(self.cell()) });
        }
    }

    fn forget_watch(&mut self, watch: WatchId) -> Option<CellRef> {
        let watches = &mut self.side_if_any()?.watches;
        let place = watches.iter().position(|(id, _)| *id == watch)?;
        Some(watches.swap_remove(place).1)
    }
}

impl<A: Actor> fmt::Debug for Context<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Context({})", self.id())
    }
}

// The methods are named by a reference because most are of types that cannot be written.

fn watched<A: Behavior, F: LocalCall<A, Down, S>, S: 'static>(_: &F) -> &'static Kind {
    signal_kind!(deliver_down::<A, F, S>, Signal<F, (WatchId, Down)>, Lane::Prior)
}

/// The kind of a signal that waits behind the mail, and leaves its block to the lane.
fn watched_behind<A: Behavior, F: LocalCall<A, Down, S>, S: 'static>(_: &F) -> &'static Kind {
    const {
        &Kind {
            lane: Lane::Signal,
            deliver: deliver_down_behind::<A, F, S>,
            discard: drop_payload::<Signal<F, (WatchId, Down)>>,
            answers: false,
            weigh: None,
            block: Node::block::<Signal<F, (WatchId, Down)>>(),
            name: std::any::type_name::<Signal<F, (WatchId, Down)>>,
            type_id: std::any::TypeId::of::<()>,
        }
    }
}

/// # Safety
/// As [`Kind::deliver`]; the cell is an `A`'s, and the payload a `Signal<F, (WatchId, Down)>`.
unsafe fn deliver_down<A: Behavior, F: LocalCall<A, Down, S>, S>(
    to: NonNull<()>,
    node: NonNull<Node>,
) {
    // SAFETY: the caller's promise.
    let signal = unsafe { Node::into_payload::<Signal<F, (WatchId, Down)>>(node) };
    // SAFETY: as above.
    unsafe { call_down::<A, F, S>(to.cast::<Header>(), signal) };
}

/// # Safety
/// As [`deliver_down`].
unsafe fn deliver_down_behind<A: Behavior, F: LocalCall<A, Down, S>, S>(
    to: NonNull<()>,
    node: NonNull<Node>,
) {
    // SAFETY: the caller's promise.
    let signal = unsafe { Node::take_payload::<Signal<F, (WatchId, Down)>>(node) };
    // SAFETY: as above.
    unsafe { call_down::<A, F, S>(to.cast::<Header>(), signal) };
}

/// # Safety
/// The caller holds the token of an `A` that runs, and no handler waits.
unsafe fn call_down<A: Behavior, F: LocalCall<A, Down, S>, S>(
    header: NonNull<Header>,
    signal: Signal<F, (WatchId, Down)>,
) {
    // SAFETY: as above; no handler waits.
    let context = unsafe { body::context::<A>(header) };
    let (watch, down) = signal.value;
    let is_current = signal.epoch == context.incarnation();
    let is_watched = is_current && context.forget_watch(watch).is_some();
    if planted!("down-taken-back": is_watched => is_current) {
        // SAFETY: as above.
        unsafe { call::<A, F, Down, S>(header, signal.method, down) };
    }
}

/// Calls `tell` when an actor has ended for good.
pub(super) fn tell_of_end(target: &CellRef, tell: Box<dyn FnOnce(Down) + Send>) -> WatchId {
    let id = target.core.next_id();
    let watcher = Watcher { id, by: None, target: target.actor_id(), tell };
    control::send(target, Order::Watch(watcher));
    WatchId(id)
}

/// Ends what [`tell_of_end`] began.
pub(super) fn tell_no_more(target: &CellRef, watch: WatchId) {
    control::send(target, Order::Unwatch { id: watch.0, by: None });
}
