//! All pairs' shortest paths: the actor of each tile of 50 by 50 distances tells the tiles of its row
//! and column what it has found, once for every vertex.

use super::random::Random;
use std::sync::Arc;

/// The side of a tile.
const TILE: usize = 50;
/// The longest edge.
const EDGE_MAX: u64 = 100;

/// The distances of one tile, row by row.
pub type Tile = Arc<[u32]>;

/// How many rounds all tiles do together when a side has so many.
#[must_use]
pub const fn rounds(side: u64) -> u64 {
    side.pow(3) * TILE as u64
}

/// How many tiles a side has when all tiles together do at most `n` rounds.
#[must_use]
pub fn side(n: u64) -> usize {
    (2..).take_while(|&side| rounds(side) <= n).last().unwrap_or(1) as usize
}

/// The tile of the graph's edges at that row and column, the same for everybody.
fn edges(row: usize, column: usize) -> Tile {
    let mut random = Random::new((row << 32 | column) as u64);
    let mut edges: Vec<u32> = (0..TILE * TILE).map(|_| 1 + random.below(EDGE_MAX) as u32).collect();
    if row == column {
        edges.iter_mut().step_by(TILE + 1).for_each(|own| *own = 0);
    }
    edges.into()
}

/// The places of those that are told the news of the tile at `place`.
pub fn neighbours(side: usize, place: usize) -> impl Iterator<Item = usize> {
    let in_line =
        move |&other: &usize| other / side == place / side || other % side == place % side;
    (0..side * side).filter(in_line).filter(move |&other| other != place)
}

/// What the tiles of a row or column have told for one round.
#[derive(Debug, Default)]
struct Heard {
    count: usize,
    /// From the tile in the same row that has the round's column.
    beside: Option<Tile>,
    /// From the tile in the same column that has the round's row.
    above: Option<Tile>,
}

/// What a tile tells its row and its column before a round.
#[derive(Clone, Debug)]
pub struct News {
    round: usize,
    row: usize,
    column: usize,
    tile: Tile,
}

/// What the actor of a tile keeps.
#[derive(Debug)]
pub struct Square {
    row: usize,
    column: usize,
    side: usize,
    round: usize,
    tile: Tile,
    /// For this round and the next: nobody is further ahead.
    heard: [Heard; 2],
}

impl Square {
    /// The tile at that place, row by row, of a graph with so many tiles to a side.
    #[must_use]
    pub fn new(side: usize, place: usize) -> Self {
        let (row, column) = (place / side, place % side);
        let (tile, heard) = (edges(row, column), Default::default());
        Self { row, column, side, round: 0, tile, heard }
    }

    /// What to tell its row and its column now.
    #[must_use]
    pub fn news(&self) -> News {
        let Self { row, column, round, .. } = *self;
        News { round, row, column, tile: Arc::clone(&self.tile) }
    }

    /// Hears what another one tells.
    pub fn hear(&mut self, news: News) {
        let heard = &mut self.heard[news.round % 2];
        heard.count += 1;
        let pivot = news.round / TILE;
        if news.row == self.row && news.column == pivot {
            heard.beside = Some(news.tile);
        } else if news.column == self.column && news.row == pivot {
            heard.above = Some(news.tile);
        }
    }

    /// Does a round if everybody was heard; `false` if not, or if it was the last.
    pub fn advance(&mut self) -> bool {
        if self.is_done() || self.heard[self.round % 2].count < 2 * (self.side - 1) {
            return false;
        }
        let heard = std::mem::take(&mut self.heard[self.round % 2]);
        let beside = heard.beside.as_ref().unwrap_or(&self.tile);
        let above = heard.above.as_ref().unwrap_or(&self.tile);
        self.tile = relax(&self.tile, beside, above, self.round % TILE);
        self.round += 1;
        !self.is_done()
    }

    /// The place and the distances, when all rounds are done.
    #[must_use]
    pub fn result(&self) -> Option<(usize, Tile)> {
        self.is_done().then(|| (self.row * self.side + self.column, Arc::clone(&self.tile)))
    }

    const fn is_done(&self) -> bool {
        self.round == self.side * TILE
    }
}

/// The distances when paths may also go through the vertex at `pivot`.
fn relax(tile: &[u32], beside: &[u32], above: &[u32], pivot: usize) -> Tile {
    let from_pivot = &above[pivot * TILE..][..TILE];
    let mut shorter = tile.to_vec();
    for (distances, to_pivot) in shorter.chunks_exact_mut(TILE).zip(beside.chunks_exact(TILE)) {
        for (distance, from_pivot) in distances.iter_mut().zip(from_pivot) {
            *distance = (*distance).min(to_pivot[pivot] + from_pivot);
        }
    }
    shorter.into()
}

/// Takes the distances of all tiles.
#[derive(Debug)]
pub struct Distances {
    tiles: Vec<Option<Tile>>,
    left: usize,
}

impl Distances {
    /// None yet of a graph with so many tiles to a side.
    #[must_use]
    pub fn new(side: usize) -> Self {
        Self { tiles: vec![None; side * side], left: side * side }
    }

    /// Adds those of one tile; `true` if it was the last.
    pub fn add(&mut self, place: usize, tile: Tile) -> bool {
        self.tiles[place] = Some(tile);
        self.left -= 1;
        self.left == 0
    }

    /// Whether they are those that Floyd and Warshall's algorithm finds without tiles.
    #[must_use]
    pub fn are_right(&self) -> bool {
        let side = self.tiles.len().isqrt();
        let edges: Vec<_> = (0..side * side).map(|at| edges(at / side, at % side)).collect();
        let mut right = without_tiles(side, |place| &edges[place]);
        for pivot in 0..side * TILE {
            let from_pivot = right[pivot].clone();
            for distances in &mut right {
                let to_pivot = distances[pivot];
                for (distance, from_pivot) in distances.iter_mut().zip(&from_pivot) {
                    *distance = (*distance).min(to_pivot + from_pivot);
                }
            }
        }
        let found: Option<Vec<&Tile>> = self.tiles.iter().map(Option::as_ref).collect();
        found.is_some_and(|found| without_tiles(side, |place| found[place]) == right)
    }
}

/// The rows of all tiles together.
fn without_tiles<'a>(side: usize, tile: impl Fn(usize) -> &'a Tile) -> Vec<Vec<u32>> {
    let row = |row: usize| {
        let tiles = (0..side).map(|column| tile(row / TILE * side + column));
        tiles.flat_map(|tile| &tile[row % TILE * TILE..][..TILE]).copied().collect()
    };
    (0..side * TILE).map(row).collect()
}
