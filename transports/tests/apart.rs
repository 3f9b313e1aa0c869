//! Two nodes in two processes, and in two networks where the kernel can make one: over a link that loses,
//! delays, reorders and is slow; and one of them is killed and lives again.
//!
//! With GREENROOM_FAR, the name of a network namespace, the other process runs there. The link between is
//! there already: 10.8.0.1 here, 10.8.0.2 there.

#![allow(clippy::unwrap_used, reason = "what fails here is the test")]

#[path = "../../runtime/tests/support/mod.rs"]
mod support;

use greenroom::net::{Address, Export, Node};
use greenroom::{Actor, Ref, System, handlers};
use greenroom_transports::secure::identity::Identity;
use greenroom_transports::secure::key::Key;
use greenroom_transports::udp::{Settings, Udp};
use std::future::Future;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use support::{Builds, OwnSystem};

/// The network namespace of the child.
const FAR: &str = "GREENROOM_FAR";
const LONG: Duration = Duration::from_secs(200);

fn soon<F: Future>(future: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { tokio::time::timeout(LONG, future).await.expect("in time") })
}

/// Keeps what it is told.
#[derive(Actor, Default)]
struct Ledger {
    entries: Vec<u64>,
}

#[handlers(wire = "test.ledger/1")]
impl Ledger {
    #[tell]
    fn enter(&mut self, number: u64) {
        self.entries.push(number);
    }
    #[ask]
    fn entries(&self) -> Vec<u64> {
        self.entries.clone()
    }
    #[ask]
    fn echo(&self, bytes: Vec<u8>) -> Vec<u8> {
        bytes
    }
}

fn identity(host: u8) -> Identity {
    Identity::new(Key::new([host; 32]))
}

/// A node that knows the other's key.
fn node(host: u8, at: &str) -> (OwnSystem, Udp, Node) {
    let settings = Settings::new(identity(host)).peer(identity(3 - host).public(), None);
    let system = System::builder().workers(1).ask_timeout(LONG).own_as_set();
    let udp = Udp::bind(settings, at.parse().unwrap()).unwrap();
    let node = Node::start(&system, udp.clone()).unwrap();
    (system, udp, node)
}

/// The other process, which says its address when it is ready.
struct Other {
    child: Child,
    address: Address,
}

impl Other {
    fn start() -> Self {
        let program = std::env::current_exe().unwrap();
        let mut command = match std::env::var(FAR) {
            Ok(far) => {
                let mut command = Command::new("ip");
                command.args(["netns", "exec", &far]).arg(program);
                command
            }
            Err(_) => Command::new(program),
        };
        command.args(["--exact", "other", "--ignored", "--nocapture"]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let line = lines.find_map(|line| Some(line.strip_prefix("address ")?.to_owned()));
        let address = line.expect("it says its address").parse().unwrap();
        Self { child, address }
    }

    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

/// What the other process does, until it is killed or nobody holds its input any more.
#[test]
#[ignore = "is started by other tests"]
fn other() {
    let at = if std::env::var_os(FAR).is_some() { "10.8.0.2:7000" } else { "127.0.0.1:0" };
    let (system, udp, node) = node(2, at);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let ledger = system.spawn::<Ledger>(Ledger::default()).await.unwrap();
        node.export("ledger", Export::of(&ledger)).unwrap();
        let line = format!("\naddress {}\n", udp.node_address());
        std::io::stdout().write_all(line.as_bytes()).unwrap();
        let wait = || std::io::stdin().lines().count();
        tokio::task::spawn_blocking(wait).await.unwrap();
    });
}

const TELLS: u64 = 300;

/// Tells and asks the other node; everything comes once and in order.
async fn talk(here: &Node, address: &Address) {
    let peer = here.connect(address).await.unwrap();
    let far: Ref<Ledger> = peer.find("ledger").await.unwrap();
    for number in 0..TELLS {
        far.enter(number).await.unwrap();
    }
    let entries = far.entries().within(LONG).await.unwrap();
    assert_eq!(entries, (0..TELLS).collect::<Vec<_>>());
    for len in [0, 1, 1_500, 40_000] {
        let bytes: Vec<u8> = (0..len).map(|at: usize| (at % 251) as u8).collect();
        assert!(far.echo(bytes.clone()).within(LONG).await.unwrap() == bytes, "{len} bytes");
    }
}

fn at_home() -> (OwnSystem, Udp, Node) {
    node(1, if std::env::var_os(FAR).is_some() { "10.8.0.1:7000" } else { "127.0.0.1:0" })
}

#[test]
fn two_processes_talk() {
    soon(async {
        let (system, _udp, here) = at_home();
        let other = Other::start();
        talk(&here, &other.address).await;
        here.close().await;
        other.kill();
        system.shutdown(LONG).await.unwrap();
    });
}

/// A node that was killed and lives again is another one: what it had is gone, and it talks like the first.
#[test]
#[ignore = "waits for the end of the first to be noticed, ten seconds"]
fn a_node_that_is_killed_lives_again() {
    soon(async {
        let (system, _udp, here) = at_home();
        let first = Other::start();
        talk(&here, &first.address).await;
        first.kill();
        let second = Other::start();
        // Until it is told, this node may take the old one for alive.
        while !is_there(&here, &second.address).await {}
        talk(&here, &second.address).await;
        here.close().await;
        second.kill();
        system.shutdown(LONG).await.unwrap();
    });
}

async fn is_there(here: &Node, address: &Address) -> bool {
    let asked = async {
        let peer = here.connect(address).await.ok()?;
        let far: Ref<Ledger> = peer.find("ledger").await.ok()?;
        far.entries().await.ok()
    };
    let asked = tokio::time::timeout(Duration::from_secs(5), asked).await;
    matches!(asked, Ok(Some(entries)) if entries.is_empty())
}
