//! Programs against each other: every measurement in a process of its own, rounds interleaved, so that
//! no contestant inherits another's threads or heap and all of them see the same noise.
//!
//! The system's allocator serves everyone. Rows marked `+mimalloc` run in the `bench-mimalloc` program,
//! which is the same but for its allocator; no peer's documents ask for it, but users of tokio often
//! choose it. Where somebody gains by it, everybody has such rows.

use crate::contestant::{Allocator, Contestant};
use crate::programs::{self, PROGRAMS};
use crate::results::Section;
use crate::rows::Row;
use crate::{machine, ours, paths, verdict};
use greenroom_peers::programs as peers_programs;
use greenroom_peers::savina::random::Random;
use std::time::{Duration, Instant};

/// No further round of a program begins after this time, so that a slow machine ends too.
const BUDGET: Duration = Duration::from_secs(600);
/// But these do: medians of fewer are not kept.
pub const ROUNDS_LEAST: usize = 7;

/// Draws the order of the contestants in each round.
const SEED: u64 = 7;

/// Runs `PROGRAM/WHO` here and now; the answer is in nanoseconds.
///
/// # Errors
/// When there is no such program, or `n` is no number.
pub fn one(name: &str, n: &str) -> Result<String, String> {
    let n = n.parse().map_err(|_| format!("not a number of operations: {n}"))?;
    let mut programs =
        ours::programs().into_iter().chain(peers_programs()).chain(paths::programs());
    let program = programs
        .find(|program| format!("{program:?}") == name)
        .ok_or_else(|| format!("no such program: {name}"))?;
    Ok((program.run)(n).as_nanos().to_string())
}

/// Every program of every contestant.
#[must_use]
pub fn list() -> String {
    let programs = ours::programs().into_iter().chain(peers_programs());
    programs.map(|program| format!("{program:?}\n")).collect()
}

/// Runs the programs called `names`, or all, and makes a table of each.
///
/// # Errors
/// When there is no such program. A contestant that fails in any round is named in its table and judged no more.
pub fn section(names: &[&str], rounds: usize) -> Result<Section, String> {
    Ok(measured("Programs", &chosen(names, PROGRAMS)?, rounds))
}

/// The same for those that have a larger size, with that: about a hundred times the work, of `savina_uct` ten times.
///
/// # Errors
/// When no such program has a larger size.
pub fn large(names: &[&str], rounds: usize) -> Result<Section, String> {
    let enlarged: Vec<_> = PROGRAMS.iter().filter_map(|row| row.enlarged()).collect();
    Ok(measured("Programs, 100-fold", &chosen(names, &enlarged)?, rounds))
}

fn measured(title: &'static str, programs: &[programs::Row], rounds: usize) -> Section {
    let mut text = format!(
        "Median nanoseconds per operation of up to {rounds} interleaved rounds, a process for each \
         measurement, in an order that is drawn anew for each round, from seed {SEED}; ratios are ours over \
         theirs, so below 1 is faster. Allocator: the system's, unless a row says mimalloc. From the second \
         round on, those whom the verdicts compare are measured twice in each: a verdict is `within noise` \
         when it lies closer to its goal than those two to each other.\n",
    );
    let mut rows = Vec::new();
    for row in programs {
        text.push_str(&compete(row, rounds, &mut rows));
    }
    Section::new(title, text).with_rows(rows)
}

/// Those of the programs that are called `names`, or all.
pub(crate) fn chosen(names: &[&str], of: &[programs::Row]) -> Result<Vec<programs::Row>, String> {
    if let Some(name) = names.iter().find(|name| !of.iter().any(|row| row.name == **name)) {
        return Err(format!("no such program: {name}"));
    }
    Ok(of.iter().filter(|row| names.is_empty() || names.contains(&row.name)).copied().collect())
}

fn compete(row: &programs::Row, rounds: usize, rows: &mut Vec<Row>) -> String {
    let mimalloc = Allocator::Mimalloc.executable().is_some();
    let (mut runners, absent): (Vec<_>, Vec<_>) =
        Contestant::all(row.name).into_iter().partition(|one| {
            one.cores <= machine::cores() && (mimalloc || one.allocator == Allocator::System)
        });
    let mut random = Random::new(SEED);
    let clock = Instant::now();
    let mut done = 0;
    while goes_on(done, rounds, clock.elapsed()) {
        eprintln!("{}: round {} of {rounds}", row.name, done + 1);
        // The control: whom the verdicts compare is measured twice, as if it were somebody else.
        let twice = verdict::compared(row, &runners);
        let once = (0..runners.len()).map(|at| (at, false));
        let mut turns: Vec<_> = once.chain(twice.into_iter().map(|at| (at, true))).collect();
        shuffle(&mut turns, &mut random);
        for (at, again) in turns {
            if again {
                runners[at].measure_again(row.n, done);
            } else {
                runners[at].measure(row.n, done);
            }
        }
        done += 1;
    }
    // What failed once is no figure to be drawn or compared.
    let whole = runners.iter().filter(|one| one.failure.is_none());
    rows.extend(whole.flat_map(|one| one.rows.iter().chain(&one.again)).cloned());
    runners.extend(absent);
    verdict::section(row, runners, (done, rounds), machine::cores())
}

/// Whether another round begins when so many of those asked for are done after so long.
fn goes_on(done: usize, asked: usize, elapsed: Duration) -> bool {
    done < asked && (done < ROUNDS_LEAST || elapsed < BUDGET)
}

/// Brings `turns` into another order, so that nobody always follows the same neighbour or comes last.
fn shuffle<T>(turns: &mut [T], random: &mut Random) {
    for at in (1..turns.len()).rev() {
        let other = random.below(at as u64 + 1);
        turns.swap(at, usize::try_from(other).unwrap_or(at));
    }
}

#[cfg(test)]
mod tests {
    use super::{BUDGET, Random, SEED, goes_on, shuffle};
    use std::time::Duration;

    #[test]
    fn what_is_slow_has_enough_rounds_all_the_same() {
        assert!(goes_on(6, 7, BUDGET * 2) && !goes_on(7, 9, BUDGET));
        assert!(goes_on(7, 9, Duration::ZERO) && !goes_on(9, 9, Duration::ZERO));
        assert!(goes_on(2, 3, BUDGET * 2) && !goes_on(3, 3, Duration::ZERO));
    }

    #[test]
    fn every_turn_is_taken_once_and_in_another_order_each_round() {
        let mut random = Random::new(SEED);
        let mut turns: Vec<u32> = (0..50).collect();
        let mut before = turns.clone();
        for _ in 0..7 {
            shuffle(&mut turns, &mut random);
            assert_ne!(turns, before);
            before.clone_from(&turns);
        }
        turns.sort_unstable();
        assert!(turns.into_iter().eq(0..50));
        shuffle::<u32>(&mut [], &mut random);
    }
}
