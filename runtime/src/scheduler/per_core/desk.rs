//! What a worker keeps to itself: its ready actors, and its ends of the rings.

use super::dock::LANE_AT_START;
use super::moving::{Errand, Waiting};
use crate::queue::node::Node;
use crate::queue::spsc::{self, Receiver, Sender, WriteError};
use crate::scheduler::cores::Cores;
use crate::scheduler::signal::EXTERNAL;
use crate::sync::planted;
use crate::task::Ready;
use crate::task::cargo::Cargo;
use crate::task::cell::CellRef;
use crate::task::home::Home;
use crate::task::priority::Line;
use std::collections::VecDeque;
use std::ptr::NonNull;

/// Parcels that a ring holds; next to nothing under a model checker, which is to see it overflow.
pub(super) const RING_CAPACITY: usize = if cfg!(shuttle) { 2 } else { 256 };
/// Parcels for one worker that may wait unseen while the sending turn goes on, and messages that may join one of them. Who
/// awaits its tells gives way after as many: a turn's are one parcel.
const UNSEEN_MAX: usize = 16;
const JOINED_MAX: usize = 64;

/// Ready actors of each priority that are looked at for one that may move, and that move at once, at most.
const MOVED_MAX: usize = 32;

/// What goes from worker to worker.
#[derive(Debug)]
pub(super) enum Parcel {
    /// For an actor.
    Cargo(Cargo),
    /// The token of an actor that comes to live with the receiver.
    Arrival(Ready),
    /// Asks for an answer, once all that came before it is delivered.
    Fence(u64),
    /// The answer.
    Answer(u64),
}

/// The way to one other worker.
#[derive(Debug)]
struct Outbox {
    ring: Sender<Parcel>,
    /// Parcels for which the ring had no room, in order.
    spill: VecDeque<Parcel>,
    /// The newest parcel, kept back so that more mail for the same actor can join it.
    open: Option<Parcel>,
    /// Whether the ring has parcels that the receiver has not been told of.
    has_new: bool,
    /// Parcels since the last flush.
    unseen: usize,
    /// Messages since the last flush that have joined one.
    joined: usize,
}

impl Outbox {
    fn new(ring: Sender<Parcel>) -> Self {
        Self { ring, spill: VecDeque::new(), open: None, has_new: false, unseen: 0, joined: 0 }
    }

    /// Puts a parcel behind the others.
    fn put(&mut self, parcel: Parcel) {
        self.unseen += 1;
        if let Some(before) = self.open.replace(parcel) {
            self.write(before);
        }
    }

    fn write(&mut self, parcel: Parcel) {
        let is_behind = planted!("per-core-spill-passed": {
            self.drain_spill();
            !self.spill.is_empty()
        } => false);
        if is_behind {
            return self.spill.push_back(parcel);
        }
        match self.ring.write(parcel) {
            Ok(()) => self.has_new = true,
            Err(WriteError::Full(parcel) | WriteError::Disconnected(parcel)) => {
                self.spill.push_back(parcel);
            }
        }
    }

    fn drain_spill(&mut self) {
        while let Some(parcel) = self.spill.pop_front() {
            match self.ring.write(parcel) {
                Ok(()) => self.has_new = true,
                Err(WriteError::Full(parcel) | WriteError::Disconnected(parcel)) => {
                    return self.spill.push_front(parcel);
                }
            }
        }
    }

    /// Whether so much is unseen that it is time for a flush. Not while the ring is full: it has no room for more.
    fn is_due(&mut self) -> bool {
        let is_time = self.unseen >= UNSEEN_MAX || self.joined >= JOINED_MAX;
        is_time && (self.spill.is_empty() || self.ring.has_room(1))
    }

    /// Makes everything visible that the ring has room for; `true` if there is something new.
    fn flush(&mut self) -> bool {
        self.drain_spill();
        if let Some(parcel) = self.open.take() {
            self.write(parcel);
        }
        (self.unseen, self.joined) = (0, 0);
        if !std::mem::take(&mut self.has_new) {
            return false;
        }
        // A receiver that has gone has taken its worker with it, and nobody is told any more.
        self.ring.flush().is_ok()
    }
}

/// See the [module](self).
#[derive(Debug)]
pub(super) struct Desk {
    pub(super) ready: Line,
    out: Box<[Outbox]>,
    rings: Box<[Receiver<Parcel>]>,
    /// The workers for whom something is kept back, unseen or spilled.
    dirty: u64,
    /// The workers who were told in this turn that there is something for them.
    told: u64,
    /// Who has left more than was taken so far.
    pub(super) left_over: u64,
    /// Where what the lane held is taken to; kept for reuse.
    pub(super) taken: VecDeque<Cargo>,
    /// What waits for answers, by the numbers of the fences. Each worker answers in order, so errands are done in order, too:
    /// who is told of the last answer looks from the first one on.
    waiting: VecDeque<Waiting>,
    /// Mail for actors that are about to arrive, in order.
    pub(super) held: Vec<Cargo>,
    /// What is to be delivered behind all mail that was sent before, when that has been taken in.
    pub(super) behind: VecDeque<Cargo>,
    /// Fences so far.
    fences: u64,
}

impl Desk {
    /// The desks of `count` workers, with a ring from each to each, which is near its receiver.
    pub(super) fn all(count: usize, cores: &Cores) -> Vec<Self> {
        let (mut senders, mut receivers) = (Vec::new(), Vec::new());
        senders.resize_with(count, Vec::new);
        for worker in 0..count {
            let is_near = cores.of(worker).is_some();
            let rings = move || (0..count).map(|_| ring(is_near)).unzip();
            let (inputs, outputs): (Vec<_>, Vec<_>) = cores.near(worker, rings);
            for (row, input) in senders.iter_mut().zip(inputs) {
                row.push(Outbox::new(input));
            }
            receivers.push(outputs);
        }
        let desk = |(out, rings): (Vec<Outbox>, Vec<Receiver<Parcel>>)| Self {
            ready: Line::new(),
            out: out.into_boxed_slice(),
            rings: rings.into_boxed_slice(),
            dirty: 0,
            told: 0,
            left_over: 0,
            taken: VecDeque::with_capacity(LANE_AT_START),
            waiting: VecDeque::new(),
            held: Vec::new(),
            behind: VecDeque::new(),
            fences: 0,
        };
        senders.into_iter().zip(receivers).map(desk).collect()
    }

    /// Puts a parcel into the box for worker `to`; `true` if it is time to flush that: the first one of
    /// a turn does not wait for others.
    #[must_use]
    pub(super) fn put(&mut self, to: usize, parcel: Parcel) -> bool {
        let first = self.told & (1 << to) == 0;
        self.told |= 1 << to;
        self.dirty |= 1 << to;
        self.out[to].put(parcel);
        first || self.out[to].is_due()
    }

    /// The same for one user message, without a parcel of its own if it can join the one before.
    ///
    /// # Safety
    /// The caller owns `node`, whose kind fits the actor, and gives it away.
    #[must_use]
    pub(super) unsafe fn put_mail(
        &mut self,
        to: usize,
        cell: &CellRef,
        node: NonNull<Node>,
    ) -> bool {
        let out = &mut self.out[to];
        if let Some(Parcel::Cargo(cargo)) = &mut out.open
            // SAFETY: the caller's promise.
            && unsafe { cargo.add_mail(cell, node) }
        {
            out.joined += 1;
            return out.is_due();
        }
        // SAFETY: the caller's promise; it was not taken above.
        self.put(to, Parcel::Cargo(unsafe { Cargo::mail(cell.clone(), node) }))
    }

    /// Makes visible what is in the box for worker `to`; `true` if that must be told.
    #[must_use]
    pub(super) fn flush(&mut self, to: usize) -> bool {
        let out = &mut self.out[to];
        let told = out.flush();
        if out.spill.is_empty() {
            self.dirty &= !(1 << to);
        }
        told
    }

    /// Says that a turn is over; `true` if there is something to flush or to take in, or a high actor
    /// waits.
    #[inline]
    pub(super) fn end_turn(&mut self) -> bool {
        self.told = 0;
        // As one word: most often all of it is zero.
        let waiting = self.behind.len() | self.ready.high_len();
        self.dirty | self.left_over != 0 || waiting != 0
    }

    /// Whether the ring to worker `to` had no room for all that was sent.
    pub(super) fn has_spilled(&self, to: usize) -> bool {
        planted!("per-core-congestion-unseen": !self.out[to].spill.is_empty() => false)
    }

    /// Whether everything for worker `to` is in its ring, and it was told.
    pub(super) fn has_sent_all(&self, to: usize) -> bool {
        self.dirty & (1 << to) == 0
    }

    /// The workers whose boxes want a flush.
    pub(super) fn dirty(&self) -> u64 {
        self.dirty
    }

    /// Whether there is something to flush or to take in.
    fn has_trade(&self) -> bool {
        self.dirty | self.left_over != 0 || !self.behind.is_empty()
    }

    /// How many parcels have no room in their rings, if there is nothing to do but to send them.
    pub(super) fn stuck(&self) -> Option<usize> {
        let has_other = self.left_over != 0 || !self.behind.is_empty() || !self.ready.is_empty();
        let spilled = || workers_in(self.dirty).map(|to| self.out[to].spill.len()).sum();
        (self.dirty != 0 && !has_other).then(spilled)
    }

    /// Whether there is anything to do.
    pub(super) fn has_work(&self) -> bool {
        self.has_trade() || !self.ready.is_empty()
    }

    /// Lets the receiver's end of the ring from worker `from` see what is new.
    pub(super) fn sync(&mut self, from: usize) {
        self.rings[from].sync();
    }

    /// Lets an errand of worker `own` wait until every other one has answered; returns the number of
    /// their fences.
    pub(super) fn wait(&mut self, errand: Errand, own: usize) -> u64 {
        self.fences += 1;
        let unanswered = ((1 << self.out.len()) - 1) & !(1 << own);
        self.waiting.push_back(Waiting { errand, fence: self.fences, unanswered });
        self.fences
    }

    /// Whether actors are about to leave.
    pub(super) fn is_moving(&self) -> bool {
        self.waiting.iter().any(|waiting| !waiting.actors().is_empty())
    }

    /// Whether there may be something to share, about which nobody is asked yet.
    pub(super) fn may_share(&self) -> bool {
        let is_asking = |waiting: &Waiting| matches!(waiting.errand, Errand::Share(_));
        self.ready.len() > 1
            && !self.is_moving()
            && !self.waiting.iter().any(is_asking)
            && self.ready.front(MOVED_MAX).any(may_move)
    }

    /// Takes up to `most` actors out of those that are to run next to let them move, unless others are about to. Who is
    /// pinned keeps its place: were it to go behind the others, it might never run.
    pub(super) fn pick(&mut self, most: usize) -> Vec<Ready> {
        if self.is_moving() {
            return Vec::new();
        }
        let actors = self.ready.take_some(MOVED_MAX, most.min(MOVED_MAX), may_move);
        planted!("per-core-pinned-lose-place": () => {
            let next = self.ready.pop();
            next.into_iter().for_each(|ready| self.ready.push(ready));
        });
        actors
    }

    /// Whether that actor is about to leave.
    pub(super) fn keeps(&self, cell: &CellRef) -> bool {
        self.waiting.iter().flat_map(Waiting::actors).any(|ready| ready.is_of(cell))
    }

    /// Gives the actors of a move their new home.
    pub(super) fn announce(&self, fence: u64, home: Home) {
        let moving = self.waiting.iter().filter(|waiting| waiting.fence == fence);
        for ready in moving.flat_map(Waiting::actors) {
            // SAFETY: the tokens of real cells are moved only.
            unsafe { ready.header() }.set_home(home.moving());
        }
    }

    /// Notes that worker `other` has answered a fence.
    pub(super) fn answered(&mut self, other: usize, fence: u64) {
        if let Ok(place) = self.waiting.binary_search_by_key(&fence, |waiting| waiting.fence) {
            self.waiting[place].unanswered &= !(1 << other);
        }
    }

    /// An errand whose fences are all answered.
    pub(super) fn take_answered(&mut self) -> Option<Errand> {
        self.waiting.front().filter(|first| first.unanswered == 0)?;
        self.waiting.pop_front().map(|first| first.errand)
    }

    /// What is to be delivered behind all mail that was sent before, if anything is.
    pub(super) fn take_behind(&mut self) -> Option<VecDeque<Cargo>> {
        (!self.behind.is_empty()).then(|| std::mem::take(&mut self.behind))
    }

    /// What was held for an actor that has arrived.
    pub(super) fn take_held(&mut self, arrived: &Ready) -> Vec<Cargo> {
        self.held.extract_if(.., |cargo| arrived.is_of(cargo.to())).collect()
    }

    /// Everything that is on its way to this desk or from it.
    pub(super) fn take_all(&mut self) -> (Vec<Parcel>, Vec<Cargo>, VecDeque<Waiting>) {
        let mut parcels = Vec::new();
        for out in &mut self.out {
            parcels.extend(out.spill.drain(..).chain(out.open.take()));
        }
        for ring in &mut self.rings {
            ring.sync();
            parcels.extend(std::iter::from_fn(|| ring.poll()));
        }
        let mut cargo = std::mem::take(&mut self.held);
        cargo.extend(self.behind.drain(..));
        (parcels, cargo, std::mem::take(&mut self.waiting))
    }

    /// The next parcel from worker `from`.
    pub(super) fn receive(&mut self, from: usize) -> Option<Parcel> {
        self.rings[from].poll()
    }
}

/// A ring between two workers. If it `is_near` its receiver, all of it is written to once by the calling thread: otherwise
/// its slots would be near the sender, who is the first to write to them.
pub(super) fn ring(is_near: bool) -> (Sender<Parcel>, Receiver<Parcel>) {
    let (mut sender, mut receiver) = spsc::channel(RING_CAPACITY);
    if is_near {
        while sender.send(Parcel::Answer(0)).is_ok() {}
        while receiver.try_recv().is_ok() {}
    }
    (sender, receiver)
}

/// Whether an actor that is ready may live elsewhere.
fn may_move(ready: &Ready) -> bool {
    // SAFETY: the tokens of real cells are in desks only.
    let cell = unsafe { ready.header() };
    planted!("per-core-pinned-moves": !cell.is_pinned() => true)
}

/// The numbers of the workers in a set.
pub(super) fn workers_in(mut set: u64) -> impl Iterator<Item = usize> {
    set &= !EXTERNAL;
    std::iter::from_fn(move || {
        let worker = set.trailing_zeros() as usize;
        set &= set.checked_sub(1)?;
        Some(worker)
    })
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::{JOINED_MAX, Outbox, Parcel, RING_CAPACITY, ring};

    #[test]
    fn what_has_spilled_goes_on_also_while_messages_do_nothing_but_join() {
        let (sender, mut receiver) = ring(false);
        let mut out = Outbox::new(sender);
        (0..=RING_CAPACITY as u64).for_each(|number| out.put(Parcel::Fence(number)));
        out.flush();
        out.joined = JOINED_MAX;
        assert!(!out.spill.is_empty() && !out.is_due(), "there is no room");
        while receiver.try_recv().is_ok() {}
        assert!(out.is_due());
        assert!(out.flush() && out.spill.is_empty());
        assert!(matches!(receiver.try_recv(), Ok(Parcel::Fence(_))));
    }
}
