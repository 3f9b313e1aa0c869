//! Both kinds of wires, by the same tests: one thread by random steps, and many real threads.

use super::{CallError, Node, NotifyError, Received, Request, Wires};
use crate::queue::{flux, mesh};
use crate::sync::{rounds, thread};
use proptest::prelude::*;
use std::collections::{BTreeSet, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};

type Nodes<W> = Vec<Node<u64, u64, W>>;

#[derive(Clone, Debug)]
enum Step {
    Call(usize, usize),
    Notify(usize, usize),
    Flush(usize),
    Poll(usize, u8),
}

const NODES: usize = 3;

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let node = 0..NODES;
    let step = prop_oneof![
        4 => (node.clone(), node.clone()).prop_map(|(from, to)| Step::Call(from, to)),
        2 => (node.clone(), node.clone()).prop_map(|(from, to)| Step::Notify(from, to)),
        2 => node.clone().prop_map(Step::Flush),
        4 => (node, 1..9_u8).prop_map(|(node, times)| Step::Poll(node, times)),
    ];
    prop::collection::vec(step, 1..rounds(200, 200, 20))
}

/// What is under way, in plain collections: calls by number, and notices in order per pair.
#[derive(Default)]
struct Twin {
    next: u64,
    calls: BTreeSet<(usize, usize, u64)>,
    notices: [[VecDeque<u64>; NODES]; NODES],
}

impl Twin {
    fn take_in<W: Wires<u64>>(
        &mut self,
        node: &mut Node<u64, u64, W>,
        received: Received<u64, u64>,
    ) {
        let id = node.id();
        match received {
            Received::Call(request) => {
                assert!(self.calls.contains(&(request.from, id, request.payload)));
                let payload = !request.payload;
                node.reply(request, payload);
            }
            Received::Reply { from, user_data, payload } => {
                assert_eq!(payload, !user_data);
                assert!(self.calls.remove(&(id, from, user_data)), "a call is answered once");
            }
            Received::Notice { from, payload } => {
                assert_eq!(self.notices[from][id].pop_front(), Some(payload));
            }
            Received::Lost { .. } => panic!("nobody has left"),
        }
    }
}

fn follow<W: Wires<u64>>(mut nodes: Nodes<W>, steps: Vec<Step>) {
    let mut twin = Twin::default();
    for step in steps {
        match step {
            Step::Call(from, to) => {
                let waiting = twin.calls.range((from, to, 0)..=(from, to, u64::MAX)).count();
                match nodes[from].call(to, twin.next, twin.next) {
                    Ok(()) => {
                        assert!(waiting < nodes[from].depth());
                        twin.calls.insert((from, to, twin.next));
                    }
                    Err(CallError::Full(..)) => assert_eq!(waiting, nodes[from].depth()),
                    Err(error) => assert_eq!(
                        (from, error),
                        (to, CallError::NoSuchNode(twin.next, twin.next),)
                    ),
                }
            }
            Step::Notify(from, to) => match nodes[from].notify(to, twin.next) {
                Ok(()) => twin.notices[from][to].push_back(twin.next),
                Err(NotifyError::NoSuchNode(_)) => assert_eq!(from, to),
                Err(error) => assert_eq!(error, NotifyError::Full(twin.next)),
            },
            Step::Flush(node) => nodes[node].flush(),
            Step::Poll(node, times) => {
                for _ in 0..times {
                    let node = &mut nodes[node];
                    if let Some(received) = node.poll() {
                        twin.take_in(node, received);
                    }
                }
            }
        }
        twin.next += 1;
    }
    // Without a flush by hand, everything comes to its end.
    for round in 0.. {
        let mut idle = true;
        for node in &mut nodes {
            while let Some(received) = node.poll() {
                twin.take_in(node, received);
                idle = false;
            }
        }
        if idle && round > 0 {
            break;
        }
    }
    assert!(twin.calls.is_empty(), "every call is answered");
    assert!(twin.notices.iter().flatten().all(VecDeque::is_empty), "every notice arrives");
}

proptest! {
    #[test]
    fn every_call_is_answered_once(depth in 1..6_usize, steps in steps()) {
        follow(flux::nodes(NODES, depth), steps.clone());
        follow(mesh::nodes(NODES, depth), steps);
    }
}

/// Everyone calls everyone as often as it can, and answers.
fn all_to_all<W: Wires<u64> + Send + 'static>(nodes: Nodes<W>) {
    // With few calls in flight the threads take turns, and on a busy machine a turn is long.
    let calls = (rounds(100, 10, 2) * nodes[0].depth()) as u64;
    let members = nodes.len();
    let total = calls * (members as u64 - 1);
    let threads: Vec<_> = nodes
        .into_iter()
        .map(|mut node| {
            thread::spawn(move || {
                let id = node.id();
                let mut made = vec![0; members];
                let (mut answered, mut replied) = (0, 0);
                while answered < total || replied < total {
                    for (to, made) in made.iter_mut().enumerate().filter(|(to, _)| *to != id) {
                        while *made < calls && node.call(to, *made, *made).is_ok() {
                            *made += 1;
                        }
                    }
                    match node.poll() {
                        Some(Received::Call(request)) => {
                            let payload = request.payload + 1;
                            node.reply(request, payload);
                            answered += 1;
                        }
                        Some(Received::Reply { user_data, payload, .. }) => {
                            assert_eq!(payload, user_data + 1);
                            replied += 1;
                        }
                        Some(other) => panic!("{other:?}"),
                        None => thread::yield_now(),
                    }
                }
                node.flush();
                node
            })
        })
        .collect();
    let nodes: Vec<_> =
        threads.into_iter().map(|thread| thread.join().expect("no panic")).collect();
    assert!(nodes.iter().all(|node| node.in_flight() == 0));
}

#[test]
fn everyone_calls_everyone() {
    for depth in [1, rounds(64, 64, 4)] {
        all_to_all(flux::nodes(3, depth));
        all_to_all(mesh::nodes(3, depth));
    }
}

fn one_leaves<W: Wires<u64>>(mut nodes: Nodes<W>) {
    let gone = nodes.pop().expect("two");
    let mut node = nodes.pop().expect("two");
    node.call(1, 1, 10).expect("it is there");
    node.call(1, 2, 20).expect("it is there");
    node.flush();
    drop(gone);
    let mut lost = BTreeSet::new();
    while let Some(received) = node.poll() {
        match received {
            Received::Lost { peer: 1, user_data } => assert!(lost.insert(user_data)),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!((lost, node.in_flight()), (BTreeSet::from([10, 20]), 0));
    assert_eq!(node.call(1, 3, 30), Err(CallError::Disconnected(3, 30)));
    assert_eq!(node.notify(1, 3), Err(NotifyError::Disconnected(3)));
    assert_eq!(node.call(2, 3, 30), Err(CallError::NoSuchNode(3, 30)));
}

#[test]
fn calls_to_a_node_that_left_are_lost_one_by_one() {
    one_leaves(flux::nodes(2, 4));
    one_leaves(mesh::nodes(2, 4));
}

/// Three nodes: the second one leaves, with a call of the first one's unanswered, and the third one sends to that without a
/// pause.
fn one_leaves_among_others<W: Wires<u64>>(mut nodes: Nodes<W>) {
    let (mut busy, gone) = (nodes.pop().expect("three"), nodes.pop().expect("three"));
    let mut node = nodes.pop().expect("three");
    node.call(1, 1, 10).expect("it is there");
    node.flush();
    drop(gone);
    let mut told = Vec::new();
    for _ in 0..100 {
        busy.notify(0, 7).expect("room");
        busy.flush();
        match node.poll() {
            Some(Received::Notice { from: 2, payload: 7 }) => {}
            Some(Received::Lost { peer: 1, user_data }) => told.push(user_data),
            other => panic!("{other:?}"),
        }
        if !told.is_empty() {
            break;
        }
    }
    assert_eq!((told, node.in_flight()), (vec![10], 0), "whatever others send");
}

#[test]
fn a_call_to_a_node_that_left_is_lost_whatever_others_send() {
    one_leaves_among_others(flux::nodes(3, 64));
    one_leaves_among_others(mesh::nodes(3, 64));
}

/// A node that only answers polls until its peers have left, and has then taken in all that they sent.
fn peers_leave<W: Wires<u64>>(mut nodes: Nodes<W>) {
    let mut server = nodes.pop().expect("three");
    assert!(!server.has_left(2) && !server.has_left(3), "itself, and nobody");
    for (id, mut node) in nodes.into_iter().enumerate() {
        node.notify(2, 40 + id as u64).expect("room");
        drop(node);
    }
    assert!(!server.has_left(0) && !server.has_left(1), "it has not taken in what they sent");
    let mut taken = Vec::new();
    while !(server.has_left(0) && server.has_left(1)) {
        match server.poll() {
            Some(Received::Notice { from, payload }) => {
                assert!(!server.has_left(from));
                taken.push(payload);
            }
            None => {}
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(taken, [40, 41]);
    assert!(server.poll().is_none(), "that they have left is said once");
    assert_eq!(server.call(0, 1, 1), Err(CallError::Disconnected(1, 1)));
}

#[test]
fn a_node_that_only_answers_learns_that_its_peers_have_left() {
    peers_leave(flux::nodes(3, 4));
    peers_leave(mesh::nodes(3, 4));
}

fn one_declines<W: Wires<u64>>(mut nodes: Nodes<W>) {
    for round in 0..3 {
        for number in 0..nodes[0].depth() as u64 {
            nodes[0].call(1, number, number).expect("those before have ended");
        }
        nodes[0].flush();
        while let Some(Received::Call(request)) = nodes[1].poll() {
            match request.payload {
                0 => nodes[1].decline(request),
                _ => nodes[1].reply(request, round),
            }
        }
        let Some(Received::Lost { peer: 1, user_data: 0 }) = nodes[0].poll() else {
            panic!("the first one is declined")
        };
        while let Some(Received::Reply { payload, .. }) = nodes[0].poll() {
            assert_eq!(payload, round);
        }
        assert_eq!(nodes[0].in_flight(), 0);
    }
}

#[test]
fn a_call_that_is_declined_is_lost_and_makes_room_for_another() {
    one_declines(flux::nodes(2, 2));
    one_declines(mesh::nodes(2, 2));
}

#[test]
fn memory_for_calls_is_taken_as_they_are_made() {
    let mut nodes = mesh::nodes::<(), u64>(2, usize::MAX);
    assert_eq!(nodes[0].depth(), u32::MAX as usize);
    let before = nodes[0].memory_bytes();
    for number in 0..100 {
        nodes[0].call(1, (), number).expect("there is room for many");
    }
    let bytes = nodes[0].memory_bytes() - before;
    assert!((100 * size_of::<Option<u64>>()..10_000).contains(&bytes), "{bytes} bytes");
}

#[test]
#[should_panic(expected = "memory for the ring")]
fn rings_have_a_largest_depth() {
    drop(flux::nodes::<(), ()>(2, usize::MAX));
}

/// The first node's call, as the second one takes it in.
fn take_call<W: Wires<u64>>(nodes: &mut Nodes<W>) -> Request<u64> {
    nodes[0].call(1, 1, 10).expect("it is there");
    nodes[0].flush();
    let Some(Received::Call(request)) = nodes[1].poll() else { panic!("a call") };
    request
}

/// What a node that is no receiver of a request says when it is to answer it.
fn refusal<W: Wires<u64>>(node: &mut Node<u64, u64, W>, request: Request<u64>) -> String {
    let answering = AssertUnwindSafe(|| node.reply(request, 2));
    let panic = catch_unwind(answering).expect_err("the request is another node's");
    panic.downcast_ref::<&str>().expect("a text").to_string()
}

fn others_answer<W: Wires<u64>>(make: fn() -> Nodes<W>) {
    let (mut nodes, mut others) = (make(), make());
    let request = take_call(&mut nodes);
    assert!(refusal(&mut nodes[2], request).contains("the node that took it in"));
    let request = take_call(&mut nodes);
    assert!(refusal(&mut others[1], request).contains("the node that took it in"));
    // It is the caller that is answered, whatever the request says by now.
    let mut request = take_call(&mut nodes);
    request.from = 2;
    nodes[1].reply(request, 3);
    assert!(nodes[1].poll().is_none(), "which flushes");
    assert!(nodes[2].poll().is_none());
    assert!(matches!(nodes[0].poll(), Some(Received::Reply { user_data: 10, payload: 3, .. })));
    assert_eq!(nodes[0].in_flight(), 2, "those that nobody has answered");
}

#[test]
fn a_request_is_answered_by_the_node_that_took_it_in() {
    others_answer(|| flux::nodes(3, 4));
    others_answer(|| mesh::nodes(3, 4));
}

#[test]
#[cfg_attr(miri, ignore = "thousands of rings take it minutes")]
fn groups_of_more_than_64_work() {
    fn last_to_first<W: Wires<u64>>(mut nodes: Nodes<W>) {
        nodes[69].call(0, 1, 2).expect("it is there");
        nodes[69].flush();
        let Some(Received::Call(request)) = nodes[0].poll() else { panic!("a call") };
        assert_eq!(request.from, 69);
        nodes[0].reply(request, 3);
        assert!(nodes[0].poll().is_none(), "which flushes");
        assert!(matches!(nodes[69].poll(), Some(Received::Reply { user_data: 2, payload: 3, .. })));
    }
    last_to_first(flux::nodes(70, 1));
    last_to_first(mesh::nodes(70, 1));
}

#[test]
#[cfg_attr(miri, ignore = "it counts the bytes of many slots, which are made one by one")]
fn memory_is_what_the_book_says() {
    let bytes = |nodes: usize| {
        let nodes = flux::nodes::<[u8; 48], ()>(nodes, 64);
        nodes.iter().map(Node::memory_bytes).sum::<usize>()
    };
    assert!(bytes(16) <= 4 << 20, "{} bytes for 16 nodes", bytes(16));
}
