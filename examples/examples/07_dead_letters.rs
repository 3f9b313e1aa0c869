//! No message vanishes: what will not be handled is reported, with the reason.
//!
//! ```text
//! cargo run --example 07_dead_letters
//! ```

#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use std::sync::Arc;

use greenroom::{Actor, System, TellError, handlers};
use tokio::sync::{Semaphore, mpsc};

/// Handles letters, one per permit, and says which it begins with.
#[derive(Actor)]
struct Clerk {
    permits: Arc<Semaphore>,
    began: mpsc::UnboundedSender<u32>,
}

#[handlers]
impl Clerk {
    #[start]
    fn start(permits: Arc<Semaphore>, began: mpsc::UnboundedSender<u32>) -> Self {
        Self { permits, began }
    }

    /// Handles a letter.
    #[tell]
    async fn letter(&mut self, number: u32) {
        // Who no longer listens need not know.
        let _ = self.began.send(number);
        if let Ok(permit) = self.permits.acquire().await {
            permit.forget();
            println!("letter {number} is handled");
        }
    }
}

#[greenroom::main]
async fn main(system: System) -> Result<(), Box<dyn std::error::Error>> {
    let mut dead = system.dead_letters();
    let permits = Arc::new(Semaphore::new(0));
    let (began, mut begun) = mpsc::unbounded_channel();
    let clerk = system.spawn::<Clerk>((Arc::clone(&permits), began)).await?;
    for number in 0..4 {
        clerk.letter(number).await?;
    }

    // `stop` ends the actor after the message it is at; `drain` would handle all four first.
    assert_eq!(begun.recv().await, Some(0));
    clerk.stop();
    permits.add_permits(1);
    let mut found = 0;
    while found < 3 {
        let letter = dead.next().await.ok_or("the system has ended")?;
        println!("dead letter: {} to {}: {:?}", letter.message, letter.actor, letter.reason);
        found += 1;
    }

    // A message to an actor that has ended is not lost either: it comes back.
    let Err(TellError::Closed(_message)) = clerk.letter(4).try_send() else {
        return Err("the clerk should have ended".into());
    };
    println!("letter 4 came back");
    Ok(())
}
