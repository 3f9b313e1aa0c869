//! Which nodes are in the cluster: who comes, who goes, and who is not heard of any more.
//!
//! Nodes find each other by seeds, tell each other of further nodes, and connect with all of them. Each probes
//! the others in turn, and asks some of them to probe for it before it suspects one; a suspect that does not
//! answer in time is down. The protocol is SWIM (Das, Gupta and Motivala 2002) with suspicion, by the crate
//! `foca`, over the node's own connections, by the clock and the randomness of the system.
//!
//! 1. A node that starts anew is another [`Member`]: its former incarnation goes down, if it was not.
//! 2. With `n` others up, one that ends is down within `2n + 8` periods at every node that is connected with
//!    the others.
//! 3. A member that is up is not declared down as long as some other node gets an answer from it within half a
//!    period.
//! 4. When a partition is over, its sides find each other again within fifteen periods, if one of them knew
//!    of the other, and remembers it.
//! 5. A node that others were told is down, or another member than it is, takes part again: once a period at most, and as a later
//!    member than they were heard to take it for.
//!
//! What a member says of others is believed, but lets nobody in: who may connect is for the transport to say, and two
//! members that may not are still members, if others are connected with both. A packet
//! that is malformed, or names more members than there is room for, changes nothing and is a
//! [`TellFailed`](crate::Event::TellFailed). Where there is room for no more, news that one is down that was never heard of
//! is passed over, and who is down keeps its place for a period. So in each no more nodes come than are remembered at most, whatever
//! members name.

mod crowd;
mod gossip;
mod id;
mod member;
mod swim;
#[cfg(test)]
mod tests;
mod timers;

pub use member::{Member, MemberEvent, MemberStream, Members};

use super::export::Export;
use super::identity::Address;
use super::node::{ExportError, Node};
use crate::actor::SpawnError;
use crate::sync::Arc;
use gossip::{Gossip, Resolver, Start};
use member::Roster;
use std::time::Duration;

/// The name that the actor is exported under.
const NAME: &str = "greenroom.membership";
/// The time between two probes, unless told otherwise.
const PERIOD: Duration = Duration::from_secs(1);
/// The nodes that a node remembers at most, unless told otherwise.
const MEMBERS_MAX: usize = 1024;

/// A node about to take part in a cluster.
///
/// ```
/// use greenroom::System;
/// use greenroom::net::membership::{MemberEvent, Membership};
/// use greenroom::net::{Identity, Incarnation, Loopback, Node, NodeId};
///
/// fn identity(node: u64) -> Identity {
///     Identity { node: NodeId(node), incarnation: Incarnation(1) }
/// }
///
/// #[greenroom::main]
/// async fn main(here: System) -> Result<(), Box<dyn std::error::Error>> {
///     let network = Loopback::new();
///     let there = System::builder().workers(1).build()?;
///     let one = Node::start(&here, network.node("one", identity(1)))?;
///     let two = Node::start(&there, network.node("two", identity(2)))?;
///
///     let members = Membership::at("loopback:one".parse()?).start(&one)?;
///     let mut events = members.subscribe();
///     Membership::at("loopback:two".parse()?).seed("loopback:one".parse()?).start(&two)?;
///
///     let Some(MemberEvent::Up(member)) = events.next().await else { panic!("two comes up") };
///     assert_eq!(member.identity, two.identity());
///     assert_eq!(members.members().len(), 2);
///     Ok(())
/// }
/// ```
#[derive(Clone, Debug)]
#[must_use = "nothing begins before `start`"]
pub struct Membership {
    address: Address,
    seeds: Vec<Seed>,
    period: Duration,
    members_max: usize,
    resolver: Resolver,
}

/// Where others may be.
#[derive(Clone, Debug)]
enum Seed {
    At(Address),
    Named(Named),
}

/// Each address that `host`, a `host:port`, has in the DNS.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Named {
    scheme: String,
    host: String,
}

/// Why a node takes no part in a cluster.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JoinError {
    /// The actor does not start.
    #[error("the actor that finds members does not start")]
    Spawn(#[from] SpawnError),
    /// The actor is not exported: most likely, the node takes part already.
    #[error("the actor that finds members is not exported")]
    Export(#[from] ExportError),
}

impl Membership {
    /// Of a node that others reach at `address`.
    pub const fn at(address: Address) -> Self {
        Self {
            address,
            seeds: Vec::new(),
            period: PERIOD,
            members_max: MEMBERS_MAX,
            resolver: gossip::resolve,
        }
    }

    /// Looks for another node there, until it is up and whenever it is not. The node's own address is passed over,
    /// so that all nodes may have the same list.
    pub fn seed(mut self, address: Address) -> Self {
        self.seeds.push(Seed::At(address));
        self
    }

    /// Looks for other nodes at each address that `name`, a `host:port`, has in the DNS; it is asked again each time,
    /// once it has answered: one that is slow holds one thread for each name. The addresses are `scheme:ip:port`, so
    /// the transport must reach nodes by that alone.
    pub fn seed_dns(mut self, scheme: impl Into<String>, name: impl Into<String>) -> Self {
        self.seeds.push(Seed::Named(Named { scheme: scheme.into(), host: name.into() }));
        self
    }

    /// Sets the time between two probes of this node; by default one second. All nodes should have the same.
    ///
    /// # Panics
    /// Below ten milliseconds.
    pub fn period(mut self, period: Duration) -> Self {
        assert!(period >= Duration::from_millis(10), "a period has at least ten milliseconds");
        self.period = period;
        self
    }

    /// Sets how many nodes this one remembers at most; by default 1024. Those that are down are among them, for a day or, after a
    /// period, until others that come need their places, who has been down for longest first.
    pub const fn members_max(mut self, members: usize) -> Self {
        self.members_max = members;
        self
    }

    /// Takes part from now on, until the node's system ends or by [`Members::leave`].
    ///
    /// # Errors
    /// [`JoinError`].
    pub fn start(self, node: &Node) -> Result<Members, JoinError> {
        let me = Member { identity: node.identity(), address: self.address };
        let roster = Arc::new(Roster::new(me));
        let start = Start {
            node: node.clone(),
            roster: roster.clone(),
            seeds: self.seeds,
            period: self.period,
            members_max: self.members_max,
            resolver: self.resolver,
        };
        let gossip = node.system().spawn::<Gossip>(start).start()?;
        if let Err(error) = node.export(NAME, Export::of(&gossip)) {
            gossip.stop();
            return Err(error.into());
        }
        Ok(Members { roster, gossip })
    }
}
