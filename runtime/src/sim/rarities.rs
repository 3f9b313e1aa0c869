//! Which rare paths a world takes, and how often it has.

use super::choice::Label;
use super::stage::Stage;
use super::world::World;
use crate::sync::{Arc, AtomicU64, Buggifier, Ordering, Rare};
use std::rc::Rc;

const KIND: Label = Label::new("rare kind");
const PATH: Label = Label::new("rare path");

/// In one of so many worlds a kind of rare path is taken at all.
const WORLDS: u64 = 4;
/// There, in one of so many cases.
const CASES: u64 = 8;

/// See the [module](self). A kind is decided on when it is asked for first, so that a run that never asks
/// makes no choice for it.
#[derive(Debug, Default)]
pub(crate) struct Rarities {
    /// A bit per kind: whether it was decided on.
    decided: AtomicU64,
    /// A bit per kind: whether it is taken in this world.
    present: AtomicU64,
    taken: [AtomicU64; Rare::ALL.len()],
}

impl Rarities {
    /// How often a kind was taken.
    fn taken(&self, rare: Rare) -> u64 {
        // Relaxed, here and below: a world has one thread.
        self.taken[rare as usize].load(Ordering::Relaxed)
    }
}

impl Stage {
    /// Whether the rare path is taken now.
    fn takes(&self, rare: Rare) -> bool {
        let (rarities, bit) = (&self.rarities, 1 << rare as u64);
        if rarities.decided.fetch_or(bit, Ordering::Relaxed) & bit == 0
            && self.is_last_of(KIND, WORLDS)
        {
            rarities.present.fetch_or(bit, Ordering::Relaxed);
        }
        let takes =
            rarities.present.load(Ordering::Relaxed) & bit != 0 && self.is_last_of(PATH, CASES);
        if takes {
            rarities.taken[rare as usize].fetch_add(1, Ordering::Relaxed);
            self.log(|| format!("rare path: {}", rare.name()));
        }
        takes
    }

    /// Something that happens once in `count` times; not in a run that tries every choice.
    fn is_last_of(&self, label: Label, count: u64) -> bool {
        self.choose(|choices| choices.noise(label, count)) == count - 1
    }
}

/// Asks a world which rare paths to take.
pub(super) fn buggifier(stage: &Arc<Stage>) -> Buggifier {
    let stage = stage.clone();
    Rc::new(move |rare| stage.takes(rare))
}

impl World {
    /// The rare paths that worlds make common, and how often this one took each: a queue that spills with
    /// room left, a wake-up without a reason, a turn that takes a thousand times as long. All of them may
    /// happen outside of worlds, too. A kind of them is taken in one world of four, and there in one case
    /// of eight.
    pub fn rare_paths(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        Rare::ALL.into_iter().map(|rare| (rare.name(), self.stage.rarities.taken(rare)))
    }
}
