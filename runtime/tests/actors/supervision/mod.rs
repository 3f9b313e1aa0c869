//! What restarts, what does not, and who learns of it.

#![allow(clippy::unwrap_used, reason = "what goes wrong in a test may panic")]
#![allow(clippy::disallowed_methods, reason = "these tests measure how long something waits")]

mod backoff;
mod deadlines;
mod dynamic;
mod escalation;
mod family;
mod links;
mod matrix;
mod patient;
mod restarts;
mod starts;
mod storm;
mod watches;
