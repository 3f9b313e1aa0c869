//! A system as a node: what it exports, and whom it is connected with.

mod arrivals;
mod hub;

use super::association::Association;
use super::endings::{ConnectionEnd, Ending, Endings};
use super::export::{Export, Exported};
use super::frame::{Frame, TEXT_BYTES_MAX};
use super::groups::Groups;
use super::identity::{Address, Identity, NodeId};
use super::limit::{Limit, Rate};
use super::message::WireMessage;
use super::outlet::{NotFound, Outlet, Searching, Wanted};
use super::peer::Peer;
use super::reach::Reach;
use super::remote::stand_in;
use super::spawn::Spawns;
use super::transport::{ConnectError, Connecting, Transport};
use crate::actor::{Protocol, Ref, SpawnError, WatchId};
use crate::queue::together::all;
use crate::sync::panic::quietly;
use crate::sync::{Arc, Mutex};
use crate::system::System;
use crate::task::core_ref::CoreRef;
use arrivals::Former;
use hub::Hub;
use std::collections::BTreeMap;
use std::fmt;
use tokio::sync::Notify;

/// A system that other nodes reach, and that reaches them. Cloning gives another handle.
///
/// It ends with its system, and does not keep that alive. [`Node::close`] before the shutdown sends what was
/// told to actors of other nodes.
#[derive(Clone)]
pub struct Node {
    shared: Arc<Shared>,
}

/// Why an actor is not exported.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// Another one is exported under that name.
    #[error("another actor is exported as {0:?}")]
    NameTaken(String),
    /// Names have 1 to 255 bytes.
    #[error("a name has 1 to 255 bytes, not {0}")]
    BadName(usize),
    /// The actor has ended.
    #[error("the actor has ended")]
    Closed,
}

/// An actor that other nodes reach, and the number by which they do.
pub(super) type Reached = (u64, Arc<Box<dyn Exported>>);

/// What is found by a name.
struct Exporting {
    reached: Reached,
    /// Takes the name away when the actor has ended; `None` until that is set.
    watch: Option<WatchId>,
}

/// What the parts of a node share.
pub(super) struct Shared {
    system: System,
    transport: Box<dyn Transport>,
    identity: Identity,
    reach: Reach,
    /// What is found by name, with the number by which it is reached.
    exports: Mutex<BTreeMap<String, Exporting>>,
    /// What other nodes may start, by name and protocol.
    spawns: Mutex<Spawns>,
    groups: Groups,
    /// How often one connection may send.
    limit: Mutex<Option<Rate>>,
    connections: Mutex<Connections>,
    endings: Mutex<Endings>,
    /// Whether the transport has nothing to do any more.
    rests: Mutex<bool>,
    /// Told when somebody is connected, or no longer, when the node closes, and when the transport rests.
    changed: Notify,
}

/// The connections of a node.
#[derive(Default)]
struct Connections {
    open: BTreeMap<NodeId, Connected>,
    /// Those of which something is left while there is a newer link.
    parting: usize,
    /// Whether the node closes, and there will be no more.
    is_closing: bool,
}

/// A connection that there is.
#[derive(Clone)]
pub(super) struct Connected {
    pub(super) outlet: Arc<Outlet>,
    pub(super) actor: Ref<Association>,
}

impl Node {
    /// Makes a node of a system: it accepts connections from now on.
    ///
    /// # Errors
    /// [`SpawnError::Closed`] when the system is ending.
    pub fn start(system: &System, transport: impl Transport) -> Result<Self, SpawnError> {
        let shared = Arc::new(Shared {
            system: system.handle(),
            identity: transport.identity(),
            transport: Box::new(transport),
            reach: Reach::new(),
            exports: Mutex::new(BTreeMap::new()),
            spawns: Mutex::new(Spawns::default()),
            groups: Groups::default(),
            limit: Mutex::new(None),
            connections: Mutex::new(Connections::default()),
            endings: Mutex::new(Endings::default()),
            rests: Mutex::new(false),
            changed: Notify::new(),
        });
        system.spawn::<Hub>(shared.clone()).start()?;
        Ok(Self { shared })
    }

    /// Who this node is.
    #[must_use]
    pub fn identity(&self) -> Identity {
        self.shared.identity
    }

    pub(super) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    #[cfg(feature = "membership")]
    pub(super) fn system(&self) -> System {
        self.shared.system()
    }

    /// Lets other nodes reach an actor under `name`, until it ends or is [withdrawn](Node::withdraw). Nothing
    /// that is not exported is reached from outside.
    ///
    /// # Errors
    /// [`ExportError`].
    pub fn export<P: Protocol<Message: WireMessage>>(
        &self,
        name: impl Into<String>,
        export: Export<P>,
    ) -> Result<(), ExportError> {
        let name = name.into();
        if name.is_empty() || name.len() > TEXT_BYTES_MAX {
            return Err(ExportError::BadName(name.len()));
        }
        let exported = Arc::new(export.into_exported());
        if exported.is_closed() {
            return Err(ExportError::Closed);
        }
        let mut exports = self.shared.exports.lock();
        if exports.contains_key(&name) {
            return Err(ExportError::NameTaken(name));
        }
        let number = self.shared.reach.number(&self.shared.system, &**exported);
        let reached = (number, exported.clone());
        exports.insert(name.clone(), Exporting { reached, watch: None });
        drop(exports);
        Shared::admit(&self.shared, number, &exported);
        self.shared.reach.update(number, exported.clone());
        Shared::withdraw_when_ended(&self.shared, &name, &exported);
        Ok(())
    }

    /// Lets each connection that begins from now on send so many messages, to all actors together, for one of which each
    /// actor counts that it starts, and refuses what is more as [`OverLimit`](crate::Undelivered::OverLimit), as [`Export::limit`] does for one actor.
    /// [Children](super::RemoteChild) that a peer supervises here count too: with a burst below their number, some of them fail to start.
    pub fn limit_peers(&self, rate: Rate) {
        *self.shared.limit.lock() = Some(rate);
    }

    /// Lets nobody find the name any more. References to the actor stay good, also when they are sent on.
    pub fn withdraw(&self, name: &str) {
        // Dropped when the lock is free: it may be the last reference.
        let withdrawn = self.shared.exports.lock().remove(name);
        if let Some(Exporting { reached: (_, exported), watch: Some(watch) }) = &withdrawn {
            exported.unwatch_end(*watch);
        }
    }

    /// Reaches the node at an address, or finds that it is connected already. Waits as long as an ask does.
    ///
    /// # Errors
    /// [`ConnectError`].
    pub async fn connect(&self, to: &Address) -> Result<Peer, ConnectError> {
        self.reach(to, self.shared.transport.connect(to)).await
    }

    /// As [`Node::connect`], where another node has told the address.
    #[cfg(feature = "membership")]
    pub(super) async fn connect_told(&self, to: &Address) -> Result<Peer, ConnectError> {
        self.reach(to, self.shared.transport.connect_told(to)).await
    }

    async fn reach(&self, to: &Address, connecting: Connecting) -> Result<Peer, ConnectError> {
        let system = &self.shared.system;
        let until = system.deadline(system.core().limits.ask_timeout);
        let connect = async {
            let identity = connecting.await?;
            self.shared.when_connected(identity).await
        };
        let late = || ConnectError::Unreachable {
            address: to.clone(),
            text: "there was no connection in time".to_owned(),
        };
        let connected = system.by(until, connect).await.unwrap_or_else(|| Err(late()))?;
        Ok(Peer::new(self.shared.system.handle(), connected))
    }

    /// The node, if it is connected.
    #[must_use]
    pub fn peer(&self, node: NodeId) -> Option<Peer> {
        let connected = self.shared.connections.lock().open.get(&node).cloned()?;
        Some(Peer::new(self.shared.system.handle(), connected))
    }

    /// The nodes that are connected.
    #[must_use]
    pub fn peers(&self) -> Vec<Identity> {
        let connections = self.shared.connections.lock();
        connections.open.values().map(|connected| connected.outlet.peer()).collect()
    }

    /// Why connections with other nodes ended, the last one at the end: 64 entries at most, one for each node and reason.
    #[must_use]
    pub fn endings(&self) -> Vec<Ending> {
        self.shared.endings.lock().last()
    }

    /// How many connections ended for that reason.
    #[must_use]
    pub fn ended(&self, why: ConnectionEnd) -> u64 {
        self.shared.endings.lock().count(why)
    }

    /// Makes and accepts no more connections, sends what proxies have accepted, and closes each connection that
    /// there is, all at once. Ready when nothing of them is left, or after three times the [time of an
    /// ask](crate::Builder::ask_timeout) at most: for what is sent, for what is left then, and for the transport. Who waits for
    /// one meanwhile gets none.
    pub async fn close(&self) {
        self.shared.transport.close();
        // A peer may take nothing any more.
        let system = &self.shared.system;
        let time = system.core().limits.ask_timeout;
        let connected: Vec<_> = {
            let mut connections = self.shared.connections.lock();
            connections.is_closing = true;
            connections.open.values().cloned().collect()
        };
        // Who waits for a connection gets none.
        self.shared.tell_change();
        let close = |connected| {
            let peer = Peer::new(system.handle(), connected);
            async move { peer.close_within(time).await }
        };
        all(connected.into_iter().map(close)).await;
        // The transport may have to say good-bye.
        let rests = || {
            let all_parted = self.shared.connections.lock().parting == 0;
            (all_parted && *self.shared.rests.lock()).then_some(())
        };
        system.by(system.deadline(time), self.shared.when(rests)).await;
    }
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Node({})", self.identity())
    }
}

impl Shared {
    pub(super) fn system(&self) -> System {
        self.system.handle()
    }

    pub(super) fn core(&self) -> &CoreRef {
        self.system.core()
    }

    pub(super) fn identity(&self) -> Identity {
        self.identity
    }

    pub(super) fn reach(&self) -> &Reach {
        &self.reach
    }

    /// The actor that is exported under a name, and its number.
    pub(super) fn exported(&self, name: &str) -> Option<Reached> {
        self.exports.lock().get(name).map(|exporting| exporting.reached.clone())
    }

    pub(super) fn spawns(&self) -> &Mutex<Spawns> {
        &self.spawns
    }

    /// How often one connection may send.
    pub(super) fn limit(&self) -> Option<Limit> {
        self.limit.lock().map(Limit::new)
    }

    pub(super) fn groups(&self) -> &Groups {
        &self.groups
    }

    /// Notes why a connection ended.
    pub(super) fn note_end(&self, with: Identity, why: ConnectionEnd) {
        self.endings.lock().note(with, why);
    }

    /// The connection with that run of a node.
    pub(super) fn connection(&self, with: Identity) -> Option<Arc<Outlet>> {
        let connections = self.connections.lock();
        let connected = connections.open.get(&with.node)?;
        (connected.outlet.peer() == with).then(|| connected.outlet.clone())
    }

    /// Lets other nodes reach an actor by that number, until it ends.
    pub(super) fn admit(this: &Arc<Self>, number: u64, exported: &Arc<Box<dyn Exported>>) {
        if this.reach.admit(number, exported.clone()) {
            let shared = this.clone();
            exported.when_ended(Box::new(move |_| shared.reach.forget(number)));
        }
    }

    /// Withdraws an actor when it ends, unless somebody has done so before.
    fn withdraw_when_ended(this: &Arc<Self>, name: &str, exported: &Arc<Box<dyn Exported>>) {
        let (shared, by) = (this.clone(), name.to_owned());
        let watch = exported.when_ended(Box::new(move |down| {
            let mut exports = shared.exports.lock();
            let is_its = |found: &Exporting| found.reached.1.id() == down.actor;
            let ended =
                if exports.get(&by).is_some_and(is_its) { exports.remove(&by) } else { None };
            // Dropped when the lock is free: it may be the last reference.
            drop(exports);
            drop(ended);
        }));
        let mut exports = this.exports.lock();
        let is_it = |found: &&mut Exporting| std::ptr::eq(&*found.reached.1, &**exported);
        match exports.get_mut(name).filter(is_it) {
            Some(exporting) => exporting.watch = Some(watch),
            // It was withdrawn meanwhile.
            None => {
                drop(exports);
                exported.unwatch_end(watch);
            }
        }
    }

    /// Waits until something that is told as a change is there.
    async fn when<T>(&self, found: impl Fn() -> Option<T>) -> T {
        loop {
            let mut changed = std::pin::pin!(self.changed.notified());
            changed.as_mut().enable();
            if let Some(found) = found() {
                return found;
            }
            changed.await;
        }
    }

    /// Waits for the connection to that node.
    async fn when_connected(&self, identity: Identity) -> Result<Connected, ConnectError> {
        let is_it = |found: &Connected| found.outlet.peer() == identity && !found.outlet.is_over();
        let found = || {
            let connections = self.connections.lock();
            let found = connections.open.get(&identity.node).cloned();
            let is_closing = connections.is_closing;
            drop(connections);
            let found = found.filter(is_it).map(Ok);
            found.or_else(|| is_closing.then_some(Err(ConnectError::Closed)))
        };
        self.when(found).await
    }

    /// Takes the connection to a node from those that there are, so that nobody takes it for a newer one.
    fn part_with(this: &Arc<Self>, node: NodeId) -> Option<Former> {
        let mut connections = this.connections.lock();
        let connected = connections.open.remove(&node)?;
        connections.parting += 1;
        Some(Former { node: this.clone(), connected })
    }

    fn forget(&self, node: NodeId, actor: u64) {
        let mut connections = self.connections.lock();
        let open = &mut connections.open;
        if open.get(&node).is_some_and(|known| known.actor.id().number() == actor) {
            open.remove(&node);
        }
        drop(connections);
        self.tell_change();
    }

    /// Wakes those who wait for a change: they may be anybody.
    fn tell_change(&self) {
        quietly(|| self.changed.notify_waiters());
    }
}

/// Finds an actor of another node, and what stands in for it here.
pub(super) fn adopt<'a, P: Protocol<Message: WireMessage>>(
    outlet: &'a Arc<Outlet>,
    name: &str,
    found: impl FnOnce(Result<Ref<P>, NotFound>) + Send + 'static,
) -> Searching<'a> {
    let by = outlet.clone();
    let finding = move |outcome: Result<u64, NotFound>| {
        found(outcome.and_then(|actor| stand_in(&by, actor)));
    };
    let protocol = P::Message::MANIFEST.name();
    let ask = |correlation| Frame::Find { correlation, protocol, name };
    outlet.search(Wanted::Present, ask, Box::new(finding))
}
