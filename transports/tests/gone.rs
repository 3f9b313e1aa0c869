//! Nodes that have gone leave nothing in their process: no open file, no thread, no connection. Alone in its program,
//! which is counted as a whole.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "what fails here is the test")]

use greenroom::net::{Export, Node};
use greenroom::{Actor, Context, Down, Ref, System, handlers};
use greenroom_transports::secure::identity::Identity;
use greenroom_transports::secure::key::Key;
use greenroom_transports::udp::{Settings, Udp};
use std::fs;
use std::time::{Duration, Instant};

const LONG: Duration = Duration::from_secs(60);
/// Pairs of nodes that come and go, of each kind.
const ROUNDS: usize = 5;
/// Looks at the process, one in each millisecond: before the rounds, and after them at most, until what has ended is gone.
const LOOKS: usize = 300;
const LOOKS_MAX: usize = 60_000;
const PAUSE: Duration = Duration::from_millis(1);

/// Echoes.
#[derive(Actor)]
struct Wall;

#[handlers(wire = "test.wall/1")]
impl Wall {
    #[ask]
    fn echo(&self, number: u64) -> u64 {
        number
    }
}

/// Says when somebody is gone.
#[derive(Actor)]
struct Mourner {
    told: Option<tokio::sync::oneshot::Sender<()>>,
}

#[handlers]
impl Mourner {
    #[start]
    fn start(
        whom: Ref<Wall>,
        told: tokio::sync::oneshot::Sender<()>,
        cx: &mut Context<Self>,
    ) -> Self {
        cx.watch(&whom, Self::down);
        Self { told: Some(told) }
    }
    #[down]
    fn down(&mut self, _down: Down) {
        let told = self.told.take().map(|told| told.send(()));
        assert!(told.is_some_and(|told| told.is_ok()), "once, and somebody waits");
    }
}

/// Who goes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Leaves {
    /// Who was asked says that it goes.
    Asked,
    /// Who has asked does.
    Asker,
    /// Neither, before its system ends.
    Nobody,
}

fn node(host: u8) -> (System, Udp, Node) {
    let identity = |host| Identity::new(Key::new([host; 32]));
    let settings = Settings::new(identity(host)).peer(identity(3 - host).public(), None);
    let system = System::builder().workers(2).ask_timeout(LONG).build().unwrap();
    let udp = Udp::bind(settings, "127.0.0.1:0".parse().unwrap()).unwrap();
    let node = Node::start(&system, udp.clone()).unwrap();
    (system, udp, node)
}

/// Two nodes talk, and go.
async fn come_and_go(leaves: Leaves) {
    let (asked, asked_udp, asked_node) = node(1);
    let (asker, asker_udp, asker_node) = node(2);
    let wall = asked.spawn::<Wall>(Wall).await.unwrap();
    asked_node.export("wall", Export::of(&wall)).unwrap();
    let peer = asker_node.connect(&asked_udp.node_address()).await.unwrap();
    let far: Ref<Wall> = peer.find("wall").await.unwrap();
    let (told, gone) = tokio::sync::oneshot::channel();
    let _mourner = asker.spawn::<Mourner>((far.clone(), told)).await.unwrap();
    for number in 0..100 {
        assert_eq!(far.echo(number).within(LONG).await, Ok(number));
    }
    match leaves {
        Leaves::Asked => {
            asked_node.close().await;
            gone.await.unwrap();
            until_alone(&asker_node).await;
        }
        Leaves::Asker => {
            asker_node.close().await;
            gone.await.unwrap();
            until_alone(&asker_node).await;
        }
        Leaves::Nobody => {}
    }
    for system in [asked, asker] {
        system.shutdown(LONG).await.unwrap();
        assert_eq!(system.leftovers(), Vec::<String>::new(), "{leaves:?}");
    }
    drop((asked_udp, asker_udp, asked_node, asker_node));
}

/// Who is told that the connection has ended is told before the node knows that it is over.
async fn until_alone(node: &Node) {
    let end = Instant::now() + LONG;
    while !node.peers().is_empty() {
        assert!(Instant::now() < end, "{:?}", node.peers());
        tokio::time::sleep(PAUSE).await;
    }
}

/// Open files and threads of this process.
fn process() -> [usize; 2] {
    ["/proc/self/fd", "/proc/self/task"].map(|folder| fs::read_dir(folder).unwrap().count())
}

#[test]
fn nodes_that_have_gone_leave_nothing() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let all = [Leaves::Asked, Leaves::Asker, Leaves::Nobody];
    // What the process has once, it keeps.
    for leaves in all {
        runtime.block_on(come_and_go(leaves));
    }
    let looks = (0..LOOKS).map(|_| {
        std::thread::sleep(PAUSE);
        process()
    });
    let before =
        looks.fold(process(), |[files, threads], look| [files.min(look[0]), threads.min(look[1])]);
    for leaves in all.into_iter().cycle().take(all.len() * ROUNDS) {
        runtime.block_on(async {
            tokio::time::timeout(LONG, come_and_go(leaves)).await.expect("in time");
        });
    }
    let mut after = process();
    let is_back = |after: [usize; 2]| after[0] <= before[0] && after[1] <= before[1];
    for _ in 0..LOOKS_MAX {
        if is_back(after) {
            break;
        }
        std::thread::sleep(PAUSE);
        after = process();
    }
    assert!(is_back(after), "{before:?} files and threads before, {after:?} after");
}
