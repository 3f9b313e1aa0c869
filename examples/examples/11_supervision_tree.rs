//! A tree of supervisors: who is restarted with whom, and what happens when that does not help.
//!
//! ```text
//! Street (one for one)
//!   Shop (rest for one)
//!     Line      the connection to the bank
//!     Till      depends on the line
//!     Visitor   come and go
//! cargo run --example 11_supervision_tree
//! ```

#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use greenroom::{
    Actor, AskError, Context, Ref, Shutdown, SpawnError, StartError, System, handlers,
};
use tokio::sync::mpsc;

/// What happens, line by line.
type Log = mpsc::UnboundedSender<&'static str>;

fn log(log: &Log, line: &'static str) {
    println!("{line}");
    // Who no longer listens need not know.
    let _ = log.send(line);
}

/// A connection to the bank, which breaks when it is asked for nonsense.
#[derive(Actor)]
struct Line {
    log: Log,
}

#[handlers]
impl Line {
    #[start]
    fn dial(log: Log) -> Self {
        self::log(&log, "    the line is up");
        Self { log }
    }

    #[stop]
    fn hang_up(&mut self) {
        log(&self.log, "    the line is down");
    }

    #[ask]
    fn charge(&mut self, cents: u32) -> u32 {
        assert!(cents > 0, "the bank hangs up");
        cents
    }
}

/// Sells by way of the line, and is of no use once that has been broken.
#[derive(Actor)]
struct Till {
    log: Log,
    line: Ref<Line>,
    cents: u32,
}

#[handlers]
impl Till {
    #[start]
    fn open(log: Log, line: Ref<Line>) -> Self {
        self::log(&log, "    the till is open");
        Self { log, line, cents: 0 }
    }

    #[stop]
    fn close(&mut self) {
        log(&self.log, "    the till is closed");
    }

    #[ask]
    async fn sell(&mut self, cents: u32) -> Result<u32, AskError> {
        self.cents += self.line.charge(cents).await?;
        Ok(self.cents)
    }
}

/// Somebody who looks around. If one stumbles, nobody else does.
#[derive(Actor)]
struct Visitor;

#[handlers]
impl Visitor {
    #[start]
    fn enter() -> Self {
        Self
    }

    #[ask]
    fn stumble(&mut self) {
        panic!("a visitor stumbles");
    }
}

/// Restarts what fails together with what was started after it: here, the till with its line.
#[derive(Actor)]
#[actor(supervise = rest_for_one(2 in "1m", backoff = "1ms..10ms", jitter = "20%"))]
struct Shop {
    till: Ref<Till>,
}

#[handlers]
impl Shop {
    #[start]
    async fn open(log: Log, cx: &mut Context<Self>) -> Result<Self, StartError> {
        self::log(&log, "  the shop opens");
        let line = cx.supervise::<Line>(log.clone()).await?;
        let till = cx.supervise::<Till>((log, line)).await?;
        Ok(Self { till })
    }

    #[ask]
    fn till(&self) -> Ref<Till> {
        self.till.clone()
    }

    /// Children may come at any time.
    #[ask]
    async fn admit(&mut self, cx: &mut Context<Self>) -> Result<Ref<Visitor>, SpawnError> {
        cx.supervise::<Visitor>(()).temporary().shutdown(Shutdown::Kill).await
    }
}

/// A supervisor of a supervisor.
#[derive(Actor)]
#[actor(supervise = one_for_one(1 in "1m"))]
struct Street {
    shop: Ref<Shop>,
}

#[handlers]
impl Street {
    #[start]
    async fn build(log: Log, cx: &mut Context<Self>) -> Result<Self, StartError> {
        Ok(Self { shop: cx.supervise::<Shop>(log).await? })
    }

    #[ask]
    fn shop(&self) -> Ref<Shop> {
        self.shop.clone()
    }
}

#[greenroom::main]
async fn main(system: System) -> Result<(), Box<dyn std::error::Error>> {
    // The panics below are part of the show.
    std::panic::set_hook(Box::new(|panic| println!("  ({panic})")));
    let (sender, mut lines) = mpsc::unbounded_channel();
    let mut expect = async |expected: &[&str]| {
        for line in expected {
            assert_eq!(lines.recv().await.map(str::trim), Some(*line));
        }
    };

    let street = system.spawn::<Street>(sender).await?;
    let shop = street.shop().await?;
    let till = shop.till().await?;
    expect(&["the shop opens", "the line is up", "the till is open"]).await;
    assert_eq!(till.sell(300).await, Ok(300));

    // A visitor is temporary: its failure restarts nobody, and counts for nothing.
    let visitor = shop.admit().await?;
    assert_eq!(visitor.stumble().await, Err(AskError::NoReply));

    // The line breaks. The till is closed, the line redialled, the till opened again, in this order;
    // both references stay good, and the new till starts from nothing.
    let round = ["the line is down", "the till is closed", "the line is up", "the till is open"];
    for _ in 0..2 {
        assert_eq!(till.sell(0).await, Err(AskError::Failed(AskError::NoReply)));
        expect(&round).await;
    }
    assert_eq!(till.sell(200).await, Ok(200));

    // The third time within a minute is one too many for the shop: it gives up, and the street opens it
    // anew. The reference to the shop stays good; its new children are other actors.
    assert_eq!(till.sell(0).await, Err(AskError::Failed(AskError::NoReply)));
    expect(&["the line is down", "the till is closed"]).await;
    expect(&["the shop opens", "the line is up", "the till is open"]).await;
    assert!(till.is_closed());
    let till = shop.till().await?;
    assert_eq!(till.sell(100).await, Ok(100));

    // The last one that was started stops first.
    street.stop();
    street.ended().await;
    expect(&["the till is closed", "the line is down"]).await;
    Ok(())
}
