//! What `wire.lock` says of a change inside.

use super::before;
use crate::lock::{File, changes};
use greenroom::net::Manifest;
use greenroom::net::lock::{self, Change, Effect, LockError};
use greenroom::{Actor, handlers};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::num::NonZeroU32;

/// What the file of the program before says of a program with another order.
macro_rules! against_before {
    ($($order:item)+) => {{
        program! { after, $($order)+ }
        let after = Manifest::of::<after::Book>();
        changes(&format!("inside-{}", line!()), &[Manifest::of::<before::Book>()], &[after])
    }};
}

/// What is said of the order, without the advice.
fn said<'a>(changes: &'a [Change]) -> Vec<(Effect, &'a str)> {
    let of_order = |change: &Change| {
        let rest = change.text.strip_prefix("`acme.book`: in `tell place(order: Order)`, ");
        rest.expect("it is about the order").len()
    };
    let said = |change: &'a Change| {
        let text = &change.text[change.text.len() - of_order(change)..];
        (change.effect, text.split_once("; nodes take").map_or(text, |(said, _)| said))
    };
    changes.iter().map(said).collect()
}

#[test]
fn what_leaves_the_bytes_as_they_are_is_no_change() {
    let same = against_before! {
        pub(super) struct Order {
            price: Cents, lines: VecDeque<Box<Line>>, side: Side, note: Option<Box<str>>
        }
        pub(super) struct Cents(u64);
        pub(super) struct Line { item: NonZeroU32, count: u32 }
        pub(super) enum Side { Buy, Sell, Limit(Limit) }
        pub(super) struct Limit { price: Cents, days: u8 }
    };
    assert_eq!(said(&same), []);
}

#[test]
fn other_names_of_the_same_bytes_are_harmless() {
    let renamed = against_before! {
        pub(super) struct Order { price: u64, lines: Vec<Line>, side: Side, note: Option<String> }
        pub(super) struct Line { item: u32, pieces: u32 }
        pub(super) enum Side { Buy, Sell, Limit { price: u64, days: u8 } }
    };
    let text = "`order.lines[].count` is called `order.lines[].pieces`, which the bytes do not say";
    assert_eq!(said(&renamed), [(Effect::Harmless, text)]);
}

#[test]
fn a_variant_behind_the_others_is_harmless() {
    let more = against_before! {
        pub(super) struct Order { price: u64, lines: Vec<Line>, side: Side, note: Option<String> }
        pub(super) struct Line { item: u32, count: u32 }
        pub(super) enum Side { Buy, Sell, Limit { price: u64, days: u8 }, Stop(u64) }
    };
    let text = "`order.side::Stop: u64` is new, behind those that were there; old nodes refuse it";
    assert_eq!(said(&more), [(Effect::Harmless, text)]);
}

#[test]
fn a_variant_between_the_others_breaks() {
    let between = against_before! {
        pub(super) struct Order { price: u64, lines: Vec<Line>, side: Side, note: Option<String> }
        pub(super) struct Line { item: u32, count: u32 }
        pub(super) enum Side { Buy, Stop(u64), Sell, Limit { price: u64, days: u8 } }
    };
    assert_eq!(said(&between), [(Effect::Breaks, "`order.side::Stop: u64` is new")]);
    let turned = against_before! {
        pub(super) struct Order { price: u64, lines: Vec<Line>, side: Side, note: Option<String> }
        pub(super) struct Line { item: u32, count: u32 }
        pub(super) enum Side { Sell, Buy, Limit { price: u64, days: u8 } }
    };
    assert_eq!(
        said(&turned),
        [
            (Effect::Breaks, "`order.side::Sell` is where `order.side::Buy` was"),
            (Effect::Breaks, "`order.side::Buy` is where `order.side::Sell` was"),
        ]
    );
    let gone = against_before! {
        pub(super) struct Order { price: u64, lines: Vec<Line>, side: Side, note: Option<String> }
        pub(super) struct Line { item: u32, count: u32 }
        pub(super) enum Side { Buy, Limit { price: u64, days: u8 } }
    };
    assert_eq!(said(&gone), [(Effect::Breaks, "`order.side::Sell: ()` is gone")]);
}

#[test]
fn each_change_of_the_fields_breaks_and_names_the_field() {
    let added = against_before! {
        pub(super) struct Order { price: u64, lines: Vec<Line>, side: Side, note: Option<String>, tag: u8 }
        pub(super) struct Line { item: u32, count: u32, weight: Option<u16> }
        pub(super) enum Side { Buy, Sell, Limit { price: u64, days: u8, hours: u8 } }
    };
    assert_eq!(
        said(&added),
        [
            (Effect::Breaks, "`order.lines[].weight?: u16` is new"),
            (Effect::Breaks, "`order.side::Limit.hours: u8` is new"),
            (Effect::Breaks, "`order.tag: u8` is new"),
        ]
    );
    let gone = against_before! {
        pub(super) struct Order { price: u64, lines: Vec<Line>, side: Side }
        pub(super) struct Line { item: u32, count: u32 }
        pub(super) enum Side { Buy, Sell, Limit { price: u64, days: u8 } }
    };
    assert_eq!(said(&gone), [(Effect::Breaks, "`order.note?: String` is gone")]);
    let other = against_before! {
        pub(super) struct Order { price: u64, lines: Vec<Line>, side: Side, note: Option<String> }
        pub(super) struct Line { item: u32, count: u8 }
        pub(super) enum Side { Buy, Sell, Limit { price: u64, days: u8 } }
    };
    let text = "`order.lines[].count: u32` became `order.lines[].count: u8`";
    assert_eq!(said(&other), [(Effect::Breaks, text)]);
    let turned = against_before! {
        pub(super) struct Order { price: u64, lines: Vec<Line>, side: Side, note: Option<String> }
        pub(super) struct Line { count: u32, item: u32 }
        pub(super) enum Side { Buy, Sell, Limit { price: u64, days: u8 } }
    };
    assert_eq!(
        said(&turned)[0],
        (Effect::Breaks, "`order.lines[].count` is where `order.lines[].item` was")
    );
    let optional = against_before! {
        pub(super) struct Order { price: Option<u64>, lines: Vec<Line>, side: Side, note: Option<String> }
        pub(super) struct Line { item: u32, count: u32 }
        pub(super) enum Side { Buy, Sell, Limit { price: u64, days: u8 } }
    };
    assert_eq!(
        said(&optional),
        [
            (Effect::Breaks, "`order.price: u64` is gone"),
            (Effect::Breaks, "`order.price?: u64` is new"),
        ]
    );
}

/// Nodes compare signatures: a version alone lets nobody notice. [ENV-19]
#[test]
fn what_breaks_inside_says_what_to_do() {
    program! { longer, pub(super) struct Order { price: u64, tag: u8 } }
    program! { short, pub(super) struct Order { price: u64 } }
    let same = Manifest::of::<short::Book>() == Manifest::of::<longer::Book>();
    assert!(same, "what goes on the wire is the same");
    let found = changes(
        &format!("inside-{}", line!()),
        &[Manifest::of::<short::Book>()],
        &[Manifest::of::<longer::Book>()],
    );
    assert_eq!(
        found[0].to_string(),
        "breaks a rolling upgrade: `acme.book`: in `tell place(order: Order)`, `order.tag: u8` is new; \
         nodes take one for the other and misread it: write the parameter or its type by another name, \
         raise the version to 4, and migrate it from version 3"
    );
}

#[test]
fn a_file_from_before_is_written_again() {
    program! { plain, pub(super) struct Order { price: u64 } }
    let manifest = [Manifest::of::<plain::Book>()];
    let file = File::new("from-before");
    std::fs::write(&file.0, "acme.book/3 postcard\n    tell place(order: Order)\n").unwrap();
    let Err(LockError::Changed(found)) = lock::check(&file.0, &manifest) else {
        panic!("not seen")
    };
    assert_eq!(said(&found), [(Effect::Harmless, "the file does not say yet what is inside")]);
    lock::write(&file.0, &manifest, false).unwrap();
    lock::check(&file.0, &manifest).unwrap();
    let text = std::fs::read_to_string(&file.0).unwrap();
    let expected = "acme.book/3 postcard\n    tell place(order: Order)\n        order.price: u64\n";
    assert!(text.ends_with(expected), "{text}");
}
