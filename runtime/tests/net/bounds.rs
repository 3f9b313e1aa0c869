//! What a peer may cause that takes memory, stack or time, and where that ends.

use crate::hostile::{attack, receive, say};
use crate::stage::{Book, Place, identity, once, open};
use crate::support::{LONG, poll_once, run, soon, until, until_async};
use greenroom::net::{Envelope, Export, Frame, Link, Loopback, Peer, Transport};
use greenroom::{Actor, AskError, Ref, Scheduler, Undelivered, handlers};
use serde::{Deserialize, Serialize};
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const PAGE_BYTES: usize = 1 << 20;

/// Prints large pages, and counts them. Its mailbox is bounded, as that of one with large answers should be.
#[derive(Actor)]
#[actor(mailbox = bounded(4))]
struct Printer {
    printed: Arc<AtomicU64>,
}

#[handlers(wire = "test.printer/1")]
impl Printer {
    #[ask]
    fn page(&self) -> Vec<u8> {
        self.printed.fetch_add(1, Ordering::Relaxed);
        vec![7; PAGE_BYTES]
    }
}

async fn printer(place: &Place) -> Arc<AtomicU64> {
    let printed = Arc::new(AtomicU64::new(0));
    let near =
        place.system.spawn::<Printer>(Printer { printed: Arc::clone(&printed) }).await.unwrap();
    place.node.export("printer", Export::of(&near)).unwrap();
    printed
}

/// The frame of the question as a real node asks it.
async fn real_question(network: &Loopback) -> Vec<u8> {
    let (here, link, peer) = overheard(network).await;
    let finding = tokio::spawn(async move { peer.find::<Printer>("printer").await });
    found(&*link).await;
    let far = soon(finding).await.unwrap().unwrap();
    let mut asking = Box::pin(far.page().into_future());
    assert!(poll_once(&mut asking).is_pending());
    let question = receive(&*link).await.unwrap();
    here.shut().await;
    question
}

/// Searches for what is exported under a name; returns its number.
async fn find(link: &dyn Link, protocol: &str, name: &str) -> u64 {
    say(link, &Frame::Find { correlation: 1, protocol, name });
    match Frame::parse(&receive(link).await.unwrap()) {
        Ok(Frame::Found { actor, .. }) => actor,
        other => panic!("{other:?}"),
    }
}

// [G-REMOTE-6] [ENV-22]
#[test]
fn who_asks_and_does_not_read_gets_no_more_answers_made() {
    const ASKED: u64 = 128;
    let network = Loopback::new().frames_max(ASKED as usize);
    let there = Place::new(&network, "there", Scheduler::stealing());
    run(async {
        let question = real_question(&network).await;
        let Ok(Frame::Ask { envelope, .. }) = Frame::parse(&question) else { panic!() };
        let printed = printer(&there).await;
        let link = attack(&network).await;
        let actor = find(&*link, "test.printer", "printer").await;
        let ask = |correlation| {
            let envelope = Envelope { actor, ..envelope };
            Frame::Ask { envelope, correlation, remaining_us: u64::MAX }
        };
        // The first hundred answers stay in the pipe, which is not this node's memory.
        for correlation in 0..ASKED {
            say(&*link, &ask(correlation));
        }
        until(|| printed.load(Ordering::Relaxed) == ASKED).await;
        // Now the pipe is full, and the rest has to wait: one after the other, as nobody takes any.
        for correlation in ASKED..2 * ASKED {
            say(&*link, &ask(correlation));
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        let mut made = 0;
        until_async(async || {
            tokio::time::sleep(Duration::from_millis(200)).await;
            let before = std::mem::replace(&mut made, printed.load(Ordering::Relaxed));
            before == made
        })
        .await;
        assert!(made <= ASKED + 40, "{made} answers are made, of which {ASKED} have left");
        // It is not cut off, and has all of them when it reads.
        let mut answered = 0;
        while answered < 2 * ASKED {
            match Frame::parse(&receive(&*link).await.unwrap()) {
                Ok(Frame::Answer { bytes, .. }) => {
                    assert!(bytes.len() > PAGE_BYTES);
                    answered += 1;
                }
                Ok(Frame::Credit { .. }) => {}
                other => panic!("{other:?}"),
            }
        }
        there.shut().await;
    });
}

// [ENV-22]
#[test]
fn two_nodes_that_ask_each_other_for_much_over_a_narrow_way_both_get_it() {
    once(Loopback::new().frames_max(1), async |_, here, there| {
        printer(here).await;
        printer(there).await;
        let one = here.reach(there).await.find::<Printer>("printer").await.unwrap();
        let other = there.reach(here).await.find::<Printer>("printer").await.unwrap();
        let ask = async |printer: Ref<Printer>| {
            let page = |_| {
                let printer = printer.clone();
                tokio::spawn(async move { printer.page().within(LONG).await })
            };
            for page in (0..60).map(page).collect::<Vec<_>>() {
                assert_eq!(soon(page).await.unwrap().unwrap().len(), PAGE_BYTES);
            }
        };
        tokio::join!(ask(one), ask(other));
    });
}

// [ENV-12]
#[test]
fn a_node_forgets_an_actor_when_its_peer_has_heard_of_the_end() {
    let network = Loopback::new();
    let there = Place::new(&network, "there", Scheduler::stealing());
    run(async {
        let near = there.system.spawn::<Book>(open()).await.unwrap();
        there.node.export("book", Export::of(&near)).unwrap();
        let link = attack(&network).await;
        let actor = find(&*link, "test.book", "book").await;
        let envelope = Envelope { actor, version: 2, message: 7, schema: 1, arguments: &[] };
        near.stop();
        let ended = receive(&*link).await.unwrap();
        assert!(matches!(Frame::parse(&ended), Ok(Frame::Ended { .. })), "{ended:?}");
        // What was on its way is refused, and then there is nothing more.
        say(&*link, &Frame::Tell(envelope));
        say(&*link, &Frame::Open { correlation: 9, actor, protocol: "" });
        let refused = receive(&*link).await.unwrap();
        assert!(matches!(Frame::parse(&refused), Ok(Frame::Undelivered { .. })), "{refused:?}");
        let parted = receive(&*link).await.unwrap();
        let expected = Frame::NotFound { correlation: 9, speaks: "" };
        assert_eq!(Frame::parse(&parted), Ok(expected));
        say(&*link, &Frame::Tell(envelope));
        assert_eq!(receive(&*link).await, None, "the actor is as one that was never found");
        there.shut().await;
    });
}

// [ENV-12]
#[test]
fn who_says_to_have_heard_of_an_end_that_was_not_is_cut_off() {
    let network = Loopback::new();
    let there = Place::new(&network, "there", Scheduler::stealing());
    run(async {
        let near = there.system.spawn::<Book>(open()).await.unwrap();
        there.node.export("book", Export::of(&near)).unwrap();
        let link = attack(&network).await;
        let actor = find(&*link, "test.book", "book").await;
        say(&*link, &Frame::Open { correlation: 9, actor, protocol: "" });
        assert_eq!(receive(&*link).await, None);
        assert!(!near.is_closed());
        there.shut().await;
    });
}

// [ENV-12]
#[test]
fn a_node_that_has_heard_of_an_end_says_so_and_forgets() {
    let network = Loopback::new();
    run(async {
        let (here, link, peer) = overheard(&network).await;
        let finding = tokio::spawn(async move { peer.find::<Book>("book").await });
        found(&*link).await;
        let far = soon(finding).await.unwrap().unwrap();
        far.note(1, 1).await.unwrap();
        let told = receive(&*link).await.unwrap();
        let Ok(Frame::Tell(Envelope { message, .. })) = Frame::parse(&told) else { panic!() };
        say(&*link, &Frame::Ended { actor: 5, how: 1, text: "" });
        let heard = receive(&*link).await.unwrap();
        let Ok(Frame::Open { correlation, actor: 5, protocol: "" }) = Frame::parse(&heard) else {
            panic!("{heard:?}")
        };
        soon(far.ended()).await;
        // What was refused meanwhile is reported still.
        let why = Undelivered::NoSuchActor;
        say(&*link, &Frame::Undelivered { actor: 5, message, why });
        until(|| here.system.counts().undelivered == 1).await;
        say(&*link, &Frame::NotFound { correlation, speaks: "" });
        say(&*link, &Frame::Credit { actor: 5, messages: 200 });
        assert_eq!(receive(&*link).await, None, "the actor is as one that was never found");
        here.shut().await;
    });
}

/// Is sent references, and keeps none.
#[derive(Actor)]
struct Clerk;

#[handlers(wire = "test.clerk/1")]
impl Clerk {
    #[tell]
    fn see(&mut self, books: Vec<Ref<Book>>) {
        drop(books);
    }
}

/// Numbers as postcard writes them.
fn written(numbers: impl IntoIterator<Item = u64>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for mut number in numbers {
        while number > 127 {
            bytes.push(number as u8 | 128);
            number >>= 7;
        }
        bytes.push(number as u8);
    }
    bytes
}

/// The frame in which a real node tells a clerk of no books.
async fn real_sight(network: &Loopback) -> Vec<u8> {
    let (here, link, peer) = overheard(network).await;
    let finding = tokio::spawn(async move { peer.find::<Clerk>("clerk").await });
    found(&*link).await;
    let far = soon(finding).await.unwrap().unwrap();
    far.see(Vec::new()).await.unwrap();
    let told = receive(&*link).await.unwrap();
    here.shut().await;
    told
}

/// A node, and the other end of its connection.
async fn overheard(network: &Loopback) -> (Place, Box<dyn Link>, Peer) {
    let here = Place::new(network, "honest", Scheduler::stealing());
    let spy = network.node("spy", identity("spy"));
    let peer = here.node.connect(&"loopback:spy".parse().unwrap()).await.unwrap();
    let link = soon(poll_fn(|cx| spy.poll_link(cx))).await.unwrap();
    (here, link, peer)
}

/// Gives the actor that the node asks for the number 5.
async fn found(link: &dyn Link) {
    let asked = receive(link).await.unwrap();
    let Ok(Frame::Find { correlation, .. }) = Frame::parse(&asked) else { panic!("{asked:?}") };
    say(link, &Frame::Found { correlation, actor: 5, window: 128 });
}

// [ENV-12] [ENV-13]
#[test]
#[cfg_attr(sanitized, ignore = "slow, and only counts")]
fn actors_that_were_made_up_and_ended_are_bounded() {
    const EACH: u64 = 1_000;
    let network = Loopback::new().frames_max(32_768);
    let there = Place::new(&network, "there", Scheduler::stealing());
    run(async {
        let sight = real_sight(&network).await;
        let Ok(Frame::Tell(envelope)) = Frame::parse(&sight) else { panic!("{sight:?}") };
        let near = there.system.spawn::<Clerk>(Clerk).await.unwrap();
        there.node.export("clerk", Export::of(&near)).unwrap();
        let own = identity("attacker");
        let attacker = network.node("attacker", own);
        attacker.connect(&"loopback:there".parse().unwrap()).await.unwrap();
        let link = soon(poll_fn(|cx| attacker.poll_link(cx))).await.unwrap();
        let clerk = find(&*link, "test.clerk", "clerk").await;
        let tell_of = |first: u64| {
            let home = |actor| [own.node.0, own.incarnation.0, actor];
            let arguments = written([EACH].into_iter().chain((first..first + EACH).flat_map(home)));
            say(&*link, &Frame::Tell(Envelope { actor: clerk, arguments: &arguments, ..envelope }));
        };
        let mut unanswered = Vec::new();
        let mut named = 0;
        while named < 20 * EACH {
            tell_of(1_000_000 + named);
            named += EACH;
            // Each of them has ended as soon as it is asked for; what is heard of that stays without an answer.
            let mut heard = 0;
            while heard < EACH {
                match Frame::parse(&receive(&*link).await.unwrap()) {
                    Ok(Frame::Open { correlation, protocol: "", .. }) => {
                        unanswered.push(correlation);
                        heard += 1;
                    }
                    Ok(Frame::Open { actor, .. }) => {
                        say(&*link, &Frame::Ended { actor, how: 1, text: "" });
                    }
                    Ok(Frame::Undelivered { why: Undelivered::OverLimit, .. }) => break,
                    other => panic!("{other:?}"),
                }
            }
            if heard < EACH {
                break;
            }
        }
        assert_eq!(named, 17 * EACH, "more than 16,384 are refused");
        // Those that are forgotten leave room for others.
        for correlation in unanswered {
            say(&*link, &Frame::NotFound { correlation, speaks: "" });
        }
        tell_of(5_000_000);
        loop {
            match Frame::parse(&receive(&*link).await.unwrap()) {
                Ok(Frame::Open { actor: 5_000_000, .. }) => break,
                Ok(Frame::Open { protocol: "", .. }) => {}
                other => panic!("{other:?}"),
            }
        }
        there.shut().await;
    });
}

/// Keeps what it is sent; its peers say what they like in the place of that.
mod honest {
    use super::{Actor, Deserialize, Serialize, handlers};

    #[derive(Debug, Serialize, Deserialize)]
    pub(super) enum Tree {
        Leaf,
        Many(Vec<Self>),
    }

    #[derive(Actor)]
    pub(super) struct Garden;

    #[handlers(wire = "test.garden/1")]
    impl Garden {
        #[ask]
        fn plant(&mut self, tree: Tree) -> bool {
            matches!(tree, Tree::Leaf | Tree::Many(_))
        }
        #[ask]
        fn count(&mut self, nothing: Vec<()>) -> u64 {
            nothing.len() as u64
        }
    }
}

/// Bytes in the place of types of the same names.
mod forged {
    use super::{Actor, Deserialize, Serialize, handlers};

    /// So many levels, each of which is a tree with one branch.
    #[derive(Debug)]
    pub(super) struct Tree(pub(super) usize);

    impl Serialize for Tree {
        fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
            use serde::ser::SerializeTuple;
            let mut bytes = to.serialize_tuple(2 * self.0 + 1)?;
            for _ in 0..2 * self.0 {
                bytes.serialize_element(&1_u8)?;
            }
            bytes.serialize_element(&0_u8)?;
            bytes.end()
        }
    }

    impl<'de> Deserialize<'de> for Tree {
        fn deserialize<D: serde::Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
            Ok(Self(0))
        }
    }

    /// A length, and nothing behind it.
    #[derive(Debug, Serialize, Deserialize)]
    pub(super) struct Vec<T>(pub(super) u64, pub(super) std::marker::PhantomData<T>);

    #[derive(Actor)]
    pub(super) struct Garden;

    #[handlers(wire = "test.garden/1")]
    impl Garden {
        #[ask]
        fn plant(&mut self, tree: Tree) -> bool {
            tree.0 > 0
        }
        #[ask]
        fn count(&mut self, nothing: Vec<()>) -> u64 {
            nothing.0
        }
    }
}

async fn garden(here: &Place, there: &Place) -> Ref<forged::Garden> {
    let near = there.system.spawn::<honest::Garden>(honest::Garden).await.unwrap();
    there.node.export("garden", Export::of(&near)).unwrap();
    here.reach(there).await.find::<forged::Garden>("garden").await.unwrap()
}

// [G-REMOTE-8] [ENV-7]
#[test]
fn a_message_that_is_too_deep_is_refused_before_the_stack_ends() {
    once(Loopback::new(), async |_, here, there| {
        let far = garden(here, there).await;
        let malformed = Err(AskError::Undelivered(Undelivered::Malformed));
        // A tree and its branches are a level each.
        assert_eq!(far.plant(forged::Tree(63)).await, Ok(true));
        assert_eq!(far.plant(forged::Tree(64)).await, malformed);
        assert_eq!(far.plant(forged::Tree(1_000_000)).await, malformed);
        assert_eq!(far.plant(forged::Tree(0)).await, Ok(true));
    });
}

// [G-REMOTE-8] [ENV-7]
#[test]
fn values_without_bytes_have_an_end() {
    once(Loopback::new(), async |_, here, there| {
        let far = garden(here, there).await;
        let of = |count| forged::Vec(count, std::marker::PhantomData);
        let malformed = Err(AskError::Undelivered(Undelivered::Malformed));
        assert_eq!(far.count(of(3)).await, Ok(3));
        assert_eq!(far.count(of(65_000)).await, Ok(65_000));
        assert_eq!(far.count(of(70_000)).await, malformed);
        assert_eq!(far.count(of(1 << 60)).await, malformed);
    });
}
