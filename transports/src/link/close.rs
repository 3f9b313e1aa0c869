//! Why a lane ends.

/// Why an end closed the association, as its CLOSE frame says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CloseReason {
    /// The node ends, or its owner wanted it so.
    Shutdown,
    /// A packet held what is no frame.
    BadFrame,
    /// An acknowledgement of a packet that was never sent.
    AckOfUnsent,
    /// A message further ahead than the window allows.
    WindowExceeded,
    /// More bytes than were granted.
    CreditExceeded,
    /// A message larger than the receiver takes.
    MessageTooBig,
    /// More messages in pieces, or more bytes of them, than the receiver takes.
    ReassemblyExceeded,
    /// Pieces that contradict one another.
    BadFragment,
    /// A predecessor that is not below its message, or that has two successors.
    BadOrder,
    /// The node ends, or its owner wanted it so, before all that it said was acknowledged.
    Unsettled,
    /// Packets come, but none of ours is acknowledged.
    NothingAcked,
    /// A reason that this version does not know.
    Other(u64),
}

impl CloseReason {
    const KNOWN: [Self; 11] = [
        Self::Shutdown,
        Self::BadFrame,
        Self::AckOfUnsent,
        Self::WindowExceeded,
        Self::CreditExceeded,
        Self::MessageTooBig,
        Self::ReassemblyExceeded,
        Self::BadFragment,
        Self::BadOrder,
        Self::Unsettled,
        Self::NothingAcked,
    ];

    pub(super) fn from_wire(number: u64) -> Self {
        let known = usize::try_from(number).ok().and_then(|at| Self::KNOWN.get(at).copied());
        known.unwrap_or(Self::Other(number))
    }

    pub(super) const fn to_wire(self) -> u64 {
        match self {
            Self::Shutdown => 0,
            Self::BadFrame => 1,
            Self::AckOfUnsent => 2,
            Self::WindowExceeded => 3,
            Self::CreditExceeded => 4,
            Self::MessageTooBig => 5,
            Self::ReassemblyExceeded => 6,
            Self::BadFragment => 7,
            Self::BadOrder => 8,
            Self::Unsettled => 9,
            Self::NothingAcked => 10,
            Self::Other(number) => number,
        }
    }
}

/// How a lane ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum End {
    /// This end closed it.
    Closed(CloseReason),
    /// The peer closed it.
    ClosedByPeer(CloseReason),
    /// The peer broke the protocol, for which this end closed it.
    Misbehaved(CloseReason),
    /// Nothing was heard from the peer for too long.
    Silent,
    /// The peer does not know the association: its carrier said so, and proved that it may.
    Reset,
    /// The peer has a new incarnation.
    Superseded,
}

impl End {
    /// How many there are, but for what reasons that are not known say.
    pub(crate) const COUNT: usize = 3 * (CloseReason::KNOWN.len() + 1) + 3;

    /// Which of them it is.
    pub(crate) fn index(self) -> usize {
        let known = CloseReason::KNOWN.len();
        let of = |reason: CloseReason| {
            usize::try_from(reason.to_wire()).map_or(known, |number| number.min(known))
        };
        match self {
            Self::Closed(reason) => of(reason),
            Self::ClosedByPeer(reason) => known + 1 + of(reason),
            Self::Misbehaved(reason) => 2 * (known + 1) + of(reason),
            Self::Silent => Self::COUNT - 3,
            Self::Reset => Self::COUNT - 2,
            Self::Superseded => Self::COUNT - 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_end_has_an_index_of_its_own() {
        let reasons = CloseReason::KNOWN.into_iter().chain([CloseReason::Other(u64::MAX)]);
        let mut ends: Vec<_> = reasons
            .flat_map(|reason| {
                [End::Closed(reason), End::ClosedByPeer(reason), End::Misbehaved(reason)]
            })
            .chain([End::Silent, End::Reset, End::Superseded])
            .map(End::index)
            .collect();
        ends.sort_unstable();
        assert_eq!(ends, (0..End::COUNT).collect::<Vec<_>>());
    }
}
