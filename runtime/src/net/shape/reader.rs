//! A deserializer without bytes: notes what it is asked for, and gives values that cost nothing.

use super::parts::{InOrder, Named, OneOf, Pair, Refused, Single};
use super::sketch::{Fields, Id, Kind, Sketch};
use serde::de::{Deserializer, Visitor};
use std::any::type_name;

/// How deep parts lie within each other at most.
const DEPTH_MAX: u32 = 64;

/// Reads the part of a type that is one node of its sketch.
pub(super) struct Reader<'a> {
    pub(super) sketch: &'a mut Sketch,
    at: Id,
    /// How many parts, and how many types with a name, it lies in.
    depth: u32,
    types: usize,
    /// Whether any value will do, because it stands for a part that is read elsewhere.
    any: bool,
}

impl<'a> Reader<'a> {
    pub(super) const fn new(sketch: &'a mut Sketch) -> Self {
        Self { sketch, at: 0, depth: 0, types: 0, any: false }
    }

    /// The reader of one of its parts.
    pub(super) const fn part(&mut self, at: Id) -> Reader<'_> {
        Reader { sketch: self.sketch, at, depth: self.depth + 1, types: self.types, any: self.any }
    }

    /// Whether there is something to learn here.
    pub(super) fn is_open(&self, at: Id) -> bool {
        !self.any && !self.sketch.is_done(at)
    }

    fn leaf(&mut self, name: &'static str) {
        self.sketch.learn(self.at, Kind::Leaf(name));
    }

    /// What nothing is known of, and what is not read any further.
    fn opaque<T>(&mut self) -> Result<T, Refused> {
        self.sketch.learn(self.at, Kind::Opaque);
        Err(Refused::Value)
    }

    /// Notes that its parts are not all of one type, as those of such a thing should be.
    pub(super) fn unlike(&mut self) {
        self.sketch.learn(self.at, Kind::Opaque);
    }

    /// The nodes of so many parts: those that `known` has, or new ones, which `kind` makes of them.
    fn parts(
        &mut self,
        count: usize,
        known: impl FnOnce(&Kind) -> Option<Vec<Id>>,
        kind: impl FnOnce(&[Id]) -> Kind,
    ) -> Result<Vec<Id>, Refused> {
        // New parts for what is opaque would be of no use, and there are not that many.
        if self.depth > DEPTH_MAX || *self.sketch.kind(self.at) == Kind::Opaque {
            return self.opaque();
        }
        if let Some(parts) = known(self.sketch.kind(self.at)) {
            return Ok(parts);
        }
        let Some(parts) = self.sketch.add(count) else { return self.opaque() };
        self.sketch.learn(self.at, kind(&parts));
        Ok(parts)
    }

    /// Enters the type that `V` makes; if it lies in itself, goes on as any value of it.
    fn enter<V>(&mut self) -> Result<(), Refused> {
        let outer = self.sketch.enter(self.types, type_name::<V>(), self.at);
        self.types += 1;
        let Some(outer) = outer else { return Ok(()) };
        if !self.any {
            self.sketch.learn(self.at, Kind::As(outer));
        }
        (self.at, self.any) = (outer, true);
        if self.sketch.is_finite(outer) { Ok(()) } else { Err(Refused::Value) }
    }

    /// Reads parts that follow each other.
    fn in_order<'de, V: Visitor<'de>>(
        mut self,
        parts: Vec<Id>,
        visitor: V,
    ) -> Result<V::Value, Refused> {
        let (at, count) = (self.at, parts.len());
        let mut access = InOrder { reader: self.part(at), parts: parts.into_iter() };
        let value = visitor.visit_seq(&mut access)?;
        // A type may read fewer than it says.
        let read = count - access.parts.len();
        self.sketch.shorten(at, read);
        Ok(value)
    }

    /// Reads a struct's fields by their names, so that none needs the value of another one.
    pub(super) fn named<'de, V: Visitor<'de>>(
        mut self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Refused> {
        let known = |kind: &Kind| match kind {
            Kind::Struct(fields) => Some(fields.named.iter().map(|(_, part)| *part).collect()),
            _ => None,
        };
        let parts = self.parts(fields.len(), known, |parts| {
            let named = fields.iter().copied().zip(parts.iter().copied()).collect();
            Kind::Struct(Fields { named, by_position: false, read_at_once: false })
        })?;
        let at = self.at;
        let Some(known) = self.sketch.fields(at) else { return Err(Refused::Value) };
        if known.by_position {
            return self.in_order(parts, visitor);
        }
        let mut access = Named::new(self.part(at), at);
        let outcome = visitor.visit_map(&mut access);
        access.after(at, outcome)
    }

    /// Reads what is in a tuple, or in a struct or variant without names.
    pub(super) fn tuple<'de, V: Visitor<'de>>(
        mut self,
        len: usize,
        visitor: V,
    ) -> Result<V::Value, Refused> {
        let known = |kind: &Kind| match kind {
            Kind::Tuple(parts) => Some(parts.clone()),
            _ => None,
        };
        let parts = self.parts(len, known, |parts| Kind::Tuple(parts.to_vec()))?;
        self.in_order(parts, visitor)
    }

    /// Notes that there is nothing in it.
    pub(super) fn nothing(&mut self) {
        self.leaf("()");
    }

    /// Notes that nothing has this name.
    pub(super) fn absent(&mut self) {
        self.sketch.learn(self.at, Kind::Absent);
    }
}

macro_rules! leaves {
    ($($method:ident $name:literal $visit:ident $value:expr,)+) => {
        $(fn $method<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, Refused> {
            self.leaf($name);
            visitor.$visit($value)
        })+
    };
}

impl<'de> Deserializer<'de> for Reader<'_> {
    type Error = Refused;

    // One is a number that is refused seldom.
    leaves! {
        deserialize_bool "bool" visit_bool true,
        deserialize_i8 "i8" visit_i8 1,
        deserialize_i16 "i16" visit_i16 1,
        deserialize_i32 "i32" visit_i32 1,
        deserialize_i64 "i64" visit_i64 1,
        deserialize_i128 "i128" visit_i128 1,
        deserialize_u8 "u8" visit_u8 1,
        deserialize_u16 "u16" visit_u16 1,
        deserialize_u32 "u32" visit_u32 1,
        deserialize_u64 "u64" visit_u64 1,
        deserialize_u128 "u128" visit_u128 1,
        deserialize_f32 "f32" visit_f32 1.0,
        deserialize_f64 "f64" visit_f64 1.0,
        deserialize_char "char" visit_char '1',
        deserialize_str "String" visit_string "1".to_owned(),
        deserialize_string "String" visit_string "1".to_owned(),
        deserialize_bytes "bytes" visit_byte_buf Vec::new(),
        deserialize_byte_buf "bytes" visit_byte_buf Vec::new(),
    }

    fn deserialize_unit<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, Refused> {
        self.nothing();
        visitor.visit_unit()
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Refused> {
        self.deserialize_unit(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, Refused> {
        let known = |kind: &Kind| match kind {
            Kind::Optional(part) => Some(vec![*part]),
            _ => None,
        };
        let part = self.parts(1, known, |parts| Kind::Optional(parts[0]))?[0];
        if self.is_open(part) { visitor.visit_some(self.part(part)) } else { visitor.visit_none() }
    }

    fn deserialize_seq<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, Refused> {
        let known = |kind: &Kind| match kind {
            Kind::List(part) => Some(vec![*part]),
            _ => None,
        };
        let part = self.parts(1, known, |parts| Kind::List(parts[0]))?[0];
        let one = self.is_open(part).then_some(part);
        visitor.visit_seq(Single::new(self, one))
    }

    fn deserialize_map<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, Refused> {
        let known = |kind: &Kind| match kind {
            Kind::Map(parts) => Some(parts.to_vec()),
            _ => None,
        };
        let parts = self.parts(2, known, |parts| Kind::Map([parts[0], parts[1]]))?;
        let pair = [parts[0], parts[1]];
        let one = pair.iter().any(|part| self.is_open(*part));
        visitor.visit_map(Pair { reader: self, pair, one })
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        mut self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Refused> {
        self.enter::<V>()?;
        if self.depth > DEPTH_MAX {
            return self.opaque();
        }
        // It has the bytes of what is in it.
        self.depth += 1;
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        len: usize,
        visitor: V,
    ) -> Result<V::Value, Refused> {
        self.tuple(len, visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        mut self,
        _: &'static str,
        len: usize,
        visitor: V,
    ) -> Result<V::Value, Refused> {
        self.enter::<V>()?;
        self.tuple(len, visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        mut self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Refused> {
        self.enter::<V>()?;
        self.named(fields, visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        mut self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Refused> {
        self.enter::<V>()?;
        let known = |kind: &Kind| match kind {
            Kind::Enum(variants) => Some(variants.iter().map(|(_, part)| *part).collect()),
            _ => None,
        };
        let parts = self.parts(variants.len(), known, |parts| {
            Kind::Enum(variants.iter().copied().zip(parts.iter().copied()).collect())
        })?;
        let open = self.sketch.open(parts.iter().copied()).first().copied().filter(|_| !self.any);
        let finite = || parts.iter().copied().find(|part| self.sketch.is_finite(*part));
        let part = open.or_else(finite).ok_or(Refused::Value)?;
        let index = parts.iter().position(|it| *it == part).unwrap_or(0);
        self.sketch.try_at(part);
        visitor.visit_enum(OneOf { reader: self.part(part), index })
    }

    /// For formats that say what comes; the bytes do not.
    fn deserialize_any<V: Visitor<'de>>(mut self, _: V) -> Result<V::Value, Refused> {
        self.opaque()
    }

    fn deserialize_identifier<V: Visitor<'de>>(mut self, _: V) -> Result<V::Value, Refused> {
        self.opaque()
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(mut self, _: V) -> Result<V::Value, Refused> {
        self.opaque()
    }

    fn is_human_readable(&self) -> bool {
        false
    }
}
