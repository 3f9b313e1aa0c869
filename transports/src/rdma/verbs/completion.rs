//! What a device says it has done, and how that is told apart from everything else it does.

/// Whether something was sent or received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// It was sent.
    Send,
    /// It was received.
    Receive,
}

const RECEIVE: u64 = 1 << 63;
const OWNER_SHIFT: u32 = 48;
const SEQUENCE_MASK: u64 = (1 << OWNER_SHIFT) - 1;
/// The highest owner; see [`WorkId`].
pub(in crate::rdma) const OWNER_MAX: u16 = (1 << 15) - 1;

/// The number of a request, as the device keeps it: whether it receives, whose it is, and its place.
///
/// The owner is chosen when the queue is made, to find it by without looking anything up. Sequences
/// ascend and do not come back (half of 2^48 of them at least), so a completion that is seen twice does nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkId(u64);

impl WorkId {
    /// The id of that place in the queue of `owner`, of which the lowest 15 bits count.
    #[must_use]
    pub const fn new(direction: Direction, owner: u16, sequence: u64) -> Self {
        let receive = if matches!(direction, Direction::Receive) { RECEIVE } else { 0 };
        let owner = (owner & OWNER_MAX) as u64;
        Self(receive | owner << OWNER_SHIFT | sequence & SEQUENCE_MASK)
    }

    /// The id that a device kept (`wr_id`).
    #[must_use]
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// For the device to keep (`wr_id`).
    #[must_use]
    pub const fn to_bits(self) -> u64 {
        self.0
    }

    /// Whether it sends or receives.
    #[must_use]
    pub const fn direction(self) -> Direction {
        if self.0 & RECEIVE == 0 { Direction::Send } else { Direction::Receive }
    }

    /// Whose it is.
    #[must_use]
    pub const fn owner(self) -> u16 {
        (self.0 >> OWNER_SHIFT) as u16 & OWNER_MAX
    }

    /// Its place in the queue.
    #[must_use]
    pub const fn sequence(self) -> u64 {
        self.0 & SEQUENCE_MASK
    }
}

/// How a request ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// It was done.
    #[default]
    Done,
    /// It was not looked at: the queue pair had failed before.
    Flushed,
    /// The peer did not answer, however often it was repeated.
    Unanswered,
    /// The peer had nothing to receive into, however often it was repeated.
    ReceiverNotReady,
    /// What came is longer than the slot.
    TooLong,
    /// The peer refused it.
    Refused,
    /// Something else, by the number that the device gives.
    Failed(u32),
}

/// One request that the device is done with. Only devices make one that says so: who has it gets the
/// memory back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Completion {
    /// Which request.
    pub(in crate::rdma) work: WorkId,
    /// How it ended. Of one that is not [`Outcome::Done`] only [`work`](Self::work) and [`qpn`](Self::qpn) count.
    pub outcome: Outcome,
    /// The number of the queue pair here.
    pub(in crate::rdma) qpn: u32,
    /// Which queue it is of, of all that there ever are; zero is none. Owners and numbers are used again.
    pub(in crate::rdma) queue: u64,
    /// Of a receive: bytes in the slot, from its beginning; [`GRH_BYTES`](super::GRH_BYTES) included for a
    /// datagram.
    pub bytes: u32,
    /// Of a datagram: the number of the queue pair that sent it. Anyone can write it.
    pub from: u32,
    /// Of a datagram: the LID of the port that sent it, where there are any. Anyone can write that, too.
    pub from_lid: u16,
    /// Of a datagram: whether the first [`GRH_BYTES`](super::GRH_BYTES) of the slot mean anything.
    pub has_grh: bool,
}

impl Completion {
    /// Which request.
    #[must_use]
    pub const fn work(&self) -> WorkId {
        self.work
    }

    /// The number of the queue pair here.
    #[must_use]
    pub const fn qpn(&self) -> u32 {
        self.qpn
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_keeps_what_it_is_made_of() {
        for direction in [Direction::Send, Direction::Receive] {
            for (owner, sequence) in [(0, 0), (OWNER_MAX, SEQUENCE_MASK), (7, 1 << 40)] {
                let id = WorkId::from_bits(WorkId::new(direction, owner, sequence).to_bits());
                assert_eq!((id.direction(), id.owner()), (direction, owner));
                assert_eq!(id.sequence(), sequence);
            }
        }
        let cut = WorkId::new(Direction::Send, u16::MAX, u64::MAX);
        assert_eq!((cut.direction(), cut.owner()), (Direction::Send, OWNER_MAX));
    }
}
