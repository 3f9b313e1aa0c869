//! Nodes: systems of one world that can be killed, stopped, restarted, paused, and given a bad clock.

use super::choice::Label;
use super::socket::{Socket, SocketError};
use super::stage::{Given, Order, Stage};
use crate::sync::Arc;
use crate::system::System;
use std::fmt;
use std::future::Future;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

/// What happened, beside the choices.
const STORED: Label = Label::new("stored by node");
const KEY: Label = Label::new("key stored");
const VALUE: Label = Label::new("bytes stored");

/// A node of a [`World`](super::World): one system, with an address and what outlives its crashes.
///
/// A handle; cloning gives another one. What it tells the node to do happens before the world's next
/// step, so it works from inside the world's tasks as from outside.
#[derive(Clone)]
pub struct Node {
    pub(super) stage: Arc<Stage>,
    pub(super) index: usize,
}

impl Node {
    /// The name given to it.
    #[must_use]
    pub fn name(&self) -> String {
        self.stage.faces.lock()[self.index].name.clone()
    }

    /// Its system.
    ///
    /// # Panics
    /// While the node is down.
    #[must_use]
    pub fn system(&self) -> System {
        let system = self.try_system();
        system.unwrap_or_else(|| panic!("node {:?} is down", self.name()))
    }

    /// Its system, if it is up.
    #[must_use]
    pub fn try_system(&self) -> Option<System> {
        self.stage.faces.lock()[self.index].system.clone()
    }

    /// How often it was started before.
    #[must_use]
    pub fn incarnation(&self) -> u64 {
        self.stage.faces.lock()[self.index].incarnation
    }

    /// Its address in the world's network.
    ///
    /// # Panics
    /// With more than 60,000 nodes.
    #[must_use]
    pub fn host(&self) -> IpAddr {
        host(self.index)
    }

    /// Lets a task run on the node, beside its actors and what `boot` does, from the world's next step on. It
    /// ends where the node does, when that crashes or has stopped. On a node that is down it does not run.
    ///
    /// `tokio::spawn` is for what no node owns: its tasks go on when a node is killed.
    pub fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        if self.stage.has_ended() {
            return;
        }
        let incarnation = self.incarnation();
        let given = Given { node: self.index, incarnation, task: Box::pin(task) };
        self.stage.given.lock().push(given);
    }

    /// Opens a port of the node; 0 is a port like any other.
    ///
    /// # Errors
    /// [`SocketError::InUse`] if another socket has the port or is seen there, [`SocketError::Down`] if the node is.
    pub fn bind(&self, port: u16) -> Result<Socket, SocketError> {
        let (incarnation, is_up) = {
            let face = &self.stage.faces.lock()[self.index];
            (face.incarnation, face.system.is_some())
        };
        if !is_up {
            return Err(SocketError::Down);
        }
        let at = SocketAddr::new(self.host(), port);
        Socket::bind(self.stage.clone(), self.index, incarnation, at)
    }

    /// Lets others see the node's port under another address from now on, as when the entry of a network
    /// address translator has expired; what they send to where they saw it before is lost. Its own address undoes that.
    ///
    /// # Panics
    /// If another port has that address, or is seen under it.
    pub fn rebind(&self, port: u16, outside: SocketAddr) {
        let inside = SocketAddr::new(self.host(), port);
        let is_done = self.stage.fabric.lock().rebind(inside, outside);
        assert!(is_done, "{outside} belongs to another port than {inside}");
    }

    /// Keeps `value` under `key`, whatever becomes of the node: a disk.
    pub fn store(&self, key: impl Into<String>, value: impl Into<Vec<u8>>) {
        let (key, value) = (key.into(), value.into());
        self.stage.choose(|choices| {
            choices.fold(STORED, self.index as u64);
            choices.fold_bytes(KEY, key.as_bytes());
            choices.fold_bytes(VALUE, &value);
        });
        self.stage.faces.lock()[self.index].store.insert(key, value);
    }

    /// What was stored last under `key`.
    #[must_use]
    pub fn stored(&self, key: &str) -> Option<Vec<u8>> {
        self.stage.faces.lock()[self.index].store.get(key).cloned()
    }

    /// Ends the node as a power cut does: nothing of it runs any more, not even what is dropped.
    pub fn kill(&self) {
        self.stage.order(self.index, Order::Kill);
    }

    /// Shuts the node's system down, with `deadline` for its actors to end.
    pub fn stop(&self, deadline: Duration) {
        self.stage.order(self.index, Order::Stop(deadline));
    }

    /// Starts the node again, as at first, with what it has stored; a node that is up is killed before. What storms have
    /// done to it is over; its pace and its clock stay as they were told.
    pub fn restart(&self) {
        self.stage.order(self.index, Order::Restart);
    }

    /// Lets nothing of the node run until [`Node::resume`]; its clock goes on.
    pub fn pause(&self) {
        self.stage.order(self.index, Order::Pause);
    }

    /// Lets a paused node run again, also one that a storm has paused.
    pub fn resume(&self) {
        self.stage.order(self.index, Order::Resume);
    }

    /// From now on, lets the node's clock gain so many millionths on the world's; negative to lose them. That ends what
    /// storms have done to its pace. The runtime's timers and deadlines go by it; tokio's go by the world's clock, on all
    /// nodes.
    pub fn drift_clock(&self, millionths: i32) {
        self.stage.order(self.index, Order::Drift(millionths));
    }

    /// Lets the node's clock jump ahead.
    pub fn jump_clock(&self, ahead: Duration) {
        self.stage.order(self.index, Order::Jump(ahead));
    }

    /// From now on, lets everything that the node does take so many times as long; 1 for as long as it
    /// should, also where a storm has slowed it. It does one thing after the other then, however many workers it has, and
    /// whatever its actors have begun by [`Context::task`](crate::Context::task) and the like; other nodes do not wait for
    /// it. Its clock goes on.
    pub fn slow_down(&self, times: u32) {
        self.stage.order(self.index, Order::Slow(times));
    }

    /// Lets the node's clock stand still until [`Node::drift_clock`]; tokio's timers go on.
    pub fn freeze_clock(&self) {
        self.stage.order(self.index, Order::Freeze);
    }
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Node({})", self.name())
    }
}

/// The address of a node.
pub(super) fn host(index: usize) -> IpAddr {
    let number = u16::try_from(index + 1).expect("fewer than 65,535 nodes");
    let [high, low] = number.to_be_bytes();
    Ipv4Addr::new(10, 0, high, low).into()
}
