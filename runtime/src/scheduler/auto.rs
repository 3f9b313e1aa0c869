//! Which ready queue a system gets that does not choose one.
//!
//! The table is the place to change when figures change: `bench run` writes them to
//! `benches/RESULTS.md`.

/// The queues to choose from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    /// [`LockedQueue`](super::LockedQueue).
    Locked,
    /// [`StealingQueue`](super::StealingQueue).
    Stealing,
}

/// Up to how many workers which queue is taken, fewest first; the last row is for all others.
const TABLE: [(usize, Choice); 2] = [(1, Choice::Locked), (usize::MAX, Choice::Stealing)];

/// The queue for that many workers.
pub(crate) fn choose(workers: usize) -> Choice {
    let row = TABLE.iter().find(|(workers_max, _)| workers <= *workers_max);
    row.map_or(Choice::Stealing, |(_, choice)| *choice)
}
