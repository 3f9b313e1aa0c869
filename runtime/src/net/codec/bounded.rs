//! Values of postcard that are bounded in depth and in number, whatever their bytes say.
//!
//! A recursive type is read by a recursive function, a level for each byte or two: the stack of a worker would overflow,
//! which ends the process. And what takes no bytes may be there as often as a length says, which is without end. Room is made
//! beforehand for as many elements as there are bytes, for all lengths inside of each other together: none of the elements need come.
//!
//! Nothing is done for numbers, texts and bytes; what has parts hands on how many levels are left.

use super::{DecodeError, malformed};
use crate::sync::planted;
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, Error, MapAccess, SeqAccess,
    VariantAccess, Visitor,
};
use std::cell::Cell;
use std::fmt;

/// Levels of values inside of values at most: as many as `serde_json` takes.
const LEVELS_MAX: u32 = 128;

/// Elements without any bytes, in an argument, at most. All others take a byte each.
const EMPTY_MAX: usize = 65_536;

/// Takes a value off the front of `bytes`.
pub(super) fn take<T: DeserializeOwned>(bytes: &mut &[u8]) -> Result<T, DecodeError> {
    let bounds = Bounds {
        elements: Cell::new(bytes.len() + EMPTY_MAX),
        foreseen: Cell::new(bytes.len()),
        is_deep: Cell::new(false),
    };
    let failed =
        |error| if bounds.is_deep.get() { DecodeError::TooDeep } else { malformed(&error) };
    let mut from = postcard::Deserializer::from_bytes(bytes);
    let within = Within { levels: LEVELS_MAX, bounds: &bounds };
    let value = T::deserialize(Bounded { it: &mut from, within }).map_err(failed)?;
    *bytes = from.finalize().map_err(failed)?;
    Ok(value)
}

/// What is left for a whole argument.
struct Bounds {
    /// Elements of sequences and maps.
    elements: Cell<usize>,
    /// Those that room may be made for before they come.
    foreseen: Cell<usize>,
    /// Whether there was a level too many: the errors of postcard have no texts.
    is_deep: Cell<bool>,
}

/// What is left at some place in it.
#[derive(Clone, Copy)]
struct Within<'b> {
    levels: u32,
    bounds: &'b Bounds,
}

impl Within<'_> {
    #[inline]
    fn deeper<E: Error>(self) -> Result<Self, E> {
        match self.levels.checked_sub(1) {
            Some(levels) => Ok(Self { levels, ..self }),
            None => Err(self.too_deep()),
        }
    }

    #[cold]
    fn too_deep<E: Error>(self) -> E {
        self.bounds.is_deep.set(true);
        E::custom("too deep")
    }

    /// Counts elements that come.
    #[inline]
    fn spend<E: Error>(self, count: usize) -> Result<(), E> {
        let left = self.bounds.elements.get().checked_sub(count);
        self.bounds.elements.set(left.ok_or_else(|| E::custom("more elements than bytes"))?);
        Ok(())
    }

    /// Counts elements of which a length was said; returns for how many of them room is made before they come.
    #[inline]
    fn announce<E: Error>(self, len: Option<usize>) -> Result<Option<usize>, E> {
        let Some(len) = len else { return Ok(None) };
        self.spend(len)?;
        let left = self.bounds.foreseen.get();
        let granted = planted!("claims-believed": len.min(left) => len);
        self.bounds.foreseen.set(left.saturating_sub(granted));
        Ok(Some(granted))
    }
}

/// Something of serde's, inside of which there is so much left.
struct Bounded<'b, T> {
    it: T,
    within: Within<'b>,
}

/// The elements of a sequence, or the fields of a struct.
struct Elements<'b, A> {
    it: A,
    within: Within<'b>,
    /// Whether each is counted by itself: how many there are is not known.
    is_counting: bool,
    /// How many to make room for.
    foreseen: Option<usize>,
}

/// The entries of a map.
struct Entries<'b, A> {
    it: A,
    within: Within<'b>,
    /// How many to make room for.
    foreseen: Option<usize>,
}

/// Who is given a sequence or map whose length came with it.
struct Many<'b, V>(Bounded<'b, V>);

macro_rules! as_it_is {
    ($($method:ident)*) => {$(
        #[inline]
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
            self.it.$method(visitor)
        }
    )*};
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Bounded<'_, D> {
    type Error = D::Error;

    as_it_is! {
        deserialize_any deserialize_bool deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64
        deserialize_i128 deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128
        deserialize_f32 deserialize_f64 deserialize_char deserialize_str deserialize_string
        deserialize_bytes deserialize_byte_buf deserialize_unit deserialize_identifier
        deserialize_ignored_any
    }

    #[inline]
    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.it.deserialize_unit_struct(name, visitor)
    }

    #[inline]
    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        let within = self.within.deeper()?;
        self.it.deserialize_option(Bounded { it: visitor, within })
    }

    #[inline]
    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        let within = self.within.deeper()?;
        self.it.deserialize_newtype_struct(name, Bounded { it: visitor, within })
    }

    #[inline]
    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        let within = self.within.deeper()?;
        self.it.deserialize_seq(Many(Bounded { it: visitor, within }))
    }

    #[inline]
    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        let within = self.within.deeper()?;
        self.it.deserialize_map(Many(Bounded { it: visitor, within }))
    }

    #[inline]
    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        len: usize,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        let within = self.within.deeper()?;
        self.it.deserialize_tuple(len, Bounded { it: visitor, within })
    }

    #[inline]
    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        len: usize,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        let within = self.within.deeper()?;
        self.it.deserialize_tuple_struct(name, len, Bounded { it: visitor, within })
    }

    #[inline]
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        let within = self.within.deeper()?;
        self.it.deserialize_struct(name, fields, Bounded { it: visitor, within })
    }

    #[inline]
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        let within = self.within.deeper()?;
        self.it.deserialize_enum(name, variants, Bounded { it: visitor, within })
    }

    #[inline]
    fn is_human_readable(&self) -> bool {
        self.it.is_human_readable()
    }
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Bounded<'_, V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.it.expecting(f)
    }

    #[inline]
    fn visit_none<E: Error>(self) -> Result<V::Value, E> {
        self.it.visit_none()
    }

    #[inline]
    fn visit_some<D: Deserializer<'de>>(self, it: D) -> Result<V::Value, D::Error> {
        self.it.visit_some(Bounded { it, within: self.within })
    }

    #[inline]
    fn visit_newtype_struct<D: Deserializer<'de>>(self, it: D) -> Result<V::Value, D::Error> {
        self.it.visit_newtype_struct(Bounded { it, within: self.within })
    }

    #[inline]
    fn visit_seq<A: SeqAccess<'de>>(self, it: A) -> Result<V::Value, A::Error> {
        let foreseen = it.size_hint();
        self.it.visit_seq(Elements { it, within: self.within, is_counting: false, foreseen })
    }

    #[inline]
    fn visit_enum<A: EnumAccess<'de>>(self, it: A) -> Result<V::Value, A::Error> {
        self.it.visit_enum(Bounded { it, within: self.within })
    }
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Many<'_, V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.it.expecting(f)
    }

    #[inline]
    fn visit_seq<A: SeqAccess<'de>>(self, it: A) -> Result<V::Value, A::Error> {
        let Bounded { it: visitor, within } = self.0;
        let foreseen = within.announce(it.size_hint())?;
        visitor.visit_seq(Elements { it, within, is_counting: foreseen.is_none(), foreseen })
    }

    #[inline]
    fn visit_map<A: MapAccess<'de>>(self, it: A) -> Result<V::Value, A::Error> {
        let Bounded { it: visitor, within } = self.0;
        let foreseen = within.announce(it.size_hint())?;
        visitor.visit_map(Entries { it, within, foreseen })
    }
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Bounded<'_, S> {
    type Value = S::Value;

    #[inline]
    fn deserialize<D: Deserializer<'de>>(self, it: D) -> Result<S::Value, D::Error> {
        self.it.deserialize(Bounded { it, within: self.within })
    }
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Elements<'_, A> {
    type Error = A::Error;

    #[inline]
    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, A::Error> {
        if self.is_counting {
            self.within.spend(1)?;
        }
        self.it.next_element_seed(Bounded { it: seed, within: self.within })
    }

    #[inline]
    fn size_hint(&self) -> Option<usize> {
        self.foreseen
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Entries<'_, A> {
    type Error = A::Error;

    #[inline]
    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, A::Error> {
        self.it.next_key_seed(Bounded { it: seed, within: self.within })
    }

    #[inline]
    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        self.it.next_value_seed(Bounded { it: seed, within: self.within })
    }

    #[inline]
    fn size_hint(&self) -> Option<usize> {
        self.foreseen
    }
}

impl<'de, 'b, A: EnumAccess<'de>> EnumAccess<'de> for Bounded<'b, A> {
    type Error = A::Error;
    type Variant = Bounded<'b, A::Variant>;

    #[inline]
    fn variant_seed<S: DeserializeSeed<'de>>(
        self,
        seed: S,
    ) -> Result<(S::Value, Self::Variant), A::Error> {
        let (which, it) = self.it.variant_seed(seed)?;
        Ok((which, Bounded { it, within: self.within }))
    }
}

impl<'de, A: VariantAccess<'de>> VariantAccess<'de> for Bounded<'_, A> {
    type Error = A::Error;

    #[inline]
    fn unit_variant(self) -> Result<(), A::Error> {
        self.it.unit_variant()
    }

    #[inline]
    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, A::Error> {
        self.it.newtype_variant_seed(Bounded { it: seed, within: self.within })
    }

    #[inline]
    fn tuple_variant<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, A::Error> {
        self.it.tuple_variant(len, Bounded { it: visitor, within: self.within })
    }

    #[inline]
    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, A::Error> {
        self.it.struct_variant(fields, Bounded { it: visitor, within: self.within })
    }
}
