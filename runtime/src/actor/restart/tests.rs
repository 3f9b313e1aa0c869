//! Restart intensity against a naive count.

use super::{History, Verdict};
use crate::actor::options::Restart;
use crate::event::ExitReason;
use crate::time::Time;
use proptest::prelude::*;
use std::time::Duration;

/// For policies that draw nothing.
fn none() -> u64 {
    unreachable!("nothing is to be chosen")
}

proptest! {
    /// [G-RESTART-4]
    #[test]
    fn exactly_so_many_restarts_in_any_window(
        count in 0..6_u32,
        window in 1..50_u64,
        gaps in prop::collection::vec(0..20_u64, 1..60),
    ) {
        let policy = Restart::transient(count, Duration::from_nanos(window));
        let reason = ExitReason::Failed("so".to_owned());
        let mut history = History::default();
        let mut restarts: Vec<u64> = Vec::new();
        let mut now = 0;
        for gap in gaps {
            now += gap;
            let recent = restarts.iter().filter(|&&at| now - at < window).count();
            let verdict = history.judge(&policy, &reason, false, Time(now), none);
            if recent < count as usize {
                prop_assert_eq!(verdict, Verdict::Restart(Duration::ZERO));
                restarts.push(now);
            } else {
                prop_assert_eq!(verdict, Verdict::TooMany);
            }
        }
    }
}

#[test]
fn each_policy_restarts_after_its_kind_of_end() {
    let second = Duration::from_secs(1);
    let again = |policy: &Restart, reason: ExitReason, own_wish| {
        let verdict = History::default().judge(policy, &reason, own_wish, Time(0), none);
        matches!(verdict, Verdict::Restart(_))
    };
    let failures = [ExitReason::Panicked(String::new()), ExitReason::Failed(String::new())];
    let (never, transient, permanent) =
        (Restart::never(), Restart::transient(1, second), Restart::permanent(1, second));
    for failure in failures {
        assert!(!again(&never, failure.clone(), false));
        assert!(again(&transient, failure.clone(), false));
        assert!(again(&permanent, failure, false));
    }
    for policy in [&never, &transient, &permanent] {
        assert!(!again(policy, ExitReason::Killed, false));
        assert!(!again(policy, ExitReason::Stopped, false), "it was asked to stop");
    }
    assert!(!again(&transient, ExitReason::Stopped, true));
    assert!(again(&permanent, ExitReason::Stopped, true), "it stopped by itself");
}

#[test]
fn back_off_doubles_up_to_its_longest() {
    let millis = Duration::from_millis;
    let policy = Restart::transient(9, Duration::from_secs(10)).backoff(millis(50), millis(300));
    let mut history = History::default();
    let reason = ExitReason::Failed(String::new());
    let delays: Vec<_> =
        (0..5).map(|at| history.judge(&policy, &reason, false, Time(at), none)).collect();
    assert_eq!(delays, [50, 100, 200, 300, 300].map(|delay| Verdict::Restart(millis(delay))));
}

proptest! {
    /// [G-RESTART-5]
    #[test]
    fn jitter_shortens_by_no_more_than_its_share(
        min in 1..1_000_u64,
        percent in 1..=100_u32,
        nth in 0..40_u32,
        draw in any::<u64>(),
    ) {
        let (min, max) = (Duration::from_millis(min), Duration::from_secs(10));
        let plain = Restart::transient(9, max).backoff(min, max);
        let full = plain.delay(nth, none);
        let policy = plain.jitter(percent);
        let shortest = full - full * percent / 100;
        let delay = policy.delay(nth, || draw);
        prop_assert!((shortest..=full).contains(&delay), "{delay:?} of {full:?}");
        prop_assert_eq!(policy.delay(nth, || 0), full);
        prop_assert_eq!(policy.delay(nth, || u64::MAX), shortest);
    }
}
