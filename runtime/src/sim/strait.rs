//! What is done to links for a while, by a test or by storms, beside how each is set. A storm ends only what it has begun
//! itself.

use super::fabric::Way;
use super::plight::StormId;
use std::collections::BTreeMap;

/// What is done to a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Strait {
    /// Nothing gets through.
    Cut,
    /// No packet longer than this does. A storm narrows a link once at a time.
    Narrow(StormId, usize),
}

impl Strait {
    /// Whether one ends as the other does.
    fn is_like(self, other: Self) -> bool {
        match (self, other) {
            (Self::Cut, Self::Cut) => true,
            (Self::Narrow(one, _), Self::Narrow(other, _)) => one == other,
            (Self::Cut, Self::Narrow(..)) | (Self::Narrow(..), Self::Cut) => false,
        }
    }
}

/// All that is done. What cuts a link does so as often as it was begun.
#[derive(Debug, Default)]
pub(super) struct Straits(BTreeMap<Way, Vec<Strait>>);

impl Straits {
    pub(super) fn begin(&mut self, way: Way, strait: Strait) {
        if strait != Strait::Cut {
            self.end(way, strait);
        }
        self.0.entry(way).or_default().push(strait);
    }

    pub(super) fn end(&mut self, way: Way, strait: Strait) {
        let Some(straits) = self.0.get_mut(&way) else { return };
        if let Some(place) = straits.iter().position(|other| other.is_like(strait)) {
            straits.swap_remove(place);
        }
        if straits.is_empty() {
            self.0.remove(&way);
        }
    }

    pub(super) fn heal(&mut self, way: Way) {
        self.0.remove(&way);
    }

    pub(super) fn heal_all(&mut self) {
        self.0.clear();
    }

    pub(super) fn is_cut(&self, way: Way) -> bool {
        self.0.get(&way).is_some_and(|straits| straits.contains(&Strait::Cut))
    }

    /// The longest packet that they let through, of a link that takes such long ones.
    pub(super) fn bytes_max(&self, way: Way, of_link: usize) -> usize {
        let narrow = |strait: &Strait| match strait {
            Strait::Cut => None,
            Strait::Narrow(_, bytes) => Some(*bytes),
        };
        let straits = self.0.get(&way).into_iter().flatten();
        straits.filter_map(narrow).fold(of_link, usize::min)
    }
}
