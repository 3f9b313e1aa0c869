//! Every promise of the book is tested: its id is cited, as `[G-NAME-1]`, in front of a test that is run and would
//! fail if the promise were broken.

use crate::tree;
use std::collections::BTreeSet;

#[test]
fn every_promise_is_cited_by_a_test() {
    let pages = tree::files("book/src", "md");
    let page = pages.iter().find(|page| page.path.ends_with("/guarantees.md")).expect("the page");
    let promised = ids(&page.text, "**G-", "**");
    let tests = tree::files("runtime", "rs");
    let tests: Vec<_> = tests
        .iter()
        .filter(|source| source.is_test() && !source.path.ends_with("/promises.rs"))
        .collect();

    let tested: BTreeSet<_> = tests.iter().flat_map(|source| tested(&source.text)).collect();
    let untested: Vec<_> = promised.difference(&tested).collect();
    assert!(untested.is_empty(), "no test has these in front of it: {untested:#?}");
    let cited: BTreeSet<_> =
        tests.iter().flat_map(|source| ids(&source.text, "[G-", "]")).collect();
    let unknown: Vec<_> = cited.difference(&promised).collect();
    assert!(unknown.is_empty(), "the book does not promise these: {unknown:#?}");
}

/// The ids in comments directly in front of tests that are run.
fn tested(text: &str) -> BTreeSet<String> {
    let mut tested = BTreeSet::new();
    let (mut cited, mut is_run) = (BTreeSet::new(), false);
    for line in text.lines().map(str::trim) {
        if line.starts_with("//") {
            cited.append(&mut ids(line, "[G-", "]"));
        } else if line.starts_with("#[") {
            is_run = (is_run || line == "#[test]") && !line.contains("ignore");
        } else {
            let here = std::mem::take(&mut cited);
            tested.extend(here.into_iter().filter(|_| is_run));
            is_run = false;
        }
    }
    tested
}

#[test]
fn a_promise_is_tested_by_what_is_run() {
    let text = "// [G-ONE-1]\n#[test]\nfn one() {\n// [G-TWO-1]\ntwo();\n}\n// [G-THREE-1]\n#[test]\n#[ignore = \"x\"]\n\
        fn three() {}\n// [G-FOUR-1]\nfn four() {}\n";
    assert_eq!(tested(text), BTreeSet::from(["ONE-1".to_owned()]));
}

/// The ids in the text that stand between the two marks, such as `ORDER-1`.
fn ids(text: &str, open: &str, close: &str) -> BTreeSet<String> {
    let found = text.split(open).skip(1).filter_map(|rest| rest.split_once(close));
    found.map(|(id, _)| id.to_owned()).collect()
}
