//! Written by `bench auto`, not by hand: nanoseconds of an operation under each queue, the geometric mean of the
//! 24 programs in `benches/RESULTS.md`.

use super::Choice::{LockFree, Locked, PerCore, Stealing};
use super::Row;

/// The fewest workers first.
pub(super) const MEASURED: [Row; 2] = [
    (1, [(Locked, 493.4), (LockFree, 484.3), (Stealing, 459.5), (PerCore, 389.3)]),
    (2, [(Locked, 713.4), (LockFree, 600.8), (Stealing, 510.6), (PerCore, 560.8)]),
];
