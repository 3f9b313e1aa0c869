//! Two nodes in one process: a book at one, a trader at the other, and a connection that breaks.
//!
//! ```text
//! cargo run --example 18_two_nodes
//! ```

#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use greenroom::net::{Export, Identity, Incarnation, Loopback, Node, NodeId};
use greenroom::{Actor, Context, Down, Ref, System, handlers};
use std::time::Duration;

/// The best price so far.
#[derive(Actor)]
struct Book {
    best: u64,
}

#[handlers(wire = "example.book/1")]
impl Book {
    #[tell]
    fn quote(&mut self, price: u64) {
        self.best = self.best.max(price);
    }
    #[ask]
    fn best(&self) -> u64 {
        self.best
    }
}

/// Quotes prices in a book, wherever that is.
#[derive(Actor)]
struct Trader {
    book: Ref<Book>,
}

#[handlers]
impl Trader {
    #[start]
    fn start(book: Ref<Book>, cx: &mut Context<Self>) -> Self {
        cx.watch(&book, Self::book_down);
        Self { book }
    }
    #[ask]
    async fn trade(&mut self, price: u64, cx: &mut Context<Self>) -> Result<u64, String> {
        self.book.quote(price).await.map_err(|error| error.to_string())?;
        self.book.best().within(cx.remaining()).await.map_err(|error| error.to_string())
    }
    #[down]
    fn book_down(&mut self, down: Down, cx: &mut Context<Self>) {
        println!("the trader hears that the book is {}", down.reason);
        cx.stop();
    }
}

fn identity(node: u64) -> Identity {
    Identity { node: NodeId(node), incarnation: Incarnation(1) }
}

#[greenroom::main]
async fn main(office: System) -> Result<(), Box<dyn std::error::Error>> {
    // A pipe stands for the network; a transport that reaches other machines is used the same way.
    let network = Loopback::new();
    let exchange = System::builder().workers(1).build()?;
    let exchange_node = Node::start(&exchange, network.node("exchange", identity(1)))?;
    let office_node = Node::start(&office, network.node("office", identity(2)))?;

    let book = exchange.spawn::<Book>(Book { best: 0 }).await?;
    exchange_node.export("book", Export::of(&book))?;

    let peer = office_node.connect(&"loopback:exchange".parse()?).await?;
    let far: Ref<Book> = peer.find("book").await?;
    let trader = office.spawn::<Trader>(far).await?;
    for price in [101, 99, 103] {
        let best = trader.trade(price).await.map_err(|error| error.to_string())?;
        println!("quoted {price}, the best is {best}");
    }

    network.cut("office", "exchange");
    trader.ended().await;
    println!("at home, the book still says {}", book.best().await?);
    exchange.shutdown(Duration::from_secs(5)).await?;
    Ok(())
}
