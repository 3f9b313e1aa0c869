use super::*;
use proptest::prelude::*;

fn at(millis: u64) -> Time {
    Time::from_nanos(millis * 1_000_000)
}

/// For how many milliseconds a queue pair is kept whose packets are late for `late` of `every` milliseconds.
fn kept(late: u64, every: u64) -> Option<u64> {
    let mut lateness = Lateness::new(at(0));
    let mut oldest = None;
    for millis in 0..600_000 {
        let phase = millis % every;
        if phase == 0 {
            oldest = Some(at(millis));
        }
        // The limit is part of the time for which a packet is under way.
        if phase == late + 100 {
            oldest = None;
        }
        if oldest.is_some_and(|oldest| lateness.look_at(oldest) <= at(millis))
            && lateness.is_too_much(at(millis))
        {
            return Some(millis);
        }
    }
    None
}

// [RDMA-50]
#[test]
fn what_is_late_for_long_or_often_is_too_much_and_a_rare_loss_is_not() {
    assert_eq!(kept(5000, 6000), Some(1000));
    let often = kept(168, 500).expect("a second in ten looks");
    assert!((2000..5000).contains(&often), "{often}");
    // A lost packet that a device repeats after 268 ms, every few seconds.
    assert_eq!(kept(168, 3000), None);
    assert_eq!(kept(0, 101), None, "nothing is late that comes in time");
}

// [RDMA-50]
#[test]
fn what_is_late_is_measured_by_a_round_trip_over_udp() {
    let mut lateness = Lateness::new(at(0));
    for (rtt, limit) in [(0, 100), (12, 100), (50, 400)] {
        lateness.set_round_trip(Duration::from_millis(rtt));
        assert_eq!(lateness.look_at(at(1000)), at(1000 + limit));
    }
}

// [RDMA-50]
#[test]
fn who_stood_still_has_not_waited() {
    let mut lateness = Lateness::new(at(0));
    assert!((1..9).all(|look| !lateness.is_too_much(at(look * 60_000))));
}

proptest! {
    /// Against a sum that is kept in floating point.
    // [RDMA-50]
    #[test]
    fn what_was_late_adds_up_and_is_forgiven(gaps in prop::collection::vec(100..5000_u64, 1..60)) {
        let (mut lateness, mut now, mut sum) = (Lateness::new(at(0)), 0, 0.0_f64);
        for gap in gaps {
            now += gap;
            sum = (sum - (gap as f64 - 100.0) / 10.0).max(0.0) + 100.0;
            let is_too_much = lateness.is_too_much(at(now));
            if (sum - 1000.0).abs() > 0.001 {
                prop_assert_eq!(is_too_much, sum > 1000.0);
            }
        }
    }
}
