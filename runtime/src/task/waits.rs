//! Who waits for whose answer: the edges of the wait-for graph, and the cycles in it.
//!
//! An edge leads from an actor whose handler waits for an answer to the actor that it asked. Only asks
//! that have waited for a while get one; the many that are answered soon are counted at most. A cycle is
//! searched for from whoever has an edge more, once it is seen to wait for answers alone: the last one on a
//! cycle finds it.
//!
//! A handler may wait for several answers, for any of them (`select!`) or for all (`join!`), and nothing
//! here tells which. So each counts as enough: an actor is stuck if *every* actor that it waits for is.
//! Of a `join!` in which one answer never comes this is true when the others are there. And who waits for
//! something else beside is not stuck ([`awaited`](super::awaited)).
//!
//! Why a cycle that is found is one: all of it is looked at under one lock, where an answered question is
//! no edge, and an actor goes on that waits for an answer without an edge, or for anything else, that is polled, or
//! of which an ask is about to fail. While the lock is held no
//! handler on the cycle can go on, because it would have to get an answer, which none of the others gives
//! while it waits itself, or give its question up, which takes the lock. So it stays until the ask that is chosen fails,
//! when its handler is polled next.

use super::cell::CellRef;
use crate::queue::oneshot::Witness;
use crate::sync::{Mutex, planted};
use std::collections::VecDeque;
use std::collections::btree_map::{BTreeMap, Entry};

/// The wait-for graph of one system.
#[derive(Debug, Default)]
pub(crate) struct Waits(Mutex<Graph>);

#[derive(Debug)]
struct Graph {
    /// By the number of who waits, and the edge's own; behind all of them one that is none, with which the
    /// map keeps its memory, so that a few edges allocate nothing.
    edges: BTreeMap<(u64, u64), Option<Edge>>,
    newest: u64,
}

impl Default for Graph {
    fn default() -> Self {
        Self { edges: BTreeMap::from([((u64::MAX, u64::MAX), None)]), newest: 0 }
    }
}

#[derive(Debug)]
struct Edge {
    to: CellRef,
    question: Witness,
    /// What it was found to be a part of; the ask is about to fail then.
    cycle: Option<Vec<CellRef>>,
}

/// The wait of an actor for one answer; to be ended by [`Waits::end`].
#[derive(Debug)]
pub(crate) struct Wait {
    asker: CellRef,
    /// The number of its edge; zero while the asker counts it.
    edge: u64,
}

impl Wait {
    /// The running handler of `asker` begins to wait for an answer.
    pub(crate) fn begin(asker: CellRef) -> Self {
        asker.awaited.begin_wait();
        Self { asker, edge: 0 }
    }

    /// Whose wait it is.
    pub(crate) fn asker(&self) -> &CellRef {
        &self.asker
    }
}

impl Waits {
    /// Gives the wait an edge to who was asked, unless it has one.
    ///
    /// # Safety
    /// The receiver that `question` looks at does not leave before the wait is ended.
    pub(crate) unsafe fn show(&self, wait: &mut Wait, to: &CellRef, question: Witness) {
        if wait.edge > 0 {
            return;
        }
        let mut graph = self.0.lock();
        graph.newest += 1;
        wait.edge = graph.newest;
        let edge = Edge { to: to.clone(), question, cycle: None };
        graph.edges.insert((wait.asker.id, wait.edge), Some(edge));
        wait.asker.awaited.end_wait();
    }

    /// Searches for a cycle through an actor whose handler waits for nothing but answers. If there is one on which nobody can
    /// go on, the ask that closes it is to fail: one whose question no handler has begun with.
    #[cold]
    pub(super) fn search(&self, asker: &CellRef) {
        let mut graph = self.0.lock();
        let Some(mut cycle) = graph.cycle(asker) else { return };
        let closes = |at: &usize| graph.edge(&cycle, *at).is_some_and(Edge::has_yet_to_begin);
        let last = (0..cycle.len()).find(closes).unwrap_or(0);
        cycle.rotate_left(planted!("cycle-begun-fails": last => 0));
        let asker = cycle[0].clone();
        // At once, so that it is no other's cycle too.
        if let Some(key) = graph.key(&cycle, 0)
            && let Some(Some(edge)) = graph.edges.get_mut(&key)
        {
            edge.cycle = Some(cycle);
            asker.awaited.note_found();
            asker.wake();
        }
    }

    /// The actors of the cycle that the wait was found to be a part of: first the asker, each followed by the one that it
    /// waits for.
    pub(crate) fn cycle_of(&self, wait: &Wait) -> Option<Vec<CellRef>> {
        if !wait.asker.awaited.has_found() {
            return None;
        }
        let graph = self.0.lock();
        graph.edges.get(&(wait.asker.id, wait.edge))?.as_ref()?.cycle.clone()
    }

    /// Whose answers an actor has waited for a while for, and has not got.
    pub(crate) fn of(&self, asker: u64) -> Vec<CellRef> {
        let graph = self.0.lock();
        // SAFETY: by the promise of `show` the receiver is there while the edge is.
        let waits = |edge: &&Edge| unsafe { edge.question.is_waiting() };
        graph.edges_of(asker).filter(waits).map(|edge| edge.to.clone()).collect()
    }

    /// How many waits have an edge.
    pub(crate) fn count(&self) -> usize {
        let graph = self.0.lock();
        graph.edges.values().flatten().count()
    }

    /// The wait is over.
    pub(crate) fn end(&self, wait: Wait) {
        let Wait { asker, edge } = wait;
        match edge {
            0 => asker.awaited.end_wait(),
            number => {
                let edge = self.0.lock().edges.remove(&(asker.id, number)).flatten();
                if edge.as_ref().is_some_and(|edge| edge.cycle.is_some()) {
                    asker.awaited.forget_found();
                }
                // Its reference may be the last one, and frees the cell then: not under the lock.
                drop(edge);
            }
        }
    }
}

impl Edge {
    /// Whether no handler has begun with the question.
    fn has_yet_to_begin(&self) -> bool {
        // SAFETY: by the promise of `show` the receiver is there while the edge is.
        !unsafe { self.question.has_begun() }
    }
}

impl Graph {
    /// The edge from one actor of a cycle to the next one.
    fn edge(&self, cycle: &[CellRef], from: usize) -> Option<&Edge> {
        self.edges.get(&self.key(cycle, from)?)?.as_ref()
    }

    /// Where that edge is.
    fn key(&self, cycle: &[CellRef], from: usize) -> Option<(u64, u64)> {
        let (from, to) = (cycle[from].id, cycle[(from + 1) % cycle.len()].id);
        let is_next = |edge: &Option<Edge>| edge.as_ref().is_some_and(|edge| edge.to.id == to);
        let mut edges = self.edges.range((from, 0)..=(from, u64::MAX));
        edges.find(|(_, edge)| is_next(edge)).map(|(key, _)| *key)
    }

    /// The edges from an actor.
    fn edges_of(&self, asker: u64) -> impl Iterator<Item = &Edge> {
        self.edges.range((asker, 0)..=(asker, u64::MAX)).filter_map(|(_, edge)| edge.as_ref())
    }

    /// The actors of a cycle on which nobody can go on: first `asker`, each followed by the one that it waits for.
    fn cycle(&self, asker: &CellRef) -> Option<Vec<CellRef>> {
        let start = asker.id;
        // Mostly who was asked is at work, which takes no memory to see.
        if self.edges_of(start).any(|edge| self.edges_of(edge.to.id).next().is_none()) {
            return None;
        }
        // Each actor that was reached, and who waits for it.
        let mut reached = BTreeMap::<u64, (&CellRef, u64)>::new();
        let mut queue = VecDeque::from([start]);
        while let Some(actor) = queue.pop_front() {
            let mut is_stuck = false;
            for edge in self.edges_of(actor) {
                is_stuck = true;
                // SAFETY: by the promise of `show` the receiver is there while the edge is.
                let is_waiting = unsafe { edge.question.is_waiting() };
                let has_answer = planted!("waits-answered-counts": !is_waiting => false);
                let has_more =
                    planted!("waits-young-forgotten": edge.to.awaited.has_unseen() => false);
                let goes_on = has_answer || edge.cycle.is_some();
                if goes_on || has_more || !edge.to.awaited.is_alone() {
                    return None;
                }
                if let Entry::Vacant(new) = reached.entry(edge.to.id) {
                    new.insert((&edge.to, actor));
                    if edge.to.id != start {
                        queue.push_back(edge.to.id);
                    }
                }
            }
            if !is_stuck {
                return None;
            }
        }
        let mut cycle = Vec::new();
        let mut at = start;
        loop {
            let &(cell, by) = reached.get(&at)?;
            cycle.push(cell.clone());
            at = by;
            if at == start {
                break;
            }
        }
        // It was followed backwards, from the asker to whom it asked.
        cycle[1..].reverse();
        Some(cycle)
    }
}
