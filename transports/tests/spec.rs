//! The requirements of the wire and those who keep them: each number that the book gives is cited by code
//! or tests, and none is cited that the book does not give.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

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

        let mut cited = BTreeSet::new();
        for folder in ["src", "tests"] {
            citations(&root.join(folder), prefix, &mut cited);
        }
        assert_eq!(distinct, cited, "left: in the book, right: cited by the code and its tests");
    }
}

fn citations(folder: &Path, prefix: &str, cited: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).expect("a folder of the crate") {
        let path = entry.expect("a file of the crate").path();
        if path.is_dir() {
            citations(&path, prefix, cited);
        } else if path.extension().is_some_and(|it| it == "rs") && !path.ends_with("spec.rs") {
            let text = fs::read_to_string(&path).expect("a source file is text");
            let numbers = text.split(prefix).skip(1).filter_map(|rest| rest.split_once(']'));
            cited.extend(numbers.map(|(number, _)| number.to_owned()));
        }
    }
}
