//! The actor cell as the scheduler sees it: a counted header, its token, its waiting future.
//!
//! ```text
//! push (inbox) -> Woke -> Core::schedule(Ready) -> worker -> Ready::run -> Outcome
//! ```
//!
//! Invariants:
//! 1. A [`Ready`] *is* the scheduling token of its cell: it is made only by who took the token from
//!    the inbox, and consumed only by [`Ready::run`].
//! 2. Everything in [`cell::Owner`] belongs to the token's holder.
//! 3. A cell that has not ended holds one reference to itself, released in the run that ends it; so
//!    a token's holder needs no reference of its own.
//!
//! The layer does not know what an actor is: what to do with a node is in the node's
//! [`Kind`](crate::queue::node::Kind), what to do between messages in the cell's [`cell::VTable`].

pub(crate) mod awaited;
pub(crate) mod budget;
pub(crate) mod cargo;
pub(crate) mod cell;
pub(crate) mod core;
pub(crate) mod core_ref;
pub(crate) mod count;
pub(crate) mod current;
pub(crate) mod future;
pub(crate) mod held;
pub(crate) mod home;
mod ids;
pub(crate) mod letter;
pub(crate) mod life;
pub(crate) mod looks;
pub(crate) mod names;
pub(crate) mod priority;
pub(crate) mod random;
pub(crate) mod roots;
pub(crate) mod run;
pub(crate) mod share;
pub(crate) mod shared;
pub(crate) mod siblings;
mod stranger;
mod told;
pub(crate) mod waits;
pub(crate) mod waker;
pub(crate) mod watch;
pub(crate) mod witness;

pub use self::priority::Priority;
pub use self::run::{Hint, Ready};
