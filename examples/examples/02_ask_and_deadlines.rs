//! Questions that may fail, and deadlines that travel on.
//!
//! ```text
//! cargo run --example 02_ask_and_deadlines
//! ```

#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use std::fmt;
use std::time::Duration;

use greenroom::{Actor, AskError, Context, Ref, System, handlers};

/// Why there is no price.
#[derive(Debug, PartialEq)]
struct Unknown(String);

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "nobody trades {}", self.0)
    }
}

/// Knows prices, but takes its time.
#[derive(Actor)]
struct Exchange {
    delay: Duration,
}

#[handlers]
impl Exchange {
    #[start]
    fn start(delay: Duration) -> Self {
        Self { delay }
    }

    /// Returns a price. The handler may wait: the actor takes no other message meanwhile.
    #[ask]
    async fn price(&mut self, symbol: String) -> Result<u64, Unknown> {
        tokio::time::sleep(self.delay).await;
        if symbol == "ACME" { Ok(101) } else { Err(Unknown(symbol)) }
    }
}

/// Asks the exchange on behalf of others.
#[derive(Actor)]
struct Desk {
    exchange: Ref<Exchange>,
}

#[handlers]
impl Desk {
    #[start]
    fn start(exchange: Ref<Exchange>) -> Self {
        Self { exchange }
    }

    /// Returns what an order would cost; waits no longer than its own caller does.
    #[ask]
    async fn cost(&mut self, count: u64, cx: &mut Context<Self>) -> Result<u64, AskError<Unknown>> {
        println!("the desk has {:?} left", cx.remaining());
        let price = self.exchange.price("ACME".to_owned()).within(cx.remaining()).await?;
        Ok(price * count)
    }
}

#[greenroom::main]
async fn main(system: System) -> Result<(), Box<dyn std::error::Error>> {
    let quick = system.spawn::<Exchange>(Duration::from_millis(1)).await?;
    assert_eq!(quick.price("ACME".to_owned()).await, Ok(101));

    // The handler's own error comes back as the ask's.
    let failed = quick.price("NOPE".to_owned()).await;
    println!("{failed:?}");
    assert_eq!(failed, Err(AskError::Failed(Unknown("NOPE".to_owned()))));

    let desk = system.spawn::<Desk>(quick).await?;
    assert_eq!(desk.cost(3).within(Duration::from_secs(1)).await, Ok(303));

    // This exchange takes a minute, and nobody waits for a minute.
    let slow = system.spawn::<Exchange>(Duration::from_secs(60)).await?;
    let late = slow.price("ACME".to_owned()).within(Duration::from_millis(20)).await;
    println!("{late:?}");
    assert_eq!(late, Err(AskError::Expired));

    // It is still at it: kill it, or the program would wait for its handler to end.
    slow.kill();
    Ok(())
}
