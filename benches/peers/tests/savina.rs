//! Every peer's version of every Savina program finds the right answer.

use greenroom_peers::savina::SMALL;

#[test]
fn every_program_checks_its_result() {
    let programs = greenroom_peers::programs();
    for (name, n) in SMALL {
        let mut runs = 0;
        for program in programs.iter().filter(|program| program.name == name) {
            (program.run)(n);
            runs += 1;
        }
        assert!(runs > 0, "somebody has {name}");
    }
}
