//! The clock and the timer wheel.

mod clock;
mod wheel;

pub(crate) use clock::{Clock, Time};
pub(crate) use wheel::{TimerKey, Wheel};
