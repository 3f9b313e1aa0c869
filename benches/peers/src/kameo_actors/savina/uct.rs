//! A tree grows, node by node, as far as its keeper lets it, and is then counted.

use super::{spawn, spawn_with};
use crate::savina::Done;
use crate::savina::uct::{self, CHILDREN, Census, Growth, Seed};
use kameo::actor::ActorRef;
use kameo::message::{Context, Message};
use std::time::{Duration, Instant};

struct Keeper {
    growth: Growth,
    root: ActorRef<Node>,
    done: Done<u64>,
}
struct Begin;
struct MayHaveChildren(ActorRef<Node>, bool);
struct AllCounted(u64);

struct Node {
    seed: Seed,
    parent: Option<ActorRef<Self>>,
    keeper: ActorRef<Keeper>,
    children: Vec<ActorRef<Self>>,
    census: Census,
}
struct Compute;
struct HaveChildren;
struct Count;
struct Counted(u64);

plain_actor!(Keeper);
plain_actor!(Node);

impl Message<Begin> for Keeper {
    type Reply = ();

    async fn handle(&mut self, _message: Begin, _cx: &mut Context<Self, ()>) {
        self.root.tell(Compute).try_send().expect("the receiver lives");
    }
}

impl Message<MayHaveChildren> for Keeper {
    type Reply = ();

    async fn handle(
        &mut self,
        MayHaveChildren(node, likes): MayHaveChildren,
        _cx: &mut Context<Self, ()>,
    ) {
        if self.growth.decide(likes) {
            node.tell(HaveChildren).try_send().expect("the receiver lives");
        }
        if self.growth.nodes().is_some() {
            self.root.tell(Count).try_send().expect("the receiver lives");
        }
    }
}

impl Message<AllCounted> for Keeper {
    type Reply = ();

    async fn handle(&mut self, AllCounted(nodes): AllCounted, _cx: &mut Context<Self, ()>) {
        assert_eq!(self.growth.nodes(), Some(nodes), "every node was counted once");
        self.done.tell(nodes);
    }
}

impl Node {
    fn of(seed: Seed, parent: Option<ActorRef<Self>>, keeper: ActorRef<Keeper>) -> Self {
        Self { seed, parent, keeper, children: Vec::new(), census: Census::default() }
    }

    fn answer(&self, nodes: u64) {
        match &self.parent {
            Some(parent) => parent.tell(Counted(nodes)).try_send().expect("the receiver lives"),
            None => self.keeper.tell(AllCounted(nodes)).try_send().expect("the receiver lives"),
        }
    }
}

impl Message<Compute> for Node {
    type Reply = ();

    async fn handle(&mut self, _message: Compute, cx: &mut Context<Self, ()>) {
        let likes = self.seed.compute();
        self.keeper
            .tell(MayHaveChildren(cx.actor_ref().clone(), likes))
            .try_send()
            .expect("the receiver lives");
    }
}

impl Message<HaveChildren> for Node {
    type Reply = ();

    async fn handle(&mut self, _message: HaveChildren, cx: &mut Context<Self, ()>) {
        for _ in 0..CHILDREN {
            let (seed, me, keeper) =
                (self.seed.child(), cx.actor_ref().clone(), self.keeper.clone());
            let child = spawn(Self::of(seed, Some(me), keeper));
            child.tell(Compute).try_send().expect("the receiver lives");
            self.children.push(child);
        }
    }
}

impl Message<Count> for Node {
    type Reply = ();

    async fn handle(&mut self, _message: Count, _cx: &mut Context<Self, ()>) {
        for child in &self.children {
            child.tell(Count).try_send().expect("the receiver lives");
        }
        if self.children.is_empty() {
            self.answer(1);
        }
    }
}

impl Message<Counted> for Node {
    type Reply = ();

    async fn handle(&mut self, Counted(nodes): Counted, _cx: &mut Context<Self, ()>) {
        if let Some(nodes) = self.census.add(nodes) {
            self.answer(nodes);
        }
    }
}

pub(super) async fn run(n: u64) -> Duration {
    let (done, nodes) = Done::new();
    let keeper = spawn_with(|me| {
        let root = spawn(Node::of(Seed::root(), None, me.clone()));
        Keeper { growth: Growth::new(n), root, done }
    });
    keeper.wait_for_startup().await;
    let clock = Instant::now();
    keeper.tell(Begin).try_send().expect("the receiver lives");
    let nodes = nodes.await;
    let took = clock.elapsed();
    assert_eq!(nodes, Ok(uct::nodes(n)), "the tree grows up to its bound");
    took
}
