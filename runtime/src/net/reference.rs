//! References inside of messages.
//!
//! On the wire a reference says where its actor lives and by what number its node knows it. What it becomes at
//! the other end depends on the connection: the actor itself at home, and elsewhere what stands in for it. serde
//! hands nothing of that kind on, so the connection is noted for the running thread while it encodes or decodes.
//!
//! A reference is good at once; its node is asked behind it whether this one may use it, and messages wait in the
//! proxy for the credit that comes with the answer.

use super::export::Export;
use super::identity::{Identity, Incarnation, NodeId};
use super::message::WireMessage;
use super::node::Shared;
use super::outlet::Outlet;
use super::reach::Home;
use super::remote::{dead, stand_in};
use crate::actor::{Protocol, Recipient, Ref};
use crate::event::Undelivered;
use crate::sync::{Arc, planted, thread_local};
use crate::task::core::Core;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser};
use std::cell::Cell;

thread_local! {
    /// By which connection the thread sends or receives what it encodes or decodes.
    static CONNECTION: Cell<Option<Arc<Outlet>>> = const { Cell::new(None) };
    /// Why a reference was not decoded: serde carries texts alone.
    static FAILURE: Cell<Option<Undelivered>> = const { Cell::new(None) };
}

/// Encodes or decodes by a connection.
pub(super) fn by<T>(connection: &Arc<Outlet>, work: impl FnOnce() -> T) -> T {
    Lent::new(connection.clone()).during(work)
}

/// A connection for the thread to note while something by it is encoded or decoded. Who holds one lends it as often as
/// there is a message; to count it among the connection's holders for each would be most of what that costs.
pub(super) struct Lent(Option<Arc<Outlet>>);

impl Lent {
    pub(super) fn new(connection: Arc<Outlet>) -> Self {
        Self(Some(connection))
    }

    /// Encodes or decodes by the connection.
    pub(super) fn during<T>(&mut self, work: impl FnOnce() -> T) -> T {
        /// Puts back what was noted before, and takes the connection back, also when a codec panics.
        struct Before<'a>(&'a mut Option<Arc<Outlet>>);
        impl Drop for Before<'_> {
            fn drop(&mut self) {
                *self.0 = CONNECTION.with(|noted| noted.replace(self.0.take()));
            }
        }
        self.0 = CONNECTION.with(|noted| noted.replace(self.0.take()));
        let _before = Before(&mut self.0);
        forget_failure();
        work()
    }
}

/// Notes why what is being decoded is none; serde takes the text of it.
pub(super) fn failed<E: de::Error>(why: Undelivered) -> E {
    note(why);
    E::custom(why)
}

/// Notes why what is being encoded or decoded is none.
pub(super) fn note(why: Undelivered) {
    FAILURE.with(|failure| failure.set(Some(why)));
}

/// Forgets why what was decoded before was none.
pub(super) fn forget_failure() {
    FAILURE.with(|failure| failure.set(None));
}

/// Why what was just encoded or decoded is none, if that is for a reference or a stream in it.
pub(super) fn failure() -> Option<Undelivered> {
    FAILURE.with(Cell::take)
}

/// By which connection the thread sends or receives what it encodes or decodes.
pub(super) fn connection() -> Result<Arc<Outlet>, &'static str> {
    let connection = CONNECTION.with(|noted| {
        let connection = noted.take();
        noted.set(connection.clone());
        connection
    });
    connection.ok_or("references go to other nodes, and nowhere else")
}

/// A reference to an actor whose protocol crosses nodes may be an argument or an answer of a message that does.
///
/// At the actor's home it becomes the reference to the actor itself, and at another node one to what stands in for
/// it. That node has to be connected with the actor's; otherwise the message is refused there, as
/// [`HomeNotConnected`](Undelivered::HomeNotConnected). An actor whose reference was sent is reached from outside until
/// it ends. Fails outside of such messages.
impl<P: Protocol<Message: WireMessage>> Serialize for Ref<P> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let connection = connection().map_err(ser::Error::custom)?;
        let home = home_of(connection.node(), self).ok_or_else(|| {
            ser::Error::custom("a reference of another system or node of this process")
        })?;
        let Home { identity: Identity { node, incarnation }, actor } = home;
        (node.0, incarnation.0, actor).serialize(to)
    }
}

impl<'de, P: Protocol<Message: WireMessage>> Deserialize<'de> for Ref<P> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let (node, incarnation, actor) = Deserialize::deserialize(from)?;
        let connection = connection().map_err(de::Error::custom)?;
        let identity = Identity { node: NodeId(node), incarnation: Incarnation(incarnation) };
        found(&connection, Home { identity, actor }).map_err(failed)
    }
}

/// Where an actor lives, as other nodes are told; from now on they reach it, if that is here. `None` for an
/// actor of another system, or one of which another node of this system knows where it lives. [ENV-13]
pub(super) fn home_of<P: Protocol<Message: WireMessage>>(
    node: &Arc<Shared>,
    actor: &Ref<P>,
) -> Option<Home> {
    let cell = actor.cell();
    if !std::ptr::eq::<Core>(&*cell.core, &**node.core()) {
        return None;
    }
    let own = |actor| Home { identity: node.identity(), actor };
    if cell.vtable.distant {
        // One that has ended is sent as an actor of this node that nobody reaches. Others are of another node here.
        let ended = || actor.is_closed().then(|| own(actor.id().number()));
        return node.reach().abroad(actor.id()).or_else(ended);
    }
    if let Some(number) = node.reach().known(actor.id(), P::Message::MANIFEST.name()) {
        return Some(own(number));
    }
    let exported = Arc::new(Export::of(actor).into_exported());
    if exported.is_closed() {
        return Some(own(actor.id().number()));
    }
    let number = node.reach().number(&node.system(), &**exported);
    Shared::admit(node, number, &exported);
    Some(own(number))
}

/// The reference to an actor that the peer has named. [ENV-13]
fn found<P: Protocol<Message: WireMessage>>(
    connection: &Arc<Outlet>,
    home: Home,
) -> Result<Ref<P>, Undelivered> {
    let node = connection.node();
    if home.identity == node.identity() {
        let Some(exported) = node.reach().of(home.actor) else {
            return dead(connection).ok_or(Undelivered::NodeDown);
        };
        let recipient = exported.recipient().downcast_ref::<Recipient<P::Message>>();
        return recipient.cloned().map(Ref::from_recipient).ok_or(Undelivered::Malformed);
    }
    let is_peers = connection.peer() == home.identity;
    let elsewhere = || node.connection(home.identity).ok_or(Undelivered::HomeNotConnected);
    let outlet = if is_peers { connection.clone() } else { elsewhere()? };
    if planted!("net-reference-unopened": true => false)
        && !Outlet::open(&outlet, P::Message::MANIFEST.name(), home.actor)
    {
        return Err(Undelivered::OverLimit);
    }
    stand_in(&outlet, home.actor).map_err(|_| Undelivered::HomeNotConnected)
}
