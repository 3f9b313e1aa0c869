//! Bounds: how much mail may wait, and what happens to the rest.

mod bound;
mod policy;
mod pressure;

pub(crate) use bound::{Admission, Bound, Claim, Pass, RoomFrom, Slide};
pub use policy::{Full, Mailbox};
pub use pressure::{Pressure, SystemPressure};
