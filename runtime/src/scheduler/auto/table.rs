//! Written by `bench auto`, not by hand: nanoseconds of an operation under each queue, the geometric mean of the
//! 24 programs in `benches/RESULTS.md`.

use super::Choice::{LockFree, Locked, PerCore, Stealing};
use super::Row;

/// The fewest workers first.
pub(super) const MEASURED: [Row; 2] = [
    (1, [(Locked, 365.5), (LockFree, 359.9), (Stealing, 349.1), (PerCore, 298.0)]),
    (2, [(Locked, 554.6), (LockFree, 468.3), (Stealing, 397.8), (PerCore, 433.4)]),
];
