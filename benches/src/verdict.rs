//! What a contest found: its table, and ours against the others.

use crate::contestant::{Allocator, Contestant};
use crate::programs::Row;
use crate::stats;
use crate::table::{Table, goal};

/// The default setting has to be at most this much of our own best.
const DEFAULT_GOAL: f64 = 1.3;

/// Which of ours is the default.
const DEFAULT: &str = "auto";

/// The table of one program, and what follows from it. `control` is a program against itself; `cores`
/// is how many this machine has.
pub(crate) fn section(
    row: &Row,
    mut contestants: Vec<Contestant>,
    rounds: usize,
    control: f64,
    cores: usize,
) -> String {
    contestants.sort_by(|a, b| a.median().total_cmp(&b.median()));
    let (runners, absent): (Vec<_>, Vec<_>) =
        contestants.into_iter().partition(|one| !one.rows.is_empty());
    let mut text = format!("\n### {}\n\nn = {}, {rounds} rounds.\n\n", row.name, row.n);
    text.push_str(&table(row, &runners).to_string());
    text.push('\n');
    let whole: Vec<_> = runners.iter().filter(|one| one.failure.is_none()).collect();
    let failures = failures(runners.iter().chain(&absent));
    for line in absences(&absent, cores).into_iter().chain(failures).chain(lines(row, &whole)) {
        text.push_str(&format!("- {line}\n"));
    }
    text.push_str(&format!("- A/A control, the same program against itself: {control:.2}\n"));
    text
}

fn table(row: &Row, runners: &[Contestant]) -> Table {
    let per = format!("ns per {}", row.unit);
    let mut heading = vec!["who", per.as_str(), "least", "most", "ours over it"];
    let weighed = runners.iter().any(|one| one.bytes_each().is_some());
    if weighed {
        heading.push("bytes each");
    }
    let ours = runners.iter().find(|one| one.ours && one.failure.is_none());
    let ours = ours.map_or(f64::NAN, Contestant::median);
    let mut table = Table::new(&heading);
    for one in runners {
        let (label, median, times) = (one.label(), one.median(), one.times());
        let failed = one.failure.is_some();
        let label = if failed { format!("{label} (failed)") } else { label };
        let label = if one.ours { format!("**{label}**") } else { label };
        let mut cells = vec![label, format!("{median:.1}")];
        cells.extend([stats::least(&times), stats::most(&times)].map(|time| format!("{time:.1}")));
        cells.push(if failed { String::new() } else { format!("{:.2}", ours / median) });
        cells.extend(one.bytes_each().map(|bytes| format!("{bytes:.0}")));
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

/// What follows from those who failed in no round; they are sorted by their medians.
fn lines(row: &Row, runners: &[&Contestant]) -> Vec<String> {
    let best = |which: &dyn Fn(&Contestant) -> bool| runners.iter().copied().find(|one| which(one));
    let Some(ours) = best(&|one| one.ours) else { return Vec::new() };
    let mut lines = vec![format!("best of ours: {}", named(ours))];
    lines.extend(default_line(ours, runners));
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
    if let Some(rival) = best(&|one| !one.ours) {
        let ratio = goal(ours.median() / rival.median(), row.goal);
        lines.push(format!("**ours over the best of all: {}: {ratio}**", named(rival)));
    }
    lines.extend(row.asleep_goal.and_then(|goal| asleep_line(goal, runners)));
    lines
}

fn named(one: &Contestant) -> String {
    format!("{}, {:.1} ns", one.label(), one.median())
}

/// The default, with the allocator of our best, over that, or, where it is no match since it spins, over the best of
/// ours that sleep as the default does.
fn default_line(ours: &Contestant, runners: &[&Contestant]) -> Option<String> {
    let best = runners.iter().find(|one| one.ours && !one.spins())?;
    let is_default = |one: &&&Contestant| one.ours && one.who == DEFAULT;
    let default = runners.iter().filter(is_default).find(|one| one.allocator == best.allocator)?;
    let over = if ours.spins() {
        format!("our best whose workers sleep ({})", named(best))
    } else {
        "it".to_owned()
    };
    let ratio = goal(default.median() / best.median(), DEFAULT_GOAL);
    Some(format!("the default over {over}: {}: {ratio}", named(default)))
}

/// Our best whose workers sleep over the best of tokio, whose workers always do.
fn asleep_line(most: f64, runners: &[&Contestant]) -> Option<String> {
    let ours = runners.iter().find(|one| one.ours && !one.spins())?;
    let rival = runners.iter().find(|one| one.library() == "tokio")?;
    let ratio = goal(ours.median() / rival.median(), most);
    let (ours, rival) = (named(ours), named(rival));
    Some(format!("**ours whose workers sleep ({ours}) over the best of tokio: {rival}: {ratio}**"))
}

#[cfg(test)]
mod tests {
    use super::section;
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
        asleep_goal: None,
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
        let text = section(&ROW, contestants, 3, 1.02, 2);
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
            - **ours over the best of all: tokio, 100.0 ns: 0.40, goal 0.50: reached**\n\
            - A/A control, the same program against itself: 1.02\n";
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
        let text = section(&ROW, contestants, 3, 1.0, 2);
        let wanted = "| **stealing (failed)** | 11.0 | 10.0 | 12.0 |  |\n\
            | tokio (failed) | 20.0 | 20.0 | 20.0 |  |\n\
            | **auto** | 50.0 | 50.0 | 50.0 | 1.00 |\n\
            | actix | 200.0 | 200.0 | 200.0 | 0.25 |\n\n\
            - **stealing failed** in round 3: still ran after 60 s\n\
            - **tokio failed** in round 2: still ran after 60 s\n\
            - best of ours: auto, 50.0 ns\n";
        assert!(text.contains(wanted), "{text}");
        assert!(text.contains("best of all: actix, 200.0 ns: 0.25, goal 0.50: reached"), "{text}");
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
        let row = programs::Row { asleep_goal: Some(0.7), ..ROW };
        let text = section(&row, contestants, 1, 1.0, 2);
        let wanted = "- best of ours: locked-1-spinning, 10.0 ns\n\
            - the default over our best whose workers sleep (locked-1, 100.0 ns): auto, 120.0 ns: \
            1.20, goal 1.30: reached\n\
            - ours over the best framework: actix, 80.0 ns: 0.12\n\
            - ours over the best without a framework: tokio-1, 125.0 ns: 0.08\n\
            - **ours over the best of all: actix, 80.0 ns: 0.12, goal 0.50: reached**\n\
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
        let text = section(&ROW, contestants, 1, 1.0, 2);
        let wanted = "- best of ours: per_core-1+mimalloc, 40.0 ns\n\
            - the default over it: auto+mimalloc, 44.0 ns: 1.10, goal 1.30: reached\n";
        assert!(text.contains(wanted), "{text}");
    }

    #[test]
    fn bytes_are_a_column_where_somebody_has_them() {
        let mut one = contestant("auto", true, 2, &[5.0]);
        one.rows[0].bytes_each = Some(300.0);
        let text = section(&ROW, vec![one, contestant("actix", false, 1, &[9.0])], 1, 1.0, 2);
        assert!(text.contains("| ours over it | bytes each |\n|---|---|---|---|---|---|\n"));
        assert!(text.contains("| 1.00 | 300 |\n"));
        assert!(text.contains("| 0.56 |  |\n"));
    }
}
