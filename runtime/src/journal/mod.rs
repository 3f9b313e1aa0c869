//! Actors whose state outlives the process: each change is an event, written to a journal before anybody
//! can see what it did.
//!
//! ```text
//!  actor                      journal (one writer)              store
//!  persist(event) ----------> takes all that wait  -----------> one commit
//!  applies it, answers <----- tells each that it is durable <--
//! ```
//!
//! Many actors share one journal. Whatever is handed in while a commit is under way goes into the next one
//! together, so the price of a disk's flush is shared by all who wait for it.
//!
//! | part | what it is |
//! |---|---|
//! | [`Event`] | something that happened, with a name and a version; derive it |
//! | [`EventSourced`] | a state that events change |
//! | [`Sourced`] | that state with its place in the journal; the field of an actor |
//! | [`Stream`] | the events of one key, for those who keep their state in their own way |
//! | [`Journal`] | the way to the writer that all share |
//! | [`Store`] | where it writes to, which may be your own |
//! | [`Embedded`] | a store: a file of this machine |
//! | `Postgres` | a store: a server that several machines share, with the feature of that name |
//!
//! Invariants:
//! 1. One writer uses the store: a thread, or in a simulated world a task. What is handed in is written in that
//!    order.
//! 2. A stream has the epoch that its claim gave it. The store refuses writes of another epoch than the
//!    latest, so the last who claimed a key is the only one who writes to it.
//! 3. Sequences of a key have no gaps: an append names the first one it takes, and the store refuses it
//!    unless that follows the last. So nothing follows a write that failed.

mod conformance;
mod creation;
mod embedded;
mod error;
mod event;
mod memory;
#[cfg(feature = "postgres")]
mod postgresql;
mod records;
mod sourced;
mod store;
mod stream;
mod writer;

/// The client that [`Postgres`] uses, for those who connect in their own way.
#[cfg(feature = "postgres")]
pub use ::postgres;
pub use conformance::store_conforms;
pub use embedded::Embedded;
pub use error::{DecodeError, EncodeError, PersistError, RecoverError, StoreError};
pub use event::{Decoder, Encoder, Event};
pub use greenroom_macros::Event;
pub use memory::Memory;
#[cfg(feature = "postgres")]
pub use postgresql::Postgres;
pub use sourced::{EventSourced, Opening, Sourced};
pub use store::{Claim, Record, Refused, Snapshot, Store, Write, Written};
pub use stream::{Commit, Recovery, Stream};
pub use writer::Journal;
