//! What the repository promises about its own form: short files, listed unsafe, working links.

use crate::tree::{self, Source};
use std::collections::BTreeSet;
use std::path::Path;

/// The most lines of a file, tests apart.
const FILE_LINES_MAX: usize = 500;

const CRATES: [&str; 5] = ["runtime", "macros", "transports", "examples", "benches"];

#[test]
fn no_file_is_too_long_to_read() {
    let long = rust().filter(|source| !source.is_test()).filter_map(|source| {
        let lines = source.text.lines().count();
        (lines > FILE_LINES_MAX).then(|| format!("{}: {lines} lines", source.path))
    });
    let long: Vec<_> = long.collect();
    assert!(long.is_empty(), "split these, {FILE_LINES_MAX} lines are the most: {long:#?}");
}

/// Where `own` is, and tests of settings that are refused, of queues that lose actors, of systems whose last handle goes, and
/// of those that shuttle runs; some that look themselves, and those of devices.
const BUILD_SYSTEMS_THEMSELVES: [&str; 11] = [
    "runtime/tests/actors/workers/settings.rs",
    "runtime/tests/broken_queues.rs",
    "runtime/tests/overload/budget.rs",
    "runtime/tests/shutdown/systems.rs",
    "runtime/tests/stage/mod.rs",
    "runtime/tests/support/own.rs",
    "transports/tests/gone.rs",
    "transports/tests/nodes/calls.rs",
    "transports/tests/verbs/device/guests.rs",
    "transports/tests/verbs/device/nodes.rs",
    "transports/tests/verbs/device/oracle.rs",
];

#[test]
fn tests_build_systems_of_which_nothing_may_be_left() {
    let builds = |source: &Source| {
        let mut lines = source.text.lines();
        lines.any(|line| line.contains(".build()") && !line.contains("runtime::Builder"))
    };
    let folders = ["runtime/tests", "transports/tests", "examples/tests"];
    let all = folders.into_iter().flat_map(|folder| tree::files(folder, "rs"));
    let all =
        all.filter(|source| !["/ui/", "/source/"].iter().any(|part| source.path.contains(part)));
    let building: BTreeSet<_> = all.filter(builds).map(|source| source.path).collect();
    assert_eq!(
        building,
        BTreeSet::from(BUILD_SYSTEMS_THEMSELVES.map(str::to_owned)),
        "left: these build systems without `own`, right: these may"
    );
}

#[test]
fn unsafe_files_are_those_listed_in_the_book() {
    let built = rust().filter(|source| !source.is_test());
    let present: BTreeSet<_> =
        built.filter(|source| is_unsafe(&source.text)).map(|source| source.path).collect();
    let pages = tree::files("book/src/internals", "md");
    let page =
        pages.iter().find(|page| page.path.ends_with("/unsafe.md")).expect("the page is there");
    // A row of the table: | `path` | why |
    let listed: BTreeSet<_> = page
        .text
        .lines()
        .filter_map(|line| Some(line.strip_prefix("| `")?.split_once('`')?.0.to_owned()))
        .collect();
    assert_eq!(listed, present, "left: listed in {}, right: found", page.path);
}

#[test]
fn the_table_of_models_names_files_and_planted_faults() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("runtime/ lies in the root");
    let pages = tree::files("book/src/internals", "md");
    let page =
        pages.iter().find(|page| page.path.ends_with("/models.md")).expect("the page is there");
    // A row of the first table: | model | `path` | ..., and of the second: | `fault` | ...
    let second_cell =
        |line: &str| Some(line.split('|').nth(2)?.trim().trim_matches('`').to_owned());
    let files = page.text.lines().filter_map(second_cell).filter(|cell| cell.ends_with(".rs"));
    let gone: Vec<_> = files.filter(|path| !root.join(path).is_file()).collect();
    assert!(gone.is_empty(), "{} names these, which are not there: {gone:#?}", page.path);

    let listed: BTreeSet<_> = page
        .text
        .lines()
        .filter_map(|line| Some(line.strip_prefix("| `")?.split_once('`')?.0.to_owned()))
        .collect();
    let folders = ["runtime/src", "transports/src"].into_iter();
    let built = folders.flat_map(|folder| tree::files(folder, "rs"));
    let built = built.filter(|source| !source.is_test());
    let planted: BTreeSet<_> = built.flat_map(|source| faults(&source.text)).collect();
    assert_eq!(listed, planted, "left: listed in {}, right: planted", page.path);
}

#[test]
fn the_page_on_supervision_names_tests() {
    let pages = tree::files("book/src/internals", "md");
    let page =
        pages.iter().find(|page| page.path.ends_with("/supervisor.md")).expect("the page is there");
    // A row of its table: | Erlang's cases | ours |. No other words there, and around the table, look like a test's name.
    let text = page.text.lines().flat_map(|line| line.rsplit('|').nth(1).or(Some(line)));
    let code = text.flat_map(|text| text.split('`').skip(1).step_by(2));
    let named: BTreeSet<_> = code.filter(|word| is_test_name(word)).collect();
    assert!(named.len() > 20, "few tests: {named:#?}");

    let tests = tree::files("runtime", "rs").into_iter().filter(Source::is_test);
    let tests: Vec<_> = tests.flat_map(|source| tests_of(&source.text)).collect();
    let gone: Vec<_> =
        named.iter().filter(|name| !tests.iter().any(|test| test == *name)).collect();
    assert!(gone.is_empty(), "{} names these, which are no tests: {gone:#?}", page.path);
}

#[test]
fn the_page_on_errors_has_every_error() {
    let book = tree::files("book/src", "md");
    let page =
        book.iter().find(|page| page.path.ends_with("/errors.md")).expect("a page of errors");
    let named: BTreeSet<_> = words(&page.text).collect();
    let modules = ["actor/mod.rs", "system/mod.rs", "journal/mod.rs", "net/mod.rs"];
    let sources = tree::files("runtime/src", "rs");
    let mut seen = 0;
    for module in modules {
        let source = sources.iter().find(|source| source.path.ends_with(&format!("src/{module}")));
        let text = &source.expect("a module").text;
        // Those of a module's users: `pub use place::{Names};`
        for list in text.split("\npub use ").skip(1).filter_map(|rest| rest.split(';').next()) {
            for error in words(list).filter(|word| word.ends_with("Error")) {
                seen += 1;
                assert!(named.contains(error), "{} does not name {error}", page.path);
            }
        }
    }
    assert!(seen > 20, "{seen} errors alone");
}

#[test]
fn the_book_has_no_page_out_of_reach() {
    let pages = tree::files("book/src", "md");
    let summary = pages.iter().find(|page| page.path.ends_with("/SUMMARY.md")).expect("a summary");
    let linked: BTreeSet<_> = links(&summary.text).map(|link| format!("book/src/{link}")).collect();
    let present: BTreeSet<_> =
        pages.iter().map(|page| page.path.clone()).filter(|path| *path != summary.path).collect();
    assert_eq!(linked, present, "left: linked from the summary, right: found");
}

/// The compiler takes no document of its own accord: a crate's `documents` has to name it.
#[test]
fn every_document_with_code_is_tried() {
    let crates = CRATES.iter().flat_map(|folder| tree::files(&format!("{folder}/src"), "rs"));
    let crates: Vec<_> = crates.filter(|source| source.path.ends_with("/src/lib.rs")).collect();
    let pages =
        ["book/src", "macros/docs"].into_iter().flat_map(|folder| tree::files(folder, "md"));
    let with_code = pages
        .filter(|page| page.text.contains("\n```rust") || page.path.starts_with("macros/docs/"));
    let untried: Vec<_> = with_code
        .map(|page| page.path)
        .filter(|path| {
            let named = format!("#[doc = include_str!(\"../../{path}\")]");
            !crates.iter().any(|source| source.text.contains(&named))
        })
        .collect();
    assert!(untried.is_empty(), "no crate has these among its `documents`: {untried:#?}");
}

#[test]
fn links_between_documents_hold() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("runtime/ lies in the root");
    let mut broken = Vec::new();
    for page in tree::files(".", "md") {
        let folder = root.join(&page.path);
        let folder = folder.parent().expect("a file lies in a folder");
        let local =
            links(&page.text).filter(|link| !link.contains("://") && !link.starts_with('#'));
        for link in local {
            let file = link.split('#').next().unwrap_or(link);
            if !folder.join(file).exists() {
                broken.push(format!("{}: {link}", page.path));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

fn rust() -> impl Iterator<Item = Source> {
    CRATES.iter().flat_map(|folder| tree::files(folder, "rs"))
}

/// Whether the code, without its comments and strings, opens anything unsafe.
fn is_unsafe(text: &str) -> bool {
    let code = text.lines().map(|line| line.split("//").next().unwrap_or(line));
    code.flat_map(|line| line.split('"').step_by(2)).any(|code| {
        ["unsafe {", "unsafe fn", "unsafe impl", "unsafe trait", "unsafe extern", "#[unsafe("]
            .iter()
            .any(|opening| code.contains(opening))
    })
}

/// The names of the faults planted in a file.
fn faults(text: &str) -> Vec<String> {
    let code: String = text.lines().map(|line| line.split("//").next().unwrap_or(line)).collect();
    let after = code.split("planted!(").skip(1).map(str::trim_start);
    let names = after.filter_map(|rest| rest.strip_prefix('"')?.split_once('"'));
    names.map(|(name, _)| name.to_owned()).collect()
}

fn is_test_name(word: &str) -> bool {
    word.contains('_') && !word.contains(|it: char| it.is_uppercase())
}

/// The names of the tests in a file.
fn tests_of(text: &str) -> Vec<String> {
    let marked = text.split("test]\n").skip(1);
    let names = marked.filter_map(|rest| rest.split_once("fn ")?.1.split_once('('));
    names.map(|(name, _)| name.to_owned()).collect()
}

/// The targets of a document's links.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty())
}

fn links(text: &str) -> impl Iterator<Item = &str> {
    text.split("](").skip(1).filter_map(|rest| rest.split(')').next())
}
