//! What is done to links for a while, by a test or by storms, beside how each is set. A storm ends only what it has begun
//! itself; a test that mends a link ends all that cuts it.

use super::fabric::Way;
use super::plight::StormId;
use std::collections::{BTreeMap, BTreeSet};

/// What a storm does to a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Strait {
    /// Nothing gets through.
    Cut,
    /// No packet longer than this does. Each storm narrows a link once at a time.
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

/// All that is done.
#[derive(Debug, Default)]
pub(super) struct Straits {
    /// The links that a test has cut.
    cut: BTreeSet<Way>,
    /// What storms do. What cuts a link does so as often as it was begun.
    of_storms: BTreeMap<Way, Vec<Strait>>,
}

impl Straits {
    pub(super) fn cut(&mut self, way: Way) {
        self.cut.insert(way);
    }

    /// Ends all that cuts a link.
    pub(super) fn mend(&mut self, way: Way) {
        self.cut.remove(&way);
        if let Some(straits) = self.of_storms.get_mut(&way) {
            straits.retain(|&strait| strait != Strait::Cut);
        }
    }

    pub(super) fn begin(&mut self, way: Way, strait: Strait) {
        if strait != Strait::Cut {
            self.end(way, strait);
        }
        self.of_storms.entry(way).or_default().push(strait);
    }

    pub(super) fn end(&mut self, way: Way, strait: Strait) {
        let Some(straits) = self.of_storms.get_mut(&way) else { return };
        if let Some(place) = straits.iter().position(|other| other.is_like(strait)) {
            straits.swap_remove(place);
        }
    }

    pub(super) fn heal(&mut self, way: Way) {
        self.cut.remove(&way);
        self.of_storms.remove(&way);
    }

    pub(super) fn heal_all(&mut self) {
        self.cut.clear();
        self.of_storms.clear();
    }

    pub(super) fn is_cut(&self, way: Way) -> bool {
        let is_cut = |straits: &Vec<Strait>| straits.contains(&Strait::Cut);
        self.cut.contains(&way) || self.of_storms.get(&way).is_some_and(is_cut)
    }

    /// The longest packet that they let through, of a link that takes such long ones.
    pub(super) fn bytes_max(&self, way: Way, of_link: usize) -> usize {
        let narrow = |strait: &Strait| match strait {
            Strait::Cut => None,
            Strait::Narrow(_, bytes) => Some(*bytes),
        };
        let straits = self.of_storms.get(&way).into_iter().flatten();
        straits.filter_map(narrow).fold(of_link, usize::min)
    }
}
