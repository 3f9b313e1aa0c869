//! Short questions to a node of which much is asked that is long, or which is sent much, over a link that is narrow.

use super::{MS, PORT, public, served};
use greenroom::net::{Bytes, Export};
use greenroom::sim::{Link, Node, World};
use greenroom::{Actor, Ref, handlers};
use std::net::SocketAddr;
use std::time::Duration;

/// How long an answer is that is long.
const LONG: usize = 64 << 10;
/// What the link carries in a second.
const BYTES_PER_SECOND: u64 = 1 << 20;
const LATENCY: Duration = Duration::from_millis(10);
const PATIENCE: Duration = Duration::from_secs(60);

/// Has answers as long as they are wanted.
#[derive(Actor)]
struct Library;

#[handlers(wire = "test.library/1")]
impl Library {
    #[ask]
    fn fetch(&self, len: usize) -> Bytes {
        vec![7; len].into()
    }
    #[tell]
    fn bring(&self, book: Bytes) {
        assert_eq!(book.len(), LONG);
    }
    #[ask]
    fn review(&self, page: Bytes) -> usize {
        page.len()
    }
}

/// Fetches without end what is so long.
#[derive(Actor)]
struct Fetcher {
    library: Ref<Library>,
    len: usize,
}

#[handlers]
impl Fetcher {
    #[tell]
    async fn fetch(&mut self) {
        loop {
            let answer = self.library.fetch(self.len).within(PATIENCE).await.unwrap();
            assert_eq!(answer.len(), self.len);
        }
    }
}

/// Brings without end what is long.
#[derive(Actor)]
struct Author {
    library: Ref<Library>,
}

#[handlers]
impl Author {
    #[tell]
    async fn write(&mut self) {
        loop {
            self.library.bring(vec![7; LONG].into()).await.unwrap();
        }
    }
}

/// A world in which so many fetch answers at any time, the first of them of `len(0)` bytes, and the library.
fn with_fetchers(count: usize, len: fn(usize) -> usize) -> (World, Ref<Library>) {
    let (mut world, client, [library, _]) = with_library();
    world.run(async {
        for len in (0..count).map(len) {
            let fetcher = Fetcher { library: library.clone(), len };
            client.system().spawn::<Fetcher>(fetcher).await.unwrap().fetch().await.unwrap();
        }
    });
    // Until much of it waits.
    world.run_for(Duration::from_secs(5));
    (world, library)
}

/// The library, and a client of it, with a link between that is narrow.
fn with_library() -> (World, Node, [Ref<Library>; 2]) {
    let mut world = World::new(1);
    crate::secure::packet::watch::forget();
    let link = Link::default().latency(LATENCY).bytes_per_second(Some(BYTES_PER_SECOND));
    world.set_links(link.queue_bytes(64 << 10));
    let (ground, _, _) = served(&mut world);
    let (server, client) = (world.node("library").start(), world.node("client").start());
    let at = SocketAddr::new(server.host(), PORT);
    let libraries = world.run(async {
        let net = ground.attend(&server, 3, &[1]).unwrap();
        for name in ["library", "archive"] {
            let library = server.system().spawn::<Library>(Library).await.unwrap();
            net.export(name, Export::of(&library)).unwrap();
        }
        let net = ground.join(&client, 1, &[3]).unwrap();
        let address = format!("udp:{at}#{}", public(3)).parse().unwrap();
        let peer = net.connect(&address).await.unwrap();
        let [library, archive] = ["library", "archive"].map(|name| peer.find::<Library>(name));
        [library.await.unwrap(), archive.await.unwrap()]
    });
    (world, client, libraries)
}

/// Asks for an answer, which must not take longer than that.
fn fetch(world: &mut World, library: &Ref<Library>, len: usize, within: Duration) {
    let asked = world.now();
    let answer = world.run(async { library.fetch(len).within(PATIENCE).await });
    assert_eq!(answer.unwrap().len(), len);
    let took = world.now() - asked;
    assert!(took < within, "{len} bytes: {took:?}");
    world.run_for(50 * MS);
}

/// [ENV-23] [LINK-47] [LINK-48] [LINK-60]
#[test]
fn a_short_answer_does_not_wait_for_long_ones() {
    // Four times as much as a node may send another at first.
    let (mut world, library) = with_fetchers(64, |_| LONG);
    for (len, within) in [(8, 150 * MS), (4096, 200 * MS)] {
        for _ in 0..20 {
            fetch(&mut world, &library, len, within);
        }
    }
}

/// [ENV-23] [LINK-47]
#[test]
fn a_long_answer_comes_beside_middling_ones_without_end() {
    let (mut world, library) = with_fetchers(64, |at| 2000 + at * 7919 % 14_000);
    for _ in 0..5 {
        fetch(&mut world, &library, LONG, 5000 * MS);
    }
}

/// [ENV-24] [LINK-47] [LINK-60]
#[test]
fn no_question_waits_for_a_flow_to_another_actor() {
    let (mut world, client, [library, archive]) = with_library();
    world.run(async {
        for _ in 0..4 {
            let author = Author { library: archive.clone() };
            client.system().spawn::<Author>(author).await.unwrap().write().await.unwrap();
        }
    });
    world.run_for(Duration::from_secs(5));
    // What is of middling length does not wait for long messages, and what is longer for its turn.
    for (len, within) in [(2000, 200), (4096, 200), (16_000, 200), (17_000, 400), (LONG, 1000)] {
        for _ in 0..20 {
            let asked = world.now();
            let page = vec![1; len].into();
            let reviewed = world.run(async { library.review(page).within(PATIENCE).await });
            assert_eq!(reviewed, Ok(len));
            let took = world.now() - asked;
            assert!(took < within * MS, "{len} bytes: {took:?}");
            world.run_for(50 * MS);
        }
    }
}
