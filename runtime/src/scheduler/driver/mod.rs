//! What a worker runs inside: tokio; or, where shuttle explores schedules, a bare loop, because tokio's
//! own threads and locks are none of shuttle's.

#[cfg(shuttle)]
#[path = "bare.rs"]
mod door;
#[cfg(not(shuttle))]
#[path = "tokio.rs"]
mod door;

pub(super) use door::{AlarmClock, Driver};
