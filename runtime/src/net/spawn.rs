//! Starting actors on other nodes, which allow it by name.

use super::codec::{self, Postcard};
use super::export::{Export, Exported};
use super::frame::TEXT_BYTES_MAX;
use super::identity::NodeId;
use super::message::WireMessage;
use super::node::{ExportError, Node, Shared};
use super::outlet::{NotFound, Outlet};
use super::reference;
use crate::actor::{Behavior, Protocol};
use crate::sync::panic::quietly;
use crate::sync::{Arc, planted};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::future::{Future, poll_fn};
use std::marker::PhantomData;
use std::pin::Pin;

/// Bytes of the arguments of a start at most. [ENV-14]
pub(super) const ARGUMENTS_BYTES_MAX: usize = 64 << 10;

/// An actor that other nodes can start: its protocol and what its start hook takes cross nodes.
pub trait Spawnable:
    Behavior<Args: Serialize + DeserializeOwned> + Protocol<Message: WireMessage>
{
}

impl<A> Spawnable for A where
    A: Behavior<Args: Serialize + DeserializeOwned> + Protocol<Message: WireMessage>
{
}

/// What becomes of an actor that another node has started here, when the connection to that node ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Orphans {
    /// It is stopped.
    Stop,
    /// It goes on, if the other node was told that it has started. Nobody ends it from outside any more.
    Keep,
}

/// Why no actor was started on another node.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RemoteSpawnError {
    /// The node does not allow it: not under that name, or not for that protocol.
    #[error("the node does not allow it")]
    NotAllowed,
    /// The arguments are not what the start hook takes there.
    #[error("the arguments are not what its start hook takes there")]
    BadArguments,
    /// The start hook failed there, panicked, or was cut off; the text says how.
    #[error("the actor did not start: {0}")]
    StartFailed(String),
    /// The system there is ending.
    #[error("the system there is ending")]
    Closed,
    /// This node has as many actors there as it may have, or was too fast.
    #[error("it is more than its node allows")]
    OverLimit,
    /// The arguments could not be put into bytes, or into 64 KiB.
    #[error("the arguments could not be put into bytes: {0}")]
    NotEncoded(String),
    /// The connection ended. If the answer was lost with it, and the node [keeps](Orphans::Keep) such actors, one goes on there.
    #[error("the connection to the node ended")]
    NodeDown,
    /// There was no answer in the time that an ask has. If the actor starts later, it is stopped.
    #[error("the node did not answer in time")]
    Expired,
}

impl RemoteSpawnError {
    /// Number and text, as in [ENV-2].
    pub(super) fn written(&self) -> (u8, &str) {
        match self {
            Self::NotAllowed => (1, ""),
            Self::BadArguments => (2, ""),
            Self::StartFailed(text) => (3, text),
            Self::OverLimit => (5, ""),
            // The others do not happen where actors are started.
            Self::Closed | Self::NotEncoded(_) | Self::NodeDown | Self::Expired => (4, ""),
        }
    }

    /// What a number and a text stand for; `None` for a number that stands for nothing.
    pub(super) fn read(why: u8, text: &str) -> Option<Self> {
        Some(match why {
            1 => Self::NotAllowed,
            2 => Self::BadArguments,
            3 => Self::StartFailed(text.to_owned()),
            4 => Self::Closed,
            5 => Self::OverLimit,
            _ => return None,
        })
    }
}

impl From<NotFound> for RemoteSpawnError {
    fn from(error: NotFound) -> Self {
        match error {
            NotFound::NotSpawned(why) => why,
            NotFound::NoSuchName | NotFound::Speaks(_) => Self::NotAllowed,
            NotFound::NodeDown => Self::NodeDown,
        }
    }
}

/// A kind of actor that other nodes may start here.
pub(super) trait Allowed: Send + Sync {
    /// Starts one by what a peer has sent.
    fn begin(&self, by: &Arc<Outlet>, arguments: &[u8]) -> Result<Begun, RemoteSpawnError>;
    /// What becomes of it without that peer.
    fn orphans(&self) -> Orphans;
}

/// What other nodes may start, and have started.
#[derive(Default)]
pub(super) struct Spawns {
    /// By name and protocol.
    allowed: BTreeMap<(String, &'static str), Arc<Box<dyn Allowed>>>,
    /// How many actors live on that a node has started by connections which have ended.
    kept: BTreeMap<NodeId, usize>,
}

impl Spawns {
    /// What may be started under a name.
    pub(super) fn of(&self, name: &str, protocol: &str) -> Option<Arc<Box<dyn Allowed>>> {
        let mut allowed = self.allowed.iter();
        let found = allowed.find(|((known, speaks), _)| known == name && *speaks == protocol);
        found.map(|(_, allowed)| allowed.clone())
    }

    /// How many actors live on that a node has started by connections which have ended.
    pub(super) fn kept(&self, by: NodeId) -> usize {
        let kept = self.kept.get(&by).copied().unwrap_or(0);
        planted!("net-orphans-uncounted": kept => 0)
    }

    /// Counts an actor whose connection has ended, by which that node has started it, until it ends, too.
    pub(super) fn keep(node: &Arc<Shared>, by: NodeId, actor: &dyn Exported) {
        *node.spawns().lock().kept.entry(by).or_default() += 1;
        let node = node.clone();
        actor.when_ended(Box::new(move |_| {
            if let Entry::Occupied(mut kept) = node.spawns().lock().kept.entry(by) {
                *kept.get_mut() -= 1;
                if *kept.get() == 0 {
                    kept.remove();
                }
            }
        }));
    }
}

impl Node {
    /// Lets connected nodes start actors of the type `A` here under `name`, at the top of the system. What an actor
    /// declares for its own restart holds; [`RemoteChild`](super::RemoteChild) has them supervised from there.
    ///
    /// A node has 4,096 such actors here at most, with those that have outlived its connections.
    ///
    /// # Errors
    /// [`ExportError`], when the name is not one, or another type of that protocol is allowed under it.
    pub fn allow_spawn<A: Spawnable>(
        &self,
        name: impl Into<String>,
        orphans: Orphans,
    ) -> Result<(), ExportError> {
        let name = name.into();
        if name.is_empty() || name.len() > TEXT_BYTES_MAX {
            return Err(ExportError::BadName(name.len()));
        }
        let mut spawns = self.shared().spawns().lock();
        match spawns.allowed.entry((name.clone(), A::Message::MANIFEST.name())) {
            Entry::Occupied(_) => Err(ExportError::NameTaken(name)),
            Entry::Vacant(entry) => {
                entry.insert(Arc::new(Box::new(AllowedType::<A>::new(orphans))));
                Ok(())
            }
        }
    }

    /// Lets nobody start anything under `name` any more. What was started goes on.
    pub fn forbid_spawn(&self, name: &str) {
        self.shared().spawns().lock().allowed.retain(|(allowed, _), _| allowed != name);
    }
}

/// An actor whose start hook runs.
pub(super) struct Begun {
    pub(super) actor: Arc<Box<dyn Exported>>,
    /// How the start hook went.
    pub(super) started: Started,
}

/// Ready when a start hook is done.
pub(super) type Started = Pin<Box<dyn Future<Output = Result<(), RemoteSpawnError>> + Send>>;

/// Allows actors of one type.
pub(super) struct AllowedType<A> {
    orphans: Orphans,
    of: PhantomData<fn(A)>,
}

impl<A: Spawnable> AllowedType<A> {
    pub(super) fn new(orphans: Orphans) -> Self {
        Self { orphans, of: PhantomData }
    }
}

impl<A: Spawnable> Allowed for AllowedType<A> {
    fn begin(&self, by: &Arc<Outlet>, arguments: &[u8]) -> Result<Begun, RemoteSpawnError> {
        let mut args = None;
        // What reads them is anybody's code.
        quietly(|| reference::by(by, || args = read(arguments)));
        let args = args.ok_or(RemoteSpawnError::BadArguments)?;
        let spawn = by.node().system().spawn::<A>(args);
        let (actor, mut starting) = spawn.begin().map_err(|_| RemoteSpawnError::Closed)?;
        let started = Box::pin(async move {
            let started = poll_fn(|cx| starting.poll(cx)).await;
            let started = started.unwrap_or_else(|| Err("it was cut off".to_owned()));
            started.map_err(RemoteSpawnError::StartFailed)
        });
        Ok(Begun { actor: Arc::new(Export::of(&actor).into_exported()), started })
    }

    fn orphans(&self) -> Orphans {
        self.orphans
    }
}

fn read<T: DeserializeOwned>(mut arguments: &[u8]) -> Option<T> {
    let args = codec::take(&mut arguments).ok()?;
    codec::finish(arguments).ok()?;
    Some(args)
}

/// The arguments of a start as bytes.
pub(super) fn written<T: Serialize + DeserializeOwned + 'static>(
    args: &T,
    by: &Arc<Outlet>,
) -> Result<Vec<u8>, RemoteSpawnError> {
    let mut bytes = Vec::new();
    let mut outcome = Err(RemoteSpawnError::NotEncoded("it panicked".to_owned()));
    quietly(|| {
        let encoded = reference::by(by, || codec::encode::<Postcard, T>(args, &mut bytes));
        outcome = encoded.map_err(|error| RemoteSpawnError::NotEncoded(error.0));
    });
    outcome?;
    if bytes.len() > ARGUMENTS_BYTES_MAX {
        return Err(RemoteSpawnError::NotEncoded(format!("they have {} bytes", bytes.len())));
    }
    Ok(bytes)
}
