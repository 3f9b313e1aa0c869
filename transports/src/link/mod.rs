//! The reliability engine without I/O. What it shares with what is below it is the time.

mod time;

pub use time::Time;
