//! A peer that does what it must not: the connection ends, and nothing else does.

use crate::stage::{Book, Place, book, identity, open, shut};
use crate::support::{poll_once, run, soon, until, until_async};
use greenroom::net::{
    ConnectionEnd, Envelope, Export, Frame, FrameBuf, Link, LinkEnd, Loopback, NodeId, Order,
    Transport,
};
use greenroom::{Actor, Context, Down, Ref, Scheduler, Undelivered, handlers};
use std::future::poll_fn;
use std::sync::Arc;

/// A link to `there` by which a test says what it likes.
pub(crate) async fn attack(network: &Loopback) -> Box<dyn Link> {
    let attacker = network.node("attacker", identity("attacker"));
    attacker.connect(&"loopback:there".parse().unwrap()).await.unwrap();
    soon(poll_fn(|cx| attacker.poll_link(cx))).await.unwrap()
}

pub(crate) async fn receive(link: &dyn Link) -> Option<Vec<u8>> {
    let mut frame = FrameBuf::default();
    soon(poll_fn(|cx| link.poll_receive(cx, &mut frame))).await.ok().map(|()| frame.into_own())
}

pub(crate) fn say(link: &dyn Link, frame: &Frame<'_>) {
    link.submit(Order::Free, &frame.to_bytes()).unwrap();
}

/// Searches for the book, and returns its number and how many messages may be sent to it.
async fn find(link: &dyn Link) -> (u64, u32) {
    say(link, &Frame::Find { correlation: 1, protocol: "test.book", name: "book" });
    match Frame::parse(&receive(link).await.unwrap()) {
        Ok(Frame::Found { correlation: 1, actor, window }) => (actor, window),
        other => panic!("{other:?}"),
    }
}

/// A message that nobody knows.
fn envelope(actor: u64) -> Envelope<'static> {
    Envelope { actor, version: 2, message: 7, schema: 1, arguments: &[1, 1] }
}

// [G-REMOTE-8] [ENV-5] [ENV-10] [ENV-11]
#[test]
fn whoever_breaks_the_rules_is_cut_off_and_nobody_else() {
    let network = Loopback::new().frames_max(1024);
    let [here, there] =
        ["here", "there"].map(|name| Place::new(&network, name, Scheduler::stealing()));
    run(async {
        let (near, far) = book(&here, &there, "book", open()).await;
        let unfound = envelope(near.id().number());
        let breaches: [Vec<u8>; 9] = [
            vec![],
            vec![0],
            vec![99, 1, 2, 3],
            Frame::Credit { actor: 1, messages: 1 }.to_bytes()[..5].to_vec(),
            // Whom it has not found it does not reach, though the number is right.
            Frame::Tell(unfound).to_bytes(),
            Frame::Ask { envelope: unfound, correlation: 1, remaining_us: 9 }.to_bytes(),
            Frame::Credit { actor: 77, messages: 1 }.to_bytes(),
            Frame::Found { correlation: 77, actor: 1, window: 1 }.to_bytes(),
            Frame::Ended { actor: 77, how: 1, text: "" }.to_bytes(),
        ];
        for breach in breaches {
            let link = attack(&network).await;
            link.submit(Order::Free, &breach).unwrap();
            assert_eq!(receive(&*link).await, None, "{breach:?}");
            until(|| there.node.peers().len() == 1).await;
        }
        let attacker = identity("attacker").node;
        assert_eq!(endings(&there), [(attacker, ConnectionEnd::Misbehaved, 9)]);
        assert_eq!(far.divide(8, 4).await, Ok(2));
        here.node.peer(there.node.identity().node).unwrap().close().await;
        until(|| there.node.peers().is_empty()).await;
        let closed = ConnectionEnd::Link(LinkEnd::Closed);
        let ended = [&here, &there].map(|place| place.node.ended(closed));
        assert_eq!((ended, there.node.ended(ConnectionEnd::Misbehaved)), ([1, 1], 9));
        here.shut().await;
        there.shut().await;
    });
}

/// With whom connections ended, why, and how many.
fn endings(place: &Place) -> Vec<(NodeId, ConnectionEnd, u64)> {
    place.node.endings().iter().map(|it| (it.peer.node, it.why, it.count)).collect()
}

/// What it does not read this node has made, so it is no breach, nor is it one that it asks something at last. [ENV-22]
#[test]
fn who_does_not_read_is_cut_off_and_not_said_to_break_the_rules() {
    for asks_last in [false, true] {
        let network = Loopback::new().frames_max(16);
        let there = Place::new(&network, "there", Scheduler::stealing());
        run(async {
            let link = attack(&network).await;
            let attacker = identity("attacker").node;
            until(|| there.node.peer(attacker).is_some()).await;
            let peer = there.node.peer(attacker).unwrap();
            let search = || poll_once(&mut Box::pin(peer.find::<Book>("book")));
            let fits = 16 + 65_536;
            assert!((0..fits).all(|_| search().is_pending()));
            assert_eq!(there.node.ended(ConnectionEnd::Behind), 0);
            if asks_last {
                say(&*link, &Frame::Find { correlation: 1, protocol: "test.book", name: "book" });
            } else {
                let _ = search();
            }
            until(|| there.node.peers().is_empty()).await;
            assert_eq!(endings(&there), [(attacker, ConnectionEnd::Behind, 1)]);
            assert_eq!(there.node.ended(ConnectionEnd::Misbehaved), 0);
            there.shut().await;
        });
    }
}

// [G-REMOTE-8] [ENV-5] [ENV-10] [ENV-14]
#[test]
fn as_many_answers_are_taken_as_somebody_has_asked_for_though_nobody_waits() {
    let network = Loopback::new();
    let there = Place::new(&network, "there", Scheduler::stealing());
    run(async {
        let link = attack(&network).await;
        let attacker = identity("attacker").node;
        until(|| there.node.peer(attacker).is_some()).await;
        let peer = there.node.peer(attacker).unwrap();
        assert!(poll_once(&mut Box::pin(peer.find::<Book>("book"))).is_pending());
        let Ok(Frame::Find { correlation: found, .. }) =
            Frame::parse(&receive(&*link).await.unwrap())
        else {
            panic!("a search")
        };
        assert!(poll_once(&mut Box::pin(peer.spawn::<Hoarder>("hoarder", ()))).is_pending());
        let Ok(Frame::Spawn { correlation: started, .. }) =
            Frame::parse(&receive(&*link).await.unwrap())
        else {
            panic!("a start")
        };
        // Nobody has a reference to what was started, so it is stopped.
        say(&*link, &Frame::Found { correlation: started, actor: 8, window: 1 });
        let said = receive(&*link).await.unwrap();
        assert_eq!(Frame::parse(&said), Ok(Frame::Stop { actor: 8 }));
        // What was found is known, so its end is no breach.
        say(&*link, &Frame::Found { correlation: found, actor: 7, window: 1 });
        say(&*link, &Frame::Ended { actor: 7, how: 1, text: "" });
        let said = receive(&*link).await.unwrap();
        let expected =
            matches!(Frame::parse(&said), Ok(Frame::Open { actor: 7, protocol: "", .. }));
        assert!(expected, "{said:?}");
        // That is all.
        say(&*link, &Frame::Found { correlation: found, actor: 9, window: 1 });
        assert_eq!(receive(&*link).await, None);
        there.shut().await;
    });
}

// [G-REMOTE-6] [G-REMOTE-8] [ENV-11]
#[test]
fn a_peer_that_ignores_its_credit_fills_no_memory() {
    let network = Loopback::new().frames_max(4096);
    let there = Place::new(&network, "there", Scheduler::stealing());
    run(async {
        let gate = shut();
        let near = there.system.spawn::<Book>(Arc::clone(&gate)).await.unwrap();
        there.node.export("book", Export::of(&near)).unwrap();
        let link = attack(&network).await;
        let (actor, window) = find(&*link).await;
        for _ in 0..=window {
            say(&*link, &Frame::Tell(envelope(actor)));
        }
        // Each of them is refused as it comes, and so gives credit: the link stays.
        let mut refused = 0;
        while refused <= window {
            match Frame::parse(&receive(&*link).await.unwrap()) {
                Ok(Frame::Undelivered { .. }) => refused += 1,
                Ok(Frame::Credit { messages, .. }) => assert!(messages > window.into()),
                other => panic!("{other:?}"),
            }
        }
        // Messages that it does take, more than the mailbox and the credit allow, without waiting for more.
        let note = real_note(&network, &there, &near).await;
        let envelope = Envelope { actor, ..note.as_envelope() };
        for _ in 0..3 * window {
            // An error means that it was cut off already.
            if link.submit(Order::Free, &Frame::Tell(envelope).to_bytes()).is_err() {
                break;
            }
        }
        let mut said = 0;
        while receive(&*link).await.is_some() {
            said += 1;
        }
        assert!(said <= 3 * window, "cut off, not answered for ever");
        gate.add_permits(1);
        assert!(near.notes().await.unwrap().len() <= window as usize + 6);
        there.shut().await;
    });
}

/// What a peer says of refused messages until it answers a search.
async fn refusals(link: &dyn Link, why: Undelivered) -> usize {
    say(link, &Frame::Find { correlation: 2, protocol: "none", name: "nobody" });
    let mut refused = 0;
    loop {
        match Frame::parse(&receive(link).await.unwrap()) {
            Ok(Frame::Undelivered { why: said, .. }) if said == why => refused += 1,
            Ok(Frame::Credit { .. }) => {}
            Ok(Frame::NotFound { correlation: 2, .. }) => return refused,
            other => panic!("{other:?}"),
        }
    }
}

// [G-REMOTE-6] [ENV-11]
#[test]
#[cfg_attr(sanitized, ignore = "takes much memory, and only counts")]
fn what_is_parked_behind_full_mailboxes_is_bounded_in_bytes() {
    const LARGE: usize = 100;
    const BYTES: usize = 2 << 20;
    let network = Loopback::new().frames_max(1024);
    let there = Place::new(&network, "there", Scheduler::stealing());
    run(async {
        let gate = shut();
        let mut books = Vec::new();
        for name in ["one", "two", "three"] {
            let near = there.system.spawn::<Book>(Arc::clone(&gate)).await.unwrap();
            there.node.export(name, Export::of(&near)).unwrap();
            books.push(near);
        }
        let link = attack(&network).await;
        let note = real_note(&network, &there, &books[0]).await;
        let arguments = vec![7; BYTES];
        let mut kept = Vec::new();
        for name in ["one", "two", "three"] {
            say(&*link, &Frame::Find { correlation: 1, protocol: "test.book", name });
            let found = receive(&*link).await.unwrap();
            let Ok(Frame::Found { actor, .. }) = Frame::parse(&found) else { panic!("{found:?}") };
            let note = Envelope { actor, ..note.as_envelope() };
            // One is handled, four are in the mailbox, and one waits for room.
            (0..6).for_each(|_| say(&*link, &Frame::Tell(note)));
            let large = if name == "three" { 1 } else { LARGE };
            for _ in 0..large {
                say(&*link, &Frame::Tell(Envelope { arguments: &arguments, ..note }));
            }
            kept.push(large - refusals(&*link, Undelivered::OverLimit).await);
        }
        // The second has half, and the third, for which nothing waits yet, still has its part.
        let [first, second, third] = kept[..] else { unreachable!() };
        assert!((60..=65).contains(&first) && (28..=32).contains(&second), "{kept:?}");
        assert_eq!(third, 1);
        gate.add_permits(1);
        // Those that were kept are what they always were: no arguments of that message.
        let mut malformed = 0;
        while malformed < first + second + third {
            match Frame::parse(&receive(&*link).await.unwrap()) {
                Ok(Frame::Undelivered { why: Undelivered::Malformed, .. }) => malformed += 1,
                Ok(Frame::Credit { .. }) => {}
                other => panic!("{other:?}"),
            }
        }
        for near in &books {
            until_async(async || near.notes().await.unwrap().len() >= 6).await;
        }
        // There is room again, and credit was never lost.
        assert!(there.system.counts().over_limit as usize == 2 * LARGE - first - second);
        there.shut().await;
    });
}

/// Watches a book a number of times.
#[derive(Actor)]
struct Hoarder {
    downs: usize,
}

#[handlers(wire = "test.hoarder/1")]
impl Hoarder {
    #[start]
    fn start((): ()) -> Self {
        Self { downs: 0 }
    }
    #[ask]
    fn watch(&mut self, book: Ref<Book>, times: usize, cx: &mut Context<Self>) {
        for _ in 0..times {
            cx.watch(&book, Self::down);
        }
    }
    #[ask]
    fn downs(&self) -> usize {
        self.downs
    }
    #[down]
    fn down(&mut self, _down: Down) {
        self.downs += 1;
    }
}

/// The number of the attacker's own actor.
const OWN: u64 = 5;

/// A hoarder at `there` that watches an actor of the attacker so many times; its number, and the link.
async fn hoards(
    network: &Loopback,
    there: &Place,
    times: usize,
) -> (Ref<Hoarder>, u64, Box<dyn Link>) {
    let hoarder = there.system.spawn::<Hoarder>(()).await.unwrap();
    there.node.export("hoarder", Export::of(&hoarder)).unwrap();
    let link = attack(network).await;
    say(&*link, &Frame::Find { correlation: 1, protocol: "test.hoarder", name: "hoarder" });
    let found = receive(&*link).await.unwrap();
    let Ok(Frame::Found { actor, .. }) = Frame::parse(&found) else { panic!("{found:?}") };
    let peer = there.node.peer(there.node.peers()[0].node).unwrap();
    let finding = tokio::spawn(async move { peer.find::<Book>("own").await.unwrap() });
    let asked = receive(&*link).await.unwrap();
    let Ok(Frame::Find { correlation, .. }) = Frame::parse(&asked) else { panic!("{asked:?}") };
    say(&*link, &Frame::Found { correlation, actor: OWN, window: 1 });
    hoarder.watch(soon(finding).await.unwrap(), times).await.unwrap();
    (hoarder, actor, link)
}

/// The next frame is that the end of the attacker's actor was heard of.
async fn has_heard(link: &dyn Link) {
    let frame = receive(link).await.unwrap();
    let parts = Frame::parse(&frame);
    assert!(matches!(parts, Ok(Frame::Open { actor: OWN, protocol: "", .. })), "{frame:?}");
}

// [G-REMOTE-5] [ENV-25]
#[test]
fn who_is_held_hears_of_an_end_when_it_is_released() {
    let network = Loopback::new().frames_max(1024);
    let there = Place::new(&network, "there", Scheduler::stealing());
    run(async {
        let (hoarder, actor, link) = hoards(&network, &there, 100).await;
        // Whom it has never found, or has forgotten, may be said to be held, and not.
        say(&*link, &Frame::Released { actor: 77, ends: 0 });
        say(&*link, &Frame::Held { actor: 77 });
        say(&*link, &Frame::Held { actor });
        say(&*link, &Frame::Ended { actor: OWN, how: 1, text: "" });
        has_heard(&*link).await;
        say(&*link, &Frame::Released { actor, ends: 0 });
        // Behind whatever the end was to anybody.
        until(|| there.system.counts().ended > 0).await;
        say(&*link, &Frame::Find { correlation: 2, protocol: "test.hoarder", name: "hoarder" });
        receive(&*link).await.unwrap();
        assert_eq!(hoarder.downs().await, Ok(0));
        say(&*link, &Frame::Released { actor, ends: 1 });
        until_async(async || hoarder.downs().await == Ok(100)).await;
        say(&*link, &Frame::Released { actor, ends: u64::MAX });
        say(&*link, &Frame::Find { correlation: 3, protocol: "test.hoarder", name: "hoarder" });
        assert!(receive(&*link).await.is_some());
        there.shut().await;
    });
}

// [G-REMOTE-5] [ENV-25]
#[test]
fn an_end_that_came_before_one_was_held_does_not_wait_for_its_mail() {
    let network = Loopback::new().frames_max(1024);
    let there = Place::new(&network, "there", Scheduler::stealing());
    run(async {
        let near = there.system.spawn::<Book>(open()).await.unwrap();
        there.node.export("book", Export::of(&near)).unwrap();
        let (hoarder, actor, link) = hoards(&network, &there, 100).await;
        let (book, _) = find(&*link).await;
        // With one that is held, what an end is to others is looked at later.
        say(&*link, &Frame::Held { actor: book });
        say(&*link, &Frame::Ended { actor: OWN, how: 1, text: "" });
        say(&*link, &Frame::Held { actor });
        until_async(async || hoarder.downs().await == Ok(100)).await;
        there.shut().await;
    });
}

// [G-REMOTE-8] [ENV-25]
#[test]
fn who_says_wrongly_that_one_is_held_or_not_is_cut_off() {
    let network = Loopback::new().frames_max(1024);
    let there = Place::new(&network, "there", Scheduler::stealing());
    run(async {
        let near = there.system.spawn::<Book>(open()).await.unwrap();
        there.node.export("book", Export::of(&near)).unwrap();
        for wrong in 0..3 {
            let link = attack(&network).await;
            let (actor, _) = find(&*link).await;
            let held = || Frame::Held { actor };
            let released = |ends| Frame::Released { actor, ends };
            let said = match wrong {
                0 => vec![released(0)],
                1 => vec![held(), held()],
                // Of an end that was not told.
                _ => vec![held(), released(0), released(1)],
            };
            for frame in &said {
                // An error means that it was cut off already.
                let _ = link.submit(Order::Free, &frame.to_bytes());
            }
            assert_eq!(receive(&*link).await, None);
            until(|| there.node.peers().is_empty()).await;
        }
        there.shut().await;
    });
}

// [G-REMOTE-8] [ENV-8]
#[test]
fn who_refuses_what_was_never_sent_is_cut_off() {
    let network = Loopback::new().frames_max(1024);
    let there = Place::new(&network, "there", Scheduler::stealing());
    run(async {
        let (_hoarder, _, link) = hoards(&network, &there, 1).await;
        let why = Undelivered::Malformed;
        say(&*link, &Frame::Undelivered { actor: OWN, message: 7, why });
        let find = Frame::Find { correlation: 2, protocol: "test.hoarder", name: "hoarder" };
        // An error means that it was cut off already.
        let _ = link.submit(Order::Free, &find.to_bytes());
        assert_eq!(receive(&*link).await, None);
        assert_eq!(there.system.counts().undelivered, 0, "there was none");
        there.shut().await;
    });
}

// [G-REMOTE-8] [ENV-25]
#[test]
#[cfg_attr(sanitized, ignore = "slow, and only counts")]
fn news_that_wait_for_what_a_peer_does_not_send_are_bounded() {
    const MANY: usize = 65_537;
    let network = Loopback::new().frames_max(1024);
    let there = Place::new(&network, "there", Scheduler::stealing());
    run(async {
        let (hoarder, actor, link) = hoards(&network, &there, MANY).await;
        say(&*link, &Frame::Held { actor });
        say(&*link, &Frame::Ended { actor: OWN, how: 1, text: "" });
        has_heard(&*link).await;
        assert_eq!(receive(&*link).await, None);
        until_async(async || hoarder.downs().await == Ok(MANY)).await;
        // The hoarder may be the one that takes no mail, which is no breach of the peer's.
        until(|| there.node.peers().is_empty()).await;
        assert_eq!(endings(&there), [(identity("attacker").node, ConnectionEnd::Behind, 1)]);
        there.shut().await;
    });
}

/// The frame in which a real node tells `note`, as its peer receives it.
async fn real_note(network: &Loopback, there: &Place, near: &Ref<Book>) -> OwnedEnvelope {
    let here = Place::new(network, "honest", Scheduler::locked());
    let spy = network.node("spy", identity("spy"));
    let peer = here.node.connect(&"loopback:spy".parse().unwrap()).await.unwrap();
    let link = soon(poll_fn(|cx| spy.poll_link(cx))).await.unwrap();
    let finding = tokio::spawn(async move { peer.find::<Book>("book").await });
    let asked = receive(&*link).await.unwrap();
    let Ok(Frame::Find { correlation, .. }) = Frame::parse(&asked) else { panic!("{asked:?}") };
    say(&*link, &Frame::Found { correlation, actor: 5, window: 1 });
    let far = soon(finding).await.unwrap().unwrap();
    far.note(3, 4).await.unwrap();
    let told = receive(&*link).await.unwrap();
    let Ok(Frame::Tell(envelope)) = Frame::parse(&told) else { panic!("{told:?}") };
    assert_eq!((envelope.actor, envelope.version, envelope.arguments), (5, 2, &[3, 4][..]));
    let owned = OwnedEnvelope {
        version: envelope.version,
        message: envelope.message,
        schema: envelope.schema,
        arguments: envelope.arguments.to_vec(),
    };
    here.shut().await;
    assert!(!near.is_closed());
    // Whoever attacks may not have been taken in yet.
    until(|| !there.node.peers().is_empty()).await;
    owned
}

struct OwnedEnvelope {
    version: u16,
    message: u32,
    schema: u32,
    arguments: Vec<u8>,
}

impl OwnedEnvelope {
    fn as_envelope(&self) -> Envelope<'_> {
        Envelope {
            actor: 0,
            version: self.version,
            message: self.message,
            schema: self.schema,
            arguments: &self.arguments,
        }
    }
}
