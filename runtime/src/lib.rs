//! Greenroom: an actor runtime for Rust.
//!
//! The greenroom is where actors wait until they are called on stage: here, the ready queue. An actor
//! is written once, with derive macros, and runs on the scheduler that is chosen in the builder.
//!
//! ```
//! use greenroom::{Actor, System, handlers};
//!
//! #[derive(Actor)]
//! struct Counter {
//!     total: u64,
//! }
//!
//! #[handlers]
//! impl Counter {
//!     #[start]
//!     fn start() -> Self {
//!         Counter { total: 0 }
//!     }
//!     #[tell]
//!     fn add(&mut self, amount: u64) {
//!         self.total += amount;
//!     }
//!     #[ask]
//!     fn total(&self) -> u64 {
//!         self.total
//!     }
//! }
//!
//! #[greenroom::main]
//! async fn main(system: System) -> Result<(), Box<dyn std::error::Error>> {
//!     let counter = system.spawn::<Counter>(()).await?;
//!     counter.add(40).await?;
//!     counter.add(2).await?;
//!     assert_eq!(counter.total().await?, 42);
//!     Ok(())
//! }
//! ```
//!
//! | to | see |
//! |---|---|
//! | write an actor | [`Actor`], [`handlers`], [`Context`] |
//! | restart what fails | [`Restart`], [`Supervision`], [`Context::supervise`] |
//! | put messages aside | [`Stashes`], [`Context::unstash`] |
//! | write a state machine | [`State`], [`States`] |
//! | handle others while a handler waits | [`Interleaved`] |
//! | talk to one | [`Ref`], [`Recipient`], [`Tell`], [`Ask`] |
//! | build and end a system | [`System`], [`Scheduler`], [`Config`] |
//! | see what goes wrong | [`DeadLetters`], [`Event`], [`Counts`] |
//! | test your actors | [`testkit`], [`System::await_idle`] |
//! | keep state across restarts of the process | `journal`, with the feature of that name |
//! | reach actors of other nodes | `net`, with the feature of that name |
//! | write a ready queue | [`ReadyQueue`], [`testing`] |
//! | use the queues alone | [`queue`] |
//! | find bugs by seed | [`sim`] |
//!
//! | feature, none by default | what it adds |
//! |---|---|
//! | `journal` | event-sourced actors, and the store for them that is a file of this machine |
//! | `postgres` | the store for them in PostgreSQL; includes `journal` |
//! | `net` | actors that are reached from other nodes |
//! | `zerocopy` | messages that go to other nodes as they lie in memory; includes `net` |
//! | `prost` | messages that go to other nodes as protocol buffers; includes `net` |
//! | `membership` | nodes that find each other, and notice who is gone; includes `net` |
//! | `test-util` | tokio's timers keep the world's time in a simulated world |

#![cfg_attr(
    any(loom, shuttle),
    allow(dead_code, unused_imports, reason = "models use parts of the crate")
)]

// The macros name the crate by its outside name, also inside it.
extern crate self as greenroom;

pub mod queue;
mod scheduler;
mod sync;
mod time;

#[cfg(not(any(loom, shuttle)))]
pub mod sim;

#[cfg(not(loom))]
mod actor;
#[cfg(not(loom))]
mod event;
#[cfg(all(not(any(loom, shuttle)), feature = "journal"))]
pub mod journal;
#[cfg(not(loom))]
mod mailbox;
#[cfg(all(not(any(loom, shuttle)), feature = "net"))]
pub mod net;
#[cfg(not(loom))]
mod system;
#[cfg(not(loom))]
mod task;
#[cfg(not(loom))]
pub mod testkit;

#[cfg(not(loom))]
mod face;
#[cfg(not(loom))]
pub use face::*;

/// The README, the book and the documents of the macros, so that every snippet in them compiles and runs.
#[cfg(doctest)]
mod documents {
    #[doc = include_str!("../../README.md")]
    mod readme {}
    #[doc = include_str!("../../book/src/tour/first-actor.md")]
    mod tour {}
    #[doc = include_str!("../../book/src/tour/many-actors.md")]
    mod many_actors {}
    #[doc = include_str!("../../book/src/tour/protocols.md")]
    mod protocols {}
    #[doc = include_str!("../../book/src/tour/deadlines.md")]
    mod deadlines {}
    #[doc = include_str!("../../book/src/tour/supervision.md")]
    mod supervision {}
    #[doc = include_str!("../../book/src/tour/states.md")]
    mod states {}
    #[doc = include_str!("../../book/src/tour/timers.md")]
    mod timers {}
    #[doc = include_str!("../../book/src/tour/observing.md")]
    mod observing {}
    #[doc = include_str!("../../book/src/configuration.md")]
    mod configuration {}
    #[doc = include_str!("../../book/src/errors.md")]
    mod errors {}
    #[cfg(feature = "journal")]
    #[doc = include_str!("../../book/src/tour/event-sourcing.md")]
    mod event_sourcing {}
    #[cfg(all(feature = "net", not(any(loom, shuttle))))]
    #[doc = include_str!("../../book/src/tour/remote.md")]
    mod remote {}
    #[cfg(all(feature = "membership", not(any(loom, shuttle))))]
    #[doc = include_str!("../../book/src/tour/cluster.md")]
    mod cluster {}
    #[doc = include_str!("../../book/src/testing.md")]
    mod testing {}
    #[cfg(not(any(loom, shuttle)))]
    #[doc = include_str!("../../book/src/tour/simulation.md")]
    mod simulation {}
    #[doc = include_str!("../../macros/docs/crate.md")]
    mod macros {}
    #[doc = include_str!("../../macros/docs/actor.md")]
    mod macro_actor {}
    #[doc = include_str!("../../macros/docs/message.md")]
    mod macro_message {}
    #[doc = include_str!("../../macros/docs/states.md")]
    mod macro_states {}
    #[doc = include_str!("../../macros/docs/handlers.md")]
    mod macro_handlers {}
    #[doc = include_str!("../../macros/docs/main.md")]
    mod macro_main {}
    #[doc = include_str!("../../macros/docs/test.md")]
    mod macro_test {}
    #[cfg(feature = "journal")]
    #[doc = include_str!("../../macros/docs/event.md")]
    mod macro_event {}
}
