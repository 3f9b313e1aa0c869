//! Forms of a type of which a program says that it has only changed names, against what becomes of its bytes.

use crate::lock::changes;
use greenroom::net::Manifest;
use greenroom::net::lock::Effect;
use greenroom::{Actor, handlers};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// A form of the order.
struct Form {
    name: &'static str,
    manifest: Manifest,
    /// What comes of its bytes when they are read and written again; `None` if they are none of it.
    again: fn(&[u8]) -> Option<Vec<u8>>,
}

impl Form {
    fn reads(&self, bytes: &[u8]) -> bool {
        (self.again)(bytes).as_deref() == Some(bytes)
    }

    /// What is said when another form takes the place of this one.
    fn effect_of(&self, other: &Self) -> Effect {
        let name = format!("alike-{}-{}", self.name, other.name);
        let found = changes(&name, &[self.manifest], &[other.manifest]);
        found.iter().map(|change| change.effect).max().unwrap_or(Effect::Harmless)
    }
}

fn again<T: Serialize + DeserializeOwned>(bytes: &[u8]) -> Option<Vec<u8>> {
    let (value, rest): (T, _) = postcard::take_from_bytes(bytes).ok()?;
    rest.is_empty().then(|| postcard::to_allocvec(&value).unwrap())
}

macro_rules! forms {
    ($($name:ident { $($item:item)+ })+) => {
        $(mod $name {
            use super::*;
            $(#[derive(Serialize, Deserialize)] $item)+

            #[derive(Actor)]
            pub(super) struct Book;

            #[handlers(wire = "acme.book/3")]
            impl Book {
                #[tell]
                fn place(&mut self, order: Order) {
                    let _ = order;
                }
            }
        })+

        fn forms() -> Vec<Form> {
            vec![$(Form {
                name: stringify!($name),
                manifest: Manifest::of::<$name::Book>(),
                again: again::<$name::Order>,
            }),+]
        }
    };
}

forms! {
    variant_of_two { pub(super) enum Order { A { x: u8, y: u8 }, B { z: u8 } } }
    variant_of_one { pub(super) enum Order { A { x: u8 }, B { y: u8, z: u8 } } }
    variant_named { pub(super) enum Order { C { x: u8, y: u8 }, D { x: u8 } } }
    one_list { pub(super) struct Order { l: Vec<L> } pub(super) struct L { x: u8, y: u8 } }
    one_list_named { pub(super) struct Order { m: Vec<L> } pub(super) struct L { a: u8, b: u8 } }
    two_lists { pub(super) struct Order { l: Vec<L>, m: Vec<M> }
        pub(super) struct L { x: u8 }
        pub(super) struct M { y: u8 } }
    one_kind { pub(super) struct Order { k: K } pub(super) enum K { A(u8), B(u8) } }
    two_kinds { pub(super) struct Order { k: K, l: L }
        pub(super) enum K { A(u8) }
        pub(super) enum L { B(u8) } }
    one_option { pub(super) struct Order { o: Option<O> } pub(super) struct O { x: u8, y: u8 } }
    two_options { pub(super) struct Order { o: Option<O>, p: Option<P> }
        pub(super) struct O { x: u8 }
        pub(super) struct P { y: u8 } }
    lists_in_list { pub(super) struct Order { l: Vec<L> }
        pub(super) struct L { x: Vec<X>, y: Vec<X> }
        pub(super) struct X { a: u8, b: u8 } }
    lists_split { pub(super) struct Order { l: Vec<L>, y: Vec<L> }
        pub(super) struct L { x: Vec<X> }
        pub(super) struct X { a: u8, b: u8 } }
    second_name { pub(super) struct Order {
        #[serde(rename = "a::x")]
        a: u8,
    } }
    two_second_names { pub(super) struct Order {
        #[serde(rename = "a::x")]
        a: u8,
        #[serde(rename = "a::y")]
        b: u8,
    } }
}

/// All texts of up to six bytes that are small.
fn texts() -> Vec<Vec<u8>> {
    let mut all = vec![Vec::new()];
    let mut of_length = all.clone();
    for _ in 0..6 {
        let longer =
            |text: &Vec<u8>| (0..3).map(|byte| [&text[..], &[byte]].concat()).collect::<Vec<_>>();
        of_length = of_length.iter().flat_map(longer).collect();
        all.extend_from_slice(&of_length);
    }
    all
}

#[test]
fn what_is_called_harmless_reads_the_bytes_from_before() {
    let (forms, texts) = (forms(), texts());
    let mut harmless = Vec::new();
    for old in &forms {
        let bytes: Vec<_> = texts.iter().filter(|text| old.reads(text)).collect();
        assert!(!bytes.is_empty(), "{}", old.name);
        for new in forms.iter().filter(|new| old.effect_of(new) == Effect::Harmless) {
            let misread = bytes.iter().find(|bytes| !new.reads(bytes));
            assert_eq!(misread, None, "{} became {}", old.name, new.name);
            if old.name != new.name {
                harmless.push((old.name, new.name));
            }
        }
    }
    let named = [("variant_of_two", "variant_named"), ("one_list", "one_list_named")];
    let both_ways = named.into_iter().flat_map(|(one, other)| [(one, other), (other, one)]);
    harmless.sort_unstable();
    let mut expected: Vec<_> = both_ways.collect();
    expected.sort_unstable();
    assert_eq!(harmless, expected);
}

mod places {
    use super::*;

    forms! {
        one_way { pub(super) struct Order { a: A, b: B }
            pub(super) struct A { x: u8 }
            pub(super) struct B { y: u8 } }
        turned { pub(super) struct Order { b: A, a: B }
            pub(super) struct A { x: u8 }
            pub(super) struct B { y: u8 } }
    }

    /// Whose parts are called otherwise, too: the bytes are read, but each for the other.
    #[test]
    fn two_that_change_places_break() {
        let forms = forms();
        assert_eq!(forms[0].effect_of(&forms[1]), Effect::Breaks);
    }
}
