//! `bench` with another global allocator: what `bench run` starts for the rows `+mimalloc`.

#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "the figures are the program's purpose")]

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    match greenroom_benches::cli::run(std::env::args().skip(1)) {
        Ok(report) => {
            println!("{}", report.text);
            if report.passed { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}
