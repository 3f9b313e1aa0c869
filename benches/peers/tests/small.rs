//! Every peer's version of every small program does its work: each checks its own result.

use greenroom_peers::programs;

/// A power of ten for `skynet`; everybody else is content with a few rounds.
fn small(program: &str) -> u64 {
    if program == "skynet" { 1_000 } else { 1_200 }
}

#[test]
fn every_program_of_every_peer_ends_with_its_own_check() {
    // Savina's have sizes of their own, and a test.
    for program in programs().iter().filter(|program| !program.name.starts_with("savina_")) {
        let n = small(program.name);
        (program.run)(n);
    }
}
