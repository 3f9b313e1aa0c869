//! What the parts of a world share: its choices, its time, who was woken, and what it was told to do.

use super::choice::{Choices, Label, Source};
use super::fabric::Fabric;
use super::options::Options;
use super::plight::Blow;
use super::policy::{Chooser, DRAWN, Policy};
use super::rarities::Rarities;
use crate::sync::{AtomicBool, AtomicU64, Mutex, Ordering, WakeList};
use crate::system::System;
use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::Waker;
use std::time::Duration;

const POLICY: Label = Label::new("policy");

/// Something that a world is told to do with a node before its next step.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Order {
    Kill,
    Stop(Duration),
    Restart,
    Pause,
    Resume,
    Drift(i32),
    Jump(Duration),
    Freeze,
    Slow(u32),
    /// What a storm does with it, beside all that.
    Storm(Blow),
    /// The node's shutdown is over.
    Stopped(u64),
}

/// A task that a life of a node is to have from the next step on.
pub(crate) struct Given {
    pub(crate) node: usize,
    pub(crate) incarnation: u64,
    pub(crate) task: Pin<Box<dyn Future<Output = ()> + Send>>,
}

impl fmt::Debug for Given {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Given({}, {})", self.node, self.incarnation)
    }
}

/// A node as its handles see it.
#[derive(Debug)]
pub(crate) struct Face {
    pub(crate) name: String,
    pub(crate) system: Option<System>,
    pub(crate) incarnation: u64,
    /// What outlives the node's crashes.
    pub(crate) store: BTreeMap<String, Vec<u8>>,
}

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct Stage {
    choices: Mutex<Choices>,
    policy: Policy,
    /// Whether every way in which choices can fall is tried.
    tries_all: bool,
    pub(crate) woken: WakeList,
    /// Nanoseconds since the world began.
    now: AtomicU64,
    pub(crate) orders: Mutex<Vec<(usize, Order)>>,
    pub(crate) given: Mutex<Vec<Given>>,
    /// Who sleeps until when.
    sleepers: Mutex<BTreeMap<(u64, u64), Waker>>,
    sleeps: AtomicU64,
    pub(crate) faces: Mutex<Vec<Face>>,
    pub(crate) fabric: Mutex<Fabric>,
    pub(super) rarities: Rarities,
    /// What happened, when somebody wants to read it.
    log: Option<Mutex<Vec<String>>>,
    /// Whether the world has ended, and what is dropped has no effects.
    pub(crate) ended: AtomicBool,
}

impl Stage {
    pub(super) fn new(source: Source, options: &Options) -> Self {
        let &Options { policy, logs, tries_all, .. } = options;
        let mut choices = Choices::new(source, logs);
        let policy = policy.unwrap_or_else(|| DRAWN[choices.pick(POLICY, DRAWN.len())]);
        Self {
            choices: Mutex::new(choices),
            policy,
            tries_all,
            woken: WakeList::new(),
            now: AtomicU64::new(0),
            orders: Mutex::new(Vec::new()),
            given: Mutex::new(Vec::new()),
            sleepers: Mutex::new(BTreeMap::new()),
            sleeps: AtomicU64::new(0),
            faces: Mutex::new(Vec::new()),
            fabric: Mutex::new(Fabric::new(logs)),
            rarities: Rarities::default(),
            log: logs.then(|| Mutex::new(Vec::new())),
            ended: AtomicBool::new(false),
        }
    }

    pub(crate) fn policy(&self) -> Policy {
        self.policy
    }

    /// A chooser by the world's policy.
    pub(crate) fn chooser(&self) -> Chooser {
        // Where every order is tried, those are too in which somebody waits longer.
        self.choose(|choices| Chooser::new(self.policy, !self.tries_all, choices))
    }

    /// Chooses something. `choice` must not use the stage.
    pub(crate) fn choose<R>(&self, choice: impl FnOnce(&mut Choices) -> R) -> R {
        self.woken.check_thread();
        choice(&mut self.choices.lock())
    }

    // Relaxed, here and below: a world has one thread, and what it shares with others orders nothing.
    pub(crate) fn now(&self) -> u64 {
        self.now.load(Ordering::Relaxed)
    }

    pub(crate) fn set_now(&self, now: u64) {
        self.now.store(now, Ordering::Relaxed);
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Relaxed)
    }

    /// Tells the world to do something with a node.
    pub(crate) fn order(&self, node: usize, order: Order) {
        self.woken.check_thread();
        self.orders.lock().push((node, order));
    }

    /// Shows a node's new life to those who have handles to it.
    pub(crate) fn begin_life(&self, node: usize, system: System, is_first: bool) {
        let face = &mut self.faces.lock()[node];
        face.system = Some(system);
        face.incarnation += u64::from(!is_first);
    }

    /// Lets `waker` be called at a time of the world; returns what takes it back.
    pub(crate) fn wake_at(&self, due: u64, waker: Waker) -> (u64, u64) {
        self.woken.check_thread();
        let key = (due, self.sleeps.fetch_add(1, Ordering::Relaxed));
        self.sleepers.lock().insert(key, waker);
        key
    }

    pub(crate) fn forget(&self, key: (u64, u64)) {
        drop(self.sleepers.lock().remove(&key));
    }

    /// When the next sleeper wakes.
    pub(crate) fn next_sleeper(&self) -> Option<u64> {
        self.sleepers.lock().first_key_value().map(|(key, _)| key.0)
    }

    /// Wakes those whose time has come.
    pub(crate) fn wake_sleepers(&self) {
        let now = self.now();
        loop {
            let mut sleepers = self.sleepers.lock();
            let Some(first) = sleepers.first_entry().filter(|first| first.key().0 <= now) else {
                return;
            };
            let waker = first.remove();
            drop(sleepers);
            waker.wake();
        }
    }

    /// Whether anybody reads the log.
    pub(crate) fn logs(&self) -> bool {
        self.log.is_some()
    }

    /// Adds a line to the log, if anybody reads it.
    pub(crate) fn log(&self, line: impl FnOnce() -> String) {
        if let Some(log) = &self.log {
            let (now, line) = (Duration::from_nanos(self.now()), line());
            log.lock().push(format!("{now:>12.6?} {line}"));
        }
    }

    /// The log so far.
    pub(crate) fn take_log(&self) -> Vec<String> {
        self.log.as_ref().map(|log| std::mem::take(&mut *log.lock())).unwrap_or_default()
    }
}
