//! loom: every interleaving of a few senders and whoever holds the token.
//!
//! Instead of passing the token through a ready queue, the thread that took it runs the consumer. The
//! consumer's state is a loom cell, so two runners, or a runner that misses what the one before it
//! wrote, are errors by themselves.

use super::{Inbox, Outlet, Pop, Push};
use crate::queue::node::{Kind, Lane, Node};
use crate::sync::{UnsafeCell, thread};
use loom::sync::Arc;
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
static URGENT: Kind = Kind { lane: Lane::Signal, ..USER };
static STUB: Kind = Kind { block: Node::NO_BLOCK, ..USER };
/// What is left of a message that was withdrawn.
static HOLLOW: Kind = Kind { lane: Lane::Signal, ..USER };

/// The order to end when there is no mail.
const DRAIN: usize = 100;

const LOST: &str = "a message was accepted, and is not handled";

struct Consumer {
    outlet: Outlet,
    users: Vec<usize>,
    urgents: Vec<usize>,
    /// Whether a handler waits; it is done at the first wake-up.
    waits: bool,
    /// Whether it ends when it has no mail.
    draining: bool,
    dead: bool,
}

struct Cell {
    inbox: Inbox,
    consumer: UnsafeCell<Consumer>,
}

// SAFETY: the token guards the consumer; loom checks that it does.
unsafe impl Sync for Cell {}
// SAFETY: as above.
unsafe impl Send for Cell {}

fn recycle(node: NonNull<Node>) {
    // SAFETY: the outlet has passed the node.
    unsafe { Node::recycle(node) };
}

impl Cell {
    /// A cell whose maker holds the token.
    fn new(waits: bool) -> Arc<Self> {
        let stub = NonNull::from(Box::leak(Box::new(Node::stub(&STUB))));
        let (inbox, outlet) = Inbox::new(stub);
        let consumer = Consumer {
            outlet,
            users: Vec::new(),
            urgents: Vec::new(),
            waits,
            draining: false,
            dead: false,
        };
        Arc::new(Self { inbox, consumer: UnsafeCell::new(consumer) })
    }

    fn with<R>(&self, work: impl FnOnce(&mut Consumer) -> R) -> R {
        // SAFETY: only the token's holder calls; loom checks it.
        self.consumer.with_mut(|consumer| work(unsafe { &mut *consumer }))
    }

    fn end(&self) -> NonNull<Node> {
        self.with(|consumer| consumer.outlet.tail())
    }

    fn send(&self, number: usize) {
        // SAFETY: the node is new.
        match unsafe { self.inbox.push(Node::new(&USER, number)) } {
            Push::Queued => {}
            Push::Woke => self.run(),
            Push::Dead => self.bury(),
        }
    }

    /// Sends as users do; `false` if the message came back.
    fn tell(&self, number: usize) -> bool {
        if !self.inbox.is_free() {
            return false;
        }
        // SAFETY: the node carries a number, and is the caller's again.
        let withdrawn = |node| unsafe { Node::hollow::<usize>(node, &HOLLOW) };
        // SAFETY: the node is new.
        let pushed = unsafe { self.inbox.push_in_time(Node::new(&USER, number), withdrawn) };
        let accepted = pushed.is_ok();
        match pushed.unwrap_or_else(|(push, back)| {
            assert_eq!(back, number);
            push
        }) {
            Push::Queued => {}
            Push::Woke => self.run(),
            Push::Dead => self.bury(),
        }
        accepted
    }

    /// Orders the actor to end when its mail is handled.
    fn drain(&self) {
        self.inbox.close();
        self.send_urgent(DRAIN);
    }

    fn send_urgent(&self, number: usize) -> Push {
        // SAFETY: the node is new.
        let push = unsafe { self.inbox.push_urgent(Node::new(&URGENT, number)) };
        match push {
            Push::Queued => {}
            Push::Woke => self.run(),
            Push::Dead => self.inbox.empty_urgent().into_oldest_first(|node| {
                // SAFETY: every urgent node carries a number.
                unsafe { Node::release::<usize>(node) };
            }),
        }
        push
    }

    fn wake(&self) {
        if self.inbox.wake() {
            self.run();
        }
    }

    fn take_urgent(&self) {
        let chain = self.inbox.take_urgent();
        self.with(|consumer| {
            consumer.waits = false;
            chain.into_oldest_first(|node| {
                // SAFETY: every urgent node carries a number.
                consumer.urgents.push(unsafe { Node::into_payload::<usize>(node) });
            });
            let drains = consumer.urgents.contains(&DRAIN);
            if drains && !std::mem::replace(&mut consumer.draining, true) {
                self.inbox.wake();
            }
        });
    }

    fn pop(&self) -> bool {
        let pop = self.with(|consumer| consumer.outlet.pop(&self.inbox, recycle));
        match pop {
            // SAFETY: the outlet gave the node away.
            Pop::Node(node) if unsafe { Node::kind(node) }.lane == Lane::Signal => true,
            Pop::Node(node) => {
                self.with(|consumer| assert!(!(consumer.draining && consumer.dead), "{LOST}"));
                // SAFETY: every other user node carries a number.
                let number = unsafe { Node::take_payload::<usize>(node) };
                self.with(|consumer| consumer.users.push(number));
                true
            }
            Pop::Empty => false,
            Pop::Broken => {
                thread::yield_now();
                true
            }
        }
    }

    /// What a runner does: holds the token until it rests or parks.
    fn run(&self) {
        loop {
            if self.inbox.is_urgent() {
                self.take_urgent();
            }
            if self.with(|consumer| consumer.waits) {
                if self.inbox.park() {
                    return;
                }
                continue;
            }
            if self.pop() {
                continue;
            }
            if self.with(|consumer| consumer.draining) {
                self.with(|consumer| consumer.dead = true);
                return self.bury();
            }
            if self.inbox.rest(self.end()) {
                return;
            }
        }
    }

    /// What the end of an actor does, and a late sender after it.
    fn bury(&self) {
        loop {
            if !self.inbox.is_empty_behind(self.end()) {
                self.take_urgent();
                while self.pop() {}
            }
            self.with(|consumer| consumer.dead = true);
            if self.inbox.die(self.end()) {
                return;
            }
        }
    }
}

fn model(check: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound.get_or_insert(3);
    builder.check(check);
}

#[test]
fn two_senders_and_a_signal_lose_nothing_and_never_run_twice() {
    model(|| {
        let cell = Cell::new(false);
        cell.run();
        let (first, second) = (cell.clone(), cell.clone());
        let threads = [
            thread::spawn(move || {
                first.send(1);
                first.send(2);
            }),
            thread::spawn(move || {
                second.send_urgent(9);
            }),
        ];
        cell.send(3);
        for thread in threads {
            thread.join().unwrap();
        }
        // Whoever takes the token now sees everything; there is nothing left to take.
        cell.send(4);
        cell.with(|consumer| {
            assert_eq!(consumer.urgents, [9]);
            assert_eq!(consumer.users.len(), 4);
            let place = |number| consumer.users.iter().position(|&user| user == number).unwrap();
            assert!(place(1) < place(2), "one sender's messages stay in order");
        });
    });
}

#[test]
fn a_waiting_handler_is_woken_while_mail_arrives() {
    model(|| {
        let cell = Cell::new(true);
        cell.run();
        let (sender, waker) = (cell.clone(), cell.clone());
        let threads = [thread::spawn(move || sender.send(1)), thread::spawn(move || waker.wake())];
        cell.send(2);
        for thread in threads {
            thread.join().unwrap();
        }
        cell.with(|consumer| {
            assert!(!consumer.waits, "the wake-up arrived");
            assert_eq!(consumer.users.len(), 2);
        });
    });
}

#[test]
fn a_wake_up_between_poll_and_park_is_seen() {
    model(|| {
        let cell = Cell::new(true);
        let waker = cell.clone();
        let thread = thread::spawn(move || waker.wake());
        cell.run();
        thread.join().unwrap();
        cell.with(|consumer| assert!(!consumer.waits, "the wake-up arrived"));
    });
}

#[test]
fn what_comes_after_the_end_is_buried_once() {
    model(|| {
        let cell = Cell::new(false);
        let (late, urgent) = (cell.clone(), cell.clone());
        let threads = [
            thread::spawn(move || late.send(1)),
            thread::spawn(move || {
                urgent.send_urgent(9);
            }),
        ];
        cell.bury();
        for thread in threads {
            thread.join().unwrap();
        }
        let dead = cell.send_urgent(8);
        assert_eq!(dead, Push::Dead, "the end is final");
        cell.send(2);
        cell.with(|consumer| assert_eq!(consumer.users.len(), 2, "late mail is buried, once"));
    });
}

#[test]
fn what_is_urgent_is_not_left_behind_when_the_end_meets_late_mail() {
    model(|| {
        let cell = Cell::new(false);
        let (late, urgent) = (cell.clone(), cell.clone());
        let threads = [
            thread::spawn(move || late.send(1)),
            thread::spawn(move || {
                urgent.send_urgent(9);
            }),
        ];
        cell.bury();
        for thread in threads {
            thread.join().unwrap();
        }
        let left = cell.inbox.empty_urgent();
        left.into_oldest_first(|_| panic!("nobody buries what is left in the urgent lane"));
    });
}

#[test]
fn what_is_accepted_while_an_actor_drains_is_handled() {
    model(|| {
        let cell = Cell::new(false);
        cell.run();
        let (first, second) = (cell.clone(), cell.clone());
        let threads = [
            thread::spawn(move || usize::from(first.tell(1))),
            thread::spawn(move || usize::from(second.tell(2))),
        ];
        cell.drain();
        let accepted: usize = threads.map(|thread| thread.join().unwrap()).into_iter().sum();
        assert!(!cell.tell(3), "the mailbox is closed");
        // Whoever takes the token now sees everything; there is nothing left to take.
        cell.send_urgent(9);
        cell.with(|consumer| {
            assert!(consumer.dead, "the order was obeyed");
            assert_eq!(consumer.users.len(), accepted, "{LOST}");
        });
    });
}
