//! Marks of congestion on packets.

/// What a packet is marked with (RFC 3168).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ecn {
    /// Nothing, and no router may mark it.
    #[default]
    NotCapable = 0,
    /// Able to be marked, the other way.
    Capable1 = 1,
    /// Able to be marked.
    Capable0 = 2,
    /// There was congestion.
    Congested = 3,
}

/// What a link does to marks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Marks {
    /// Leaves them as they are.
    #[default]
    Keeps,
    /// Takes them off.
    Clears,
    /// Marks what is able to be marked with congestion, while more than half of its queue is taken.
    Makes,
}
