//! Many messages through every scheduler: none lost, doubled or out of order, no actor run by two
//! workers. `GREENROOM_LOAD` says how many messages each scheduler gets; a few, unless it is set. That workers steal, and have no
//! room for what they send, is forced.

#![allow(clippy::unwrap_used, reason = "what goes wrong in a test may panic")]

mod support;

use greenroom::{Actor, MigrateError, Ref, Scheduler, System, handlers};
use parking_lot::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::{self, ThreadId};
use std::time::Duration;
use support::{Builds, Hold, hold_worker, hold_worker_on, run, soon};
use tokio::sync::oneshot;

/// Messages for each scheduler unless the environment says more. ThreadSanitizer sees ten millions in all.
const MESSAGES: u64 = if cfg!(sanitized = "thread") {
    2_000_000
} else if cfg!(sanitized) {
    100_000
} else {
    400_000
};
/// More than cores, as a rule, so that workers are interrupted anywhere.
const WORKERS: usize = 3;
/// Messages that an actor which moves handles on one worker.
const STAY: u64 = 20;
/// Longer than any workload takes.
const PATIENCE: Duration = Duration::from_secs(600);

/// Where a token goes next: the node, the sender's number of it, and its number of the sender.
type Route = fn(me: usize, hops: u64, nodes: usize) -> [usize; 3];

/// Hands tokens on, and checks what it is handed.
#[derive(Actor)]
struct Node {
    me: usize,
    route: Route,
    /// Whether it moves from worker to worker, where actors live on one.
    wanders: bool,
    peers: Arc<[Ref<Self>]>,
    /// Messages sent to each neighbour, and received from each.
    sent: Box<[u64]>,
    received: Box<[u64]>,
    handled: u64,
    /// Plain, and equal whenever nobody is in the middle of a handler.
    left: u64,
    right: u64,
    finished: Arc<AtomicU64>,
    /// Where it was last seen, of those that move, and how often that was elsewhere than before.
    place: Option<ThreadId>,
    moves: u64,
}

#[handlers]
impl Node {
    #[ask]
    fn meet(&mut self, peers: Arc<[Ref<Self>]>) {
        self.peers = peers;
    }
    #[tell]
    fn start(&mut self, hops: u64) {
        self.pass(hops);
    }
    #[tell]
    fn take(&mut self, from: usize, number: u64, hops: u64) {
        assert_eq!(self.left, self.right, "one worker at a time");
        self.left += 1;
        assert_eq!(number, self.received[from], "each message comes once, in order");
        self.received[from] += 1;
        self.handled += 1;
        self.pass(hops);
        if self.wanders {
            self.wander();
        }
        self.right += 1;
    }
    #[ask]
    fn handled(&self) -> u64 {
        self.handled
    }
    #[ask]
    fn moves(&self) -> u64 {
        self.moves
    }
}

impl Node {
    fn wander(&mut self) {
        let place = Some(thread::current().id());
        self.moves += u64::from(self.place.is_some() && self.place != place);
        self.place = place;
        if self.handled.is_multiple_of(STAY) {
            let moved = self.peers[self.me].migrate((self.handled / STAY) as usize % WORKERS);
            assert!(matches!(moved, Ok(()) | Err(MigrateError::NoHome)), "{moved:?}");
        }
    }

    fn pass(&mut self, hops: u64) {
        let Some(hops) = hops.checked_sub(1) else {
            self.finished.fetch_add(1, Ordering::Relaxed);
            return;
        };
        let [to, out, from] = (self.route)(self.me, hops, self.peers.len());
        let number = self.sent[out];
        self.sent[out] += 1;
        self.peers[to].take(from, number, hops).try_send().unwrap();
    }
}

/// Tokens that walk over nodes.
struct Walk {
    nodes: usize,
    tokens: u64,
    route: Route,
    /// Neighbours at most, of any node.
    neighbours: usize,
    wanders: bool,
}

/// So many nodes at once that rings overflow and the spill is used.
const MESH: Walk = Walk {
    nodes: 6000,
    tokens: 9000,
    route: |me, hops, nodes| {
        let step = (hops % 8) as usize;
        [(me + 1 + step) % nodes, step, step]
    },
    neighbours: 8,
    wanders: false,
};
/// As a mesh, of nodes that move from worker to worker while mail for them is under way.
const MIGRATE: Walk = Walk { nodes: 300, tokens: 600, wanders: true, ..MESH };
/// One hub that everybody mails to.
const FAN_IN: Walk = Walk {
    nodes: 65,
    tokens: 2000,
    route: |me, hops, nodes| match me {
        0 => {
            let to = 1 + (hops / 2) as usize % (nodes - 1);
            [to, to, 0]
        }
        _ => [0, 0, me],
    },
    neighbours: 65,
    wanders: false,
};
/// A few tokens, so that workers fall asleep and wake up all the time.
const RING: Walk = Walk {
    nodes: 500,
    tokens: 3,
    route: |me, _, nodes| [(me + 1) % nodes, 0, 0],
    neighbours: 1,
    wanders: false,
};

/// Waits for a count that others move; they make progress, or the harness's own limit ends it.
async fn reaches(count: &AtomicU64, goal: u64) {
    let wait = async {
        while count.load(Ordering::Relaxed) < goal {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(PATIENCE, wait).await.expect("every token arrives");
}

async fn spawn(system: &System, walk: &Walk, me: usize, finished: &Arc<AtomicU64>) -> Ref<Node> {
    let node = Node {
        me,
        route: walk.route,
        wanders: walk.wanders,
        peers: Arc::new([]),
        sent: vec![0; walk.neighbours].into(),
        received: vec![0; walk.neighbours].into(),
        handled: 0,
        left: 0,
        right: 0,
        finished: Arc::clone(finished),
        place: None,
        moves: 0,
    };
    system.spawn::<Node>(node).await.unwrap()
}

/// Sends about so many messages; returns how often nodes that wander were seen to have moved.
async fn walk(system: &System, walk: &Walk, messages: u64) -> u64 {
    let finished = Arc::new(AtomicU64::new(0));
    let mut nodes = Vec::new();
    for me in 0..walk.nodes {
        nodes.push(spawn(system, walk, me, &finished).await);
    }
    let peers: Arc<[Ref<Node>]> = nodes.into();
    for node in &*peers {
        node.meet(Arc::clone(&peers)).within(PATIENCE).await.unwrap();
    }
    let hops = messages.div_ceil(walk.tokens);
    for token in 0..walk.tokens as usize {
        peers[token % walk.nodes].start(hops).try_send().unwrap();
    }
    system.await_idle(PATIENCE).await.unwrap();
    assert_eq!(finished.load(Ordering::Relaxed), walk.tokens, "every token arrives");
    let (mut handled, mut moves) = (0, 0);
    for node in &*peers {
        handled += node.handled().within(PATIENCE).await.unwrap();
        moves += node.moves().within(PATIENCE).await.unwrap();
        node.stop();
    }
    assert_eq!(handled, hops * walk.tokens, "no message is lost");
    moves
}

/// Actors that come, handle a few messages from outside, and go.
async fn churn(system: &System, messages: u64) {
    const EACH: u64 = 50;
    let finished = Arc::new(AtomicU64::new(0));
    for actor in 1..=messages / EACH {
        let node = spawn(system, &RING, 0, &finished).await;
        for number in 0..EACH {
            node.take(0, number, 0).try_send().unwrap();
        }
        node.drain();
        // Not too far ahead of those who handle it.
        reaches(&finished, (actor * EACH).saturating_sub(100 * EACH)).await;
    }
    system.await_idle(PATIENCE).await.unwrap();
    assert_eq!(finished.load(Ordering::Relaxed), messages / EACH * EACH);
}

/// How often workers are made to take actors from each other, or to send more than there is room for.
const FORCED: u64 = if cfg!(sanitized) { 10 } else { 100 };
/// More than twice as many actors, or parcels of mail, as a ring holds.
const MANY: usize = 600;

/// What the first guest at a table finds there.
struct Served {
    /// What holds the other workers.
    holds: Vec<Hold>,
    /// The threads of those who come later.
    seated: mpsc::Receiver<ThreadId>,
    taken: oneshot::Sender<usize>,
}

type Table = Arc<Mutex<Option<Served>>>;

#[derive(Actor)]
struct Guest {
    heard: Arc<AtomicU64>,
    /// Messages from the host.
    received: u64,
}

impl Guest {
    fn receive(&mut self, number: u64) {
        assert_eq!(number, self.received, "each message comes once, in order");
        self.received += 1;
    }
}

#[handlers]
impl Guest {
    /// The first of many keeps its worker until all others have come, and counts those that another worker has run.
    #[tell]
    fn sit(&mut self, number: u64, seat: mpsc::Sender<ThreadId>, table: Table) {
        self.receive(number);
        let here = thread::current().id();
        let served = table.lock().take();
        let Some(Served { holds, seated, taken }) = served else {
            return seat.send(here).expect("the first one waits for all");
        };
        drop((seat, holds));
        let others = seated.iter().take(MANY - 1).filter(|there| *there != here);
        taken.send(others.count()).expect("somebody waits for this");
    }
    #[tell]
    fn hear(&mut self, number: u64) {
        self.receive(number);
        self.heard.fetch_add(1, Ordering::Relaxed);
    }
    #[ask]
    fn turn(&self) {}
}

#[derive(Actor)]
struct Host {
    guests: Vec<Ref<Guest>>,
    /// Messages to each guest.
    sent: Vec<u64>,
}

#[handlers]
impl Host {
    /// Tells each guest to sit, and tells all of them something more, which is on its way while they are taken.
    #[tell]
    fn call(&mut self, seat: mpsc::Sender<ThreadId>, table: Table) {
        for to in 0..MANY {
            let number = self.number(to);
            self.guests[to].sit(number, seat.clone(), Arc::clone(&table)).try_send().unwrap();
        }
        self.tell_all();
    }
    /// Sends as many that do not wait for room, one that does, and as many again while the other worker takes them in.
    #[tell]
    async fn overfill(&mut self, done: oneshot::Sender<()>) {
        self.tell_all();
        self.tell_all();
        let number = self.number(0);
        self.guests[0].hear(number).await.unwrap();
        self.tell_all();
        self.tell_all();
        done.send(()).expect("somebody waits for this");
    }
}

impl Host {
    fn number(&mut self, to: usize) -> u64 {
        self.sent[to] += 1;
        self.sent[to] - 1
    }

    fn tell_all(&mut self) {
        for to in 0..MANY {
            let number = self.number(to);
            self.guests[to].hear(number).try_send().unwrap();
        }
    }
}

/// Guests that live on that worker, where they live on one, and their host, who lives on the first.
async fn invite(system: &System, worker: usize, heard: &Arc<AtomicU64>) -> Ref<Host> {
    let mut guests = Vec::new();
    for _ in 0..MANY {
        let guest = Guest { heard: Arc::clone(heard), received: 0 };
        guests.push(system.spawn::<Guest>(guest).on(worker).await.unwrap());
    }
    system.spawn::<Host>(Host { guests, sent: vec![0; MANY] }).on(0).await.unwrap()
}

/// One worker makes more actors ready than its ring holds, while all others are held; then it is in the handler of the first
/// until the others have run the rest. So they have taken those that were in its ring, and those that it had no room for; each
/// of which handles its messages in order, wherever it runs.
async fn steals(system: &System) {
    let heard = Arc::default();
    let host = invite(system, 0, &heard).await;
    for _ in 0..FORCED {
        let mut holds = Vec::new();
        for _ in 1..WORKERS {
            holds.push(hold_worker(system).await);
        }
        let ((seat, seated), (taken, told)) = (mpsc::channel(), oneshot::channel());
        let table = Arc::new(Mutex::new(Some(Served { holds, seated, taken })));
        host.call(seat, table).await.unwrap();
        let count = soon(told).await.unwrap();
        assert_eq!(count, MANY - 1, "they run while their worker is in a handler");
    }
    system.await_idle(PATIENCE).await.unwrap();
    assert_eq!(heard.load(Ordering::Relaxed), FORCED * MANY as u64, "no message is lost");
}

/// One worker sends another one, which is held, more than the ring between the two holds: then who waits for room goes on
/// only when the other worker does, and nothing overtakes what found no room.
async fn spills(system: &System) {
    let heard = Arc::default();
    let host = invite(system, 1, &heard).await;
    let bystander = Guest { heard: Arc::clone(&heard), received: 0 };
    let bystander = system.spawn::<Guest>(bystander).on(0).await.unwrap();
    for _ in 0..FORCED {
        let hold = hold_worker_on(system, 1).await;
        let (done, mut is_done) = oneshot::channel();
        host.overfill(done).await.unwrap();
        // Its turn comes after that of the host.
        bystander.turn().within(PATIENCE).await.unwrap();
        assert!(is_done.try_recv().is_err(), "there is no room until the other worker goes on");
        drop(hold);
        soon(is_done).await.unwrap();
    }
    system.await_idle(PATIENCE).await.unwrap();
    assert_eq!(heard.load(Ordering::Relaxed), FORCED * (4 * MANY as u64 + 1), "no message is lost");
}

/// Returns how often nodes have moved. What seldom happens by itself is `forced`.
fn load(scheduler: Scheduler, forced: &impl AsyncFn(&System)) -> u64 {
    let asked = std::env::var("GREENROOM_LOAD").ok();
    let messages = asked.map_or(MESSAGES, |text| text.parse().expect("a number of messages"));
    run(async {
        let system = System::builder().workers(WORKERS).scheduler(scheduler).own();
        walk(&system, &MESH, messages / 10 * 3).await;
        let moves = walk(&system, &MIGRATE, messages / 10 * 2).await;
        walk(&system, &FAN_IN, messages / 10 * 3).await;
        walk(&system, &RING, messages / 10).await;
        churn(&system, messages / 10).await;
        forced(&system).await;
        assert_eq!(system.counts().panics, 0);
        assert_eq!(system.counts().dead_stopped, 0);
        system.shutdown(PATIENCE).await.unwrap();
        moves
    })
}

// [G-DELIVERY-1] [G-ORDER-1] [G-EXCLUSIVE-1]
#[test]
fn auto() {
    load(Scheduler::auto(), &steals);
}

// [G-DELIVERY-1] [G-ORDER-1] [G-EXCLUSIVE-1]
#[test]
fn locked() {
    load(Scheduler::locked(), &steals);
}

// [G-DELIVERY-1] [G-ORDER-1] [G-EXCLUSIVE-1]
#[test]
fn lock_free() {
    load(Scheduler::lock_free(), &steals);
}

// [G-DELIVERY-1] [G-ORDER-1] [G-EXCLUSIVE-1]
#[test]
fn stealing() {
    load(Scheduler::stealing(), &steals);
}

// [G-DELIVERY-1] [G-ORDER-1] [G-EXCLUSIVE-1]
#[test]
fn per_core() {
    assert!(load(Scheduler::per_core(), &spills) > 0, "where nodes live on a worker they move");
}
