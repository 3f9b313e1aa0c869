//! What a contest found: its table, and ours against the others.

use crate::contestant::{Allocator, Contestant, bytes_each, times};
use crate::programs::{Row, STATE_BYTES};
use crate::rows::AGAIN;
use crate::stats;
use crate::table::{Table, goal_within, verdict};

/// The default setting has to be at most this much of our own best.
const DEFAULT_GOAL: f64 = 1.3;

/// The table of one program, and what follows from it. `cores` is how many this machine has; of the rounds that were
/// asked for, not all need have been done.
pub(crate) fn section(
    row: &Row,
    mut contestants: Vec<Contestant>,
    (rounds, asked): (usize, usize),
    cores: usize,
) -> String {
    contestants.sort_by(|a, b| a.median().total_cmp(&b.median()));
    let (runners, absent): (Vec<_>, Vec<_>) =
        contestants.into_iter().partition(|one| !one.rows.is_empty());
    let fewer =
        if rounds < asked { format!(" of {asked}, which took too long") } else { String::new() };
    let mut text = format!("\n### {}\n\nn = {}, {rounds} rounds{fewer}.\n\n", row.name, row.n);
    if row.outside > 0 {
        text.push_str(&format!(
            "Plain threads beside the workers: {}; all of them share {cores} cores.\n\n",
            row.outside
        ));
    }
    text.push_str(&table(row, &runners).to_string());
    text.push('\n');
    let whole: Vec<_> = runners.iter().filter(|one| one.failure.is_none()).collect();
    let failures = failures(runners.iter().chain(&absent));
    for line in absences(&absent, cores).into_iter().chain(failures).chain(lines(row, &whole)) {
        text.push_str(&format!("- {line}\n"));
    }
    text.push_str(&format!("- {}\n", control(&runners)));
    text
}

/// What was measured twice in a round, as if it were somebody else: the second over the first.
fn control(runners: &[Contestant]) -> String {
    let twice = runners.iter().filter_map(|one| {
        let ratio = one.control()?;
        Some(format!("{} {ratio:.2} in {} rounds", one.label(), one.again.len()))
    });
    let twice: Vec<_> = twice.collect();
    if twice.is_empty() {
        return "A/A control: none, since it begins with the second round".to_owned();
    }
    format!("A/A control, the same against itself: {}", twice.join(", "))
}

fn table(row: &Row, runners: &[Contestant]) -> Table {
    let per = format!("ns per {}", row.unit);
    let mut heading = vec!["who", per.as_str(), "least", "most", "ours over it"];
    let weighed = runners.iter().any(|one| bytes_each(&one.rows).is_some());
    if weighed {
        heading.push("bytes each");
    }
    let ours = runners.iter().find(|one| one.ours && one.failure.is_none());
    let ours = ours.map_or(f64::NAN, Contestant::median);
    let mut table = Table::new(&heading);
    let mut measured: Vec<_> = runners.iter().map(|one| (one, one.label(), &one.rows)).collect();
    let again = runners.iter().filter(|one| !one.again.is_empty());
    measured.extend(again.map(|one| (one, one.label() + AGAIN, &one.again)));
    let time = |rows: &[_]| stats::median(&times(rows));
    measured.sort_by(|a, b| time(a.2).total_cmp(&time(b.2)));
    for (one, label, rows) in measured {
        let (median, times, failed) = (time(rows), times(rows), one.failure.is_some());
        let label = if failed { format!("{label} (failed)") } else { label };
        let label = if one.ours { format!("**{label}**") } else { label };
        let mut cells = vec![label, format!("{median:.1}")];
        cells.extend([stats::least(&times), stats::most(&times)].map(|time| format!("{time:.1}")));
        cells.push(if failed { String::new() } else { format!("{:.2}", ours / median) });
        cells.extend(bytes_each(rows).map(|bytes| format!("{bytes:.0}")));
        table.row(cells);
    }
    table
}

/// Who was not measured, and why.
fn absences(absent: &[Contestant], cores: usize) -> Vec<String> {
    let labels = |which: &dyn Fn(&Contestant) -> bool| {
        let mut labels: Vec<_> =
            absent.iter().filter(|one| which(one)).map(Contestant::label).collect();
        labels.sort();
        labels.join(", ")
    };
    let too_big = labels(&|one| one.cores > cores);
    let unbuilt = labels(&|one| {
        one.cores <= cores && one.failure.is_none() && one.allocator == Allocator::Mimalloc
    });
    let mut lines = Vec::new();
    if !too_big.is_empty() {
        lines.push(format!("not measured here, needs more than {cores} cores: {too_big}"));
    }
    if !unbuilt.is_empty() {
        lines.push(format!("not measured, bench-mimalloc is not built: {unbuilt}"));
    }
    lines
}

/// Who failed, in the first round or later, and how.
fn failures<'a>(all: impl Iterator<Item = &'a Contestant>) -> Vec<String> {
    let failed = all.filter_map(|one| Some((one.label(), one.failure.as_ref()?)));
    failed.map(|(label, why)| format!("**{label} failed** {why}")).collect()
}

/// One of ours over somebody, and how much of that one's time it may take.
struct Judged<'a> {
    about: String,
    one: &'a Contestant,
    over: &'a Contestant,
    most: f64,
    /// Which of the two `about` leaves to be named.
    named: &'a Contestant,
    is_bold: bool,
}

impl Judged<'_> {
    /// How far two measurements of the same lie apart: of those compared, where they were measured twice.
    fn noise(&self, largest: Option<f64>) -> Option<f64> {
        let noise = |one: &Contestant| one.deviation().or(largest);
        larger(noise(self.one), noise(self.over))
    }

    fn line(&self, largest: Option<f64>) -> String {
        let ratio = self.one.median() / self.over.median();
        let verdict = goal_within(ratio, self.most, self.noise(largest).unwrap_or(0.0));
        let bold = if self.is_bold { "**" } else { "" };
        format!("{bold}{}: {}: {verdict}{bold}", self.about, named(self.named))
    }
}

/// The larger of what there is.
fn larger(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    one.into_iter().chain(other).reduce(f64::max)
}

/// Whose second measurement in a round says how far to trust the verdicts: everybody whom they compare by what was
/// found so far. They are numbers of `all`; none before the first round is over.
pub(crate) fn compared(row: &Row, all: &[Contestant]) -> Vec<usize> {
    let mut sorted: Vec<_> =
        all.iter().filter(|one| one.failure.is_none() && !one.rows.is_empty()).collect();
    sorted.sort_by(|a, b| a.median().total_cmp(&b.median()));
    let judged = judged(row, &sorted);
    let is_judged = |one: &Contestant| {
        judged.iter().any(|line| std::ptr::eq(line.one, one) || std::ptr::eq(line.over, one))
    };
    (0..all.len()).filter(|&at| is_judged(&all[at])).collect()
}

/// What follows from those who failed in no round; they are sorted by their medians.
fn lines(row: &Row, runners: &[&Contestant]) -> Vec<String> {
    let best = |which: &dyn Fn(&Contestant) -> bool| runners.iter().copied().find(|one| which(one));
    let Some(ours) = best(&|one| one.ours) else {
        return vec![format!("**none of ours ended every round, goal {:.2}: missed**", row.goal)];
    };
    let largest = runners.iter().filter_map(|one| one.deviation()).reduce(f64::max);
    let judged = judged(row, runners);
    let (bold, plain): (Vec<_>, Vec<_>) = judged.iter().partition(|line| line.is_bold);
    let mut lines = vec![format!("best of ours: {}", named(ours))];
    lines.extend(plain.into_iter().map(|line| line.line(largest)));
    let rivals = [
        ("best framework", best(&Contestant::is_framework)),
        ("best without a framework", best(&Contestant::is_bare)),
    ];
    for (title, rival) in rivals {
        if let Some(rival) = rival {
            let ratio = ours.median() / rival.median();
            lines.push(format!("ours over the {title}: {}: {ratio:.2}", named(rival)));
        }
    }
    lines.extend(bold.into_iter().map(|line| line.line(largest)));
    if !runners.iter().any(|one| !one.ours) {
        lines.push("**no verdict: nobody else ended every round**".to_owned());
    }
    lines.extend(row.bytes_goal.map(|most| bytes_line(most, ours)));
    lines
}

/// What each actor of that one added to the process, without what it keeps for itself. References to it count.
fn bytes_line(most: f64, one: &Contestant) -> String {
    // Who does not say it has not reached it.
    let bytes = bytes_each(&one.rows).map_or(f64::NAN, |bytes| bytes - STATE_BYTES);
    let verdict = verdict(bytes, most);
    let who = one.label();
    format!(
        "**memory of the best of ours beside its state of {STATE_BYTES} bytes: {who}, {bytes:.0} bytes each, goal \
         {most:.0}: {verdict}**"
    )
}

fn named(one: &Contestant) -> String {
    format!("{}, {:.1} ns", one.label(), one.median())
}

/// Everything that has a goal.
fn judged<'a>(row: &Row, runners: &[&'a Contestant]) -> Vec<Judged<'a>> {
    let best = |which: &dyn Fn(&Contestant) -> bool| runners.iter().copied().find(|one| which(one));
    let Some(one) = best(&|one| one.ours) else { return Vec::new() };
    let mut all = default_lines(one, runners);
    if let Some(over) = best(&|one| !one.ours) {
        let about = "ours over the best of all that were measured here".to_owned();
        all.push(Judged { about, one, over, most: row.goal, named: over, is_bold: true });
    }
    all.extend(row.asleep_goal.and_then(|most| asleep_line(most, runners)));
    all
}

/// The default over our best, and, where that spins, also over the best of ours that sleep as the default does. It has
/// the allocator of whom it is compared with.
fn default_lines<'a>(ours: &'a Contestant, runners: &[&'a Contestant]) -> Vec<Judged<'a>> {
    let asleep = runners.iter().copied().find(|one| one.ours && !one.spins());
    let asleep = asleep.filter(|_| ours.spins());
    let whole = ("the default over it".to_owned(), ours);
    let asleep = asleep.map(|over| {
        (format!("the default over our best whose workers sleep ({})", named(over)), over)
    });
    let line = |(about, over): (String, &'a Contestant)| {
        let is_default = |one: &&Contestant| one.is_default() && one.allocator == over.allocator;
        let one = runners.iter().copied().find(is_default)?;
        Some(Judged { about, one, over, most: DEFAULT_GOAL, named: one, is_bold: false })
    };
    std::iter::once(whole).chain(asleep).filter_map(line).collect()
}

/// Our best whose workers sleep over the best of tokio, whose workers always do.
fn asleep_line<'a>(most: f64, runners: &[&'a Contestant]) -> Option<Judged<'a>> {
    let one = runners.iter().copied().find(|one| one.ours && !one.spins())?;
    let over = runners.iter().copied().find(|one| one.library() == "tokio")?;
    let about = format!("ours whose workers sleep ({}) over the best of tokio", named(one));
    Some(Judged { about, one, over, most, named: over, is_bold: true })
}

#[cfg(test)]
mod tests {
    use super::{compared, section};
    use crate::contestant::{Allocator, Contestant};
    use crate::programs;
    use crate::rows;
    use greenroom_peers::Program;
    use std::time::Duration;

    const ROW: programs::Row = programs::Row {
        name: "ask",
        n: 10,
        unit: "question",
        goal: 0.5,
        outside: 0,
        asleep_goal: None,
        bytes_goal: None,
        large: None,
    };

    fn contestant(who: &'static str, ours: bool, cores: usize, times: &[f64]) -> Contestant {
        let program = Program::new("ask", who, cores, |_| Duration::ZERO);
        let mut one = Contestant::new(&program, ours, Allocator::System);
        let row = |&time| rows::Row { ns_per_op: Some(time), ..rows::Row::default() };
        one.rows = times.iter().map(row).collect();
        one
    }

    #[test]
    fn a_section_names_the_best_of_each_kind() {
        let mut broken = contestant("kameo", false, 2, &[]);
        broken.failure = Some("in round 1: still ran after 60 s".into());
        let contestants = vec![
            contestant("auto", true, 2, &[60.0, 50.0, 70.0]),
            contestant("stealing", true, 2, &[40.0]),
            contestant("actix", false, 1, &[160.0]),
            contestant("tokio", false, 2, &[100.0]),
            contestant("tokio-4", false, 4, &[]),
            broken,
        ];
        let text = section(&ROW, contestants, (3, 3), 2);
        let wanted = "\n### ask\n\nn = 10, 3 rounds.\n\n\
            | who | ns per question | least | most | ours over it |\n|---|---|---|---|---|\n\
            | **stealing** | 40.0 | 40.0 | 40.0 | 1.00 |\n\
            | **auto** | 60.0 | 50.0 | 70.0 | 0.67 |\n\
            | tokio | 100.0 | 100.0 | 100.0 | 0.40 |\n\
            | actix | 160.0 | 160.0 | 160.0 | 0.25 |\n\n\
            - not measured here, needs more than 2 cores: tokio-4\n\
            - **kameo failed** in round 1: still ran after 60 s\n\
            - best of ours: stealing, 40.0 ns\n\
            - the default over it: auto, 60.0 ns: 1.50, goal 1.30: missed\n\
            - ours over the best framework: actix, 160.0 ns: 0.25\n\
            - ours over the best without a framework: tokio, 100.0 ns: 0.40\n\
            - **ours over the best of all that were measured here: tokio, 100.0 ns: 0.40, goal 0.50: reached**\n\
            - A/A control: none, since it begins with the second round\n";
        assert_eq!(text, wanted);
    }

    #[test]
    fn who_fails_in_a_later_round_is_named_and_judged_no_more() {
        let failed = |mut one: Contestant| {
            let round = one.rows.len() + 1;
            one.failure = Some(format!("in round {round}: still ran after 60 s"));
            one
        };
        let contestants = vec![
            failed(contestant("stealing", true, 2, &[10.0, 12.0])),
            contestant("auto", true, 2, &[50.0]),
            failed(contestant("tokio", false, 2, &[20.0])),
            contestant("actix", false, 1, &[200.0]),
        ];
        let text = section(&ROW, contestants, (3, 3), 2);
        let wanted = "| **stealing (failed)** | 11.0 | 10.0 | 12.0 |  |\n\
            | tokio (failed) | 20.0 | 20.0 | 20.0 |  |\n\
            | **auto** | 50.0 | 50.0 | 50.0 | 1.00 |\n\
            | actix | 200.0 | 200.0 | 200.0 | 0.25 |\n\n\
            - **stealing failed** in round 3: still ran after 60 s\n\
            - **tokio failed** in round 2: still ran after 60 s\n\
            - best of ours: auto, 50.0 ns\n";
        assert!(text.contains(wanted), "{text}");
        assert!(
            text.contains("measured here: actix, 200.0 ns: 0.25, goal 0.50: reached"),
            "{text}"
        );
    }

    #[test]
    fn who_sleeps_is_compared_with_who_sleeps() {
        let contestants = vec![
            contestant("auto", true, 2, &[120.0]),
            contestant("locked-1", true, 1, &[100.0]),
            contestant("locked-1-spinning", true, 2, &[10.0]),
            contestant("actix", false, 1, &[80.0]),
            contestant("tokio", false, 2, &[150.0]),
            contestant("tokio-1", false, 1, &[125.0]),
        ];
        let row = programs::Row { asleep_goal: Some(0.7), outside: 1, ..ROW };
        let text = section(&row, contestants, (1, 1), 2);
        let told =
            "1 rounds.\n\nPlain threads beside the workers: 1; all of them share 2 cores.\n\n|";
        assert!(text.contains(told), "{text}");
        let wanted = "- best of ours: locked-1-spinning, 10.0 ns\n\
            - the default over it: auto, 120.0 ns: 12.00, goal 1.30: missed\n\
            - the default over our best whose workers sleep (locked-1, 100.0 ns): auto, 120.0 ns: \
            1.20, goal 1.30: reached\n\
            - ours over the best framework: actix, 80.0 ns: 0.12\n\
            - ours over the best without a framework: tokio-1, 125.0 ns: 0.08\n\
            - **ours over the best of all that were measured here: actix, 80.0 ns: 0.12, goal 0.50: reached**\n\
            - **ours whose workers sleep (locked-1, 100.0 ns) over the best of tokio: tokio-1, \
            125.0 ns: 0.80, goal 0.70: missed**\n";
        assert!(text.contains(wanted), "{text}");
    }

    #[test]
    fn the_default_has_the_allocator_of_the_best() {
        let mut contestants = vec![
            contestant("auto", true, 2, &[60.0]),
            contestant("per_core-1", true, 1, &[50.0]),
            contestant("auto", true, 2, &[44.0]),
            contestant("per_core-1", true, 1, &[40.0]),
        ];
        for one in &mut contestants[2..] {
            one.allocator = Allocator::Mimalloc;
        }
        let text = section(&ROW, contestants, (1, 1), 2);
        let wanted = "- best of ours: per_core-1+mimalloc, 40.0 ns\n\
            - the default over it: auto+mimalloc, 44.0 ns: 1.10, goal 1.30: reached\n";
        assert!(text.contains(wanted), "{text}");
    }

    /// The same measured twice in each round but the first.
    fn twice(mut one: Contestant, times: &[f64]) -> Contestant {
        let numbered = |(round, row): (usize, rows::Row)| rows::Row {
            round: i64::try_from(round).ok(),
            ..row
        };
        one.rows = one.rows.into_iter().enumerate().map(numbered).collect();
        let row = |&time| rows::Row { ns_per_op: Some(time), ..rows::Row::default() };
        let again = times.iter().map(row).enumerate();
        one.again = again.map(|(at, row)| numbered((at + 1, row))).collect();
        one
    }

    #[test]
    fn a_verdict_that_noise_could_turn_says_so() {
        let contestants = vec![
            twice(contestant("auto", true, 2, &[900.0, 50.0, 50.0]), &[55.0, 55.0]),
            contestant("tokio", false, 2, &[105.0, 105.0, 105.0]),
        ];
        let text = section(&ROW, contestants, (3, 3), 2);
        assert!(
            text.contains("tokio, 105.0 ns: 0.48, goal 0.50: reached, within noise**"),
            "{text}"
        );
        assert!(text.contains("| **auto (again)** | 55.0 | 55.0 | 55.0 | 0.91 |\n"), "{text}");
        // By the rounds that had both, of which the first is none.
        assert!(
            text.contains("- A/A control, the same against itself: auto 1.10 in 2 rounds\n"),
            "{text}"
        );
        let missed = vec![
            twice(contestant("auto", true, 2, &[50.0, 50.0]), &[49.0]),
            twice(contestant("tokio", false, 2, &[95.0, 95.0]), &[85.0]),
        ];
        let text = section(&ROW, missed, (2, 2), 2);
        assert!(text.contains("0.53, goal 0.50: missed, within noise**"), "{text}");
        let clear = vec![
            twice(contestant("auto", true, 2, &[50.0, 50.0]), &[52.0]),
            twice(contestant("tokio", false, 2, &[110.0, 110.0]), &[108.0]),
        ];
        let text = section(&ROW, clear, (2, 2), 2);
        assert!(text.contains("0.45, goal 0.50: reached**"), "{text}");
    }

    #[test]
    fn who_is_compared_is_measured_twice() {
        let mut all = vec![
            contestant("auto", true, 2, &[60.0]),
            contestant("locked", true, 2, &[70.0]),
            contestant("stealing", true, 2, &[50.0]),
            contestant("tokio", false, 2, &[90.0]),
            contestant("actix", false, 1, &[80.0]),
        ];
        assert_eq!(compared(&ROW, &all), [0, 2, 4]);
        all[4].failure = Some("in round 1: still ran after 60 s".into());
        assert_eq!(compared(&ROW, &all), [0, 2, 3]);
        all.iter_mut().for_each(|one| one.rows.clear());
        assert!(compared(&ROW, &all).is_empty(), "nothing is known yet");
    }

    #[test]
    fn memory_is_judged_of_whose_time_is() {
        let of = |who, time: f64, bytes| {
            let mut one = contestant(who, true, 2, &[time]);
            one.rows[0].bytes_each = Some(bytes);
            one
        };
        let row = programs::Row { bytes_goal: Some(256.0), ..ROW };
        let text = section(&row, vec![of("auto", 5.0, 264.0), of("locked", 6.0, 10.0)], (1, 1), 2);
        let line = "- **memory of the best of ours beside its state of 8 bytes: ";
        assert!(
            text.contains(&format!("{line}auto, 256 bytes each, goal 256: reached**\n")),
            "{text}"
        );
        let text = section(&row, vec![of("auto", 5.0, 265.0), of("locked", 6.0, 10.0)], (1, 1), 2);
        assert!(
            text.contains(&format!("{line}auto, 257 bytes each, goal 256: missed**\n")),
            "{text}"
        );
        let untold = contestant("auto", true, 2, &[5.0]);
        let text = section(&row, vec![untold, of("locked", 6.0, 10.0)], (1, 1), 2);
        assert!(text.contains("auto, NaN bytes each, goal 256: missed**\n"), "{text}");
        let text = section(&ROW, vec![of("auto", 5.0, 264.0)], (1, 1), 2);
        assert!(!text.contains("memory"), "{text}");
    }

    #[test]
    fn where_one_side_is_missing_that_is_told() {
        let both =
            || [contestant("auto", true, 2, &[50.0]), contestant("tokio", false, 2, &[90.0])];
        let without = |at: usize| {
            let mut both = both();
            both[at].failure = Some("in round 2: still ran after 60 s".into());
            section(&ROW, both.into(), (2, 2), 2)
        };
        let ours = without(0);
        assert!(
            ours.contains("- **none of ours ended every round, goal 0.50: missed**\n"),
            "{ours}"
        );
        let theirs = without(1);
        assert!(theirs.contains("- **no verdict: nobody else ended every round**\n"), "{theirs}");
        assert!(!section(&ROW, both().into(), (2, 2), 2).contains("ended every round"));
    }

    #[test]
    fn rounds_that_are_missing_are_told() {
        let text = section(&ROW, vec![contestant("auto", true, 2, &[5.0])], (8, 9), 2);
        assert!(text.contains("n = 10, 8 rounds of 9, which took too long.\n"), "{text}");
    }

    #[test]
    fn bytes_are_a_column_where_somebody_has_them() {
        let mut one = contestant("auto", true, 2, &[5.0]);
        one.rows[0].bytes_each = Some(300.0);
        let text = section(&ROW, vec![one, contestant("actix", false, 1, &[9.0])], (1, 1), 2);
        assert!(text.contains("| ours over it | bytes each |\n|---|---|---|---|---|---|\n"));
        assert!(text.contains("| 1.00 | 300 |\n"));
        assert!(text.contains("| 0.56 |  |\n"));
    }
}
