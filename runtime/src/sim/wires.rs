//! What a world does with the links between its nodes.

use super::link::Link;
use super::node::{Node, host};
use super::world::World;

impl World {
    /// Makes all links between nodes alike.
    pub fn set_links(&mut self, link: Link) {
        self.stage.fabric.lock().set_all(link);
    }

    /// Makes the link from one node to another different from the others; the way back is a link of its
    /// own.
    pub fn set_link(&mut self, from: &Node, to: &Node, link: Link) {
        *self.stage.fabric.lock().link(from.host(), to.host()) = link;
    }

    /// Cuts the link from one node to another, until [`World::heal`]; the way back stays.
    pub fn cut(&mut self, from: &Node, to: &Node) {
        self.stage.fabric.lock().link(from.host(), to.host()).cut = true;
    }

    /// Cuts all links between the nodes of `island` and the others, both ways, until [`World::heal`].
    pub fn partition(&mut self, island: &[Node]) {
        let is_inside = |index: usize| island.iter().any(|node| node.index == index);
        let mut fabric = self.stage.fabric.lock();
        for from in 0..self.nodes.len() {
            for to in (0..self.nodes.len()).filter(|&to| is_inside(to) != is_inside(from)) {
                fabric.link(host(from), host(to)).cut = true;
            }
        }
    }

    /// What the network has counted.
    #[must_use]
    pub fn traffic(&self) -> super::Traffic {
        self.stage.fabric.lock().traffic
    }
}
