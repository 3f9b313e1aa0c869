//! Two nodes over encrypted UDP: a book at one, and whoever quotes prices at the other.
//!
//! ```text
//! cargo run --example 20_over_udp                          # both in one process
//! cargo run --example 20_over_udp -- serve 10.0.0.1:7000   # on one machine; prints the address for the other
//! cargo run --example 20_over_udp -- quote udp:10.0.0.1:7000#KEY
//! ```

#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use greenroom::net::{Address, Export, Node};
use greenroom::{Actor, Ref, System, handlers};
use greenroom_transports::secure::entropy::{Entropy, System as Randomness};
use greenroom_transports::secure::identity::Identity;
use greenroom_transports::secure::key::{KEY_BYTES, Key};
use greenroom_transports::udp::{Settings, Udp};
use std::net::SocketAddr;

type Failure = Box<dyn std::error::Error>;

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

/// A node with a key of its own, made now. A real one keeps its key in a file: `greenroom keygen` makes it.
///
/// All know the cluster's key, so that they need not know each other's. Yours is a secret.
fn node(system: &System, at: SocketAddr) -> Result<(Node, Udp), Failure> {
    let mut secret = [0; KEY_BYTES];
    Randomness.fill(&mut secret)?;
    let settings =
        Settings::new(Identity::new(Key::new(secret))).cluster_key(Key::new([7; KEY_BYTES]));
    let udp = Udp::bind(settings, at)?;
    Ok((Node::start(system, udp.clone())?, udp))
}

/// Serves a book there; the address is what others connect to.
async fn serve(system: &System, at: SocketAddr) -> Result<(Node, Address), Failure> {
    let (node, udp) = node(system, at)?;
    let book = system.spawn::<Book>(Book { best: 0 }).await?;
    node.export("book", Export::of(&book))?;
    Ok((node, udp.node_address()))
}

/// Quotes prices in the book at that address.
async fn quote(system: &System, to: &Address) -> Result<(), Failure> {
    let from = if to.place().starts_with('[') { "[::]:0" } else { "0.0.0.0:0" };
    let (node, _udp) = node(system, from.parse()?)?;
    let peer = node.connect(to).await?;
    let book: Ref<Book> = peer.find("book").await?;
    for price in [101, 99, 103] {
        book.quote(price).await?;
        println!("quoted {price}, the best is {}", book.best().await?);
    }
    node.close().await;
    Ok(())
}

#[greenroom::main]
async fn main(system: System) -> Result<(), Failure> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => {
            let (node, address) = serve(&system, "127.0.0.1:0".parse()?).await?;
            quote(&system, &address).await?;
            node.close().await;
        }
        ["serve", at] => {
            let (node, address) = serve(&system, at.parse()?).await?;
            println!("the book is at {address}; Ctrl-C ends it");
            tokio::signal::ctrl_c().await?;
            node.close().await;
        }
        ["quote", address] => quote(&system, &address.parse()?).await?,
        _ => println!("without arguments, or: serve HOST:PORT, or: quote ADDRESS"),
    }
    Ok(())
}
