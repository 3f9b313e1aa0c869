//! Programs against each other: every measurement in a process of its own, rounds interleaved, so that
//! no contestant inherits another's threads or heap and all of them see the same noise.
//!
//! The system's allocator serves everyone. Rows marked `+mimalloc` run in the `bench-mimalloc` program,
//! which is the same but for its allocator; no peer's documents ask for it, but users of tokio often
//! choose it. Where somebody gains by it, everybody has such rows.

use crate::contestant::{Allocator, Contestant, times};
use crate::programs::{self, PROGRAMS};
use crate::results::Section;
use crate::rows::Row;
use crate::{child, machine, ours, paths, stats, verdict};
use greenroom_peers::programs as peers_programs;
use greenroom_peers::savina::random::Random;
use std::process::Command;
use std::time::{Duration, Instant};

/// No further round of a program begins after this time, so that a slow machine ends too.
const BUDGET: Duration = Duration::from_secs(600);
/// But these do: medians of fewer are not kept.
pub const ROUNDS_LEAST: usize = 7;

/// Those who go on to the larger size took at most this many times as long as the best of their kind at the usual one.
const HEAT_MOST: f64 = 1.3;
/// How often that is tried; the least counts, so that a slow moment of the machine excludes nobody.
const HEATS: usize = 3;

/// How long `bench-mimalloc` may take to say what it was built from.
const ANSWERS_WITHIN: Duration = Duration::from_secs(60);

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
/// When there is no such program, or `bench-mimalloc` is of another commit. A contestant that fails in any round is named in
/// its table and judged no more.
pub fn section(names: &[&str], rounds: usize) -> Result<Section, String> {
    measured("Programs", &chosen(names, PROGRAMS)?, rounds, |_, runners| (runners, String::new()))
}

/// Chooses those who are measured, and says why the others are not.
type Choose = fn(&programs::Row, Vec<Contestant>) -> (Vec<Contestant>, String);

/// The same for those that have a larger size, with that: about a hundred times the work, of `savina_uct` ten times.
/// Whoever is far behind the best of its kind at the usual size is left out, since all of them would take hours.
///
/// # Errors
/// When no such program has a larger size, or as [`section`].
pub fn large(names: &[&str], rounds: usize) -> Result<Section, String> {
    let enlarged: Vec<_> = PROGRAMS.iter().filter_map(|row| row.enlarged()).collect();
    measured("Programs, 100-fold", &chosen(names, &enlarged)?, rounds, heats)
}

fn measured(
    title: &'static str,
    programs: &[programs::Row],
    rounds: usize,
    choose: Choose,
) -> Result<Section, String> {
    check_commits()?;
    let mut text = format!(
        "Median nanoseconds per operation of up to {rounds} interleaved rounds, a process for each \
         measurement, in an order that is drawn anew for each round, from seed {SEED}; ratios are ours over \
         theirs, so below 1 is faster. Allocator: the system's, unless a row says mimalloc. From the second \
         round on, those whom the verdicts compare are measured twice in each: a verdict is `within noise` \
         when it lies closer to its goal than those two to each other.\n",
    );
    let mut rows = Vec::new();
    for row in programs {
        text.push_str(&compete(row, rounds, choose, &mut rows));
    }
    Ok(Section::new(title, text).with_rows(rows))
}

/// Refuses a `bench-mimalloc` that was not built along with this program: its figures would be kept as those of this commit.
fn check_commits() -> Result<(), String> {
    let Some(exe) = Allocator::Mimalloc.executable() else { return Ok(()) };
    let said = child::output(Command::new(exe).arg("commit"), ANSWERS_WITHIN);
    let said = said.map_err(|error| format!("bench-mimalloc: {error}"))?;
    match other_commit(&String::from_utf8_lossy(&said.stdout), machine::COMMIT) {
        Some(why) => Err(why),
        None => Ok(()),
    }
}

/// What is wrong where `bench-mimalloc` says that it was built from `said`, and this program from `own`.
fn other_commit(said: &str, own: &str) -> Option<String> {
    let said = if said.trim().is_empty() { "an older commit" } else { said.trim() };
    (said != own).then(|| {
        format!("bench-mimalloc was built from {said}, and this program from {own}: build both")
    })
}

/// Leaves out who is far behind the best of its kind (ours, frameworks, and those without one) at the usual size. The
/// default goes on, as it has a goal of its own.
fn heats(row: &programs::Row, runners: Vec<Contestant>) -> (Vec<Contestant>, String) {
    let usual = PROGRAMS.iter().find(|usual| usual.name == row.name).map_or(row.n, |usual| usual.n);
    let mut tried = runners.clone();
    let mut random = Random::new(SEED);
    for round in 0..HEATS {
        eprintln!("{}: heat {} of {HEATS}", row.name, round + 1);
        let mut turns: Vec<_> = (0..tried.len()).collect();
        shuffle(&mut turns, &mut random);
        turns.into_iter().for_each(|at| tried[at].measure(usual, round));
    }
    let judged = runners.into_iter().zip(over_the_best(&tried));
    let goes_on = |(one, over): &(Contestant, f64)| *over <= HEAT_MOST || one.is_default();
    let (on, left): (Vec<_>, Vec<_>) = judged.partition(goes_on);
    let mut left: Vec<_> = left.into_iter().map(|(one, over)| (over, one.label())).collect();
    left.sort_by(|one, other| one.0.total_cmp(&other.0));
    let left: Vec<_> = left.into_iter().map(|(over, label)| format!("{label} {over:.1}")).collect();
    let note = format!(
        "- not measured at this size, since at n = {usual} it took over {HEAT_MOST} times as long as the best of its kind \
         (ours, frameworks, without one), by the least of {HEATS}: {}\n",
        left.join(", ")
    );
    let on = on.into_iter().map(|(one, _)| one).collect();
    (on, if left.is_empty() { String::new() } else { note })
}

/// How many times as long as the best of its kind each took; infinite for who failed.
fn over_the_best(tried: &[Contestant]) -> Vec<f64> {
    let least = |one: &Contestant| match one.failure {
        None => stats::least(&times(&one.rows)),
        Some(_) => f64::INFINITY,
    };
    let kind = |one: &Contestant| (one.ours, one.is_bare());
    let best = |of: &Contestant| {
        let alike = tried.iter().filter(|one| kind(one) == kind(of));
        alike.map(least).fold(f64::INFINITY, f64::min)
    };
    // Where all have failed, nobody is ahead of anybody.
    tried
        .iter()
        .map(|one| least(one) / best(one))
        .map(|over| if over.is_nan() { f64::INFINITY } else { over })
        .collect()
}

/// Those of the programs that are called `names`, or all.
pub(crate) fn chosen(names: &[&str], of: &[programs::Row]) -> Result<Vec<programs::Row>, String> {
    if let Some(name) = names.iter().find(|name| !of.iter().any(|row| row.name == **name)) {
        return Err(format!("no such program: {name}"));
    }
    Ok(of.iter().filter(|row| names.is_empty() || names.contains(&row.name)).copied().collect())
}

fn compete(row: &programs::Row, rounds: usize, choose: Choose, rows: &mut Vec<Row>) -> String {
    let mimalloc = Allocator::Mimalloc.executable().is_some();
    let (runners, absent): (Vec<_>, Vec<_>) =
        Contestant::all(row.name).into_iter().partition(|one| {
            one.cores <= machine::cores() && (mimalloc || one.allocator == Allocator::System)
        });
    let (mut runners, left_out) = choose(row, runners);
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
    verdict::section(row, runners, (done, rounds), machine::cores()) + &left_out
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
    use super::{BUDGET, Random, SEED, goes_on, other_commit, over_the_best, shuffle};
    use crate::contestant::{Allocator, Contestant};
    use crate::rows::Row;
    use greenroom_peers::Program;
    use std::time::Duration;

    #[test]
    fn who_goes_on_is_near_the_best_of_its_kind() {
        let one = |who, ours, times: &[f64]| {
            let program = Program::new("savina_fib", who, 1, |_| Duration::ZERO);
            let row = |&time| Row { ns_per_op: Some(time), ..Row::default() };
            let rows = times.iter().map(row).collect();
            Contestant { rows, ..Contestant::new(&program, ours, Allocator::System) }
        };
        let mut all = vec![
            one("locked", true, &[50.0, 20.0]),
            one("auto", true, &[10.0]),
            one("tokio", false, &[40.0]),
            one("actix", false, &[90.0, 80.0]),
            one("xtra", false, &[160.0]),
        ];
        assert_eq!(over_the_best(&all), [2.0, 1.0, 1.0, 1.0, 2.0]);
        for one in &mut all[2..4] {
            one.failure = Some("in round 1: still ran after 60 s".into());
        }
        assert_eq!(over_the_best(&all), [2.0, 1.0, f64::INFINITY, f64::INFINITY, 1.0]);
    }

    #[test]
    fn figures_of_another_commit_are_refused() {
        assert_eq!(other_commit("0123abc\n", "0123abc"), None);
        for said in ["89abdef\n", "0123abc with changes\n", ""] {
            assert!(other_commit(said, "0123abc").is_some(), "{said}");
        }
    }

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
