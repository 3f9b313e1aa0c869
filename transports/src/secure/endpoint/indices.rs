//! Who goes by which index. All of an index is random: whoever guesses one that is in use may have its owner look at what
//! nobody has sent, and find the token of a reset for it beforehand. [UDP-65]

use super::{AssociationId, Endpoint};
use crate::secure::entropy::{Entropy, NoEntropy, draw};
use hashbrown::HashMap;
use hashbrown::hash_map::Entry;
use rustc_hash::FxBuildHasher;

/// To whom an index belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Owner {
    /// Keys of the association at that place.
    Association(u32),
    /// A handshake of ours with the peer at that place.
    Attempt(u32),
    /// A first contact of ours.
    Sought,
    /// A first contact that waits for its third message.
    Met(u32),
}

/// The indices that are in use.
#[derive(Debug, Default)]
pub(super) struct Indices {
    owners: HashMap<u32, Owner, FxBuildHasher>,
}

/// How many there may be.
const INDICES_MAX: usize = 1 << 18;

/// Draws until one is found that is not in use. Of 16,384 drawn at most one is.
const DRAWS_MAX: usize = 16;

/// Why there is no index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoIndex {
    Full,
    Entropy,
}

impl From<NoEntropy> for NoIndex {
    fn from(_: NoEntropy) -> Self {
        Self::Entropy
    }
}

impl Indices {
    /// Gives the owner an index that nobody can guess.
    pub(super) fn insert(
        &mut self,
        owner: Owner,
        entropy: &mut dyn Entropy,
    ) -> Result<u32, NoIndex> {
        if self.owners.len() >= INDICES_MAX {
            return Err(NoIndex::Full);
        }
        for _ in 0..DRAWS_MAX {
            let index = u32::from_le_bytes(draw(entropy)?);
            if let Entry::Vacant(vacant) = self.owners.entry(index) {
                vacant.insert(owner);
                return Ok(index);
            }
        }
        Err(NoIndex::Entropy)
    }

    pub(super) fn owner(&self, index: u32) -> Option<Owner> {
        self.owners.get(&index).copied()
    }

    /// Hands an index over.
    pub(super) fn pass(&mut self, index: u32, to: Owner) {
        if let Some(owner) = self.owners.get_mut(&index) {
            *owner = to;
        }
    }

    pub(super) fn remove(&mut self, index: u32) {
        self.owners.remove(&index);
    }

    /// How many are in use.
    #[cfg(any(test, fuzzing))]
    pub(super) fn len(&self) -> usize {
        self.owners.len()
    }
}

impl Endpoint {
    /// Whether packets under that index are of that association, which is there.
    pub(crate) fn goes_by(&self, association: AssociationId, index: u32) -> bool {
        self.indices.owner(index) == Some(Owner::Association(association.place))
    }
}

#[cfg(test)]
mod tests {
    use super::super::harness::Seeded;
    use super::*;

    /// [UDP-65]
    #[test]
    fn no_part_of_an_index_tells_how_many_there_are() {
        let (mut indices, mut entropy) = (Indices::default(), Seeded(7));
        let given: Vec<_> = (0..4096)
            .map(|place| indices.insert(Owner::Association(place), &mut entropy).unwrap())
            .collect();
        for shift in 0..=20 {
            let low = given.iter().filter(|index| **index >> shift & 0xFFF < 0x400).count();
            assert!((900..1150).contains(&low), "{low} of 4096 are in a quarter, at bit {shift}");
        }
        for (place, index) in given.iter().enumerate() {
            assert_eq!(indices.owner(*index), Some(Owner::Association(place as u32)));
        }
        given[1..].iter().for_each(|index| indices.remove(*index));
        indices.pass(given[0], Owner::Sought);
        assert_eq!((indices.len(), indices.owner(given[0])), (1, Some(Owner::Sought)));
    }
}
