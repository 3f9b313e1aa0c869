//! The clock and the timer wheel.

mod alarms;
mod clock;
mod gate;
mod wheel;

pub(crate) use alarms::Alarms;
pub(crate) use clock::{Clock, Hand, Time};
pub(crate) use gate::{Entrance, Passing};
pub(crate) use wheel::{TimerKey, Wheel};
