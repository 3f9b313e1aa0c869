//! How much of a worker's stack turns take that run inside each other.

#![allow(clippy::unwrap_used, reason = "what goes wrong in a test may panic")]

use crate::support::{Builds, LONG, SCHEDULERS, run};
use greenroom::{Actor, Ref, System, handlers};

/// As large as a message may be, its reply and its kind included.
const LARGE_BYTES: usize = (16 << 10) - 64;

/// Where locals are kept apart from each other, so that none is written over, a turn takes far more of the stack.
const STACK_BYTES: usize = if cfg!(sanitized) { 64 << 20 } else { 8 << 20 };

/// Asks others on with a large message.
#[derive(Actor)]
struct Link {
    next: Option<Ref<Self>>,
}

#[handlers]
impl Link {
    /// Asks the next one, here, where there is room on the stack.
    #[ask]
    async fn begin(&mut self) -> u64 {
        let (sum, back) = self.pass_on([1; LARGE_BYTES]).await;
        assert_eq!(back, [1; LARGE_BYTES]);
        sum
    }
    /// The sum of what is in the message, and one for each that it passed; the message comes back with the answer.
    #[ask]
    async fn sum(&mut self, large: [u8; LARGE_BYTES]) -> (u64, [u8; LARGE_BYTES]) {
        self.pass_on(large).await
    }
}

impl Link {
    async fn pass_on(&self, large: [u8; LARGE_BYTES]) -> (u64, [u8; LARGE_BYTES]) {
        let Some(next) = &self.next else {
            return (large.iter().copied().map(u64::from).sum(), large);
        };
        let (sum, back) = next.sum(large).within(LONG * 10).await.unwrap();
        (sum + 1, back)
    }
}

// [G-ASK-1]
#[test]
fn a_chain_of_asks_with_the_largest_messages_does_not_use_up_the_stack() {
    for scheduler in SCHEDULERS {
        for workers in [1, 2] {
            let system = System::builder().workers(workers).scheduler(scheduler());
            let system = system.stack_bytes(STACK_BYTES).own();
            run(async {
                let mut top = system.spawn::<Link>(Link { next: None }).await.unwrap();
                for _ in 1..30 {
                    top = system.spawn::<Link>(Link { next: Some(top) }).await.unwrap();
                }
                assert_eq!(top.begin().within(LONG).await, Ok(LARGE_BYTES as u64 + 29));
                system.shutdown(LONG).await.unwrap();
            });
        }
    }
}
