//! A timer that goes off once, one that goes on, and a future beside the actor.
//!
//! ```text
//! cargo run --example 05_timers
//! ```

#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use std::time::Duration;

use greenroom::{Actor, Context, System, TimerId, handlers};
use tokio::sync::oneshot;

/// An egg timer that ticks until it rings.
#[derive(Actor)]
struct EggTimer {
    ticks: u32,
    ticking: TimerId,
    rung: Option<oneshot::Sender<u32>>,
}

#[handlers]
impl EggTimer {
    #[start]
    fn start(rung: oneshot::Sender<u32>, cx: &mut Context<Self>) -> Self {
        // Timers call plain methods, and end with the incarnation that set them.
        let ticking = cx.every(Duration::from_millis(10), Self::tick);
        cx.after(Duration::from_millis(100), Self::ring);
        // The future runs beside the actor, which goes on handling messages.
        cx.pipe(weather(), Self::forecast);
        Self { ticks: 0, ticking, rung: Some(rung) }
    }

    #[local]
    fn tick(&mut self) {
        self.ticks += 1;
    }

    #[local]
    fn ring(&mut self, cx: &mut Context<Self>) {
        let cancelled = cx.cancel(self.ticking);
        println!("the egg is done after {} ticks (cancelled: {cancelled})", self.ticks);
        if let Some(rung) = self.rung.take() {
            // Who no longer listens need not know.
            let _ = rung.send(self.ticks);
        }
    }

    #[local]
    fn forecast(&mut self, weather: &'static str) {
        println!("by the way, the weather will be {weather}");
    }
}

/// Something slow that the actor need not wait for.
async fn weather() -> &'static str {
    tokio::time::sleep(Duration::from_millis(30)).await;
    "fine"
}

#[greenroom::main]
async fn main(system: System) -> Result<(), Box<dyn std::error::Error>> {
    let (rung, done) = oneshot::channel();
    let _timer = system.spawn::<EggTimer>(rung).await?;
    let ticks = done.await?;
    assert!(ticks > 0);
    Ok(())
}
