//! The one place where `kv` reads the time of day.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Returns the microseconds since 1970.
pub(crate) fn now_us() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}

/// Returns the milliseconds since 1970.
pub(crate) fn now_ms() -> i64 {
    now_us() / 1000
}

/// A time of day that never goes back. While the machine's is behind it, as after one that was ahead was set right, it
/// goes at half speed, so that the two meet again.
#[derive(Debug, Default)]
pub(crate) struct Forward {
    /// While it goes on so: since when, and from where.
    from: Option<(Instant, i64)>,
}

impl Forward {
    /// Returns the milliseconds since 1970 by a clock that has come to `least`.
    pub(crate) fn now_ms(&mut self, least: i64) -> i64 {
        self.after(least, now_ms(), Instant::now)
    }

    fn after(&mut self, least: i64, now: i64, instant: impl FnOnce() -> Instant) -> i64 {
        if now >= least {
            self.from = None;
            return now;
        }
        let instant = instant();
        let (begun, from) = *self.from.get_or_insert((instant, least));
        let passed = instant.saturating_duration_since(begun).as_millis();
        from.saturating_add(i64::try_from(passed / 2).unwrap_or(i64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::Forward;

    #[test]
    fn a_clock_that_was_set_back_goes_on() {
        let (mut clock, begun) = (Forward::default(), Instant::now());
        let after = |ms| move || begun + Duration::from_millis(ms);
        assert_eq!(clock.after(0, 1000, after(0)), 1000);
        assert_eq!(clock.after(1000, 200, after(0)), 1000);
        assert_eq!(clock.after(1000, 210, after(10)), 1005);
        assert_eq!(clock.after(1005, 200, after(14)), 1007);
        // It is set forward, and back again.
        assert_eq!(clock.after(1007, 2000, after(15)), 2000);
        assert_eq!(clock.after(2000, 500, after(20)), 2000);
        assert_eq!(clock.after(2000, 502, after(22)), 2001);
    }

    #[test]
    fn a_clock_that_was_set_back_meets_the_machines_again() {
        let (mut clock, begun) = (Forward::default(), Instant::now());
        let (mut least, mut ahead) = (1000, Vec::new());
        for passed in [0_u32, 100, 200, 300, 400, 500] {
            let now = 700 + i64::from(passed);
            least = clock.after(least, now, || begun + Duration::from_millis(passed.into()));
            ahead.push(least - now);
        }
        assert_eq!(ahead, [300, 250, 200, 150, 100, 0]);
    }
}
