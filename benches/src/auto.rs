//! The table by which `Scheduler::auto` chooses its ready queue, from the figures that `bench run` has found.

use crate::rows::AGAIN;
use crate::stats;
use std::collections::{BTreeMap, BTreeSet};

/// Where `bench run` keeps its figures.
pub const FROM: &str = "benches/RESULTS.md";
/// Where the runtime has the table.
pub const TO: &str = "runtime/src/scheduler/auto/table.rs";

/// The queues, as the results and the runtime call them.
const QUEUES: [(&str, &str); 4] = [
    ("locked", "Locked"),
    ("lock_free", "LockFree"),
    ("stealing", "Stealing"),
    ("per_core", "PerCore"),
];
/// Workers of a line without a number.
const WORKERS: usize = 2;

/// What the names of other settings end with, of which a program has rows beside those of the queues.
const OTHERS: [&str; 4] = ["-bounded", "-spinning", "+mimalloc", AGAIN];
/// The default is no queue of its own.
const DEFAULT: &str = "auto";

/// A number of workers and a queue, and nanoseconds of an operation.
type Figure<'a> = ((usize, &'a str), f64);

/// Nanoseconds of an operation, by program, for each number of workers and each queue.
type Figures<'a> = BTreeMap<(usize, &'a str), BTreeMap<&'a str, f64>>;

/// The table, and what it does not say.
#[derive(Debug)]
pub struct Written {
    /// The source of [`TO`].
    pub source: String,
    /// What of the results is not in it, and why: lines, and numbers of workers.
    pub left_out: Vec<String>,
}

/// The table from the text of [`FROM`]. A number of workers is in it if every program was measured with so many under
/// every queue.
///
/// # Errors
/// A sentence, if there are no such figures.
pub fn table(results: &str) -> Result<Written, String> {
    let programs = results.split("\n## ").find(|section| section.starts_with("Programs\n"));
    let programs = programs.ok_or_else(|| format!("{FROM} has no section `Programs`"))?;
    let mut left_out = Vec::new();
    let figures = figures(programs, &mut left_out);
    let programs: BTreeSet<&str> = figures.values().flat_map(BTreeMap::keys).copied().collect();
    let workers: BTreeSet<_> = figures.keys().map(|(workers, _)| *workers).collect();
    let mut rows = Vec::new();
    for workers in workers {
        match row(&figures, workers, &programs) {
            Ok(row) => rows.push(row),
            Err(why) => left_out.push(why),
        }
    }
    if rows.is_empty() {
        let why = left_out.join("; ");
        return Err(format!("{FROM} has not every program under every queue: {why}"));
    }
    let source = format!(
        "//! Written by `bench auto`, not by hand: nanoseconds of an operation under each queue, the geometric mean of the\n\
         //! {} programs in `{FROM}`.\n\
         \n\
         use super::Choice::{{LockFree, Locked, PerCore, Stealing}};\n\
         use super::Row;\n\
         \n\
         /// The fewest workers first.\n\
         pub(super) const MEASURED: [Row; {}] = [\n{}];\n",
        programs.len(),
        rows.len(),
        rows.concat(),
    );
    Ok(Written { source, left_out })
}

/// The figures in a section of tables, one for each program. Lines of ours that are none are added to `left_out`.
fn figures<'a>(section: &'a str, left_out: &mut Vec<String>) -> Figures<'a> {
    let mut figures = Figures::new();
    for part in section.split("\n### ").skip(1) {
        let program = part.lines().next().unwrap_or_default();
        let mut count = 0;
        for line in part.lines() {
            match figure(line) {
                Ok(Some((key, nanos))) => {
                    figures.entry(key).or_default().insert(program, nanos);
                    count += 1;
                }
                Ok(None) => {}
                Err(why) => left_out.push(format!("{program}: {why}")),
            }
        }
        if count == 0 {
            left_out.push(format!("{program}: no queue has a figure"));
        }
    }
    figures
}

/// The workers, queue and nanoseconds of a line `| **QUEUE-WORKERS** | NANOSECONDS | …`; nothing if it is of somebody else,
/// or of another setting.
///
/// # Errors
/// Why a line of ours is none of these.
fn figure(line: &str) -> Result<Option<Figure<'_>>, String> {
    let Some(ours) = line.strip_prefix("| **") else { return Ok(None) };
    let wrong = || format!("not understood: {line}");
    let (label, rest) = ours.split_once("** | ").ok_or_else(wrong)?;
    let whole = label.strip_suffix(" (failed)");
    let setting = whole.unwrap_or(label);
    let (queue, workers) = setting.split_once('-').unwrap_or((setting, ""));
    if queue == DEFAULT || OTHERS.iter().any(|other| setting.ends_with(other)) {
        return Ok(None);
    }
    if whole.is_some() {
        return Err(format!("{setting} failed"));
    }
    let workers = if workers.is_empty() { Some(WORKERS) } else { workers.parse().ok() };
    let is_known = QUEUES.iter().any(|(known, _)| *known == queue);
    let nanos: Option<f64> = rest.split(' ').next().and_then(|nanos| nanos.parse().ok());
    match (workers.filter(|_| is_known), nanos.filter(|nanos| nanos.is_finite())) {
        (Some(workers), Some(nanos)) => Ok(Some(((workers, queue), nanos))),
        _ => Err(wrong()),
    }
}

/// A line of the table.
///
/// # Errors
/// Which of the programs was not measured.
fn row(figures: &Figures<'_>, workers: usize, programs: &BTreeSet<&str>) -> Result<String, String> {
    let mut means = Vec::new();
    for (known, name) in QUEUES {
        let times = figures.get(&(workers, known));
        let has = |program: &str| times.is_some_and(|times| times.contains_key(program));
        let missing: Vec<&str> = programs.iter().copied().filter(|one| !has(one)).collect();
        if !missing.is_empty() {
            let missing = missing.join(", ");
            return Err(format!("{workers} workers: {known} has no figure of {missing}"));
        }
        let mean = stats::geometric_mean(times.into_iter().flat_map(BTreeMap::values).copied());
        means.push(format!("({name}, {mean:.1})"));
    }
    Ok(format!("    ({workers}, [{}]),\n", means.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::{Written, table};

    const TABLE: &str = include_str!("../../runtime/src/scheduler/auto/table.rs");

    #[test]
    fn the_runtime_has_the_table_of_the_recorded_figures() {
        let written = table(include_str!("../RESULTS.md")).unwrap();
        assert_eq!(TABLE, written.source, "`bench auto` writes it");
        assert!(written.left_out.is_empty(), "{written:?}");
    }

    fn results(lines: [&str; 2]) -> String {
        let rows = ["| **locked-1** | 4.0 | 1 |", "| **lock_free-1** | 8.0 | 1 |"].join("\n");
        let [one, other] = lines.map(|line| format!("{rows}\n{line}\n| tokio-1 | 1.0 | 1 |\n"));
        format!("# Results\n\n## Programs\n\n### one\n{one}\n### other\n{other}\n## Else\n")
    }

    #[test]
    fn the_mean_is_that_of_all_programs() {
        let both = "| **per_core-1** | 3.0 |\n| **stealing-1** | 2.0 |";
        let other = "| **per_core-1** | 12.0 |\n| **stealing-1** | 2.0 |\n| **per_core-1-bounded** | 99.0 |";
        let Written { source, left_out } = table(&results([both, other])).unwrap();
        assert!(
            source.ends_with(
                "[Row; 1] = [\n    (1, [(Locked, 4.0), (LockFree, 8.0), (Stealing, 2.0), (PerCore, 6.0)]),\n];\n"
            ),
            "{source}"
        );
        assert!(left_out.is_empty(), "{left_out:?}");
    }

    #[test]
    fn a_queue_without_a_program_is_told() {
        let some = "| **per_core-1** | 3.0 |\n| **stealing-1** | 2.0 |";
        let why = table(&results([some, "| **per_core-1** | 3.0 |"])).unwrap_err();
        assert!(why.ends_with(": 1 workers: stealing has no figure of other"), "{why}");
        assert!(table("# Results\n").is_err());
    }

    #[test]
    fn what_is_left_out_is_told() {
        let whole = "| **per_core-1** | 3.0 |\n| **stealing-1** | 2.0 |\n| **locked** | 9.0 |";
        let other = "| **per_core-1** | 3.0 |\n| **stealing-1** | 2.0 |\n| **stealing (failed)** | 1.0 |\n\
            | **auto** | 1.0 |\n| **locked-1 (again)** | 1.0 |\n| **locked+mimalloc (failed)** | 1.0 |\n\
            | **per_core-1-spinning** | 1.0 |\n| **fair-1** | 3.0 |\n| **per_core** | fast |";
        let Written { source, left_out } = table(&results([whole, other])).unwrap();
        assert!(source.contains("MEASURED: [Row; 1]"), "{source}");
        let wanted = [
            "other: stealing failed",
            "other: not understood: | **fair-1** | 3.0 |",
            "other: not understood: | **per_core** | fast |",
            "2 workers: locked has no figure of other",
        ];
        assert_eq!(left_out, wanted);
    }

    #[test]
    fn a_program_without_any_figure_is_told() {
        let rows = "| **per_core-1** | 3.0 |\n| **stealing-1** | 2.0 |";
        let results = results([rows, rows]).replace("## Else\n", "### none\n| tokio | 1.0 |\n");
        let written = table(&results).unwrap();
        assert_eq!(written.left_out, ["none: no queue has a figure"]);
    }
}
