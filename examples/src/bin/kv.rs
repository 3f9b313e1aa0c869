//! The key-value server; see [`greenroom_examples::kv`].

#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> std::io::Result<ExitCode> {
    greenroom_examples::kv::run(std::env::args_os().skip(1))
}
