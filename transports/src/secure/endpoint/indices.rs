//! Who goes by which index: a slab whose low bits are the place and whose high bits are random.

use crate::secure::entropy::{Entropy, NoEntropy, draw};

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

/// The indices that are in use. A look-up is one access; a freed place is used again under another index.
#[derive(Debug, Default)]
pub(super) struct Indices {
    places: Vec<Option<(u32, Owner)>>,
    free: Vec<u32>,
}

/// The bits of an index that say where it lies.
const PLACE_BITS: u32 = 18;
const PLACE_MASK: u32 = (1 << PLACE_BITS) - 1;

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
        let high = u32::from_le_bytes(draw(entropy)?) & !PLACE_MASK;
        let place = match self.free.pop() {
            Some(place) => place,
            None => {
                let place = u32::try_from(self.places.len()).unwrap_or(u32::MAX);
                if place > PLACE_MASK {
                    return Err(NoIndex::Full);
                }
                self.places.push(None);
                place
            }
        };
        self.places[place as usize] = Some((high | place, owner));
        Ok(high | place)
    }

    pub(super) fn owner(&self, index: u32) -> Option<Owner> {
        let &(known, owner) = self.places.get((index & PLACE_MASK) as usize)?.as_ref()?;
        (known == index).then_some(owner)
    }

    /// Hands an index over.
    pub(super) fn pass(&mut self, index: u32, to: Owner) {
        if let Some(Some((known, owner))) = self.places.get_mut((index & PLACE_MASK) as usize)
            && *known == index
        {
            *owner = to;
        }
    }

    pub(super) fn remove(&mut self, index: u32) {
        if self.owner(index).is_some() {
            self.places[(index & PLACE_MASK) as usize] = None;
            self.free.push(index & PLACE_MASK);
        }
    }

    /// How many are in use.
    #[cfg(any(test, fuzzing))]
    pub(super) fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }
}
