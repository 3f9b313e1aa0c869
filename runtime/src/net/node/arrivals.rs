//! Links that come: each becomes a connection when nothing is left of the one before it with the same node.
//!
//! That may take long, since what ends with a connection is anybody's code. It is waited for beside the links of other nodes, in
//! one task for each node, whatever that node begins meanwhile: of its links only the last one is kept, as those before
//! it have ended.

use super::{Connected, Shared};
use crate::net::association::{Association, Connection};
use crate::net::identity::NodeId;
use crate::net::outlet::Outlet;
use crate::net::transport::Link;
use crate::sync::{Arc, planted};
use std::collections::BTreeMap;
use std::future::poll_fn;
use std::panic::resume_unwind;
use std::task::{Context, Poll};
use tokio::task::{JoinError, JoinSet};

/// Makes connections of links until there will be none any more.
pub(super) async fn accept(node: Arc<Shared>) {
    let mut arrivals =
        Arrivals { is_over: false, waiting: BTreeMap::new(), parting: JoinSet::new() };
    while let Some(next) = poll_fn(|cx| arrivals.poll_next(&node, cx)).await {
        match next {
            Next::Came(link) => arrivals.take(&node, link),
            Next::Parted(peer) => {
                // Nobody ends such a task while this one waits for it: it has panicked, and so does this one.
                let peer = peer.unwrap_or_else(|error| resume_unwind(error.into_panic()));
                arrivals.waiting.remove(&peer).into_iter().for_each(|link| connect(&node, link));
            }
        }
    }
}

struct Arrivals {
    /// Whether there will be no more links.
    is_over: bool,
    /// The last link of each node of whose former connection something is left.
    waiting: BTreeMap<NodeId, Box<dyn Link>>,
    /// Waits for these ends, for each of those nodes.
    parting: JoinSet<NodeId>,
}

enum Next {
    Came(Box<dyn Link>),
    /// Nothing is left of the former connection.
    Parted(Result<NodeId, JoinError>),
}

impl Arrivals {
    /// What happens next; `None` when nothing will.
    fn poll_next(&mut self, node: &Shared, cx: &mut Context<'_>) -> Poll<Option<Next>> {
        let parted = self.parting.poll_join_next(cx);
        if let Poll::Ready(Some(peer)) = parted {
            return Poll::Ready(Some(Next::Parted(peer)));
        }
        if !self.is_over {
            let Poll::Ready(link) = node.transport.poll_link(cx) else { return Poll::Pending };
            if let Some(link) = link {
                return Poll::Ready(Some(Next::Came(link)));
            }
            self.is_over = true;
            // They will be no connections: whoever is at their other ends hears so now.
            self.waiting.clear();
        }
        parted.map(|_| None)
    }

    fn take(&mut self, node: &Arc<Shared>, link: Box<dyn Link>) {
        let peer = link.peer().node;
        if let Some(waiting) = self.waiting.get_mut(&peer) {
            *waiting = link;
            return;
        }
        // What is left of the old connection comes before anything of the new one.
        match planted!("net-old-not-retired": Shared::part_with(node, peer) => None) {
            Some(former) => {
                self.waiting.insert(peer, link);
                self.parting.spawn(former.ended());
            }
            None => connect(node, link),
        }
    }
}

fn connect(node: &Arc<Shared>, link: Box<dyn Link>) {
    let peer = link.peer().node;
    let outlet = Arc::new(Outlet::new(link, node.clone()));
    let connection = Connection { outlet: outlet.clone(), node: node.clone() };
    let spawn = node.system.spawn::<Association>(connection).on(outlet.worker());
    // Who hears from the association, at whichever end, finds the peer among those that are connected.
    let mut connections = node.connections.lock();
    // Who closes the node has not seen this one; the link goes with the outlet.
    if planted!("net-connects-closing": connections.is_closing => false) {
        return;
    }
    // An error means that the system is ending; as above.
    let Ok(actor) = spawn.start() else { return };
    let (shared, number) = (node.clone(), actor.id().number());
    connections.open.insert(peer, Connected { outlet, actor: actor.clone() });
    drop(connections);
    actor.when_ended(move |_| shared.forget(peer, number));
    node.tell_change();
}

/// A connection of which something may be left while there is a newer link.
pub(super) struct Former {
    pub(super) node: Arc<Shared>,
    pub(super) connected: Connected,
}

impl Former {
    /// Waits until nothing is left of it; says with whom it was.
    async fn ended(self) -> NodeId {
        let Connected { outlet, actor } = &self.connected;
        // Messages of the old connection may wait for room, and are not waited for.
        actor.stop();
        actor.ended().await;
        // Has been done, unless the actor had not begun.
        outlet.close();
        outlet.proxies_ended().await;
        outlet.peer().node
    }
}

impl Drop for Former {
    fn drop(&mut self) {
        self.node.connections.lock().parting -= 1;
        self.node.tell_change();
    }
}
