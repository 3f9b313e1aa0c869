//! Who is up, and what is told of it.

use super::gossip::{Gossip, Leave};
use crate::actor::Ref;
use crate::event::{SUBSCRIBER_BACKLOG, Subscription};
use crate::net::{Address, Identity, NodeId};
use crate::sync::{Arc, Mutex};
use crate::time::Time;
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;
use tokio::sync::broadcast;

/// A node of the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Which node, and which run of it: a node that starts anew is another member.
    pub identity: Identity,
    /// Where others reach it.
    pub address: Address,
}

/// What happened to another node of the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MemberEvent {
    /// It is a member from now on.
    Up(Member),
    /// It is none any more: it left, did not answer, or has started anew, in which case `Up` with its new
    /// incarnation follows.
    Down(Member),
}

/// A subscription to [`MemberEvent`]s.
pub type MemberStream = Subscription<MemberEvent>;

/// A node's view of who is in its cluster. Cloning gives another handle.
#[derive(Clone)]
pub struct Members {
    pub(super) roster: Arc<Roster>,
    pub(super) gossip: Ref<Gossip>,
}

impl Members {
    /// This node.
    #[must_use]
    pub fn me(&self) -> &Member {
        &self.roster.me
    }

    /// Who is up as far as this node knows, itself included, in the order of their ids.
    #[must_use]
    pub fn members(&self) -> Vec<Member> {
        let others = self.roster.others.lock();
        let mut all: Vec<_> = others.up.values().cloned().collect();
        drop(others);
        all.push(self.me().clone());
        all.sort_by_key(|member| member.identity);
        all
    }

    /// What happens to other members from now on. Who subscribes first and then looks at
    /// [`Members::members`] misses nothing.
    #[must_use]
    pub fn subscribe(&self) -> MemberStream {
        let others = self.roster.others.lock();
        // Nobody finds out any more when the actor has ended: then the stream is over.
        let events = others
            .events
            .as_ref()
            .map_or_else(|| broadcast::Sender::new(1).subscribe(), broadcast::Sender::subscribe);
        Subscription::new(events)
    }

    /// Tells the others that this node leaves, and takes no part any more. Ready when they were told, as far as
    /// they are connected; [`Node::close`](crate::net::Node::close) then waits until it has been sent.
    pub async fn leave(&self) {
        // An error means that it has ended.
        let _ = self.gossip.tell(Leave).await;
        self.gossip.ended().await;
    }
}

impl fmt::Debug for Members {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.members()).finish()
    }
}

/// What the actor has found out, for all handles.
pub(super) struct Roster {
    me: Member,
    others: Mutex<Others>,
}

struct Others {
    up: BTreeMap<NodeId, Member>,
    /// Who has been declared down, and until when it is not told: it may say that it lives.
    going: BTreeMap<NodeId, Time>,
    /// `None` when nobody finds out any more.
    events: Option<broadcast::Sender<MemberEvent>>,
}

impl Roster {
    pub(super) fn new(me: Member) -> Self {
        let events = Some(broadcast::Sender::new(SUBSCRIBER_BACKLOG));
        Self {
            me,
            others: Mutex::new(Others { up: BTreeMap::new(), going: BTreeMap::new(), events }),
        }
    }

    /// This node.
    pub(super) const fn me(&self) -> &Member {
        &self.me
    }

    /// Whether this very incarnation is up.
    pub(super) fn is_up(&self, identity: Identity) -> bool {
        let others = self.others.lock();
        others.up.get(&identity.node).is_some_and(|member| member.identity == identity)
    }

    /// Whether anybody is up who is reached there.
    pub(super) fn has(&self, address: &Address) -> bool {
        let others = self.others.lock();
        others.up.values().any(|member| member.address == *address)
    }

    pub(super) fn is_alone(&self) -> bool {
        self.others.lock().up.is_empty()
    }

    /// Takes note of who is up at `now`, and tells what is new; returns who has come. That somebody is down is
    /// told when it has been so for `grace`.
    pub(super) fn update(
        &self,
        up: impl Iterator<Item = Member>,
        now: Time,
        grace: Duration,
    ) -> Vec<Member> {
        let mut up: BTreeMap<_, _> = up.map(|member| (member.identity.node, member)).collect();
        let mut guard = self.others.lock();
        let others = &mut *guard;
        others.going.retain(|node, _| !up.contains_key(node));
        for (node, member) in &others.up {
            if up.contains_key(node) {
                continue;
            }
            if now < *others.going.entry(*node).or_insert_with(|| now.after(grace)) {
                up.insert(*node, member.clone());
            } else {
                others.going.remove(node);
            }
        }
        let before = std::mem::replace(&mut others.up, up);
        // In this order: whoever has started anew is down before it is up.
        for (node, member) in &before {
            if others.up.get(node) != Some(member) {
                others.tell(MemberEvent::Down(member.clone()));
            }
        }
        let is_new = |(node, member): &(&NodeId, &Member)| before.get(node) != Some(member);
        let come: Vec<_> = others.up.iter().filter(is_new).map(|(_, one)| one.clone()).collect();
        for member in &come {
            others.tell(MemberEvent::Up(member.clone()));
        }
        come
    }

    /// When the next one is to be told down, if it does not say that it lives.
    pub(super) fn next_to_go(&self) -> Option<Time> {
        self.others.lock().going.values().min().copied()
    }

    /// Nobody finds out any more.
    pub(super) fn end(&self) {
        let mut others = self.others.lock();
        others.up.clear();
        others.events = None;
    }
}

impl Others {
    fn tell(&self, event: MemberEvent) {
        if let Some(events) = &self.events {
            // An error means that nobody listens.
            let _ = events.send(event);
        }
    }
}
