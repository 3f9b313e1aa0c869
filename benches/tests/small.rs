//! Every program but Savina's, which have a test of their own, does its work under every scheduler: each
//! checks its own result.

use greenroom_benches::ours;
use greenroom_benches::programs::PROGRAMS;

/// A power of ten for `skynet`; everybody else is content with a few rounds.
fn small(program: &str) -> u64 {
    if program == "skynet" { 1_000 } else { 1_200 }
}

#[test]
fn every_program_ends_with_its_own_check() {
    let programs = ours::programs().into_iter();
    for program in programs.filter(|program| !program.name.starts_with("savina_")) {
        let n = small(program.name);
        (program.run)(n);
    }
}

#[test]
fn the_table_names_every_program() {
    for program in ours::programs() {
        assert!(PROGRAMS.iter().any(|row| row.name == program.name), "{program:?}");
    }
}
