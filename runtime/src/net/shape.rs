//! What is inside of an argument or an answer, as its bytes have it.
//!
//! serde does not say what a type is made of, but every type says what it wants to read. So it is read, again and again,
//! from a deserializer that has no bytes: it notes what it is asked for, and answers with whatever leads to a part that
//! was not seen yet, or gives up.
//!
//! ```text
//! T::deserialize(Reader) -> what T asks for -> Sketch -> lines: `.price: u64`, `.lines[].count: u32`
//! ```
//!
//! What does not change the bytes is not noted: the names of types, `Box`, wrappers of one field. A part that no reading
//! gets to is `opaque`.

mod parts;
mod reader;
mod sketch;

use serde::de::DeserializeOwned;
use sketch::Sketch;

/// What is inside of a type, for the committed record ([`lock`](super::lock)) alone: nothing on the wire depends on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    /// The way to each part, from the argument, and what it is; in the order of their bytes.
    parts: Vec<(String, String)>,
}

impl Shape {
    /// Nothing is known of the type; its name alone stands for it.
    #[must_use]
    pub fn opaque() -> Self {
        Self::part("opaque".to_owned())
    }

    /// What serde reads of the type, for codecs whose bytes follow from that, as [`Postcard`](super::Postcard)'s do.
    ///
    /// Reads values of the type that nobody has sent. Parts that depend on a value which is refused are opaque.
    /// Takes time and memory by the number of parts, of which it looks at 4,096 at most; it is for tests.
    ///
    /// ```
    /// use greenroom::net::Shape;
    ///
    /// #[derive(serde::Deserialize)]
    /// struct Order {
    ///     price: u64,
    ///     tags: Vec<String>,
    /// }
    ///
    /// # let _ = |order: Order| (order.price, order.tags);
    /// let parts: Vec<_> = Shape::traced::<Order>().lines("order").collect();
    /// assert_eq!(parts, ["order.price: u64", "order.tags[]: String"]);
    /// ```
    #[must_use]
    pub fn traced<T: DeserializeOwned>() -> Self {
        Self { parts: Sketch::of::<T>().parts() }
    }

    /// A type of which it is known how long it is.
    #[cfg(feature = "zerocopy")]
    pub(super) fn of_length(bytes: usize) -> Self {
        Self::part(format!("opaque, {bytes} bytes"))
    }

    fn part(what: String) -> Self {
        Self { parts: vec![(String::new(), what)] }
    }

    /// The parts of an argument called `name`, a line for each.
    pub fn lines(&self, name: &str) -> impl Iterator<Item = String> {
        self.parts.iter().map(move |(way, what)| match what.strip_prefix("as ") {
            Some(whole) => format!("{name}{way}: as {name}{whole}"),
            None => format!("{name}{way}: {what}"),
        })
    }
}

/// What is inside of an argument or an answer.
#[doc(hidden)]
#[must_use]
pub fn shape<C: super::Codec<T>, T>() -> Shape {
    C::shape()
}
