//! What a key can hold.

use std::collections::VecDeque;

use super::Error;
use super::fields::Fields;
use crate::kv::resp::{parse_integer, push_integer};

/// Bytes that an allocation costs beside its content, about.
pub(crate) const ALLOCATION_BYTES: usize = 16;

/// Least capacity that is worth being given back.
const CAPACITY_MIN: usize = 16;

/// Returns the capacity that a collection of `len` entries is to go down to, if it is.
///
/// Room is left for as many again, so at least half of the entries go before the next time.
pub(crate) fn shrunk(len: usize, capacity: usize) -> Option<usize> {
    (capacity > CAPACITY_MIN && len < capacity / 4).then_some(len * 2)
}

/// The value of a key.
#[derive(Debug)]
pub(crate) enum Value {
    /// A string.
    Text(Vec<u8>),
    /// A string that is an integer in its shortest form, so that counting needs no parsing.
    Number(i64),
    /// A list.
    List(Box<List>),
    /// A map of fields.
    Hash(Box<Fields<Box<[u8]>>>),
    /// A set of members.
    Set(Box<Fields<()>>),
}

/// A list and the bytes of its items.
#[derive(Debug, Default)]
pub(crate) struct List {
    items: VecDeque<Box<[u8]>>,
    bytes: usize,
}

impl List {
    pub(crate) fn push_front(&mut self, item: &[u8]) {
        self.bytes += item.len();
        self.items.push_front(item.into());
    }

    pub(crate) fn push_back(&mut self, item: &[u8]) {
        self.bytes += item.len();
        self.items.push_back(item.into());
    }

    pub(crate) fn pop_front(&mut self) -> Option<Box<[u8]>> {
        let item = self.items.pop_front()?;
        self.popped(&item);
        Some(item)
    }

    pub(crate) fn pop_back(&mut self) -> Option<Box<[u8]>> {
        let item = self.items.pop_back()?;
        self.popped(&item);
        Some(item)
    }

    fn popped(&mut self, item: &[u8]) {
        self.bytes -= item.len();
        if let Some(capacity) = shrunk(self.items.len(), self.items.capacity()) {
            self.items.shrink_to(capacity);
        }
    }

    pub(crate) fn items(&self) -> &VecDeque<Box<[u8]>> {
        &self.items
    }

    fn cost(&self) -> usize {
        self.bytes
            + self.items.len() * ALLOCATION_BYTES
            + self.items.capacity() * size_of::<Box<[u8]>>()
    }
}

impl Value {
    /// Returns the string `text`.
    pub(crate) fn text(text: &[u8]) -> Self {
        Self::Text(text.to_vec())
    }

    /// Returns the name `TYPE` answers.
    pub(crate) fn type_name(&self) -> &'static str {
        match self {
            Self::Text(_) | Self::Number(_) => "string",
            Self::List(_) => "list",
            Self::Hash(_) => "hash",
            Self::Set(_) => "set",
        }
    }

    /// Returns the bytes the value holds on the heap, about, in constant time.
    pub(crate) fn cost(&self) -> usize {
        match self {
            Self::Text(text) => text.capacity() + ALLOCATION_BYTES,
            Self::Number(_) => 0,
            Self::List(list) => list.cost(),
            Self::Hash(fields) => fields.cost(),
            Self::Set(members) => members.cost(),
        }
    }

    /// Returns whether this is a list, hash or set that holds nothing: such a key does not exist.
    pub(crate) fn is_empty_collection(&self) -> bool {
        match self {
            Self::Text(_) | Self::Number(_) => false,
            Self::List(list) => list.items.is_empty(),
            Self::Hash(fields) => fields.len() == 0,
            Self::Set(members) => members.len() == 0,
        }
    }

    /// Overwrites a string, keeping its allocation where that does not waste memory.
    pub(crate) fn set_text(&mut self, text: &[u8]) {
        match self {
            Self::Text(old)
                if old.capacity() >= text.len() && old.capacity() <= text.len() * 2 + 32 =>
            {
                old.clear();
                old.extend_from_slice(text);
            }
            Self::Text(_) | Self::Number(_) | Self::List(_) | Self::Hash(_) | Self::Set(_) => {
                *self = Self::text(text);
            }
        }
    }

    /// Returns the string as bytes that can be appended to.
    pub(crate) fn text_mut(&mut self) -> Result<&mut Vec<u8>, Error> {
        if let Self::Number(number) = *self {
            let mut text = Vec::new();
            push_integer(&mut text, number);
            *self = Self::Text(text);
        }
        match self {
            Self::Text(text) => Ok(text),
            Self::Number(_) | Self::List(_) | Self::Hash(_) | Self::Set(_) => {
                Err(Error::WRONG_TYPE)
            }
        }
    }

    /// Returns the integer a string stands for.
    pub(crate) fn number(&self) -> Result<i64, Error> {
        match self {
            Self::Number(number) => Ok(*number),
            Self::Text(text) => parse_integer(text).ok_or(Error::NOT_INTEGER),
            Self::List(_) | Self::Hash(_) | Self::Set(_) => Err(Error::WRONG_TYPE),
        }
    }

    pub(crate) fn is_string(&self) -> bool {
        matches!(self, Self::Text(_) | Self::Number(_))
    }

    pub(crate) fn list(&self) -> Result<&List, Error> {
        if let Self::List(list) = self { Ok(list) } else { Err(Error::WRONG_TYPE) }
    }

    pub(crate) fn list_mut(&mut self) -> Result<&mut List, Error> {
        if let Self::List(list) = self { Ok(list) } else { Err(Error::WRONG_TYPE) }
    }

    pub(crate) fn hash(&self) -> Result<&Fields<Box<[u8]>>, Error> {
        if let Self::Hash(fields) = self { Ok(fields) } else { Err(Error::WRONG_TYPE) }
    }

    pub(crate) fn hash_mut(&mut self) -> Result<&mut Fields<Box<[u8]>>, Error> {
        if let Self::Hash(fields) = self { Ok(fields) } else { Err(Error::WRONG_TYPE) }
    }

    pub(crate) fn set(&self) -> Result<&Fields<()>, Error> {
        if let Self::Set(members) = self { Ok(members) } else { Err(Error::WRONG_TYPE) }
    }

    pub(crate) fn set_mut(&mut self) -> Result<&mut Fields<()>, Error> {
        if let Self::Set(members) = self { Ok(members) } else { Err(Error::WRONG_TYPE) }
    }
}
