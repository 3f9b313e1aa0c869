//! Nodes over encrypted UDP in simulated worlds: handshakes, ciphers, lanes and remote references together, while
//! nodes crash, start again and stand still, and the wires between them lose, double, delay, damage and reroute. Inside of
//! the crate, so that every key is watched: none seals twice under one number, and no part of one is sent. [UDP-10]
//! Nor is more than thrice what came from an address sent there before that has proved itself. [UDP-51]
//!
//! `GREENROOM_SEEDS` says how many seeds there are.

#![allow(clippy::unwrap_used, reason = "what goes wrong in a test may panic")]

mod answers;
#[path = "../../tests/desk/mod.rs"]
mod desk;
mod marks;
#[cfg(feature = "config")]
mod members;
mod metered;
mod profiles;
mod streams;

use desk::{CLIENTS, Desk, Pause, Shared, What, talk};
use greenroom::net::{Address, Export, Node as NetNode};
use greenroom::sim::{Explore, Fault, Link, Node, World, WorldClock};
use greenroom_transports::secure::entropy::{Entropy, NoEntropy};
use greenroom_transports::secure::identity::Identity;
use greenroom_transports::secure::key::{Key, PublicKey};
use greenroom_transports::udp::{Settings, Udp};
use metered::Metered;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

const SEEDS: u64 = 12;
const MS: Duration = Duration::from_millis(1);
const PORT: u16 = 7;
const TELLS_PER_ASK: u64 = 60;
/// Between an answer and what is told next.
const PAUSE: Duration = Duration::from_millis(20);
/// How long faults rage.
const SAFETY: Duration = Duration::from_secs(30);
/// Within this, everybody is connected and served once it is calm: a lost peer is noticed within 10 s.
const LIVENESS: Duration = Duration::from_secs(60);

/// Randomness of one run of a node (SplitMix64).
struct Dice(u64);

impl Entropy for Dice {
    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), NoEntropy> {
        for byte in bytes {
            self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let mut mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            *byte = (mixed ^ (mixed >> 31)).to_le_bytes()[3];
        }
        Ok(())
    }
}

/// Of no bytes that packets have anyway, such as zeros.
fn identity(who: u8) -> Identity {
    Identity::new(Key::new(std::array::from_fn(|at| (at as u8).wrapping_mul(57) ^ !who)))
}

fn public(who: u8) -> PublicKey {
    identity(who).public()
}

/// What the nodes of a world share.
#[derive(Clone)]
struct Ground {
    seed: u64,
    clock: WorldClock,
    shared: Shared,
}

impl Ground {
    fn new(world: &World) -> Self {
        let clock = world.clock();
        let sleeper = clock.clone();
        let pause = Arc::new(move || -> Pause { Box::pin(sleeper.sleep(PAUSE)) });
        let shared = Shared::new(TELLS_PER_ASK, Duration::from_secs(5), pause);
        let seed = world.pick(1 << 30) as u64;
        Self { seed, clock, shared }
    }

    /// Makes a node of the one called `who`; `None` if it is about to stop already.
    fn join(&self, node: &Node, who: u8, knows: &[u8]) -> Option<NetNode> {
        self.make(node, who, knows, true)
    }

    /// One that connects to nobody, so that all that it sends are answers until somebody has proved to be there.
    fn attend(&self, node: &Node, who: u8, knows: &[u8]) -> Option<NetNode> {
        self.make(node, who, knows, false)
    }

    fn make(&self, node: &Node, who: u8, knows: &[u8], asks: bool) -> Option<NetNode> {
        let socket = node.bind(PORT).ok()?;
        let address = socket.address();
        crate::secure::packet::watch::hide(identity(who).secret().bytes());
        let settings = knows.iter().fold(Settings::new(identity(who)), |settings, other| {
            settings.peer(public(*other), None)
        });
        let run = self.seed ^ (u64::from(who) << 32) ^ (node.incarnation() << 40);
        // Each run of a node begins later than the one before, by its clock.
        let since = Duration::from_secs(1_700_000_000 + 1_000_000 * node.incarnation());
        let (socket, metering) = Metered::new(socket, asks);
        let udp = Udp::over(settings, socket, address, Box::new(Dice(run)), since).unwrap();
        metering.begin(&udp);
        NetNode::start(&node.try_system()?, udp).ok()
    }
}

async fn serve(ground: Ground, node: Node) {
    let Some(net) = ground.attend(&node, 0, &[1, 2]) else { return };
    let desk = Desk::new(node.incarnation(), &ground.shared);
    let Some(system) = node.try_system() else { return };
    ground.shared.listen((desk::SERVER, node.incarnation()), &system);
    let Ok(desk) = system.spawn::<Desk>(desk).await else { return };
    let _ = net.export("desk", Export::of(&desk));
}

/// Connects again and again, and tells as long as a connection lasts.
async fn tell(ground: Ground, node: Node, who: u8, at: SocketAddr) {
    let Some(net) = ground.join(&node, who, &[0]) else { return };
    let Some(system) = node.try_system() else { return };
    ground.shared.listen((who, node.incarnation()), &system);
    let address: Address = format!("udp:{at}#{}", public(0)).parse().unwrap();
    for connection in 0.. {
        if let Ok(peer) = net.connect(&address).await
            && let Ok(desk) = peer.find::<Desk>("desk").await
        {
            let of = (who, node.incarnation(), connection);
            talk(&ground.shared, || node.try_system(), &desk, of, 0..).await;
        }
        ground.clock.sleep(50 * MS).await;
        ground.shared.count_letters();
    }
}

/// A world with a server, and where that is.
fn served(world: &mut World) -> (Ground, Node, SocketAddr) {
    let ground = Ground::new(world);
    let shared = ground.clone();
    let server = world.node("server").boot(move |node| serve(shared.clone(), node)).start();
    let at = SocketAddr::new(server.host(), PORT);
    (ground, server, at)
}

fn play(world: &mut World) {
    // The same seed gives the same keys.
    crate::secure::packet::watch::forget();
    let (ground, server, at) = served(world);
    let mut nodes = vec![server.clone()];
    for who in 1..=CLIENTS as u8 {
        let shared = ground.clone();
        let boot = move |node| tell(shared.clone(), node, who, at);
        nodes.push(world.node(format!("client {who}")).boot(boot).start());
    }
    // Who changes the server's address takes it away from those who know it.
    let (moving, others): (Vec<_>, Vec<_>) =
        Fault::ALL.into_iter().partition(|&fault| fault == Fault::Rebind);
    let roams = world.storm(&nodes[1..], &moving);
    let storm = world.storm(&nodes, &others);
    world.run_for(SAFETY);
    world.calm(&nodes);
    let answered = |client: usize| ground.shared.answered[client].load(Relaxed);
    let before: Vec<_> = (0..CLIENTS).map(answered).collect();
    world.run_within(LIVENESS, async {
        let served = |client: usize| answered(client) > before[client] + 5;
        while !(0..CLIENTS).all(served) {
            ground.clock.sleep(10 * MS).await;
        }
    });
    ground.shared.count_letters();
    let seen = ground.shared.judge();
    world.sometimes("the end of an actor is told", seen.ends);
    world.sometimes("the end of a connection is told", seen.breaks);
    world.sometimes("a message is reported as undelivered", seen.undelivered);
    world.sometimes("a message is reported as maybe delivered", seen.unsure);
    world.sometimes("the server starts again", server.incarnation() > 0);
    world.sometimes("something was answered in the storm", before.iter().any(|count| *count > 0));
    // What a desk has goes with it. Of all else nobody knows only what was said since the last answer, with a greeting.
    if server.incarnation() == 0 {
        for (who, client) in (1..).zip(&nodes[1..]) {
            let unknown = ground.shared.unknown((who, client.incarnation()));
            let under_way = TELLS_PER_ASK + 2 + ground.shared.lost_there();
            assert!(unknown <= under_way, "{unknown} messages of {who} are gone");
        }
    }
    for (fault, storm) in
        others.iter().map(|it| (it, &storm)).chain(moving.iter().map(|it| (it, &roams)))
    {
        world.sometimes(format!("{fault:?}"), storm.has(*fault));
    }
}

#[test]
fn nodes_keep_their_promises_under_all_faults() {
    Explore::new().seeds(SEEDS).run(play);
}

/// Its clock goes on while a node has nothing to do: an attempt is as long as any other.
#[test]
fn a_node_connects_after_long_idleness() {
    Explore::new().seeds(2).run(|world| {
        crate::secure::packet::watch::forget();
        let (ground, _server, at) = served(world);
        let client = world.node("client").start();
        let outcome = world.run(async {
            let net = ground.join(&client, 1, &[0]).unwrap();
            ground.clock.sleep(Duration::from_secs(1000)).await;
            net.connect(&format!("udp:{at}#{}", public(0)).parse().unwrap()).await.map(|_| ())
        });
        assert_eq!(outcome, Ok(()));
    });
}

/// The window to an actor grows with the way: 128 messages for each round trip would take 16 seconds.
// [ENV-11]
#[test]
fn a_long_way_holds_no_stream_of_messages_back() {
    const MESSAGES: u64 = 20_000;
    Explore::new().seeds(1).run(|world| {
        crate::secure::packet::watch::forget();
        world.set_links(Link::default().latency(50 * MS));
        let (ground, _server, at) = served(world);
        let client = world.node("client").start();
        let took = world.run(async {
            let net = ground.join(&client, 1, &[0]).unwrap();
            let peer = net.connect(&format!("udp:{at}#{}", public(0)).parse().unwrap()).await;
            let desk = peer.unwrap().find::<Desk>("desk").await.unwrap();
            let began = ground.clock.now();
            for number in 0..MESSAGES {
                desk.note((1, 0, 0, 0), number).await.unwrap();
            }
            assert_eq!(desk.count((1, 0, 0, 0)).await, Ok(MESSAGES));
            ground.clock.now() - began
        });
        let log = ground.shared.log.lock().unwrap();
        let in_order = (0..).zip(&*log).all(|(number, note)| note.2 == What::Told(number));
        assert!(in_order, "each comes once, in order");
        assert!(took < Duration::from_secs(4), "{took:?} for {MESSAGES} messages");
    });
}
