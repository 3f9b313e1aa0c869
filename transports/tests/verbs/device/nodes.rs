//! Two nodes that meet over UDP and go on over a device.

use super::{LinkDown, by_pairs, is_guest};
use greenroom::net::{Bytes, Export, Node, transport_conforms};
use greenroom::{Actor, Ref, System, handlers};
use greenroom_transports::rdma::Rdma;
use greenroom_transports::secure::identity::Identity;
use greenroom_transports::secure::key::{Key, PublicKey};
use greenroom_transports::station::{Carrier, Change, Why};
use greenroom_transports::udp::{Settings, Udp};
use std::fmt::Debug;
use std::time::{Duration, Instant};

const ASKS: u64 = 2_000;
const AT_A_TIME: u64 = 100;
/// The longest message there is, less what else is in it.
const LONGEST: usize = (16 << 20) - 4096;
const LIMIT: Duration = Duration::from_secs(180);

/// Says what it is told, and how often it was told something. Texts, which are copied whole: without optimisation an
/// emulator would code 16 MiB byte by byte for so long that nodes take each other for dead.
#[derive(Actor, Default)]
pub(super) struct Echo {
    told: u64,
    kept: Vec<Bytes>,
}

#[handlers(wire = "test.echo/1")]
impl Echo {
    #[ask]
    fn echo(&mut self, text: String) -> (u64, String) {
        self.told += 1;
        (self.told, text)
    }
    #[ask]
    fn keep(&mut self, bytes: Bytes) {
        self.kept.push(bytes);
    }
    /// How many it keeps as they were, each of one byte that is its number.
    #[ask]
    fn kept(&self) -> usize {
        let is_whole =
            |(number, bytes): &(usize, &Bytes)| bytes.iter().all(|&byte| byte == *number as u8);
        self.kept.iter().enumerate().filter(is_whole).count()
    }
}

pub(super) fn identity(who: u8) -> Identity {
    Identity::new(Key::new([who; 32]))
}

pub(super) fn public(who: u8) -> PublicKey {
    identity(who).public()
}

/// One of letters that depend on the number.
fn text(number: u64, len: usize) -> String {
    let letter = (b'a' + (number % 26) as u8) as char;
    letter.to_string().repeat(len)
}

fn node(system: &System, own: u8, other: u8, trusted: Option<PublicKey>) -> (Node, Udp) {
    let rdma = trusted.into_iter().fold(Rdma::auto(), Rdma::trust);
    let settings = Settings::new(identity(own)).peer(public(other), None).rdma(rdma);
    let udp = Udp::bind(settings, "127.0.0.1:0".parse().expect("an address")).expect("a socket");
    (Node::start(system, udp.clone()).expect("a node"), udp)
}

/// Two nodes that have met; one of them asks an actor of the other.
pub(super) struct Pair {
    /// Ends when it is dropped.
    _system: System,
    nodes: [Node; 2],
    server: Udp,
    client: Udp,
    pub(super) echo: Ref<Echo>,
}

impl Pair {
    pub(super) async fn new(trusting: bool) -> Self {
        let system = System::builder().workers(2).ask_timeout(LIMIT).build().expect("a system");
        let trust = |who| trusting.then(|| public(who));
        let (near, server) = node(&system, 1, 2, trust(2));
        let (far, client) = node(&system, 2, 1, trust(1));
        let echo = system.spawn::<Echo>(Echo::default()).await.expect("an actor");
        near.export("echo", Export::of(&echo)).expect("it is exported");
        let peer = far.connect(&server.node_address()).await.expect("they meet");
        let echo = peer.find("echo").await.expect("it is there");
        Self { _system: system, nodes: [near, far], server, client, echo }
    }

    /// By what packets go, either way.
    pub(super) fn carriers(&self) -> [Option<Carrier>; 2] {
        [self.client.carrier(&public(1)), self.server.carrier(&public(2))]
    }

    /// What changed at each of them.
    pub(super) fn changes(&self) -> [(&'static str, Vec<Change>); 2] {
        [("client", self.client.carriers()), ("server", self.server.carriers())]
    }

    /// What each of them says of its device.
    pub(super) fn failures(&self) -> [Option<String>; 2] {
        [self.client.rdma_failure(), self.server.rdma_failure()]
    }

    /// Asks until then, many at a time: each is handled once, and answered with what was said.
    pub(super) async fn ask(&self, told: &mut u64, until: impl Fn(u64) -> bool) {
        let began = Instant::now();
        while !until(*told) {
            assert!(began.elapsed() < LIMIT, "{told} told, in vain: {:?}", self.changes());
            let mut asks = tokio::task::JoinSet::new();
            for number in *told..*told + AT_A_TIME {
                // Now and then one that takes several packets.
                let len = if number.is_multiple_of(500) { 100_000 } else { 64 };
                let (echo, text) = (self.echo.clone(), text(number, len));
                // A link that has just failed takes a little while, and nothing is lost.
                asks.spawn(async move {
                    let answer = echo.echo(text.clone()).within(Duration::from_secs(60)).await;
                    (text, answer)
                });
            }
            let mut counts = Vec::new();
            for (text, answer) in asks.join_all().await {
                let (count, back) = self.answered(answer);
                assert!(back == text, "it comes back as it was");
                counts.push(count);
            }
            counts.sort_unstable();
            assert!(counts.into_iter().eq(*told + 1..=*told + AT_A_TIME), "each is handled once");
            *told += AT_A_TIME;
        }
    }

    fn answered<T, E: Debug>(&self, answer: Result<T, E>) -> T {
        let why = || self.nodes.each_ref().map(Node::endings);
        answer.unwrap_or_else(|error| panic!("{error:?}: {:?}, {:?}", why(), self.changes()))
    }

    pub(super) async fn close(self) {
        for node in self.nodes {
            node.close().await;
        }
    }
}

async fn meet(trusting: bool, carrier: Carrier, asks: u64) {
    let pair = Pair::new(trusting).await;
    let client = &pair.client;
    let is_by = |wanted: Carrier| pair.carriers() == [Some(wanted); 2];
    let mut told = 0;
    pair.ask(&mut told, |_| is_by(carrier)).await;
    let before = told;
    pair.ask(&mut told, |told| told >= before + asks).await;
    assert!(is_by(carrier), "{:?}", client.carriers());
    let longest = text(told, LONGEST);
    let answer = pair.answered(pair.echo.echo(longest.clone()).within(LIMIT).await);
    told += 1;
    assert!(answer == (told, longest), "it comes back as it was");
    // Nobody takes down a link that others use.
    if is_guest() && !trusting {
        for _ in 0..2 {
            let down = LinkDown::new();
            let is_udp = || matches!(pair.carriers()[0], Some(Carrier::Udp(_)));
            pair.ask(&mut told, |_| is_udp()).await;
            let before = told;
            pair.ask(&mut told, |told| told >= before + 300).await;
            assert!(is_udp(), "{:?}", client.carriers());
            drop(down);
            pair.ask(&mut told, |_| is_by(carrier)).await;
            let before = told;
            pair.ask(&mut told, |told| told >= before + 300).await;
        }
        let down = |change: &Change| matches!(change.to, Carrier::Udp(Why::PortDown));
        assert!(client.carriers().iter().any(down), "{:?}", client.carriers());
    }
    pair.close().await;
}

fn run(trusting: bool, carrier: Carrier, asks: u64) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(meet(trusting, carrier, asks));
}

// [RDMA-45] [RDMA-46]
#[test]
#[ignore = "needs an RDMA device"]
fn nodes_meet_over_udp_and_go_on_by_rdma() {
    run(false, Carrier::Rdma, ASKS);
}

// [RDMA-43]
#[test]
#[ignore = "needs an RDMA device"]
fn nodes_that_trust_each_other_need_not_seal() {
    run(true, Carrier::RdmaPlain, ASKS / 2);
}

/// What every transport promises holds by a device.
// [RDMA-42] [RDMA-45]
#[test]
#[ignore = "needs an RDMA device"]
fn it_conforms() {
    let bind = |settings: Settings| {
        let at = "127.0.0.1:0".parse().expect("an address");
        Udp::bind(settings.rdma(Rdma::auto()), at).expect("a socket")
    };
    transport_conforms(|| by_pairs::two(|_, until| until, |_, settings| bind(settings)));
}
