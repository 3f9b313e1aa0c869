//! What a protocol looks like from outside, and its messages as bytes.

use greenroom::net::{Codec, DecodeError, EncodeError, Manifest, MessageId};
use greenroom::{Actor, Context, handlers};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Order {
    price: u64,
    symbol: String,
}

#[derive(Actor)]
struct Book {
    best: u64,
}

// Written with other spaces on purpose: they are no part of the shape.
#[rustfmt::skip]
#[handlers(wire = "acme.book/3")]
impl Book {
    #[tell]
    fn quote(&mut self, price : u64) {
        self.best = self.best.max(price);
    }
    #[tell]
    async fn place(&mut self, order: Order, _cx: &mut Context<Self>, tags: Vec < ( u8,String ) >) {
        self.best += order.price + order.symbol.len() as u64 + tags.len() as u64;
    }
    #[ask]
    fn best(&self) -> u64 {
        self.best
    }
    #[ask]
    fn check(&self, limit: Option<u64>) -> Result<(), String> {
        limit.map_or(Ok(()), |limit| Err(format!("{} is above {limit}", self.best)))
    }
    #[cfg(any())]
    #[tell]
    fn never(&mut self, nothing: u8) {}
    #[expect(dead_code, reason = "only its absence is looked at")]
    #[local]
    fn tick(&mut self) {}
}

#[test]
fn the_manifest_is_what_the_signatures_say() {
    let manifest = Manifest::of::<Book>();
    assert_eq!((manifest.name(), manifest.version()), ("acme.book", 3));
    assert_eq!(manifest.codec(), "postcard");
    let shapes: Vec<_> = manifest.signatures().iter().map(ToString::to_string).collect();
    // `tick` is local and `never` is not there: neither goes on the wire.
    let expected = [
        "tell quote(price: u64)",
        "tell place(order: Order, tags: Vec<(u8,String)>)",
        "ask best() -> u64",
        "ask check(limit: Option<u64>) -> Result<(),String>",
    ];
    assert_eq!(shapes, expected);
    assert_eq!(manifest.signature(MessageId::of("tick")), None);
    assert_eq!(manifest.signature(MessageId::of("best")).unwrap().name(), "best");
}

/// A codec for one type: the lowest byte, and nothing else.
enum Lowest {}

impl Codec<u8> for Lowest {
    fn encode(value: &u8, bytes: &mut Vec<u8>) -> Result<(), EncodeError> {
        bytes.push(*value);
        Ok(())
    }

    fn decode(bytes: &mut &[u8]) -> Result<u8, DecodeError> {
        let none = || DecodeError::Malformed("no byte".to_owned());
        let (&first, rest) = bytes.split_first().ok_or_else(none)?;
        *bytes = rest;
        Ok(first)
    }
}

#[derive(Actor)]
struct Dial;

#[handlers(api = DialApi, wire = "acme.dial/1", codec = Lowest)]
impl Dial {
    #[tell]
    fn turn(&mut self, by: u8) {
        let _ = by;
    }
}

#[test]
fn a_protocol_may_have_a_codec_of_its_own_and_a_name() {
    let manifest = Manifest::of::<DialApi>();
    assert_eq!(manifest, Manifest::of::<Dial>());
    assert_eq!(manifest.codec(), "Lowest");
    assert_eq!(manifest.signatures()[0].to_string(), "tell turn(by: u8)");
}
