//! References inside of messages: at home they are the actor's own, elsewhere they lead there.

use crate::stage::{Book, Place, Seen, Watch, Watcher, between, book, identity, once, open};
use crate::support::{Builds, LONG, run, soon, until, until_async};
use greenroom::net::{Codec, Export, Frame, FrameBuf, Loopback, Node, Order, Postcard, Transport};
use greenroom::{
    Actor, AskError, DeadLetterReason, ExitReason, Ref, Scheduler, System, TellError, Undelivered,
    handlers,
};
use proptest::prelude::*;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::future::poll_fn;

/// Is sent books, and asks them.
#[derive(Actor)]
pub(crate) struct Desk {
    books: Vec<Ref<Book>>,
}

#[handlers(wire = "test.desk/1")]
impl Desk {
    #[start]
    fn start() -> Self {
        Self { books: Vec::new() }
    }
    #[tell]
    fn keep(&mut self, books: Vec<Ref<Book>>) {
        self.books = books;
    }
    #[ask]
    fn books(&self) -> Vec<Ref<Book>> {
        self.books.clone()
    }
    #[ask]
    fn kept(&self) -> u64 {
        self.books.len() as u64
    }
    #[ask]
    async fn divide(&mut self, book: Ref<Book>, number: u64, by: u64) -> Result<u64, String> {
        book.divide(number, by).await.map_err(|error| error.to_string())
    }
}

/// A reference that is put into bytes again as soon as it is made of them, before whatever stands in for the actor has had
/// a turn.
#[derive(Debug, PartialEq)]
struct SentOn {
    actor: (u64, u64, u64),
    is_sent: bool,
}

impl Serialize for SentOn {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.actor.serialize(to)
    }
}

impl<'de> Deserialize<'de> for SentOn {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let book = Ref::<Book>::deserialize(from)?;
        let mut bytes = Vec::new();
        let is_sent = Postcard::encode(&book, &mut bytes).is_ok();
        Ok(Self { actor: Postcard::decode(&mut &bytes[..]).unwrap_or_default(), is_sent })
    }
}

#[derive(Actor)]
struct Forwarder;

#[handlers(wire = "test.forwarder/1")]
impl Forwarder {
    #[ask]
    fn forward(&self, actor: (u64, u64, u64)) -> SentOn {
        SentOn { actor, is_sent: false }
    }
}

// [G-REMOTE-9] [ENV-13]
#[test]
fn a_reference_to_an_actor_that_has_just_ended_is_sent_on() {
    let network = Loopback::new();
    let there = Place::new(&network, "there", Scheduler::stealing());
    // With one worker, nothing else runs while something is decoded.
    let system = System::builder().workers(1).own();
    let node = Node::start(&system, network.node("here", identity("here"))).unwrap();
    run(async {
        let forwarder = there.system.spawn::<Forwarder>(Forwarder).await.unwrap();
        there.node.export("forwarder", Export::of(&forwarder)).unwrap();
        let peer = node.connect(&"loopback:there".parse().unwrap()).await.unwrap();
        let far = peer.find::<Forwarder>("forwarder").await.unwrap();
        let own = node.identity();
        // Nobody lives there: as one who has ended since it was sent.
        let sent =
            soon(far.forward((own.node.0, own.incarnation.0, 1_000_000)).into_future()).await;
        let SentOn { actor: (node, incarnation, actor), is_sent } = sent.unwrap();
        assert!(is_sent);
        // As one of this node that nobody reaches.
        assert_eq!((node, incarnation), (own.node.0, own.incarnation.0));
        assert_ne!(actor, 0);
        system.shutdown(LONG).await.unwrap();
        there.shut().await;
    });
}

/// A desk at `there`, and the reference from `here` to it.
async fn desk(here: &Place, there: &Place) -> (Ref<Desk>, Ref<Desk>) {
    let near = there.system.spawn::<Desk>(()).await.unwrap();
    there.node.export("desk", Export::of(&near)).unwrap();
    let far = here.reach(there).await.find::<Desk>("desk").await.unwrap();
    (near, far)
}

// [G-REMOTE-9] [ENV-13]
#[test]
fn a_reference_in_a_message_leads_back_to_its_actor() {
    between(Loopback::new, async |_, here, there| {
        let (near_desk, desk) = desk(here, there).await;
        // Nobody exports it: it is reached because it is sent.
        let mine = here.system.spawn::<Book>(open()).await.unwrap();
        assert_eq!(soon(desk.divide(mine.clone(), 84, 2).into_future()).await, Ok(42));
        desk.keep(vec![mine.clone(), mine.clone()]).await.unwrap();
        // In answers, too; and at home it is the actor's own.
        let back = desk.books().await.unwrap();
        assert_eq!(back, [mine.clone(), mine.clone()]);
        assert!(back[0].stop(), "at home it is ended by its reference");
        let there_kept = near_desk.books().await.unwrap();
        assert_eq!(there_kept[0], there_kept[1], "one actor, one reference");
        soon(there_kept[0].ended()).await;
        assert!(matches!(there_kept[0].note(1, 1).await, Err(TellError::Closed(_))));
        // One that has ended is sent as one that has ended.
        desk.keep(vec![mine]).await.unwrap();
        assert_eq!(desk.kept().await, Ok(1));
        let ended = near_desk.books().await.unwrap().remove(0);
        soon(ended.ended()).await;
        desk.keep(vec![desk.books().await.unwrap().remove(0)]).await.unwrap();
        assert_eq!(desk.kept().await, Ok(1));
    });
}

// [G-REMOTE-9] [ENV-13]
#[test]
fn a_third_node_reaches_the_actor_at_its_home() {
    let network = Loopback::new();
    let [here, there, home] =
        ["here", "there", "home"].map(|name| Place::new(&network, name, Scheduler::stealing()));
    run(async {
        let (near, far) = book(&here, &home, "book", open()).await;
        let (near_desk, desk) = desk(&here, &there).await;
        let mut letters = there.system.dead_letters();
        let refused = desk.divide(far.clone(), 9, 3).await;
        let why = Undelivered::HomeNotConnected;
        assert_eq!(refused, Err(AskError::Undelivered(why)));
        let letter = soon(letters.next()).await.unwrap();
        assert_eq!(letter.reason, DeadLetterReason::Undelivered(why));
        there.reach(&home).await;
        assert_eq!(desk.divide(far.clone(), 9, 3).await, Ok(3));
        desk.keep(vec![far.clone()]).await.unwrap();
        assert_eq!(desk.books().await.unwrap(), std::slice::from_ref(&far));
        let third = near_desk.books().await.unwrap().remove(0);
        // By the way of its own, with watches of its own.
        let watcher = there.system.spawn::<Watcher>(()).await.unwrap();
        watcher.tell(Watch(third.clone())).await.unwrap();
        for number in 0..300 {
            third.note(3, number).await.unwrap();
        }
        until_async(async || near.notes().await.unwrap().len() == 300).await;
        network.cut("there", "home");
        until_async(async || watcher.ask(crate::stage::Log).await.unwrap().len() == 1).await;
        let log = watcher.ask(crate::stage::Log).await.unwrap();
        assert_eq!(log, [Seen::Down(ExitReason::NodeDown)]);
        assert!(third.is_closed() && !far.is_closed());
        // What has ended here is sent as one that has ended, and not connected is refused again.
        assert_eq!(
            desk.divide(far, 9, 3).await,
            Err(AskError::Undelivered(Undelivered::HomeNotConnected))
        );
        for place in [&here, &there, &home] {
            place.shut().await;
        }
    });
}

// [G-REMOTE-8] [G-REMOTE-9]
#[test]
fn whom_nobody_sent_nobody_opens() {
    once(Loopback::new(), async |network, here, there| {
        let (near, _) = book(here, there, "book", open()).await;
        let hidden = there.system.spawn::<Book>(open()).await.unwrap();
        let attacker = network.node("attacker", identity("attacker"));
        attacker.connect(&"loopback:there".parse().unwrap()).await.unwrap();
        let link = soon(poll_fn(|cx| attacker.poll_link(cx))).await.unwrap();
        for (actor, protocol, found) in [
            (hidden.id().number(), "test.book", false),
            (near.id().number(), "test.desk", false),
            (near.id().number(), "test.book", true),
        ] {
            let open = Frame::Open { correlation: 5, actor, protocol };
            link.submit(Order::Free, &open.to_bytes()).unwrap();
            let mut said = FrameBuf::default();
            soon(poll_fn(|cx| link.poll_receive(cx, &mut said))).await.unwrap();
            let is_found = matches!(Frame::parse(&said), Ok(Frame::Found { correlation: 5, .. }));
            assert_eq!(is_found, found, "{:?}", Frame::parse(&said));
        }
    });
}

#[test]
fn a_reference_is_put_into_nothing_but_messages() {
    run(async {
        let system = System::builder().workers(1).own();
        let book = system.spawn::<Book>(open()).await.unwrap();
        assert!(Postcard::encode(&book, &mut Vec::new()).is_err());
        let decoded: Result<Ref<Book>, _> = Postcard::decode(&mut &[1, 2, 3][..]);
        assert!(decoded.is_err());
        system.shutdown(LONG).await.unwrap();
    });
}

#[test]
fn a_reference_of_another_system_is_not_sent() {
    once(Loopback::new(), async |_, here, there| {
        let (_, desk) = desk(here, there).await;
        // In one process somebody may hold it; by number it would be another actor.
        let theirs = there.system.spawn::<Book>(open()).await.unwrap();
        assert_eq!(desk.divide(theirs, 1, 1).await, Err(AskError::NoReply));
    });
}

// [G-REMOTE-9]
#[test]
fn a_reference_of_another_node_of_the_system_is_not_sent_until_it_has_ended() {
    let network = Loopback::new();
    let [here, there, home] =
        ["here", "there", "home"].map(|name| Place::new(&network, name, Scheduler::stealing()));
    let other = Node::start(&here.system, network.node("other", identity("other"))).unwrap();
    run(async {
        let (near, far) = book(&here, &home, "book", open()).await;
        let near_desk = there.system.spawn::<Desk>(()).await.unwrap();
        there.node.export("desk", Export::of(&near_desk)).unwrap();
        let peer = other.connect(&"loopback:there".parse().unwrap()).await.unwrap();
        let desk = peer.find::<Desk>("desk").await.unwrap();
        // The other node does not know where it lives; it is nobody who has ended.
        assert_eq!(
            soon(desk.divide(far.clone(), 9, 3).into_future()).await,
            Err(AskError::NoReply)
        );
        assert!(near.stop());
        soon(far.ended()).await;
        desk.keep(vec![far]).await.unwrap();
        assert_eq!(desk.kept().await, Ok(1));
        for place in [&here, &there, &home] {
            place.shut().await;
        }
    });
}

/// A program that says what it likes in the place of references: on the wire its types have the same names.
mod forged {
    use greenroom::{Actor, handlers};
    use std::marker::PhantomData;

    #[derive(serde::Serialize, serde::Deserialize)]
    pub(super) struct Ref<T>(pub(super) u64, pub(super) u64, pub(super) u64, PhantomData<T>);
    pub(super) struct Book;

    impl<T> Ref<T> {
        pub(super) fn of(place: (u64, u64, u64)) -> Self {
            Self(place.0, place.1, place.2, PhantomData)
        }
    }

    #[derive(Actor)]
    pub(super) struct Desk;

    #[handlers(wire = "test.desk/1")]
    impl Desk {
        #[tell]
        fn keep(&mut self, books: Vec<Ref<Book>>) {
            let _ = books;
        }
        #[ask]
        fn kept(&self) -> u64 {
            0
        }
    }
}

/// A desk at `there` that `here` reaches as the forger does.
async fn forger(here: &Place, there: &Place) -> (Ref<Desk>, Ref<forged::Desk>) {
    let near = there.system.spawn::<Desk>(()).await.unwrap();
    there.node.export("desk", Export::of(&near)).unwrap();
    let far = here.reach(there).await.find::<forged::Desk>("desk").await.unwrap();
    (near, far)
}

// [G-REMOTE-9]
#[test]
#[cfg_attr(sanitized, ignore = "slow, and only counts")]
fn made_up_references_lead_nowhere_and_are_bounded() {
    once(Loopback::new().frames_max(4096), async |_, here, there| {
        let (near, far) = forger(here, there).await;
        let own = here.node.identity();
        let home = |actor| (own.node.0, own.incarnation.0, actor);
        // Nobody lives there: they are good at first, and then have ended.
        let made_up = (0..100).map(|actor| forged::Ref::of(home(1_000_000 + actor))).collect();
        far.keep(made_up).await.unwrap();
        until_async(async || near.kept().await == Ok(100)).await;
        for book in near.books().await.unwrap() {
            soon(book.ended()).await;
        }
        // More than a connection holds are refused, and the connection stays.
        let too_many = (0..16_385).map(|actor| forged::Ref::of(home(2_000_000 + actor))).collect();
        far.keep(too_many).await.unwrap();
        until(|| there.system.counts().over_limit == 1).await;
        until(|| here.system.counts().over_limit == 1).await;
        // Those were opened, were nobody, and leave room for others.
        until_async(async || {
            far.keep(vec![forged::Ref::of(home(7_000_000))]).await.unwrap();
            far.kept().await == Ok(1)
        })
        .await;
    });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    // [G-REMOTE-8] [G-REMOTE-9]
    #[test]
    fn whatever_stands_for_a_reference_is_one_or_is_refused(
        places in prop::collection::vec((any::<u64>(), any::<u64>(), any::<u64>(), 0..4), 0..8),
    ) {
        once(Loopback::new(), async |_, here, there| {
            let (near, far) = forger(here, there).await;
            let (own, theirs) = (here.node.identity(), there.node.identity());
            let places = places.iter().map(|&(node, incarnation, actor, kind)| match kind {
                0 => (node, incarnation, actor),
                1 => (own.node.0, incarnation, actor),
                2 => (own.node.0, own.incarnation.0, actor),
                _ => (theirs.node.0, theirs.incarnation.0, actor % 50),
            });
            far.keep(places.map(forged::Ref::of).collect()).await.unwrap();
            soon(far.kept().into_future()).await.unwrap();
            // Whatever they are, they do not hold anything up.
            for book in near.books().await.unwrap() {
                let _ = book.note(1, 1).try_send();
            }
            assert_eq!(here.node.peers().len(), 1);
        });
    }
}
