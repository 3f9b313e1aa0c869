//! What is inside of the types of messages.

use greenroom::net::{Bytes, Shape};
use greenroom::{Actor, Ref, handlers};
use serde::de::{self, DeserializeOwned, Deserializer, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::num::NonZeroU32;
use std::time::Duration;

fn lines<T: DeserializeOwned>() -> Vec<String> {
    Shape::traced::<T>().lines("it").collect()
}

/// A program with a protocol whose message has an order of that form.
macro_rules! program {
    ($module:ident, $($order:item)+) => {
        mod $module {
            use super::*;
            $(#[derive(Serialize, Deserialize)] $order)+

            #[derive(Actor)]
            pub(super) struct Book;

            #[handlers(wire = "acme.book/3")]
            impl Book {
                #[tell]
                fn place(&mut self, order: Order) {
                    let _ = order;
                }
            }
        }
    };
}

program! { before,
    pub(super) struct Order { price: u64, lines: Vec<Line>, side: Side, note: Option<String> }
    pub(super) struct Line { item: u32, count: u32 }
    pub(super) enum Side { Buy, Sell, Limit { price: u64, days: u8 } }
}

// Behind the macro, which it has, too.
mod changes;

#[test]
fn each_kind_of_type_has_its_form() {
    assert_eq!(lines::<u64>(), ["it: u64"]);
    assert_eq!(
        lines::<(bool, i128, char, f32)>(),
        ["it.0: bool", "it.1: i128", "it.2: char", "it.3: f32"]
    );
    assert_eq!(lines::<Option<Vec<String>>>(), ["it?[]: String"]);
    assert_eq!(
        lines::<BTreeMap<u8, BTreeMap<NonZeroU32, ()>>>(),
        ["it{key}: u8", "it{value}{key}: u32", "it{value}{value}: ()"]
    );
    assert_eq!(lines::<Result<u64, String>>(), ["it::Ok: u64", "it::Err: String"]);
    assert_eq!(lines::<[(u8, u16); 32]>(), ["it[32].0: u8", "it[32].1: u16"]);
    assert_eq!(lines::<Duration>(), ["it.secs: u64", "it.nanos: u32"]);
    assert_eq!(lines::<()>(), ["it: ()"]);
}

/// They have the same bytes.
#[test]
fn wrappers_are_what_is_in_them() {
    #[derive(Deserialize)]
    struct Cents(#[expect(dead_code, reason = "only its form is looked at")] u64);
    #[derive(Deserialize)]
    struct Nothing;
    assert_eq!(lines::<Box<Cents>>(), lines::<u64>());
    assert_eq!(lines::<Nothing>(), lines::<()>());
    assert_eq!(lines::<VecDeque<Cents>>(), lines::<Vec<u64>>());
    assert_eq!(lines::<Bytes>(), ["it: bytes"]);
    assert_eq!(lines::<Vec<u8>>(), lines::<Bytes>());
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "only its form is looked at")]
enum Term {
    Sum(Box<Self>, Box<Self>),
    List(Vec<Self>),
    Number(u64),
    Named { name: String, of: Box<Self> },
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "only its form is looked at")]
struct Nest(Vec<Self>);

#[derive(Deserialize)]
#[expect(dead_code, reason = "only its form is looked at")]
struct Tree<T> {
    value: T,
    children: Vec<Self>,
    parent: Option<Box<Self>>,
}

#[test]
fn what_lies_in_itself_ends() {
    assert_eq!(
        lines::<Term>(),
        [
            "it::Sum[2]: as it",
            "it::List[]: as it",
            "it::Number: u64",
            "it::Named.name: String",
            "it::Named.of: as it",
        ]
    );
    assert_eq!(lines::<Nest>(), ["it[]: as it"]);
    assert_eq!(
        lines::<(u8, Tree<Tree<u8>>)>(),
        [
            "it.0: u8",
            "it.1.value.value: u8",
            "it.1.value.children[]: as it.1.value",
            "it.1.value.parent?: as it.1.value",
            "it.1.children[]: as it.1",
            "it.1.parent?: as it.1",
        ]
    );
}

/// Takes no value of those that it is tried with.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Never;

impl<'de> Deserialize<'de> for Never {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        Err(de::Error::custom(text))
    }
}

/// A struct by hand, which is read by position alone.
struct ByHand;

impl<'de> Deserialize<'de> for ByHand {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = ByHand;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("two fields")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<ByHand, A::Error> {
                seq.next_element::<u16>()?;
                seq.next_element::<u32>()?;
                Ok(ByHand)
            }
        }
        from.deserialize_struct("ByHand", &["first", "second"], InOrder)
    }
}

/// Asks what there is, which the bytes do not say.
struct Anything;

impl<'de> Deserialize<'de> for Anything {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(de::IgnoredAny).map(|_| Self)
    }
}

#[test]
fn a_value_that_is_refused_hides_no_other_field() {
    #[derive(Deserialize)]
    #[expect(dead_code, reason = "only its form is looked at")]
    struct Order {
        id: Never,
        seller: Ref<before::Book>,
        by_hand: ByHand,
        side: Side,
    }
    #[derive(Deserialize)]
    #[expect(dead_code, reason = "only its form is looked at")]
    enum Side {
        Never(Never),
        Buy { until: Never, price: u64 },
    }
    assert_eq!(
        lines::<Vec<Order>>(),
        [
            "it[].id: String",
            "it[].seller[3]: u64",
            "it[].by_hand.first: u16",
            "it[].by_hand.second: u32",
            "it[].side::Never: String",
            "it[].side::Buy.until: String",
            "it[].side::Buy.price: u64",
        ]
    );
}

#[test]
#[cfg_attr(sanitized, ignore = "slow, and one thread alone computes")]
fn what_is_not_got_at_is_named() {
    assert_eq!(lines::<(u8, Never, u64)>(), ["it.0: u8", "it.1: String", "it.2: opaque"]);
    assert_eq!(lines::<BTreeMap<Never, u64>>(), ["it{key}: String", "it{value}: opaque"]);
    assert_eq!(lines::<Anything>(), ["it: opaque"]);
    assert_eq!(lines::<Vec<[[u8; 32]; 32]>>(), ["it[][32][32]: u8"]);
    // More parts than are looked at.
    assert_eq!(
        lines::<[[[u8; 32]; 32]; 32]>().last().unwrap().rsplit_once(": ").unwrap().1,
        "opaque"
    );
    let shape: Vec<_> = Shape::opaque().lines("it").collect();
    assert_eq!(shape, ["it: opaque"]);
}

/// A list by hand: a number, and then texts.
struct Unlike;

impl<'de> Deserialize<'de> for Unlike {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Unlike;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number and texts")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Unlike, A::Error> {
                seq.next_element::<u16>()?;
                while seq.next_element::<String>()?.is_some() {}
                Ok(Unlike)
            }
        }
        from.deserialize_seq(InOrder)
    }
}

/// Two values by hand, of which the second one is what the first one says.
struct Depends;

impl<'de> Deserialize<'de> for Depends {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Depends;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("two values")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Depends, A::Error> {
                if seq.next_element::<Option<u8>>()?.flatten().is_some() {
                    seq.next_element::<u16>()?;
                } else {
                    seq.next_element::<Vec<String>>()?;
                }
                Ok(Depends)
            }
        }
        from.deserialize_tuple(2, InOrder)
    }
}

/// Of neither the first reading says what the bytes are.
#[test]
fn what_is_not_always_read_alike_is_opaque() {
    assert_eq!(lines::<(u8, Unlike, u64)>(), ["it.0: u8", "it.1: opaque", "it.2: u64"]);
    assert_eq!(lines::<Vec<Unlike>>(), ["it[]: opaque"]);
    let either = ["it.1::Ok: u8", "it.1::Err: u16"];
    assert_eq!(
        lines::<(Unlike, Result<u8, u16>)>(),
        ["it.0: opaque", either[0], "it.1::Err: opaque"],
        "behind it, what takes a second reading is not got at"
    );
    assert_eq!(
        lines::<(Depends, Result<u8, u16>)>(),
        ["it.0.0?: u8", "it.0.1: opaque", either[0], either[1]]
    );
}

#[test]
fn a_second_name_is_no_field() {
    #[derive(Deserialize)]
    #[expect(dead_code, reason = "only its form is looked at")]
    struct Order {
        #[serde(alias = "amount", alias = "cents")]
        price: u64,
        #[serde(rename = "how many?")]
        count: u8,
        #[serde(skip)]
        known: bool,
    }
    assert_eq!(lines::<Order>(), ["it.price: u64", "it.\"how many?\": u8"]);
}

/// Types, with the bytes of a value of each, and how those are read and written again.
type Known = (Vec<String>, Vec<u8>, fn(&[u8]) -> Option<Vec<u8>>);

fn known<T: Serialize + DeserializeOwned>(value: &T) -> Known {
    let again = |bytes: &[u8]| {
        let value: T = postcard::from_bytes(bytes).ok()?;
        postcard::to_allocvec(&value).ok()
    };
    (lines::<T>(), postcard::to_allocvec(value).unwrap(), again)
}

/// What is said to look alike has the same bytes, whatever it is.
#[test]
fn what_looks_alike_reads_the_bytes_of_the_other() {
    #[derive(Serialize, Deserialize)]
    struct Point {
        x: i32,
        y: i32,
    }
    #[derive(Serialize, Deserialize)]
    struct Twice(Point);
    #[derive(Serialize, Deserialize)]
    enum Either {
        Ok(u16),
        Err(String),
    }
    let text = || "seven".to_owned();
    let all = [
        known(&Point { x: -7, y: 1 << 20 }),
        known(&Twice(Point { x: 5, y: 6 })),
        known(&Box::new(Point { x: 0, y: -1 })),
        known(&Ok::<u16, String>(700)),
        known(&Either::Ok(1)),
        known(&Either::Err(text())),
        known(&vec![7_u8, 8]),
        known(&Bytes::from_static(b"bytes")),
        known(&[1_u8, 2, 3].map(u16::from)),
        known(&(1_u16, 2_u16, 300_u16)),
        known(&Some(vec![text()])),
        known(&Some(VecDeque::from([text()]))),
        known(&BTreeMap::from([(text(), 1_u64)])),
        known(&BTreeMap::from([(text(), Box::new(2_u64))])),
        known(&Duration::from_millis(7)),
        known(&u64::MAX),
        known(&u32::MAX),
    ];
    let mut alike = 0;
    for (one, bytes, _) in &all {
        for (other, _, again) in &all {
            alike += usize::from(one == other);
            assert!(one != other || again(bytes).as_ref() == Some(bytes), "{one:?}");
        }
    }
    assert!(alike > all.len() + 12, "{alike} of {}", all.len());
}
