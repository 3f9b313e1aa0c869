//! `wire.lock`: each kind of change, and what it says about a rolling upgrade.

use greenroom::net::lock::{self, Change, Effect, LockError};
use greenroom::net::{Manifest, Signature};
use std::path::PathBuf;

const QUOTE: Signature = Signature::told("quote", &[("price", "u64")]);
const QUOTE_AS_CENTS: Signature = Signature::told("quote", &[("price", "Cents")]);
const QUOTE_RENAMED: Signature = Signature::told("quote", &[("cents", "u64")]);
const QUOTE_ASKED: Signature = Signature::asked("quote", &[("price", "u64")], "()");
const BEST: Signature = Signature::asked("best", &[], "u64");

const BOOK: Manifest = Manifest::new("acme.book", 3, "postcard", &[QUOTE, BEST]);

/// A file of its own, gone with the test.
pub(crate) struct File(pub(crate) PathBuf);

impl File {
    pub(crate) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("greenroom-{}-{name}", std::process::id()));
        let _ = std::fs::remove_file(&path);
        Self(path)
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// The changes from `old` to `new`.
pub(crate) fn changes(name: &str, old: &[Manifest], new: &[Manifest]) -> Vec<Change> {
    let file = File::new(name);
    lock::write(&file.0, old, false).unwrap();
    match lock::check(&file.0, new) {
        Ok(()) => Vec::new(),
        Err(LockError::Changed(changes)) => changes,
        Err(error) => panic!("{error}"),
    }
}

fn effects(name: &str, new: &[Manifest]) -> Vec<Effect> {
    changes(name, &[BOOK], new).iter().map(|change| change.effect).collect()
}

#[test]
fn what_has_not_changed_passes_in_whatever_order() {
    assert_eq!(effects("same", &[BOOK]), []);
    let turned = Manifest::new("acme.book", 3, "postcard", &[BEST, QUOTE]);
    assert_eq!(effects("turned", &[turned]), []);
}

#[test]
fn a_change_under_the_same_version_breaks() {
    const CHANGED: [&[Signature]; 3] =
        [&[QUOTE_AS_CENTS, BEST], &[QUOTE_RENAMED, BEST], &[QUOTE_ASKED, BEST]];
    for (index, signatures) in CHANGED.into_iter().enumerate() {
        let new = Manifest::new("acme.book", 3, "postcard", signatures);
        assert_eq!(effects(&format!("same-version-{index}"), &[new]), [Effect::Breaks]);
    }
    const NO_QUOTE: Manifest = Manifest::new("acme.book", 3, "postcard", &[BEST]);
    assert_eq!(effects("removed", &[NO_QUOTE]), [Effect::Breaks]);
    assert_eq!(effects("no-protocol", &[]), [Effect::Breaks]);
    let other = Manifest::new("acme.book", 3, "Other", &[QUOTE, BEST]);
    assert_eq!(effects("codec", &[other]), [Effect::Breaks]);
    let back = Manifest::new("acme.book", 2, "postcard", &[QUOTE, BEST]);
    assert_eq!(effects("back", &[back]), [Effect::Breaks]);
}

#[test]
fn a_change_under_a_new_version_needs_a_migration() {
    const NEW: Manifest = Manifest::new("acme.book", 4, "postcard", &[QUOTE_AS_CENTS, BEST]);
    let found = changes("raised", &[BOOK], &[NEW]);
    let effects: Vec<_> = found.iter().map(|change| change.effect).collect();
    assert_eq!(effects, [Effect::Harmless, Effect::NeedsMigration]);
    assert_eq!(found[0].text, "`acme.book/3` became `acme.book/4`");
    assert_eq!(
        found[1].to_string(),
        "needs a migration: `acme.book`: `tell quote(price: u64)` became \
         `tell quote(price: Cents)`; have the export migrate it from version 3; old nodes refuse it as it \
         is"
    );
}

#[test]
fn what_is_new_is_harmless() {
    const MORE: Manifest =
        Manifest::new("acme.book", 3, "postcard", &[QUOTE, BEST, Signature::told("clear", &[])]);
    const FEED: Manifest = Manifest::new("acme.feed", 1, "postcard", &[]);
    assert_eq!(effects("more", &[MORE, FEED]), [Effect::Harmless, Effect::Harmless]);
}

#[test]
fn what_breaks_is_written_only_on_demand() {
    const NO_QUOTE: Manifest = Manifest::new("acme.book", 3, "postcard", &[BEST]);
    let file = File::new("on-demand");
    let missing = lock::check(&file.0, &[BOOK]).unwrap_err();
    assert!(missing.to_string().contains("GREENROOM_WIRE_LOCK=write"), "{missing}");
    lock::write(&file.0, &[BOOK], false).unwrap();
    let refused = lock::write(&file.0, &[NO_QUOTE], false).unwrap_err();
    assert!(matches!(refused, LockError::Changed(_)), "{refused}");
    assert!(refused.to_string().contains("GREENROOM_WIRE_LOCK=break"), "{refused}");
    lock::check(&file.0, &[BOOK]).unwrap();
    lock::write(&file.0, &[NO_QUOTE], true).unwrap();
    lock::check(&file.0, &[NO_QUOTE]).unwrap();
}

#[test]
fn what_is_no_lock_is_refused_by_line() {
    let file = File::new("unreadable");
    let bad = [
        ("    tell quote()\n", 1),
        ("acme.book/3 postcard\n    quote()\n", 2),
        ("acme.book\n", 1),
        ("acme.book/x postcard\n", 1),
        ("a/1 postcard\n\na/2 postcard\n", 3),
    ];
    for (text, wrong) in bad {
        std::fs::write(&file.0, text).unwrap();
        match lock::check(&file.0, &[]) {
            Err(LockError::Unreadable { line, .. }) => assert_eq!(line, wrong, "{text:?}"),
            other => panic!("{text:?}: {other:?}"),
        }
    }
}

/// The protocols that these tests speak, as they were committed.
#[test]
fn the_tests_speak_what_was_committed() {
    let manifests = [
        Manifest::of::<crate::stage::Book>(),
        Manifest::of::<crate::stage::Watcher>(),
        Manifest::of::<crate::references::Desk>(),
    ];
    lock::assert_unchanged("tests/net/wire.lock", &manifests);
}
