//! The inbox against its locked twin, step by step, and under real threads.

use super::{Inbox, Outlet, Pop, Push};
use crate::queue::list::Chain;
use crate::queue::node::{Kind, Lane, Node};
use crate::queue::twin::{LockedInbox, Token};
use crate::sync::{Arc, AtomicUsize, Mutex, Ordering, rounds, thread};
use proptest::prelude::*;
use std::ptr::NonNull;

static USER: Kind = Kind {
    type_id: std::any::TypeId::of::<()>,
    lane: Lane::User,
    deliver: |_, _| {},
    discard: |_| {},
    weigh: None,
    block: Node::block::<usize>(),
    name: || "user",
    answers: false,
};
static STUB: Kind = Kind { block: Node::NO_BLOCK, ..USER };

struct Ends {
    inbox: Inbox,
    outlet: Outlet,
    stub: NonNull<Node>,
}

impl Ends {
    fn new() -> Self {
        // Not as a box: that would have to be the only one to reach it.
        let stub = NonNull::from(Box::leak(Box::new(Node::stub(&STUB))));
        let (inbox, outlet) = Inbox::new(stub);
        Self { inbox, outlet, stub }
    }

    fn pop(&mut self) -> Option<usize> {
        match self.outlet.pop(&self.inbox, recycle) {
            // SAFETY: every user node carries a number, and the outlet gave this one away.
            Pop::Node(node) => Some(unsafe { Node::take_payload(node) }),
            Pop::Empty => None,
            Pop::Broken => unreachable!("one thread leaves no push half done"),
        }
    }
}

impl Drop for Ends {
    fn drop(&mut self) {
        drop(numbers(self.inbox.take_urgent()));
        while self.pop().is_some() {}
        recycle(self.outlet.tail());
        // SAFETY: it came from a box, and the lane is at its end.
        drop(unsafe { Box::from_raw(self.stub.as_ptr()) });
    }
}

fn recycle(node: NonNull<Node>) {
    // SAFETY: the outlet has passed the node.
    unsafe { Node::recycle(node) };
}

fn numbers(chain: Chain) -> Vec<usize> {
    let mut numbers = Vec::new();
    // SAFETY: every urgent node carries a number.
    chain.into_oldest_first(|node| numbers.push(unsafe { Node::into_payload(node) }));
    numbers
}

fn answer(push: Push) -> Option<bool> {
    match push {
        Push::Queued => None,
        Push::Woke => Some(false),
        Push::Dead => Some(true),
    }
}

fn expected(token: Option<Token>) -> Option<bool> {
    token.map(|token| token == Token::Dead)
}

#[derive(Clone, Debug)]
enum Step {
    Push,
    PushUrgent,
    Wake,
    Pop,
    TakeUrgent,
    Rest,
    Park,
    Die,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => Just(Step::Push),
        2 => Just(Step::PushUrgent),
        2 => Just(Step::Wake),
        3 => Just(Step::Pop),
        2 => Just(Step::TakeUrgent),
        3 => Just(Step::Rest),
        2 => Just(Step::Park),
        1 => Just(Step::Die),
    ];
    prop::collection::vec(step, 1..rounds(200, 200, 20))
}

proptest! {
    #[test]
    fn it_does_what_its_locked_twin_does(steps in steps()) {
        let mut real = Ends::new();
        let twin = LockedInbox::new();
        let mut held = true;
        for (number, step) in steps.into_iter().enumerate() {
            match step {
                Step::Push => {
                    // SAFETY: the node is new.
                    let outcome = answer(unsafe { real.inbox.push(Node::new(&USER, number)) });
                    prop_assert_eq!(outcome, expected(twin.push(number)));
                    held |= outcome.is_some();
                }
                Step::PushUrgent => {
                    let node = Node::new(&USER, number);
                    // SAFETY: the node is new.
                    let outcome = answer(unsafe { real.inbox.push_urgent(node) });
                    prop_assert_eq!(outcome, expected(twin.push_urgent(number)));
                    match outcome {
                        Some(true) => {
                            prop_assert_eq!(numbers(real.inbox.empty_urgent()), twin.empty_urgent());
                        }
                        Some(false) => held = true,
                        None => {}
                    }
                }
                Step::Wake => {
                    let woke = real.inbox.wake();
                    prop_assert_eq!(woke, twin.wake());
                    held |= woke;
                }
                // The rest is for the token's holder only.
                _ if !held => {}
                Step::Pop => prop_assert_eq!(real.pop(), twin.pop()),
                Step::TakeUrgent => {
                    prop_assert_eq!(real.inbox.is_urgent(), twin.is_urgent());
                    prop_assert_eq!(numbers(real.inbox.take_urgent()), twin.take_urgent());
                }
                Step::Rest => {
                    let rested = real.inbox.rest(real.outlet.tail());
                    prop_assert_eq!(rested, twin.give_back(Token::Idle));
                    held = !rested;
                }
                Step::Park => {
                    let parked = real.inbox.park();
                    prop_assert_eq!(parked, twin.give_back(Token::Parked));
                    held = !parked;
                }
                Step::Die => {
                    let died = real.inbox.die(real.outlet.tail());
                    prop_assert_eq!(died, twin.give_back(Token::Dead));
                    held = !died;
                }
            }
        }
    }
}

/// Senders on threads of their own; whoever takes the token runs the consumer.
#[test]
fn threads_lose_nothing_and_keep_each_senders_order() {
    const SENDERS: usize = 3;
    const EACH: usize = rounds(50_000, 5_000, 50);
    struct Cell {
        inbox: Inbox,
        outlet: Mutex<Outlet>,
        last: Mutex<[usize; SENDERS]>,
        taken: AtomicUsize,
        running: AtomicUsize,
    }
    let stub = NonNull::from(Box::leak(Box::new(Node::stub(&STUB))));
    let (inbox, outlet) = Inbox::new(stub);
    let cell = Arc::new(Cell {
        inbox,
        outlet: Mutex::new(outlet),
        last: Mutex::new([0; SENDERS]),
        taken: AtomicUsize::new(0),
        running: AtomicUsize::new(0),
    });
    let run = |cell: &Cell| loop {
        assert_eq!(cell.running.swap(1, Ordering::AcqRel), 0, "one runner at a time");
        let pop = cell.outlet.lock().pop(&cell.inbox, recycle);
        if let Pop::Node(node) = pop {
            // SAFETY: every user node carries a number.
            let number = unsafe { Node::take_payload::<usize>(node) };
            let (sender, count) = (number % SENDERS, number / SENDERS);
            let before = std::mem::replace(&mut cell.last.lock()[sender], count);
            assert_eq!(count, before + 1, "in order, none lost, none doubled");
            cell.taken.fetch_add(1, Ordering::Relaxed);
        }
        let end = cell.outlet.lock().tail();
        cell.running.store(0, Ordering::Release);
        if matches!(pop, Pop::Empty) && cell.inbox.rest(end) {
            return;
        }
    };
    run(&cell);
    let threads: Vec<_> = (0..SENDERS)
        .map(|sender| {
            let cell = cell.clone();
            thread::spawn(move || {
                for count in 1..=EACH {
                    let node = Node::new(&USER, count * SENDERS + sender);
                    // SAFETY: the node is new.
                    if unsafe { cell.inbox.push(node) } == Push::Woke {
                        run(&cell);
                    }
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    assert_eq!(cell.taken.load(Ordering::Relaxed), SENDERS * EACH);
    recycle(cell.outlet.lock().tail());
    // SAFETY: the stub came from a box, and the lane has left it behind or was the last to use it.
    drop(unsafe { Box::from_raw(stub.as_ptr()) });
}
