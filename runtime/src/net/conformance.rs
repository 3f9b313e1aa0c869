//! What every transport promises, as checks that any implementation can call.

use super::frame_buf::FrameBuf;
use super::identity::{Address, Identity};
use super::transport::{ConnectError, Drive, Link, LinkEnd, Order, SubmitError, Transport};
use crate::sync::Arc;
use std::collections::{BTreeMap, BTreeSet};
use std::future::{Future, poll_fn};
use std::task::Poll;
use std::time::{Duration, Instant};

/// Longer than anything here takes.
const LONG: Duration = Duration::from_secs(300);
/// Frames of each kind that a check sends.
const FRAMES: u32 = 600;

/// Checks a transport against the contract of [`Transport`] and [`Link`], on a tokio runtime of its own, by the real
/// clock. `two` makes two nodes that reach each other, with the address of each; every check has two of its own.
///
/// # Panics
/// When a promise is broken, or anything takes longer than five minutes.
pub fn transport_conforms<T: Transport>(two: impl Fn() -> [(T, Address); 2]) {
    let check = |check: fn(Ends<T>) -> Checking| run(&two, check);
    check(|ends| Box::pin(connecting_finds_the_link_that_there_is(ends)));
    check(|ends| Box::pin(frames_come_once_and_as_ordered(ends)));
    check(|ends| Box::pin(what_is_behind_all_overtakes_nothing(ends)));
    check(|ends| Box::pin(long_frames_come_whole_and_too_long_ones_are_refused(ends)));
    check(|ends| Box::pin(a_full_link_has_room_again(ends)));
    check(|ends| Box::pin(a_close_comes_after_all_that_was_submitted(ends)));
    check(|ends| Box::pin(a_link_ends_before_the_next_one(ends)));
    check(|ends| Box::pin(a_closed_transport_has_no_more_links(ends)));
}

type Checking = std::pin::Pin<Box<dyn Future<Output = ()>>>;

/// A transport, and where it is.
struct End<T> {
    transport: Arc<T>,
    address: Address,
}

type Ends<T> = [End<T>; 2];

#[expect(clippy::disallowed_methods, reason = "a real transport lives in real time")]
fn run<T: Transport>(two: impl Fn() -> [(T, Address); 2], check: fn(Ends<T>) -> Checking) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("a runtime starts");
    runtime.block_on(async {
        let ends =
            two().map(|(transport, address)| End { transport: Arc::new(transport), address });
        let start = Instant::now();
        let mut drivers = tokio::task::JoinSet::new();
        for end in &ends {
            drivers.spawn(drive(end.transport.clone(), start));
        }
        tokio::time::timeout(LONG, check(ends)).await.expect("a check takes no minute");
    });
}

/// Lets a transport do its work for as long as it has some.
async fn drive<T: Transport>(transport: Arc<T>, start: Instant) {
    let mut sleep = std::pin::pin!(tokio::time::sleep(Duration::ZERO));
    poll_fn(|cx| {
        loop {
            let until = match transport.drive(cx, start.elapsed()) {
                Drive::Until(until) => until,
                Drive::Ended => return Poll::Ready(()),
            };
            let Some(until) = until else { return Poll::Pending };
            sleep.as_mut().reset((start + until).into());
            if sleep.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
        }
    })
    .await;
}

async fn link<T: Transport>(end: &End<T>) -> Box<dyn Link> {
    poll_fn(|cx| end.transport.poll_link(cx)).await.expect("a link comes up")
}

/// Connects the first with the second.
async fn join<T: Transport>([one, other]: &Ends<T>) -> [Box<dyn Link>; 2] {
    let reached = one.transport.connect(&other.address).await;
    assert_eq!(reached, Ok(other.transport.identity()), "who was reached");
    let links = [link(one).await, link(other).await];
    assert_eq!(links[0].peer(), other.transport.identity());
    assert_eq!(links[1].peer(), one.transport.identity());
    links
}

async fn receive(link: &dyn Link, frame: &mut FrameBuf) -> Result<(), LinkEnd> {
    poll_fn(|cx| link.poll_receive(cx, frame)).await
}

/// Submits, and waits for room if there is none.
async fn submit(link: &dyn Link, order: Order, frame: &[u8]) {
    loop {
        match link.submit(order, frame) {
            Ok(()) => return,
            Err(SubmitError::Full) => poll_fn(|cx| link.poll_room(cx)).await,
            Err(error) => panic!("a frame is refused: {error}"),
        }
    }
}

/// A frame with two numbers, of a length that depends on them.
fn frame(kind: u32, number: u32) -> Vec<u8> {
    let mut frame = [kind.to_le_bytes(), number.to_le_bytes()].concat();
    let len = 8 + (number as usize * 37 + kind as usize * 11) % 2_000;
    frame.resize(len, number.to_le_bytes()[0]);
    frame
}

/// The numbers of a frame, which has to be whole.
fn numbers(bytes: &[u8]) -> (u32, u32) {
    let number = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
    let (kind, count) = (number(0), number(4));
    assert_eq!(bytes, frame(kind, count), "a frame arrives as it was");
    (kind, count)
}

/// Both at once, so that neither waits for the other.
async fn both(one: impl Future<Output = ()>, other: impl Future<Output = ()>) {
    let (mut one, mut other) = (std::pin::pin!(one), std::pin::pin!(other));
    let mut ready = [false; 2];
    poll_fn(|cx| {
        ready[0] = ready[0] || one.as_mut().poll(cx).is_ready();
        ready[1] = ready[1] || other.as_mut().poll(cx).is_ready();
        if ready == [true; 2] { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}

async fn connecting_finds_the_link_that_there_is<T: Transport>(ends: Ends<T>) {
    let links = join(&ends).await;
    let [one, other] = &ends;
    let again = other.transport.connect(&one.address).await;
    assert_eq!(again, Ok(one.transport.identity()), "the same node, by the same link");
    let no_link = poll_fn(|cx| Poll::Ready(one.transport.poll_link(cx).is_pending())).await;
    assert!(no_link, "there is one link between two nodes");
    let own = one.transport.connect(&one.address).await;
    assert!(matches!(own, Err(ConnectError::Unreachable { .. })), "a node does not reach itself");
    let strange: Address = "no0such0scheme:place".parse().expect("an address");
    let other_scheme = one.transport.connect(&strange).await;
    assert_eq!(other_scheme, Err(ConnectError::OtherScheme(strange)));
    drop(links);
}

async fn frames_come_once_and_as_ordered<T: Transport>(ends: Ends<T>) {
    let [one, other] = join(&ends).await;
    // Kind 0 keeps no order; each other kind keeps its own.
    let send = async |link: &dyn Link| {
        for number in 0..FRAMES {
            for kind in 0..4 {
                let order = if kind == 0 { Order::Free } else { Order::Within(kind.into()) };
                submit(link, order, &frame(kind, number)).await;
            }
        }
    };
    let take = async |link: &dyn Link| {
        let (mut bytes, mut free, mut next) =
            (FrameBuf::default(), BTreeSet::new(), BTreeMap::new());
        for _ in 0..4 * FRAMES {
            receive(link, &mut bytes).await.expect("the link is up");
            let (kind, number) = numbers(&bytes);
            if kind == 0 {
                assert!(free.insert(number), "frame {number} comes twice");
            } else {
                let expected = next.entry(kind).or_insert(0);
                assert_eq!(number, *expected, "frames with one key come in order");
                *expected += 1;
            }
        }
    };
    both(both(send(&*one), take(&*other)), both(send(&*other), take(&*one))).await;
    assert!(one.delivered() <= u64::from(4 * FRAMES), "no more than were submitted");
}

async fn what_is_behind_all_overtakes_nothing<T: Transport>(ends: Ends<T>) {
    let [one, other] = join(&ends).await;
    let send = async {
        for number in 0..FRAMES {
            let order = match number % 10 {
                9 => Order::BehindAll,
                rest => Order::Within((rest % 3).into()),
            };
            submit(&*one, order, &frame(1, number)).await;
        }
    };
    let take = async {
        let (mut bytes, mut seen) = (FrameBuf::default(), BTreeSet::new());
        for _ in 0..FRAMES {
            receive(&*other, &mut bytes).await.expect("the link is up");
            let (_, number) = numbers(&bytes);
            if number % 10 == 9 {
                let missing = (0..number).find(|before| !seen.contains(before));
                assert_eq!(missing, None, "{number} is behind all that was submitted before");
            }
            assert!(seen.insert(number), "frame {number} comes twice");
        }
    };
    both(send, take).await;
}

async fn long_frames_come_whole_and_too_long_ones_are_refused<T: Transport>(ends: Ends<T>) {
    let [one, other] = join(&ends).await;
    let long: Vec<Vec<u8>> = [1_000, 20_000, 300_000, 5_000_000]
        .into_iter()
        .map(|len: usize| (0..len).map(|at| (at % 253).to_le_bytes()[0]).collect())
        .collect();
    let refused = one.submit(Order::Within(1), &vec![0; 1 << 30]);
    assert_eq!(refused, Err(SubmitError::TooLarge), "no link takes a frame of a gigabyte");
    let send = async {
        for frame in &long {
            submit(&*one, Order::Within(1), frame).await;
        }
    };
    let take = async {
        let mut bytes = FrameBuf::default();
        for frame in &long {
            receive(&*other, &mut bytes).await.expect("the link is up");
            assert!(bytes[..] == frame[..], "{} bytes come as they were", frame.len());
        }
    };
    both(send, take).await;
}

async fn a_full_link_has_room_again<T: Transport>(ends: Ends<T>) {
    let [one, other] = join(&ends).await;
    let mut submitted = 0;
    let full = loop {
        match one.submit(Order::Within(1), &frame(1, submitted)) {
            Ok(()) => submitted += 1,
            Err(error) => break error,
        }
        assert!(submitted < 1 << 22, "what is under way is bounded");
    };
    assert_eq!(full, SubmitError::Full);
    let extra = FRAMES;
    let send = async {
        for number in submitted..submitted + extra {
            submit(&*one, Order::Within(1), &frame(1, number)).await;
        }
    };
    let take = async {
        let mut bytes = FrameBuf::default();
        for number in 0..submitted + extra {
            receive(&*other, &mut bytes).await.expect("the link is up");
            assert_eq!(numbers(&bytes), (1, number), "nothing that was refused arrives");
        }
    };
    both(send, take).await;
}

async fn a_close_comes_after_all_that_was_submitted<T: Transport>(ends: Ends<T>) {
    let [one, other] = join(&ends).await;
    let send = async {
        for number in 0..100 {
            submit(&*one, Order::Within(number.into()), &frame(1, number)).await;
        }
        one.close();
        assert_eq!(one.submit(Order::Free, b"late"), Err(SubmitError::Ended));
        let ended = receive(&*one, &mut FrameBuf::default()).await;
        assert_eq!(ended, Err(LinkEnd::Closed), "this end has ended");
    };
    let take = async {
        let (mut bytes, mut seen) = (FrameBuf::default(), BTreeSet::new());
        for _ in 0..100 {
            receive(&*other, &mut bytes).await.expect("what was submitted comes first");
            assert!(seen.insert(numbers(&bytes)), "a frame comes twice");
        }
        assert_eq!(receive(&*other, &mut bytes).await, Err(LinkEnd::Closed));
    };
    both(send, take).await;
    assert_eq!(other.submit(Order::Free, b"late"), Err(SubmitError::Ended));
    poll_fn(|cx| other.poll_room(cx)).await;
}

async fn a_link_ends_before_the_next_one<T: Transport>(ends: Ends<T>) {
    let mut identities = Vec::<Identity>::new();
    for round in 0..3 {
        let [one, other] = join(&ends).await;
        identities.push(one.peer());
        submit(&*one, Order::Free, &frame(2, round)).await;
        let mut bytes = FrameBuf::default();
        receive(&*other, &mut bytes).await.expect("the link is up");
        assert_eq!(numbers(&bytes), (2, round), "nothing of another link");
        drop(one);
        let ended = receive(&*other, &mut bytes).await;
        assert_eq!(ended, Err(LinkEnd::Closed), "a link that is dropped is closed");
    }
    assert!(identities.iter().all(|identity| *identity == identities[0]), "the node is the same");
}

async fn a_closed_transport_has_no_more_links<T: Transport>(ends: Ends<T>) {
    let [one, other] = join(&ends).await;
    let [here, there] = &ends;
    here.transport.close();
    let none = poll_fn(|cx| here.transport.poll_link(cx)).await;
    assert!(none.is_none(), "there are no more links");
    let refused = here.transport.connect(&there.address).await;
    assert_eq!(refused, Err(ConnectError::Closed));
    submit(&*one, Order::Free, &frame(3, 1)).await;
    let mut bytes = FrameBuf::default();
    receive(&*other, &mut bytes).await.expect("the links that there are stay");
    assert_eq!(numbers(&bytes), (3, 1));
}
