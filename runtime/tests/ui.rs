//! Every mistake that the macros know: what the error says, and where it points.
//!
//! `TRYBUILD=overwrite cargo test --test ui` writes the expected errors anew.

#![cfg(not(any(loom, shuttle, sanitized)))]

use std::env;
use std::process::Command;

/// What trybuild tells the compiler about the cases. Of what they build on it tells it all but the width, so that
/// cargo would check all of that twice; in the environment it goes for both.
const FLAGS: &str =
    "--cfg\u{1f}trybuild\u{1f}--verbose\u{1f}-A\u{1f}dead_code\u{1f}--diagnostic-width=140";

#[test]
fn errors_say_what_to_write_instead() {
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
