//! The simulator: unchanged actors, any number of nodes, one thread, and one seed that decides everything.
//!
//! A [`World`] runs the same actors that [`System::builder`](crate::System::builder) runs on threads. It
//! takes over what makes a run differ from the next one, and nothing else:
//!
//! | door | in a world |
//! |---|---|
//! | clock | virtual; it jumps to the next timer when nobody can run, and each node's may be wrong |
//! | who runs next | a choice at every turn, by a [`Policy`], over any scheduler's own queues |
//! | randomness | the world's choices ([`World::pick`]); for actors [`Context::random`](crate::Context::random) |
//! | datagrams | [`Socket`]s over [`Link`]s that lose, delay, double and damage |
//! | threads | none: [`Context::blocking`](crate::Context::blocking) is a step like any other |
//!
//! ```
//! use greenroom::sim::World;
//! use greenroom::{Actor, handlers};
//! use std::time::Duration;
//!
//! #[derive(Actor)]
//! struct Counter(u64);
//!
//! #[handlers]
//! impl Counter {
//!     #[tell]
//!     fn add(&mut self, amount: u64) {
//!         self.0 += amount;
//!     }
//!     #[ask]
//!     fn total(&self) -> u64 {
//!         self.0
//!     }
//! }
//!
//! let mut world = World::new(42);
//! let node = world.node("home").start(); // a system, on no thread of its own
//! let total = world.run(async {
//!     let counter = node.system().spawn::<Counter>(Counter(40)).await.unwrap();
//!     counter.add(2).await.unwrap();
//!     counter.total().await.unwrap()
//! });
//! assert_eq!(total, 42);
//! world.run_for(Duration::from_secs(3600)); // an hour passes at once
//! ```
//!
//! A test goes through many worlds with [`Explore`], which makes what fails small and says how to repeat it.
//!
//! What is not simulated: the memory model, true simultaneity inside a turn, and the operating system. A
//! handler must not block, sleep on the thread, read the real clock or draw randomness of its own; what it
//! does so, the world cannot repeat. What another thread wakes or sends ends the run with a failure that says so, and so
//! does `tokio::task::spawn_blocking`: [`Context::blocking`](crate::Context::blocking) is for what blocks. `tokio::spawn`, tokio's channels and locks work; tokio's timers do
//! with the feature `test-util`, and are refused otherwise; its sockets are always refused. The arms of
//! `tokio::select!` are to be `biased`, because tokio draws their order by itself, as it does for several who wait
//! for one `tokio::sync::watch`. A reference to an actor of another node works like a wire without faults, as long
//! as both clocks agree. A journal has its place in a world too: [`Node::spawn`] runs what writes it.

mod capture;
mod check;
mod checking;
mod choice;
mod clock;
mod course;
mod expect;
mod explore;
mod fabric;
mod fault;
mod incarnation;
mod link;
mod mark;
mod node;
mod options;
mod orders;
mod parting;
mod plight;
mod policy;
mod queue;
mod rarities;
mod reactor;
mod report;
mod roster;
mod rule;
mod running;
mod setup;
mod shrink;
mod skew;
mod slowness;
mod socket;
mod spectator;
mod stage;
mod storm;
mod strait;
mod wires;
mod world;

pub use clock::{WorldClock, WorldSleep};
pub use expect::Expectation;
pub use explore::{Explore, Explored};
pub use fabric::{Datagram, Traffic};
pub use fault::Fault;
pub use link::Link;
pub use mark::{Ecn, Marks};
pub use node::Node;
pub use policy::Policy;
pub use rule::{Packet, Verdict};
pub use setup::Setup;
pub use socket::{Socket, SocketError};
pub use storm::Storm;
pub use world::World;
