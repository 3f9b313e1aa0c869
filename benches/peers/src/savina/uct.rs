//! Unbalanced cobwebbed tree: nodes compute, then ask the tree's keeper whether they may have children.

use super::random::{Random, busy};

/// How many children a node has, if it has any.
pub const CHILDREN: u64 = 10;
/// How long a node computes at least, in rounds of [`busy`]; it is 500 on average.
const ROUNDS_MIN: u64 = 320;
/// The sum of this many numbers below `SPREAD` is close to normal, with a deviation of 100.
const SUMMANDS: u64 = 3;
const SPREAD: u64 = 121 + 80;

/// What a node was born with.
#[derive(Debug)]
pub struct Seed(Random);

impl Seed {
    /// The root's.
    #[must_use]
    pub const fn root() -> Self {
        Self(Random::new(7))
    }

    /// A child's.
    #[must_use]
    pub const fn child(&mut self) -> Self {
        Self(Random::new(self.0.draw()))
    }

    /// Computes; returns whether the node would like to have children.
    pub fn compute(&mut self) -> bool {
        let more: u64 = (0..SUMMANDS).map(|_| self.0.below(SPREAD)).sum();
        busy(ROUNDS_MIN + more);
        self.0.below(4) == 0
    }
}

/// What the keeper of the tree keeps.
#[derive(Debug)]
pub struct Growth {
    nodes: u64,
    nodes_max: u64,
    undecided: u64,
}

impl Growth {
    /// A root, which may grow to `n` nodes.
    #[must_use]
    pub const fn new(n: u64) -> Self {
        Self { nodes: 1, nodes_max: n, undecided: 1 }
    }

    /// Whether a node may have children. The last one that could is not asked what it likes, so that
    /// every tree grows up to its bound.
    pub const fn decide(&mut self, likes: bool) -> bool {
        self.undecided -= 1;
        let may = self.nodes + CHILDREN <= self.nodes_max && (likes || self.undecided == 0);
        if may {
            self.nodes += CHILDREN;
            self.undecided += CHILDREN;
        }
        may
    }

    /// All nodes, when no more will come.
    #[must_use]
    pub fn nodes(&self) -> Option<u64> {
        (self.undecided == 0).then_some(self.nodes)
    }
}

/// What an inner node counts when the tree is counted.
#[derive(Debug, Default)]
pub struct Census {
    heard: u64,
    nodes: u64,
}

impl Census {
    /// A child tells how many nodes it and those below it are; all of them with this one, when that
    /// was the last child.
    pub fn add(&mut self, nodes: u64) -> Option<u64> {
        self.heard += 1;
        self.nodes += nodes;
        (self.heard == CHILDREN).then_some(self.nodes + 1)
    }
}

/// How many nodes a tree of at most `n` has in the end.
#[must_use]
pub const fn nodes(n: u64) -> u64 {
    let n = if n == 0 { 1 } else { n };
    1 + (n - 1) / CHILDREN * CHILDREN
}
