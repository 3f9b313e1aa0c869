//! The queue pair that users of a simulated device hold.

use super::super::verbs::{
    Completion, ConnectError, DeviceError, Endpoint, Outcome, PostError, QueuePair, QueuePairState,
    Receives, Timing, Via,
};
use super::events::Event;
use super::fabric::{State, identity};
use super::handles::{At, SimAddress, SimSlot};
use super::pair::{Kind, Pair, Payload, Send, Target};
use super::transfer::NEVER;
use crate::link::Time;
use std::cell::RefMut;
use std::future::Future;
use std::io;
use std::ops::Range;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

pub(super) fn push_receive(at: &At, queue: usize, slot: SimSlot) -> Result<(), PostError<SimSlot>> {
    if slot.host != at.host {
        return Err(PostError::Foreign(slot));
    }
    at.state().receives(queue).push(slot).map_err(PostError::Full)
}

/// A simulated queue pair.
#[derive(Debug)]
pub struct SimQueuePair {
    pub(super) at: At,
    pub(super) pair: usize,
    pub(super) receives: usize,
    /// Whether the receives are its own.
    pub(super) is_own: bool,
    pub(super) inline: u32,
}

impl SimQueuePair {
    /// That the ends fit together; and for how long the system looks for the peer, if it does not find it at once.
    fn check(&self, peer: &Endpoint, timing: &Timing) -> Result<Option<Duration>, ConnectError> {
        drop(self.at.called());
        let state = self.at.alive()?;
        if peer.qpn >> 24 != 0 || peer.psn >> 24 != 0 {
            return Err(ConnectError::Range("a number of the peer's"));
        }
        if timing.timeout > 31 || timing.retries > 7 || timing.not_ready_retries > 7 {
            return Err(ConnectError::Range("a time"));
        }
        Ok(state.search(&peer.gid))
    }

    /// Is connected, if the system has found the peer by now.
    fn join(
        &self,
        mut state: RefMut<'_, State>,
        peer: &Endpoint,
        timing: &Timing,
    ) -> Result<(), ConnectError> {
        if state.search(&peer.gid).is_some() {
            return Err(ConnectError::System(io::ErrorKind::TimedOut.into()));
        }
        let it = state.pair(self.pair).ok_or(ConnectError::State)?;
        if it.is_datagram() || it.state != QueuePairState::Made {
            return Err(ConnectError::State);
        }
        it.kind = Kind::Connected { peer: Some(*peer), timing: *timing };
        it.state = QueuePairState::Ready;
        Ok(())
    }

    /// Does something with the queue pair, which is there for as long as this handle is.
    fn with<T>(&self, what: impl FnOnce(&mut Pair) -> T) -> Option<T> {
        self.at.state().pair(self.pair).map(what)
    }

    /// Whom a send is for, if this kind of queue pair can send to it.
    fn target(
        &self,
        pair: &Pair,
        via: Via<'_, SimAddress>,
    ) -> Result<Option<Target>, PostError<()>> {
        match via {
            _ if pair.state != QueuePairState::Ready => Err(PostError::State(())),
            Via::Datagram { address, .. } if address.host != self.at.host => {
                Err(PostError::Foreign(()))
            }
            Via::Datagram { address, qpn, qkey } if pair.is_datagram() => {
                Ok(Some(Target { gid: address.gid, qpn, qkey }))
            }
            Via::Connection if !pair.is_datagram() => Ok(None),
            _ => Err(PostError::State(())),
        }
    }
}

impl Receives for SimQueuePair {
    type Slot = SimSlot;

    fn push_receive(&mut self, slot: SimSlot) -> Result<(), PostError<SimSlot>> {
        let has_failed = self.with(|it| it.state == QueuePairState::Failed).unwrap_or(true);
        if !self.is_own || has_failed {
            return Err(PostError::State(slot));
        }
        push_receive(&self.at, self.receives, slot)
    }

    fn ring_receives(&mut self) -> Result<(), DeviceError> {
        self.at.alive()?.receives(self.receives).ring();
        Ok(())
    }

    fn received(&mut self, completion: &Completion) -> Option<SimSlot> {
        if !self.is_own || completion.queue != identity(self.receives) {
            return None;
        }
        self.at.state().receives(self.receives).slots.take(completion.work)
    }

    fn receives_posted(&self) -> usize {
        if self.is_own { self.at.state().receives(self.receives).slots.len() } else { 0 }
    }

    fn receives_overtaken(&self) -> usize {
        if self.is_own { self.at.state().receives(self.receives).slots.overtaken() } else { 0 }
    }
}

impl QueuePair for SimQueuePair {
    type Address = SimAddress;

    fn endpoint(&self) -> Endpoint {
        self.with(|it| State::endpoint(it)).unwrap_or_default()
    }

    fn inline_bytes_max(&self) -> usize {
        self.inline as usize
    }

    fn connect(&mut self, peer: &Endpoint, timing: &Timing) -> Result<(), ConnectError> {
        let search = self.check(peer, timing)?;
        let mut state = self.at.alive()?;
        if let Some(search) = search {
            let until = state.now() + search;
            state.advance(until);
        }
        self.join(state, peer, timing)
    }

    fn push_send(
        &mut self,
        slot: SimSlot,
        bytes: Range<usize>,
        via: Via<'_, SimAddress>,
        signalled: bool,
    ) -> Result<(), PostError<SimSlot>> {
        if slot.host != self.at.host {
            return Err(PostError::Foreign(slot));
        }
        let mut state = self.at.state();
        let mtu = usize::from(state.host_mut(self.at.host).mtu_bytes);
        let Some(it) = state.pair(self.pair) else { return Err(PostError::State(slot)) };
        if slot.as_ref().get(bytes.clone()).is_none() || it.is_datagram() && bytes.len() > mtu {
            return Err(PostError::TooLong(slot));
        }
        let target = match self.target(it, via) {
            Ok(target) => target,
            Err(PostError::Foreign(())) => return Err(PostError::Foreign(slot)),
            Err(_) => return Err(PostError::State(slot)),
        };
        match it.slots.push(Some(slot)) {
            Ok(work) => {
                let payload = Payload::Slot(bytes);
                it.waiting.push_back(Send { work, payload, target, signalled, due: NEVER });
                Ok(())
            }
            Err(full) => Err(PostError::Full(full.0.expect("the slot that was pushed"))),
        }
    }

    fn push_inline(
        &mut self,
        bytes: &[u8],
        via: Via<'_, SimAddress>,
        signalled: bool,
    ) -> Result<(), PostError<()>> {
        if bytes.len() > self.inline_bytes_max() {
            return Err(PostError::TooLong(()));
        }
        let mut state = self.at.state();
        let mut copy = state.buffer();
        copy.extend_from_slice(bytes);
        let Some(it) = state.pair(self.pair) else { return Err(PostError::State(())) };
        let target = self.target(it, via)?;
        let work = it.slots.push(None).map_err(|_| PostError::Full(()))?;
        let payload = Payload::Inline(copy);
        it.waiting.push_back(Send { work, payload, target, signalled, due: NEVER });
        Ok(())
    }

    fn ring_sends(&mut self) -> Result<(), DeviceError> {
        drop(self.at.called());
        let mut state = self.at.alive()?;
        let it = state.pair(self.pair).ok_or(DeviceError::Failed)?;
        if it.state == QueuePairState::Failed {
            return Err(DeviceError::Failed);
        }
        state.ring_sends(self.pair);
        Ok(())
    }

    fn sent(&mut self, completion: &Completion, mut back: impl FnMut(SimSlot)) {
        if !self.owns(completion) {
            return;
        }
        // One by one, since the caller may use the network in between.
        while let Some(slot) = self.with(|it| it.slots.take(completion.work)).flatten() {
            back(slot);
        }
    }

    fn owns(&self, completion: &Completion) -> bool {
        let has = || self.with(|it| it.slots.has(completion.work)).unwrap_or(false);
        completion.queue == identity(self.pair) && has()
    }

    fn sends_posted(&self) -> usize {
        self.with(|it| it.slots.len()).unwrap_or(0)
    }

    fn state(&self) -> Result<QueuePairState, DeviceError> {
        self.at.alive()?;
        self.with(|it| it.state).ok_or(DeviceError::Failed)
    }

    fn access(&self) -> Result<u32, DeviceError> {
        self.at.alive()?;
        Ok(0)
    }

    fn fail(&mut self) -> Result<(), DeviceError> {
        drop(self.at.called());
        self.at.alive()?.fail(self.pair, Outcome::Flushed);
        Ok(())
    }

    fn drain(&mut self) -> Result<(), DeviceError> {
        self.fail()?;
        self.at.alive()?.drain(self.pair);
        Ok(())
    }

    fn end(self, back: impl FnMut(SimSlot)) {
        let mut slots = Vec::new();
        if let Some(mut gone) = self.at.state().remove_pair(self.pair) {
            gone.slots.release_all(|slot| slots.push(slot));
        }
        if self.is_own {
            let keep = |slot| slots.push(slot);
            self.at.state().receives(self.receives).slots.take_all(keep);
        }
        slots.into_iter().for_each(back);
    }
}

impl Drop for SimQueuePair {
    fn drop(&mut self) {
        self.at.called().let_go(self.pair);
    }
}

/// A simulated queue pair that is being connected: for as long as the system looks for its peer. Where this is dropped before,
/// it is destroyed then.
#[derive(Debug)]
pub struct SimConnecting {
    pair: Option<SimQueuePair>,
    peer: Endpoint,
    timing: Timing,
    until: Time,
    /// Who is woken then.
    waker: Option<Waker>,
}

impl SimConnecting {
    pub(super) fn new(pair: SimQueuePair, peer: &Endpoint, timing: &Timing) -> Self {
        // What does not fit together is said at once.
        let search = pair.check(peer, timing).ok().flatten().unwrap_or_default();
        let until = pair.at.state().now() + search;
        pair.with(|it| it.searched_until = until);
        Self { pair: Some(pair), peer: *peer, timing: *timing, until, waker: None }
    }
}

impl Future for SimConnecting {
    type Output = Result<SimQueuePair, ConnectError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let pair = self.pair.take().expect("nobody asks again once it was said");
        if pair.at.state().now() < self.until {
            if !self.waker.as_ref().is_some_and(|waker| waker.will_wake(context.waker())) {
                let waker = context.waker().clone();
                pair.at.state().at(self.until, Event::Wake(waker.clone()));
                self.waker = Some(waker);
            }
            self.pair = Some(pair);
            return Poll::Pending;
        }
        let Self { peer, timing, .. } = &*self;
        let checked = pair.check(peer, timing);
        let joined = checked.and_then(|_| pair.join(pair.at.alive()?, peer, timing));
        Poll::Ready(joined.map(|()| pair))
    }
}
