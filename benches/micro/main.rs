//! The queues alone, measured by Criterion:
//!
//! ```text
//! cargo bench -p greenroom-benches --bench micro            # everything, some minutes
//! cargo bench -p greenroom-benches --bench micro -- spsc    # what matches, as Criterion matches
//! cargo test -p greenroom-benches --bench micro             # each row once, without figures
//! ```
//!
//! Criterion keeps and compares its own figures in `target/criterion`. Every sample is a row of
//! `target/bench/micro.parquet`, too, and `BENCH_OUT=FILE` puts the tables into `FILE`.
//!
//! Fixtures are made, put back and dropped outside the timing; so are threads.

#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "the figures are the program's purpose")]

mod coordinator;
mod exchange;
mod record;
mod spsc;
mod threads;

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut micro = match record::Micro::from_args() {
        Ok(micro) => micro,
        Err(why) => {
            eprintln!("{why}");
            return ExitCode::FAILURE;
        }
    };
    coordinator::measure(&mut micro);
    spsc::measure(&mut micro);
    exchange::measure(&mut micro);
    micro.finish();
    ExitCode::SUCCESS
}
