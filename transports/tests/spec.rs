//! The requirements of the wire and those who keep them: each number that the book gives is cited by code
//! or tests, and none is cited that the book does not give.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

#[test]
fn requirements_and_citations_are_the_same() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(root.join("../book/src/spec/udp.md")).unwrap();
    let given: Vec<_> = page.lines().filter_map(|line| line.strip_prefix("- [UDP-")).collect();
    let given: Vec<_> = given.iter().filter_map(|rest| rest.split(']').next()).collect();
    let distinct: BTreeSet<_> = given.iter().map(|&number| number.to_owned()).collect();
    assert_eq!(distinct.len(), given.len(), "a number is given twice");

    let mut cited = BTreeSet::new();
    citations(&root.join("src"), &mut cited);
    assert_eq!(distinct, cited, "left: in the book, right: cited by the code and its tests");
}

fn citations(folder: &Path, cited: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).expect("the folder can be read") {
        let path = entry.expect("the entry can be read").path();
        if path.is_dir() {
            citations(&path, cited);
        } else if path.extension().is_some_and(|it| it == "rs") {
            let text = fs::read_to_string(&path).expect("a source file is UTF-8");
            let numbers = text.split("[UDP-").skip(1).filter_map(|rest| rest.split_once(']'));
            cited.extend(numbers.map(|(number, _)| number.to_owned()));
        }
    }
}
