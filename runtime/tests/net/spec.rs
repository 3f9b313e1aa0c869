//! Each requirement of the book's page on frames is cited by the code or a test of it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

#[test]
fn every_requirement_is_cited() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(root.join("../book/src/spec/envelope.md")).unwrap();
    let required = ids(&page, "**ENV-", "**");
    let mut cited = BTreeSet::new();
    for folder in ["src/net", "tests/net"] {
        for file in files(&root.join(folder)) {
            cited.extend(ids(&fs::read_to_string(file).unwrap(), "[ENV-", "]"));
        }
    }
    assert!(required.len() > 10, "{required:?}");
    assert_eq!(required, cited, "left: in the book, right: cited");
}

/// The numbers that stand between the two marks.
fn ids(text: &str, open: &str, close: &str) -> BTreeSet<u32> {
    let found = text.split(open).skip(1).filter_map(|rest| rest.split_once(close));
    found.filter_map(|(id, _)| id.parse().ok()).collect()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}
