//! What is known of a type while it is read again and again.

use super::reader::Reader;
use crate::sync::planted;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;

/// Parts of a type that are looked at.
const NODES_MAX: usize = 4096;

/// Names a node of the sketch.
pub(super) type Id = usize;

/// What a part is.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kind {
    /// Nothing has asked for it yet.
    Unseen,
    /// It has no parts.
    Leaf(&'static str),
    Optional(Id),
    List(Id),
    Map([Id; 2]),
    Tuple(Vec<Id>),
    Struct(Fields),
    Enum(Vec<(&'static str, Id)>),
    /// The same as what it lies in.
    As(Id),
    /// The readings do not get there.
    Opaque,
    /// A name that stands for nothing of its own.
    Absent,
}

/// The fields of a struct.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Fields {
    pub(super) named: Vec<(&'static str, Id)>,
    /// Whether they are read by their position, because the type reads them in no other way.
    pub(super) by_position: bool,
    /// Whether all were read at once, which tells second names from fields.
    pub(super) read_at_once: bool,
}

/// See the [module](self). The node 0 is the type as a whole.
#[derive(Debug)]
pub(super) struct Sketch {
    kinds: Vec<Kind>,
    /// How often a reading has tried to get to each node.
    tries: Vec<u32>,
    /// What was learned, to see whether a reading has taught anything.
    learned: u64,
    /// The types that the node now read lies in, and the nodes that they are.
    within: Vec<(&'static str, Id)>,
}

impl Sketch {
    /// Reads the type until there is nothing more to learn.
    pub(super) fn of<T: DeserializeOwned>() -> Self {
        let mut sketch =
            Self { kinds: vec![Kind::Unseen], tries: vec![0], learned: 0, within: Vec::new() };
        let mut idle = 0;
        // A reading tries what was tried least, so as many that teach nothing have tried everything.
        while !sketch.is_done(0) && idle <= sketch.kinds.len() {
            let before = sketch.learned;
            sketch.within.clear();
            let _ = T::deserialize(Reader::new(&mut sketch));
            idle = if sketch.learned > before { 0 } else { idle + 1 };
        }
        sketch
    }

    pub(super) fn kind(&self, at: Id) -> &Kind {
        &self.kinds[at]
    }

    pub(super) fn fields(&mut self, at: Id) -> Option<&mut Fields> {
        match &mut self.kinds[at] {
            Kind::Struct(fields) => Some(fields),
            _ => None,
        }
    }

    /// Notes what a node is. One that was something else before depends on values, so there is no telling.
    pub(super) fn learn(&mut self, at: Id, kind: Kind) {
        let is_unlike = self.kinds[at] != Kind::Unseen && self.kinds[at] != kind;
        let kind =
            planted!("shape-readings-alike": if is_unlike { Kind::Opaque } else { kind } => kind);
        if self.kinds[at] != kind {
            self.learned += 1;
            self.kinds[at] = kind;
        }
    }

    /// Nodes for so many parts; `None` when there are too many.
    pub(super) fn add(&mut self, count: usize) -> Option<Vec<Id>> {
        let first = self.kinds.len();
        let end = first.checked_add(count).filter(|end| *end <= NODES_MAX)?;
        self.kinds.resize(end, Kind::Unseen);
        self.tries.resize(end, 0);
        Some((first..end).collect())
    }

    /// Enters a type at a node that lies in `depth` others: the node that the type is already, if it lies in itself.
    pub(super) fn enter(&mut self, depth: usize, name: &'static str, at: Id) -> Option<Id> {
        self.within.truncate(depth);
        let outer = self.within.iter().find(|(within, id)| *within == name && *id != at);
        let outer = planted!("shape-lies-in-itself": outer.map(|(_, id)| *id) => None);
        self.within.push((name, at));
        outer
    }

    /// The type reads only so many of its parts.
    pub(super) fn shorten(&mut self, at: Id, len: usize) {
        match &mut self.kinds[at] {
            Kind::Tuple(parts) if parts.len() > len => parts.truncate(len),
            Kind::Struct(fields) if fields.named.len() > len => fields.named.truncate(len),
            _ => return,
        }
        self.learned += 1;
    }

    /// A field is another one under a second name.
    pub(super) fn drop_field(&mut self, at: Id, second: Id) {
        if let Some(fields) = self.fields(at) {
            fields.named.retain(|(_, part)| *part != second);
            fields.read_at_once = false;
            self.learned += 1;
        }
    }

    /// A struct is not read by the names of its fields.
    pub(super) fn read_by_position(&mut self, at: Id) {
        if let Some(fields) = self.fields(at) {
            (fields.by_position, fields.read_at_once) = (true, true);
            self.learned += 1;
        }
    }

    /// Those of the nodes about which there is something to learn, what was tried least first.
    pub(super) fn open(&self, nodes: impl Iterator<Item = Id>) -> Vec<Id> {
        let mut open: Vec<_> = nodes.filter(|at| !self.is_done(*at)).collect();
        open.sort_by_key(|at| self.tries[*at]);
        open
    }

    /// A reading tries to get to a node.
    pub(super) fn try_at(&mut self, at: Id) {
        self.tries[at] += 1;
    }

    /// Whether there is nothing more to learn about a node.
    pub(super) fn is_done(&self, at: Id) -> bool {
        let mut parts = self.parts_of(at).into_iter();
        match &self.kinds[at] {
            Kind::Unseen => false,
            Kind::Struct(fields) => fields.read_at_once && parts.all(|part| self.is_done(part)),
            _ => parts.all(|part| self.is_done(part)),
        }
    }

    /// Whether a value of it takes none of what it lies in.
    pub(super) fn is_finite(&self, at: Id) -> bool {
        match &self.kinds[at] {
            Kind::As(_) | Kind::Unseen | Kind::Opaque | Kind::Absent => false,
            // They may be empty.
            Kind::Optional(_) | Kind::List(_) | Kind::Map(_) => true,
            Kind::Enum(variants) => variants.iter().any(|(_, part)| self.is_finite(*part)),
            Kind::Leaf(_) | Kind::Tuple(_) | Kind::Struct(_) => {
                self.parts_of(at).into_iter().all(|part| self.is_finite(part))
            }
        }
    }

    fn parts_of(&self, at: Id) -> Vec<Id> {
        match &self.kinds[at] {
            Kind::Unseen | Kind::Leaf(_) | Kind::As(_) | Kind::Opaque | Kind::Absent => Vec::new(),
            Kind::Optional(part) | Kind::List(part) => vec![*part],
            Kind::Map(parts) => parts.to_vec(),
            Kind::Tuple(parts) => parts.clone(),
            Kind::Struct(Fields { named, .. }) | Kind::Enum(named) => {
                named.iter().map(|(_, part)| *part).collect()
            }
        }
    }

    /// The way to each part, and what it is.
    pub(super) fn parts(&self) -> Vec<(String, String)> {
        let mut parts = Vec::new();
        self.write(0, String::new(), &mut BTreeMap::new(), &mut parts);
        parts
    }

    fn write(
        &self,
        at: Id,
        way: String,
        ways: &mut BTreeMap<Id, String>,
        parts: &mut Vec<(String, String)>,
    ) {
        let mut leaf = |way, what: &str| parts.push((way, what.to_owned()));
        ways.insert(at, way.clone());
        match &self.kinds[at] {
            Kind::Leaf(what) => leaf(way, what),
            Kind::Unseen | Kind::Opaque | Kind::Absent => leaf(way, "opaque"),
            Kind::As(whole) => {
                let whole = ways.get(whole).map_or("", String::as_str);
                leaf(way, &format!("as {whole}"));
            }
            Kind::Optional(part) => self.write(*part, way + "?", ways, parts),
            // serde knows bytes one by one.
            Kind::List(part) if self.kinds[*part] == Kind::Leaf("u8") => leaf(way, "bytes"),
            Kind::List(part) => self.write(*part, way + "[]", ways, parts),
            Kind::Map([key, value]) => {
                self.write(*key, format!("{way}{{key}}"), ways, parts);
                self.write(*value, format!("{way}{{value}}"), ways, parts);
            }
            Kind::Tuple(all) => match all.as_slice() {
                [] => leaf(way, "()"),
                [first, others @ ..] if others.iter().all(|other| self.is_same(*first, *other)) => {
                    self.write(*first, format!("{way}[{}]", all.len()), ways, parts);
                }
                _ => {
                    for (index, part) in all.iter().enumerate() {
                        self.write(*part, format!("{way}.{index}"), ways, parts);
                    }
                }
            },
            Kind::Struct(Fields { named, .. }) if named.is_empty() => leaf(way, "()"),
            Kind::Struct(Fields { named, .. }) => {
                for (name, part) in named {
                    self.write(*part, format!("{way}.{}", plain(name)), ways, parts);
                }
            }
            Kind::Enum(variants) => self.write_variants(variants, &way, ways, parts),
        }
    }

    fn write_variants(
        &self,
        variants: &[(&'static str, Id)],
        way: &str,
        ways: &mut BTreeMap<Id, String>,
        parts: &mut Vec<(String, String)>,
    ) {
        let are_there = |(_, part): &&(_, Id)| self.kinds[*part] != Kind::Absent;
        let there: Vec<_> = variants.iter().filter(are_there).collect();
        if there.is_empty() {
            parts.push((way.to_owned(), "opaque".to_owned()));
        }
        // With second names among them, there is no telling whose the names are.
        let is_named = there.len() == variants.len();
        for (index, (name, part)) in there.into_iter().enumerate() {
            let name = if is_named { plain(name) } else { index.to_string() };
            self.write(*part, format!("{way}::{name}"), ways, parts);
        }
    }

    /// Whether two nodes look the same.
    fn is_same(&self, one: Id, other: Id) -> bool {
        let seen_as = |at| {
            let mut parts = Vec::new();
            self.write(at, String::new(), &mut BTreeMap::new(), &mut parts);
            parts
        };
        self.kinds[other] != Kind::Unseen && seen_as(one) == seen_as(other)
    }
}

/// A name as lines have it: quoted, if it might be taken for more than that.
fn plain(name: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "_-".contains(c);
    let is_name = !name.is_empty() && name.chars().all(is_plain);
    if is_name { name.to_owned() } else { format!("{name:?}") }
}
