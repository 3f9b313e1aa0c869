//! Who a node is, and where.

use std::fmt;
use std::str::FromStr;

/// A text that is not what it should be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not {wanted}")]
pub struct ParseError {
    text: String,
    wanted: &'static str,
}

macro_rules! number {
    ($(#[doc = $doc:literal])+ $name:ident, $wanted:literal) => {
        $(#[doc = $doc])+
        ///
        /// Written as sixteen hexadecimal digits.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u64);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:016x}", self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self)
            }
        }

        impl FromStr for $name {
            type Err = ParseError;

            fn from_str(text: &str) -> Result<Self, ParseError> {
                let digits = text.len() == 16 && text.bytes().all(|b| b.is_ascii_hexdigit());
                let number = u64::from_str_radix(text, 16).ok().filter(|_| digits);
                let error = || ParseError { text: text.to_owned(), wanted: $wanted };
                number.map(Self).ok_or_else(error)
            }
        }
    };
}

number!(
    /// Which node: the same for all its incarnations. A transport with keys derives it from the node's.
    NodeId, "a node id of sixteen hexadecimal digits"
);

number!(
    /// Which run of a node's program: another number after each start.
    Incarnation, "an incarnation of sixteen hexadecimal digits"
);

/// A node, as its peers know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Identity {
    /// Which node.
    pub node: NodeId,
    /// Which run of it.
    pub incarnation: Incarnation,
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.node, self.incarnation)
    }
}

/// Where a node is: a scheme, which says by what transport, and a place that means something to that.
///
/// ```
/// use greenroom::net::Address;
///
/// let address: Address = "udp:10.0.0.1:7000".parse()?;
/// assert_eq!((address.scheme(), address.place()), ("udp", "10.0.0.1:7000"));
/// # Ok::<(), greenroom::net::ParseError>(())
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address {
    text: String,
    colon: usize,
}

impl Address {
    /// What stands before the first colon.
    #[must_use]
    pub fn scheme(&self) -> &str {
        &self.text[..self.colon]
    }

    /// What stands behind it.
    #[must_use]
    pub fn place(&self) -> &str {
        &self.text[self.colon + 1..]
    }
}

impl FromStr for Address {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
        match text.split_once(':') {
            Some((scheme, place))
                if !scheme.is_empty() && !place.is_empty() && scheme.chars().all(plain) =>
            {
                Ok(Self { text: text.to_owned(), colon: scheme.len() })
            }
            _ => Err(ParseError {
                text: text.to_owned(),
                wanted: "an address such as `udp:10.0.0.1:7000`",
            }),
        }
    }
}

/// As it is written, between quotes.
impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.text.fmt(f)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
