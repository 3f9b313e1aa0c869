//! How an actor is told to look at what has come, by a waker: one message for any number of calls.

use crate::sync::{Arc, AtomicBool, Mutex, Ordering, Wake, waker};
use std::task::Waker;

/// Tells an actor to look.
pub(super) struct Looking {
    /// By a signal, which no bound holds back.
    tell: Mutex<Box<dyn Fn(()) + Send>>,
    /// Whether it was told and has not looked yet.
    told: AtomicBool,
}

impl Looking {
    /// Whose waker makes `tell` tell the actor.
    pub(super) fn new(tell: impl Fn(()) + Send + 'static) -> (Arc<Self>, Waker) {
        let tell: Box<dyn Fn(()) + Send> = Box::new(tell);
        let looking = Arc::new(Self { tell: Mutex::new(tell), told: AtomicBool::new(false) });
        let waker = waker(looking.clone());
        (looking, waker)
    }

    /// The actor looks: who wakes it from now on is heard.
    pub(super) fn begin(&self) {
        // AcqRel: acquires what the waker has seen; pairs with its swap.
        self.told.swap(false, Ordering::AcqRel);
    }
}

impl Wake for Looking {
    fn wake(&self) {
        // AcqRel: releases what there is to see to the swap in `begin`; pairs with it.
        if !self.told.swap(true, Ordering::AcqRel) {
            (self.tell.lock())(());
        }
    }
}
