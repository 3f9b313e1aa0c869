//! Recursive matrix multiplication: a master and 20 workers divide two matrices until the parts are
//! small.

use std::sync::Arc;

/// How many workers there are.
pub const WORKERS: usize = 20;
/// The side of a part that is multiplied at once; it has 16,384 elements.
const SMALL: usize = 128;

/// The factors, square and as large as `n` products of small parts can multiply.
#[derive(Debug)]
pub struct Factors {
    side: usize,
    left: Vec<f64>,
    right: Vec<f64>,
}

/// How many products of blocks there are in a product of at most `n`.
#[must_use]
pub const fn products(n: u64) -> u64 {
    let n = if n == 0 { 1 } else { n };
    1 << (n.ilog2() / 3 * 3)
}

impl Factors {
    /// Matrices whose product has a side of 128 for one part, 256 for 8, 512 for 64, and so on.
    #[must_use]
    pub fn new(n: u64) -> Arc<Self> {
        let side = SMALL << (n.max(1).ilog2() / 3);
        let number = |index: usize| (index % 16) as f64;
        let left = (0..side * side).map(|place| number(place / side)).collect();
        let right = (0..side * side).map(|place| number(place % side)).collect();
        Arc::new(Self { side, left, right })
    }

    /// The whole product.
    #[must_use]
    pub const fn whole(&self) -> Part {
        Part { row: 0, column: 0, depth: 0, side: self.side }
    }

    /// Multiplies a small part, or divides a larger one.
    #[must_use]
    pub fn step(&self, part: Part) -> Step {
        if part.side > SMALL { Step::Divided(part.divide()) } else { Step::Block(self.block(part)) }
    }

    fn block(&self, part: Part) -> Block {
        let mut values = vec![0.0; part.side * part.side];
        for (row, sums) in values.chunks_exact_mut(part.side).enumerate() {
            let from_left = &self.left[(part.row + row) * self.side + part.depth..][..part.side];
            for (depth, &factor) in from_left.iter().enumerate() {
                let from = (part.depth + depth) * self.side + part.column;
                let from_right = &self.right[from..][..part.side];
                for (sum, &other) in sums.iter_mut().zip(from_right) {
                    *sum += factor * other;
                }
            }
        }
        Block { part, values }
    }
}

/// A cube of the multiplication: rows of the left, columns of the right, and what they meet in.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    row: usize,
    column: usize,
    depth: usize,
    side: usize,
}

impl Part {
    fn divide(self) -> [Self; 8] {
        let side = self.side / 2;
        std::array::from_fn(|eighth| Self {
            row: self.row + side * (eighth & 1),
            column: self.column + side * (eighth >> 1 & 1),
            depth: self.depth + side * (eighth >> 2),
            side,
        })
    }
}

/// A part, one step further.
#[derive(Debug)]
pub enum Step {
    /// It was too large.
    Divided([Part; 8]),
    /// It was small.
    Block(Block),
}

/// The product of a small part.
#[derive(Debug)]
pub struct Block {
    part: Part,
    values: Vec<f64>,
}

/// The product that the master sums up.
#[derive(Debug)]
pub struct Product {
    side: usize,
    values: Vec<f64>,
    left: usize,
}

impl Product {
    /// Nothing yet of the product of `factors`.
    #[must_use]
    pub fn of(factors: &Factors) -> Self {
        let side = factors.side;
        Self { side, values: vec![0.0; side * side], left: (side / SMALL).pow(3) }
    }

    /// Adds a block; `true` if it was the last.
    pub fn add(&mut self, block: &Block) -> bool {
        let Part { row, column, side, .. } = block.part;
        for (place, values) in block.values.chunks_exact(side).enumerate() {
            let sums = &mut self.values[(row + place) * self.side + column..][..side];
            for (sum, value) in sums.iter_mut().zip(values) {
                *sum += value;
            }
        }
        self.left -= 1;
        self.left == 0
    }

    /// Whether it is the product: with rows of one number and columns of one number, each element is
    /// their product as often as a row is long.
    #[must_use]
    pub fn is_right(&self) -> bool {
        let right = |place: usize| (place / self.side % 16 * (place % 16) * self.side) as f64;
        let all = self.values.iter().enumerate();
        self.left == 0 && all.fold(true, |all, (place, &sum)| all && sum.eq(&right(place)))
    }
}
