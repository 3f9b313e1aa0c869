//! A node that this one is connected with.

use super::identity::Identity;
use super::manifest::Manifest;
use super::message::WireMessage;
use super::node::{Connected, adopt};
use super::outlet::NotFound;
use super::remote::Fence;
use crate::actor::{Protocol, Ref};
use crate::queue::oneshot;
use crate::system::System;
use std::fmt;
use std::future::poll_fn;

/// A connection to a node. Cloning gives another handle.
///
/// It is one connection: when that has ended, the node is to be connected anew, and its actors to be found anew.
#[derive(Clone)]
pub struct Peer {
    system: System,
    connected: Connected,
}

/// Why there is no reference to give.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LookupError {
    /// The node exports nobody under the name.
    #[error("the node exports no actor as {0:?}")]
    NoSuchName(String),
    /// The actor speaks another protocol.
    #[error("the actor exported as {name:?} speaks {found}, not {wanted}")]
    OtherProtocol {
        /// The name asked for.
        name: String,
        /// The protocol asked for.
        wanted: &'static str,
        /// The protocol found.
        found: String,
    },
    /// The connection ended.
    #[error("the connection to the node ended")]
    NodeDown,
    /// There was no answer in the time that an ask has.
    #[error("the node did not answer in time")]
    Expired,
}

impl Peer {
    pub(super) fn new(system: System, connected: Connected) -> Self {
        Self { system, connected }
    }

    /// Which node, and which run of it.
    #[must_use]
    pub fn identity(&self) -> Identity {
        self.connected.outlet.peer()
    }

    /// A reference to the actor that the node exports under `name`: by the actor's type or its protocol's, if
    /// this program has the same, or by a protocol of the same wire name. Waits as long as an ask does.
    ///
    /// All references to one actor are equal. They last as long as the connection; [`Context::watch`] tells when
    /// that is over, or the actor is.
    ///
    /// [`Context::watch`]: crate::Context::watch
    ///
    /// # Errors
    /// [`LookupError`].
    pub async fn find<P: Protocol<Message: WireMessage>>(
        &self,
        name: &str,
    ) -> Result<Ref<P>, LookupError> {
        let (sender, mut receiver) = oneshot::pair();
        let until = self.system.deadline(self.system.core().limits.ask_timeout);
        adopt::<P>(&self.connected, name, move |found| {
            // An error means that nobody waits any more.
            let _ = sender.send(found);
        });
        let found = self.system.by(until, poll_fn(|cx| receiver.poll(cx))).await;
        let found = found.ok_or(LookupError::Expired)?.unwrap_or(Err(NotFound::NodeDown));
        found.map_err(|error| match error {
            NotFound::NoSuchName => LookupError::NoSuchName(name.to_owned()),
            NotFound::Speaks(found) => LookupError::OtherProtocol {
                name: name.to_owned(),
                wanted: Manifest::of::<P>().name(),
                found,
            },
            NotFound::NodeDown => LookupError::NodeDown,
        })
    }

    /// Waits until nothing is left of the connection: whoever watches an actor there has been told.
    pub async fn ended(&self) {
        self.connected.actor.ended().await;
    }

    /// Sends what was told to actors of the node so far, as far as it gives credit, and then ends the connection.
    /// Ready when nothing is left of it.
    pub async fn close(&self) {
        let (sender, mut receiver) = oneshot::pair::<()>();
        self.connected.outlet.fence(&Fence::new(move || {
            // An error means that nobody waits any more.
            let _ = sender.send(());
        }));
        poll_fn(|cx| receiver.poll(cx)).await;
        self.connected.outlet.hang_up();
        self.ended().await;
    }
}

impl fmt::Debug for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Peer({})", self.identity())
    }
}
