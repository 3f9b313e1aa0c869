//! A node that this one is connected with.

use super::frame::{Frame, TEXT_BYTES_MAX};
use super::identity::Identity;
use super::message::WireMessage;
use super::node::{Connected, adopt};
use super::outlet::{NotFound, Outlet, Sent, Wanted};
use super::remote::{Fence, stand_in};
use super::spawn::{self, RemoteSpawnError, Spawnable};
use crate::actor::{Protocol, Ref};
use crate::queue::oneshot;
use crate::sync::{Arc, planted};
use crate::system::System;
use std::fmt;
use std::future::poll_fn;
use std::time::Duration;

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
        if is_no_name(name) {
            return Err(LookupError::NoSuchName(name.to_owned()));
        }
        let (sender, mut receiver) = oneshot::pair();
        let until = self.system.deadline(self.system.core().limits.ask_timeout);
        let _searching = adopt::<P>(&self.connected.outlet, name, move |found| {
            // An error means that nobody waits any more.
            let _ = sender.send(found);
        });
        let found = self.system.by(until, poll_fn(|cx| receiver.poll(cx))).await;
        let found = found.ok_or(LookupError::Expired)?.unwrap_or(Err(NotFound::NodeDown));
        found.map_err(|error| match error {
            NotFound::NoSuchName => LookupError::NoSuchName(name.to_owned()),
            NotFound::Speaks(found) => LookupError::OtherProtocol {
                name: name.to_owned(),
                wanted: P::Message::MANIFEST.name(),
                found,
            },
            NotFound::NodeDown | NotFound::NotSpawned(_) => LookupError::NodeDown,
        })
    }

    /// Starts an actor there, of the kind that the node [allows](super::Node::allow_spawn) under `name`, and waits for its
    /// start hook, as long as an ask does.
    ///
    /// It lives until it ends by itself, is [stopped](Peer::stop) from here, or, if its node says so, until the connection
    /// ends. Dropping the reference does not end it; dropping this future does.
    ///
    /// # Errors
    /// [`RemoteSpawnError`]; no actor lives on there then, but for [one](RemoteSpawnError::NodeDown) that its node keeps.
    pub async fn spawn<A: Spawnable>(
        &self,
        name: &str,
        args: A::Args,
    ) -> Result<Ref<A>, RemoteSpawnError> {
        if is_no_name(name) {
            return Err(RemoteSpawnError::NotAllowed);
        }
        let outlet = &self.connected.outlet;
        let arguments = &spawn::written(&args, outlet)?;
        let (sender, mut receiver) = oneshot::pair();
        let by = outlet.clone();
        let finding = move |outcome: Result<u64, NotFound>| {
            let spawned = outcome.and_then(|actor| {
                by.adopt(actor);
                let untaken = Untaken(Some((by.clone(), actor)));
                stand_in::<A>(&by, actor).map(|reference| (reference, untaken))
            });
            // An error means that nobody waits any more.
            let _ = sender.send(spawned);
        };
        let until = self.system.deadline(self.system.core().limits.ask_timeout);
        let protocol = A::Message::MANIFEST.name();
        let ask = |correlation| Frame::Spawn { correlation, protocol, name, arguments };
        let _searching = outlet.search(Wanted::New, ask, Box::new(finding));
        let spawned = self.system.by(until, poll_fn(|cx| receiver.poll(cx))).await;
        let spawned = spawned.ok_or(RemoteSpawnError::Expired)?;
        let (reference, untaken) = spawned.unwrap_or(Err(NotFound::NodeDown))?;
        untaken.take();
        Ok(reference)
    }

    /// Ends an actor that was started there by this connection, as [`Ref::stop`] does at home. Returns at once; `false` if
    /// it was not, or has ended.
    pub fn stop<P: Protocol>(&self, actor: &Ref<P>) -> bool {
        let outlet = &self.connected.outlet;
        let home = outlet.node().reach().abroad(actor.id());
        home.is_some_and(|home| home.identity == outlet.peer() && outlet.stop(home.actor))
    }

    /// Waits until nothing is left of the connection: whoever watches an actor there has been told.
    pub async fn ended(&self) {
        self.connected.actor.ended().await;
    }

    /// Sends what was told to actors of the node so far, which of them were to be [stopped](Peer::stop), and the streams that were
    /// finished, and then ends the connection. Mail to an actor that has no room for it is waited for as long as for an answer,
    /// and so are the streams, and what the node has to say by itself, but for long answers; other mail as long as the node goes on
    /// to read, and no handler here keeps a worker. Ready when nothing is left of the connection.
    pub async fn close(&self) {
        self.send_rest(self.system.core().limits.ask_timeout).await;
        self.connected.outlet.hang_up();
        self.ended().await;
    }

    /// As [`Peer::close`], in so much time, of which credit gets a half so that the rest has some. What is left of the
    /// connection is waited for as long again.
    pub(super) async fn close_within(&self, time: Duration) {
        let wait = || self.system.deadline(time);
        self.system.by(wait(), self.send_rest(time / 2)).await;
        self.connected.outlet.hang_up();
        self.system.by(wait(), self.ended()).await;
    }

    /// Sends what waits here. Credit is waited for so long, then streams as long again, and then what the node itself has to say.
    async fn send_rest(&self, patience: Duration) {
        let outlet = &self.connected.outlet;
        let wait = || self.system.deadline(patience);
        let all = self.system.by(wait(), passed(|fence| outlet.fence(&fence))).await;
        if all.is_none() {
            // Some may never give credit: for them nobody waits any more.
            passed(|fence| Outlet::end_behind_mail(outlet, fence, Sent::FromHere)).await;
        }
        // Those that went with the last messages, too.
        self.system.by(wait(), passed(|fence| outlet.streams().fence(&fence))).await;
        // An actor that was to be stopped may not end with the connection.
        self.system.by(wait(), outlet.said_all()).await;
    }
}

/// Whether nothing can have the name. In a frame one that is too long is cut, and would be another one. [ENV-3]
fn is_no_name(name: &str) -> bool {
    planted!("net-long-name-cut": name.len() > TEXT_BYTES_MAX => false)
}

/// An actor that was started, and is stopped if nobody takes it.
struct Untaken(Option<(Arc<Outlet>, u64)>);

impl Untaken {
    fn take(mut self) {
        self.0 = None;
    }
}

impl Drop for Untaken {
    fn drop(&mut self) {
        if let Some((outlet, actor)) = self.0.take() {
            outlet.stop(actor);
        }
    }
}

/// Waits until everybody to whom `set` gives its fence has let it go.
async fn passed(set: impl FnOnce(Fence)) {
    let (sender, mut receiver) = oneshot::pair::<()>();
    let fence = Fence::new(move || {
        // An error means that nobody waits any more.
        let _ = sender.send(());
    });
    set(fence);
    poll_fn(|cx| receiver.poll(cx)).await;
}

impl fmt::Debug for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Peer({})", self.identity())
    }
}
