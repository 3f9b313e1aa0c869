//! The one place where `kv` reads the time of day.

use std::time::{SystemTime, UNIX_EPOCH};

/// Returns the microseconds since 1970.
pub(crate) fn now_us() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}

/// Returns the milliseconds since 1970.
pub(crate) fn now_ms() -> i64 {
    now_us() / 1000
}
