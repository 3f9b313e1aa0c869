//! A tree grows, node by node, as far as its keeper lets it, and is then counted.

use greenroom::{Actor, Context, Ref, System, handlers};
use greenroom_peers::savina::Done;
use greenroom_peers::savina::uct::{self, CHILDREN, Census, Growth, Seed};
use std::time::{Duration, Instant};

#[derive(Actor)]
struct Keeper {
    growth: Growth,
    root: Ref<Node>,
    done: Done<u64>,
}

#[handlers]
impl Keeper {
    #[start]
    fn start(n: u64, done: Done<u64>, cx: &mut Context<Self>) -> Self {
        let args = (Seed::root(), None, cx.me());
        let root = cx.spawn::<Node>(args).start().expect("the root starts");
        Self { growth: Growth::new(n), root, done }
    }

    #[tell]
    fn begin(&mut self) {
        self.root.compute().tell().expect("the root lives");
    }

    #[tell]
    fn may_have_children(&mut self, node: Ref<Node>, likes: bool) {
        if self.growth.decide(likes) {
            node.have_children().tell().expect("the node lives");
        }
        if self.growth.nodes().is_some() {
            self.root.count().tell().expect("the root lives");
        }
    }

    #[tell]
    fn counted(&mut self, nodes: u64) {
        assert_eq!(self.growth.nodes(), Some(nodes), "every node was counted once");
        self.done.tell(nodes);
    }
}

#[derive(Actor)]
struct Node {
    seed: Seed,
    parent: Option<Ref<Self>>,
    keeper: Ref<Keeper>,
    children: Vec<Ref<Self>>,
    census: Census,
}

#[handlers]
impl Node {
    #[start]
    fn start(seed: Seed, parent: Option<Ref<Self>>, keeper: Ref<Keeper>) -> Self {
        Self { seed, parent, keeper, children: Vec::new(), census: Census::default() }
    }

    #[tell]
    fn compute(&mut self, cx: &mut Context<Self>) {
        let likes = self.seed.compute();
        self.keeper.may_have_children(cx.me(), likes).tell().expect("the keeper lives");
    }

    #[tell]
    fn have_children(&mut self, cx: &mut Context<Self>) {
        for _ in 0..CHILDREN {
            let args = (self.seed.child(), Some(cx.me()), self.keeper.clone());
            let child = cx.spawn::<Self>(args).start().expect("a child starts");
            child.compute().tell().expect("the child lives");
            self.children.push(child);
        }
    }

    #[tell]
    fn count(&mut self) {
        for child in &self.children {
            child.count().tell().expect("the child lives");
        }
        if self.children.is_empty() {
            self.answer(1);
        }
    }

    #[tell]
    fn counted(&mut self, nodes: u64) {
        if let Some(nodes) = self.census.add(nodes) {
            self.answer(nodes);
        }
    }

    fn answer(&self, nodes: u64) {
        match &self.parent {
            Some(parent) => parent.counted(nodes).tell().expect("the parent lives"),
            None => self.keeper.counted(nodes).tell().expect("the keeper lives"),
        }
    }
}

pub(super) async fn run(system: System, n: u64) -> Duration {
    let (done, nodes) = Done::new();
    let keeper = system.spawn::<Keeper>((n, done)).await.expect("the keeper starts");
    let clock = Instant::now();
    keeper.begin().tell().expect("the keeper lives");
    let nodes = nodes.await;
    let took = clock.elapsed();
    assert_eq!(nodes, Ok(uct::nodes(n)), "the tree grows up to its bound");
    took
}
