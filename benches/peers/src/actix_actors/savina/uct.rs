//! A tree grows, node by node, as far as its keeper lets it, and is then counted.

use super::Nursery;
use crate::actix_actors::{Stage, messages, plain_actors};
use crate::savina::Done;
use crate::savina::uct::{self, CHILDREN, Census, Growth, Seed};
use actix::{Actor, Addr, AsyncContext, Context, Handler};
use std::time::{Duration, Instant};

struct Keeper {
    growth: Growth,
    root: Addr<Node>,
    done: Done<u64>,
}
struct Begin;
struct MayHaveChildren(Addr<Node>, bool);
struct AllCounted(u64);

struct Node {
    seed: Seed,
    nursery: Nursery,
    parent: Option<Addr<Self>>,
    keeper: Addr<Keeper>,
    children: Vec<Addr<Self>>,
    census: Census,
}
struct Compute;
struct HaveChildren;
struct Count;
struct Counted(u64);

messages!(Begin, MayHaveChildren, AllCounted, Compute, HaveChildren, Count, Counted);
plain_actors!(Keeper, Node);

impl Handler<Begin> for Keeper {
    type Result = ();

    fn handle(&mut self, _message: Begin, _cx: &mut Self::Context) {
        self.root.do_send(Compute);
    }
}

impl Handler<MayHaveChildren> for Keeper {
    type Result = ();

    fn handle(&mut self, MayHaveChildren(node, likes): MayHaveChildren, _cx: &mut Self::Context) {
        if self.growth.decide(likes) {
            node.do_send(HaveChildren);
        }
        if self.growth.nodes().is_some() {
            self.root.do_send(Count);
        }
    }
}

impl Handler<AllCounted> for Keeper {
    type Result = ();

    fn handle(&mut self, AllCounted(nodes): AllCounted, _cx: &mut Self::Context) {
        assert_eq!(self.growth.nodes(), Some(nodes), "every node was counted once");
        self.done.tell(nodes);
    }
}

impl Node {
    fn of(seed: Seed, nursery: Nursery, parent: Option<Addr<Self>>, keeper: Addr<Keeper>) -> Self {
        Self { seed, nursery, parent, keeper, children: Vec::new(), census: Census::default() }
    }

    fn answer(&self, nodes: u64) {
        match &self.parent {
            Some(parent) => parent.do_send(Counted(nodes)),
            None => self.keeper.do_send(AllCounted(nodes)),
        }
    }
}

impl Handler<Compute> for Node {
    type Result = ();

    fn handle(&mut self, _message: Compute, cx: &mut Self::Context) {
        let likes = self.seed.compute();
        self.keeper.do_send(MayHaveChildren(cx.address(), likes));
    }
}

impl Handler<HaveChildren> for Node {
    type Result = ();

    fn handle(&mut self, _message: HaveChildren, cx: &mut Self::Context) {
        for number in 0..CHILDREN as usize {
            let (seed, me, keeper) = (self.seed.child(), cx.address(), self.keeper.clone());
            let child =
                self.nursery.start(number, |nursery| Self::of(seed, nursery, Some(me), keeper));
            child.do_send(Compute);
            self.children.push(child);
        }
    }
}

impl Handler<Count> for Node {
    type Result = ();

    fn handle(&mut self, _message: Count, _cx: &mut Self::Context) {
        for child in &self.children {
            child.do_send(Count);
        }
        if self.children.is_empty() {
            self.answer(1);
        }
    }
}

impl Handler<Counted> for Node {
    type Result = ();

    fn handle(&mut self, Counted(nodes): Counted, _cx: &mut Self::Context) {
        if let Some(nodes) = self.census.add(nodes) {
            self.answer(nodes);
        }
    }
}

pub(super) async fn run(stage: Stage, n: u64) -> Duration {
    let (done, nodes) = Done::new();
    let keeper = Keeper::create(|cx: &mut Context<Keeper>| {
        let root = Node::of(Seed::root(), Nursery::on(stage), None, cx.address()).start();
        Keeper { growth: Growth::new(n), root, done }
    });
    let clock = Instant::now();
    keeper.do_send(Begin);
    let nodes = nodes.await;
    let took = clock.elapsed();
    assert_eq!(nodes, Ok(uct::nodes(n)), "the tree grows up to its bound");
    took
}
