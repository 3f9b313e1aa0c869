//! A run against an earlier one: more instructions per operation of ours fail, and so do those that were not counted
//! again; more time only warns, and so do instructions of others.
//!
//! Instructions, counted with one thread at work, hardly depend on what else the machine does, so a
//! limit on them can stop a change. Times depend on it, so of them only what lies clear of the earlier
//! run is worth a warning.

use crate::rows::{AGAIN, OURS, Row};
use crate::stats;
use crate::table::Table;
use std::collections::{BTreeMap, BTreeSet};

/// By how many percent an operation may take more instructions, unless said otherwise.
pub const THRESHOLD_PERCENT: f64 = 5.0;

/// By how many percent a median time has to grow to be worth a word.
const TIME_PERCENT: f64 = 10.0;

/// What a comparison found.
#[derive(Debug)]
pub struct Comparison {
    /// The tables, for people.
    pub text: String,
    /// Whether no operation takes too many instructions more.
    pub passed: bool,
}

/// What was measured, who ran it, and with whose allocator.
type Key<'a> = ((&'a str, &'a str, Option<i64>), &'a str, &'a str);

#[derive(Debug, Default)]
struct Figures {
    /// Whether they are greenroom's.
    ours: bool,
    instructions: Vec<f64>,
    times: Vec<f64>,
}

/// Compares the rows of a run with those of an earlier one. Nothing in common is a failure too, and so is a side with
/// measurements of several commits or processors, of which nobody could say what differs from what.
#[must_use]
pub fn compare(base: &[Row], new: &[Row], threshold_percent: f64) -> Comparison {
    let notes = differences(base, new);
    let mixed = mixed("base", base).or_else(|| mixed("new", new));
    let (base, new) = (figures(base), figures(new));
    let mut table =
        Table::new(&["command", "program", "n", "who", "figure", "base", "new", "change", ""]);
    let mut verdicts = Vec::new();
    let none = Figures::default();
    for (key, before) in &base {
        let after = new.get(key).unwrap_or(&none);
        let counts = (before.instructions.as_slice(), after.instructions.as_slice());
        let mut line =
            |figure, (before, after): (&[f64], &[f64]), judge: &dyn Fn(f64) -> Verdict| {
                let (before, after) = (stats::median(before), stats::median(after));
                if before.is_nan() {
                    return;
                }
                let change = (after - before) / before * 100.0;
                let verdict = judge(change);
                verdicts.push(verdict);
                let ((command, program, n), who, allocator) = *key;
                let who = match allocator {
                    "mimalloc" => format!("{who}+mimalloc"),
                    _ => who.to_owned(),
                };
                let n = n.map_or_else(String::new, |n| n.to_string());
                let cells = [command, program, &n, &who, figure, &format!("{before:.1}")];
                let rest = [format!("{after:.1}"), format!("{change:+.1} %")];
                let cells = cells.into_iter().chain(rest.iter().map(String::as_str));
                table.row(cells.chain([verdict.word()]));
            };
        line("instructions", counts, &|change| match before.ours {
            ours if change.is_nan() => {
                if ours {
                    Verdict::Uncounted
                } else {
                    Verdict::Gone
                }
            }
            ours if change > threshold_percent => {
                if ours {
                    Verdict::Worse
                } else {
                    Verdict::More
                }
            }
            _ => Verdict::Fine,
        });
        line("ns", (&before.times, &after.times), &|change| {
            // Beyond the threshold and outside of what the earlier run saw.
            let clear = stats::least(&after.times) > stats::most(&before.times);
            match change {
                change if change.is_nan() => Verdict::Gone,
                change if change > TIME_PERCENT && clear => Verdict::Slower,
                _ => Verdict::Fine,
            }
        });
    }
    let wrong = wrong(&verdicts, threshold_percent);
    let wrong: Vec<String> = mixed.into_iter().chain(wrong).collect();
    let passed = wrong.is_empty();
    let verdict =
        if passed { "passed".to_owned() } else { format!("FAILED: {}", wrong.join("; ")) };
    let warnings = count(&verdicts, &[Verdict::More, Verdict::Slower, Verdict::Gone]);
    Comparison { text: format!("{table}\n{notes}{verdict}, {warnings} warnings"), passed }
}

/// Why a comparison with these verdicts fails; nothing if it does not.
fn wrong(verdicts: &[Verdict], threshold_percent: f64) -> Vec<String> {
    let mut wrong = Vec::new();
    if count(verdicts, &[Verdict::Gone, Verdict::Uncounted]) == verdicts.len() {
        wrong.push("the two runs have nothing in common".to_owned());
    }
    match count(verdicts, &[Verdict::Uncounted]) {
        0 => {}
        gone => wrong.push(format!("instructions of {gone} operations were not counted again")),
    }
    match count(verdicts, &[Verdict::Worse]) {
        0 => {}
        worse => wrong
            .push(format!("{worse} operations take over {threshold_percent} % more instructions")),
    }
    wrong
}

fn count(verdicts: &[Verdict], which: &[Verdict]) -> usize {
    verdicts.iter().filter(|one| which.contains(one)).count()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Fine,
    /// Too many instructions.
    Worse,
    /// The same of somebody else.
    More,
    Slower,
    /// Instructions of ours that are no longer there.
    Uncounted,
    /// Anything else that is no longer there.
    Gone,
}

impl Verdict {
    const fn word(self) -> &'static str {
        match self {
            Self::Fine => "",
            Self::Worse => "WORSE",
            Self::More => "warning: more",
            Self::Slower => "warning: slower",
            Self::Uncounted => "NOT COUNTED AGAIN",
            Self::Gone => "warning: not measured again",
        }
    }
}

fn figures(rows: &[Row]) -> BTreeMap<Key<'_>, Figures> {
    let mut all: BTreeMap<Key<'_>, Figures> = BTreeMap::new();
    // What was measured a second time as a control says how far the figures are off, and is no operation of its own.
    for row in rows.iter().filter(|row| !row.who.ends_with(AGAIN)) {
        let key = (row.what(), row.who.as_str(), row.allocator.as_str());
        let figures = all.entry(key).or_default();
        figures.ours = row.library == OURS;
        figures.instructions.extend(row.instructions_per_op);
        figures.times.extend(row.ns_per_op.or(row.p50_ns).or(row.cpu_ns_per_op));
    }
    all
}

/// What the rows have of something, each once.
fn values<'a>(rows: &'a [Row], of: impl Fn(&'a Row) -> &'a str) -> Vec<&'a str> {
    rows.iter().map(of).collect::<BTreeSet<_>>().into_iter().collect()
}

/// What a side has several of that is to be the same in all of it.
fn mixed(side: &str, rows: &[Row]) -> Option<String> {
    // Without the clock, which is another one each time where processors change theirs.
    let cpus = values(rows, |row| row.cpu.split(" at ").next().unwrap_or_default());
    let all = [("commits", values(rows, |row| &row.commit)), ("processors", cpus)];
    let (what, values) = all.into_iter().find(|(_, values)| values.len() > 1)?;
    Some(format!("{side} has measurements of several {what}, {}", values.join(" and ")))
}

/// Something that a row says of where it was made.
type Said = (&'static str, fn(&Row) -> &str);

/// Of which commits the runs are, and what besides the code differs between them, one line each.
fn differences(base: &[Row], new: &[Row]) -> String {
    let of = |rows, what: fn(&Row) -> &str| values(rows, what).join(" and ");
    let commit: fn(&Row) -> &str = |row| &row.commit;
    let mut text = format!("commit {}, now {}\n", of(base, commit), of(new, commit));
    let surroundings: [Said; 6] = [
        ("processor", |row| &row.cpu),
        ("kernel", |row| &row.kernel),
        ("compiler", |row| &row.rustc),
        ("flags", |row| &row.flags),
        ("governor", |row| row.governor.as_deref().unwrap_or("none")),
        ("policy", |row| row.policy.as_deref().unwrap_or("the usual")),
    ];
    for (what, value) in surroundings {
        let (before, after) = (of(base, value), of(new, value));
        if before != after {
            text.push_str(&format!("another {what}: {before}, now {after}\n"));
        }
    }
    let times: BTreeSet<_> = base.iter().filter_map(|row| row.time_ms).collect();
    let again =
        new.iter().filter_map(|row| row.time_ms).filter(|time| times.contains(time)).count();
    if again > 0 {
        text.push_str(&format!(
            "{again} measurements are the same in both: they were not made again\n"
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::compare;
    use crate::rows::{OURS, Row};
    use std::slice::from_ref;

    fn row(who: &str, instructions: Option<f64>, time: Option<f64>) -> Row {
        Row {
            command: "run".into(),
            program: "ask".into(),
            who: who.into(),
            library: OURS.into(),
            instructions_per_op: instructions,
            ns_per_op: time,
            rustc: "rustc 1".into(),
            ..Row::default()
        }
    }

    #[test]
    fn equal_runs_pass() {
        let rows = [row("auto-1", Some(100.0), None), row("auto", None, Some(60.0))];
        let same = compare(&rows, &rows, 5.0);
        assert!(same.passed, "{}", same.text);
        assert!(
            same.text
                .contains("| run | ask |  | auto-1 | instructions | 100.0 | 100.0 | +0.0 % |  |\n")
        );
        assert!(same.text.ends_with("\npassed, 0 warnings"));
    }

    #[test]
    fn too_many_instructions_fail() {
        let base = [row("auto-1", Some(100.0), None), row("locked-1", Some(100.0), None)];
        let new = [row("auto-1", Some(105.1), None), row("locked-1", Some(50.0), None)];
        let found = compare(&base, &new, 5.0);
        assert!(!found.passed);
        assert!(found.text.contains("| 105.1 | +5.1 % | WORSE |\n"), "{}", found.text);
        assert!(found.text.contains("FAILED: 1 operations take over 5 % more instructions"));
        assert!(compare(&base, &new, 6.0).passed, "another threshold");
    }

    #[test]
    fn instructions_of_others_only_warn() {
        let of = |library: &str, count| Row {
            library: library.into(),
            ..row(library, Some(count), None)
        };
        let base = [of(OURS, 100.0), of("tokio", 100.0), of("actix", 100.0)];
        let found = compare(&base, &[of(OURS, 100.0), of("tokio", 200.0)], 5.0);
        assert!(found.passed, "{}", found.text);
        assert!(found.text.contains("| +100.0 % | warning: more |\n"), "{}", found.text);
        assert!(found.text.contains("| warning: not measured again |\n"), "{}", found.text);
        assert!(found.text.ends_with("\npassed, 2 warnings"), "{}", found.text);
    }

    #[test]
    fn a_side_of_several_commits_or_processors_is_refused() {
        let of = |commit: &str, cpu: &str| Row {
            commit: commit.into(),
            cpu: cpu.into(),
            ..row("auto-1", Some(100.0), None)
        };
        let (one, clocked) = (of("a", "X at 1 MHz"), of("a", "X at 2 MHz"));
        for other in [of("b", "X at 1 MHz"), of("a", "Y at 1 MHz")] {
            let both = [one.clone(), other];
            for (base, new) in [(&both[..], &both[..1]), (&both[..1], &both[..])] {
                let found = compare(base, new, 5.0);
                assert!(!found.passed && found.text.contains(" of several "), "{}", found.text);
            }
        }
        let found = compare(&[one.clone(), clocked], &[of("b", "X at 1 MHz")], 5.0);
        assert!(found.passed, "{}", found.text);
        assert!(found.text.contains("\ncommit a, now b\n"), "{}", found.text);
    }

    #[test]
    fn what_was_not_measured_again_is_told() {
        let old = Row { time_ms: Some(7), ..row("auto", None, Some(10.0)) };
        let new = Row { time_ms: Some(8), ..old.clone() };
        let told = |new: &Row| compare(from_ref(&old), from_ref(new), 5.0).text;
        assert!(told(&old).contains("1 measurements are the same in both"));
        assert!(!told(&new).contains("are the same"));
    }

    #[test]
    fn more_time_only_warns_and_only_when_clear() {
        let times = |times: &[f64]| -> Vec<Row> {
            times.iter().map(|&time| row("auto", None, Some(time))).collect()
        };
        let base = times(&[100.0, 90.0, 120.0]);
        let clear = compare(&base, &times(&[130.0, 125.0, 140.0]), 5.0);
        assert!(clear.passed && clear.text.contains("warning: slower"), "{}", clear.text);
        let noisy = compare(&base, &times(&[130.0, 110.0, 140.0]), 5.0);
        assert!(noisy.text.ends_with("passed, 0 warnings"), "{}", noisy.text);
    }

    #[test]
    fn controls_are_not_compared() {
        let base = [row("auto", None, Some(10.0)), row("auto (again)", None, Some(10.0))];
        let found = compare(&base, &base[..1], 5.0);
        assert!(found.text.ends_with("passed, 0 warnings"), "{}", found.text);
        assert!(!compare(&base[1..], &base[1..], 5.0).passed, "there is nothing else");
    }

    #[test]
    fn nothing_in_common_fails() {
        let base = [row("auto-1", Some(100.0), None)];
        assert!(!compare(&base, &[], 5.0).passed);
        assert!(!compare(&base, &[row("auto-1", None, Some(1.0))], 5.0).passed);
        assert!(!compare(&[], &[], 5.0).passed);
    }

    #[test]
    fn instructions_that_are_not_counted_again_fail() {
        let base = [row("auto-1", Some(100.0), None), row("auto", None, Some(60.0))];
        let found = compare(&base, &base[1..], 5.0);
        assert!(!found.passed, "only times were compared: {}", found.text);
        assert!(found.text.contains("FAILED: instructions of 1 operations were not counted again"));
        let two = [base[0].clone(), row("locked-1", Some(100.0), None)];
        assert!(!compare(&two, &two[..1], 5.0).passed, "one of them was");
        assert!(compare(&base[1..], &base[1..], 5.0).passed, "there were none before");
    }

    #[test]
    fn another_size_or_command_is_another_measurement() {
        let base = Row { n: Some(100), ..row("auto", None, Some(10.0)) };
        let larger = Row { n: Some(10_000), ..base.clone() };
        let path = Row { command: "paths".into(), ..base.clone() };
        let rows = [base.clone(), larger.clone(), path.clone()];
        for other in [&larger, &path] {
            let found = compare(from_ref(&base), from_ref(other), 5.0);
            assert!(!found.passed, "{}", found.text);
        }
        assert!(
            compare(&rows, &rows, 5.0)
                .text
                .contains("| run | ask | 10000 | auto | ns | 10.0 | 10.0 |")
        );
        let often = |n| Row { command: "micro".into(), n: Some(n), ..base.clone() };
        assert!(compare(&[often(3)], &[often(4)], 5.0).passed, "Criterion repeats as it likes");
    }

    #[test]
    fn another_compiler_or_policy_is_named() {
        let base = [row("auto-1", Some(100.0), None)];
        let new = [Row { rustc: "rustc 2".into(), ..base[0].clone() }];
        let found = compare(&base, &new, 5.0);
        assert!(found.text.contains("another compiler: rustc 1, now rustc 2\n"), "{}", found.text);
        let new = [Row { policy: Some("SCHED_RR 50".into()), ..base[0].clone() }];
        let found = compare(&base, &new, 5.0);
        let told = "another policy: the usual, now SCHED_RR 50\n";
        assert!(found.text.contains(told), "{}", found.text);
    }
}
