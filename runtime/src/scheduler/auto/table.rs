//! Written by `bench auto`, not by hand: nanoseconds of an operation under each queue, the geometric mean of the
//! 24 programs in `benches/RESULTS.md`.

use super::Choice::{LockFree, Locked, PerCore, Stealing};
use super::Row;

/// The fewest workers first.
pub(super) const MEASURED: [Row; 2] = [
    (1, [(Locked, 385.7), (LockFree, 382.0), (Stealing, 361.3), (PerCore, 309.9)]),
    (2, [(Locked, 584.9), (LockFree, 483.5), (Stealing, 433.1), (PerCore, 471.3)]),
];
