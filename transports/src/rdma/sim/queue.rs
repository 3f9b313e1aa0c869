//! Queues of completions and of shared receives.

use super::super::verbs::{Completion, DeviceError, Direction, ReceiveRing, WorkId};
use super::fabric::{State, identity};
use super::handles::SimSlot;
use std::collections::VecDeque;
use std::task::Waker;

/// A completion queue, as its device has it.
#[derive(Debug)]
pub(super) struct Completions {
    pub(super) host: usize,
    depth: usize,
    entries: VecDeque<Completion>,
    pub(super) has_overflowed: bool,
    /// Whether it failed without a word to who polls it.
    pub(super) is_silent: bool,
    armed: bool,
    /// Events that nobody has taken: one for each time that something came while it was armed.
    pub(super) events: usize,
    waker: Option<Waker>,
}

impl Completions {
    pub(super) fn new(host: usize, depth: u32) -> Self {
        let depth = depth as usize;
        Self {
            host,
            depth,
            entries: VecDeque::new(),
            has_overflowed: false,
            is_silent: false,
            armed: false,
            events: 0,
            waker: None,
        }
    }

    /// Adds one; says whether there was room. A queue that overflowed stays that way.
    pub(super) fn push(&mut self, completion: Completion) -> bool {
        if self.is_silent {
            return true;
        }
        self.has_overflowed |= self.entries.len() >= self.depth;
        if !self.has_overflowed {
            self.entries.push_back(completion);
        }
        if std::mem::take(&mut self.armed) {
            self.events += 1;
            self.wake();
        }
        !self.has_overflowed
    }

    pub(super) fn wake(&mut self) {
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }

    fn poll(&mut self, into: &mut [Completion]) -> Result<usize, DeviceError> {
        if self.has_overflowed {
            return Err(DeviceError::Overflow);
        }
        let count = into.len().min(self.entries.len());
        for (place, completion) in into.iter_mut().zip(self.entries.drain(..count)) {
            *place = completion;
        }
        Ok(count)
    }

    pub(super) fn arm(&mut self) {
        self.armed = true;
    }

    /// Whether an event is there, which is taken; else who is to be told.
    pub(super) fn take_event(&mut self, waker: &Waker) -> bool {
        if self.events > 0 || self.has_overflowed {
            self.events = self.events.saturating_sub(1);
            return true;
        }
        self.waker = Some(waker.clone());
        false
    }

    /// Forgets what is said about a queue pair that is gone.
    pub(super) fn forget(&mut self, qpn: u32) {
        self.entries.retain(|it| it.qpn != qpn);
    }
}

impl State {
    /// Takes completions. A device says numbers of queue pairs alone: each is said to be of the queue pair that has its number
    /// by now, also where it is of one that had it before.
    pub(super) fn poll(
        &mut self,
        queue: usize,
        into: &mut [Completion],
    ) -> Result<usize, DeviceError> {
        let completions = self.completions(queue);
        let (host, count) = (completions.host, completions.poll(into)?);
        for completion in &mut into[..count] {
            completion.queue = 0;
            let Some(place) = self.place(host, completion.qpn) else { continue };
            let pair = self.pair(place).filter(|pair| pair.completions == queue);
            let Some(pair) = pair else { continue };
            completion.queue = match completion.work.direction() {
                Direction::Send => identity(place),
                Direction::Receive => identity(pair.receives),
            };
        }
        Ok(count)
    }
}

/// A receive queue: of one queue pair, or shared.
#[derive(Debug)]
pub(super) struct ReceiveQueue {
    pub(super) slots: ReceiveRing<SimSlot>,
    /// Pushed, and not yet rung.
    waiting: VecDeque<WorkId>,
    /// The device's, oldest first.
    posted: VecDeque<WorkId>,
    pub(super) has_failed: bool,
}

impl ReceiveQueue {
    pub(super) fn new(depth: u32, owner: u16) -> Self {
        let slots = ReceiveRing::new(depth, owner);
        Self { slots, waiting: VecDeque::new(), posted: VecDeque::new(), has_failed: false }
    }

    pub(super) fn push(&mut self, slot: SimSlot) -> Result<(), SimSlot> {
        let work = self.slots.push(slot).map_err(|full| full.0)?;
        self.waiting.push_back(work);
        Ok(())
    }

    pub(super) fn ring(&mut self) {
        self.posted.append(&mut self.waiting);
    }

    /// What the next message goes into.
    pub(super) fn next(&mut self) -> Option<WorkId> {
        self.posted.pop_front()
    }

    pub(super) fn is_ready(&self) -> bool {
        !self.has_failed && !self.posted.is_empty()
    }
}
