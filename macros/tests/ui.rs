//! Every mistake that the macros know: what the error says, and where it points.
//!
//! `TRYBUILD=overwrite cargo test -p greenroom-macros --test ui` writes the expected errors anew.

#[test]
fn errors_say_what_to_write_instead() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
