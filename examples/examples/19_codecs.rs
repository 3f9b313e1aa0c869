//! Messages in other forms than the usual one: plain structs as they lie in memory, and protocol buffers.
//!
//! ```text
//! cargo run --example 19_codecs
//! ```

#![expect(clippy::print_stdout, reason = "an example shows what happens")]
#![expect(non_ascii_idents, reason = "the derives of zerocopy make such names")]

use greenroom::net::{
    Export, Identity, Incarnation, Loopback, Manifest, Node, NodeId, Prost, Zerocopy,
};
use greenroom::{Actor, System, handlers};
use zerocopy::byteorder::little_endian::{U32, U64};
use zerocopy::{Immutable, IntoBytes, TryFromBytes, Unaligned};

/// Thirteen bytes, the same on every machine.
#[derive(Clone, Copy, TryFromBytes, IntoBytes, Immutable, Unaligned)]
#[repr(C)]
struct Quote {
    price: U64,
    size: U32,
    firm: bool,
}

/// Takes quotes, which are copied into a frame and out of it.
#[derive(Actor)]
struct Tape {
    volume: u64,
}

#[handlers(wire = "example.tape/1", codec = Zerocopy)]
impl Tape {
    #[tell]
    fn quote(&mut self, quote: Quote) {
        if quote.firm {
            self.volume += quote.price.get() * u64::from(quote.size.get());
        }
    }
    #[ask]
    fn volume(&self) -> U64 {
        self.volume.into()
    }
}

/// Speaks with whatever speaks protocol buffers.
#[derive(Actor)]
struct News {
    lines: Vec<String>,
}

#[handlers(wire = "example.news/1", codec = Prost)]
impl News {
    #[tell]
    fn publish(&mut self, line: String) {
        self.lines.push(line);
    }
    #[ask]
    fn latest(&self) -> String {
        self.lines.last().cloned().unwrap_or_default()
    }
}

fn identity(node: u64) -> Identity {
    Identity { node: NodeId(node), incarnation: Incarnation(1) }
}

#[greenroom::main]
async fn main(here: System) -> Result<(), Box<dyn std::error::Error>> {
    let network = Loopback::new();
    let there = System::builder().workers(1).build()?;
    let exchange = Node::start(&there, network.node("exchange", identity(1)))?;
    let office = Node::start(&here, network.node("office", identity(2)))?;
    exchange.export("tape", Export::of(&there.spawn::<Tape>(Tape { volume: 0 }).await?))?;
    exchange.export("news", Export::of(&there.spawn::<News>(News { lines: Vec::new() }).await?))?;
    office.connect(&"loopback:exchange".parse()?).await?;

    let tape = office.find::<Tape>("tape").await?;
    for (price, firm) in [(100, true), (101, false), (102, true)] {
        tape.quote(Quote { price: price.into(), size: 10.into(), firm }).await?;
    }
    println!("{}: volume {}", Manifest::of::<Tape>().codec(), tape.volume().await?);

    let news = office.find::<News>("news").await?;
    news.publish("rates unchanged".to_owned()).await?;
    println!("{}: {}", Manifest::of::<News>().codec(), news.latest().await?);
    office.close().await;
    Ok(())
}
