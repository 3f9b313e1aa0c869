//! The table by which `Scheduler::auto` chooses its ready queue, from the figures that `bench run` has found.

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

/// Nanoseconds of an operation, by program, for each number of workers and each queue.
type Figures<'a> = BTreeMap<(usize, &'a str), BTreeMap<&'a str, f64>>;

/// The source of the table, from the text of [`FROM`]. A number of workers is in it if every program was measured with so
/// many under every queue.
///
/// # Errors
/// A sentence, if there are no such figures.
pub fn table(results: &str) -> Result<String, String> {
    let programs = results.split("\n## ").find(|section| section.starts_with("Programs\n"));
    let figures = figures(programs.ok_or_else(|| format!("{FROM} has no section `Programs`"))?);
    let programs: BTreeSet<_> = figures.values().flat_map(BTreeMap::keys).collect();
    let workers: BTreeSet<_> = figures.keys().map(|(workers, _)| *workers).collect();
    let rows: Vec<_> =
        workers.into_iter().filter_map(|workers| row(&figures, workers, programs.len())).collect();
    if rows.is_empty() {
        return Err(format!("{FROM} has not every program under every queue"));
    }
    Ok(format!(
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
    ))
}

/// The figures in a section of tables, one for each program.
fn figures(section: &str) -> Figures<'_> {
    let mut figures = Figures::new();
    for part in section.split("\n### ").skip(1) {
        let program = part.lines().next().unwrap_or_default();
        for (key, nanos) in part.lines().filter_map(figure) {
            figures.entry(key).or_default().insert(program, nanos);
        }
    }
    figures
}

/// The workers, queue and nanoseconds of a line `| **QUEUE-WORKERS** | NANOSECONDS | …`, if it is one.
fn figure(line: &str) -> Option<((usize, &str), f64)> {
    let (label, rest) = line.strip_prefix("| **")?.split_once("** | ")?;
    let (queue, workers) = label.split_once('-').unwrap_or((label, ""));
    let workers = if workers.is_empty() { Some(WORKERS) } else { workers.parse().ok() };
    let is_known = QUEUES.iter().any(|(known, _)| *known == queue);
    let nanos = rest.split(' ').next()?.parse().ok()?;
    Some(((workers.filter(|_| is_known)?, queue), nanos))
}

/// A line of the table, if all the programs were measured.
fn row(figures: &Figures<'_>, workers: usize, programs: usize) -> Option<String> {
    let mean = |(known, name): (&str, &str)| {
        let times = figures.get(&(workers, known)).filter(|times| times.len() == programs)?;
        let mean = stats::geometric_mean(times.values().copied());
        Some(format!("({name}, {mean:.1})"))
    };
    let means: Option<Vec<_>> = QUEUES.into_iter().map(mean).collect();
    Some(format!("    ({workers}, [{}]),\n", means?.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::table;

    const TABLE: &str = include_str!("../../runtime/src/scheduler/auto/table.rs");

    #[test]
    fn the_runtime_has_the_table_of_the_recorded_figures() {
        let written = table(include_str!("../RESULTS.md")).unwrap();
        assert_eq!(TABLE, written, "`bench auto` writes it");
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
        let table = table(&results([both, other])).unwrap();
        assert!(
            table.ends_with(
                "[Row; 1] = [\n    (1, [(Locked, 4.0), (LockFree, 8.0), (Stealing, 2.0), (PerCore, 6.0)]),\n];\n"
            ),
            "{table}"
        );
    }

    #[test]
    fn a_queue_without_a_program_is_told() {
        let some = "| **per_core-1** | 3.0 |\n| **stealing-1** | 2.0 |";
        assert!(table(&results([some, "| **per_core-1** | 3.0 |"])).is_err());
        assert!(table("# Results\n").is_err());
    }
}
