//! loom: a thread that sleeps until its next alarm, others that set and cancel.

use super::{Alarms, Time};
use crate::sync::{Arc, thread};
use loom::sync::Notify;

const SOON: Time = Time(5_000_000);
/// A time that no model reaches.
const FAR: Time = Time(3_600_000_000_000);

/// Looks after the alarms until `count` have gone off; only a bell ends a sleep that is longer than
/// until [`SOON`].
fn look_after(alarms: &Alarms<u32>, bell: &Notify, count: usize) -> Vec<u32> {
    let (mut now, mut gone_off) = (Time(0), Vec::new());
    loop {
        alarms.take_due(now, &mut gone_off);
        if gone_off.len() >= count {
            return gone_off;
        }
        match alarms.next() {
            Some(next) if next < FAR => now = next,
            _ => bell.wait(),
        }
    }
}

#[test]
fn an_earlier_alarm_ends_the_sleep() {
    loom::model(|| {
        let shared = Arc::new((Alarms::new(), Notify::new()));
        shared.0.set(FAR, 1);
        let keeper = shared.clone();
        let thread = thread::spawn(move || look_after(&keeper.0, &keeper.1, 2));
        let setter = shared.clone();
        let second = thread::spawn(move || {
            if setter.0.set(SOON, 2).1 {
                setter.1.notify();
            }
        });
        if shared.0.set(SOON, 3).1 {
            shared.1.notify();
        }
        second.join().unwrap();
        let mut gone_off = thread.join().unwrap();
        gone_off.sort_unstable();
        assert_eq!(gone_off, [2, 3]);
    });
}

#[test]
fn an_alarm_goes_off_or_is_cancelled_even_when_its_place_is_used_again() {
    loom::model(|| {
        let shared = Arc::new((Alarms::new(), Notify::new()));
        let (key, _) = shared.0.set(SOON, 1);
        let canceller = shared.clone();
        let thread = thread::spawn(move || canceller.0.cancel(key));
        let keeper = shared.clone();
        let second = thread::spawn(move || {
            let mut gone_off = Vec::new();
            keeper.0.take_due(SOON, &mut gone_off);
            gone_off
        });
        // It may lie where the first one was; the old key must not name it.
        shared.0.set(FAR, 2);
        let cancelled = thread.join().unwrap();
        let gone_off = second.join().unwrap();
        assert_eq!(gone_off.len() + usize::from(cancelled.is_some()), 1, "one end");
        assert_ne!(cancelled, Some(2));
        let mut rest = Vec::new();
        shared.0.take_due(FAR, &mut rest);
        assert_eq!(rest, [2]);
    });
}
