//! A run against an earlier one: more instructions per operation fail, more time only warns.
//!
//! Instructions, counted with one thread at work, hardly depend on what else the machine does, so a
//! limit on them can stop a change. Times depend on it, so of them only what lies clear of the earlier
//! run is worth a warning.

use crate::rows::{AGAIN, Row};
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
    instructions: Vec<f64>,
    times: Vec<f64>,
}

/// Compares the rows of a run with those of an earlier one. Nothing in common is a failure too, and so are instructions
/// of which none were counted again, since then nothing was checked.
#[must_use]
pub fn compare(base: &[Row], new: &[Row], threshold_percent: f64) -> Comparison {
    let notes = differences(base, new);
    let (base, new) = (figures(base), figures(new));
    let mut table =
        Table::new(&["command", "program", "n", "who", "figure", "base", "new", "change", ""]);
    let (mut worse, mut warnings, mut compared) = (0, 0, 0);
    for (key, before) in &base {
        let after = new.get(key);
        let none = Figures::default();
        let after = after.unwrap_or(&none);
        let counts = (before.instructions.as_slice(), after.instructions.as_slice());
        let mut line =
            |figure, (before, after): (&[f64], &[f64]), judge: &dyn Fn(f64) -> Verdict| {
                let (before, after) = (stats::median(before), stats::median(after));
                if before.is_nan() {
                    return;
                }
                let change = (after - before) / before * 100.0;
                let verdict = if after.is_nan() { Verdict::Gone } else { judge(change) };
                compared += usize::from(verdict != Verdict::Gone);
                worse += usize::from(verdict == Verdict::Worse);
                warnings += usize::from(matches!(verdict, Verdict::Slower | Verdict::Gone));
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
        line("instructions", counts, &|change| {
            if change > threshold_percent { Verdict::Worse } else { Verdict::Fine }
        });
        line("ns", (&before.times, &after.times), &|change| {
            // Beyond the threshold and outside of what the earlier run saw.
            let clear = stats::least(&after.times) > stats::most(&before.times);
            if change > TIME_PERCENT && clear { Verdict::Slower } else { Verdict::Fine }
        });
    }
    let is_uncounted = is_uncounted(&base, &new);
    let verdict = match (compared, worse) {
        (0, _) => "FAILED: the two runs have nothing in common".to_owned(),
        _ if is_uncounted => "FAILED: instructions were not counted again".to_owned(),
        (_, 0) => format!("passed, {warnings} warnings"),
        _ => format!(
            "FAILED: {worse} operations take over {threshold_percent} % more instructions, \
             {warnings} warnings"
        ),
    };
    let text = format!("{table}\n{notes}{verdict}");
    Comparison { text, passed: compared > 0 && worse == 0 && !is_uncounted }
}

/// Whether the earlier run has instructions, and the later one has those of none of these.
fn is_uncounted(base: &BTreeMap<Key<'_>, Figures>, new: &BTreeMap<Key<'_>, Figures>) -> bool {
    let counted = |figures: &Figures| !figures.instructions.is_empty();
    let mut before = base.iter().filter(|(_, figures)| counted(figures)).peekable();
    before.peek().is_some() && !before.any(|(key, _)| new.get(key).is_some_and(counted))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Fine,
    Worse,
    Slower,
    Gone,
}

impl Verdict {
    const fn word(self) -> &'static str {
        match self {
            Self::Fine => "",
            Self::Worse => "WORSE",
            Self::Slower => "warning: slower",
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
        figures.instructions.extend(row.instructions_per_op);
        figures.times.extend(row.ns_per_op);
    }
    all
}

fn surroundings(row: &Row) -> [&str; 4] {
    [&row.cpu, &row.kernel, &row.rustc, &row.flags]
}

/// What besides the code differs between the runs, one line each.
fn differences(base: &[Row], new: &[Row]) -> String {
    let of = |rows: &[Row], index: usize| {
        let side = |row| surroundings(row)[index];
        let values: BTreeSet<&str> = rows.iter().map(side).collect();
        values.into_iter().collect::<Vec<_>>().join(" and ")
    };
    let mut text = String::new();
    for (index, what) in ["processor", "kernel", "compiler", "flags"].iter().enumerate() {
        let (before, after) = (of(base, index), of(new, index));
        if before != after {
            text.push_str(&format!("another {what}: {before}, now {after}\n"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::compare;
    use crate::rows::Row;
    use std::slice::from_ref;

    fn row(who: &str, instructions: Option<f64>, time: Option<f64>) -> Row {
        Row {
            command: "run".into(),
            program: "ask".into(),
            who: who.into(),
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
        assert!(
            compare(&base, &base[..1], 5.0).text.ends_with("passed, 1 warnings"),
            "one is gone"
        );
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
        assert!(found.text.ends_with("FAILED: instructions were not counted again"));
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
    fn another_compiler_is_named() {
        let base = [row("auto-1", Some(100.0), None)];
        let new = [Row { rustc: "rustc 2".into(), ..base[0].clone() }];
        let found = compare(&base, &new, 5.0);
        assert!(found.text.contains("another compiler: rustc 1, now rustc 2\n"), "{}", found.text);
    }
}
