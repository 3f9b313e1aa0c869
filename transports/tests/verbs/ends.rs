//! Queue pairs with what they need around them.

use greenroom_transports::rdma::verbs::{
    Completion, CompletionQueue, Device, Direction, Endpoint, Outcome, QueuePair, QueuePairConfig,
    Receives, Timing, Via,
};
use std::collections::VecDeque;

/// Where cases run.
pub(crate) trait Bench {
    type Device: Device;

    /// A device: another machine's each time, or the same.
    fn device(&self) -> Self::Device;

    /// Lets something happen. Panics once it has taken too long.
    async fn pass(&self);
}

pub(crate) const CONFIG: QueuePairConfig = QueuePairConfig {
    sends_max: 16,
    receives_max: 16,
    inline_bytes: 64,
    owner: 5,
    psn: 0x00ab_cdef,
};

/// Gives up within four seconds, which is long enough for a peer that an emulator keeps waiting.
pub(crate) const HASTY: Timing =
    Timing { timeout: 18, retries: 2, not_ready_retries: 1, not_ready_delay: 1 };

/// What came out of a completion queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Done {
    Sent(Outcome),
    /// The bytes, if it was received.
    Received(Outcome, Vec<u8>),
}

/// A queue pair, with its device, completions and memory.
pub(crate) struct End<D: Device> {
    pub(crate) device: D,
    pub(crate) completions: D::CompletionQueue,
    pub(crate) pair: D::QueuePair,
    pub(crate) free: Vec<D::Slot>,
    pub(crate) last: Completion,
}

impl<D: Device> End<D> {
    /// A connected one, or one for datagrams with that key.
    pub(crate) fn new(device: D, slot_bytes: usize, qkey: Option<u32>) -> Self {
        let completions = device.completion_queue(64).expect("a completion queue");
        let pair = match qkey {
            None => device.connected(&completions, None, &CONFIG),
            Some(qkey) => device.datagram(&completions, &CONFIG, qkey),
        };
        let free = device.register(48, slot_bytes).expect("memory");
        let pair = pair.expect("a queue pair");
        Self { device, completions, pair, free, last: Completion::default() }
    }

    pub(crate) fn slot(&mut self, text: &[u8]) -> D::Slot {
        let mut slot = self.free.pop().expect("enough slots for what is posted");
        slot.as_mut()[..text.len()].copy_from_slice(text);
        slot
    }

    /// Posts so many receives.
    pub(crate) fn receive(&mut self, count: usize) {
        for _ in 0..count {
            let slot = self.slot(b"");
            self.pair.push_receive(slot).expect("there is room");
        }
        self.pair.ring_receives().expect("the device takes them");
    }

    /// Sends over the connection.
    pub(crate) fn send(&mut self, text: &[u8], signalled: bool) {
        let slot = self.slot(text);
        let length = text.len();
        self.pair.push_send(slot, 0..length, Via::Connection, signalled).expect("there is room");
        self.pair.ring_sends().expect("the device takes it");
    }

    /// What is done by now; the slots are free again.
    pub(crate) fn done(&mut self) -> Vec<Done> {
        let mut batch = [Completion::default(); 32];
        let count = self.completions.poll(&mut batch).expect("the device is there");
        batch[..count].iter().map(|completion| self.done_with(completion)).collect()
    }

    fn done_with(&mut self, completion: &Completion) -> Done {
        assert_eq!(completion.work().owner(), CONFIG.owner);
        self.last = *completion;
        match completion.work().direction() {
            Direction::Send => {
                let free = &mut self.free;
                self.pair.sent(completion, |slot| free.push(slot));
                Done::Sent(completion.outcome)
            }
            Direction::Receive => {
                let slot = self.pair.received(completion).expect("each comes back once");
                assert!(self.pair.received(completion).is_none(), "and no more than once");
                let length = if completion.outcome == Outcome::Done { completion.bytes } else { 0 };
                let text = slot.as_ref()[..length as usize].to_vec();
                self.free.push(slot);
                Done::Received(completion.outcome, text)
            }
        }
    }
}

/// Waits until so many things were done.
pub(crate) async fn done<B: Bench>(bench: &B, end: &mut End<B::Device>, count: usize) -> Vec<Done> {
    let mut all = VecDeque::new();
    while all.len() < count {
        all.extend(end.done());
        bench.pass().await;
    }
    all.into()
}

pub(crate) fn received(text: &[u8]) -> Done {
    Done::Received(Outcome::Done, text.to_vec())
}

/// Two ends that are connected.
pub(crate) fn connected<B: Bench>(
    bench: &B,
    slot_bytes: usize,
    timing: &Timing,
) -> (End<B::Device>, End<B::Device>) {
    let mut left = End::new(bench.device(), slot_bytes, None);
    let mut right = End::new(bench.device(), slot_bytes, None);
    connect(&mut left.pair, &right.pair.endpoint(), timing);
    connect(&mut right.pair, &left.pair.endpoint(), timing);
    (left, right)
}

pub(crate) fn connect(pair: &mut impl QueuePair, to: &Endpoint, timing: &Timing) {
    pair.connect(to, timing).expect("the ends fit");
}
