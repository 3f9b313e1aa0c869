//! The actor that speaks the protocol with those of other nodes, over the connections of its node.
//!
//! A packet may be lost: when there is no connection yet a few wait for it, and when the other node has no room
//! the packet goes. The protocol is made for that, and nobody is held up.

use super::id::Id;
use super::member::{Member, Roster};
use super::swim::Swim;
use super::timers::Timers;
use super::{NAME, Named, Seed};
use crate::actor::{Context, Handle, Message, Ref, TimerId};
use crate::net::{Address, Identity, Node, NodeId};
use crate::sync::{Arc, planted};
use crate::system::System;
use crate::time::Time;
use std::collections::{BTreeMap, VecDeque};
use std::net::{SocketAddr, ToSocketAddrs};
use std::time::Duration;

/// Packets that wait for a connection; the oldest go first.
const WAITING_MAX: usize = 4;
/// Periods until seeds that are not up are looked for again, unless nobody is up.
const SEEK_PERIODS: u64 = 5;
/// Periods for which one that was declared down may still say that it lives: when a partition is over, those
/// of one side hear of each other that they were down for the other side.
const GRACE_PERIODS: u32 = 2;
/// Periods that an attempt to connect has.
const CONNECT_PERIODS: u32 = 2;

/// What the actor starts from.
pub(super) struct Start {
    pub(super) node: Node,
    pub(super) roster: Arc<Roster>,
    pub(super) seeds: Vec<Seed>,
    pub(super) period: Duration,
    pub(super) members_max: usize,
    pub(super) resolver: Resolver,
}

/// Finds the addresses that a name, a `host:port`, has now; none if it has none, or nobody says. May block.
pub(super) type Resolver = fn(&str) -> Vec<SocketAddr>;

/// See the [module](self).
#[derive(greenroom::Actor)]
#[actor(mailbox = bounded(256))]
pub(super) struct Gossip {
    node: Node,
    roster: Arc<Roster>,
    seeds: Vec<Seed>,
    resolver: Resolver,
    /// What is being looked up: a resolver that does not answer has each name once, and holds one thread for it.
    awaited: Vec<Named>,
    period: Duration,
    swim: Swim,
    timers: Timers,
    /// When the next of them is looked for.
    next_tick: Option<(Time, TimerId)>,
    /// Whether there is a timer for those who were declared down, and are not told yet.
    settles: bool,
    routes: BTreeMap<NodeId, Route>,
    /// How many there may be to who has no place in the table: any member may ask for packets to whomever it names.
    routes_max: usize,
    /// Periods so far.
    round: u64,
}

/// How packets reach a node.
enum Route {
    /// They wait for the connection.
    Opening(VecDeque<Vec<u8>>),
    Open(Ref<Gossip>),
}

/// Tells the actor that its node leaves the cluster.
#[derive(Debug)]
pub(super) struct Leave;

impl Message for Leave {
    type Reply = ();
}

#[greenroom::handlers(wire = "greenroom.membership/1")]
impl Gossip {
    #[start]
    fn start(args: Start, cx: &mut Context<Self>) -> Self {
        let Start { node, roster, seeds, period, members_max, resolver } = args;
        let core = cx.system().core().clone();
        let me = Id::new(roster.me().identity, roster.me().address.clone(), core.clock.wall_ms());
        let swim = Swim::new(me, period, members_max, core.random.next());
        let (timers, routes, awaited) = (Timers::default(), BTreeMap::new(), Vec::new());
        cx.every(period, Self::each_period);
        cx.after(Duration::ZERO, Self::seek);
        Self {
            node,
            roster,
            seeds,
            resolver,
            awaited,
            period,
            swim,
            timers,
            next_tick: None,
            settles: false,
            routes,
            routes_max: members_max.saturating_mul(2),
            round: 0,
        }
    }

    /// A packet of the protocol.
    #[tell]
    fn packet(&mut self, bytes: Vec<u8>, cx: &mut Context<Self>) -> Result<(), foca::Error> {
        let core = cx.system().core().clone();
        let (now, wall_ms) = (core.clock.now(), core.clock.wall_ms());
        let taken = self.swim.packet(&bytes, now, wall_ms, &mut self.timers);
        self.carry_out(cx);
        taken
    }

    #[local]
    fn tick(&mut self, cx: &mut Context<Self>) {
        let now = cx.system().core().clock.now();
        while let Some(timer) = self.timers.take(now) {
            self.swim.tick(timer);
            self.carry_out(cx);
        }
        // Not before: those that are due already would have ticks of their own.
        self.next_tick = None;
        self.await_next(cx);
    }

    #[local]
    fn each_period(&mut self, cx: &mut Context<Self>) {
        self.round += 1;
        self.swim.next_period();
        self.carry_out(cx);
        self.routes.retain(|_, route| !matches!(route, Route::Open(peer) if peer.is_closed()));
        if self.roster.is_alone() || self.round.is_multiple_of(SEEK_PERIODS) {
            self.seek(cx);
        }
    }

    /// Looks for those seeds that are not up.
    #[local]
    fn seek(&mut self, cx: &mut Context<Self>) {
        for seed in self.seeds.clone() {
            match seed {
                Seed::At(address) => self.seek_at(address, cx),
                Seed::Named(name) => self.look_up(name, cx),
            }
        }
    }

    #[local]
    fn found(&mut self, (found, name): (Vec<SocketAddr>, Named), cx: &mut Context<Self>) {
        self.awaited.retain(|awaited| *awaited != name);
        let addresses = found.iter().filter_map(|at| format!("{}:{at}", name.scheme).parse().ok());
        addresses.for_each(|address| self.seek_at(address, cx));
    }

    #[local]
    fn settle(&mut self, cx: &mut Context<Self>) {
        self.settles = false;
        self.publish(cx);
    }

    #[local]
    fn met(&mut self, met: Option<(Identity, Address)>, cx: &mut Context<Self>) {
        let Some((identity, address)) = met else { return };
        if !self.roster.is_up(identity) {
            self.swim.greet(Id::stranger(identity, address));
            self.carry_out(cx);
        }
    }

    #[local]
    fn opened(&mut self, opened: (NodeId, Option<Ref<Self>>)) {
        let (node, peer) = opened;
        let Some(Route::Opening(waiting)) = self.routes.remove(&node) else { return };
        let Some(peer) = peer else { return };
        waiting.into_iter().for_each(|packet| post(&peer, packet));
        self.routes.insert(node, Route::Open(peer));
    }
}

impl Gossip {
    fn look_up(&mut self, name: Named, cx: &mut Context<Self>) {
        if self.awaited.contains(&name) {
            return;
        }
        self.awaited.push(name.clone());
        let resolver = self.resolver;
        let found = cx.blocking(move || (resolver(&name.host), name));
        cx.pipe(found, Self::found);
    }

    /// Does what the protocol wants done.
    fn carry_out(&mut self, cx: &mut Context<Self>) {
        let out = self.swim.take();
        let now = cx.system().core().clock.now();
        for (delay, timer) in out.timers {
            self.timers.set(now.after(delay), timer);
        }
        self.await_next(cx);
        for (to, packet) in out.packets {
            self.send(&to.member(), Some(packet), cx);
        }
        if out.changed {
            self.publish(cx);
        }
    }

    /// Takes note of who is up, and connects with who has come; again when the next one is to be told down.
    fn publish(&mut self, cx: &mut Context<Self>) {
        let now = cx.system().core().clock.now();
        let come = self.roster.update(self.swim.up(), now, self.period * GRACE_PERIODS);
        come.iter().for_each(|member| self.send(member, None, cx));
        if !self.settles
            && let Some(due) = self.roster.next_to_go()
        {
            self.settles = true;
            cx.after(due.since(now), Self::settle);
        }
    }

    /// Makes sure of a tick when the first timer is due.
    fn await_next(&mut self, cx: &mut Context<Self>) {
        let Some(due) = self.timers.first_due() else { return };
        if self.next_tick.is_some_and(|(next, _)| next <= due) {
            return;
        }
        if let Some((_, later)) = self.next_tick.take() {
            cx.cancel(later);
        }
        let delay = due.since(cx.system().core().clock.now());
        self.next_tick = Some((due, cx.after(delay, Self::tick)));
    }

    /// Sends a packet, if there is one, by the connection, which is made where there is none. To who has no place in the table none
    /// is while there are twice as many as there may be members.
    fn send(&mut self, to: &Member, packet: Option<Vec<u8>>, cx: &mut Context<Self>) {
        let node = to.identity.node;
        match self.routes.get_mut(&node) {
            Some(Route::Open(peer)) if !peer.is_closed() => {
                packet.into_iter().for_each(|packet| post(peer, packet));
            }
            Some(Route::Opening(waiting)) => {
                if packet.is_some() && waiting.len() >= WAITING_MAX {
                    waiting.pop_front();
                }
                waiting.extend(packet);
            }
            Some(Route::Open(_)) | None => {
                let are_too_many = self.routes.len() >= self.routes_max;
                let are_too_many = planted!("membership-routes-unbounded": are_too_many => false);
                let is_strange = || !self.swim.knows(node) && self.node.peer(node).is_none();
                if are_too_many && is_strange() {
                    return;
                }
                self.routes.insert(node, Route::Opening(packet.into_iter().collect()));
                let open = open(self.node.clone(), node, to.address.clone());
                let open = in_time(cx.system(), self.period * CONNECT_PERIODS, open);
                cx.pipe(async move { (node, open.await) }, Self::opened);
            }
        }
    }

    fn seek_at(&self, address: Address, cx: &mut Context<Self>) {
        if address == self.roster.me().address || self.roster.has(&address) {
            return;
        }
        let meet = meet(self.node.clone(), address);
        cx.pipe(in_time(cx.system(), self.period * CONNECT_PERIODS, meet), Self::met);
    }
}

impl Handle<Leave> for Gossip {
    fn handle(&mut self, _: Leave, cx: &mut Context<Self>) {
        self.swim.leave();
        self.carry_out(cx);
        self.node.withdraw(NAME);
        cx.stop();
    }
}

impl Drop for Gossip {
    fn drop(&mut self) {
        self.roster.end();
    }
}

/// Hands a packet over; lost when there is no room for it.
fn post(peer: &Ref<Gossip>, packet: Vec<u8>) {
    let _ = peer.packet(packet).try_send();
}

/// The actor of another node that speaks the protocol, which some node has told of.
async fn open(node: Node, to: NodeId, address: Address) -> Option<Ref<Gossip>> {
    let peer = match node.peer(to) {
        Some(peer) => peer,
        None => node.connect_told(&address).await.ok()?,
    };
    if peer.identity().node != to {
        return None;
    }
    peer.find::<Gossip>(NAME).await.ok()
}

/// Who is at an address.
async fn meet(node: Node, address: Address) -> Option<(Identity, Address)> {
    let peer = node.connect(&address).await.ok()?;
    Some((peer.identity(), address))
}

async fn in_time<T>(
    system: System,
    span: Duration,
    attempt: impl Future<Output = Option<T>>,
) -> Option<T> {
    system.by(system.deadline(span), attempt).await.flatten()
}

/// The machine's own.
pub(super) fn resolve(host: &str) -> Vec<SocketAddr> {
    host.to_socket_addrs().into_iter().flatten().collect()
}
