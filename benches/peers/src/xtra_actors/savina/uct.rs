//! A tree grows, node by node, as far as its keeper lets it, and is then counted.

use super::{me, spawn, spawn_with, tell};
use crate::savina::Done;
use crate::savina::uct::{self, CHILDREN, Census, Growth, Seed};
use std::time::{Duration, Instant};
use xtra::{Address, Context, Handler};

struct Keeper {
    growth: Growth,
    root: Address<Node>,
    done: Done<u64>,
}
struct Begin;
struct MayHaveChildren(Address<Node>, bool);
struct AllCounted(u64);

struct Node {
    seed: Seed,
    parent: Option<Address<Self>>,
    keeper: Address<Keeper>,
    children: Vec<Address<Self>>,
    census: Census,
}
struct Compute;
struct HaveChildren;
struct Count;
struct Counted(u64);

plain_actors!(Keeper, Node);

impl Handler<Begin> for Keeper {
    type Return = ();

    async fn handle(&mut self, _message: Begin, _cx: &mut Context<Self>) {
        tell(&self.root, Compute).await;
    }
}

impl Handler<MayHaveChildren> for Keeper {
    type Return = ();

    async fn handle(
        &mut self,
        MayHaveChildren(node, likes): MayHaveChildren,
        _cx: &mut Context<Self>,
    ) {
        if self.growth.decide(likes) {
            tell(&node, HaveChildren).await;
        }
        if self.growth.nodes().is_some() {
            tell(&self.root, Count).await;
        }
    }
}

impl Handler<AllCounted> for Keeper {
    type Return = ();

    async fn handle(&mut self, AllCounted(nodes): AllCounted, _cx: &mut Context<Self>) {
        assert_eq!(self.growth.nodes(), Some(nodes), "every node was counted once");
        self.done.tell(nodes);
    }
}

impl Node {
    fn of(seed: Seed, parent: Option<Address<Self>>, keeper: Address<Keeper>) -> Self {
        Self { seed, parent, keeper, children: Vec::new(), census: Census::default() }
    }

    async fn answer(&self, nodes: u64) {
        match &self.parent {
            Some(parent) => tell(parent, Counted(nodes)).await,
            None => tell(&self.keeper, AllCounted(nodes)).await,
        }
    }
}

impl Handler<Compute> for Node {
    type Return = ();

    async fn handle(&mut self, _message: Compute, cx: &mut Context<Self>) {
        let likes = self.seed.compute();
        tell(&self.keeper, MayHaveChildren(me(cx), likes)).await;
    }
}

impl Handler<HaveChildren> for Node {
    type Return = ();

    async fn handle(&mut self, _message: HaveChildren, cx: &mut Context<Self>) {
        for _ in 0..CHILDREN {
            let (seed, me, keeper) = (self.seed.child(), me(cx), self.keeper.clone());
            let child = spawn(Self::of(seed, Some(me), keeper));
            tell(&child, Compute).await;
            self.children.push(child);
        }
    }
}

impl Handler<Count> for Node {
    type Return = ();

    async fn handle(&mut self, _message: Count, _cx: &mut Context<Self>) {
        for child in &self.children {
            tell(child, Count).await;
        }
        if self.children.is_empty() {
            self.answer(1).await;
        }
    }
}

impl Handler<Counted> for Node {
    type Return = ();

    async fn handle(&mut self, Counted(nodes): Counted, _cx: &mut Context<Self>) {
        if let Some(nodes) = self.census.add(nodes) {
            self.answer(nodes).await;
        }
    }
}

pub(super) async fn run(n: u64) -> Duration {
    let (done, nodes) = Done::new();
    let keeper = spawn_with(|me| {
        let root = spawn(Node::of(Seed::root(), None, me.clone()));
        Keeper { growth: Growth::new(n), root, done }
    });
    let clock = Instant::now();
    tell(&keeper, Begin).await;
    let nodes = nodes.await;
    let took = clock.elapsed();
    assert_eq!(nodes, Ok(uct::nodes(n)), "the tree grows up to its bound");
    took
}
