//! A system as a node: what it exports, and whom it is connected with.

use super::association::{Association, Connection, Task};
use super::export::{Export, Exported};
use super::frame::TEXT_BYTES_MAX;
use super::identity::{Address, Identity, NodeId};
use super::manifest::Manifest;
use super::message::WireMessage;
use super::outlet::{NotFound, Outlet};
use super::peer::Peer;
use super::remote::NoCalls;
use super::transport::{ConnectError, Link, Transport};
use crate::actor::{
    Actor, Behavior, ByMacro, Context, Message, Protocol, Receive, Ref, SpawnError, StartError,
    Step,
};
use crate::sync::{Arc, Mutex, planted};
use crate::system::System;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fmt;
use std::future::{Future, Ready, poll_fn};
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

/// What the parts of a node share.
pub(super) struct Shared {
    system: System,
    transport: Box<dyn Transport>,
    exports: Mutex<BTreeMap<String, Arc<Box<dyn Exported>>>>,
    connected: Mutex<BTreeMap<NodeId, Connected>>,
    /// Told when somebody is connected, or no longer.
    changed: Notify,
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
            transport: Box::new(transport),
            exports: Mutex::new(BTreeMap::new()),
            connected: Mutex::new(BTreeMap::new()),
            changed: Notify::new(),
        });
        system.spawn::<Hub>(shared.clone()).start()?;
        Ok(Self { shared })
    }

    /// Who this node is.
    #[must_use]
    pub fn identity(&self) -> Identity {
        self.shared.transport.identity()
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
        exports.insert(name.clone(), exported.clone());
        drop(exports);
        let shared = self.shared.clone();
        exported.when_ended(Box::new(move |down| {
            let mut exports = shared.exports.lock();
            if exports.get(&name).is_some_and(|exported| exported.id() == down.actor) {
                exports.remove(&name);
            }
        }));
        Ok(())
    }

    /// Lets nobody find the name any more. Who has found it keeps its reference.
    pub fn withdraw(&self, name: &str) {
        // Dropped when the lock is free: it may be the last reference.
        let _withdrawn = self.shared.exports.lock().remove(name);
    }

    /// Reaches the node at an address, or finds that it is connected already. Waits as long as an ask does.
    ///
    /// # Errors
    /// [`ConnectError`].
    pub async fn connect(&self, to: &Address) -> Result<Peer, ConnectError> {
        let system = &self.shared.system;
        let until = system.deadline(system.core().limits.ask_timeout);
        let connect = async {
            let identity = self.shared.transport.connect(to).await?;
            Ok(self.shared.when_connected(identity).await)
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
        let connected = self.shared.connected.lock().get(&node).cloned()?;
        Some(Peer::new(self.shared.system.handle(), connected))
    }

    /// The nodes that are connected.
    #[must_use]
    pub fn peers(&self) -> Vec<Identity> {
        let connected = self.shared.connected.lock();
        connected.values().map(|connected| connected.outlet.peer()).collect()
    }

    /// Makes and accepts no more connections, sends what proxies have accepted, and closes each connection that
    /// there is. Ready when nothing of them is left.
    pub async fn close(&self) {
        self.shared.transport.close();
        for identity in self.peers() {
            if let Some(peer) = self.peer(identity.node) {
                peer.close().await;
            }
        }
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

    /// The actor that is exported under a name.
    pub(super) fn exported(&self, name: &str) -> Option<Arc<Box<dyn Exported>>> {
        self.exports.lock().get(name).cloned()
    }

    /// Waits for the connection to that node.
    async fn when_connected(&self, identity: Identity) -> Connected {
        loop {
            let mut changed = std::pin::pin!(self.changed.notified());
            changed.as_mut().enable();
            let found = self.connected.lock().get(&identity.node).cloned();
            if let Some(found) = found.filter(|found| found.outlet.peer() == identity) {
                return found;
            }
            changed.await;
        }
    }

    /// Waits until nothing is left of the connection to a node, if there is one.
    async fn retire(&self, node: NodeId) {
        let old = self.connected.lock().get(&node).cloned();
        if let Some(old) = old {
            // Messages of the old connection may wait for room, and are not waited for.
            old.outlet.close();
            old.actor.stop();
            old.actor.ended().await;
        }
    }

    fn forget(&self, node: NodeId, actor: u64) {
        let mut connected = self.connected.lock();
        if connected.get(&node).is_some_and(|known| known.actor.id().number() == actor) {
            connected.remove(&node);
        }
        drop(connected);
        self.changed.notify_waiters();
    }
}

/// Accepts connections, one after the other.
async fn accept(node: Arc<Shared>) {
    while let Some(link) = poll_fn(|cx| node.transport.poll_link(cx)).await {
        let peer = link.peer().node;
        // What is left of the old connection comes before anything of the new one.
        if planted!("net-old-not-retired": true => false) {
            node.retire(peer).await;
        }
        connect(&node, link);
    }
}

fn connect(node: &Arc<Shared>, link: Box<dyn Link>) {
    let peer = link.peer().node;
    let outlet = Arc::new(Outlet::new(link, node.system.core().clone()));
    let connection = Connection { outlet: outlet.clone(), node: node.clone() };
    // An error means that the system is ending; the link goes with the outlet.
    let spawn = node.system.spawn::<Association>(connection).on(outlet.worker());
    let Ok(actor) = spawn.start() else { return };
    let (shared, number) = (node.clone(), actor.id().number());
    node.connected.lock().insert(peer, Connected { outlet, actor: actor.clone() });
    actor.when_ended(move |_| shared.forget(peer, number));
    node.changed.notify_waiters();
}

/// The actor at the top that accepts connections as long as the system lives.
struct Hub(Arc<Shared>);

/// Nothing is ever told to the hub.
#[derive(Debug)]
struct Nothing(Infallible);

impl Message for Nothing {
    type Reply = ();
}

impl Actor for Hub {}

impl Protocol for Hub {
    type Message = Nothing;
    type Calls = NoCalls<Nothing>;
}

impl Behavior for Hub {
    type Args = Arc<Shared>;

    fn start<'a>(
        node: Arc<Shared>,
        cx: &'a mut Context<Self>,
    ) -> Step<Result<Self, StartError>, impl Future<Output = Result<Self, StartError>> + Send + 'a>
    {
        cx.task(accept(node.clone()));
        Step::<_, Ready<_>>::Done(Ok(Self(node)))
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        self.0.transport.close();
    }
}

impl Receive<Nothing, ByMacro> for Hub {
    fn receive<'a>(
        &'a mut self,
        message: Nothing,
        _cx: &'a mut Context<Self>,
    ) -> Step<(), impl Future<Output = ()> + Send + 'a> {
        match message.0 {}
        #[expect(unreachable_code, reason = "there is no such message")]
        Step::<(), Ready<()>>::Done(())
    }
}

/// Starts what stands in for an actor that was found, or takes the one that there is.
pub(super) fn adopt<P: Protocol<Message: WireMessage>>(
    connected: &Connected,
    name: &str,
    found: impl FnOnce(Result<Ref<P>, NotFound>) + Send + 'static,
) {
    use super::remote::{Distant, Proxy, Remote};
    let (outlet, actor) = (connected.outlet.clone(), connected.actor.clone());
    let finding = Box::new(move |outcome: Result<u64, NotFound>| {
        let number = match outcome {
            Ok(number) => number,
            Err(error) => return found(Err(error)),
        };
        let adopt = Task(Box::new(move |cx| {
            let start = || {
                let args = Distant { outlet: outlet.clone(), actor: number };
                let proxy = cx.spawn::<Remote<P::Message>>(args).on(outlet.worker());
                let proxy = proxy.start().ok()?;
                Some(Box::new(proxy) as Box<dyn Proxy>)
            };
            let read = |proxy: &dyn Proxy| {
                let proxy = proxy.reference().downcast_ref::<Ref<Remote<P::Message>>>();
                Some(proxy.map(Ref::api::<P>))
            };
            found(match outlet.proxy(number, start, read) {
                Some(Some(reference)) => Ok(reference),
                // Two protocols of this program have one name.
                Some(None) => Err(NotFound::Speaks(Manifest::of::<P>().name().to_owned())),
                None => Err(NotFound::NodeDown),
            });
        }));
        // Whoever waits learns of the end when the message is dropped.
        let _ = actor.recipient_of().tell(adopt).try_send();
    });
    connected.outlet.find(Manifest::of::<P>().name(), name, finding);
}
