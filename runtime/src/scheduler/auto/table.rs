//! Written by `bench auto`, not by hand: nanoseconds of an operation under each queue, the geometric mean of the
//! 24 programs in `benches/RESULTS.md`.

use super::Choice::{LockFree, Locked, PerCore, Stealing};
use super::Row;

/// The fewest workers first.
pub(super) const MEASURED: [Row; 2] = [
    (1, [(Locked, 248.5), (LockFree, 246.9), (Stealing, 232.6), (PerCore, 207.9)]),
    (2, [(Locked, 431.7), (LockFree, 349.5), (Stealing, 296.4), (PerCore, 620.3)]),
];
