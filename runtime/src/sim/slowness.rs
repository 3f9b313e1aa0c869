//! What a slow node does takes its time, while the other nodes go on. That is each turn of a worker and each poll of a
//! task, also of one that an actor has begun: tokio polls those, but not before the world has given them a turn.

use super::world::World;

impl World {
    /// Whether what one of the roster does is yet to take its time, because its node is slow: meanwhile nobody of that node
    /// runs, and all others do. On a node as fast as it should be it took `cost`, which has passed.
    pub(super) fn takes_longer(&mut self, number: usize, cost: u64) -> bool {
        let Some(node) = self.roster.work(number).node() else { return false };
        let state = &mut self.nodes[node];
        if state.condition.slowness <= 1 {
            return false;
        }
        if state.busy_with.take() == Some(number) {
            // They have waited longer than it will when it has run.
            for number in std::mem::take(&mut state.held) {
                self.roster.make_ready(number);
            }
            return false;
        }
        let longer = cost.saturating_mul(state.condition.slowness - 1);
        state.busy_with = Some(number);
        state.busy_until = self.stage.now().saturating_add(longer);
        self.next_done = self.next_done.min(state.busy_until);
        state.held.push(number);
        state.held.extend(self.roster.take_all_of(node));
        true
    }

    /// Lets the one of each slow node run whose time is over.
    pub(super) fn end_slow_turns(&mut self) {
        let now = self.stage.now();
        self.next_done = u64::MAX;
        for node in 0..self.nodes.len() {
            match self.nodes[node].busy_until {
                0 => {}
                until if until > now => self.next_done = self.next_done.min(until),
                _ => {
                    self.nodes[node].busy_until = 0;
                    self.let_go(node);
                }
            }
        }
    }

    /// Lets a node go on that is no longer slow.
    pub(super) fn end_slowness(&mut self, node: usize) {
        let state = &mut self.nodes[node];
        (state.busy_with, state.busy_until) = (None, 0);
        self.let_go(node);
    }

    /// Wakes those who were held back on a node, if something of it may run.
    pub(super) fn let_go(&mut self, node: usize) {
        if !self.nodes[node].holds_all() {
            for number in std::mem::take(&mut self.nodes[node].held) {
                self.stage.woken.add(number);
            }
        }
    }
}
