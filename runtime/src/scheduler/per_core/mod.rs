//! Every actor lives on one worker; workers share nothing but rings.
//!
//! At home, mail goes into an inbox by plain loads and stores, and ready actors wait in a plain queue:
//! no atomic operation at all. Between workers it goes through n × n rings with one producer and one
//! consumer each; what was sent becomes visible in batches, and one word per worker says whose ring has
//! something new ([`signal`](super::signal)). Threads that are no workers leave their mail in a lane behind a lock.
//!
//! ```text
//! at home:   tell -> Inbox::push_home -> (woke) -> desk.ready
//! elsewhere: tell -> carry_mail -> outbox -> ring -> signal bit -> take_in -> Inbox::push_home -> ...
//! ```
//!
//! An actor is made where its maker runs, and moves only at a quiescent point ([`moving`]): when told
//! to, when a busy worker sees an idle one and hands it half of its ready actors, or when a worker has mail again and
//! again that is worth no second one, and lets who is to have it live where it comes from. Nobody steals.
//!
//! Invariants:
//! 1. A desk is touched by its own worker only, and never while code of users runs (deliveries may drop
//!    messages, and those may send).
//! 2. A box that is dirty is flushed once 16 parcels wait in it, or 64 messages have joined one, unless the ring is full,
//!    and when the worker looks for work next, at the latest; so the last that a handler has sent may wait until it is
//!    done.
//! 3. A full ring spills into its sender's memory. No worker waits for room, so no two can wait for each
//!    other. Who awaits the sending of a message gives way until there is room, and mailboxes with a bound
//!    have bounded what spills before it got here; so what spills is bounded but for what was sent by
//!    those who cannot wait, to mailboxes without a bound (decision 0039).

mod desk;
mod dock;
mod moving;
mod rest;

use super::WorkerId;
use super::cores::Cores;
use super::signal::EXTERNAL;
use crate::queue::node::Node;
#[cfg(not(shuttle))]
use crate::sync::WakeList;
use crate::sync::{AtomicUsize, CachePadded, Ordering, UnsafeCell, planted};
use crate::task::Ready;
use crate::task::cargo::Cargo;
use crate::task::cell::CellRef;
use crate::task::current;
use desk::{Desk, Parcel, workers_in};
use dock::{Dock, Left};
use moving::Errand;
pub(crate) use rest::Visit;
use std::fmt;
use std::ptr::NonNull;

/// Parcels taken out of one ring before the others get their turn.
const TAKEN_MAX: usize = if cfg!(shuttle) { 1 } else { 256 };
/// See the [module](self).
pub(crate) struct PerCore {
    posts: Box<[Post]>,
    /// Workers that have not left for good.
    present: AtomicUsize,
    /// What knows the thread of a world, in which all is done by that.
    #[cfg(not(shuttle))]
    world: Option<WakeList>,
}

/// What there is for one worker.
pub(super) struct Post {
    /// Its own.
    desk: CachePadded<UnsafeCell<Desk>>,
    /// For others.
    dock: CachePadded<Dock>,
}

// SAFETY: a desk is used by the one thread whose `WorkerId` names it; the rest is made for sharing.
unsafe impl Sync for PerCore {}
// SAFETY: nothing in it is bound to the thread that made it.
unsafe impl Send for PerCore {}

impl fmt::Debug for PerCore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PerCore").field("workers", &self.posts.len()).finish_non_exhaustive()
    }
}

impl Post {
    /// # Safety
    /// The caller is the post's worker, and `step` runs no code of users.
    #[inline(always)]
    unsafe fn desk<R>(&self, step: impl FnOnce(&mut Desk) -> R) -> R {
        self.desk.with_mut(|desk| {
            // SAFETY: by invariant 1 of the module, and the caller's promise.
            step(unsafe { &mut *desk })
        })
    }
}

impl PerCore {
    pub(crate) fn new(workers: usize, cores: &Cores) -> Self {
        let post = |desk| Post {
            desk: CachePadded(UnsafeCell::new(desk)),
            dock: CachePadded(Dock::new()),
        };
        Self {
            posts: Desk::all(workers, cores).into_iter().map(post).collect(),
            present: AtomicUsize::new(workers),
            #[cfg(not(shuttle))]
            world: None,
        }
    }

    /// The same in a world, whose thread `world` knows.
    #[cfg(not(shuttle))]
    pub(crate) fn within(self, world: WakeList) -> Self {
        Self { world: Some(world), ..self }
    }

    /// The worker's own desk, for one step that runs no code of users.
    #[inline(always)]
    fn desk<R>(&self, id: WorkerId, step: impl FnOnce(&mut Desk) -> R) -> R {
        // SAFETY: the identity is the calling thread's; no step uses the desk again.
        unsafe { self.posts[id.index()].desk(step) }
    }

    /// What there is for the calling worker.
    pub(super) fn post(&self, id: WorkerId) -> &Post {
        &self.posts[id.index()]
    }

    /// Queues an actor that lives here.
    #[inline]
    pub(crate) fn push(&self, id: WorkerId, ready: Ready) {
        self.desk(id, |desk| desk.ready.push(ready));
    }

    /// Lets code of users queue actors that live here, until [`current::close_home`].
    pub(crate) fn begin_slice(&self, id: WorkerId) {
        let ready = self.posts[id.index()].desk.with_mut(|desk| {
            // SAFETY: the place is there; without a reference in between, later ones to the desk leave
            // the pointer valid.
            unsafe { &raw mut (*desk).ready }
        });
        // SAFETY: the desk stays where it is while there are workers, and by invariant 1 nobody uses it
        // while code of users runs.
        unsafe { current::open_home(ready) };
    }

    /// The next actor to run, after what has come is delivered and what was sent is visible; `post` is the worker's.
    #[inline]
    pub(super) fn next(&self, id: WorkerId, post: &Post, wake: &impl Fn(usize)) -> Option<Ready> {
        // Whatever has come, the turn is over.
        // SAFETY: the identity is the calling thread's, and the step is the desk's own.
        let has_to_do = unsafe { post.desk(Desk::end_turn) };
        if has_to_do || post.dock.signal.is_raised() {
            self.trade(id, wake);
            return self.desk(id, |desk| {
                // What was forwarded is no part of the next turn.
                desk.end_turn();
                desk.ready.pop()
            });
        }
        // SAFETY: as above.
        unsafe { post.desk(|desk| desk.ready.pop_normal()) }
    }

    /// Makes visible what was sent, and delivers what has come.
    #[inline(never)]
    fn trade(&self, id: WorkerId, wake: &impl Fn(usize)) {
        self.flush(id, wake);
        self.take_in(id, wake);
        // All at once: a node that closes may have this to do for thousands of actors.
        while let Some(behind) = self.desk(id, Desk::take_behind) {
            self.fence(id, Errand::Deliver(behind), |_| {}, wake);
        }
    }

    /// Whether [`PerCore::next`] would find something, or there is something to send.
    pub(crate) fn has_work(&self, id: WorkerId) -> bool {
        self.posts[id.index()].dock.signal.is_raised() || self.desk(id, |desk| desk.has_work())
    }

    /// How many parcels have no room in their rings, if the worker has nothing to do but to send them.
    pub(crate) fn stuck(&self, id: WorkerId) -> Option<usize> {
        let is_raised = self.posts[id.index()].dock.signal.is_raised();
        if is_raised { None } else { self.desk(id, |desk| desk.stuck()) }
    }

    /// Ready actors that live on the worker.
    pub(crate) fn backlog(&self, id: WorkerId) -> usize {
        self.desk(id, |desk| desk.ready.len())
    }

    fn flush(&self, id: WorkerId, wake: &impl Fn(usize)) {
        let dirty = self.desk(id, |desk| desk.dirty());
        for to in workers_in(dirty) {
            self.flush_to(id, to, wake);
        }
    }

    fn flush_to(&self, id: WorkerId, to: usize, wake: &impl Fn(usize)) {
        if self.desk(id, |desk| desk.flush(to)) && self.posts[to].dock.signal.raise(1 << id.index())
        {
            wake(to);
        }
    }

    fn send(&self, id: WorkerId, to: usize, parcel: Parcel, wake: &impl Fn(usize)) {
        if self.desk(id, |desk| desk.put(to, parcel)) {
            self.flush_to(id, to, wake);
        }
    }

    /// Brings what has come from elsewhere, or is no user mail, to where its actor lives; the caller is a
    /// worker.
    pub(crate) fn carry(&self, id: WorkerId, cargo: Cargo, wake: &impl Fn(usize)) {
        match self.way(id, cargo.to()) {
            // Where the actor goes is where all mail for it comes together.
            Way::Leaving(worker) if cargo.is_behind() => {
                self.send(id, worker, Parcel::Cargo(cargo), wake);
            }
            // Not at once: a fence takes in mail, in front of what the caller is taking in.
            Way::Here if cargo.is_behind() => self.desk(id, |desk| desk.behind.push_back(cargo)),
            Way::To(worker) => self.send(id, worker, Parcel::Cargo(cargo), wake),
            Way::Here | Way::Leaving(_) => self.deliver(id, cargo),
            Way::Held => self.desk(id, |desk| desk.held.push(cargo)),
        }
    }

    /// Whether the ring is full through which mail for `to` goes from here: who can wait should.
    pub(crate) fn is_congested(&self, id: WorkerId, to: &CellRef) -> bool {
        match self.way(id, to) {
            Way::To(worker) | Way::Leaving(worker) => {
                self.desk(id, |desk| desk.has_spilled(worker))
            }
            Way::Here | Way::Held => false,
        }
    }

    /// Brings a user message that an actor here has sent to where its receiver lives, or will; the caller
    /// is a worker.
    ///
    /// # Safety
    /// The caller owns `node`, whose kind fits the actor, and gives it away.
    pub(crate) unsafe fn carry_mail(
        &self,
        id: WorkerId,
        to: &CellRef,
        node: NonNull<Node>,
        wake: &impl Fn(usize),
    ) {
        // What the sender sent from elsewhere may be held already where a leaving receiver goes.
        if let Way::To(worker) | Way::Leaving(worker) = self.way(id, to) {
            // SAFETY: the caller's promise.
            if self.desk(id, |desk| unsafe { desk.put_mail(worker, to, node) }) {
                self.flush_to(id, worker, wake);
            }
        } else {
            // SAFETY: the caller's promise.
            self.carry(id, unsafe { Cargo::mail(to.clone(), node) }, wake);
        }
    }

    /// Brings a cargo to where its actor lives; the caller is no worker.
    ///
    /// # Errors
    /// A user's message that comes too late.
    pub(crate) fn carry_from_outside(
        &self,
        mut cargo: Cargo,
        wake: &impl Fn(usize),
    ) -> Result<(), NonNull<Node>> {
        #[cfg(not(shuttle))]
        self.world.iter().for_each(WakeList::check_thread);
        loop {
            let home = cargo.to().home();
            let Some(worker) = cargo.to().core.homes.worker(home) else { return Ok(()) };
            let left = self.posts[worker].dock.leave(cargo, |to| to.home() == home);
            cargo = match left {
                Left::Here { wake: false } => return Ok(()),
                Left::Here { wake: true } => {
                    wake(worker);
                    return Ok(());
                }
                Left::Moved(cargo) => cargo,
                Left::Closed(cargo) => {
                    drop(cargo);
                    return Ok(());
                }
                Left::Late(cargo) => return cargo.into_message().map_or(Ok(()), Err),
            };
        }
    }

    /// Which way mail for `to` goes from here.
    fn way(&self, id: WorkerId, to: &CellRef) -> Way {
        let home = to.home();
        let worker = to.core.homes.worker(home).unwrap_or(id.index());
        let here = worker == id.index();
        match home.is_moving() {
            false if here => Way::Here,
            true if here => Way::Held,
            true if self.desk(id, |desk| desk.keeps(to)) => Way::Leaving(worker),
            _ => Way::To(worker),
        }
    }

    fn deliver(&self, id: WorkerId, cargo: Cargo) {
        // SAFETY: the actor lives here, or has not left yet.
        if let Some(ready) = unsafe { cargo.deliver() } {
            self.push(id, ready);
        }
    }

    /// Delivers what others have left.
    fn take_in(&self, id: WorkerId, wake: &impl Fn(usize)) {
        let dock = &self.posts[id.index()].dock;
        let mut from = self.desk(id, |desk| std::mem::take(&mut desk.left_over));
        if dock.signal.is_raised() {
            from |= dock.signal.take();
        }
        if from == 0 {
            return;
        }
        if from & EXTERNAL != 0 {
            self.empty_lane(id, wake, || {});
        }
        for worker in workers_in(from) {
            self.receive(id, worker, TAKEN_MAX, wake);
        }
    }

    /// Delivers what is in the lane; `meanwhile` is done when it has just been emptied, under its lock.
    fn empty_lane(&self, id: WorkerId, wake: &impl Fn(usize), meanwhile: impl FnOnce()) {
        let mut taken = self.desk(id, |desk| std::mem::take(&mut desk.taken));
        self.posts[id.index()].dock.empty(&mut taken, meanwhile);
        for cargo in taken.drain(..) {
            self.carry(id, cargo, wake);
        }
        self.desk(id, |desk| desk.taken = taken);
    }

    /// Delivers up to `count` parcels from one worker.
    fn receive(&self, id: WorkerId, from: usize, count: usize, wake: &impl Fn(usize)) {
        self.desk(id, |desk| desk.sync(from));
        for _ in 0..count {
            match self.desk(id, |desk| desk.receive(from)) {
                None => return,
                Some(Parcel::Cargo(cargo)) => self.carry(id, cargo, wake),
                Some(Parcel::Arrival(ready)) => self.settle(id, ready, wake),
                Some(Parcel::Fence(fence)) => self.send(id, from, Parcel::Answer(fence), wake),
                Some(Parcel::Answer(fence)) => {
                    self.desk(id, |desk| desk.answered(from, fence));
                    self.end_errands(id, wake);
                }
            }
        }
        self.desk(id, |desk| desk.left_over |= 1 << from);
    }

    /// Hands half of the ready actors to `taker`, unless some are on their way already.
    pub(crate) fn share(&self, id: WorkerId, taker: usize, wake: &impl Fn(usize)) {
        let actors = self.desk(id, |desk| desk.pick(desk.ready.len() / 2));
        self.begin_move(id, actors, taker, wake);
    }

    /// Takes in what has come, and lets the actors that have become ready live on worker `host`, where that comes from,
    /// unless some are on their way already. They wait for the answers of all workers, so all others are to be idle.
    pub(crate) fn gather(&self, id: WorkerId, host: usize, wake: &impl Fn(usize)) {
        // First: who has sent something that is taken in, and is in that handler still, is seen not to be idle.
        self.trade(id, wake);
        if !self.are_others_idle(id) {
            return;
        }
        let actors = self.desk(id, |desk| desk.pick(desk.ready.len()));
        self.begin_move(id, actors, host, wake);
    }

    /// Lets actors that are ready here move to worker `to`; see [`moving`].
    pub(crate) fn begin_move(
        &self,
        id: WorkerId,
        actors: Vec<Ready>,
        to: usize,
        wake: &impl Fn(usize),
    ) {
        if to == id.index() {
            return actors.into_iter().for_each(|ready| self.push(id, ready));
        }
        let Some(first) = actors.first() else { return };
        // SAFETY: the tokens of real cells are moved only.
        let home = unsafe { first.header() }.core.home_on(to);
        self.flush(id, wake);
        let announce = |fence| self.desk(id, |desk| desk.announce(fence, home));
        self.fence(id, Errand::Move(actors, to), announce, wake);
    }

    /// Does an errand when all that was sent to this worker so far has come. `announce` is told the
    /// number of the fences, at the moment after which nothing comes from outside that was sent before.
    fn fence(
        &self,
        id: WorkerId,
        errand: Errand,
        announce: impl FnOnce(u64),
        wake: &impl Fn(usize),
    ) {
        let fence = self.desk(id, |desk| desk.wait(errand, id.index()));
        self.empty_lane(id, wake, || announce(fence));
        for other in (0..self.posts.len()).filter(|&other| other != id.index()) {
            if self.has_nothing_under_way(id, other) {
                // What it had sent before it went to sleep is in the ring.
                self.receive(id, other, usize::MAX, wake);
                self.desk(id, |desk| desk.answered(other, fence));
            } else {
                self.send(id, other, Parcel::Fence(fence), wake);
                self.flush_to(id, other, wake);
            }
        }
        self.end_errands(id, wake);
    }

    /// Whether worker `other` sleeps and has taken everything that it was sent from here. It may have
    /// taken all that the ring had room for, and not know of the spill.
    fn has_nothing_under_way(&self, id: WorkerId, other: usize) -> bool {
        planted!("per-core-spill-forgotten": self.desk(id, |desk| desk.has_sent_all(other)) => true)
            && self.posts[other].dock.signal.is_at_rest()
    }

    /// Does the errands whose fences are all answered.
    fn end_errands(&self, id: WorkerId, wake: &impl Fn(usize)) {
        while let Some(errand) = self.desk(id, Desk::take_answered) {
            match errand {
                Errand::Move(actors, to) => {
                    for ready in actors {
                        self.send(id, to, Parcel::Arrival(ready), wake);
                    }
                    self.flush_to(id, to, wake);
                }
                Errand::Share(taker) if self.is_idle(taker) => self.share(id, taker, wake),
                // It has something to do by now.
                Errand::Share(_) => {}
                Errand::Deliver(behind) => {
                    for cargo in behind {
                        match self.way(id, cargo.to()) {
                            Way::Here => self.deliver(id, cargo),
                            // It has begun to move meanwhile: the same again where it goes.
                            _ => self.carry(id, cargo, wake),
                        }
                    }
                }
            }
        }
    }

    /// Takes in an actor that comes to live here.
    fn settle(&self, id: WorkerId, ready: Ready, wake: &impl Fn(usize)) {
        // SAFETY: the tokens of real cells are moved only.
        let cell = unsafe { ready.header() };
        cell.set_home(cell.core.home_on(id.index()));
        for cargo in self.desk(id, |desk| desk.take_held(&ready)) {
            self.carry(id, cargo, wake);
        }
        self.push(id, ready);
    }

    /// Ends a worker's part. What is still on its way to it is reported and discarded, by the last
    /// worker that leaves. The calling thread does not count as a worker any more.
    pub(crate) fn leave(&self, id: WorkerId) {
        drop(self.posts[id.index()].dock.close());
        let dirty = self.desk(id, |desk| desk.dirty());
        for to in workers_in(dirty) {
            // Nobody needs to be told: the last one looks into every ring.
            let _ = self.desk(id, |desk| desk.flush(to));
        }
        // AcqRel: the last one acquires what the others did to their desks.
        if self.present.fetch_sub(1, Ordering::AcqRel) > 1 {
            return;
        }
        for post in &self.posts {
            let left = post.desk.with_mut(|desk| {
                // SAFETY: every worker has left, and only the last one gets here.
                unsafe { &mut *desk }.take_all()
            });
            drop(left);
        }
    }
}

/// Which way mail goes.
enum Way {
    /// Into the actor's inbox, by this worker.
    Here,
    /// The same, though the actor is about to leave for that worker.
    Leaving(usize),
    /// To another worker.
    To(usize),
    /// Nowhere until the actor arrives here.
    Held,
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
