//! Quicksort: a task for every part that is split.

use crate::savina::quicksort::{self, Merge, Side, Sorting};
use std::pin::Pin;
use std::time::{Duration, Instant};

/// The box breaks the circle of a sort that contains sorts.
fn sort(part: Vec<u64>) -> Pin<Box<dyn Future<Output = Vec<u64>> + Send>> {
    Box::pin(async move {
        let split = match quicksort::step(part) {
            Sorting::Sorted(sorted) => return sorted,
            Sorting::Split(split) => split,
        };
        let (below, above) = (tokio::spawn(sort(split.below)), tokio::spawn(sort(split.above)));
        let mut merge = Merge::around(split.equal);
        merge.add(Side::Below, below.await.expect("a sort does not panic"));
        let whole = merge.add(Side::Above, above.await.expect("a sort does not panic"));
        whole.expect("both sides are sorted")
    })
}

pub(super) async fn run(n: u64) -> Duration {
    let numbers = quicksort::numbers(n);
    let clock = Instant::now();
    let sorted = tokio::spawn(sort(numbers)).await.expect("a sort does not panic");
    let took = clock.elapsed();
    assert!(quicksort::is_right(&sorted, n), "all numbers, sorted");
    took
}
