//! Every mistake that the macros know: what the error says, and where it points.
//!
//! `TRYBUILD=overwrite cargo test --test ui` writes the expected errors anew. Compilers differ in how they say them: only
//! with the one that they were written for are they compared, and where the project's checks run.

#![cfg(not(any(loom, shuttle, sanitized)))]

use std::env;
use std::io::{self, Write};
use std::process::Command;

/// How the compiler that has said the expected errors says its version.
const WRITTEN_FOR: &str = "rustc 1.95.";

/// What trybuild tells the compiler about the cases. Of what they build on it tells it all but the width, so that
/// cargo would check all of that twice; in the environment it goes for both.
const FLAGS: &str =
    "--cfg\u{1f}trybuild\u{1f}--verbose\u{1f}-A\u{1f}dead_code\u{1f}--diagnostic-width=140";

/// Returns what the compiler says of its version.
fn compiler() -> String {
    let compiler = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let version = Command::new(compiler).arg("--version").output().expect("it is there");
    String::from_utf8(version.stdout).expect("it is text")
}

#[test]
fn errors_say_what_to_write_instead() {
    let compiler = compiler();
    let must = ["CI", "TRYBUILD"].into_iter().any(|name| env::var_os(name).is_some());
    if !must && !compiler.starts_with(WRITTEN_FOR) {
        // Past the buffer for what a test says, which nobody sees of one that passes.
        let says = format!("the errors of macros are not compared: {WRITTEN_FOR}x has said them");
        writeln!(io::stderr(), "{says}, and this is {}", compiler.trim()).expect("it can be said");
        return;
    }
    let program = env::current_exe().expect("the test's own program");
    let mut cases = Command::new(program);
    cases.env("CARGO_ENCODED_RUSTFLAGS", FLAGS).args(["--exact", "cases", "--ignored"]);
    let status = cases.status().expect("it runs again");
    assert!(status.success(), "{status}");
}

#[test]
#[ignore = "the other test runs it, with flags"]
fn cases() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
