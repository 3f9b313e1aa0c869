//! Written by `bench auto`, not by hand: nanoseconds of an operation under each queue, the geometric mean of the
//! 24 programs in `benches/RESULTS.md`.

use super::Choice::{LockFree, Locked, PerCore, Stealing};
use super::Row;

/// The fewest workers first.
pub(super) const MEASURED: [Row; 2] = [
    (1, [(Locked, 230.5), (LockFree, 225.7), (Stealing, 209.2), (PerCore, 194.2)]),
    (2, [(Locked, 286.1), (LockFree, 255.6), (Stealing, 227.8), (PerCore, 275.1)]),
];
