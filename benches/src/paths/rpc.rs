//! Requests over queue pairs. The transports' example `rpc_cost` has the devices for them, so it is what is run.

use crate::rows::Row;
use crate::stats;
use crate::{beside, child};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

/// How it is built.
const BUILD: &str = "cargo build --release -p greenroom-transports --example rpc_cost";
/// Rounds of the example's own in one measurement, requests at a time, and bytes that go inline.
const ARGS: [&str; 4] = ["time", "11", "64", "220"];
/// How long one measurement may take.
const LIMIT: Duration = Duration::from_secs(60);
/// Its names for requests, and for the same packets put into the devices by hand.
const NAMES: [&str; 2] = ["nothing", "control"];
/// What rows call them.
const PROGRAMS: [&str; 2] = ["path_rpc", "path_rpc_bare"];

/// Nanoseconds of a request, and of its packets by hand, in each round.
#[derive(Debug, Default)]
pub(super) struct Rpc {
    /// The example, once it was looked for.
    exe: Option<PathBuf>,
    found: [Vec<f64>; 2],
    failure: Option<String>,
}

impl Rpc {
    /// Measures once more, unless that failed before.
    pub(super) fn measure(&mut self, round: usize) {
        if self.failure.is_some() {
            return;
        }
        match self.once() {
            Ok(nanos) => self.found.iter_mut().zip(nanos).for_each(|(all, one)| all.push(one)),
            Err(why) => {
                eprintln!("rpc_cost in round {}: {why}", round + 1);
                self.failure = Some(why);
            }
        }
    }

    fn once(&mut self) -> Result<[f64; 2], String> {
        let exe = match self.exe.take() {
            Some(exe) => exe,
            None => beside::program("examples/rpc_cost", BUILD)
                .map_err(|why| format!("not measured, {why}: see \"RPC over queue pairs\""))?,
        };
        let output = child::output(Command::new(self.exe.insert(exe)).args(ARGS), LIMIT);
        let output = output.map_err(|error| format!("failed: {error}"))?;
        let said = String::from_utf8_lossy(&output.stderr);
        parse(&said).ok_or_else(|| format!("failed: rpc_cost said {:?}", said.trim()))
    }

    /// The median of a request.
    ///
    /// # Errors
    /// Why there is none.
    pub(super) fn nanos(&self) -> Result<f64, String> {
        self.failure.clone().map_or_else(|| Ok(stats::median(&self.found[0])), Err)
    }

    /// The median of its packets by hand.
    pub(super) fn floor_ns(&self) -> f64 {
        stats::median(&self.found[1])
    }

    /// A row for each round and program; none where one failed.
    pub(super) fn rows(&self) -> Vec<Row> {
        let all = if self.failure.is_none() { self.found.as_slice() } else { &[] };
        let of = |(program, nanos): (&'static str, &[f64])| -> Vec<Row> {
            let row = |(round, &nanos): (usize, &f64)| Row {
                scheduler: "queue_pairs".to_owned(),
                workers: Some(1),
                round: i64::try_from(round).ok(),
                ns_per_op: Some(nanos),
                ..Row::here(program, "queue_pairs")
            };
            nanos.iter().enumerate().map(row).collect()
        };
        PROGRAMS.into_iter().zip(all.iter().map(Vec::as_slice)).flat_map(of).collect()
    }
}

/// The nanoseconds of both in lines `NAME NANOSECONDS …`.
fn parse(said: &str) -> Option<[f64; 2]> {
    let of = |name: &str| {
        let mut lines = said.lines().map(str::split_whitespace);
        let mut line = lines.find_map(|mut line| (line.next() == Some(name)).then_some(line))?;
        line.next()?.parse().ok()
    };
    Some([of(NAMES[0])?, of(NAMES[1])?])
}

#[cfg(test)]
mod tests {
    use super::{Rpc, parse};

    #[test]
    fn what_the_example_says_is_read() {
        let said = "11 rounds of 10000 requests, 64 at a time, 220 bytes inline\n\
            beside          ns    ours   ratio\n\
            control       23.9     0.0    0.00\n\
            nothing       88.0    64.1    1.00\n";
        assert_eq!(parse(said), Some([88.0, 23.9]));
        assert_eq!(parse("nothing       88.0\n"), None);
    }

    #[test]
    fn what_is_not_measured_has_no_figure() {
        // No example lies beside a test.
        let mut rpc = Rpc::default();
        assert!(rpc.once().is_err_and(|why| why.contains("--example rpc_cost")));
        rpc.measure(0);
        assert!(rpc.nanos().is_err() && rpc.rows().is_empty());
    }
}
