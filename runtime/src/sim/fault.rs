//! What can go wrong in a world.

/// A kind of fault, of those that a [storm](super::World::storm) is drawn from.
///
/// How bad a fault is, and how often it strikes, is drawn with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Fault {
    /// A node is killed, and starts again some time later.
    Kill,
    /// A node is told to stop, and starts again some time later.
    Stop,
    /// Nothing of a node runs for a while, up to minutes, though its clock goes on: a machine that swaps.
    Pause,
    /// A node's clock is ahead of the world's, from the start.
    Offset,
    /// A node's clock runs fast or slow, by up to a tenth, from the start.
    Drift,
    /// A node's clock jumps ahead.
    Jump,
    /// A node's clock stands still for a while, up to minutes.
    Freeze,
    /// What a node does takes up to a thousand times as long, for a while.
    Slow,
    /// Links lose packets, each by itself.
    Loss,
    /// Links lose packets in bursts ([`Link::bursts`](super::Link::bursts)).
    Bursts,
    /// Packets overtake each other.
    Jitter,
    /// Packets arrive twice.
    Duplication,
    /// Packets arrive with bits flipped, or cut short.
    Corruption,
    /// Sockets have no room now and then for what is to be sent, for some milliseconds.
    FullBuffer,
    /// Long packets do not get through from one node to another, for a while.
    Narrow,
    /// Nothing gets through from one node to another for a while; the way back stays.
    OneWay,
    /// A node is cut off from all others, both ways, for a while.
    BlackHole,
    /// Some nodes are cut off, one after the other, and joined again in another order (FoundationDB's
    /// swizzle-clogging).
    Swizzle,
    /// A port of a node is seen under another address from then on.
    Rebind,
}

impl Fault {
    /// All kinds.
    pub const ALL: [Self; 19] = [
        Self::Kill,
        Self::Stop,
        Self::Pause,
        Self::Offset,
        Self::Drift,
        Self::Jump,
        Self::Freeze,
        Self::Slow,
        Self::Loss,
        Self::Bursts,
        Self::Jitter,
        Self::Duplication,
        Self::Corruption,
        Self::FullBuffer,
        Self::Narrow,
        Self::OneWay,
        Self::BlackHole,
        Self::Swizzle,
        Self::Rebind,
    ];

    /// Whether it is one of the links between nodes, of which a single one has none.
    pub(super) const fn is_of_links(self) -> bool {
        match self {
            Self::Loss
            | Self::Bursts
            | Self::Jitter
            | Self::Duplication
            | Self::Corruption
            | Self::FullBuffer
            | Self::Narrow
            | Self::OneWay
            | Self::BlackHole
            | Self::Swizzle => true,
            Self::Kill
            | Self::Stop
            | Self::Pause
            | Self::Offset
            | Self::Drift
            | Self::Jump
            | Self::Freeze
            | Self::Slow
            | Self::Rebind => false,
        }
    }
}
