//! Values as bytes.

mod bounded;
#[cfg(feature = "prost")]
mod prost;
#[cfg(feature = "zerocopy")]
mod zerocopy;

#[cfg(feature = "prost")]
pub use prost::Prost;
#[cfg(feature = "zerocopy")]
pub use zerocopy::Zerocopy;

use super::shape::Shape;
use super::whole;
use bytes::Bytes;
use postcard::ser_flavors::Flavor;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::any::Any;

/// How values of the type `T` go on the wire.
///
/// Both ends use the codec that `#[handlers(wire = "..", codec = ..)]` names; without one that is
/// [`Postcard`]. Bytes come from outside: `decode` is to return an error for whatever it does not expect, and
/// must neither panic nor allocate more than the bytes stand for.
#[diagnostic::on_unimplemented(
    message = "`{T}` cannot go on the wire",
    label = "this goes to other nodes by `{Self}`",
    note = "for the usual codec, write `#[derive(serde::Serialize, serde::Deserialize)]` on it",
    note = "a method that only this node calls needs no `#[tell]`: make it `#[local]`"
)]
pub trait Codec<T> {
    /// Puts `value` behind what `bytes` holds already.
    ///
    /// # Errors
    /// [`EncodeError`] when it cannot be put into bytes; what was written by then is thrown away.
    fn encode(value: &T, bytes: &mut Vec<u8>) -> Result<(), EncodeError>;

    /// Takes a value off the front of `bytes`.
    ///
    /// # Errors
    /// [`DecodeError`] when there is none.
    fn decode(bytes: &mut &[u8]) -> Result<T, DecodeError>;

    /// What is inside of the type, for the committed record ([`lock`](super::lock)). Unless the codec says more, the type's
    /// name alone stands for it, and a change inside of it is not seen.
    #[must_use]
    fn shape() -> Shape {
        Shape::opaque()
    }
}

/// Whatever serde knows, in the format of the crate `postcard`: short, and by position.
///
/// An argument or an answer of the type [`Bytes`] is kept where it came in, without a copy, if it is 1 KiB or more, and either at
/// least half of the memory that it came in or in memory that the transport [lends](super::FrameBuf::lent). It has the bytes of a `Vec<u8>` on the wire, but is another type, so that to replace one by the
/// other takes `migrate` where nodes of both kinds are to understand each other.
///
/// Inside another value serde takes a `Vec<u8>` byte by byte: where it is long, make it [`Bytes`], or write
/// `#[serde(with = "serde_bytes")]` on the field, and it is copied at once. The bytes on the wire are the same.
///
/// A value is no deeper than 128 levels of values inside of values ([`DecodeError::TooDeep`]): options, sequences, maps,
/// tuples, structs and enums count one each. Of values that take no bytes, such as those in a `Vec<()>`, an argument has
/// 65,536 at most. Before they come, sequences and maps make room for as many elements as there are bytes, all of them together.
#[derive(Clone, Copy, Debug)]
pub enum Postcard {}

#[diagnostic::do_not_recommend]
impl<T: Serialize + DeserializeOwned + 'static> Codec<T> for Postcard {
    fn encode(value: &T, bytes: &mut Vec<u8>) -> Result<(), EncodeError> {
        let failed = |error: postcard::Error| EncodeError(error.to_string());
        // serde knows bytes one by one only. As a whole they look the same, and are copied at once.
        if let Some(whole) = (value as &dyn Any).downcast_ref::<Vec<u8>>() {
            postcard::serialize_with_flavor(&whole.len(), Behind(bytes)).map_err(failed)?;
            bytes.extend_from_slice(whole);
            return Ok(());
        }
        postcard::serialize_with_flavor(value, Behind(bytes)).map_err(failed)
    }

    fn decode(bytes: &mut &[u8]) -> Result<T, DecodeError> {
        let mut value = None::<T>;
        let as_bytes = &mut value as &mut dyn Any;
        if let Some(copied) = as_bytes.downcast_mut::<Option<Vec<u8>>>() {
            *copied = Some(take_bytes(bytes)?.to_vec());
        } else if let Some(kept) = as_bytes.downcast_mut::<Option<Bytes>>() {
            *kept = Some(whole::keep(take_bytes(bytes)?));
        }
        value.map_or_else(|| take(bytes), Ok)
    }

    fn shape() -> Shape {
        Shape::traced::<T>()
    }
}

/// Takes bytes off the front of `bytes`, behind their length.
fn take_bytes<'a>(bytes: &mut &'a [u8]) -> Result<&'a [u8], DecodeError> {
    let len = take::<usize>(bytes)?;
    let (taken, rest) = bytes
        .split_at_checked(len)
        .ok_or_else(|| malformed(&postcard::Error::DeserializeUnexpectedEnd))?;
    *bytes = rest;
    Ok(taken)
}

/// Where postcard puts what it writes: behind what is there.
struct Behind<'a>(&'a mut Vec<u8>);

impl Flavor for Behind<'_> {
    type Output = ();

    #[inline]
    fn try_extend(&mut self, data: &[u8]) -> postcard::Result<()> {
        self.0.extend_from_slice(data);
        Ok(())
    }

    #[inline]
    fn try_push(&mut self, data: u8) -> postcard::Result<()> {
        self.0.push(data);
        Ok(())
    }

    fn finalize(self) -> postcard::Result<()> {
        Ok(())
    }
}

fn malformed(error: &postcard::Error) -> DecodeError {
    DecodeError::Malformed(error.to_string())
}

/// Takes a value off the front of `bytes`, as [`Postcard`] does.
pub(super) fn take<T: DeserializeOwned>(bytes: &mut &[u8]) -> Result<T, DecodeError> {
    bounded::take(bytes)
}

/// Why a value is not put into bytes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot be put into bytes: {0}")]
pub struct EncodeError(pub String);

/// Why bytes are not a message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The protocol has no message of that name.
    #[error("the protocol has no such message")]
    Unknown,
    /// They are not what its parameters look like.
    #[error("malformed: {0}")]
    Malformed(String),
    /// They have more levels of values inside of values than any may have. Worth no other try.
    #[error("more than 128 levels of values inside of values")]
    TooDeep,
}

/// Puts an argument or an answer behind `bytes`.
#[doc(hidden)]
pub fn encode<C: Codec<T>, T>(value: &T, bytes: &mut Vec<u8>) -> Result<(), EncodeError> {
    C::encode(value, bytes)
}

/// Takes an argument or an answer off the front of `bytes`.
#[doc(hidden)]
pub fn decode<C: Codec<T>, T>(bytes: &mut &[u8]) -> Result<T, DecodeError> {
    C::decode(bytes)
}

/// Ends after the last argument.
#[doc(hidden)]
pub fn finish(bytes: &[u8]) -> Result<(), DecodeError> {
    match bytes.len() {
        0 => Ok(()),
        rest => Err(DecodeError::Malformed(format!("{rest} bytes follow its end"))),
    }
}
