//! Bounds: how much mail may wait, and what happens to the rest.

mod bound;
mod policy;

pub(crate) use bound::{Admission, Bound, RoomFrom, Slide};
pub use policy::{Full, Mailbox};
