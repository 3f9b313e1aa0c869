//! Questions by a device, while its port goes down and nodes begin other lives, held against what is promised of remote
//! actors. `GREENROOM_ASKS` says how many there are.

use super::desk::{self, CLIENTS, Desk, Log, Shared, What};
use super::nodes::{identity, public};
use super::{LinkDown, is_guest};
use greenroom::net::{Address, Export, Node};
use greenroom::{Ref, System};
use greenroom_transports::rdma::Rdma;
use greenroom_transports::station::Carrier;
use greenroom_transports::udp::{Settings, Udp};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

pub(super) const ASKS: u64 = 10_000;
/// How many there are.
pub(super) fn asks() -> u64 {
    std::env::var("GREENROOM_ASKS").map_or(ASKS, |count| count.parse().expect("a number"))
}

/// Lives of each node that asks.
const LIVES: u64 = 4;
/// Actors of each that tell and ask at a time.
const TELLERS: u64 = 32;
const SERVER: u8 = 1;
/// What as many as [`ASKS`] may take: an emulator is slow.
const LIMIT: Duration = Duration::from_secs(800);
const LONG: Duration = Duration::from_secs(60);

/// One life of a node.
struct Life {
    system: System,
    node: Node,
    udp: Udp,
}

impl Life {
    fn new(who: u8, peers: &[u8]) -> Self {
        let system = System::builder().workers(1).ask_timeout(LONG).build().expect("a system");
        let settings = peers.iter().fold(Settings::new(identity(who)), |settings, peer| {
            settings.peer(public(*peer), None)
        });
        let at = "127.0.0.1:0".parse().expect("an address");
        let udp = Udp::bind(settings.rdma(Rdma::auto()), at).expect("a socket");
        let node = Node::start(&system, udp.clone()).expect("a node");
        Self { system, node, udp }
    }

    async fn find(&self, at: &Address) -> Ref<Desk> {
        let peer = self.node.connect(at).await.expect("they meet");
        peer.find("desk").await.expect("it is there")
    }

    fn is_by(&self, wanted: impl Fn(Carrier) -> bool) -> bool {
        self.udp.carrier(&public(SERVER)).is_some_and(wanted)
    }

    async fn end(self) {
        self.node.close().await;
        self.system.shutdown(LONG).await.expect("every actor ends");
    }
}

/// How many questions were answered.
fn answered(shared: &Shared) -> u64 {
    shared.answered.iter().map(|count| count.load(Relaxed)).sum()
}

/// Whether each watch has ended.
fn is_over(log: &Log) -> bool {
    let log = log.lock().expect("nobody has failed");
    let count = |is_it: fn(&What) -> bool| log.iter().filter(|(.., what)| is_it(what)).count();
    count(|what| *what == What::Greeted) == count(|what| matches!(what, What::Down(_)))
}

struct Story {
    began: Instant,
    limit: Duration,
    shared: Shared,
}

impl Story {
    /// Waits for something that comes of the asking.
    async fn until(&self, what: &str, is_so: impl Fn() -> bool) {
        while !is_so() {
            let count = answered(&self.shared);
            assert!(
                self.began.elapsed() < self.limit,
                "it takes too long until {what}: {count} answers"
            );
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    async fn until_answered(&self, count: u64) {
        self.until("enough is answered", || answered(&self.shared) >= count).await;
    }

    /// One life of each node that asks, until so many questions were answered in all. It ends in the middle of what its
    /// actors say. Returns how many questions went by the device at the end.
    async fn live(&self, life: u64, at: &Address, count: u64) -> u64 {
        let lives: [Life; CLIENTS] =
            std::array::from_fn(|index| Life::new(2 + index as u8, &[SERVER]));
        let mut talks = JoinSet::new();
        for (who, client) in (1..).zip(&lives) {
            self.shared.listen((who, life), &client.system);
            let desk = client.find(at).await;
            for first in 0..TELLERS {
                let (shared, system, desk) =
                    (self.shared.clone(), client.system.clone(), desk.clone());
                let numbers = (first..).step_by(TELLERS as usize);
                talks.spawn(async move {
                    desk::talk(&shared, || Some(system.clone()), &desk, (who, life, 0), numbers)
                        .await;
                });
            }
        }
        let all_by = |wanted: fn(Carrier) -> bool| lives.iter().all(|life| life.is_by(wanted));
        let by_device = || all_by(|carrier| carrier == Carrier::Rdma);
        self.until("they go by the device", by_device).await;
        // Nobody takes down a link that others use.
        if is_guest() {
            self.until_answered(answered(&self.shared) + 500).await;
            let down = LinkDown::new();
            // Because of that, or of what failed by it.
            let by_udp = || all_by(|carrier| matches!(carrier, Carrier::Udp(_)));
            self.until("they go by UDP", by_udp).await;
            self.until_answered(answered(&self.shared) + 500).await;
            drop(down);
            self.until("they go by the device again", by_device).await;
        }
        let before = answered(&self.shared);
        self.until_answered(count).await;
        let by_device = if by_device() { answered(&self.shared) - before } else { 0 };
        for life in lives {
            life.end().await;
        }
        talks.join_all().await;
        self.shared.count_letters();
        by_device
    }
}

async fn story(asks: u64) {
    let shared = Shared::new(1, LONG, Arc::new(|| Box::pin(std::future::ready(()))));
    let server = Life::new(SERVER, &[2, 3]);
    let desk = server.system.spawn::<Desk>(Desk::new(0, &shared)).await.expect("an actor");
    server.node.export("desk", Export::of(&desk)).expect("it is exported");
    shared.listen((desk::SERVER, 0), &server.system);
    let at = server.udp.node_address();
    let limit = LIMIT * asks.div_ceil(ASKS) as u32;
    let story = Story { began: Instant::now(), limit, shared };
    let mut by_device = 0;
    for life in 0..LIVES {
        by_device += story.live(life, &at, asks * (life + 1) / LIVES).await;
    }
    story.until("each end is told", || is_over(&story.shared.log)).await;
    story.shared.count_letters();
    server.end().await;
    let seen = story.shared.judge();
    let lives = (0..LIVES).flat_map(|life| (1..=CLIENTS as u8).map(move |who| (who, life)));
    let unknown: u64 = lives.map(|life| story.shared.unknown(life)).sum();
    let there = story.shared.lost_there();
    assert!(unknown <= there, "{unknown} messages are gone, and {there} were lost there");
    assert!(seen.ends && seen.breaks, "ends of actors and of connections are told");
    assert_eq!(story.shared.unanswered.load(Relaxed), 0, "each is answered, or its node is down");
    assert!(by_device > asks / 10, "{by_device} by the device");
    eprintln!("{} answers in {:?}", answered(&story.shared), story.began.elapsed());
}

// [G-REMOTE-1] [G-REMOTE-2] [G-REMOTE-3] [G-REMOTE-4] [G-REMOTE-5] [RDMA-45]
#[test]
#[ignore = "needs an RDMA device"]
fn nodes_keep_their_promises_by_a_device() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(story(asks()));
}
