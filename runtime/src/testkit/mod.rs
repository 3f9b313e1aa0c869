//! For tests of actors: somebody to send to, expectations that say what came instead, and a system that
//! has nothing to do any more.
//!
//! ```
//! use greenroom::testkit::{self, Probe};
//! use greenroom::{Actor, DeadLetterReason, Message, Recipient, System, handlers};
//!
//! #[derive(Debug, PartialEq, Message)]
//! struct Price(u64);
//!
//! /// Tells whoever subscribed about the best price.
//! #[derive(Actor)]
//! struct Book {
//!     best: u64,
//!     subscriber: Recipient<Price>,
//! }
//!
//! #[handlers]
//! impl Book {
//!     #[tell]
//!     async fn quote(&mut self, price: u64) {
//!         if price > self.best {
//!             self.best = price;
//!             let _ = self.subscriber.tell(Price(price)).await;
//!         }
//!     }
//! }
//!
//! #[greenroom::main] // in your own tests: #[greenroom::test]
//! async fn main(system: System) -> Result<(), Box<dyn std::error::Error>> {
//!     let mut probe = Probe::spawn(&system).await?;
//!     let mut letters = testkit::dead_letters(&system);
//!     let book = Book { best: 100, subscriber: probe.recipient() };
//!     let book = system.spawn::<Book>(book).await?;
//!
//!     book.quote(99).await?;
//!     book.quote(101).await?;
//!     probe.expect(&Price(101)).await;
//!     book.quote(7).await?;
//!     probe.expect_none().await; // once the system is idle
//!     letters.expect_none().await;
//!     Ok(())
//! }
//! ```
//!
//! | to | use |
//! |---|---|
//! | receive what an actor sends | [`Probe`] |
//! | stand in for an actor that others call | [`Probe::reference`] |
//! | wait for a dead letter, or for none | [`dead_letters`] |
//! | wait for an actor's start, restart or end | [`events`] |
//! | wait until everything is handled | [`System::await_idle`](crate::System::await_idle) |
//! | see what outlived the system's end | [`System::leftovers`](crate::System::leftovers) |
//!
//! An expectation that is not met panics at the line that has it, after its deadline, and lists what was
//! seen instead. No sleep is needed in a test: wait for what is to happen, or for the system to be idle.

mod observer;
mod probe;

pub use observer::{Observer, Source, dead_letters, events};
pub use probe::{Mail, Probe};
