//! What a slow node does takes its time, while the other nodes go on.

use super::world::World;

impl World {
    /// Whether what one of the roster does is yet to take its time, because its node is slow: meanwhile nobody of that node
    /// runs, and all others do. On a node as fast as it should be it took `cost`, which has passed.
    pub(super) fn takes_longer(&mut self, number: usize, cost: u64) -> bool {
        let Some(node) = self.roster.work(number).node() else { return false };
        let state = &mut self.nodes[node];
        if state.slowness <= 1 || std::mem::take(&mut state.is_done) {
            return false;
        }
        let longer = cost.saturating_mul(state.slowness - 1);
        state.busy_until = self.stage.now().saturating_add(longer);
        self.next_done = self.next_done.min(state.busy_until);
        state.held.push(number);
        state.held.extend(self.roster.take_all_of(node));
        true
    }

    /// Lets one of each slow node run that is through with what it does.
    pub(super) fn end_slow_turns(&mut self) {
        let now = self.stage.now();
        self.next_done = u64::MAX;
        for node in 0..self.nodes.len() {
            match self.nodes[node].busy_until {
                0 => {}
                until if until > now => self.next_done = self.next_done.min(until),
                _ => self.end_slow_turn(node),
            }
        }
    }

    /// Lets a slow node be through with what it does.
    pub(super) fn end_slow_turn(&mut self, node: usize) {
        let state = &mut self.nodes[node];
        state.busy_until = 0;
        state.is_done = true;
        self.let_go(node);
    }

    /// Lets those run again who were held back on a node, if nothing holds them any more.
    pub(super) fn let_go(&mut self, node: usize) {
        if !self.nodes[node].holds() {
            for number in std::mem::take(&mut self.nodes[node].held) {
                self.stage.woken.add(number);
            }
        }
    }
}
