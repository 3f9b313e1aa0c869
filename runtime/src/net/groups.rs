//! Groups whose members are on several nodes.
//!
//! Each node tells those that it is connected with who has joined and left here, and nobody else's news. A member on
//! another node is its proxy here, so it leaves by itself when it ends, or its connection does.
//!
//! Invariants:
//! 1. What is announced to a connection, and in which order, is decided under the lock of the table: a node that is
//!    connected has been told of everybody who is in.
//! 2. A group knows a member once: by its own reference at home, by its one proxy elsewhere.

use super::frame::{Frame, TEXT_BYTES_MAX};
use super::identity::NodeId;
use super::message::WireMessage;
use super::node::{ExportError, Node, Shared};
use super::outlet::Outlet;
use super::reference::home_of;
use super::remote::stand_in;
use super::streams::THE_NODE;
use super::transport::Order;
use crate::actor::{Group, Protocol, Recipient, Ref};
use crate::sync::{Arc, Mutex, planted};
use std::any::{Any, TypeId};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// Members at most that one node has in all its groups. [ENV-15]
const MEMBERS_MAX: usize = 4096;

/// How news of members is said, of all in one order: one who joins in the place of another must not be heard of first,
/// for the other node counts. No actor has that number, and nothing else that is said to a node has an order by it.
const NEWS: Order = Order::Within(THE_NODE);

/// A group of actors that speak `P`, here and on connected nodes; [`Node::group`] makes it. Clones are the same
/// group.
///
/// Membership is eventually consistent: who joins on a node is in on each connected node a little later, and in
/// between some see it and some do not. Nodes that are not connected with each other see nothing of each other's members.
///
/// # Examples
/// ```
/// use greenroom::net::Node;
/// use greenroom::{Actor, Ref, handlers};
///
/// #[derive(Actor)]
/// struct Ticker(u64);
///
/// #[handlers(wire = "acme.ticker/1")]
/// impl Ticker {
///     #[tell]
///     fn quote(&mut self, price: u64) {
///         self.0 = price;
///     }
/// }
///
/// fn publish(node: &Node, own: &Ref<Ticker>) -> Result<(), Box<dyn std::error::Error>> {
///     let tickers = node.group::<Ticker>("tickers")?;
///     tickers.join(own);
///     let told = tickers.group().broadcast(|ticker| ticker.quote(101));
///     assert!(told.told > 0, "this one, and those on other nodes");
///     Ok(())
/// }
/// # fn main() {}
/// ```
pub struct SharedGroup<P: Protocol> {
    node: Arc<Shared>,
    key: Key,
    group: Group<P>,
}

/// Name of a group, and the protocol of its members.
type Key = (String, &'static str);

impl Node {
    /// The group of that name and protocol, with its members on this and on all connected nodes.
    ///
    /// # Errors
    /// [`ExportError::BadName`].
    pub fn group<P: Protocol<Message: WireMessage>>(
        &self,
        name: &str,
    ) -> Result<SharedGroup<P>, ExportError> {
        if name.is_empty() || name.len() > TEXT_BYTES_MAX {
            return Err(ExportError::BadName(name.len()));
        }
        let key = (name.to_owned(), P::Message::MANIFEST.name());
        let group = self.shared().groups().group::<P>(self.shared(), &key);
        Ok(SharedGroup { node: self.shared().clone(), key, group })
    }
}

impl<P: Protocol<Message: WireMessage>> SharedGroup<P> {
    /// Lets an actor of this node in, until it ends or leaves; `false` if it is in already, is ending, or lives on
    /// another node, where it joins; or if this node has 4,096 members in its groups.
    pub fn join(&self, actor: &Ref<P>) -> bool {
        let is_own = !actor.is_closed() && !actor.cell().vtable.distant;
        let Some(home) = home_of(&self.node, actor).filter(|_| is_own) else { return false };
        let Some(first) = self.node.groups().join(&self.node, &self.key, home.actor) else {
            return false;
        };
        if first == First::Ever {
            let node = self.node.clone();
            actor.when_ended(move |_| node.groups().ended(&node, home.actor));
        }
        true
    }

    /// Lets an actor of this node go; `false` if it is not in.
    pub fn leave(&self, actor: &Ref<P>) -> bool {
        let number = self.node.reach().known(actor.id(), self.key.1);
        number.is_some_and(|number| self.node.groups().leave(&self.node, &self.key, number))
    }
}

impl<P: Protocol> SharedGroup<P> {
    /// Those who are known here to be in, wherever they live: to list, to [broadcast](Group::broadcast) to, and to
    /// [ask](Group::first). Who joins or leaves this group itself does so for this node alone.
    #[must_use]
    pub fn group(&self) -> &Group<P> {
        &self.group
    }
}

impl<P: Protocol> Clone for SharedGroup<P> {
    fn clone(&self) -> Self {
        Self { node: self.node.clone(), key: self.key.clone(), group: self.group.clone() }
    }
}

impl<P: Protocol> fmt::Debug for SharedGroup<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SharedGroup({} of {}: {:?})", self.key.0, self.key.1, self.group)
    }
}

/// Whether an actor is in a group for the first time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum First {
    Ever,
    InThis,
}

/// Who is in which group, as a node knows it.
#[derive(Default)]
pub(super) struct Groups(Mutex<Table>);

#[derive(Default)]
struct Table {
    /// Members that live here, by their numbers.
    own: BTreeMap<Key, BTreeSet<u64>>,
    own_count: usize,
    /// Those whose end is waited for.
    watched: BTreeSet<u64>,
    /// What connected nodes have announced.
    peers: BTreeMap<NodeId, Announced>,
    /// Groups that this program has asked for, by the type of their references.
    typed: BTreeMap<(String, &'static str, TypeId), Box<dyn Typed>>,
}

struct Announced {
    outlet: Arc<Outlet>,
    members: BTreeSet<(String, String, u64)>,
}

impl Groups {
    /// The group for references of one type, with everybody who is in.
    fn group<P: Protocol<Message: WireMessage>>(&self, node: &Shared, key: &Key) -> Group<P> {
        let mut table = self.0.lock();
        let typed = (key.0.clone(), key.1, TypeId::of::<P>());
        let known = table.typed.get(&typed).and_then(|typed| typed.group().downcast_ref());
        if let Some(known) = known {
            return Group::<P>::clone(known);
        }
        let group = Group::<P>::new();
        for actor in table.own.get(key).into_iter().flatten() {
            Typed::join_own(&group, node, *actor);
        }
        for announced in table.peers.values() {
            for (name, protocol, actor) in &announced.members {
                if (name, protocol.as_str()) == (&key.0, key.1) {
                    Typed::join_theirs(&group, &announced.outlet, *actor);
                }
            }
        }
        table.typed.insert(typed, Box::new(group.clone()));
        group
    }

    /// Lets an actor in; `None` if it is in, or there are too many.
    fn join(&self, node: &Shared, key: &Key, actor: u64) -> Option<First> {
        let mut table = self.0.lock();
        if table.own_count >= MEMBERS_MAX {
            return None;
        }
        if !table.own.entry(key.clone()).or_default().insert(actor) {
            return None;
        }
        table.own_count += 1;
        for typed in table.typed(&key.0, key.1) {
            typed.join_own(node, actor);
        }
        let frame = Frame::Joined { actor, protocol: key.1, group: &key.0 };
        table.tell_all(&frame);
        Some(if table.watched.insert(actor) { First::Ever } else { First::InThis })
    }

    fn leave(&self, node: &Shared, key: &Key, actor: u64) -> bool {
        self.0.lock().leave(node, key, actor)
    }

    /// An actor has ended, and leaves all groups.
    fn ended(&self, node: &Shared, actor: u64) {
        let mut table = self.0.lock();
        table.watched.remove(&actor);
        let of = table.own.iter().filter(|(_, members)| members.contains(&actor));
        let keys: Vec<Key> = of.map(|(key, _)| key.clone()).collect();
        for key in keys {
            table.leave(node, &key, actor);
        }
    }

    /// A connection begins: tells it who is in, and from now on who joins and leaves. [ENV-15]
    pub(super) fn connected(&self, outlet: &Arc<Outlet>) {
        let mut table = self.0.lock();
        for ((group, protocol), members) in &table.own {
            for &actor in members {
                outlet.say_or_end(NEWS, &Frame::Joined { actor, protocol, group });
            }
        }
        let announced = Announced { outlet: outlet.clone(), members: BTreeSet::new() };
        let old = table.peers.insert(outlet.peer().node, announced);
        // Dropped when the lock is free.
        drop(table);
        drop(old);
    }

    /// A connection has ended; its members leave as their proxies end.
    pub(super) fn disconnected(&self, outlet: &Arc<Outlet>) {
        let mut table = self.0.lock();
        let node = outlet.peer().node;
        let is_known =
            table.peers.get(&node).is_some_and(|it| std::ptr::eq(&*it.outlet, &**outlet));
        let old = if is_known { table.peers.remove(&node) } else { None };
        drop(table);
        drop(old);
    }

    /// A connected node says that an actor of its own has joined; `false` if it says more than it may.
    pub(super) fn joined(
        &self,
        outlet: &Arc<Outlet>,
        (group, protocol): (&str, &str),
        actor: u64,
    ) -> bool {
        let mut table = self.0.lock();
        let Some(announced) = table.peers.get_mut(&outlet.peer().node) else { return true };
        announced.members.insert((group.to_owned(), protocol.to_owned(), actor));
        let fits = announced.members.len() <= MEMBERS_MAX;
        for typed in table.typed(group, protocol) {
            typed.join_theirs(outlet, actor);
        }
        fits
    }

    /// A connected node says that an actor of its own has left.
    pub(super) fn left(
        &self,
        outlet: &Arc<Outlet>,
        (group, protocol): (&str, &str),
        actor: u64,
    ) -> bool {
        let mut table = self.0.lock();
        let Some(announced) = table.peers.get_mut(&outlet.peer().node) else { return true };
        let member = (group.to_owned(), protocol.to_owned(), actor);
        if announced.members.remove(&member) {
            for typed in table.typed(group, protocol) {
                typed.leave_theirs(outlet, actor);
            }
        }
        true
    }
}

impl Table {
    /// The groups of that name and protocol.
    fn typed(&self, group: &str, protocol: &str) -> impl Iterator<Item = &dyn Typed> {
        let typed = self.typed.iter();
        let of =
            typed.filter(move |((name, speaks, _), _)| (&**name, *speaks) == (group, protocol));
        of.map(|(_, typed)| &**typed)
    }

    fn leave(&mut self, node: &Shared, key: &Key, actor: u64) -> bool {
        let Some(members) = self.own.get_mut(key) else { return false };
        if !members.remove(&actor) {
            return false;
        }
        if members.is_empty() {
            self.own.remove(key);
        }
        self.own_count -= 1;
        for typed in self.typed(&key.0, key.1) {
            typed.leave_own(node, actor);
        }
        self.tell_all(&Frame::Left { actor, protocol: key.1, group: &key.0 });
        true
    }

    fn tell_all(&self, frame: &Frame<'_>) {
        if planted!("net-join-untold": false => true) {
            return;
        }
        for announced in self.peers.values() {
            announced.outlet.say_or_end(NEWS, frame);
        }
    }
}

/// A group, whatever the type of its references.
trait Typed: Send {
    fn join_own(&self, node: &Shared, actor: u64);
    fn leave_own(&self, node: &Shared, actor: u64);
    fn join_theirs(&self, outlet: &Arc<Outlet>, actor: u64);
    fn leave_theirs(&self, outlet: &Arc<Outlet>, actor: u64);
    fn group(&self) -> &dyn Any;
}

impl<P: Protocol<Message: WireMessage>> Typed for Group<P> {
    fn join_own(&self, node: &Shared, actor: u64) {
        if let Some(actor) = own::<P>(node, actor) {
            self.join(&actor);
        }
    }

    fn leave_own(&self, node: &Shared, actor: u64) {
        if let Some(actor) = own::<P>(node, actor) {
            self.leave(&actor);
        }
    }

    fn join_theirs(&self, outlet: &Arc<Outlet>, actor: u64) {
        // Where too many are open already, this one is not reached, as if the news had not come.
        if Outlet::open(outlet, P::Message::MANIFEST.name(), actor)
            && let Ok(actor) = stand_in::<P>(outlet, actor)
        {
            self.join(&actor);
        }
    }

    fn leave_theirs(&self, outlet: &Arc<Outlet>, actor: u64) {
        if let Ok(actor) = stand_in::<P>(outlet, actor) {
            self.leave(&actor);
        }
    }

    fn group(&self) -> &dyn Any {
        self
    }
}

/// An actor of this node.
fn own<P: Protocol<Message: WireMessage>>(node: &Shared, actor: u64) -> Option<Ref<P>> {
    let exported = node.reach().of(actor)?;
    let recipient = exported.recipient().downcast_ref::<Recipient<P::Message>>()?;
    Some(Ref::from_recipient(recipient.clone()))
}
