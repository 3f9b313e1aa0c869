//! Which ready queue a system gets that does not choose one: the one that took least of those that were measured.
//!
//! The [figures](table) are written by `bench auto`, from those in `benches/RESULTS.md`. How many of the workers are on
//! duty is in no table: that is found out while they run (decision 0023).

mod table;

/// The queues to choose from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    /// [`LockedQueue`](super::LockedQueue).
    Locked,
    /// [`LockFreeQueue`](super::LockFreeQueue).
    LockFree,
    /// [`StealingQueue`](super::StealingQueue).
    Stealing,
    /// [`PerCore`](super::PerCore).
    PerCore,
}

/// How many workers, and what an operation took with each queue, in nanoseconds.
type Row = (usize, [(Choice, f64); 4]);

/// The queue for that many workers.
pub(crate) fn choose(workers: usize) -> Choice {
    pick(&table::MEASURED, workers)
}

/// The least of the row with the most workers of those that have no more than `workers`. Where there are several, one
/// of them is to take over what waits behind a handler that blocks in another, which nobody can under `per_core`: who
/// takes the default need not know which handlers block (decision 0034).
fn pick(measured: &[Row], workers: usize) -> Choice {
    let row = measured.iter().rev().find(|(count, _)| *count <= workers);
    let queues = row.into_iter().flat_map(|(_, nanos)| nanos);
    let queues = queues.filter(|(queue, _)| *queue != Choice::PerCore || workers == 1);
    let least = queues.min_by(|(_, one), (_, other)| one.total_cmp(other));
    least.map_or(Choice::Stealing, |(queue, _)| *queue)
}

#[cfg(all(test, not(shuttle)))]
mod tests {
    use super::Choice::{LockFree, Locked, PerCore, Stealing};
    use super::{choose, pick};

    /// As [`Scheduler::auto`](crate::Scheduler::auto) says.
    #[test]
    fn one_worker_has_the_rings_and_more_steal() {
        assert_eq!(choose(1), PerCore);
        assert_eq!([2, 3, 1024].map(choose), [Stealing; 3]);
    }

    #[test]
    fn the_figures_decide() {
        let nanos = [(Locked, 4.0), (LockFree, 3.0), (Stealing, 2.0), (PerCore, 1.0)];
        let others = [(Locked, 1.0), (LockFree, 2.0), (Stealing, 3.0), (PerCore, 4.0)];
        let measured = [(1, others), (4, nanos)];
        assert_eq!(
            [1, 3, 4, 1024].map(|workers| pick(&measured, workers)),
            [Locked, Locked, Stealing, Stealing]
        );
    }

    #[test]
    fn only_a_worker_that_nobody_could_help_has_no_helpers() {
        let nanos = [(Locked, 4.0), (LockFree, 3.0), (Stealing, 2.0), (PerCore, 1.0)];
        assert_eq!(
            [1, 2, 3].map(|workers| pick(&[(1, nanos)], workers)),
            [PerCore, Stealing, Stealing]
        );
    }
}
