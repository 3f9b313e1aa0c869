//! Where actors live, under a scheduler that keeps each on one worker.
//!
//! A home is one word in the cell. It is compared with the word of the running thread, so that mail
//! between neighbours needs no atomic operation:
//!
//! ```text
//! 0                 nowhere in particular: any worker may run the actor, mail goes through its inbox
//! address           that worker's mark; only that worker touches the inbox
//! address | MOVING  the actor is on its way to that worker, and whoever had it keeps it meanwhile
//! ```

/// Set while an actor is on its way.
const MOVING: usize = 1;

/// A worker as the home of actors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Home(usize);

impl Home {
    /// No home: any worker may run the actor.
    pub(crate) const ANY: Self = Self(0);

    #[inline(always)]
    pub(crate) fn to_word(self) -> usize {
        self.0
    }

    #[inline(always)]
    pub(crate) fn from_word(word: usize) -> Self {
        Self(word)
    }

    /// The same home, for an actor that is on its way there.
    pub(crate) fn moving(self) -> Self {
        Self(self.0 | MOVING)
    }

    /// Whether the actor is on its way.
    pub(crate) fn is_moving(self) -> bool {
        self.0 & MOVING != 0
    }
}

/// The homes that a system has: one per worker, or none.
#[derive(Debug)]
pub(crate) struct Homes {
    /// Only the addresses matter: no two systems that run at once have one in common.
    marks: Box<[u64]>,
}

impl Homes {
    /// `count` homes; zero where actors live nowhere in particular.
    pub(crate) fn new(count: usize) -> Self {
        Self { marks: vec![0; count].into_boxed_slice() }
    }

    /// The home that worker `index` is.
    pub(crate) fn of(&self, index: u32) -> Option<Home> {
        self.marks.get(index as usize).map(|mark| Home(std::ptr::from_ref(mark).addr()))
    }

    /// Which worker a home is.
    pub(crate) fn worker(&self, home: Home) -> Option<usize> {
        let offset = (home.0 & !MOVING).checked_sub(self.marks.as_ptr().addr())?;
        Some(offset / size_of::<u64>()).filter(|&index| index < self.marks.len())
    }
}
