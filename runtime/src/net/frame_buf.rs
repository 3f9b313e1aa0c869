//! The memory in which a frame comes.

use bytes::Bytes;
use std::fmt;
use std::ops::Deref;

/// The bytes of a frame that came: in memory of its own, which is used again for the next one, or in memory that the transport
/// lends, and has back when nobody keeps any of it. Derefs to the bytes.
///
/// ```
/// use greenroom::net::{Bytes, FrameBuf};
///
/// let own = FrameBuf::from(vec![1, 2, 3]);
/// let lent = FrameBuf::lent(Bytes::from_static(&[1, 2, 3]));
/// assert_eq!(own, lent);
/// assert_eq!(lent.into_own(), [0; 0], "there is nothing to use again");
/// ```
#[derive(Clone)]
pub struct FrameBuf(Memory);

#[derive(Clone)]
enum Memory {
    Own(Vec<u8>),
    /// Apart, so that this is no longer than the other, which most are.
    Lent(Box<Bytes>),
}

impl FrameBuf {
    /// A frame that lies in memory of the transport's, such as registered memory. An argument that is most of a frame may keep all
    /// of it for as long as an actor wants, so a transport lends as much as it can be without.
    #[must_use]
    pub fn lent(bytes: Bytes) -> Self {
        Self(Memory::Lent(Box::new(bytes)))
    }

    /// Its memory, if it is its own, to be used again; or none.
    #[inline]
    #[must_use]
    pub fn into_own(self) -> Vec<u8> {
        match self.0 {
            Memory::Own(bytes) => bytes,
            Memory::Lent(_) => Vec::new(),
        }
    }

    #[inline]
    pub(super) const fn is_lent(&self) -> bool {
        matches!(self.0, Memory::Lent(_))
    }

    /// Bytes of memory that it has, as far as it is its own.
    pub(super) fn capacity(&self) -> usize {
        match &self.0 {
            Memory::Own(bytes) => bytes.capacity(),
            Memory::Lent(bytes) => bytes.len(),
        }
    }
}

impl Default for FrameBuf {
    /// Without bytes; does not allocate.
    #[inline]
    fn default() -> Self {
        Self(Memory::Own(Vec::new()))
    }
}

impl From<Vec<u8>> for FrameBuf {
    #[inline]
    fn from(bytes: Vec<u8>) -> Self {
        Self(Memory::Own(bytes))
    }
}

impl Deref for FrameBuf {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match &self.0 {
            Memory::Own(bytes) => bytes,
            Memory::Lent(bytes) => bytes,
        }
    }
}

impl fmt::Debug for FrameBuf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl PartialEq for FrameBuf {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for FrameBuf {}
