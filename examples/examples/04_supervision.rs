//! A worker that crashes and comes back, and one who watches.
//!
//! ```text
//! cargo run --example 04_supervision
//! ```

#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use greenroom::{Actor, AskError, Context, Down, Ref, System, handlers};
use tokio::sync::mpsc;

/// Divides. It comes back up to twice in ten seconds, a little later each time.
#[derive(Actor)]
#[actor(restart = transient(2 in "10s", backoff = "1ms..10ms"))]
struct Divider {
    divisions: u32,
}

#[handlers]
impl Divider {
    /// Every incarnation starts here, with a new state.
    #[start]
    fn start() -> Self {
        println!("the divider starts");
        Self { divisions: 0 }
    }

    /// Divides; by zero it panics, which ends this incarnation and nothing else.
    #[ask]
    fn divide(&mut self, number: u32, by: u32) -> u32 {
        self.divisions += 1;
        number / by
    }

    /// Returns how often this incarnation has divided.
    #[ask]
    fn divisions(&self) -> u32 {
        self.divisions
    }
}

/// Is told when the divider has ended for good.
#[derive(Actor)]
struct Watcher {
    ends: mpsc::UnboundedSender<String>,
}

#[handlers]
impl Watcher {
    #[start]
    fn start(
        divider: Ref<Divider>,
        ends: mpsc::UnboundedSender<String>,
        cx: &mut Context<Self>,
    ) -> Self {
        cx.watch(&divider, Self::divider_down);
        Self { ends }
    }

    #[down]
    fn divider_down(&mut self, down: Down) {
        // Who no longer listens need not know.
        let _ = self.ends.send(format!("{:?}", down.reason));
    }
}

#[greenroom::main]
async fn main(system: System) -> Result<(), Box<dyn std::error::Error>> {
    // The panics below are part of the show.
    std::panic::set_hook(Box::new(|panic| println!("  ({panic})")));

    let divider = system.spawn::<Divider>(()).await?;
    let (ends, mut ended) = mpsc::unbounded_channel();
    let _watcher = system.spawn::<Watcher>((divider.clone(), ends)).await?;

    assert_eq!(divider.divide(6, 3).await, Ok(2));
    assert_eq!(divider.divisions().await, Ok(1));

    // The message that crashed is not tried again; who asked is told that there is no reply.
    assert_eq!(divider.divide(1, 0).await, Err(AskError::NoReply));

    // The reference is still good: it reaches the next incarnation, which starts from nothing.
    assert_eq!(divider.divisions().await, Ok(0));

    // Twice is allowed. The third time is one too many.
    assert_eq!(divider.divide(1, 0).await, Err(AskError::NoReply));
    assert_eq!(divider.divide(1, 0).await, Err(AskError::NoReply));
    let reason = ended.recv().await.ok_or("the watcher has ended")?;
    println!("the divider has ended for good: {reason}");
    assert_eq!(divider.divisions().await, Err(AskError::Closed));
    Ok(())
}
