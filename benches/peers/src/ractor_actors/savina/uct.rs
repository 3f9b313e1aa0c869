//! A tree grows, node by node, as far as its keeper lets it, and is then counted.

use super::{Handled, State, start, start_soon};
use crate::savina::Done;
use crate::savina::uct::{self, CHILDREN, Census, Growth, Seed};
use ractor::ActorRef;
use std::time::{Duration, Instant};

enum ToKeeper {
    Begin(ActorRef<ToNode>),
    MayHaveChildren(ActorRef<ToNode>, bool),
    Counted(u64),
}

struct Keeper {
    growth: Growth,
    root: Option<ActorRef<ToNode>>,
    done: Done<u64>,
}

impl State for Keeper {
    type Msg = ToKeeper;

    async fn handle(&mut self, _me: ActorRef<ToKeeper>, message: ToKeeper) -> Handled {
        match message {
            ToKeeper::Begin(root) => {
                root.cast(ToNode::Compute)?;
                self.root = Some(root);
            }
            ToKeeper::MayHaveChildren(node, likes) => {
                if self.growth.decide(likes) {
                    node.cast(ToNode::HaveChildren)?;
                }
                if let (Some(_), Some(root)) = (self.growth.nodes(), &self.root) {
                    root.cast(ToNode::Count)?;
                }
            }
            ToKeeper::Counted(nodes) => {
                assert_eq!(self.growth.nodes(), Some(nodes), "every node was counted once");
                self.done.tell(nodes);
            }
        }
        Ok(())
    }
}

enum ToNode {
    Compute,
    HaveChildren,
    Count,
    Counted(u64),
}

struct Node {
    seed: Seed,
    parent: Option<ActorRef<ToNode>>,
    keeper: ActorRef<ToKeeper>,
    children: Vec<ActorRef<ToNode>>,
    census: Census,
}

impl Node {
    fn of(seed: Seed, parent: Option<ActorRef<ToNode>>, keeper: ActorRef<ToKeeper>) -> Self {
        Self { seed, parent, keeper, children: Vec::new(), census: Census::default() }
    }

    fn answer(&self, nodes: u64) -> Handled {
        match &self.parent {
            Some(parent) => parent.cast(ToNode::Counted(nodes))?,
            None => self.keeper.cast(ToKeeper::Counted(nodes))?,
        }
        Ok(())
    }
}

impl State for Node {
    type Msg = ToNode;

    async fn handle(&mut self, me: ActorRef<ToNode>, message: ToNode) -> Handled {
        match message {
            ToNode::Compute => {
                let likes = self.seed.compute();
                self.keeper.cast(ToKeeper::MayHaveChildren(me, likes))?;
            }
            ToNode::HaveChildren => {
                for _ in 0..CHILDREN {
                    let (seed, keeper) = (self.seed.child(), self.keeper.clone());
                    let child = start_soon(Self::of(seed, Some(me.clone()), keeper))?;
                    child.cast(ToNode::Compute)?;
                    self.children.push(child);
                }
            }
            ToNode::Count if self.children.is_empty() => self.answer(1)?,
            ToNode::Count => {
                for child in &self.children {
                    child.cast(ToNode::Count)?;
                }
            }
            ToNode::Counted(nodes) => {
                if let Some(nodes) = self.census.add(nodes) {
                    self.answer(nodes)?;
                }
            }
        }
        Ok(())
    }
}

pub(super) async fn run(n: u64) -> Duration {
    let (done, nodes) = Done::new();
    let keeper = start(Keeper { growth: Growth::new(n), root: None, done }).await;
    let root = start(Node::of(Seed::root(), None, keeper.clone())).await;
    let clock = Instant::now();
    keeper.cast(ToKeeper::Begin(root)).expect("the keeper lives");
    let nodes = nodes.await;
    let took = clock.elapsed();
    assert_eq!(nodes, Ok(uct::nodes(n)), "the tree grows up to its bound");
    took
}
