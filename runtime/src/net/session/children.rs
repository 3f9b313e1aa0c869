//! Actors that were started for the peer.

use super::Session;
use crate::net::export::Exported;
use crate::net::frame::Frame;
use crate::net::limit;
use crate::net::node::Shared;
use crate::net::spawn::{ARGUMENTS_BYTES_MAX, Begun, Orphans, RemoteSpawnError, Spawns, Started};
use crate::net::transport::Order;
use crate::sync::{Arc, planted};

/// Actors at most that live here because one node started them, by whichever connection. [ENV-14]
const CHILDREN_MAX: usize = 4096;

/// An actor that was started for the peer.
pub(super) struct Child {
    pub(super) actor: Arc<Box<dyn Exported>>,
    orphans: Orphans,
    /// By which number one finds out whether what the peer was told of its start has [left](crate::net::outlet::Outlet::has_left),
    /// if it was told.
    pub(super) told: Option<u64>,
}

/// A start hook that is done.
pub(super) struct Start {
    correlation: u64,
    actor: u64,
    outcome: Result<(), RemoteSpawnError>,
}

impl Session {
    /// Starts an actor for the peer. [ENV-14]
    pub(super) fn spawn(
        &mut self,
        correlation: u64,
        protocol: &str,
        name: &str,
        arguments: &[u8],
    ) -> bool {
        match self.begin(protocol, name, arguments) {
            Ok((actor, started)) => {
                self.starts
                    .spawn(async move { Start { correlation, actor, outcome: started.await } });
                true
            }
            Err(why) => self.not_spawned(correlation, &why),
        }
    }

    fn begin(
        &mut self,
        protocol: &str,
        name: &str,
        arguments: &[u8],
    ) -> Result<(u64, Started), RemoteSpawnError> {
        let allowed = limit::allow([&mut None, &mut self.limit], || self.outlet.core().clock.now());
        if planted!("net-starts-unlimited": !allowed => false) {
            return Err(RemoteSpawnError::OverLimit);
        }
        let spawns = self.node.spawns().lock();
        let (allowed, kept) = (spawns.of(name, protocol), spawns.kept(self.outlet.peer().node));
        drop(spawns);
        if self.children.len() + kept >= CHILDREN_MAX {
            self.forget_children();
        }
        if self.children.len() + kept >= CHILDREN_MAX {
            return Err(RemoteSpawnError::OverLimit);
        }
        let allowed = allowed.ok_or(RemoteSpawnError::NotAllowed)?;
        // Or as many actors as there may be could hold as many of the longest frames.
        if planted!("net-arguments-unbounded": arguments.len() > ARGUMENTS_BYTES_MAX => false) {
            return Err(RemoteSpawnError::BadArguments);
        }
        let Begun { actor, started } = allowed.begin(&self.outlet, arguments)?;
        let number = self.node.reach().number(&self.node.system(), &**actor);
        Shared::admit(&self.node, number, &actor);
        self.children.insert(number, Child { actor, orphans: allowed.orphans(), told: None });
        Ok((number, started))
    }

    /// Tells the peer how a start went. That too much is to be said, the next frame meets, too.
    pub(super) fn started(&mut self, Start { correlation, actor, outcome }: Start) {
        let Some(child) = self.children.get_mut(&actor) else { return };
        match outcome {
            Ok(()) => {
                let child = child.actor.clone();
                let (_, told) = self.give_found(correlation, actor, &child);
                // Who has closed the connection hears nothing more.
                if self.closing.is_none()
                    && let Some(child) = self.children.get_mut(&actor)
                {
                    child.told = Some(told);
                }
            }
            Err(why) => {
                self.children.remove(&actor);
                self.not_spawned(correlation, &why);
            }
        }
    }

    fn not_spawned(&self, correlation: u64, why: &RemoteSpawnError) -> bool {
        let (why, text) = why.written();
        self.outlet.say(Order::Free, &Frame::NotSpawned { correlation, why, text })
    }

    /// Forgets those that have ended, also where the peer does not say that it has heard so. One that is being stopped has not: a
    /// handler or a stop hook may take long.
    fn forget_children(&mut self) {
        self.note_ends();
        let inlets = &self.inlets;
        let has_ended = |number: &u64, child: &Child| {
            let ended = inlets.get(number).is_none_or(|inlet| inlet.has_ended);
            planted!("net-stopping-uncounted": ended => child.actor.is_closed())
        };
        self.children.retain(|number, child| child.told.is_none() || !has_ended(number, child));
    }

    /// Stops those that do not outlive the connection, and those of whose start the peer was not told, or of which nothing has left:
    /// nobody there has a reference to them. All are counted until they have ended.
    pub(super) fn part_with_children(&self) {
        for child in self.children.values() {
            let orphans = planted!("net-orphans-kept": child.orphans => Orphans::Keep);
            let is_told = child.told.is_some_and(
                |told| planted!("net-told-unsent": self.outlet.has_left(told) => true),
            );
            let is_told = planted!("net-untold-kept": is_told => true);
            if orphans == Orphans::Stop || !is_told {
                child.actor.stop();
            }
            Spawns::keep(&self.node, self.outlet.peer().node, &**child.actor);
        }
    }
}
