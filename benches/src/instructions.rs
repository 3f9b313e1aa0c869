//! Instructions per operation, counted by callgrind: a figure that no noise moves.
//!
//! A program is run with two numbers of operations; the difference leaves out its start and end.

use crate::contestant::{Allocator, Contestant};
use crate::programs::PROGRAMS;
use crate::results::Section;
use crate::rows::Row;
use crate::table::Table;
use crate::{child, contest};
use greenroom_peers::savina::operations;
use std::env;
use std::io;
use std::process::Command;
use std::time::Duration;

/// How long one count may take.
const LIMIT: Duration = Duration::from_secs(300);

/// Instructions that this very program executes when called with `args`.
///
/// # Errors
/// When valgrind is missing, the child fails, or callgrind does not say how much it collected.
pub fn of_self(args: &[&str]) -> io::Result<u64> {
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
    command.arg(env::current_exe()?).args(args);
    let child = child::output(&mut command, LIMIT).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => io::Error::other("needs the package valgrind"),
        _ => error,
    })?;
    let report = String::from_utf8_lossy(&child.stderr);
    if !child.status.success() {
        return Err(io::Error::other(format!("the child failed: {report}")));
    }
    report
        .lines()
        .filter_map(|line| line.split_once("Collected :"))
        .find_map(|(_, count)| count.trim().parse().ok())
        .ok_or_else(|| io::Error::other("callgrind did not say what it collected"))
}

/// Instructions per operation between `few` and `many` operations.
///
/// # Errors
/// Those of `count`.
pub fn per_op(count: impl Fn(u64) -> io::Result<u64>, few: u64, many: u64) -> io::Result<f64> {
    per_done(count, |n| n, few, many)
}

/// The same of a program that does `done` operations when it is to do so many.
#[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
fn per_done(
    count: impl Fn(u64) -> io::Result<u64>,
    done: impl Fn(u64) -> u64,
    few: u64,
    many: u64,
) -> io::Result<f64> {
    let (low, high) = (count(few)?, count(many)?);
    Ok((high as f64 - low as f64) / (done(many) - done(few)) as f64)
}

/// Operations of the shorter and the longer run; `skynet` needs powers of ten.
const FEW: u64 = 10_000;
const MANY: u64 = 100_000;

/// Counts the programs called `names`, or all but Savina's, which compute more than they send, with one
/// worker: where more of them wait for work in a loop, the count depends on luck.
///
/// # Errors
/// When there is no such program, valgrind is missing or a child fails.
pub fn section(names: &[&str]) -> Result<Section, String> {
    let mut table = Table::new(&["program", "who", "instructions"]);
    let mut rows = Vec::new();
    for program in contest::chosen(names, PROGRAMS)? {
        if names.is_empty() && program.name.starts_with("savina_") {
            continue;
        }
        let single = |one: &Contestant| one.cores == 1 && one.allocator == Allocator::System;
        for one in Contestant::all(program.name).into_iter().filter(single) {
            let label = format!("{}/{}", one.program, one.who);
            eprintln!("{label}");
            let count = |n: u64| of_self(&["one", &label, &n.to_string()]);
            let done = |n| operations(program.name, n);
            let count =
                per_done(count, done, FEW, MANY).map_err(|error| format!("{label}: {error}"))?;
            table.row([one.program, one.who, &format!("{count:.0}")]);
            rows.push(Row { instructions_per_op: Some(count), ..one.blank() });
        }
    }
    let text = format!(
        "Instructions per operation with one thread at work, the difference between {MANY} and {FEW} \
         operations under callgrind.\n\n{table}",
    );
    Ok(Section::new("Instructions", text).with_rows(rows))
}

#[cfg(test)]
mod tests {
    use super::{FEW, MANY, operations, per_done};
    use crate::programs::PROGRAMS;

    #[test]
    fn instructions_are_divided_by_what_was_done() {
        // Between 10,000 and 100,000 solutions, boards have 2,680 and 73,712.
        let done = |n| operations("savina_nqueenk", n);
        let count = |n| Ok(1_000 + 3 * done(n));
        let each = per_done(count, done, FEW, MANY).expect("nothing fails");
        assert!((each - 3.0).abs() < 1e-9, "{each}");
        for row in PROGRAMS {
            assert!(operations(row.name, FEW) < operations(row.name, MANY), "{}", row.name);
        }
    }
}
