//! Codecs other than the usual one: round trips, and bytes that are none.

use crate::stage::{Place, between};
use crate::support::soon;
use greenroom::net::{Codec, DecodeError, Export, Loopback, Manifest, WireMessage};
use greenroom::{Behavior, Protocol, Ref};
use proptest::prelude::*;

/// An actor at `there`, as `here` finds it.
async fn find<A>(here: &Place, there: &Place, args: A::Args) -> Ref<A>
where
    A: Behavior + Protocol<Message: WireMessage>,
{
    let near = there.system.spawn::<A>(args).await.unwrap();
    there.node.export("actor", Export::of(&near)).unwrap();
    here.reach(there).await.find::<A>("actor").await.unwrap()
}

/// What is encoded comes back, and leaves what stands behind it; what is cut off is refused.
fn comes_back<C: Codec<T>, T: PartialEq + std::fmt::Debug>(value: &T) {
    let mut bytes = vec![9];
    C::encode(value, &mut bytes).unwrap();
    let whole = bytes.len();
    bytes.extend([1, 2, 3]);
    let mut rest = &bytes[1..];
    assert_eq!(&C::decode(&mut rest).unwrap(), value);
    assert_eq!(rest, [1, 2, 3]);
    for end in 1..whole {
        let cut = C::decode(&mut &bytes[1..end]);
        assert!(matches!(cut, Err(DecodeError::Malformed(_))), "{cut:?} of {end} bytes");
    }
}

mod postcard {
    use super::*;
    use greenroom::net::{Bytes, Postcard};
    use serde::Serialize;
    use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
    use std::cell::Cell;
    use std::fmt;

    proptest! {
        /// Bytes go as a whole, and look as what goes one by one.
        #[test]
        fn bytes_are_a_sequence_like_any_other(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            comes_back::<Postcard, _>(&bytes);
            let (mut whole, mut each) = (Vec::new(), Vec::new());
            Postcard::encode(&bytes, &mut whole).unwrap();
            Postcard::encode(&vec![bytes.clone()], &mut each).unwrap();
            prop_assert_eq!(&each[..1], [1], "a sequence of one");
            prop_assert_eq!(&each[1..], &whole);
            let mut kept = Vec::new();
            Postcard::encode(&Bytes::from(bytes), &mut kept).unwrap();
            prop_assert_eq!(kept, whole);
        }

        #[test]
        fn bytes_to_keep_come_back(bytes in prop::collection::vec(any::<u8>(), 0..3000)) {
            comes_back::<Postcard, _>(&Bytes::from(bytes));
        }
    }

    #[test]
    fn bytes_that_are_longer_than_the_message_are_refused() {
        let endless = [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01, 1];
        for bytes in [&endless[..], &[3, 1, 2], &[]] {
            let decoded: Result<Vec<u8>, _> = Postcard::decode(&mut &*bytes);
            assert!(matches!(decoded, Err(DecodeError::Malformed(_))), "{decoded:?}");
        }
    }

    thread_local! {
        /// For how many elements room would be made.
        static FORESEEN: Cell<usize> = const { Cell::new(0) };
    }

    /// Lists in lists, or maps of them, that make room for nothing.
    #[derive(Serialize)]
    struct Lists<const IS_MAP: bool>;

    impl<'de, const IS_MAP: bool> Deserialize<'de> for Lists<IS_MAP> {
        fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
            if IS_MAP { from.deserialize_map(Self) } else { from.deserialize_seq(Self) }
        }
    }

    impl<'de, const IS_MAP: bool> Visitor<'de> for Lists<IS_MAP> {
        type Value = Self;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("lists")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut lists: A) -> Result<Self, A::Error> {
            FORESEEN.set(FORESEEN.get() + lists.size_hint().unwrap_or(0));
            while lists.next_element::<Self>()?.is_some() {}
            Ok(self)
        }

        fn visit_map<A: MapAccess<'de>>(self, mut lists: A) -> Result<Self, A::Error> {
            FORESEEN.set(FORESEEN.get() + lists.size_hint().unwrap_or(0));
            while lists.next_entry::<u8, Self>()?.is_some() {}
            Ok(self)
        }
    }

    fn foreseen<const IS_MAP: bool>(mut bytes: &[u8]) -> usize {
        FORESEEN.set(0);
        let _: Result<Lists<IS_MAP>, _> = Postcard::decode(&mut bytes);
        FORESEEN.get()
    }

    /// Lists that all say that they have many elements, each the first one of another list.
    #[test]
    fn no_more_room_is_made_than_there_are_bytes() {
        assert_eq!(foreseen::<false>(&[40; 100]), 100);
        assert_eq!(foreseen::<true>(&[40; 100]), 100);
        assert_eq!(foreseen::<true>(&[0xFF, 0xFF, 0x03, 0]), 4, "one map of 65,535 entries");
        // What is true is foreseen.
        let mut honest = vec![90];
        honest.extend([0; 90]);
        assert_eq!(foreseen::<false>(&honest), 90);
        assert_eq!(foreseen::<true>(&[2, 0, 1, 7, 0, 8, 0]), 3);
    }
}

#[cfg(feature = "zerocopy")]
mod zerocopy {
    use super::*;
    use ::zerocopy::byteorder::little_endian::{U32, U64};
    use ::zerocopy::{Immutable, IntoBytes, TryFromBytes, Unaligned};
    use greenroom::net::Zerocopy;
    use greenroom::{Actor, handlers};

    #[derive(Clone, Copy, Debug, PartialEq, TryFromBytes, IntoBytes, Immutable, Unaligned)]
    #[repr(u8)]
    enum Side {
        Buy = 1,
        Sell,
    }

    #[derive(Clone, Copy, Debug, PartialEq, TryFromBytes, IntoBytes, Immutable, Unaligned)]
    #[repr(C)]
    struct Quote {
        price: U64,
        size: U32,
        side: Side,
        firm: bool,
    }

    #[derive(Actor)]
    struct Book {
        last: Option<Quote>,
    }

    #[handlers(wire = "test.plain/1", codec = Zerocopy)]
    impl Book {
        #[start]
        fn start((): ()) -> Self {
            Self { last: None }
        }
        #[tell]
        fn quote(&mut self, first: Quote, second: Quote) {
            self.last = self.last.max_by_price(first).max_by_price(second);
        }
        #[ask]
        fn best(&self) -> [Quote; 1] {
            [self.last.unwrap()]
        }
        #[ask]
        fn ping(&self) {}
    }

    trait Best {
        fn max_by_price(self, other: Quote) -> Option<Quote>;
    }

    impl Best for Option<Quote> {
        fn max_by_price(self, other: Quote) -> Option<Quote> {
            Some(self.filter(|quote| quote.price > other.price).unwrap_or(other))
        }
    }

    fn quote(price: u64) -> Quote {
        Quote { price: price.into(), size: 7.into(), side: Side::Sell, firm: true }
    }

    #[test]
    fn plain_structs_cross_as_their_bytes() {
        let mut bytes = Vec::new();
        Zerocopy::encode(&quote(0x0102), &mut bytes).unwrap();
        assert_eq!(bytes, [2, 1, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 2, 1], "on every machine");
        assert_eq!(Manifest::of::<Book>().codec(), "Zerocopy");
        between(Loopback::new, async |_, here, there| {
            let far = find::<Book>(here, there, ()).await;
            far.quote(quote(5), quote(9)).await.unwrap();
            assert_eq!(soon(far.best().into_future()).await, Ok([quote(9)]));
            assert_eq!(far.ping().await, Ok(()));
        });
    }

    proptest! {
        #[test]
        fn every_value_comes_back(price in any::<u64>(), size in any::<u32>(), firm in any::<bool>()) {
            let side = if firm { Side::Buy } else { Side::Sell };
            let quote = Quote { price: price.into(), size: size.into(), side, firm };
            comes_back::<Zerocopy, _>(&quote);
            comes_back::<Zerocopy, _>(&[quote; 3]);
        }

        #[test]
        fn whatever_comes_is_a_value_or_is_refused(bytes in prop::collection::vec(0..4_u8, 0..40)) {
            let valid = bytes.len() >= 14 && matches!(bytes[12], 1 | 2) && bytes[13] < 2;
            let decoded: Result<Quote, _> = Zerocopy::decode(&mut &*bytes);
            prop_assert_eq!(decoded.is_ok(), valid);
        }
    }
}

#[cfg(feature = "prost")]
mod prost {
    use super::*;
    use ::prost::Message;
    use ::prost::bytes::{Buf, BufMut};
    use ::prost::encoding::{self, DecodeContext, WireType};
    use greenroom::net::Prost;
    use greenroom::{Actor, handlers};

    /// `message Order { uint64 price = 1; string symbol = 2; Order next = 3; }`, written by hand as
    /// `#[derive(prost::Message)]` would.
    #[derive(Clone, Debug, Default, PartialEq)]
    struct Order {
        price: u64,
        symbol: String,
        next: Option<Box<Self>>,
    }

    impl Message for Order {
        fn encode_raw(&self, to: &mut impl BufMut) {
            encoding::uint64::encode(1, &self.price, to);
            encoding::string::encode(2, &self.symbol, to);
            if let Some(next) = &self.next {
                encoding::message::encode(3, &**next, to);
            }
        }

        fn merge_field(
            &mut self,
            tag: u32,
            wire: WireType,
            from: &mut impl Buf,
            context: DecodeContext,
        ) -> Result<(), ::prost::DecodeError> {
            match tag {
                1 => encoding::uint64::merge(wire, &mut self.price, from, context),
                2 => encoding::string::merge(wire, &mut self.symbol, from, context),
                3 => {
                    let next = self.next.get_or_insert_default();
                    encoding::message::merge(wire, &mut **next, from, context)
                }
                _ => encoding::skip_field(wire, tag, from, context),
            }
        }

        fn encoded_len(&self) -> usize {
            let next = self.next.as_ref();
            encoding::uint64::encoded_len(1, &self.price)
                + encoding::string::encoded_len(2, &self.symbol)
                + next.map_or(0, |next| encoding::message::encoded_len(3, &**next))
        }

        fn clear(&mut self) {
            *self = Self::default();
        }
    }

    #[derive(Actor)]
    struct Book {
        orders: Vec<(Order, u64)>,
    }

    #[handlers(wire = "test.proto/1", codec = Prost)]
    impl Book {
        #[start]
        fn start((): ()) -> Self {
            Self { orders: Vec::new() }
        }
        #[tell]
        fn place(&mut self, order: Order, count: u64) {
            self.orders.push((order, count));
        }
        #[ask]
        fn last(&self) -> Order {
            self.orders.last().unwrap().0.clone()
        }
        #[ask]
        fn count(&self, of: String) -> u64 {
            let orders = self.orders.iter().filter(|(order, _)| order.symbol == of);
            orders.map(|(_, count)| count).sum()
        }
    }

    fn order(price: u64, symbol: &str) -> Order {
        Order { price, symbol: symbol.to_owned(), next: None }
    }

    #[test]
    fn protocol_buffers_cross() {
        assert_eq!(Manifest::of::<Book>().codec(), "Prost");
        between(Loopback::new, async |_, here, there| {
            let far = find::<Book>(here, there, ()).await;
            far.place(order(5, "ACME"), 3).await.unwrap();
            far.place(order(6, "ACME"), 4).await.unwrap();
            assert_eq!(soon(far.last().into_future()).await, Ok(order(6, "ACME")));
            assert_eq!(far.count("ACME".to_owned()).await, Ok(7));
        });
    }

    #[test]
    fn fields_that_are_new_are_skipped() {
        let mut bytes = Vec::new();
        encoding::uint64::encode(1, &8, &mut bytes);
        encoding::string::encode(77, &"later".to_owned(), &mut bytes);
        bytes.insert(0, u8::try_from(bytes.len()).unwrap());
        assert_eq!(Prost::decode(&mut &*bytes), Ok(order(8, "")));
    }

    #[test]
    fn what_goes_too_deep_is_refused() {
        let mut deep = order(1, "");
        for _ in 0..200 {
            deep = Order { next: Some(Box::new(deep)), ..order(1, "") };
        }
        let mut bytes = Vec::new();
        Prost::encode(&deep, &mut bytes).unwrap();
        let decoded: Result<Order, _> = Prost::decode(&mut &*bytes);
        assert!(matches!(decoded, Err(DecodeError::Malformed(_))));
    }

    proptest! {
        #[test]
        fn every_value_comes_back(price in 1_u64.., symbol in "[a-z\u{e4}]{1,20}", text in any::<Vec<u8>>()) {
            let next = Some(Box::new(order(price / 2, &symbol)));
            comes_back::<Prost, _>(&Order { next, ..order(price, &symbol) });
            comes_back::<Prost, _>(&text);
            comes_back::<Prost, _>(&());
        }

        #[test]
        fn whatever_comes_is_a_value_or_is_refused(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            let decoded: Result<Order, _> = Prost::decode(&mut &*bytes);
            if let Ok(order) = decoded {
                comes_back::<Prost, _>(&order);
            }
        }
    }
}
