//! Looking for work without sleeping: how often, and whether at all.

use crate::sync::spin_loop;
use crate::time::Clock;
use std::time::Duration;

/// Time between two looks, in nanoseconds: about what a line takes from core to core, so that looking
/// more often would find nothing new, and less often would add to the wait.
const INTERVAL_NS: u64 = 100;
/// Pauses in one measurement.
const PAUSES: u32 = 16;
/// Measurements, of which the shortest counts: the kernel may interrupt the others.
const MEASUREMENTS: u32 = 3;
/// Pauses between two looks at most, where the clock cannot tell how long one takes.
const PAUSES_MAX: u32 = 64;

/// Pauses of the calling thread's processor between two looks for work. One lasts from 4 ns to 60 ns,
/// depending on the processor; measuring that takes 3 µs at most.
pub(super) fn pauses(clock: &Clock) -> u32 {
    let measure = |_| {
        let began = clock.now();
        pause(PAUSES);
        clock.now().since(began)
    };
    let shortest = (0..MEASUREMENTS).map(measure).min().unwrap_or_default();
    pauses_of(shortest)
}

/// Pauses between two looks where [`PAUSES`] of them last so long.
fn pauses_of(measured: Duration) -> u32 {
    let wanted = u128::from(INTERVAL_NS) * u128::from(PAUSES);
    let count = wanted.checked_div(measured.as_nanos()).unwrap_or(u128::MAX);
    u32::try_from(count).unwrap_or(PAUSES_MAX).clamp(1, PAUSES_MAX)
}

/// Lets the processor rest a little, `count` times.
pub(super) fn pause(count: u32) {
    for _ in 0..count {
        spin_loop();
    }
}

/// Whether one of the workers could keep another from its core: also where nobody knows how many cores there are.
pub(crate) fn shares_core(workers: usize, cores: Option<usize>) -> bool {
    cores.is_none_or(|cores| workers > cores)
}

/// Whether a thread that is no worker may look for an answer without sleeping, while all are idle: it takes no worker's core.
pub(crate) fn outsiders_may_look(workers: usize, cores: Option<usize>) -> bool {
    !shares_core(workers, cores) && cores.is_some_and(|cores| cores > 1)
}

#[cfg(all(test, not(shuttle)))]
mod tests {
    use super::{PAUSES_MAX, outsiders_may_look, pauses, pauses_of, shares_core};
    use crate::time::Clock;
    use std::time::Duration;

    #[test]
    fn a_look_comes_every_hundred_nanoseconds_however_long_a_pause_is() {
        // Sixteen pauses of 4, 10, 50, 60, 100 and 5000 ns.
        let measured = [64, 160, 800, 960, 1600, 80_000].map(Duration::from_nanos);
        assert_eq!(measured.map(pauses_of), [25, 10, 2, 1, 1, 1]);
        assert_eq!(pauses_of(Duration::ZERO), PAUSES_MAX, "the clock stands still");
        assert_eq!(pauses_of(Duration::MAX), 1);
    }

    #[test]
    fn this_processor_is_measured_within_the_limits() {
        assert!((1..=PAUSES_MAX).contains(&pauses(&Clock::start())));
        assert_eq!(pauses(&Clock::by_hand().0), PAUSES_MAX);
    }

    #[test]
    fn workers_share_cores_where_they_are_more() {
        assert!(!shares_core(1, Some(2)) && !shares_core(2, Some(2)));
        assert!(shares_core(3, Some(2)) && shares_core(1, None));
        assert!(outsiders_may_look(1, Some(2)) && outsiders_may_look(2, Some(2)));
        assert!(!outsiders_may_look(1, Some(1)) && !outsiders_may_look(3, Some(2)));
        assert!(!outsiders_may_look(1, None));
    }
}
