//! Systems that are joined by pipes, and the actors that the tests send to.

use crate::support::{Builds, LONG, OwnSystem, SCHEDULERS, run};
use greenroom::net::{Export, Identity, Incarnation, Loopback, Node, NodeId, Peer, WireMessage};
use greenroom::{
    Actor, Builder, Context, Down, Protocol, Ref, Scheduler, System, WatchId, handlers,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// One system that is a node.
pub(crate) struct Place {
    pub(crate) system: OwnSystem,
    pub(crate) node: Node,
    name: &'static str,
}

static INCARNATIONS: AtomicU64 = AtomicU64::new(1);

/// Nobody has had this identity before.
pub(crate) fn identity(name: &str) -> Identity {
    let node = name.bytes().fold(0, |sum, byte| sum * 256 + u64::from(byte));
    let incarnation = INCARNATIONS.fetch_add(1, Ordering::Relaxed);
    Identity { node: NodeId(node), incarnation: Incarnation(incarnation) }
}

impl Place {
    pub(crate) fn new(network: &Loopback, name: &'static str, scheduler: Scheduler) -> Self {
        Self::of(network, name, System::builder().workers(2).scheduler(scheduler))
    }

    /// A node of such a system.
    pub(crate) fn of(network: &Loopback, name: &'static str, system: Builder) -> Self {
        let system = system.own();
        let node = Node::start(&system, network.node(name, identity(name))).unwrap();
        Self { system, node, name }
    }

    /// Connects with another one.
    pub(crate) async fn reach(&self, other: &Self) -> Peer {
        let address = format!("loopback:{}", other.name).parse().unwrap();
        self.node.connect(&address).await.unwrap()
    }

    pub(crate) async fn shut(&self) {
        self.system.shutdown(LONG).await.unwrap();
    }
}

/// Runs `test` with two nodes, `here` and `there`, under every scheduler, and shuts both down.
pub(crate) fn between(
    network: impl Fn() -> Loopback,
    test: impl AsyncFn(&Loopback, &Place, &Place),
) {
    for scheduler in SCHEDULERS {
        let network = network();
        let here = Place::new(&network, "here", scheduler());
        let there = Place::new(&network, "there", scheduler());
        run(async {
            test(&network, &here, &there).await;
            here.shut().await;
            there.shut().await;
        });
    }
}

/// As [`between`], under one scheduler.
pub(crate) fn once(network: Loopback, test: impl AsyncFn(&Loopback, &Place, &Place)) {
    let here = Place::new(&network, "here", Scheduler::stealing());
    let there = Place::new(&network, "there", Scheduler::stealing());
    run(async {
        test(&network, &here, &there).await;
        here.shut().await;
        there.shut().await;
    });
}

/// Notes who told it what, in order, and answers.
#[derive(Actor)]
#[actor(mailbox = bounded(4))]
pub(crate) struct Book {
    notes: Vec<(u32, u64)>,
    gate: Arc<tokio::sync::Semaphore>,
}

#[handlers(api = BookApi, wire = "test.book/2")]
impl Book {
    #[start]
    fn start(gate: Arc<tokio::sync::Semaphore>) -> Self {
        Self { notes: Vec::new(), gate }
    }
    /// Notes it, and waits at the gate.
    #[tell]
    async fn note(&mut self, from: u32, number: u64) {
        self.gate.acquire().await.unwrap().forget();
        self.gate.add_permits(1);
        self.notes.push((from, number));
    }
    #[ask]
    fn notes(&self) -> Vec<(u32, u64)> {
        self.notes.clone()
    }
    #[ask]
    fn divide(&self, number: u64, by: u64) -> Result<u64, String> {
        number.checked_div(by).ok_or_else(|| "by zero".to_owned())
    }
    /// How long the asker waits, as the handler sees it.
    #[ask]
    fn remaining_ms(&self, cx: &mut Context<Self>) -> u64 {
        u64::try_from(cx.remaining().as_millis()).unwrap_or(u64::MAX)
    }
    #[ask]
    async fn never(&mut self) {
        std::future::pending::<()>().await;
    }
    #[ask]
    fn panic(&mut self) -> u8 {
        panic!("as it was asked to");
    }
    #[tell]
    fn close(&mut self, cx: &mut Context<Self>) {
        cx.stop();
    }
    #[tell]
    fn fail(&mut self, why: String, cx: &mut Context<Self>) {
        cx.fail(why);
    }
}

/// A book whose gate is open.
pub(crate) fn open() -> Arc<tokio::sync::Semaphore> {
    Arc::new(tokio::sync::Semaphore::new(1))
}

/// A book whose gate is shut.
pub(crate) fn shut() -> Arc<tokio::sync::Semaphore> {
    Arc::new(tokio::sync::Semaphore::new(0))
}

/// Spawns a book at `there`, exports it, and finds it from `here`; returns both references to it.
pub(crate) async fn book(
    here: &Place,
    there: &Place,
    name: &str,
    gate: Arc<tokio::sync::Semaphore>,
) -> (Ref<Book>, Ref<Book>) {
    let near = there.system.spawn::<Book>(gate).await.unwrap();
    let far = find(here, there, name, &near).await;
    (near, far)
}

/// Exports an actor of `there`, and finds it from `here`.
pub(crate) async fn find<P: Protocol<Message: WireMessage>>(
    here: &Place,
    there: &Place,
    name: &str,
    actor: &Ref<P>,
) -> Ref<P> {
    there.node.export(name, Export::of(actor)).unwrap();
    here.reach(there).await.find::<P>(name).await.unwrap()
}

/// Watches others, and notes what it is told and what has ended.
#[derive(Actor)]
pub(crate) struct Watcher {
    log: Vec<Seen>,
    watch: Option<WatchId>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Seen {
    Told(u64),
    Down(greenroom::ExitReason),
}

#[handlers(wire = "test.watcher/1")]
impl Watcher {
    #[start]
    fn start() -> Self {
        Self { log: Vec::new(), watch: None }
    }
    #[tell]
    fn told(&mut self, number: u64) {
        self.log.push(Seen::Told(number));
    }
    #[down]
    pub(crate) fn down(&mut self, down: Down) {
        self.log.push(Seen::Down(down.reason));
    }
}

/// Messages for tests alone, which do not cross nodes.
#[derive(greenroom::Message)]
pub(crate) struct Watch(pub(crate) Ref<Book>);
#[derive(greenroom::Message)]
pub(crate) struct Unwatch;
#[derive(greenroom::Message)]
#[message(reply = Vec<Seen>)]
pub(crate) struct Log;

impl greenroom::Handle<Watch> for Watcher {
    fn handle(&mut self, message: Watch, cx: &mut Context<Self>) {
        self.watch = Some(cx.watch(&message.0, Self::down));
    }
}

impl greenroom::Handle<Unwatch> for Watcher {
    fn handle(&mut self, _: Unwatch, cx: &mut Context<Self>) {
        if let Some(watch) = self.watch.take() {
            cx.unwatch(watch);
        }
    }
}

impl greenroom::Handle<Log> for Watcher {
    fn handle(&mut self, _: Log, _: &mut Context<Self>) -> Vec<Seen> {
        self.log.clone()
    }
}

/// So short that a test may wait for it.
pub(crate) const SHORT: Duration = Duration::from_millis(30);
