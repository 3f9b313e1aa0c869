//! Which ready queue a system gets that does not choose one.
//!
//! The table is the place to change when figures change: `bench run` writes them to
//! `benches/RESULTS.md`.

/// The queues to choose from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    /// [`PerCore`](super::PerCore).
    PerCore,
    /// [`StealingQueue`](super::StealingQueue).
    Stealing,
}

/// Up to how many workers which queue is taken, fewest first; the last row is for all others.
///
/// With one worker nobody could help an actor that waits behind a handler that blocks, so the cheapest
/// queue costs nothing else. With more, `stealing` is the one that needs no care;
/// how many of them are on duty is found out while they run (decision 0023).
const TABLE: [(usize, Choice); 2] = [(1, Choice::PerCore), (usize::MAX, Choice::Stealing)];

/// The queue for that many workers.
pub(crate) fn choose(workers: usize) -> Choice {
    let row = TABLE.iter().find(|(workers_max, _)| workers <= *workers_max);
    row.map_or(Choice::Stealing, |(_, choice)| *choice)
}
