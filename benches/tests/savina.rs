//! The Savina programs find the right answer under every scheduler.

use greenroom_benches::ours;
use greenroom_peers::savina::SMALL;

#[test]
fn every_program_checks_its_result() {
    let programs = ours::programs();
    for (name, n) in SMALL {
        let mut runs = 0;
        for program in programs.iter().filter(|program| program.name == name) {
            (program.run)(n);
            runs += 1;
        }
        assert!(runs > 0, "there is {name}");
    }
}
