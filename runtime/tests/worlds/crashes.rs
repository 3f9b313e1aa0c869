//! Crash and restart of nodes under drawn faults: the old incarnation is fenced, peers learn of the new one in
//! time, and what was sent is done at most once.
//!
//! `GREENROOM_SEEDS` says how many seeds there are.
#![allow(clippy::unwrap_used, reason = "what goes wrong in a test may panic")]

use greenroom::sim::{Explore, Fault, Link, Node, World, WorldClock};
use greenroom::{Actor, handlers};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const SEEDS: u64 = 30;
const MS: Duration = Duration::from_millis(1);
const CLIENTS: usize = 2;
const PORT: u16 = 7;
/// How long faults rage.
const SAFETY: Duration = Duration::from_secs(4);
/// Within this, everybody learns and is served once it is calm.
const LIVENESS: Duration = Duration::from_secs(5);

/// A request's name: the client, its incarnation, and its number there.
type Name = (u8, u16, u32);

/// What servers did, in order: in which incarnation which request.
type Done = Arc<Mutex<Vec<(u16, Name)>>>;

/// One life of the server's actor. It remembers what it has done, and nothing of earlier lives.
#[derive(Actor)]
struct Desk {
    incarnation: u16,
    known: BTreeSet<Name>,
    done: Done,
}

#[handlers]
impl Desk {
    #[ask]
    async fn serve(&mut self, name: Name) {
        if self.known.insert(name) {
            tokio::task::yield_now().await;
            self.done.lock().unwrap().push((self.incarnation, name));
        }
    }
}

/// No incarnation: who sends to it wants to know which there is.
const UNKNOWN: u16 = u16::MAX;
/// The name of no request.
const NONE: Name = (u8::MAX, 0, 0);

/// Everything that is said: to or by which incarnation of the server, and the request. The last four
/// bytes tell damaged ones.
fn packet(incarnation: u16, (client, life, number): Name) -> Vec<u8> {
    let mut bytes = vec![client];
    bytes.extend(incarnation.to_le_bytes());
    bytes.extend(life.to_le_bytes());
    bytes.extend(number.to_le_bytes());
    bytes.extend(check(&bytes).to_le_bytes());
    bytes
}

fn read(bytes: &[u8]) -> Option<(u16, Name)> {
    let (body, last) = bytes.split_last_chunk()?;
    let &[client, i, j, k, l, a, b, c, d] = body else { return None };
    let name = (client, u16::from_le_bytes([k, l]), u32::from_le_bytes([a, b, c, d]));
    (check(body) == u32::from_le_bytes(*last)).then_some((u16::from_le_bytes([i, j]), name))
}

/// Their hash by FNV-1a (Fowler, Noll, Vo 1991), which several bits that are flipped do not leave as it is.
fn check(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811C_9DC5, |hash, &byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

/// Serves requests to this incarnation, and tells the others which one it is.
async fn server(node: Node, done: Done) {
    let incarnation = u16::try_from(node.incarnation()).unwrap();
    let desk = Desk { incarnation, known: BTreeSet::new(), done };
    // It may be about to stop already.
    let Ok(desk) = node.system().spawn::<Desk>(desk).await else { return };
    let Ok(socket) = node.bind(PORT) else { return };
    while let Ok(datagram) = socket.receive().await {
        let answer = match read(&datagram.bytes) {
            Some((to, name)) if to == incarnation => {
                desk.serve(name).within(20 * MS).await.map(|()| name).ok()
            }
            // Who meant another one learns which this is.
            known => known.map(|_| NONE),
        };
        if let Some(answer) = answer {
            socket.send(datagram.from, &packet(incarnation, answer));
        }
    }
}

/// What clients know.
#[derive(Default)]
struct Known {
    /// The newest incarnation of the server that each client has heard of.
    server: [Cell<u16>; CLIENTS],
    /// The requests that were answered.
    answered: RefCell<BTreeMap<Name, u16>>,
}

/// Sends one request after the other to the server that it knows, again until it is answered. When the server
/// has started again, nobody knows what became of the request, and it is given up.
async fn client(me: u8, node: Node, to: SocketAddr, clock: WorldClock, known: Rc<Known>) {
    let life = u16::try_from(node.incarnation()).unwrap();
    let Ok(socket) = node.bind(PORT) else { return };
    let mut server = UNKNOWN;
    for number in 0.. {
        let name = (me, life, number);
        let addressed = server;
        loop {
            socket.send(to, &packet(addressed, name));
            clock.sleep(40 * MS).await;
            while let Ok(Some(datagram)) = socket.try_receive() {
                let Some((incarnation, answered)) = read(&datagram.bytes) else { continue };
                if server == UNKNOWN || incarnation > server {
                    server = incarnation;
                }
                if incarnation == addressed && answered != NONE {
                    known.answered.borrow_mut().insert(answered, incarnation);
                }
            }
            known.server[usize::from(me)].set(server);
            if server != addressed || known.answered.borrow().contains_key(&name) {
                break;
            }
        }
    }
}

/// A server and its clients, and what they did.
struct Scene {
    serving: Node,
    /// The server and then the clients.
    nodes: Vec<Node>,
    done: Done,
    known: Rc<Known>,
    clock: WorldClock,
}

fn scene(world: &mut World) -> Scene {
    world.set_links(Link::default().latency(5 * MS));
    let (done, known, clock) = (Done::default(), Rc::new(Known::default()), world.clock());
    let log = Arc::clone(&done);
    let serving = world.node("server").boot(move |node| server(node, Arc::clone(&log))).start();
    let to = SocketAddr::new(serving.host(), PORT);
    let mut nodes = vec![serving.clone()];
    for me in 0..CLIENTS {
        let (known, clock) = (Rc::clone(&known), clock.clone());
        let me = u8::try_from(me).unwrap();
        let boot = move |node| client(me, node, to, clock.clone(), Rc::clone(&known));
        nodes.push(world.node(format!("client {me}")).boot(boot).start());
    }
    let (watched, node) = (Arc::clone(&done), serving.clone());
    let mut seen = 0;
    world.always("an old incarnation does nothing", move || {
        let done = watched.lock().unwrap();
        let now = u16::try_from(node.incarnation()).unwrap();
        let late = done[seen..].iter().find(|(incarnation, _)| *incarnation != now);
        seen = done.len();
        late.map_or(Ok(()), |late| Err(format!("{late:?} though it is {now}")))
    });
    Scene { serving, nodes, done, known, clock }
}

impl Scene {
    /// Within a while, the first so many clients know the server that there is, and are served again.
    fn is_well(&self, world: &mut World, clients: usize) {
        let before = self.known.answered.borrow().len();
        world.run_within(LIVENESS, async {
            let now = u16::try_from(self.serving.incarnation()).unwrap();
            let knows = |me: usize| self.known.server[me].get() == now;
            let served = || self.known.answered.borrow().len() >= before + 3 * clients;
            while !(0..clients).all(knows) || !served() {
                self.clock.sleep(MS).await;
            }
        });
        judge(&self.done.lock().unwrap(), &self.known.answered.borrow());
    }
}

pub(super) fn rage(world: &mut World) {
    let scene = scene(world);
    let (nodes, serving) = (&scene.nodes, &scene.serving);
    // Who changes the server's address takes it away from those who know it.
    let among: Vec<_> = Fault::ALL.into_iter().filter(|&fault| fault != Fault::Rebind).collect();
    let storm = world.storm(nodes, &among);
    world.run_for(SAFETY);
    // The liveness phase: one client at most is left where it is.
    let core = if world.pick(2) == 0 { &nodes[..] } else { &nodes[..CLIENTS] };
    world.calm(core);
    scene.is_well(world, core.len() - 1);
    let starts = serving.incarnation();
    world.sometimes("the server starts again", starts > 0);
    world.sometimes("the server starts again more than once", starts > 1);
    for fault in among {
        world.sometimes(format!("{fault:?}"), storm.has(fault));
        world.sometimes(format!("no {fault:?}"), !storm.has(fault));
    }
}

/// At most once, and what was answered, once and by whom it was answered.
fn judge(done: &[(u16, Name)], answered: &BTreeMap<Name, u16>) {
    let mut by = BTreeMap::new();
    for &(incarnation, name) in done {
        let before = by.insert(name, incarnation);
        assert_eq!(before, None, "{name:?} was done twice, the second time by {incarnation}");
    }
    for (name, incarnation) in answered {
        assert_eq!(by.get(name), Some(incarnation), "{name:?} was answered");
    }
}

#[test]
fn nodes_crash_and_start_again_under_all_faults() {
    Explore::new().seeds(SEEDS).run(rage);
}

/// Each node in turn is stopped or killed, and started again after a while, twice over.
fn roll(world: &mut World) {
    let scene = scene(world);
    for round in 1..=2 {
        for node in &scene.nodes {
            match world.pick(2) {
                0 => node.stop(50 * MS),
                _ => node.kill(),
            }
            world.run_for(MS * u32::try_from(world.pick(200)).unwrap());
            node.restart();
            world.run_for(MS * u32::try_from(world.pick(200)).unwrap());
            assert_eq!(node.incarnation(), round);
        }
        scene.is_well(world, CLIENTS);
    }
}

#[test]
fn nodes_restart_one_after_another() {
    Explore::new().seeds(SEEDS).run(roll);
}
