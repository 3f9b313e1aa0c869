//! What a message costs under a scheduler with one worker: the paths P1 and P2, and an ask. Here because the examples of this
//! package are built where instructions are counted.
//!
//! ```sh
//! cargo build --release -p greenroom-transports --example messages
//! valgrind --tool=callgrind --callgrind-out-file=/dev/null target/release/examples/messages per_core tell 20000
//! valgrind --tool=callgrind --callgrind-out-file=/dev/null target/release/examples/messages per_core tell 60000
//! ```
//!
//! The difference of the two counts of instructions, over 40,000, is what one message costs.

use greenroom::{Actor, Ref, Scheduler, System, handlers};
use std::error::Error;
use std::time::Duration;

/// Longer than it takes under any tool.
const PATIENCE: Duration = Duration::from_secs(600);

#[derive(Actor)]
struct Counter {
    total: u64,
}

#[handlers]
impl Counter {
    #[tell]
    fn add(&mut self, value: u64) {
        self.total += value;
    }

    #[ask]
    fn total(&self) -> u64 {
        self.total
    }
}

#[derive(Actor)]
struct Sender {
    counter: Ref<Counter>,
}

#[handlers]
impl Sender {
    #[ask]
    async fn tells(&mut self, count: u64) -> u64 {
        for _ in 0..count {
            self.counter.add(1).await.expect("it lives");
        }
        self.counter.total().within(PATIENCE).await.expect("it answers")
    }

    #[ask]
    async fn asks(&mut self, count: u64) -> u64 {
        let mut answers = 0;
        for _ in 0..count {
            answers += 1 + self.counter.total().await.expect("it answers");
        }
        answers
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [scheduler, way, count] = args.iter().map(String::as_str).collect::<Vec<_>>()[..] else {
        return Err("usage: messages per_core|stealing tell|ask COUNT".into());
    };
    let scheduler = match scheduler {
        "per_core" => Scheduler::per_core(),
        "stealing" => Scheduler::stealing(),
        _ => return Err("no such scheduler".into()),
    };
    let count: u64 = count.parse()?;
    // What is done is not to depend on the time that it takes.
    let system = System::builder()
        .workers(1)
        .scheduler(scheduler)
        .slice(PATIENCE)
        .handler_budget(Duration::ZERO)
        .build()?;
    let counter = system.spawn::<Counter>(Counter { total: 0 }).await?;
    let sender = system.spawn::<Sender>(Sender { counter }).await?;
    let done = match way {
        "tell" => sender.tells(count).within(PATIENCE).await?,
        "ask" => sender.asks(count).within(PATIENCE).await?,
        _ => return Err("no such way".into()),
    };
    assert_eq!(done, count, "each was handled once");
    system.shutdown(PATIENCE).await?;
    Ok(())
}
