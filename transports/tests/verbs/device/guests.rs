//! Two nodes in two guests whose devices are joined, and a link between that loses, delays and reorders: by UDP, by the
//! devices, and from those to UDP and back when nothing gets through for a while.

mod datagrams;

use super::nodes::{identity, public};
use crate::cases::text;
use greenroom::net::{Export, Node};
use greenroom::{Actor, Context, Ref, System, handlers};
use greenroom_transports::rdma::Rdma;
use greenroom_transports::station::Carrier;
use greenroom_transports::udp::{Settings, Udp};
use std::process::Command;
use std::time::Duration;

/// Which of the two guests this is.
const HOST: &str = "GREENROOM_HOST";
const LISTENER: &str = "10.9.0.1:7000";
const LIMIT: Duration = Duration::from_secs(330);
const LONG: Duration = Duration::from_secs(60);

const BAD: &str = "delay 5ms 1ms loss 2% reorder 5% duplicate 1% limit 10000";
const NONE: &str = "loss 100%";

/// Makes what leaves this guest lose its way.
fn network(netem: &str) {
    let mut command = Command::new("/usr/sbin/tc");
    command.args("qdisc replace dev roce0 root netem".split(' ')).args(netem.split(' '));
    assert!(command.status().expect("tc is there").success(), "{netem}");
}

/// Is told each text once, and in order.
#[derive(Actor, Default)]
struct Ledger {
    count: u64,
}

#[handlers(wire = "test.ledger/1")]
impl Ledger {
    #[tell]
    fn enter(&mut self, number: u64, bytes: Vec<u8>) {
        assert_eq!(number, self.count, "each in its turn");
        assert!(bytes == entry(number), "entry {number} is another one");
        self.count += 1;
    }
    #[ask]
    fn count(&self, bytes: Vec<u8>) -> (u64, Vec<u8>) {
        (self.count, bytes)
    }
    #[tell]
    fn close(&mut self, cx: &mut Context<Self>) {
        cx.stop();
    }
}

/// Now and then one that takes several packets.
fn entry(number: u64) -> Vec<u8> {
    let len = if number.is_multiple_of(100) { 20_000 } else { 64 };
    text(number as usize, len)
}

fn node(system: &System, own: u8, at: &str, rdma: bool) -> (Node, Udp) {
    let settings = Settings::new(identity(own));
    let settings = (1..=3).fold(settings, |settings, who| settings.peer(public(who), None));
    let settings = if rdma { settings.rdma(Rdma::auto()) } else { settings };
    let udp = Udp::bind(settings, at.parse().expect("an address")).expect("a socket");
    (Node::start(system, udp.clone()).expect("a node"), udp)
}

/// What one guest does: keeps a ledger, until it is told to close it.
async fn listen() {
    let system = System::builder().workers(2).ask_timeout(LONG).build().expect("a system");
    let (node, _udp) = node(&system, 1, LISTENER, true);
    let ledger = system.spawn::<Ledger>(Ledger::default()).await.expect("an actor");
    node.export("ledger", Export::of(&ledger)).expect("it is exported");
    ledger.ended().await;
    node.close().await;
}

/// The other's ledger.
async fn find(node: &Node) -> Ref<Ledger> {
    let hex: String = public(1).0.iter().map(|byte| format!("{byte:02x}")).collect();
    let address = format!("udp:{LISTENER}#{hex}").parse().expect("an address");
    loop {
        // The other guest may be slower.
        let Ok(peer) = node.connect(&address).await else { continue };
        if let Ok(ledger) = peer.find("ledger").await {
            return ledger;
        }
    }
}

/// Enters so many at a time until then, and looks each time that all is there and what goes there comes back.
async fn enter(ledger: &Ref<Ledger>, next: &mut u64, at_a_time: u64, until: impl Fn(u64) -> bool) {
    while !until(*next) {
        for _ in 0..at_a_time {
            ledger.enter(*next, entry(*next)).await.expect("it is there");
            *next += 1;
        }
        let bytes = entry(*next);
        let (count, back) = ledger.count(bytes.clone()).within(LONG).await.expect("an answer");
        assert_eq!(count, *next, "none is lost");
        assert!(back == bytes, "it comes back as it was");
    }
}

/// What the other does.
async fn talk() {
    let system = System::builder().workers(2).ask_timeout(LONG).build().expect("a system");
    let mut next = 0;
    let (client, _udp) = node(&system, 2, "10.9.0.2:0", false);
    enter(&find(&client).await, &mut next, 100, |next| next >= 1_000).await;
    client.close().await;

    let (client, udp) = node(&system, 3, "10.9.0.2:0", true);
    let ledger = find(&client).await;
    let is_rdma = |_| udp.carrier(&public(1)) == Some(Carrier::Rdma);
    let to_udp = || {
        let changes = udp.carriers();
        changes.iter().filter(|change| matches!(change.to, Carrier::Udp(_))).count()
    };
    enter(&ledger, &mut next, 10, is_rdma).await;
    for _ in 0..2 {
        let enough = next + 1_000;
        enter(&ledger, &mut next, 100, |next| next >= enough).await;
        let before = to_udp();
        let is_given_up = |_| to_udp() > before;
        tokio::join!(enter(&ledger, &mut next, 10, is_given_up), async {
            network(NONE);
            while !is_given_up(0) {
                tokio::task::yield_now().await;
            }
            network(BAD);
        });
        enter(&ledger, &mut next, 10, is_rdma).await;
    }
    ledger.close().await.expect("it is there");
    ledger.ended().await;
    client.close().await;
}

// [RDMA-45] [RDMA-46]
#[test]
#[ignore = "needs another guest"]
fn two_guests_talk() {
    let host = std::env::var(HOST).expect("the guest says which it is");
    network(BAD);
    let story = async { if host == "1" { listen().await } else { talk().await } };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let story = async { tokio::time::timeout(LIMIT, story).await.expect("in time") };
    runtime.expect("a runtime").block_on(story);
}
