//! Values as they lie in memory.

use super::{Codec, DecodeError, EncodeError};
use crate::net::shape::Shape;
use zerocopy::{Immutable, IntoBytes, TryFromBytes, Unaligned};

/// Plain structs as their bytes, copied in one go: by the crate `zerocopy`, whose derives say that a type is one. With
/// the feature `zerocopy`.
///
/// The type is [`Unaligned`], so that it has the same bytes on all machines: numbers are those of
/// `zerocopy::byteorder`, such as `U64<LE>`, of one byte, or arrays of such, and structs of them are `#[repr(C)]`. Bytes
/// that are no value of the type, such as a `bool` of 2, are refused.
///
/// # Examples
/// ```
/// use greenroom::{Actor, handlers};
/// use zerocopy::byteorder::little_endian::U64;
/// use zerocopy::{Immutable, IntoBytes, TryFromBytes, Unaligned};
///
/// #[derive(Clone, Copy, TryFromBytes, IntoBytes, Immutable, Unaligned)]
/// #[repr(C)]
/// struct Quote {
///     price: U64,
///     symbol: [u8; 8],
///     firm: bool,
/// }
///
/// #[derive(Actor)]
/// struct Book {
///     best: u64,
/// }
///
/// #[handlers(wire = "acme.book/1", codec = greenroom::net::Zerocopy)]
/// impl Book {
///     #[tell]
///     fn quote(&mut self, quote: Quote) {
///         self.best = self.best.max(quote.price.get());
///     }
///     #[ask]
///     fn best(&self) -> U64 {
///         self.best.into()
///     }
/// }
/// # fn main() {}
/// ```
#[derive(Clone, Copy, Debug)]
pub enum Zerocopy {}

#[diagnostic::do_not_recommend]
impl<T: TryFromBytes + IntoBytes + Immutable + Unaligned> Codec<T> for Zerocopy {
    fn encode(value: &T, bytes: &mut Vec<u8>) -> Result<(), EncodeError> {
        bytes.extend_from_slice(value.as_bytes());
        Ok(())
    }

    fn decode(bytes: &mut &[u8]) -> Result<T, DecodeError> {
        let length = size_of::<T>();
        let malformed = |why: &str| DecodeError::Malformed(format!("{length} bytes: {why}"));
        let (taken, rest) =
            bytes.split_at_checked(length).ok_or_else(|| malformed("the end comes before"))?;
        let value = T::try_read_from_bytes(taken)
            .map_err(|_| malformed("they are no value of the type"))?;
        *bytes = rest;
        Ok(value)
    }

    fn shape() -> Shape {
        Shape::of_length(size_of::<T>())
    }
}
