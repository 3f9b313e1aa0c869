//! loom: nodes that call each other at the same time, and one that leaves.

use super::{CallError, Node, Received, Wires};
use crate::queue::{flux, mesh};
use crate::sync::{Arc, AtomicUsize, Ordering, thread};

/// Calls the other once, and answers once; polls until both are done.
fn call_and_answer<W: Wires<usize>>(mut node: Node<usize, usize, W>) {
    let other = 1 - node.id();
    node.call(other, node.id(), 7).expect("the other is there");
    let (mut answered, mut replied) = (false, false);
    while !(answered && replied) {
        match node.poll() {
            Some(Received::Call(request)) => {
                let payload = request.payload + 10;
                node.reply(request, payload);
                answered = true;
            }
            Some(Received::Reply { user_data, payload, .. }) => {
                assert_eq!((user_data, payload), (7, node.id() + 10));
                replied = true;
            }
            Some(other) => panic!("{other:?}"),
            None => thread::yield_now(),
        }
    }
}

fn both_call<W: Wires<usize> + Send + 'static>(nodes: fn() -> Vec<Node<usize, usize, W>>) {
    loom::model(move || {
        let mut nodes = nodes().into_iter();
        let (first, second) = (nodes.next().expect("two"), nodes.next().expect("two"));
        let thread = thread::spawn(move || call_and_answer(first));
        call_and_answer(second);
        thread.join().expect("no panic");
    });
}

#[test]
fn nodes_that_call_each_other_over_rings_are_answered() {
    both_call(|| flux::nodes(2, 1));
}

#[test]
fn nodes_that_call_each_other_over_inboxes_are_answered() {
    both_call(|| mesh::nodes(2, 1));
}

/// Calls a node that leaves: the call is answered, or lost, or not made at all.
fn peer_leaves<W: Wires<usize> + Send + 'static>(nodes: fn() -> Vec<Node<usize, usize, W>>) {
    loom::model(move || {
        let mut nodes = nodes().into_iter();
        let (mut first, mut second) = (nodes.next().expect("two"), nodes.next().expect("two"));
        let thread = thread::spawn(move || {
            if let Some(Received::Call(request)) = second.poll() {
                second.reply(request, 5);
            }
        });
        if first.call(1, 1, 7).is_ok() {
            first.flush();
            loop {
                match first.poll() {
                    Some(Received::Reply { user_data: 7, payload: 5, .. }) => break,
                    Some(Received::Lost { user_data: 7, peer: 1 }) => break,
                    Some(other) => panic!("{other:?}"),
                    None => thread::yield_now(),
                }
            }
        }
        assert_eq!(first.in_flight(), 0);
        thread.join().expect("no panic");
    });
}

#[test]
fn a_call_over_rings_to_a_node_that_leaves_ends_once() {
    peer_leaves(|| flux::nodes(2, 1));
}

#[test]
fn a_call_over_inboxes_to_a_node_that_leaves_ends_once() {
    peer_leaves(|| mesh::nodes(2, 1));
}

/// A node tells something and leaves: whoever polls takes that in, and then learns that it has left.
fn peer_tells_and_leaves<W: Wires<usize> + Send + 'static>(
    nodes: fn() -> Vec<Node<usize, usize, W>>,
) {
    loom::model(move || {
        let mut nodes = nodes().into_iter();
        let (mut first, mut second) = (nodes.next().expect("two"), nodes.next().expect("two"));
        let thread = thread::spawn(move || second.notify(0, 3).expect("it is there"));
        let mut is_told = false;
        while !first.has_left(1) {
            match first.poll() {
                Some(Received::Notice { from: 1, payload: 3 }) => is_told = true,
                Some(other) => panic!("{other:?}"),
                None => thread::yield_now(),
            }
        }
        assert!(is_told, "what it has sent comes first");
        thread.join().expect("no panic");
    });
}

#[test]
fn a_node_that_leaves_is_heard_of_over_rings() {
    peer_tells_and_leaves(|| flux::nodes(2, 1));
}

#[test]
fn a_node_that_leaves_is_heard_of_over_inboxes() {
    peer_tells_and_leaves(|| mesh::nodes(2, 1));
}

/// What a node did before it left is seen by who is told so in place of a call, and has taken in nothing of it.
fn peer_leaves_something<W: Wires<usize> + Send + 'static>(
    nodes: fn() -> Vec<Node<usize, usize, W>>,
) {
    loom::model(move || {
        let mut nodes = nodes().into_iter();
        let (mut first, second) = (nodes.next().expect("two"), nodes.next().expect("two"));
        let deed = Arc::new(AtomicUsize::new(0));
        let left = Arc::clone(&deed);
        let thread = thread::spawn(move || {
            // Relaxed: what makes it visible is to be the end of the node alone.
            left.store(1, Ordering::Relaxed);
            drop(second);
        });
        if let Err(error) = first.call(1, 1, 7) {
            assert_eq!(error, CallError::Disconnected(1, 7));
            // Relaxed: as above.
            assert_eq!(deed.load(Ordering::Relaxed), 1, "it is there when the node has left");
        }
        thread.join().expect("no panic");
    });
}

#[test]
fn what_a_node_did_before_it_left_is_seen_over_rings() {
    peer_leaves_something(|| flux::nodes(2, 1));
}

#[test]
fn what_a_node_did_before_it_left_is_seen_over_inboxes() {
    peer_leaves_something(|| mesh::nodes(2, 1));
}

/// A node answers and leaves while another one is in the middle of a notice: the answer stands behind that.
#[test]
fn an_answer_behind_a_notice_that_is_not_linked_is_not_lost() {
    loom::model(|| {
        let mut nodes = mesh::nodes(3, 1).into_iter();
        let (mut first, mut second) = (nodes.next().expect("three"), nodes.next().expect("three"));
        let mut third: Node<usize, usize, _> = nodes.next().expect("three");
        first.call(1, 1, 7).expect("it is there");
        first.flush();
        let answers = thread::spawn(move || {
            let Some(Received::Call(request)) = second.poll() else { panic!("a call") };
            second.reply(request, 5);
        });
        let tells = thread::spawn(move || third.notify(0, 3).expect("it is there"));
        loop {
            match first.poll() {
                Some(Received::Reply { user_data: 7, payload: 5, .. }) => break,
                Some(Received::Notice { from: 2, payload: 3 }) => {}
                Some(other) => panic!("{other:?}"),
                None => thread::yield_now(),
            }
        }
        assert_eq!(first.in_flight(), 0);
        answers.join().expect("no panic");
        tells.join().expect("no panic");
    });
}
