//! The requirements of the wire and those who keep them: each number that the book gives is cited by code
//! and by a test, and none is cited that the book does not give.

mod limits;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Files and folders below `src` that are built for tests alone.
const TESTS: [&str; 6] = ["tests", "fuzz", "harness", "vectors", "world", "worlds"];

/// Numbers by who cites them.
#[derive(Default)]
struct Cited {
    code: BTreeSet<String>,
    tests: BTreeSet<String>,
}

#[test]
fn requirements_and_citations_are_the_same() {
    for (page, prefix) in [("link", "[LINK-"), ("udp", "[UDP-"), ("rdma", "[RDMA-")] {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let page = fs::read_to_string(root.join(format!("../book/src/spec/{page}.md")))
            .expect("the page is there");
        let opening = format!("- {prefix}");
        let given = page.lines().filter_map(|line| line.strip_prefix(&opening)?.split(']').next());
        let given: Vec<_> = given.collect();
        let distinct: BTreeSet<_> = given.iter().map(|&number| number.to_owned()).collect();
        assert_eq!(distinct.len(), given.len(), "a number is given twice");

        let mut cited = Cited::default();
        citations(&root.join("src"), prefix, false, &mut cited);
        citations(&root.join("tests"), prefix, true, &mut cited);
        for (who, cited) in [("code", &cited.code), ("tests", &cited.tests)] {
            let [left, made_up] = [distinct.difference(cited), cited.difference(&distinct)]
                .map(|numbers| numbers.collect::<Vec<_>>());
            assert!(left.is_empty(), "{prefix}..: not cited by {who}: {left:?}");
            assert!(made_up.is_empty(), "{prefix}..: cited by {who} and not given: {made_up:?}");
        }
    }
}

fn citations(folder: &Path, prefix: &str, are_tests: bool, cited: &mut Cited) {
    for entry in fs::read_dir(folder).expect("a folder of the crate") {
        let path = entry.expect("a file of the crate").path();
        let is_test =
            are_tests || path.file_stem().is_some_and(|it| TESTS.iter().any(|name| it == *name));
        if path.is_dir() {
            citations(&path, prefix, is_test, cited);
        } else if path.extension().is_some_and(|it| it == "rs") && !path.ends_with("spec/main.rs") {
            let text = fs::read_to_string(&path).expect("a source file is text");
            let (code, tests) = text.split_once("\nmod tests {").unwrap_or((text.as_str(), ""));
            let code_into = if is_test { &mut cited.tests } else { &mut cited.code };
            code_into.extend(numbers(code, prefix));
            cited.tests.extend(numbers(tests, prefix));
        }
    }
}

fn numbers<'a>(text: &'a str, prefix: &'a str) -> impl Iterator<Item = String> + 'a {
    let numbers = text.split(prefix).skip(1).filter_map(|rest| rest.split_once(']'));
    numbers.map(|(number, _)| number.to_owned())
}
