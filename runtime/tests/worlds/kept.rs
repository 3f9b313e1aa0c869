//! Seeds that once broke something: `runtime/tests/seeds.txt` keeps them, each with the test in whose worlds it did.
#![allow(clippy::unwrap_used, reason = "what goes wrong in a test may panic")]

use std::process::Command;

/// Lines of "TEST SEED SENTENCE", and others that begin with `#`.
const KEPT: &str = include_str!("../seeds.txt");

/// The test and the seed of a line.
fn read(line: &str) -> (&str, u64) {
    let mut words = line.split_whitespace();
    let (test, seed) = (words.next(), words.next().and_then(|seed| seed.parse().ok()));
    let sentence = words.count();
    match (test, seed) {
        (Some(test), Some(seed)) if sentence > 0 => (test, seed),
        _ => panic!("no test, seed and sentence: {line}"),
    }
}

/// Each in a process of its own, as its report says how to repeat it.
#[test]
fn seeds_that_broke_something_do_so_no_more() {
    let lines = KEPT.lines().filter(|line| !line.starts_with('#'));
    for (test, seed) in lines.map(read) {
        let mut program = Command::new(std::env::current_exe().unwrap());
        program.env_remove("GREENROOM_CHOICES").env("GREENROOM_SEED", seed.to_string());
        let output = program.args(["--exact", test]).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(text.contains("1 passed"), "seed {seed} of {test}: {text}");
    }
}
