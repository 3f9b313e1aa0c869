//! Those who wait for answers, by the numbers of their questions.
//!
//! A number says in which place the asker is, and which of those who were ever there it is: so it is found at once,
//! and an answer that comes late, or twice, finds nobody.

use crate::net::message::Asker;

/// Askers that are looked through for those who gave up, at first.
const SWEEP_MIN: usize = 1024;

/// See the [module](self).
pub(super) struct Askers {
    places: Vec<Place>,
    free: Vec<u32>,
    /// When so many are there, they are looked through.
    sweep_at: usize,
}

#[derive(Default)]
struct Place {
    /// How many there have been; the upper half of a question's number.
    turn: u32,
    asker: Option<Box<dyn Asker>>,
}

impl Askers {
    /// The number of a question of nobody who waits.
    pub(super) const NOBODY: u64 = 0;

    /// Takes an asker in; returns the number of its question.
    pub(super) fn add(&mut self, asker: Box<dyn Asker>) -> u64 {
        if self.places.len() - self.free.len() >= self.sweep_at {
            self.sweep();
        }
        let place = self.free.pop().unwrap_or_else(|| {
            self.places.push(Place::default());
            u32::try_from(self.places.len() - 1).expect("memory ends before 2^32 askers")
        });
        let at = &mut self.places[place as usize];
        // No question has the number 0.
        at.turn = at.turn.checked_add(1).unwrap_or(1);
        at.asker = Some(asker);
        u64::from(at.turn) << u32::BITS | u64::from(place)
    }

    /// Who asked that question, if it has no answer yet.
    pub(super) fn remove(&mut self, question: u64) -> Option<Box<dyn Asker>> {
        #[expect(clippy::cast_possible_truncation, reason = "both halves are looked at")]
        let (turn, place) = ((question >> u32::BITS) as u32, question as u32);
        let at = self.places.get_mut(place as usize).filter(|at| at.turn == turn)?;
        let asker = at.asker.take()?;
        self.free.push(place);
        Some(asker)
    }

    /// Forgets those who gave up waiting, and whose answers never came.
    fn sweep(&mut self) {
        for (place, at) in (0..).zip(&mut self.places) {
            if at.asker.take_if(|asker| asker.is_abandoned()).is_some() {
                self.free.push(place);
            }
        }
        self.sweep_at = (2 * (self.places.len() - self.free.len())).max(SWEEP_MIN);
    }

    pub(super) fn into_all(self) -> impl Iterator<Item = Box<dyn Asker>> {
        self.places.into_iter().filter_map(|place| place.asker)
    }
}

impl Default for Askers {
    fn default() -> Self {
        Self { places: Vec::new(), free: Vec::new(), sweep_at: SWEEP_MIN }
    }
}
