//! Written by `bench auto`, not by hand: nanoseconds of an operation under each queue, the geometric mean of the
//! 24 programs in `benches/RESULTS.md`.

use super::Choice::{LockFree, Locked, PerCore, Stealing};
use super::Row;

/// The fewest workers first.
pub(super) const MEASURED: [Row; 2] = [
    (1, [(Locked, 226.1), (LockFree, 223.2), (Stealing, 206.9), (PerCore, 189.0)]),
    (2, [(Locked, 287.4), (LockFree, 231.9), (Stealing, 204.3), (PerCore, 270.4)]),
];
