//! Groups with members on several nodes, and names that are found on any of them.

use crate::hostile::{receive, say};
use crate::stage::{Book, BookApi, Place, book, identity, open};
use crate::support::{run, soon, until, until_async};
use greenroom::net::{
    Export, ExportError, Frame, FrameBuf, Identity, Incarnation, LookupError, Loopback, Node,
    NodeId, Order, SharedGroup, Transport,
};
use greenroom::sim::World;
use greenroom::{Actor, Ref, Scheduler, handlers};
use std::future::poll_fn;
use std::time::Duration;

/// Three nodes that are all connected.
async fn mesh(network: &Loopback) -> [Place; 3] {
    let places = ["one", "two", "six"].map(|name| Place::new(network, name, Scheduler::stealing()));
    for (from, to) in [(0, 1), (0, 2), (1, 2)] {
        places[from].reach(&places[to]).await;
    }
    places
}

fn group(place: &Place) -> SharedGroup<Book> {
    place.node.group::<Book>("books").unwrap()
}

async fn count(group: &SharedGroup<Book>, members: usize) {
    until(|| group.group().members().len() == members).await;
}

// [G-REMOTE-12] [ENV-15]
#[test]
fn who_joins_on_one_node_is_in_on_all() {
    let network = Loopback::new();
    run(async {
        let places = mesh(&network).await;
        let groups = places.each_ref().map(group);
        let mut books = Vec::new();
        for (place, group) in places.iter().zip(&groups) {
            let book = place.system.spawn::<Book>(open()).await.unwrap();
            assert!(group.join(&book) && !group.join(&book));
            books.push(book);
        }
        for group in &groups {
            count(group, 3).await;
        }
        // What is published on one node reaches every member once.
        let told = groups[1].group().broadcast(|book| book.note(5, 6));
        assert_eq!((told.told, told.full), (3, 0));
        for book in &books {
            until_async(async || !book.notes().await.unwrap().is_empty()).await;
            assert_eq!(book.notes().await.unwrap(), [(5, 6)]);
        }
        assert_eq!(groups[0].group().first(|book| book.divide(8, 2)).await, Ok(4));
        // A group that is asked for later, and by the protocol, has the same members.
        let late = places[2].node.group::<BookApi>("books").unwrap();
        assert_eq!(late.group().members().len(), 3);
        let elsewhere = places[2].node.group::<Book>("other books").unwrap();
        assert!(elsewhere.group().members().is_empty());
        // One leaves, one ends, and the node of one is gone.
        assert!(groups[0].leave(&books[0]) && !groups[0].leave(&books[0]));
        for group in &groups {
            count(group, 2).await;
        }
        assert!(groups[0].join(&books[0]));
        books[1].stop();
        for group in &groups {
            count(group, 2).await;
        }
        places[2].node.close().await;
        for group in &groups[..2] {
            count(group, 1).await;
        }
        count(&groups[2], 1).await;
        assert_eq!(late.group().members().len(), 1);
        // A proxy joins where its actor lives.
        let (_, far) = book(&places[0], &places[1], "book", open()).await;
        assert!(!groups[0].join(&far));
        assert!(!groups[0].join(&books[1]), "it has ended");
        assert_eq!(places[0].node.group::<Book>("").map(drop), Err(ExportError::BadName(0)));
        for place in &places {
            place.shut().await;
        }
    });
}

// [G-REMOTE-12]
#[test]
fn a_node_that_comes_later_learns_who_is_in() {
    let network = Loopback::new();
    run(async {
        let [here, there] =
            ["here", "there"].map(|name| Place::new(&network, name, Scheduler::stealing()));
        let book = here.system.spawn::<Book>(open()).await.unwrap();
        group(&here).join(&book);
        for _ in 0..3 {
            let peer = there.reach(&here).await;
            // Whether the group is asked for before the news or behind them.
            count(&group(&there), 1).await;
            network.cut("here", "there");
            soon(peer.ended()).await;
            count(&group(&there), 0).await;
            count(&group(&here), 1).await;
        }
        here.shut().await;
        there.shut().await;
    });
}

// [ENV-5] [ENV-15]
#[test]
fn who_announces_more_than_it_may_is_cut_off() {
    let network = Loopback::new().frames_max(8192);
    run(async {
        let there = Place::new(&network, "there", Scheduler::stealing());
        let mine = group(&there);
        let attacker = network.node("attacker", identity("attacker"));
        attacker.connect(&"loopback:there".parse().unwrap()).await.unwrap();
        let link = soon(poll_fn(|cx| attacker.poll_link(cx))).await.unwrap();
        // An error means that it was cut off already.
        let say = |frame: Frame<'_>| link.submit(Order::Free, &frame.to_bytes()).is_ok();
        // Who leaves without having joined is nobody; members of another protocol are of another group.
        say(Frame::Left { actor: 1, protocol: "test.book", group: "books" });
        say(Frame::Joined { actor: 2, protocol: "test.desk", group: "books" });
        say(Frame::Joined { actor: 3, protocol: "test.book", group: "books" });
        count(&mine, 1).await;
        for actor in 0..5000 {
            say(Frame::Joined { actor, protocol: "test.book", group: "unheard" });
        }
        let mut frame = FrameBuf::default();
        while soon(poll_fn(|cx| link.poll_receive(cx, &mut frame))).await.is_ok() {}
        count(&mine, 0).await;
        there.shut().await;
    });
}

// [G-REMOTE-6] [ENV-22]
#[test]
#[cfg_attr(sanitized, ignore = "slow, and only counts")]
fn who_does_not_read_who_joins_and_leaves_is_cut_off() {
    let network = Loopback::new();
    run(async {
        let there = Place::new(&network, "there", Scheduler::stealing());
        let mine = group(&there);
        let book = there.system.spawn::<Book>(open()).await.unwrap();
        let attacker = network.node("attacker", identity("attacker"));
        attacker.connect(&"loopback:there".parse().unwrap()).await.unwrap();
        let link = soon(poll_fn(|cx| attacker.poll_link(cx))).await.unwrap();
        // Who is answered has a session, which is to say who comes and goes.
        say(&*link, &Frame::Find { correlation: 1, protocol: "none", name: "nobody" });
        receive(&*link).await.unwrap();
        // Two frames each, of which 65,536 may wait.
        for _ in 0..40_000 {
            assert!(mine.join(&book) && mine.leave(&book));
        }
        until(|| there.node.peers().is_empty()).await;
        drop(link);
        there.shut().await;
    });
}

// [G-REMOTE-12]
#[test]
fn a_name_is_found_on_whichever_node_exports_it() {
    let network = Loopback::new();
    run(async {
        let places = mesh(&network).await;
        let (near, _) = book(&places[0], &places[2], "book", open()).await;
        let found: Ref<Book> = soon(places[1].node.find("book")).await.unwrap();
        found.note(1, 2).await.unwrap();
        let own: Ref<Book> = places[2].node.find("book").await.unwrap();
        assert_eq!(own, near);
        until_async(async || own.notes().await.unwrap() == [(1, 2)]).await;
        let missing = places[0].node.find::<Book>("missing").await;
        assert_eq!(missing, Err(LookupError::NoSuchName("missing".to_owned())));
        let watcher = places[0].system.spawn::<crate::stage::Watcher>(()).await.unwrap();
        places[0].node.export("watcher", Export::of(&watcher)).unwrap();
        // Both the one that asks and the one that exports it say so.
        for place in &places[..2] {
            let other = place.node.find::<Book>("watcher").await;
            assert!(matches!(other, Err(LookupError::OtherProtocol { .. })), "{other:?}");
        }
        for place in &places {
            place.shut().await;
        }
    });
}

/// Joins and leaves.
#[derive(Actor)]
struct Member {
    told: u64,
}

#[handlers(wire = "test.member/1")]
impl Member {
    #[tell]
    fn told(&mut self, number: u64) {
        self.told += number;
    }
    #[ask]
    fn sum(&self) -> u64 {
        self.told
    }
}

/// Members come and go on three nodes while connections break; afterwards all see the same.
fn history(seed: u64) -> u64 {
    const NAMES: [&str; 3] = ["one", "two", "six"];
    let mut world = World::new(seed);
    let places: Vec<_> = NAMES.iter().map(|name| world.node(*name).start()).collect();
    let clock = world.clock();
    let network = Loopback::new().frames_max(1 + world.pick(4));
    let steps: Vec<[usize; 3]> =
        (0..40).map(|_| [world.pick(8), world.pick(3), world.pick(4)]).collect();
    world.run(async {
        let mut nodes = Vec::new();
        for (index, (place, name)) in places.iter().zip(NAMES).enumerate() {
            let identity = Identity { node: NodeId(index as u64), incarnation: Incarnation(1) };
            nodes.push(Node::start(&place.system(), network.node(name, identity)).unwrap());
        }
        let groups: Vec<_> =
            nodes.iter().map(|node| node.group::<Member>("members").unwrap()).collect();
        let mut members: Vec<(usize, Ref<Member>)> = Vec::new();
        let connect = async |from: usize, to: usize| {
            let address = format!("loopback:{}", NAMES[to]).parse().unwrap();
            nodes[from].connect(&address).await.unwrap();
        };
        for [action, at, which] in steps {
            let other = (at + 1 + which % 2) % 3;
            match action {
                0 | 1 => {
                    let spawned = places[at].system().spawn::<Member>(Member { told: 0 });
                    let member = spawned.await.unwrap();
                    assert!(groups[at].join(&member), "seed {seed}");
                    members.push((at, member));
                }
                2 if !members.is_empty() => {
                    let (at, member) = members.swap_remove(which % members.len());
                    assert!(groups[at].leave(&member), "seed {seed}");
                }
                3 if !members.is_empty() => {
                    members.swap_remove(which % members.len()).1.stop();
                }
                4 => network.cut(NAMES[at], NAMES[other]),
                5 | 6 => connect(at, other).await,
                _ => clock.sleep(Duration::from_millis(which as u64)).await,
            }
        }
        for (from, to) in [(0, 1), (0, 2), (1, 2)] {
            connect(from, to).await;
        }
        clock.sleep(Duration::from_secs(1)).await;
        for group in &groups {
            assert_eq!(group.group().members().len(), members.len(), "seed {seed}");
            let told = group.group().broadcast(|member| member.told(1));
            assert_eq!(told.told, members.len(), "seed {seed}");
        }
        clock.sleep(Duration::from_secs(1)).await;
        for (_, member) in &members {
            assert_eq!(member.sum().await, Ok(3), "seed {seed}: once from each node");
        }
    });
    world.trace_hash()
}

// [G-REMOTE-12]
#[test]
fn all_nodes_come_to_see_the_same_members() {
    let seeds = std::env::var("GREENROOM_NET_SEEDS").ok().and_then(|seeds| seeds.parse().ok());
    for seed in 0..seeds.unwrap_or(if cfg!(sanitized) { 4 } else { 100 }) {
        history(seed);
    }
    assert_eq!(history(11), history(11));
}
