use super::Skew;
use crate::time::Time;
use proptest::prelude::*;
use std::time::Duration;

proptest! {
    #[test]
    fn a_clock_never_goes_back_and_tells_when_it_shows_a_time(
        turns in prop::collection::vec((0_u64..10_000_000_000, -900_000_i32..900_000, 0_u64..1000), 1..20),
        ahead in 1_u64..10_000_000_000,
    ) {
        let mut skew = Skew::none();
        let (mut world, mut shown) = (0, Time(0));
        for (passes, drift, jump_ms) in turns {
            world += passes;
            prop_assert!(skew.at(world) >= shown);
            skew.drift(world, drift);
            skew.jump(world, Duration::from_millis(jump_ms));
            shown = skew.at(world);
            let due = Time(shown.0 + ahead);
            let when = skew.world_at(due).unwrap();
            prop_assert!(skew.at(when) >= due);
            prop_assert!(skew.at(when - 1) < due, "not a nanosecond later than needed");
        }
        skew.freeze(world);
        prop_assert_eq!(skew.world_at(Time(shown.0 + 1)), None);
        prop_assert_eq!(skew.at(world + 1_000_000), shown);
    }
}

#[test]
fn a_clock_that_is_far_ahead_stays_before_never() {
    let mut skew = Skew::none();
    skew.jump(1, Duration::MAX);
    assert!(skew.at(1) < Time::NEVER);
    assert!(skew.at(u64::MAX / 2) < Time::NEVER);
    skew.drift(2, i32::MAX);
    assert!(skew.at(u64::MAX / 2) < Time::NEVER);
    skew.jump(3, Duration::MAX);
    assert!(skew.at(4) < Time::NEVER && skew.at(4) >= skew.at(3));
}
