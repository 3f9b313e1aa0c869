//! Handlers that keep their worker for too long, noticed from outside.
//!
//! A worker notes which handler runs by plain stores. Once per budget the timekeeper looks, and marks
//! the note; the worker's next store wipes the mark off. A mark that is still there at the next look
//! says that the same handler has run all the time: it is reported once. So an overrun is noticed after
//! one to two budgets, and the worker pays nothing for the watch but the stores.
//!
//! ```text
//! handling:  null -> kind -> null -> ...        the worker
//!                    kind -> kind|SEEN -> kind|TOLD      the timekeeper, one step per look
//! ```
//!
//! While all workers are idle, nobody looks: the timekeeper rests, and the next worker that wakes up
//! ends its rest. Both change the same word, so one comes first; if the worker does, the timekeeper sees
//! it awake, or else the worker sees the timekeeper at rest.

use super::cell::{Header, VTable};
use crate::event::ActorId;
use crate::queue::node::{Kind, Lane, Node};
use crate::sync::{AtomicBool, AtomicPtr, AtomicU64, CachePadded, Ordering, planted, thread};
use std::any::TypeId;
use std::ptr;
use std::sync::OnceLock;
use std::time::Duration;

/// Mark: the handler was running at the last look.
const SEEN: usize = 1;
/// Mark: the handler was reported.
const TOLD: usize = 2;

/// Stands for a start or stop hook, which no message runs.
pub(super) static HOOK: Kind = Kind {
    lane: Lane::Control,
    deliver: |_, _| unreachable!("no message runs a hook"),
    discard: |_| unreachable!("no message runs a hook"),
    weigh: None,
    block: Node::NO_BLOCK,
    name: || "a start or stop hook",
    type_id: TypeId::of::<()>,
    answers: false,
};

/// What one worker is doing. Written by the worker, but for the marks.
///
/// Orderings: each store of the worker is Release, and pairs with the Acquire of the timekeeper's load
/// of the same field. So what the timekeeper reads of an actor belongs to the handler that it has
/// marked, if the mark is still there afterwards.
#[derive(Debug)]
pub(crate) struct Doing {
    /// What the running handler was sent, with a mark; null between handlers.
    handling: AtomicPtr<Kind>,
    /// Whose turn it is.
    number: AtomicU64,
    vtable: AtomicPtr<VTable>,
}

/// What a worker was doing, to be gone on with.
#[derive(Debug)]
pub(crate) struct Done {
    handling: *mut Kind,
    number: u64,
    vtable: *mut VTable,
}

impl Doing {
    fn new() -> Self {
        Self {
            handling: AtomicPtr::new(ptr::null_mut()),
            number: AtomicU64::new(0),
            vtable: AtomicPtr::new(ptr::null_mut()),
        }
    }

    /// A turn of that actor begins.
    #[inline(always)]
    pub(super) fn begin_turn(&self, header: &Header) {
        // Release, both: as the type says, and pairs with the Acquire in `actor`.
        self.number.store(header.id, Ordering::Release);
        self.vtable.store(ptr::from_ref(header.vtable).cast_mut(), Ordering::Release);
    }

    /// A handler begins.
    #[inline(always)]
    pub(super) fn begin(&self, kind: &'static Kind) {
        // Release: pairs with the Acquire in `look`.
        self.handling.store(ptr::from_ref(kind).cast_mut(), Ordering::Release);
    }

    /// The handler is over, or waits.
    #[inline(always)]
    pub(super) fn end(&self) {
        // Release: pairs with the Acquire in `look`.
        self.handling.store(ptr::null_mut(), Ordering::Release);
    }

    /// Whether a handler or hook runs. For its own worker.
    pub(super) fn is_handling(&self) -> bool {
        // Relaxed: the worker's own store, if not for the mark.
        !self.handling.load(Ordering::Relaxed).is_null()
    }

    /// Whether a handler or hook of that actor runs. For its own worker.
    pub(super) fn is_handling_of(&self, header: &Header) -> bool {
        // Relaxed: the worker's own store.
        self.is_handling() && self.number.load(Ordering::Relaxed) == header.id
    }

    /// What the handler was sent that has just panicked, which is over.
    pub(super) fn take(&self) -> Option<&'static Kind> {
        // Relaxed: the worker's own store, if not for the mark.
        let kind = kind_of(self.handling.load(Ordering::Relaxed));
        self.end();
        kind
    }

    /// The running handler lets another turn run inside it.
    pub(super) fn interrupt(&self) -> Done {
        // Relaxed, all: the worker's own stores, if not for the mark.
        let done = Done {
            handling: self.handling.load(Ordering::Relaxed),
            number: self.number.load(Ordering::Relaxed),
            vtable: self.vtable.load(Ordering::Relaxed),
        };
        self.end();
        done
    }

    /// The handler goes on that was interrupted; the time of the other one counts as its own.
    pub(super) fn resume(&self, done: &Done) {
        // Release, all: as the type says, and pairs with the Acquire in `look`.
        self.number.store(done.number, Ordering::Release);
        self.vtable.store(done.vtable, Ordering::Release);
        self.handling.store(done.handling, Ordering::Release);
    }

    /// The timekeeper looks. A handler that it finds for the second time has overrun; that is told once.
    fn look(&self) -> Look {
        // Acquire: pairs with the Release in `begin` and `end`.
        let found = self.handling.load(Ordering::Acquire);
        if found.is_null() || found.addr() & TOLD != 0 {
            return Look::Nothing;
        }
        let actor = self.actor();
        let is_second = found.addr() & SEEN != 0;
        let told = planted!("watch-tells-again": SEEN | TOLD => SEEN);
        let mark = if is_second { told } else { SEEN };
        let marked = found.map_addr(|address| address | mark);
        // AcqRel: what was read before belongs to the handler that is marked; pairs with the worker's
        // own Release stores.
        let is_same = self
            .handling
            .compare_exchange(found, marked, Ordering::AcqRel, Ordering::Relaxed)
            .is_ok();
        match (kind_of(found), actor) {
            (Some(kind), Some(actor)) if is_same && is_second => Look::Overrun(actor, kind),
            _ if is_same => Look::Begun,
            _ => Look::Nothing,
        }
    }

    fn actor(&self) -> Option<ActorId> {
        // Acquire, both: pairs with the Release in `begin_turn`.
        let number = self.number.load(Ordering::Acquire);
        let vtable = self.vtable.load(Ordering::Acquire);
        // SAFETY: it is null, or was made of a reference that lives for ever.
        let vtable = unsafe { vtable.as_ref::<'static>() }?;
        Some(ActorId { number, kind: (vtable.name)() })
    }
}

/// What the timekeeper finds at one worker.
enum Look {
    Nothing,
    /// A handler that was not there at the last look.
    Begun,
    /// A handler that was there at the last look.
    Overrun(ActorId, &'static Kind),
}

/// The kind without its mark.
fn kind_of(handling: *mut Kind) -> Option<&'static Kind> {
    let kind = handling.map_addr(|address| address & !(SEEN | TOLD));
    // SAFETY: it is null, or was made of a reference that lives for ever.
    unsafe { kind.as_ref::<'static>() }
}

/// The watch over all workers of a system.
#[derive(Debug)]
pub(crate) struct Watch {
    doing: Box<[CachePadded<Doing>]>,
    /// How long a handler may run at a time; zero if nobody watches.
    pub(crate) budget: Duration,
    /// Whether the timekeeper has anything to look at: handlers, or work that sleepers could do.
    is_needed: bool,
    /// Whether the timekeeper looks now and then; otherwise it rests.
    looks: AtomicBool,
    /// The thread that looks, and sees to the timers of those who are no workers.
    timekeeper: OnceLock<thread::Thread>,
}

impl Watch {
    pub(crate) fn new(workers: usize, budget: Duration) -> Self {
        let is_needed = !budget.is_zero() || workers > 1;
        Self {
            doing: (0..workers).map(|_| CachePadded(Doing::new())).collect(),
            budget,
            is_needed,
            // Workers are awake at first.
            looks: AtomicBool::new(is_needed),
            timekeeper: OnceLock::new(),
        }
    }

    /// Says that the calling thread is the timekeeper.
    pub(crate) fn be_timekeeper(&self) {
        self.timekeeper.get_or_init(thread::current);
    }

    /// Ends the timekeeper's sleep.
    pub(crate) fn wake_timekeeper(&self) {
        // Before it has begun it has nothing to wake from.
        if let Some(thread) = self.timekeeper.get() {
            thread.unpark();
        }
    }

    /// How many workers there are.
    pub(super) fn workers(&self) -> usize {
        self.doing.len()
    }

    /// What worker `index` is doing.
    #[inline]
    pub(crate) fn doing(&self, index: usize) -> &Doing {
        &self.doing[index]
    }

    /// A worker is awake: the timekeeper is woken if it rests.
    pub(crate) fn begin(&self) {
        let is_called = self.resume();
        if planted!("watch-not-called": is_called => false) {
            self.wake_timekeeper();
        }
    }

    /// Says that somebody looks from now on; `true` if nobody did.
    pub(crate) fn resume(&self) -> bool {
        // AcqRel: the rendezvous with `rest`; releases that the worker is awake to it.
        self.is_needed && !self.looks.swap(true, Ordering::AcqRel)
    }

    /// Whether the timekeeper is to look.
    pub(crate) fn is_looked_after(&self) -> bool {
        // Relaxed: whoever changes it wakes the timekeeper afterwards.
        self.looks.load(Ordering::Relaxed)
    }

    /// The timekeeper rests. It must see that all workers are idle once more after this, or go on.
    pub(crate) fn rest(&self) {
        // AcqRel: the rendezvous with `begin`; acquires that its worker is awake.
        self.looks.swap(false, Ordering::AcqRel);
    }

    /// Looks at each worker, and reports handlers that have run since the last look.
    pub(crate) fn look(&self, mut report: impl FnMut(usize, Option<(ActorId, &'static str)>)) {
        for (index, doing) in self.doing.iter().enumerate() {
            match doing.look() {
                Look::Nothing => {}
                Look::Begun => report(index, None),
                Look::Overrun(actor, kind) => report(index, Some((actor, (kind.name)()))),
            }
        }
    }
}
