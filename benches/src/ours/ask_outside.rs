//! A plain thread asks an actor, one question after the other, and blocks for each answer.

use super::ask::Server;
use greenroom::System;
use greenroom_peers::shape::outside;
use std::time::{Duration, Instant};

pub(super) async fn run(system: System, n: u64) -> Duration {
    let server = system.spawn::<Server>(()).await.expect("the server starts");
    let asked = outside(move || {
        let clock = Instant::now();
        for value in 0..n {
            let answer = server.question(value).wait();
            assert_eq!(answer, Ok(value + 1), "the answer to this question");
        }
        clock.elapsed()
    });
    asked.await.expect("the thread does not panic")
}
