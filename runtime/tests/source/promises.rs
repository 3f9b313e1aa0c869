//! Every promise of the book is tested: its id is cited, as `[G-NAME-1]`, beside a test that would
//! fail if the promise were broken.

use crate::tree;
use std::collections::BTreeSet;

#[test]
fn every_promise_is_cited_by_a_test() {
    let pages = tree::files("book/src", "md");
    let page = pages.iter().find(|page| page.path.ends_with("/guarantees.md")).expect("the page");
    let promised = ids(&page.text, "**G-", "**");
    let tests = tree::files("runtime", "rs");
    let cited: BTreeSet<_> = tests
        .iter()
        .filter(|source| source.is_test() && !source.path.ends_with("/promises.rs"))
        .flat_map(|source| ids(&source.text, "[G-", "]"))
        .collect();

    let untested: Vec<_> = promised.difference(&cited).collect();
    assert!(untested.is_empty(), "no test cites these: {untested:#?}");
    let unknown: Vec<_> = cited.difference(&promised).collect();
    assert!(unknown.is_empty(), "the book does not promise these: {unknown:#?}");
}

/// The ids in the text that stand between the two marks, such as `ORDER-1`.
fn ids(text: &str, open: &str, close: &str) -> BTreeSet<String> {
    let found = text.split(open).skip(1).filter_map(|rest| rest.split_once(close));
    found.map(|(id, _)| id.to_owned()).collect()
}
