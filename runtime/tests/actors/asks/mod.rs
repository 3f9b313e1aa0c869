//! An ask has exactly one outcome, its deadline goes wherever the work goes, and what nobody waits for any
//! more is not begun.

#![allow(clippy::unwrap_used, reason = "what goes wrong in a test may panic")]
#![allow(clippy::disallowed_methods, reason = "these tests measure how long something waits")]

mod answers;
mod cancelled;
mod circles;
mod cycles;
mod deadlines;
mod expired;
mod forward;
mod many;
mod oracle;
mod room;
mod tells;
