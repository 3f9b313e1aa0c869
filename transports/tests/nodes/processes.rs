//! Nodes in processes of their own, over real sockets and relays that do what bad networks do; one of them is killed
//! and begins another life. What each life was told is read from its pipe, which outlives it.
//!
//! With `GREENROOM_RDMA` they go on by a device when they have met; `.ci/run guest` does that.

#[path = "../capture/mod.rs"]
mod capture;
mod networks;
#[path = "../relay/mod.rs"]
mod relay;

use crate::support::{Builds, OwnSystem};
use crate::{LONG, ports};
use greenroom::net::{Address, Export, Node, Peer};
use greenroom::sim::Link;
use greenroom::{Actor, Context, Down, ExitReason, Ref, System, handlers};
use greenroom_transports::link;
use greenroom_transports::secure::endpoint;
use greenroom_transports::secure::identity::Identity;
use greenroom_transports::secure::key::Key;
use greenroom_transports::station::Carrier;
use greenroom_transports::udp::socket::Options;
use greenroom_transports::udp::{Settings, Udp};
use relay::{Relay, Rules};
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

const LOGS: usize = 3;
const PLAIN: &str = "plain words that nobody on the way may read";

/// Writes down what it is told, where its death does not undo it.
#[derive(Actor)]
struct Log {
    place: usize,
    count: u64,
}

#[handlers(wire = "test.log/1")]
impl Log {
    #[tell]
    fn note(&mut self, number: u64, words: String) {
        assert_eq!(words, PLAIN);
        self.count += 1;
        say(&format!("{} {number}", self.place));
    }
    #[ask]
    fn count(&self) -> u64 {
        self.count
    }
    #[ask]
    fn echo(&self, bytes: Vec<u8>) -> Vec<u8> {
        bytes
    }
}

/// Remembers which ends it was told of.
#[derive(Actor)]
struct Witness {
    ends: Vec<ExitReason>,
}

#[handlers]
impl Witness {
    #[start]
    fn start() -> Self {
        Self { ends: Vec::new() }
    }
    #[tell]
    fn watch(&mut self, log: Ref<Log>, cx: &mut Context<Self>) {
        cx.watch(&log, Self::down);
    }
    #[ask]
    fn ends(&self) -> Vec<ExitReason> {
        self.ends.clone()
    }
    #[down]
    fn down(&mut self, down: Down) {
        self.ends.push(down.reason);
    }
}

/// Says a line to the process that started this one. Past the buffer of `stdout`, which threads share in a way that
/// ThreadSanitizer does not see, because std is not built with it.
fn say(line: &str) {
    let out = std::io::stdout().as_fd().try_clone_to_owned().expect("the pipe is there");
    File::from(out).write_all(format!("\n:{line}\n").as_bytes()).expect("the pipe is there");
}

fn identity(host: u8) -> Identity {
    Identity::new(Key::new([host; 32]))
}

/// Peers that fall silent, and handshakes that nobody answers, are given up sooner than usual.
fn settings(host: u8, socket: Options) -> Settings {
    let link = link::Config {
        keep_alive: Some(Duration::from_millis(300)),
        suspect_after: Duration::from_secs(3),
        dead_after: Duration::from_secs(8),
        ..link::Config::default()
    };
    let secure = endpoint::Config {
        give_up_after: Duration::from_secs(10),
        datagram_bytes_max: 1452,
        ..endpoint::Config::default()
    };
    by_device(Settings::new(identity(host)).link(link).secure(secure).socket(socket))
}

/// Whether nodes are to go on by an RDMA device.
fn is_by_device() -> bool {
    std::env::var_os("GREENROOM_RDMA").is_some()
}

#[cfg(feature = "rdma")]
fn by_device(settings: Settings) -> Settings {
    if is_by_device() { settings.rdma(greenroom_transports::rdma::Rdma::auto()) } else { settings }
}

#[cfg(not(feature = "rdma"))]
fn by_device(settings: Settings) -> Settings {
    assert!(!is_by_device(), "GREENROOM_RDMA needs the feature `rdma`");
    settings
}

/// What a child process does, until it is killed or nobody holds its input any more.
#[test]
fn child() {
    let Ok(told) = std::env::var("GREENROOM_CHILD") else { return };
    let [host, address, offload, bytes] = told.split(' ').collect::<Vec<_>>()[..] else {
        panic!("{told}")
    };
    let socket = Options { offload: offload == "true", buffer_bytes: bytes.parse().unwrap() };
    let parent = identity(1).public();
    let settings = settings(host.parse().unwrap(), socket).peer(parent, None);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let system = System::builder().workers(1).ask_timeout(LONG).own_as_set();
        let udp = Udp::bind(settings, address.parse().unwrap()).unwrap();
        let node = Node::start(&system, udp).unwrap();
        for place in 0..LOGS {
            let log = system.spawn::<Log>(Log { place, count: 0 }).await.unwrap();
            node.export(format!("log {place}"), Export::of(&log)).unwrap();
        }
        say("up");
        let wait = || std::io::stdin().lines().count();
        tokio::task::spawn_blocking(wait).await.unwrap();
    });
}

/// A process, and what it says.
struct Process {
    child: Child,
    said: BufReader<ChildStdout>,
}

impl Process {
    /// Starts one, which is up when this returns. What else is to be done here goes on meanwhile.
    async fn start(host: u8, address: SocketAddr) -> Self {
        let command = Command::new(std::env::current_exe().unwrap());
        let start = move || Self::start_by(command, host, address, Options::default());
        tokio::task::spawn_blocking(start).await.unwrap()
    }

    /// Starts one by a command that runs this program, and waits until it is up.
    fn start_by(mut command: Command, host: u8, address: SocketAddr, socket: Options) -> Self {
        let Options { offload, buffer_bytes, .. } = socket;
        let mut child = command
            .args(["--exact", "processes::child", "--nocapture", "--test-threads=1"])
            .env("GREENROOM_CHILD", format!("{host} {address} {offload} {buffer_bytes}"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = BufReader::new(child.stdout.take().unwrap());
        let (sender, up) = mpsc::channel();
        std::thread::spawn(move || {
            let mut line = String::new();
            while line.trim() != ":up" {
                line.clear();
                assert!(said.read_line(&mut line).unwrap() > 0, "the child ends before it is up");
            }
            let _ = sender.send(said);
        });
        let said = up.recv_timeout(LONG).inspect_err(|_| child.kill().unwrap());
        Self { child, said: said.expect("the child is up") }
    }

    /// Kills it, and returns what each of its logs was told.
    fn kill(mut self) -> Vec<Vec<u64>> {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        let mut said = String::new();
        self.said.read_to_string(&mut said).unwrap();
        let mut logs = vec![Vec::new(); LOGS];
        let lines = said.lines().filter_map(|line| line.strip_prefix(':')?.split_once(' '));
        for (place, number) in lines {
            logs[place.parse::<usize>().unwrap()].push(number.parse().unwrap());
        }
        logs
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// An address of this machine at which nobody is.
fn free() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], ports::free()))
}

fn way(to: SocketAddr, host: u8) -> Address {
    let key = identity(host).public().0;
    let hex: String = key.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("udp:{to}#{hex}").parse().unwrap()
}

/// This process's node.
struct Home {
    system: OwnSystem,
    udp: Udp,
    node: Node,
    next: u64,
}

impl Home {
    fn new(at: &str, socket: Options) -> Self {
        let system = System::builder().workers(1).ask_timeout(LONG).own_as_set();
        let [second, third] = [2, 3].map(|host| identity(host).public());
        let settings = settings(1, socket).peer(second, None).peer(third, None);
        let udp = Udp::bind(settings, at.parse().unwrap()).unwrap();
        let node = Node::start(&system, udp.clone()).unwrap();
        Self { system, udp, node, next: 0 }
    }

    async fn reach(&self, address: &Address) -> (Peer, Vec<Ref<Log>>) {
        loop {
            // Its former life may still be what is there, until it is given up.
            let Ok(peer) = self.node.connect(address).await else { continue };
            let mut logs = Vec::new();
            for place in 0..LOGS {
                logs.extend(peer.find::<Log>(&format!("log {place}")).await);
            }
            if logs.len() == LOGS {
                return (peer, logs);
            }
        }
    }

    /// Waits until what is said to a node goes by the device, if it is to.
    async fn is_carried(&self, host: u8) {
        let peer = identity(host).public();
        while is_by_device() && self.udp.carrier(&peer) != Some(Carrier::Rdma) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Tells each log so many numbers, in turn; the first of them.
    async fn tell(&mut self, logs: &[Ref<Log>], count: u64) -> u64 {
        let first = self.next;
        while self.next < first + count {
            for log in logs {
                log.note(self.next, PLAIN.to_owned()).await.unwrap();
            }
            self.next += 1;
        }
        first
    }

    async fn witness(&self, logs: &[Ref<Log>]) -> Ref<Witness> {
        let witness = self.system.spawn::<Witness>(()).await.unwrap();
        for log in logs {
            witness.watch(log.clone()).await.unwrap();
        }
        assert!(witness.ends().await.unwrap().is_empty());
        witness
    }
}

/// What a life's logs were told is the beginning of what was sent to them: nothing twice, out of order or left out
/// (G1, G2, G3), nothing of the life before (G4), and the first of them at least what its answer said (G7).
fn check(told: &[Vec<u64>], first: u64, sent: u64, answered: u64) {
    assert!(told[0].len() as u64 >= answered, "{} of {answered} answered", told[0].len());
    for log in told {
        let count = log.len() as u64;
        assert!(count <= sent, "{count} of {sent}");
        assert_eq!(*log, (first..first + count).collect::<Vec<_>>());
    }
}

fn bad() -> Rules {
    let link = Link::default().loss(50).duplication(50).corruption(30);
    let link = link.jitter(Duration::from_millis(8));
    Rules { link: link.bytes_per_second(Some(400_000)).queue_bytes(12_000), rebind_after: 0 }
}

/// Three processes: this one, one that is killed twice, and one that is left alone and misses nothing by it. No word
/// is to be read on the wire.
// [G-REMOTE-1] [G-REMOTE-2] [G-REMOTE-3] [G-REMOTE-5]
#[test]
fn a_process_that_is_killed_was_told_a_beginning_and_its_end_is_told_once() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (mortal, spared) = (free(), free());
        let relays = [Relay::new(mortal, 1, bad()), Relay::new(spared, 2, bad())];
        let ways = [way(relays[0].address(), 2), way(relays[1].address(), 3)];
        tokio::time::timeout(LONG, story([mortal, spared], ways)).await.expect("in time");
        for relay in relays {
            let relay::Done { traffic, seen } = relay.end();
            let is_bad = traffic.lost > 0 && traffic.damaged > 0;
            assert!(is_bad || is_by_device(), "{traffic:?}");
            if !is_by_device() {
                capture::check(&seen, &[PLAIN, "test.log", "log 0"]);
            }
        }
    });
}

async fn story([mortal, spared]: [SocketAddr; 2], [way, other_way]: [Address; 2]) {
    let mut home = Home::new("127.0.0.1:0", Options::default());
    let alone = Process::start(3, spared).await;
    let (_, spared_logs) = home.reach(&other_way).await;
    home.is_carried(3).await;
    let mut expected = Vec::new();
    for life in 0..3 {
        let process = Process::start(2, mortal).await;
        let (_, logs) = home.reach(&way).await;
        home.is_carried(2).await;
        let witness = home.witness(&logs).await;
        let first = home.tell(&logs, 100).await;
        let answered = logs[0].count().await.unwrap();
        assert_eq!(answered, 100, "an answer comes after what was told before it");
        home.tell(&logs, 60 * life).await;
        let begun = home.tell(&spared_logs, 40).await;
        expected.extend(begun..begun + 40);
        // What is under way when it dies goes by the device, too.
        home.is_carried(2).await;
        check(&process.kill(), first, 100 + 60 * life, answered);
        for log in &logs {
            log.ended().await;
        }
        // Each end is told once, and before anything of the next life (G4, G5).
        told_of_the_end(&witness).await;
        assert!(logs[0].count().await.is_err(), "nobody answers for the dead");
    }
    assert_eq!(spared_logs[0].count().await.unwrap(), expected.len() as u64);
    for log in &spared_logs[1..] {
        assert_eq!(log.count().await.unwrap(), expected.len() as u64);
    }
    assert_eq!(alone.kill(), vec![expected; LOGS], "who is spared misses nothing");
}

/// That each end is told, and once.
async fn told_of_the_end(witness: &Ref<Witness>) {
    let mut ends = Vec::new();
    while ends.len() < LOGS {
        tokio::task::yield_now().await;
        ends = witness.ends().await.unwrap();
    }
    assert_eq!(ends, vec![ExitReason::NodeDown; LOGS]);
}
