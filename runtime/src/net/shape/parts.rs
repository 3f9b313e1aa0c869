//! The parts of what is read without bytes, one after the other.

use super::reader::Reader;
use super::sketch::Id;
use crate::sync::planted;
use serde::de::value::{StrDeserializer, U32Deserializer};
use serde::de::{
    DeserializeSeed, EnumAccess, Error, IntoDeserializer, MapAccess, SeqAccess, VariantAccess,
    Visitor,
};
use std::any::type_name;
use std::fmt;
use std::vec::IntoIter;

/// Why a reading ends early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// The type takes no such value, or there is none to give.
    Value,
    /// The type has read the field already, under another name.
    Again,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the type takes no such value")
    }
}

impl std::error::Error for Refused {}

impl Error for Refused {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self::Value
    }

    fn duplicate_field(_: &'static str) -> Self {
        Self::Again
    }
}

/// Parts that follow each other.
pub(super) struct InOrder<'a> {
    pub(super) reader: Reader<'a>,
    pub(super) parts: IntoIter<Id>,
}

impl<'de> SeqAccess<'de> for &mut InOrder<'_> {
    type Error = Refused;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Refused> {
        let next = self.parts.next();
        next.map(|part| seed.deserialize(self.reader.part(part))).transpose()
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.parts.len())
    }
}

/// A list of one element, or none.
pub(super) struct Single<'a> {
    reader: Reader<'a>,
    one: Option<Id>,
    /// What makes its elements, as far as they were asked for.
    seed: Option<&'static str>,
}

impl<'a> Single<'a> {
    pub(super) const fn new(reader: Reader<'a>, one: Option<Id>) -> Self {
        Self { reader, one, seed: None }
    }
}

impl<'de> SeqAccess<'de> for Single<'_> {
    type Error = Refused;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Refused> {
        let is_alike = *self.seed.get_or_insert(type_name::<T>()) == type_name::<T>();
        if planted!("shape-elements-alike": !is_alike => false) {
            self.reader.unlike();
        }
        let next = self.one.take();
        next.map(|part| seed.deserialize(self.reader.part(part))).transpose()
    }
}

/// A map of one entry, or none.
pub(super) struct Pair<'a> {
    pub(super) reader: Reader<'a>,
    pub(super) pair: [Id; 2],
    pub(super) one: bool,
}

impl<'de> MapAccess<'de> for Pair<'_> {
    type Error = Refused;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Refused> {
        if !std::mem::take(&mut self.one) {
            return Ok(None);
        }
        seed.deserialize(self.reader.part(self.pair[0])).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Refused> {
        seed.deserialize(self.reader.part(self.pair[1]))
    }
}

/// The fields of a struct, by their names: first those about which there is something to learn.
pub(super) struct Named<'a> {
    reader: Reader<'a>,
    left: IntoIter<(&'static str, Id)>,
    /// Whether the type asks for names at all.
    is_asked: bool,
    /// The field whose name was given, and whose value was not asked for yet.
    named: Option<Id>,
}

impl<'a> Named<'a> {
    /// The fields of the struct at a node.
    pub(super) fn new(reader: Reader<'a>, at: Id) -> Self {
        let sketch = &mut *reader.sketch;
        let all = sketch.fields(at).map_or_else(Vec::new, |fields| fields.named.clone());
        let open = sketch.open(all.iter().map(|(_, part)| *part));
        if open.is_empty()
            && let Some(fields) = sketch.fields(at)
        {
            fields.read_at_once = true;
        }
        let mut left = all;
        left.sort_by_key(|(_, part)| open.iter().position(|it| it == part).unwrap_or(open.len()));
        Self { reader, left: left.into_iter(), is_asked: false, named: None }
    }

    /// What to make of how the reading ended.
    pub(super) fn after<T>(self, at: Id, outcome: Result<T, Refused>) -> Result<T, Refused> {
        let sketch = self.reader.sketch;
        match (&outcome, self.named) {
            (Err(Refused::Again), Some(second)) if planted!("shape-second-names": true => false) => {
                sketch.drop_field(at, second);
            }
            (Err(_), _) if !self.is_asked => sketch.read_by_position(at),
            _ => {}
        }
        outcome.map_err(|_| Refused::Value)
    }
}

impl<'de> MapAccess<'de> for &mut Named<'_> {
    type Error = Refused;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Refused> {
        self.is_asked = true;
        let Some((name, part)) = self.left.next() else { return Ok(None) };
        self.named = Some(part);
        self.reader.sketch.try_at(part);
        let name: StrDeserializer<'_, Refused> = name.into_deserializer();
        seed.deserialize(name).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Refused> {
        let part = self.named.take().ok_or(Refused::Value)?;
        seed.deserialize(self.reader.part(part))
    }
}

/// One variant of an enum, by its number, as the bytes have it.
pub(super) struct OneOf<'a> {
    pub(super) reader: Reader<'a>,
    pub(super) index: usize,
}

impl<'a, 'de> EnumAccess<'de> for OneOf<'a> {
    type Error = Refused;
    type Variant = Reader<'a>;

    fn variant_seed<V: DeserializeSeed<'de>>(
        mut self,
        seed: V,
    ) -> Result<(V::Value, Reader<'a>), Refused> {
        let index = u32::try_from(self.index).map_err(|_| Refused::Value)?;
        let number: U32Deserializer<Refused> = index.into_deserializer();
        let variant = seed.deserialize(number).inspect_err(|_| self.reader.absent())?;
        Ok((variant, self.reader))
    }
}

impl<'de> VariantAccess<'de> for Reader<'_> {
    type Error = Refused;

    fn unit_variant(mut self) -> Result<(), Refused> {
        self.nothing();
        Ok(())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Refused> {
        seed.deserialize(self)
    }

    fn tuple_variant<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, Refused> {
        self.tuple(len, visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Refused> {
        self.named(fields, visitor)
    }
}
