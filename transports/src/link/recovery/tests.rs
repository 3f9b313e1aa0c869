use super::*;
use crate::link::ack::write_received;
use crate::link::frame::Frame;
use crate::link::ranges::Ranges;
use crate::link::wire::{Reader, Writer};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

fn config() -> Config {
    Config { initial_rtt: Duration::from_millis(10), ..Config::default() }
}

/// Hands an acknowledgement of those packets to the recovery.
fn ack(
    recovery: &mut Recovery,
    now: Time,
    packets: impl IntoIterator<Item = u64>,
    findings: &mut Findings,
) -> Result<bool, CloseReason> {
    let mut ranges = Ranges::new();
    for packet in packets {
        ranges.insert(packet);
    }
    let mut buffer = [0; 2000];
    write_received(&ranges, 0, None, &mut Writer::new(&mut buffer)).expect("there is room");
    let Ok(Frame::Ack(ack)) = Frame::read(&mut Reader::new(&buffer)) else {
        panic!("an acknowledgement was written")
    };
    findings.clear();
    recovery.on_ack(now, &ack, findings)
}

#[derive(Clone, Debug)]
enum Step {
    Send,
    /// The packets so far back from the newest arrive.
    Ack(Vec<u64>),
    Wait(u64),
    Skip,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        5 => Just(Step::Send),
        2 => prop::collection::vec(0..12_u64, 1..6).prop_map(Step::Ack),
        2 => (1..8_u64).prop_map(Step::Wait),
        1 => Just(Step::Skip),
    ]
}

proptest! {
    /// Against RFC 9002, section 6.1, said plainly over the whole history: a packet is lost as soon as
    /// one was acknowledged that was sent three later, or one later and 9/8 of a round trip ago.
    // [LINK-21] [LINK-22]
    #[test]
    fn lost_is_what_was_overtaken_far_or_long_enough(
        steps in prop::collection::vec(step(), 1..120),
    ) {
        let mut recovery = Recovery::new(&config());
        let mut findings = Findings::default();
        let mut now = Time::from_nanos(1);
        let (mut sent, mut skipped) = (BTreeMap::new(), BTreeSet::new());
        let (mut acked, mut lost) = (BTreeSet::<u64>::new(), BTreeSet::<u64>::new());
        for step in steps {
            findings.clear();
            match step {
                Step::Send => {
                    let number = recovery.sent.next();
                    recovery.sent.add_message(number);
                    recovery.on_sent(now, 100, Purpose::Frames, 0);
                    sent.insert(number, now);
                }
                Step::Skip => {
                    skipped.insert(recovery.sent.next());
                    recovery.sent.skip(now);
                }
                Step::Wait(ms) => now = now + Duration::from_millis(ms),
                Step::Ack(back) => {
                    let next = recovery.sent.next();
                    let named = back.iter().filter_map(|back| next.checked_sub(back + 1));
                    let named: BTreeSet<u64> = named.filter(|at| !skipped.contains(at)).collect();
                    if named.is_empty() {
                        continue;
                    }
                    let open = |at: &u64| !acked.contains(at) && !lost.contains(at);
                    let fresh: BTreeSet<u64> = named.iter().copied().filter(open).collect();
                    let news = ack(&mut recovery, now, named, &mut findings);
                    prop_assert_eq!(news, Ok(!fresh.is_empty()));
                    let found: BTreeSet<u64> = findings.acked.iter().map(number_of).collect();
                    prop_assert_eq!(&found, &fresh);
                    acked.extend(fresh);
                }
            }
            while recovery.timeout().is_some_and(|due| due <= now) {
                if recovery.on_timeout(now, &mut findings) == Expired::Probe {
                    prop_assert!(sent.keys().any(|at| !acked.contains(at) && !lost.contains(at)));
                }
            }
            // Those of the acknowledgement and those of the timer.
            let delay = recovery.rtt.loss_delay(config().granularity);
            let largest = acked.last().copied().unwrap_or(0);
            let expected: BTreeSet<u64> = sent
                .iter()
                .filter(|(at, _)| **at < largest && !acked.contains(at) && !lost.contains(at))
                .filter(|(at, time)| largest - **at >= 3 || now >= **time + delay)
                .map(|(at, _)| *at)
                .collect();
            let found: BTreeSet<u64> = findings.lost.iter().map(number_of).collect();
            prop_assert_eq!(&found, &expected);
            lost.extend(found);
            let open = sent.keys().filter(|at| !acked.contains(at) && !lost.contains(at)).count();
            prop_assert_eq!(recovery.sent.bytes_in_flight(), 100 * open as u64);
            prop_assert_eq!(recovery.sent.is_waiting(), open > 0);
            prop_assert_eq!(recovery.timeout().is_some(), open > 0, "who waits has a timer");
        }
    }
}

fn number_of(item: &Item) -> u64 {
    let Item::Messages { first, count: 1 } = item else { panic!("{item:?} is not what was sent") };
    *first
}

// [LINK-11]
#[test]
fn what_was_never_sent_cannot_be_acknowledged() {
    let mut recovery = Recovery::new(&config());
    let mut findings = Findings::default();
    let now = Time::from_nanos(1);
    let early = ack(&mut recovery, now, [0], &mut findings);
    assert_eq!(early, Err(CloseReason::AckOfUnsent));
    recovery.on_sent(now, 100, Purpose::Frames, 0);
    recovery.sent.skip(now);
    recovery.on_sent(now, 100, Purpose::Frames, 0);
    assert_eq!(ack(&mut recovery, now, [0], &mut findings), Ok(true));
    let skipped = ack(&mut recovery, now, [1, 2], &mut findings);
    assert_eq!(skipped, Err(CloseReason::AckOfUnsent), "a number that was left out");
}

// [LINK-23]
#[test]
fn probes_back_off_up_to_a_bound() {
    let mut recovery = Recovery::new(&config());
    let mut findings = Findings::default();
    let start = Time::from_nanos(1);
    recovery.on_sent(start, 100, Purpose::Frames, 0);
    let (mut now, mut waits) = (start, Vec::new());
    for _ in 0..12 {
        let due = recovery.timeout().expect("a packet is under way");
        waits.push(due.since(now));
        now = due;
        assert_eq!(recovery.on_timeout(now, &mut findings), Expired::Probe);
    }
    // 10 ms, 4 times 5 ms of deviation, 1 ms of the peer's delay.
    assert_eq!(waits[0], Duration::from_millis(31));
    assert!(waits.windows(2).all(|pair| pair[1] == (pair[0] * 2).min(config().probe_delay_max)));
    assert_eq!(waits[11], config().probe_delay_max);
    let mut items = Vec::new();
    recovery.oldest_items(&mut items);
    assert_eq!(recovery.sent.bytes_in_flight(), 100, "a probe declares nothing lost");
}

// [LINK-24]
#[test]
fn a_carrier_that_repeats_needs_no_timer() {
    let mut recovery = Recovery::new(&Config { loss_detection: false, ..config() });
    let mut findings = Findings::default();
    let now = Time::from_nanos(1);
    for _ in 0..10 {
        recovery.on_sent(now, 100, Purpose::Frames, 0);
    }
    assert_eq!(recovery.timeout(), None);
    assert_eq!(ack(&mut recovery, now, [9], &mut findings), Ok(true));
    assert!(findings.lost.is_empty());
    assert_eq!(recovery.timeout(), None);
}

// [LINK-25]
#[test]
fn lasting_loss_is_told_from_a_burst() {
    let run = |gap_ms: u64| {
        let mut recovery = Recovery::new(&config());
        let mut findings = Findings::default();
        let mut now = Time::from_nanos(1);
        recovery.on_sent(now, 100, Purpose::Frames, 0);
        now = now + Duration::from_millis(10);
        ack(&mut recovery, now, [0], &mut findings).expect("it was sent");
        for _ in 0..8 {
            recovery.on_sent(now, 100, Purpose::Frames, 0);
            now = now + Duration::from_millis(gap_ms);
        }
        ack(&mut recovery, now, [8], &mut findings).expect("it was sent");
        assert!(findings.lost_packets >= 5);
        findings.persistent
    };
    assert!(run(40), "280 ms without anything, and a probe delay of 31 ms");
    assert!(!run(1));
}

/// RFC 9002, section 7.6.2: what left before a round trip was measured does not count.
// [LINK-25]
#[test]
fn loss_before_the_first_round_trip_is_not_lasting() {
    let mut recovery = Recovery::new(&config());
    let mut findings = Findings::default();
    let at = |ms: u64| Time::from_nanos(ms * 1_000_000);
    for number in 0..9 {
        recovery.on_sent(at(40 * number), 100, Purpose::Frames, 0);
    }
    // A probe delay of 31 ms, and 280 ms without anything.
    ack(&mut recovery, at(330), [8], &mut findings).expect("it was sent");
    assert!(findings.lost_packets >= 5 && !findings.persistent);
}

// [LINK-26]
#[test]
fn who_only_acknowledges_remembers_little() {
    let mut recovery = Recovery::new(&config());
    let mut findings = Findings::default();
    let now = Time::from_nanos(1);
    for round in 0..10_000 {
        recovery.on_sent(now, 20, Purpose::Acks, round);
        if round % 100 == 0 {
            recovery.sent.skip(now);
        }
        assert!(recovery.sent.next() - recovery.sent.first() < 70);
    }
    // What asks for an acknowledgement is remembered until it has one, or is lost.
    let asking = recovery.sent.next();
    recovery.on_sent(now, 100, Purpose::Frames, 0);
    for _ in 0..1000 {
        recovery.on_sent(now, 20, Purpose::Acks, 0);
    }
    assert_eq!(recovery.sent.first(), asking);
    assert_eq!(ack(&mut recovery, now, [asking], &mut findings), Ok(true));
    assert_eq!(findings.acked_bytes, 100);
}

// [LINK-33]
#[test]
fn a_path_that_is_left_says_nothing_of_the_next() {
    let ms = Duration::from_millis;
    // Eight packets in a time that makes their loss lasting, and a probe of the path.
    let moved = || {
        let mut recovery = Recovery::new(&config());
        for number in 0..8 {
            recovery.sent.add_message(number);
            recovery.on_sent(Time::default() + ms(40) * number as u32, 100, Purpose::Frames, 0);
        }
        recovery.on_sent(Time::default() + ms(300), 1400, Purpose::MtuProbe, 0);
        recovery.path_changed(ms(10));
        assert_eq!(recovery.sent.bytes_in_flight(), 0, "they take no room on the next one");
        assert!(recovery.sent.is_waiting());
        recovery
    };
    let now = Time::default() + ms(310);
    let mut findings = Findings::default();

    let mut recovery = moved();
    assert_eq!(ack(&mut recovery, now, [7, 8], &mut findings), Ok(true));
    assert_eq!((findings.acked.len(), findings.lost.len()), (1, 7));
    assert_eq!((findings.acked_bytes, findings.acked_sent, findings.acked_size_max), (0, None, 0));
    assert_eq!((findings.lost_sent, findings.lost_size_max, findings.probe), (None, 0, None));
    assert!(!recovery.rtt.is_sampled());

    let mut recovery = moved();
    recovery.on_sent(now, 200, Purpose::Frames, 0);
    assert_eq!(ack(&mut recovery, now + ms(20), [9], &mut findings), Ok(true));
    assert_eq!(findings.lost.len(), 8, "they are sent again");
    assert_eq!((findings.acked_bytes, findings.acked_sent), (200, Some(now)));
    assert_eq!((findings.lost_sent, findings.lost_size_max, findings.probe), (None, 0, None));
    assert!(!findings.persistent && recovery.rtt.is_sampled());
    assert_eq!(recovery.sent.bytes_in_flight(), 0);
}
