//! What each rule makes of a world: whoever is always ready, runs as often as the rule says.
#![allow(clippy::unwrap_used, reason = "what goes wrong in a test may panic")]

use greenroom::sim::{Explore, Policy, World};
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::rc::Rc;

const SEEDS: u64 = 20;
/// Tasks that are ready all the time.
const TASKS: usize = 4;
/// Turns of a world, more than those within which priorities change.
const TURNS: usize = 2_400;
/// A world lets whoever waited longest run once in so many steps, whatever the rule.
const FAIR: usize = 61;

/// Runs tasks that take a turn again and again, and returns whose each turn was. A task ends after `most`
/// turns of its own, and all do after [`TURNS`].
fn turns(world: &mut World, most: usize) -> Vec<usize> {
    let turns = Rc::new(RefCell::new(Vec::new()));
    for me in 0..TASKS {
        let turns = Rc::clone(&turns);
        world.spawn(async move {
            for _ in 0..most {
                if turns.borrow().len() == TURNS {
                    break;
                }
                turns.borrow_mut().push(me);
                tokio::task::yield_now().await;
            }
        });
    }
    world.settle();
    Rc::try_unwrap(turns).expect("all tasks have ended").into_inner()
}

/// The turns of each seed's world.
fn explored(policy: Policy, most: usize) -> Vec<Vec<usize>> {
    let worlds = RefCell::new(Vec::new());
    let explore = Explore::new().seeds(SEEDS).policy(policy);
    explore.run(|world| {
        assert_eq!(world.policy(), policy);
        let turns = turns(world, most);
        worlds.borrow_mut().push(turns);
    });
    worlds.into_inner()
}

/// Who ran for some turns in a row, one after the other: without those who were let in for fairness.
fn reigns(turns: &[usize]) -> Vec<usize> {
    let runs = turns.chunk_by(|one, next| one == next).filter(|run| run.len() > 2);
    let mut reigns: Vec<_> = runs.map(|run| run[0]).collect();
    reigns.dedup();
    reigns
}

#[test]
fn round_robin_goes_round() {
    for turns in explored(Policy::RoundRobin, usize::MAX) {
        let round: Vec<_> = (0..TASKS).cycle().take(TURNS).collect();
        assert_eq!(turns, round);
    }
}

#[test]
fn random_lets_everybody_run_and_each_seed_in_another_order() {
    let worlds = explored(Policy::Random, usize::MAX);
    assert_eq!(worlds.iter().collect::<BTreeSet<_>>().len(), worlds.len());
    for turns in worlds {
        for task in 0..TASKS {
            let share = turns.iter().filter(|turn| **turn == task).count();
            let fair = TURNS / TASKS;
            assert!((fair * 3 / 4..=fair * 5 / 4).contains(&share), "{share} turns of {task}");
        }
    }
}

#[test]
fn newest_keeps_at_the_one_that_runs() {
    for turns in explored(Policy::Newest, usize::MAX) {
        let changes = turns.windows(2).filter(|pair| pair[0] != pair[1]).count();
        // To the one that waited longest, which is the newest from then on.
        assert!((1..=TURNS / FAIR + 1).contains(&changes), "{changes} changes");
    }
}

#[test]
fn priorities_change_as_often_as_asked_for_and_no_more() {
    for changes in [0, 1, 3, 8] {
        let seen = explored(Policy::Pct(changes), usize::MAX).into_iter().map(|turns| {
            let reigns = reigns(&turns);
            let seen = reigns.len() - 1;
            assert!(seen <= changes as usize, "{seen} changes instead of {changes}: {reigns:?}");
            (seen, reigns[0])
        });
        let (seen, first): (Vec<_>, BTreeSet<_>) = seen.unzip();
        assert!(seen.contains(&(changes as usize)), "never {changes} changes: {seen:?}");
        assert_eq!(first.len(), TASKS, "the first priorities are drawn: {first:?}");
    }
}

#[test]
fn who_lost_its_priority_is_the_last_to_run() {
    for turns in explored(Policy::Pct(TASKS as u32 - 1), usize::MAX) {
        let reigns = reigns(&turns);
        let distinct: BTreeSet<_> = reigns.iter().collect();
        assert_eq!(distinct.len(), reigns.len(), "somebody ran twice: {reigns:?}");
    }
}

/// One opens a door and closes it in its next turn, many times. Whether another finds it open in many turns
/// in a row, for which one bad interruption is enough.
fn finds_open_door(world: &mut World) -> bool {
    const ROW: u32 = 25;
    let (is_open, longest) = (Rc::new(Cell::new(false)), Rc::new(Cell::new(0)));
    let (door, seen) = (Rc::clone(&is_open), Rc::clone(&longest));
    world.spawn(async move {
        for _ in 0..TURNS {
            door.set(!door.get());
            tokio::task::yield_now().await;
        }
    });
    world.spawn(async move {
        let mut row = 0;
        for _ in 0..TURNS {
            row = if is_open.get() { row + 1 } else { 0 };
            seen.set(row.max(seen.get()));
            tokio::task::yield_now().await;
        }
    });
    world.settle();
    longest.get() >= ROW
}

/// In how many worlds the door is found open.
fn found(policy: Policy) -> u64 {
    let found = Cell::new(0);
    Explore::new().seeds(SEEDS).policy(policy).run(|world| {
        found.set(found.get() + u64::from(finds_open_door(world)));
    });
    found.get()
}

#[test]
fn priorities_find_what_random_turns_do_not() {
    let (by_dice, by_priorities) = (found(Policy::Random), found(Policy::Pct(1)));
    assert_eq!(by_dice, 0);
    assert!(by_priorities >= SEEDS / 2, "in {by_priorities} worlds");
}

/// Steps of the one who is watched and of who watches, in a short world.
const SHORT: usize = 50;
/// Changes of priorities are spread over a span of this many steps, the shortest, in one world of three.
const SPAN: f64 = 64.0;

/// How many turns the one who is watched had taken, in a world of 100 steps, before the other's first.
fn interrupted_after(world: &mut World) -> usize {
    let (taken, seen) = (Rc::new(Cell::new(0)), Rc::new(Cell::new(None)));
    let (mine, first) = (Rc::clone(&taken), Rc::clone(&seen));
    world.spawn(async move {
        for _ in 0..SHORT {
            mine.set(mine.get() + 1);
            tokio::task::yield_now().await;
        }
    });
    world.spawn(async move {
        first.set(Some(taken.get()));
        for _ in 1..SHORT {
            tokio::task::yield_now().await;
        }
    });
    world.settle();
    seen.get().unwrap()
}

/// A bug of depth 2 needs one interruption at one place. Of two tasks, a seed finds it with a probability of at least
/// `1 / (n k)` where the change is anywhere in `k` steps (Burckhardt and others, ASPLOS 2010), which is in a third of
/// the worlds: so many seeds that none of all such bugs is missed but once in a hundred times.
#[test]
fn priorities_find_each_bug_of_depth_two_in_a_short_world() {
    let chance = 1.0 / (3.0 * 2.0 * SPAN);
    let missed = 0.01 / SHORT as f64;
    let seeds = (missed.ln() / (1.0 - chance).ln()).ceil() as u64;
    let places = RefCell::new(BTreeSet::new());
    Explore::new().seeds(seeds).policy(Policy::Pct(1)).run(|world| {
        places.borrow_mut().insert(interrupted_after(world));
    });
    let found = places.into_inner();
    let bugs = 1..SHORT;
    let unfound: Vec<_> = bugs.filter(|place| !found.contains(place)).collect();
    assert!(unfound.is_empty(), "in {seeds} seeds nobody interrupts after turns {unfound:?}");
}

#[test]
fn whom_a_world_starves_runs_last_and_does_run() {
    const MOST: usize = 500;
    let mut victims = BTreeSet::new();
    for turns in explored(Policy::Starve, MOST) {
        assert_eq!(turns.len(), TASKS * MOST, "everybody ends");
        let victim = turns[turns.len() - 1];
        let last_other = turns.iter().rposition(|turn| *turn != victim).unwrap();
        let before = turns[..last_other].iter().filter(|turn| **turn == victim).count();
        assert!(before <= last_other / FAIR + 1, "{victim} ran {before} times of {last_other}");
        victims.insert(victim);
    }
    assert!(victims.len() > 1, "always {victims:?}");
}
