use super::*;
use proptest::prelude::*;
use std::collections::BTreeSet;

fn at(millis: u64) -> Time {
    Time::from_nanos(millis * 1_000_000)
}

/// A packet is looked at as often as is asked for, each millisecond in which it waits; says when it is too much.
fn waits(lateness: &mut Lateness, sent: u64, acked: u64) -> Option<u64> {
    (sent..acked).find(|&now| {
        lateness.look_at(at(sent)) <= at(now) && lateness.is_too_much(at(now), at(sent))
    })
}

/// For how many milliseconds a queue pair is kept of which a packet waits for `wait` of `every` milliseconds.
fn kept(wait: u64, every: u64) -> Option<u64> {
    let mut lateness = Lateness::new(at(0));
    (0..600_000).step_by(every as usize).find_map(|sent| waits(&mut lateness, sent, sent + wait))
}

// [RDMA-48]
#[test]
fn attempts_do_not_begin_more_often_whoever_asks() {
    let pause = |less| at(1000) + (PAUSE_MIN - Duration::from_millis(less));
    // A device that comes here, and the peer's word of one there.
    for ask in [Attempts::retry, Attempts::heed] {
        let mut attempts = Attempts::new(at(0));
        assert!(!attempts.is_too_early(at(0)));
        attempts.begin(at(1000));
        ask(&mut attempts, at(1001));
        assert_eq!(attempts.offers_from(), pause(0));
        assert!(attempts.is_too_early(pause(1)) && !attempts.is_too_early(pause(0)));
    }
}

/// Attempts with many nodes that end together, as when a switch fails.
// [RDMA-44]
#[test]
fn attempts_that_end_together_do_not_begin_together() {
    let next = |random: u64| {
        let mut attempts = Attempts::new(at(0));
        attempts.begin(at(0));
        attempts.end(at(1000), None, random);
        attempts.offers_from().since(at(1000))
    };
    let pauses: BTreeSet<_> = (0..256).map(next).collect();
    assert_eq!(pauses.len(), 256);
    assert!(pauses.iter().all(|it| (PAUSE_MIN..PAUSE_MIN * 5 / 4).contains(it)), "{pauses:?}");
}

// [RDMA-50]
#[test]
fn what_is_late_for_long_or_often_is_too_much_and_a_rare_loss_is_not() {
    assert_eq!(kept(5000, 6000), Some(1100), "a second, from when it is late");
    let often = kept(368, 500).expect("half of the time");
    assert!((2000..5000).contains(&often), "{often}");
    // A lost packet that a device repeats after 268 ms, every few seconds.
    assert_eq!(kept(268, 3000), None);
    assert_eq!(kept(100, 101), None, "nothing is late that comes in time");
    // What is late by a moment is late for no longer.
    for wait in [101, 102, 110, 150] {
        assert_eq!(kept(wait, 500), None, "{wait}");
    }
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
fn a_look_that_comes_late_counts_what_was_late_and_no_more() {
    let looks = |late: u64| {
        let mut lateness = Lateness::new(at(0));
        (1..600).find(|look| lateness.is_too_much(at(look * 500), at(look * 500 - 100 - late)))
    };
    assert_eq!(looks(1), None);
    assert_eq!(looks(40), None, "as much is forgiven");
    assert_eq!(looks(100), Some(16));
}

// [RDMA-50]
#[test]
fn who_stood_still_has_not_waited() {
    let mut lateness = Lateness::new(at(0));
    assert!((1..60).all(|look| !lateness.is_too_much(at(look * 60_000), at(0))));
}

// [RDMA-50]
#[test]
fn after_one_that_was_slow_another_queue_pair_has_some_time() {
    let mut lateness = Lateness::new(at(0));
    assert_eq!(waits(&mut lateness, 0, 9000), Some(1100));
    // 25 ms are forgiven for the pause until the next one, 10 until its packet is late.
    assert_eq!(waits(&mut lateness, 1350, 9000), Some(1350 + 100 + 600));
    assert_eq!(waits(&mut lateness, 600_000, 609_000), Some(601_100), "in time it is forgotten");
}

/// What the packets that left and were acknowledged then were late, in tenths of a millisecond, less a tenth of other time: at
/// the end of each millisecond. The last `unseen` milliseconds of each are taken for other time.
fn late_by_then(packets: &[(u64, u64)], until: u64, unseen: u64) -> Vec<i64> {
    let is_late = |now: u64| {
        packets
            .iter()
            .any(|&(sent, acked)| (sent + 100..acked.saturating_sub(unseen)).contains(&now))
    };
    let mut sum = 0_i64;
    let add = |now| {
        sum = if is_late(now) { sum + 10 } else { (sum - 1).max(0) };
        sum
    };
    (0..until).map(add).collect()
}

proptest! {
    /// Against what was late in truth, from when each packet left and was acknowledged: the queue pair is kept until that is a
    /// second, and not for longer than the looks explain, which miss less than 100 ms of each.
    // [RDMA-50]
    #[test]
    fn what_was_late_in_truth_adds_up(
        gaps in prop::collection::vec((0..700_u64, 0..1300_u64), 1..40)
    ) {
        let (mut packets, mut now) = (Vec::new(), 0);
        for (gap, wait) in gaps {
            packets.push((now + gap, now + gap + wait));
            now += gap + wait;
        }
        let mut lateness = Lateness::new(at(0));
        let given_up =
            packets.iter().find_map(|&(sent, acked)| waits(&mut lateness, sent, acked));
        if let Some(given_up) = given_up {
            let late = late_by_then(&packets, given_up, 0);
            prop_assert!(late.last() >= Some(&10_000), "given up at {}: {:?}", given_up, late.last());
        }
        let seen = late_by_then(&packets, now, 100);
        let latest = seen.iter().position(|&late| late >= 10_000).map(|it| it as u64 + 100);
        prop_assert!(latest.is_none() || given_up <= latest && given_up.is_some(),
            "given up at {:?}, at {:?} at the latest", given_up, latest);
    }
}
