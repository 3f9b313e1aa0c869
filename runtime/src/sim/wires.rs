//! What a world does with the links between its nodes.

use super::link::Link;
use super::node::{Node, host};
use super::rule::{Packet, Verdict};
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

    /// Cuts the link from one node to another, until [`World::mend`], [`World::heal`] or a [`World::calm`] whose core has both,
    /// however the link is set meanwhile; the way back stays.
    pub fn cut(&mut self, from: &Node, to: &Node) {
        self.stage.fabric.lock().cut((from.host(), to.host()));
    }

    /// Ends whatever has cut the link from one node to another: [`World::cut`] or [`World::partition`], however often, or a
    /// storm. A link that is [set](World::set_link) to be cut stays so.
    ///
    /// ```
    /// use greenroom::sim::World;
    ///
    /// let mut world = World::new(1);
    /// let [one, other] = ["one", "other"].map(|name| world.node(name).start());
    /// let [from, to] = [one.bind(1).unwrap(), other.bind(2).unwrap()];
    /// world.partition(&[one.clone()]);
    /// world.mend(&one, &other); // the way back stays cut
    /// from.send(to.address(), b"it arrives");
    /// to.send(from.address(), b"it does not");
    /// world.settle();
    /// assert!(to.try_receive().unwrap().is_some() && from.try_receive().unwrap().is_none());
    /// ```
    pub fn mend(&mut self, from: &Node, to: &Node) {
        self.stage.fabric.lock().mend((from.host(), to.host()));
    }

    /// Cuts all links between the nodes of `island` and the others, as [`World::cut`] does, both ways.
    pub fn partition(&mut self, island: &[Node]) {
        let is_inside = |index: usize| island.iter().any(|node| node.index == index);
        let mut fabric = self.stage.fabric.lock();
        for from in 0..self.nodes.len() {
            for to in (0..self.nodes.len()).filter(|&to| is_inside(to) != is_inside(from)) {
                fabric.cut((host(from), host(to)));
            }
        }
    }

    /// Lets `rule` judge the packets from one node to another, until [`World::heal`], or a [`World::calm`] whose core has both.
    /// The rules of a link are asked in the order in which they were added, each about what those before it have left,
    /// after it is known that the socket has room and the link is not cut, and before anything that chance does. A packet
    /// belongs to the link between its nodes, also where one of them [looks different from outside](Node::rebind).
    ///
    /// A rule that has to choose takes a number from the world beforehand ([`World::pick`]); what it draws elsewhere, no
    /// seed repeats. A packet that it sends itself over its link is not judged. If it panics, so does the sending, and all rules of
    /// the link are gone.
    ///
    /// ```
    /// use greenroom::sim::{Verdict, World};
    /// use std::time::Duration;
    ///
    /// let mut world = World::new(1);
    /// let [one, other] = ["one", "other"].map(|name| world.node(name).start());
    /// let [from, to] = [one.bind(1).unwrap(), other.bind(2).unwrap()];
    /// let mut seen = 0;
    /// world.add_rule(&one, &other, move |packet| {
    ///     seen += 1;
    ///     if seen == 2 { Verdict::Drop } else { Verdict::Cut(packet.bytes.len() - 1) }
    /// });
    /// for text in ["first", "second", "third"] {
    ///     from.send(to.address(), text.as_bytes());
    /// }
    /// world.run_for(Duration::from_millis(1));
    /// let came = || to.try_receive().unwrap().map(|packet| packet.bytes);
    /// assert_eq!([came(), came(), came()], [Some(b"firs".to_vec()), Some(b"thir".to_vec()), None]);
    /// ```
    pub fn add_rule(
        &mut self,
        from: &Node,
        to: &Node,
        rule: impl FnMut(&Packet<'_>) -> Verdict + Send + 'static,
    ) {
        self.stage.fabric.lock().add_rule(from.host(), to.host(), Box::new(rule));
    }

    /// What the network has counted.
    #[must_use]
    pub fn traffic(&self) -> super::Traffic {
        self.stage.fabric.lock().traffic
    }
}
