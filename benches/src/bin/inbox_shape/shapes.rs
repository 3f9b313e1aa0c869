//! The two inboxes that are compared, each with its scheduling token in the word that senders write.

use crate::nodes::node;
use std::hint::spin_loop;
use std::ops::Deref;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

/// An inbox with the token of its consumer.
pub(crate) trait Shape: Sync {
    /// Empty and idle. `stub` is a node for the shape to keep.
    fn new(stub: u32) -> Self;
    /// Puts a node in. `true`: the caller took the token and must see that `run` is called.
    fn push(&self, index: u32) -> bool;
    /// Handles what there is and goes idle. `each` gets the value and a node that is free again.
    fn run(&self, each: impl FnMut(u64, u32));
}

/// On a cache line of its own, with the line beside it that the prefetcher pulls along.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Apart<T>(pub(crate) T);

impl<T> Deref for Apart<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0
    }
}

/// Beside its neighbours.
#[derive(Debug, Default)]
pub(crate) struct Beside<T>(T);

impl<T> Deref for Beside<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0
    }
}

/// Vyukov's queue: senders swap the head and link behind it; bit 0 of the head is IDLE.
#[derive(Debug)]
pub(crate) struct Swap {
    head: Apart<AtomicU32>,
    /// The consumer's own: the node handled last, which stays behind as the stub.
    tail: Apart<AtomicU32>,
}

impl Shape for Swap {
    fn new(stub: u32) -> Self {
        node(stub).next.store(0, Relaxed);
        Self { head: Apart(AtomicU32::new(stub << 1 | 1)), tail: Apart(AtomicU32::new(stub)) }
    }

    #[inline]
    fn push(&self, index: u32) -> bool {
        node(index).next.store(0, Relaxed);
        // AcqRel: releases the node, acquires with IDLE what the consumer did before it rested.
        let previous = self.head.swap(index << 1, AcqRel);
        // Release: publishes the node to the consumer's Acquire load of `next`.
        node(previous >> 1).next.store(index, Release);
        previous & 1 != 0
    }

    #[inline]
    fn run(&self, mut each: impl FnMut(u64, u32)) {
        let mut tail = self.tail.load(Relaxed);
        loop {
            // Acquire: pairs with the link's Release in `push`.
            let next = node(tail).next.load(Acquire);
            if next != 0 {
                let value = node(next).value.load(Relaxed);
                // A pool would link the free node here.
                node(tail).next.store(0, Relaxed);
                each(value, tail);
                tail = next;
                continue;
            }
            self.tail.store(tail, Relaxed);
            let (empty, idle) = (tail << 1, tail << 1 | 1);
            // Release: hands the consumer's state to the swap that takes IDLE.
            if self.head.load(Relaxed) == empty
                && self.head.compare_exchange(empty, idle, Release, Relaxed).is_ok()
            {
                return;
            }
            // A sender stands between its swap and its link.
            spin_loop();
        }
    }
}

const IDLE: u32 = 1;

/// The consumer's own FIFO.
#[derive(Debug, Default)]
pub(crate) struct Own {
    first: AtomicU32,
}

/// A stack that the consumer takes whole and turns round; a sender that finds it idle takes the
/// token and puts its node straight into the consumer's own list.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct Stack<P> {
    word: AtomicU32,
    own: P,
}

/// The consumer's list on the senders' cache line.
pub(crate) type StackBeside = Stack<Beside<Own>>;
/// The consumer's list on a line of its own.
pub(crate) type StackApart = Stack<Apart<Own>>;

impl<P: Deref<Target = Own> + Default + Sync> Shape for Stack<P> {
    fn new(_stub: u32) -> Self {
        Self { word: AtomicU32::new(IDLE), own: P::default() }
    }

    #[inline]
    fn push(&self, index: u32) -> bool {
        let mut word = self.word.load(Relaxed);
        loop {
            if word == IDLE {
                // Acquire: what the consumer did before it rested.
                match self.word.compare_exchange_weak(IDLE, 0, AcqRel, Relaxed) {
                    Ok(_) => {
                        node(index).next.store(0, Relaxed);
                        self.own.first.store(index, Relaxed);
                        return true;
                    }
                    Err(now) => word = now,
                }
                continue;
            }
            node(index).next.store(word >> 1, Relaxed);
            // Release: publishes the node to the swap in `run`.
            match self.word.compare_exchange_weak(word, index << 1, AcqRel, Relaxed) {
                Ok(_) => return false,
                Err(now) => word = now,
            }
        }
    }

    #[inline]
    fn run(&self, mut each: impl FnMut(u64, u32)) {
        let mut oldest = self.own.first.load(Relaxed);
        loop {
            while oldest != 0 {
                let next = node(oldest).next.load(Relaxed);
                let value = node(oldest).value.load(Relaxed);
                // A pool would link the free node here.
                node(oldest).next.store(0, Relaxed);
                each(value, oldest);
                oldest = next;
            }
            // Release: hands the consumer's state to the exchange that takes IDLE.
            if self.word.load(Relaxed) == 0
                && self.word.compare_exchange(0, IDLE, Release, Relaxed).is_ok()
            {
                return;
            }
            // Acquire: pairs with the Release in `push`.
            let mut newest = self.word.swap(0, AcqRel) >> 1;
            while newest != 0 {
                let next = node(newest).next.load(Relaxed);
                node(newest).next.store(oldest, Relaxed);
                oldest = newest;
                newest = next;
            }
        }
    }
}
