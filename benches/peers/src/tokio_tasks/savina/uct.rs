//! A tree grows, node by node, as far as its keeper lets it, and is then counted.

use crate::savina::uct::{self, CHILDREN, Census, Growth, Seed};
use std::time::{Duration, Instant};
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};

enum ToKeeper {
    MayHaveChildren(UnboundedSender<ToNode>, bool),
    Counted(u64),
}

enum ToNode {
    HaveChildren,
    Count,
    Counted(u64),
}

/// Who is told how many nodes there are.
enum Above {
    Node(UnboundedSender<ToNode>),
    Keeper,
}

struct Node {
    seed: Seed,
    above: Above,
    keeper: UnboundedSender<ToKeeper>,
    children: Vec<UnboundedSender<ToNode>>,
}

impl Node {
    fn start(
        seed: Seed,
        above: Above,
        keeper: UnboundedSender<ToKeeper>,
    ) -> UnboundedSender<ToNode> {
        let (me, mailbox) = mpsc::unbounded_channel();
        let node = Self { seed, above, keeper, children: Vec::new() };
        tokio::spawn(node.run(me.clone(), mailbox));
        me
    }

    async fn run(mut self, me: UnboundedSender<ToNode>, mut mailbox: UnboundedReceiver<ToNode>) {
        let likes = self.seed.compute();
        let question = ToKeeper::MayHaveChildren(me.clone(), likes);
        self.keeper.send(question).expect("the keeper lives");
        let mut census = Census::default();
        while let Some(message) = mailbox.recv().await {
            match message {
                ToNode::HaveChildren => self.have_children(&me),
                ToNode::Count if self.children.is_empty() => return self.answer(1),
                ToNode::Count => {
                    for child in &self.children {
                        child.send(ToNode::Count).expect("the child lives");
                    }
                }
                ToNode::Counted(nodes) => {
                    if let Some(nodes) = census.add(nodes) {
                        return self.answer(nodes);
                    }
                }
            }
        }
    }

    fn have_children(&mut self, me: &UnboundedSender<ToNode>) {
        for _ in 0..CHILDREN {
            let (above, keeper) = (Above::Node(me.clone()), self.keeper.clone());
            self.children.push(Self::start(self.seed.child(), above, keeper));
        }
    }

    fn answer(&self, nodes: u64) {
        match &self.above {
            Above::Node(parent) => parent.send(ToNode::Counted(nodes)).expect("the parent lives"),
            Above::Keeper => {
                self.keeper.send(ToKeeper::Counted(nodes)).expect("the keeper lives");
            }
        }
    }
}

async fn keeper(n: u64) -> Option<u64> {
    let (me, mut mailbox) = mpsc::unbounded_channel();
    let mut growth = Growth::new(n);
    let root = Node::start(Seed::root(), Above::Keeper, me);
    loop {
        match mailbox.recv().await? {
            ToKeeper::MayHaveChildren(node, likes) => {
                if growth.decide(likes) {
                    node.send(ToNode::HaveChildren).expect("the node lives");
                }
                if growth.nodes().is_some() {
                    root.send(ToNode::Count).expect("the root lives");
                }
            }
            ToKeeper::Counted(nodes) => {
                assert_eq!(growth.nodes(), Some(nodes), "every node was counted once");
                return Some(nodes);
            }
        }
    }
}

pub(super) async fn run(n: u64) -> Duration {
    let clock = Instant::now();
    let nodes = tokio::spawn(keeper(n)).await.expect("the keeper does not panic");
    let took = clock.elapsed();
    assert_eq!(nodes, Some(uct::nodes(n)), "the tree grows up to its bound");
    took
}
