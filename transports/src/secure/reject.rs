//! Why a datagram is dropped: one reason each, counted once, and nothing else changes.

/// Why a datagram was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, thiserror::Error)]
#[non_exhaustive]
pub enum Reject {
    /// It has no byte.
    #[error("no byte")]
    Empty,
    /// A fixed or reserved bit is not what it must be.
    #[error("a fixed bit is wrong")]
    Fixed,
    /// Its type is not assigned.
    #[error("unknown type")]
    Kind,
    /// It is of another version.
    #[error("another version")]
    Version,
    /// Its suite is unknown, or not allowed here.
    #[error("suite unknown or not allowed")]
    Suite,
    /// It is shorter or longer than its type is.
    #[error("wrong length")]
    Length,
    /// Nobody here goes by its index.
    #[error("unknown index")]
    Index,
    /// The index belongs to keys without this lane.
    #[error("unknown lane")]
    Lane,
    /// A packet with its number has been opened.
    #[error("replayed")]
    Replayed,
    /// Its number lies below the window.
    #[error("too old")]
    TooOld,
    /// Its number lies above the last that a key may be used for.
    #[error("number out of range")]
    Number,
    /// Its tag does not fit.
    #[error("forged")]
    Forged,
    /// Its keys are older than keys may be.
    #[error("keys expired")]
    Expired,
    /// Its first code does not fit the receiver's key.
    #[error("not meant for this node")]
    Mac1,
    /// Its second code fits no cookie.
    #[error("no valid cookie")]
    Mac2,
    /// A cookie was asked for first.
    #[error("cookie asked for")]
    Cookie,
    /// Its source sends more than it may.
    #[error("source sends too much")]
    Rate,
    /// Its Noise message does not open.
    #[error("handshake does not open")]
    Handshake,
    /// It names a node that is not allowed here.
    #[error("unknown node")]
    Peer,
    /// It is not newer than the last handshake of that node.
    #[error("handshake is not new")]
    Stale,
    /// It belongs to the worse of two handshakes that crossed.
    #[error("crossed by our own handshake")]
    Crossed,
    /// It answers nothing that was asked.
    #[error("answers nothing")]
    Unasked,
    /// There is no room for another association.
    #[error("no room")]
    Full,
    /// Its text is no control message of this layer.
    #[error("malformed control message")]
    Control,
    /// There is no room for another node that was met by the cluster key.
    #[error("too many nodes were met by the cluster key")]
    TooManyMet,
}

impl Reject {
    /// Every reason, in the order of the counters.
    pub const ALL: [Self; 25] = [
        Self::Empty,
        Self::Fixed,
        Self::Kind,
        Self::Version,
        Self::Suite,
        Self::Length,
        Self::Index,
        Self::Lane,
        Self::Replayed,
        Self::TooOld,
        Self::Number,
        Self::Forged,
        Self::Expired,
        Self::Mac1,
        Self::Mac2,
        Self::Cookie,
        Self::Rate,
        Self::Handshake,
        Self::Peer,
        Self::Stale,
        Self::Crossed,
        Self::Unasked,
        Self::Full,
        Self::Control,
        Self::TooManyMet,
    ];
}
