//! Every interleaving of two senders, an urgent one, a waker and two workers at one mailbox: there is
//! always exactly one token, never a second runner, and nothing is lost. The same walk finds what a
//! planted fault breaks, so that it is known to look.

// One thread walks, so that sanitizers have nothing to find.
#![cfg(not(sanitized))]

mod token;

#[expect(clippy::disallowed_types, reason = "only asked whether it has a state")]
use std::collections::HashSet;
use token::{Fault, Start, State};

/// Beginnings that differ in where the token is and what the urgent message means.
const STARTS: [Start; 5] = [
    Start { idle: true, waits: false, ends: false, messages: [2, 1] },
    Start { idle: false, waits: false, ends: false, messages: [2, 1] },
    Start { idle: false, waits: true, ends: false, messages: [2, 1] },
    Start { idle: false, waits: false, ends: true, messages: [2, 1] },
    Start { idle: false, waits: true, ends: true, messages: [1, 1] },
];

/// Walks through all states; their number, or the first promise found broken.
#[expect(clippy::disallowed_types, reason = "only asked whether it has a state")]
fn explore(start: Start, fault: Option<Fault>) -> Result<usize, &'static str> {
    let first = State::new(start);
    let mut seen = HashSet::from([first.clone()]);
    let mut open = vec![first];
    while let Some(state) = open.pop() {
        if let Some(broken) = state.broken_promise() {
            return Err(broken);
        }
        let successors = state.successors(start, fault);
        if successors.is_empty()
            && let Some(missing) = state.unfinished(start)
        {
            return Err(missing);
        }
        for next in successors {
            if seen.insert(next.clone()) {
                open.push(next);
            }
        }
    }
    Ok(seen.len())
}

#[test]
fn one_token_one_runner_and_nothing_lost() {
    for start in STARTS {
        let states = explore(start, None);
        assert!(states.is_ok_and(|states| states > 1_000), "{start:?}: {states:?}");
    }
}

#[test]
fn planted_faults_are_found() {
    let faults = [
        Fault::RestByStore,
        Fault::DieByStore,
        Fault::UrgentLeavesToken,
        Fault::PushForgetsParked,
        Fault::PushForgetsUrgent,
        Fault::RaiseLeavesToken,
        Fault::ParkIgnoresUrgent,
        Fault::LaneBeforeFlag,
        Fault::WakeAlwaysSchedules,
        Fault::PushIgnoresDead,
    ];
    for fault in faults {
        let found = STARTS.iter().find_map(|&start| explore(start, Some(fault)).err());
        assert!(found.is_some(), "{fault:?} breaks no promise in any walk");
    }
}
