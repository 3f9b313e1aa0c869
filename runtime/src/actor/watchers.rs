//! Who wants to know of an actor's end.

use super::extras::Down;
use crate::event::ActorId;
use crate::task::cell::CellRef;
use std::fmt;

/// Somebody who wants to know of an actor's end.
pub(super) struct Watcher {
    /// Unique within the system.
    pub(super) id: u64,
    /// Who watches, if an actor does.
    pub(super) by: Option<CellRef>,
    /// Who is watched.
    pub(super) target: ActorId,
    /// Sends the news.
    pub(super) tell: Box<dyn FnOnce(Down) + Send>,
}

impl fmt::Debug for Watcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Watcher({})", self.id)
    }
}

/// A watch that may have been taken back before it begins.
pub(super) struct TentativeWatch {
    pub(super) watcher: Watcher,
    pub(super) is_wanted: Box<dyn Fn() -> bool + Send>,
}

impl fmt::Debug for TentativeWatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.watcher.fmt(f)
    }
}

/// The watchers of one actor. Many may wait at the same time, and give up at the same time: to take one out leaves its
/// place, and the places go together.
#[derive(Debug, Default)]
pub(super) struct Watchers {
    /// By number, which is nearly the order in which they came.
    places: Vec<(u64, Option<Watcher>)>,
    /// Places of those who gave up.
    gone: usize,
}

impl Watchers {
    pub(super) fn is_empty(&self) -> bool {
        self.places.len() == self.gone
    }

    /// In O(1), but for those that others have overtaken.
    pub(super) fn insert(&mut self, watcher: Watcher) {
        let id = watcher.id;
        let at = match self.places.last() {
            Some((last, _)) if *last > id => self.places.partition_point(|(known, _)| *known <= id),
            _ => self.places.len(),
        };
        self.places.insert(at, (id, Some(watcher)));
    }

    /// Takes the watch of that number out, if it is there, by whom it is: numbers of two systems may be the same.
    pub(super) fn remove(&mut self, id: u64, by: Option<&CellRef>) {
        let first = self.places.partition_point(|(known, _)| *known < id);
        let same = self.places[first..].iter_mut().take_while(|(known, _)| *known == id);
        let is_it = |watcher: &mut Watcher| watcher.by.as_ref() == by;
        let found = same.filter_map(|(_, place)| place.take_if(is_it)).next();
        self.gone += usize::from(found.is_some());
        if self.gone * 2 > self.places.len() {
            self.places.retain(|(_, place)| place.is_some());
            self.gone = 0;
        }
    }

    /// All that are left, in order.
    pub(super) fn into_all(self) -> impl Iterator<Item = Watcher> {
        self.places.into_iter().filter_map(|(_, place)| place)
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// What is left is what a list on paper has, whatever comes and goes.
        #[test]
        fn who_is_left_is_who_has_not_given_up(
            steps in prop::collection::vec((any::<bool>(), 0..40_u64), 0..200),
        ) {
            let (mut real, mut paper) = (Watchers::default(), Vec::new());
            for (comes, id) in steps {
                if comes && !paper.contains(&id) {
                    let target = ActorId { number: 0, kind: "test" };
                    real.insert(Watcher { id, by: None, target, tell: Box::new(|_| ()) });
                    paper.push(id);
                } else {
                    real.remove(id, None);
                    paper.retain(|known| *known != id);
                }
                prop_assert_eq!(real.is_empty(), paper.is_empty());
                prop_assert!(real.places.len() <= 2 * paper.len());
            }
            paper.sort_unstable();
            prop_assert_eq!(real.into_all().map(|left| left.id).collect::<Vec<_>>(), paper);
        }
    }
}
