//! The channels or the patterns that a client listens to.

use std::collections::BTreeSet;
use std::collections::btree_set::{IntoIter, Iter};

/// Bytes that one name takes beside its own: its places with the client, in what the broker knows of the client, and as
/// a channel with one listener.
const NAME_BYTES: usize = 400;

/// A set of names that knows what it costs to listen to them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Names {
    set: BTreeSet<Box<[u8]>>,
    bytes: usize,
}

impl Names {
    pub(crate) fn insert(&mut self, name: Box<[u8]>) {
        let bytes = cost(&name);
        if self.set.insert(name) {
            self.bytes += bytes;
        }
    }

    pub(crate) fn remove(&mut self, name: &[u8]) {
        if self.set.remove(name) {
            self.bytes -= cost(name);
        }
    }

    pub(crate) fn contains(&self, name: &[u8]) -> bool {
        self.set.contains(name)
    }

    pub(crate) fn len(&self) -> usize {
        self.set.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.set.is_empty()
    }

    pub(crate) fn iter(&self) -> Iter<'_, Box<[u8]>> {
        self.set.iter()
    }

    /// Returns about how many bytes the server holds for these names.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
}

impl IntoIterator for Names {
    type Item = Box<[u8]>;
    type IntoIter = IntoIter<Box<[u8]>>;

    fn into_iter(self) -> Self::IntoIter {
        self.set.into_iter()
    }
}

/// The client and the broker have a copy of the name each.
fn cost(name: &[u8]) -> usize {
    NAME_BYTES + 2 * name.len()
}

#[cfg(test)]
mod tests {
    use super::Names;

    #[test]
    fn names_cost_something_once_and_as_long_as_they_are_there() {
        let mut names = Names::default();
        names.insert(Box::from(&b"news"[..]));
        let once = names.bytes();
        assert!(once > 8);
        names.insert(Box::from(&b"news"[..]));
        assert_eq!(names.bytes(), once);
        names.remove(b"weather");
        names.remove(b"news");
        assert_eq!((names.bytes(), names.len()), (0, 0));
    }
}
