//! Arrivals of common kinds, for those who have no trace yet. Each lasts about a second.

use super::trace::Message;

/// A pattern's name, what it is, and how it is made.
pub(super) struct Pattern {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    pub(super) make: fn() -> Vec<Message>,
}

/// Every pattern.
pub(super) const PATTERNS: [Pattern; 5] = [
    Pattern { name: "steady", about: "64 actors in turn, a message every 20 µs", make: steady },
    Pattern {
        name: "bursty",
        about: "2,000 messages to 64 actors at once, every 50 ms",
        make: bursty,
    },
    Pattern { name: "fan-in", about: "16 actors pass what they get on to one", make: fan_in },
    Pattern { name: "imbalance", about: "of 64 actors one has half of the work", make: imbalance },
    Pattern { name: "ping-pong", about: "pairs of actors answer each other", make: ping_pong },
];

fn message(time_us: f64, sender: Option<u32>, receiver: u32, work_us: f64) -> Message {
    Message { time_us, sender, receiver, work_us }
}

fn steady() -> Vec<Message> {
    let at = |turn: u32| message(f64::from(turn) * 20.0, None, turn % 64, 2.0);
    (0..50_000).map(at).collect()
}

fn bursty() -> Vec<Message> {
    let at = |turn: u32| message(f64::from(turn / 2_000) * 50_000.0, None, turn % 64, 2.0);
    (0..40_000).map(at).collect()
}

fn fan_in() -> Vec<Message> {
    let pass = |turn: u32| {
        let (time, actor) = (f64::from(turn) * 40.0, 1 + turn % 16);
        [message(time, None, actor, 1.0), message(time + 2.0, Some(actor), 0, 1.0)]
    };
    (0..25_000).flat_map(pass).collect()
}

fn imbalance() -> Vec<Message> {
    let at = |turn: u32| {
        let receiver = if turn.is_multiple_of(2) { 0 } else { 1 + (turn / 2) % 63 };
        message(f64::from(turn) * 20.0, None, receiver, 10.0)
    };
    (0..50_000).map(at).collect()
}

fn ping_pong() -> Vec<Message> {
    let pair = |pair: u32| {
        let (left, right) = (2 * pair, 2 * pair + 1);
        (0..5_000_u32).map(move |hop| {
            let (sender, receiver) = if hop % 2 == 0 { (right, left) } else { (left, right) };
            let sender = (hop > 0).then_some(sender);
            message(f64::from(hop) * 200.0, sender, receiver, 0.5)
        })
    };
    (0..8).flat_map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::super::trace::Plan;
    use super::PATTERNS;

    #[test]
    fn patterns_last_about_a_second() {
        for pattern in PATTERNS {
            let messages = (pattern.make)();
            let last = messages.iter().map(|message| message.time_us).fold(0.0, f64::max);
            assert!((900_000.0..1_100_000.0).contains(&last), "{}: {last} µs", pattern.name);
        }
    }

    #[test]
    fn what_follows_from_a_message_has_a_cause() {
        let roots = |name: &str| {
            let pattern = PATTERNS.iter().find(|pattern| pattern.name == name).unwrap();
            let plan = Plan::new((pattern.make)());
            (plan.roots.len(), plan.jobs.len())
        };
        assert_eq!(roots("ping-pong"), (8, 40_000), "one ball for each pair");
        assert_eq!(roots("fan-in"), (25_000, 50_000));
        assert_eq!(roots("steady"), (50_000, 50_000));
    }
}
