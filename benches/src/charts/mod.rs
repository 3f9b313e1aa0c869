//! Charts of measurements, as SVG, drawn from rows alone.
//!
//! | chart | what is in it |
//! |---|---|
//! | `throughput` | million operations per second: each scheduler, and each peer with its best settings |
//! | `latency` | p50, p99 and p99.9 of single operations |
//! | `duration` | how long the measurements took: least, median and most of the rounds |
//! | `scaling` | throughput of each scheduler over the number of workers |
//! | `speedup` | how many times as fast as the best peer each scheduler is |
//! | `combined` | all of these on one sheet |
//!
//! A chart without anything to show is not drawn.

mod draw;
mod select;

use crate::rows::Row;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Small multiples under one title.
struct Chart {
    name: &'static str,
    title: &'static str,
    panels: Vec<Panel>,
}

/// One of them.
struct Panel {
    title: String,
    unit: &'static str,
    marks: Marks,
}

/// What stands in a panel; the first of each list stands on top.
enum Marks {
    Bars(Vec<Bar>),
    Ranges(Vec<Range>),
    Lines(Vec<Line>),
}

struct Bar {
    label: String,
    ours: bool,
    value: f64,
}

/// Three values, in ascending order.
struct Range {
    label: String,
    ours: bool,
    values: [f64; 3],
}

struct Line {
    label: String,
    points: Vec<(f64, f64)>,
}

/// Draws every chart of `rows` into `folder`; returns the files.
///
/// # Errors
/// When there is nothing to draw, or a file cannot be written.
pub fn write(rows: &[Row], folder: &Path) -> io::Result<Vec<PathBuf>> {
    let charts = select::charts(rows);
    if charts.is_empty() {
        return Err(io::Error::other("these measurements have nothing to draw"));
    }
    fs::create_dir_all(folder)?;
    let mut files = Vec::new();
    let each = charts.iter().map(|chart| (chart.name, std::slice::from_ref(chart)));
    for (name, charts) in each.chain([("combined", charts.as_slice())]) {
        let file = folder.join(format!("{name}.svg"));
        fs::write(&file, draw::sheet(charts).map_err(io::Error::other)?)?;
        files.push(file);
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::{Marks, draw, select};
    use crate::rows::Row;

    fn row(who: &str, scheduler: &str, workers: i64, time: f64) -> Row {
        let library = if scheduler.is_empty() { who } else { "greenroom" };
        Row {
            program: "big".into(),
            who: who.into(),
            library: library.into(),
            scheduler: scheduler.into(),
            allocator: "system".into(),
            workers: Some(workers),
            nanos: Some(1_000_000),
            ns_per_op: Some(time),
            ..Row::default()
        }
    }

    fn rows() -> Vec<Row> {
        vec![
            row("auto", "auto", 2, 50.0),
            row("auto", "auto", 2, 70.0),
            row("auto-1", "auto", 1, 100.0),
            row("actix", "", 1, 240.0),
            row("tokio", "", 2, 120.0),
            Row {
                p50_ns: Some(90.0),
                p99_ns: Some(200.0),
                p999_ns: Some(900.0),
                ..row("auto", "auto", 2, 60.0)
            },
        ]
    }

    #[test]
    fn every_chart_takes_what_it_shows() {
        let charts = select::charts(&rows());
        let names: Vec<_> = charts.iter().map(|chart| chart.name).collect();
        assert_eq!(names, ["throughput", "latency", "duration", "scaling", "speedup"]);
        let Marks::Bars(bars) = &charts[0].panels[0].marks else { panic!("throughput is bars") };
        let bars: Vec<_> = bars.iter().map(|bar| (bar.label.as_str(), bar.ours)).collect();
        assert_eq!(bars, [("auto", true), ("tokio", false), ("actix", false)]);
        let Marks::Lines(lines) = &charts[3].panels[0].marks else { panic!("scaling is lines") };
        assert_eq!(lines[0].points, [(1.0, 10.0), (2.0, 1000.0 / 60.0)]);
        let Marks::Bars(bars) = &charts[4].panels[0].marks else { panic!("speedup is bars") };
        assert!((bars[0].value - 2.0).abs() < f64::EPSILON, "tokio's 120 over our 60");
    }

    #[test]
    fn sizes_commands_and_controls_stay_apart() {
        let one = Row { command: "run".into(), n: Some(10), ..row("auto", "auto", 2, 50.0) };
        let large =
            Row { command: "large".into(), n: Some(1_000), ns_per_op: Some(5.0), ..one.clone() };
        let again = Row { who: "auto (again)".into(), ns_per_op: Some(1.0), ..one.clone() };
        let charts = select::charts(&[one, large, again]);
        let shown: Vec<_> = charts[0]
            .panels
            .iter()
            .map(|panel| {
                let Marks::Bars(bars) = &panel.marks else { panic!("throughput is bars") };
                (panel.title.as_str(), bars.iter().map(|bar| bar.value).collect::<Vec<_>>())
            })
            .collect();
        let wanted = [("big (run, n = 10)", vec![20.0]), ("big (large, n = 1000)", vec![200.0])];
        assert_eq!(shown, wanted);
    }

    #[test]
    fn what_a_chart_does_not_show_gives_no_other_title() {
        let one = Row { command: "run".into(), n: Some(10), ..row("auto", "auto", 2, 50.0) };
        let counted = Row {
            command: "instructions".into(),
            n: None,
            nanos: None,
            ns_per_op: None,
            instructions_per_op: Some(5.0),
            ..one.clone()
        };
        let charts = select::charts(&[one, counted]);
        assert_eq!(charts[0].panels.len(), 1);
        assert_eq!(charts[0].panels[0].title, "big", "there is no other one in the chart");
    }

    #[test]
    fn another_allocator_is_no_point_of_a_line() {
        let mimalloc = Row { allocator: "mimalloc".into(), ..row("auto", "auto", 2, 10.0) };
        let charts = select::charts(&[rows(), vec![mimalloc]].concat());
        let Marks::Lines(lines) = &charts[3].panels[0].marks else { panic!("scaling is lines") };
        assert_eq!(lines[0].points, [(1.0, 10.0), (2.0, 1000.0 / 60.0)]);
    }

    #[test]
    fn measurements_of_other_lengths_have_no_duration() {
        let of = |n| Row { command: "micro".into(), n: Some(n), ..row("ring", "ring", 2, 5.0) };
        let names = |rows: &[Row]| -> Vec<_> {
            select::charts(rows).iter().map(|chart| chart.name).collect()
        };
        assert_eq!(names(&[of(10), of(10)]), ["throughput", "duration"]);
        assert_eq!(names(&[of(10), of(20)]), ["throughput"]);
    }

    #[test]
    fn a_sheet_names_who_is_on_it() {
        let charts = select::charts(&rows());
        let svg = draw::sheet(&charts).unwrap();
        for text in ["<svg", "big", "auto", "actix", "</svg>"] {
            assert!(svg.contains(text), "{text} is missing");
        }
        assert_eq!(svg, draw::sheet(&charts).unwrap(), "the same rows give the same chart");
    }

    #[test]
    fn nothing_gives_no_chart() {
        assert!(select::charts(&[]).is_empty());
        let counts = [Row { instructions_per_op: Some(5.0), ..Row::default() }];
        assert!(select::charts(&counts).is_empty());
    }
}
