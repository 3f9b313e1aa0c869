//! Values as protocol buffers.

use super::{Codec, DecodeError, EncodeError};
use ::prost::Message;

/// Protocol buffers, by the crate `prost`, each behind its length: for protocols whose types come from `.proto` files.
/// With the feature `prost`.
///
/// Types are what `#[derive(prost::Message)]` makes, and those that `prost` has a message for: `u32`, `u64`, `i32`,
/// `i64`, `f32`, `f64`, `bool`, `String`, `Vec<u8>` and `()`. Fields that a program does not know are skipped, so a message
/// type may gain fields without another version of the protocol.
///
/// # Examples
/// ```
/// use greenroom::{Actor, handlers};
///
/// #[derive(Actor)]
/// struct Book {
///     best: u64,
/// }
///
/// #[handlers(wire = "acme.book/1", codec = greenroom::net::Prost)]
/// impl Book {
///     #[tell]
///     fn quote(&mut self, price: u64) {
///         self.best = self.best.max(price);
///     }
///     #[ask]
///     fn best(&self) -> u64 {
///         self.best
///     }
/// }
/// # fn main() {}
/// ```
#[derive(Clone, Copy, Debug)]
pub enum Prost {}

#[diagnostic::do_not_recommend]
impl<T: Message + Default> Codec<T> for Prost {
    fn encode(value: &T, bytes: &mut Vec<u8>) -> Result<(), EncodeError> {
        value.encode_length_delimited(bytes).map_err(|error| EncodeError(error.to_string()))
    }

    fn decode(bytes: &mut &[u8]) -> Result<T, DecodeError> {
        T::decode_length_delimited(bytes).map_err(|error| DecodeError::Malformed(error.to_string()))
    }
}
