//! What each chart shows of the rows.

use super::{Bar, Chart, Line, Marks, Panel, Range};
use crate::rows::{AGAIN, Row};
use crate::stats;
use std::collections::BTreeMap;

/// What a label ends with where that allocator served.
const MIMALLOC: &str = "+mimalloc";

/// The rows of one program by one contestant.
struct Group<'rows> {
    label: String,
    /// The scheduler, or the peer's library.
    family: &'rows str,
    ours: bool,
    rows: Vec<&'rows Row>,
}

impl Group<'_> {
    fn all(&self, of: impl Fn(&Row) -> Option<f64>) -> Vec<f64> {
        self.rows.iter().filter_map(|row| of(row)).collect()
    }

    /// The median nanoseconds per operation; `NaN` when there is none.
    fn time(&self) -> f64 {
        stats::median(&self.all(|row| row.ns_per_op))
    }

    fn millions_per_second(&self) -> f64 {
        1e3 / self.time()
    }

    #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
    fn workers(&self) -> Option<f64> {
        self.rows.first()?.workers.map(|workers| workers as f64)
    }
}

/// What is drawn of one program: the unit, and the marks; nothing where there are none.
type Shown = Option<(&'static str, Marks)>;

/// Every chart that has something to show.
pub(super) fn charts(rows: &[Row]) -> Vec<Chart> {
    let programs = programs(rows);
    let chart = |name, title, show: &dyn Fn(&[Group<'_>]) -> Shown| {
        let shown = programs.iter().filter_map(|(what, groups)| Some((*what, show(groups)?)));
        let shown: Vec<_> = shown.collect();
        let all: Vec<_> = shown.iter().map(|(what, _)| *what).collect();
        let panels = shown.into_iter().map(|(what, (unit, marks))| Panel {
            title: headline(what, &all),
            unit,
            marks,
        });
        let panels: Vec<_> = panels.collect();
        (!panels.is_empty()).then_some(Chart { name, title, panels })
    };
    [
        chart("throughput", "Throughput: more is better", &throughput),
        chart("latency", "Latency of single operations: p50, p99, p99.9", &latency),
        chart("duration", "Duration of a measurement: least, median, most", &duration),
        chart("scaling", "Throughput over the number of workers", &scaling),
        chart("speedup", "How many times as fast as the best peer", &speedup),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// What was measured: by a command, a program, in a size.
type What<'rows> = (&'rows str, &'rows str, Option<i64>);

/// The program's name, with command and size where a chart, which shows `all`, has others of that name.
fn headline((command, program, n): What<'_>, all: &[What<'_>]) -> String {
    if all.iter().filter(|(_, other, _)| *other == program).count() == 1 {
        return program.to_owned();
    }
    let n = n.map_or_else(String::new, |n| format!(", n = {n}"));
    format!("{program} ({command}{n})")
}

/// The groups of each program in each size, in the order in which they were measured.
fn programs(rows: &[Row]) -> Vec<(What<'_>, Vec<Group<'_>>)> {
    let mut programs: Vec<(What<'_>, Vec<Group<'_>>)> = Vec::new();
    // What was measured a second time as a control would be a family's best by luck.
    for row in rows.iter().filter(|row| !row.who.ends_with(AGAIN)) {
        let at = programs.iter().position(|(what, _)| *what == row.what());
        let at = at.unwrap_or_else(|| {
            programs.push((row.what(), Vec::new()));
            programs.len() - 1
        });
        let groups = &mut programs[at].1;
        let label = match row.allocator.as_str() {
            "mimalloc" => format!("{}{MIMALLOC}", row.who),
            _ => row.who.clone(),
        };
        if let Some(group) = groups.iter_mut().find(|group| group.label == label) {
            group.rows.push(row);
        } else {
            let ours = row.library == "greenroom";
            let family = if ours { &row.scheduler } else { &row.library };
            groups.push(Group { label, family, ours, rows: vec![row] });
        }
    }
    programs
}

/// The best of each family, the quickest first.
fn best<'a, 'rows>(groups: &'a [Group<'rows>]) -> Vec<&'a Group<'rows>> {
    let mut timed: Vec<_> = groups.iter().filter(|group| group.time().is_finite()).collect();
    timed.sort_by(|a, b| a.time().total_cmp(&b.time()));
    let mut best: Vec<&Group<'_>> = Vec::new();
    for group in timed {
        if !best.iter().any(|one| (one.family, one.ours) == (group.family, group.ours)) {
            best.push(group);
        }
    }
    best
}

fn throughput(groups: &[Group<'_>]) -> Shown {
    let bars = best(groups).into_iter().map(|group| Bar {
        label: group.label.clone(),
        ours: group.ours,
        value: group.millions_per_second(),
    });
    let bars: Vec<_> = bars.collect();
    (!bars.is_empty()).then_some(("million operations per second", Marks::Bars(bars)))
}

fn latency(groups: &[Group<'_>]) -> Shown {
    let ranges = groups.iter().filter_map(|group| {
        let quantiles: [fn(&Row) -> Option<f64>; 3] =
            [|row| row.p50_ns, |row| row.p99_ns, |row| row.p999_ns];
        let values = quantiles.map(|quantile| stats::median(&group.all(quantile)));
        let known = values.iter().all(|value| value.is_finite());
        known.then(|| Range { label: group.label.clone(), ours: group.ours, values })
    });
    let ranges: Vec<_> = ranges.collect();
    (!ranges.is_empty()).then_some(("nanoseconds", Marks::Ranges(ranges)))
}

#[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
fn duration(groups: &[Group<'_>]) -> Shown {
    // Criterion repeats something as often as it likes: what that took together says nothing.
    let mut sizes = groups.iter().flat_map(|group| &group.rows).map(|row| row.n);
    let first = sizes.next();
    if sizes.any(|n| Some(n) != first) {
        return None;
    }
    let ranges = best(groups).into_iter().filter_map(|group| {
        let millis = group.all(|row| row.nanos.map(|nanos| nanos as f64 / 1e6));
        let values = [stats::least(&millis), stats::median(&millis), stats::most(&millis)];
        let known = values.iter().all(|value| value.is_finite());
        known.then(|| Range { label: group.label.clone(), ours: group.ours, values })
    });
    let ranges: Vec<_> = ranges.collect();
    (!ranges.is_empty()).then_some(("milliseconds", Marks::Ranges(ranges)))
}

fn scaling(groups: &[Group<'_>]) -> Shown {
    let mut lines: BTreeMap<&str, Vec<(f64, f64)>> = BTreeMap::new();
    let ours = groups.iter().filter(|group| group.ours && group.time().is_finite());
    // Bounded mailboxes, workers that do not sleep and another allocator are another program in all but name.
    let others = ["-bounded", "-spinning", MIMALLOC];
    let is_plain = |group: &&Group<'_>| !others.iter().any(|other| group.label.ends_with(other));
    for group in ours.filter(is_plain) {
        let point = group.workers().map(|workers| (workers, group.millions_per_second()));
        lines.entry(group.family).or_default().extend(point);
    }
    lines.retain(|_, points| points.len() > 1);
    let lines = lines.into_iter().map(|(scheduler, mut points)| {
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        Line { label: scheduler.to_owned(), points }
    });
    let lines: Vec<_> = lines.collect();
    (!lines.is_empty()).then_some(("workers; million operations per second", Marks::Lines(lines)))
}

fn speedup(groups: &[Group<'_>]) -> Shown {
    let best = best(groups);
    let rival = best.iter().find(|group| !group.ours)?.time();
    let bars = best.into_iter().filter(|group| group.ours).map(|group| Bar {
        label: group.label.clone(),
        ours: true,
        value: rival / group.time(),
    });
    let bars: Vec<_> = bars.collect();
    (!bars.is_empty()).then_some(("times as fast", Marks::Bars(bars)))
}
