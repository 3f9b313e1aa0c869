//! Fibonacci numbers the long way: a task for every call.

use crate::savina::fib;
use std::pin::Pin;
use std::time::{Duration, Instant};

/// The box breaks the circle of a call that contains calls.
fn call(index: u64) -> Pin<Box<dyn Future<Output = u64> + Send>> {
    Box::pin(async move {
        if index <= 2 {
            return 1;
        }
        let (one, other) = (tokio::spawn(call(index - 1)), tokio::spawn(call(index - 2)));
        one.await.expect("a call does not panic") + other.await.expect("a call does not panic")
    })
}

pub(super) async fn run(n: u64) -> Duration {
    let index = fib::index(n);
    let clock = Instant::now();
    let number = tokio::spawn(call(index)).await;
    let took = clock.elapsed();
    assert_eq!(number.ok(), Some(fib::number(index)), "the number at this index");
    took
}
