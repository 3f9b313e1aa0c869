//! N queens: a master and 20 workers place the first four queens by messages, the rest at once.

/// How many workers there are.
pub const WORKERS: usize = 20;
/// So many queens are placed by messages.
const BY_MESSAGES: u32 = 4;

/// How many ways there are to place queens on a board of that side.
const SOLUTIONS: [u64; 17] =
    [1, 1, 0, 0, 2, 10, 4, 40, 92, 352, 724, 2680, 14_200, 73_712, 365_596, 2_279_184, 14_772_512];

/// The largest side that has at most `n` solutions.
#[must_use]
pub fn side(n: u64) -> u32 {
    (1..=16).rev().find(|&side| (1..=n).contains(&solutions(side))).unwrap_or(1)
}

/// How many solutions there are.
#[must_use]
pub const fn solutions(side: u32) -> u64 {
    SOLUTIONS[side as usize]
}

/// A board with queens in its first rows; columns and diagonals are bits, as seen from the next row.
#[derive(Clone, Copy, Debug)]
pub struct Board {
    side: u32,
    row: u32,
    columns: u32,
    left: u32,
    right: u32,
}

/// A board, one step further.
#[derive(Debug)]
pub enum Step<I> {
    /// The boards with one more queen.
    Boards(I),
    /// So many solutions start with its queens.
    Solutions(u64),
}

impl Board {
    /// Without queens.
    #[must_use]
    pub const fn empty(side: u32) -> Self {
        Self { side, row: 0, columns: 0, left: 0, right: 0 }
    }

    /// Places one more queen in every way, or all the rest.
    #[must_use]
    pub fn step(self) -> Step<impl Iterator<Item = Self>> {
        if self.row < BY_MESSAGES.min(self.side) {
            Step::Boards(self.with_one_more())
        } else {
            Step::Solutions(self.count())
        }
    }

    fn with_one_more(self) -> impl Iterator<Item = Self> {
        let mut free = !(self.columns | self.left | self.right) & ((1 << self.side) - 1);
        std::iter::from_fn(move || {
            let queen = free & free.wrapping_neg();
            free ^= queen;
            (queen != 0).then(|| Self {
                side: self.side,
                row: self.row + 1,
                columns: self.columns | queen,
                left: (self.left | queen) << 1,
                right: (self.right | queen) >> 1,
            })
        })
    }

    fn count(self) -> u64 {
        if self.row == self.side { 1 } else { self.with_one_more().map(Self::count).sum() }
    }
}

/// What the master keeps.
#[derive(Debug, Default)]
pub struct Tally {
    boards: u64,
    solutions: u64,
}

impl Tally {
    /// A board was given to a worker.
    pub const fn give(&mut self) {
        self.boards += 1;
    }

    /// A worker is done with a board; all solutions if it was the last.
    pub fn take(&mut self, solutions: u64) -> Option<u64> {
        self.boards -= 1;
        self.solutions += solutions;
        (self.boards == 0).then_some(self.solutions)
    }
}
