//! What the events say of virtual actors: each comes, sleeps and ends as it may.

use greenroom::{ActorId, Event, EventStream};
use std::collections::BTreeMap;

/// What an actor is, by its events.
#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Asleep,
    Up,
    /// Between two incarnations, by its restart policy.
    Restarting,
    Ended,
}

/// What was seen of all.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) actors: u64,
    pub(super) starts: u64,
    pub(super) restarts: u64,
    pub(super) sleeps_after_failures: u64,
    pub(super) ends: u64,
}

/// Reads all events; whether nobody was ended from outside, and none failed to start, `is_gentle` says.
pub(super) fn check(events: &mut EventStream, is_gentle: bool) -> Seen {
    let (mut seen, mut all) = (Seen::default(), BTreeMap::new());
    while let Some(event) = events.try_next() {
        let Some((actor, next)) = step(&event, &mut seen) else { continue };
        let (state, incarnations) = all.entry(actor).or_insert((State::Asleep, 0));
        let is_right = match next {
            State::Up => [State::Asleep, State::Restarting].contains(state),
            State::Asleep => *state == State::Up,
            State::Restarting => *state == State::Up || !is_gentle && *state == State::Restarting,
            State::Ended => *state != State::Ended,
        };
        assert!(is_right, "{event:?} of one that is {state:?}");
        if let Event::Started { incarnation, .. } = event {
            let is_next = incarnation == *incarnations || !is_gentle && incarnation > *incarnations;
            assert!(is_next, "{event:?} where {incarnations} is due");
            *incarnations = incarnation + 1;
        }
        *state = next;
    }
    assert_eq!(events.missed(), 0);
    assert!(all.values().all(|(state, _)| *state == State::Ended), "{all:?}");
    seen.actors = all.len() as u64;
    seen
}

/// What an event says that an actor is now.
fn step(event: &Event, seen: &mut Seen) -> Option<(ActorId, State)> {
    match event {
        Event::Started { actor, .. } => {
            seen.starts += 1;
            Some((*actor, State::Up))
        }
        Event::Restarting { actor, .. } => {
            seen.restarts += 1;
            Some((*actor, State::Restarting))
        }
        Event::Asleep { actor, reason } => {
            seen.sleeps_after_failures += u64::from(!reason.is_normal());
            Some((*actor, State::Asleep))
        }
        Event::Ended { actor, .. } => {
            seen.ends += 1;
            Some((*actor, State::Ended))
        }
        _ => None,
    }
}
