use super::*;
use proptest::prelude::*;
use std::time::Duration;

const SIZE: u64 = 1200;
const RTT: Duration = Duration::from_millis(20);

fn at(ms: u64) -> Time {
    Time::from_nanos(ms * 1_000_000)
}

fn arrival(bytes: u64, sent: Time) -> Arrival {
    Arrival { bytes, sent, rtt: RTT, window_used: true }
}

/// A window's worth arrives, packet by packet, every round trip.
fn round_trips(cubic: &mut Cubic, start_ms: u64, count: u64) -> u64 {
    let mut now = start_ms;
    for _ in 0..count {
        let packets = cubic.window() / SIZE;
        for _ in 0..packets {
            cubic.on_arrival(at(now + 20), &arrival(SIZE, at(now)));
        }
        now += 20;
    }
    now
}

// [LINK-30]
#[test]
fn it_doubles_until_the_first_loss() {
    let mut cubic = Cubic::new(10, SIZE);
    round_trips(&mut cubic, 0, 3);
    assert_eq!(cubic.window(), 80 * SIZE);
    cubic.on_congestion(at(60), at(50), false);
    assert_eq!(cubic.window(), 56 * SIZE);
    // Losses of the same flight count once.
    cubic.on_congestion(at(61), at(55), false);
    assert_eq!(cubic.window(), 56 * SIZE);
}

/// Against section 4.2: after K seconds the window is back at its old size, and it is flat there.
// [LINK-30]
#[test]
fn it_comes_back_when_the_function_says() {
    let mut cubic = Cubic::new(1000, SIZE);
    cubic.on_congestion(at(1), at(0), false);
    let plateau = (1000.0 * (1.0 - BETA) / STEEPNESS).cbrt();
    let trips = (plateau / RTT.as_secs_f64()) as u64;
    let now = round_trips(&mut cubic, 10, trips / 2);
    let half = cubic.packets();
    let expected = 1000.0 - STEEPNESS * (plateau / 2.0).powi(3);
    assert!((half - expected).abs() < 25.0, "{half} packets half way, not {expected}");
    round_trips(&mut cubic, now, trips - trips / 2);
    assert!((cubic.packets() - 1000.0).abs() < 25.0, "{} packets in the end", cubic.packets());
}

/// RFC 9438, section 4.3: where Reno is faster, by about half a packet for each round trip until the window is as large as
/// before the loss, and by a whole one from then on.
// [LINK-30]
#[test]
fn it_grows_as_reno_does_where_that_is_faster() {
    let mut cubic = Cubic::new(20, SIZE);
    cubic.on_congestion(at(1), at(0), false);
    assert_eq!(cubic.window(), 14 * SIZE);
    let now = round_trips(&mut cubic, 10, 12);
    assert!((19.0..=21.0).contains(&cubic.packets()), "{} packets", cubic.packets());
    round_trips(&mut cubic, now, 20);
    assert!((38.0..=41.0).contains(&cubic.packets()), "{} packets", cubic.packets());
}

// [LINK-30]
#[test]
fn a_window_that_is_not_used_does_not_grow() {
    let mut cubic = Cubic::new(10, SIZE);
    for ms in 0..100 {
        let idle = Arrival { window_used: false, ..arrival(SIZE, at(ms)) };
        cubic.on_arrival(at(ms + 20), &idle);
    }
    assert_eq!(cubic.window(), 10 * SIZE);
}

/// RFC 9438, section 4.2: the time since the loss is without that in which nothing was under way.
// [LINK-30]
#[test]
fn a_pause_is_no_time_to_grow_in() {
    let after = |pause_ms: u64| {
        let mut cubic = Cubic::new(1000, SIZE);
        cubic.on_congestion(at(1), at(0), false);
        let now = round_trips(&mut cubic, 10, 20);
        round_trips(&mut cubic, now + pause_ms, 5);
        cubic.window()
    };
    assert_eq!(after(100_000), after(0));
}

/// One acknowledgement for a flight that left over most of a round trip: none of that time is a pause.
// [LINK-30]
#[test]
fn a_flight_that_is_acknowledged_at_once_was_no_pause() {
    let mut cubic = Cubic::new(1000, SIZE);
    cubic.on_congestion(at(1), at(0), false);
    let plateau = (1000.0 * (1.0 - BETA) / STEEPNESS).cbrt();
    let (paced_ms, flight_ms) = (16, 36);
    let flights = (plateau / 2.0 * 1000.0) as u64 / flight_ms;
    for flight in 0..flights {
        let start = 10 + flight * flight_ms;
        let whole = arrival(cubic.window(), at(start + paced_ms));
        cubic.on_arrival(at(start + flight_ms), &whole);
    }
    let expected = 1000.0 - STEEPNESS * (plateau / 2.0).powi(3);
    let half = cubic.packets();
    assert!((half - expected).abs() < 25.0, "{half} packets half way, not {expected}");
}

/// The plateau is as many bytes as before, however long packets are.
// [LINK-30]
#[test]
fn it_comes_back_to_the_same_bytes_in_longer_packets() {
    for changes_at in [0, 10] {
        let mut cubic = Cubic::new(10_000, SIZE);
        cubic.on_congestion(at(1), at(0), false);
        let now = round_trips(&mut cubic, 10, changes_at);
        let longer = 4 * SIZE;
        cubic.set_packet_size(longer);
        let plateau = (2500.0 * (1.0 - BETA) / STEEPNESS).cbrt();
        let trips = (plateau / RTT.as_secs_f64()) as u64;
        for trip in 0..trips {
            for _ in 0..cubic.window() / longer {
                cubic.on_arrival(at(now + 20 * trip + 20), &arrival(longer, at(now + 20 * trip)));
            }
        }
        assert!((cubic.packets() - 2500.0).abs() < 25.0, "{} packets", cubic.packets());
    }
}

// [LINK-30]
#[test]
fn lasting_loss_begins_at_the_bottom() {
    let mut cubic = Cubic::new(100, SIZE);
    cubic.on_congestion(at(10), at(0), true);
    assert_eq!(cubic.window(), PACKETS_MIN * SIZE);
    assert!(cubic.is_probing(), "it may double up to its threshold");
    cubic.on_path_change();
    assert_eq!(cubic.window(), 100 * SIZE);
}

proptest! {
    // [LINK-30]
    #[test]
    fn the_window_is_sane(
        steps in prop::collection::vec((0..4_u8, 1..30_u64, any::<bool>()), 1..200),
        initial in 2..100_u64,
    ) {
        let mut cubic = Cubic::new(initial, SIZE);
        let mut now = 0;
        for (step, ms, flag) in steps {
            let before = cubic.window();
            now += ms;
            let sent = at(now.saturating_sub(20));
            if step == 0 {
                cubic.on_congestion(at(now), sent, flag);
                prop_assert!(cubic.window() <= before.max(PACKETS_MIN * SIZE));
            } else {
                let it = Arrival { window_used: flag, ..arrival(ms * SIZE, sent) };
                cubic.on_arrival(at(now), &it);
                prop_assert!(cubic.window() >= before);
                prop_assert!(cubic.window() <= before + ms * SIZE, "no faster than slow start");
            }
            prop_assert!(cubic.window() >= PACKETS_MIN * SIZE);
        }
    }
}
