//! What a message owns on the heap, for mailboxes and budgets that count bytes.
//!
//! The macros ask each part of a message. A macro sees no types, so which of three answers a part gets is left to
//! the compiler: it takes the first of the traits below whose condition holds, as it dereferences one level for each.

use std::time::{Duration, Instant, SystemTime};

/// Bytes on the heap that a value owns: not those inside it, nor those behind an `Arc`, which others own as well.
///
/// Parts of messages whose types have it are counted where a mailbox or a system is bounded by bytes. The usual types of
/// the standard library have it; of a `Vec` or `Box<[T]>` whose elements have not, the elements' own size is counted, and
/// of other types nothing.
///
/// # Examples
/// ```
/// use greenroom::HeapBytes;
///
/// struct Image {
///     pixels: Vec<u8>,
/// }
///
/// impl HeapBytes for Image {
///     fn heap_bytes(&self) -> usize {
///         self.pixels.heap_bytes()
///     }
/// }
///
/// assert_eq!(Image { pixels: Vec::with_capacity(100) }.heap_bytes(), 100);
/// assert_eq!(Some("text".to_owned()).heap_bytes(), 4);
/// ```
pub trait HeapBytes {
    /// Whether no value owns anything, so that many need not be asked one by one.
    #[doc(hidden)]
    const OWNS_NOTHING: bool = false;

    /// How many bytes. Must not change while a message that it is a part of is under way.
    fn heap_bytes(&self) -> usize;
}

macro_rules! owns_nothing {
    ($($plain:ty)+) => { $(
        impl HeapBytes for $plain {
            const OWNS_NOTHING: bool = true;

            fn heap_bytes(&self) -> usize {
                0
            }
        }
    )+ };
}

owns_nothing! {
    () bool char u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize f32 f64 Duration Instant SystemTime
}

/// What many own; their own size apart.
fn of_all<T: HeapBytes>(all: &[T]) -> usize {
    if T::OWNS_NOTHING { 0 } else { all.iter().map(T::heap_bytes).fold(0, usize::saturating_add) }
}

impl HeapBytes for str {
    fn heap_bytes(&self) -> usize {
        0
    }
}

impl HeapBytes for String {
    fn heap_bytes(&self) -> usize {
        self.capacity()
    }
}

/// What it is a part of may have twice as many.
#[cfg(feature = "net")]
impl HeapBytes for bytes::Bytes {
    fn heap_bytes(&self) -> usize {
        self.len() * 2
    }
}

impl<T: HeapBytes> HeapBytes for [T] {
    fn heap_bytes(&self) -> usize {
        of_all(self)
    }
}

impl<T: HeapBytes, const N: usize> HeapBytes for [T; N] {
    const OWNS_NOTHING: bool = T::OWNS_NOTHING;

    fn heap_bytes(&self) -> usize {
        of_all(self)
    }
}

impl<T: HeapBytes> HeapBytes for Vec<T> {
    fn heap_bytes(&self) -> usize {
        (self.capacity() * size_of::<T>()).saturating_add(of_all(self))
    }
}

impl<T: HeapBytes + ?Sized> HeapBytes for Box<T> {
    fn heap_bytes(&self) -> usize {
        size_of_val::<T>(self).saturating_add((**self).heap_bytes())
    }
}

impl<T: HeapBytes> HeapBytes for Option<T> {
    const OWNS_NOTHING: bool = T::OWNS_NOTHING;

    fn heap_bytes(&self) -> usize {
        self.as_ref().map_or(0, T::heap_bytes)
    }
}

impl<T: HeapBytes, E: HeapBytes> HeapBytes for Result<T, E> {
    const OWNS_NOTHING: bool = T::OWNS_NOTHING && E::OWNS_NOTHING;

    fn heap_bytes(&self) -> usize {
        self.as_ref().map_or_else(E::heap_bytes, T::heap_bytes)
    }
}

macro_rules! tuples {
    ($(($($part:ident)+))+) => { $(
        impl<$($part: HeapBytes),+> HeapBytes for ($($part,)+) {
            const OWNS_NOTHING: bool = $($part::OWNS_NOTHING)&&+;

            fn heap_bytes(&self) -> usize {
                #[allow(non_snake_case, reason = "a type parameter names each part")]
                let ($($part,)+) = self;
                0_usize$(.saturating_add($part.heap_bytes()))+
            }
        }
    )+ };
}

tuples! { (A) (A B) (A B C) (A B C D) }

/// A part of a message.
#[derive(Debug)]
pub struct Part<'a, T: ?Sized>(pub &'a T);

/// The first answer: the part knows what it owns.
pub trait Known {
    /// Bytes that the part owns.
    fn greenroom_heap_bytes(&self) -> usize;
}

impl<T: HeapBytes + ?Sized> Known for &&Part<'_, T> {
    fn greenroom_heap_bytes(&self) -> usize {
        self.0.heap_bytes()
    }
}

/// The second answer: the elements alone.
pub trait Shallow {
    /// Bytes that the part owns itself.
    fn greenroom_heap_bytes(&self) -> usize;
}

impl<T> Shallow for &Part<'_, Vec<T>> {
    fn greenroom_heap_bytes(&self) -> usize {
        self.0.capacity() * size_of::<T>()
    }
}

impl<T> Shallow for &Part<'_, Box<[T]>> {
    fn greenroom_heap_bytes(&self) -> usize {
        size_of_val::<[T]>(self.0)
    }
}

/// The last answer: nothing is known.
pub trait Unknown {
    /// Nothing.
    fn greenroom_heap_bytes(&self) -> usize {
        0
    }
}

impl<T: ?Sized> Unknown for Part<'_, T> {}
