//! Who looks on, message by message, once a test has asked for a message of some kind.
//!
//! An envelope does not say who sent it, and is not to cost more for a test's sake. But a world runs one
//! actor at a time: what a lane has more after a turn, was sent by the one whose turn it was. So each lane
//! has a twin here that knows the senders. Where actors live on one worker each, mail is on its way for a
//! while, and nobody knows whose it was; nor where the oldest message is dropped, as lanes do not show which went.

use super::incarnation::Incarnation;
use super::world::World;
use crate::actor::Sight;
use crate::event::ActorId;
use crate::queue::node::Node;
use crate::task::cell::{CellRef, Header};
use crate::task::home::Home;
use crate::task::witness::Witness;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::ptr::{self, NonNull};

/// How many of the last messages seen a failure lists.
const SEEN_MAX: usize = 20;

/// An actor of some node: the address of what its system shares, and its number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Party(usize, u64);

impl Party {
    pub(super) fn of(header: &Header) -> Self {
        Self(ptr::from_ref(&*header.core).addr(), header.id)
    }
}

/// Where a message came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    Actor(Party),
    /// A task of the world, or the test itself.
    Outside,
    /// It was there before anybody looked on, or is no mail, or was carried from worker to worker, or waited where the
    /// oldest message is dropped.
    Unknown,
}

/// Says whether a message is the one that is looked for.
pub(super) type Wanted = Box<dyn Fn(&Sight<'_>, Origin) -> bool>;

/// See the [module](self).
#[derive(Default)]
pub(super) struct Spectator(RefCell<Inside>);

#[derive(Default)]
struct Inside {
    lanes: BTreeMap<Party, VecDeque<Origin>>,
    names: BTreeMap<Party, ActorId>,
    wanted: Option<Wanted>,
    was_found: bool,
    seen: VecDeque<String>,
}

impl Spectator {
    /// Looks for a message from now on.
    pub(super) fn look_for(&self, wanted: Wanted) {
        let mut inside = self.0.borrow_mut();
        inside.wanted = Some(wanted);
        inside.was_found = false;
        inside.seen.clear();
    }

    /// Whether the message was handed to its receiver.
    pub(super) fn has_found(&self) -> bool {
        self.0.borrow().was_found
    }

    /// Looks for nothing any more; what was seen meanwhile.
    pub(super) fn look_away(&self) -> Vec<String> {
        let mut inside = self.0.borrow_mut();
        inside.wanted = None;
        std::mem::take(&mut inside.seen).into()
    }

    /// Notes that the lane of an actor has so many messages, of which the new ones are of `origin`.
    fn note(&self, of: &Header, queued: usize, origin: Origin) {
        let origin = if of.home() == Home::ANY { origin } else { Origin::Unknown };
        let mut inside = self.0.borrow_mut();
        inside.names.entry(Party::of(of)).or_insert_with(|| of.actor_id());
        let lane = inside.lanes.entry(Party::of(of)).or_default();
        // What is gone was discarded.
        let gone = lane.len().saturating_sub(queued);
        lane.drain(..gone);
        lane.resize(queued, origin);
    }
}

/// Counts for the world what an actor is handed, and shows it to the spectator, if there is one.
#[derive(Clone, Copy)]
pub(super) struct Onlooker<'a> {
    pub(super) handled: &'a Cell<u64>,
    pub(super) spectator: Option<&'a Spectator>,
}

impl Witness for Onlooker<'_> {
    #[inline]
    fn sees(self, to: &CellRef, node: NonNull<Node>) {
        self.handled.set(self.handled.get() + 1);
        if let Some(spectator) = self.spectator {
            spectator.see(to, node);
        }
    }
}

impl Spectator {
    fn see(&self, to: &CellRef, node: NonNull<Node>) {
        let inside = &mut *self.0.borrow_mut();
        // SAFETY: who runs the actor holds its token, owns the node, and waits for this call.
        let sight = unsafe { Sight::of(to, node) };
        let mut origin = Origin::Unknown;
        if sight.is_queued()
            && let Some(lane) = inside.lanes.get_mut(&Party::of(to))
        {
            // What nobody has noted came in this very turn, which is the receiver's own.
            origin = lane.pop_front().unwrap_or(Origin::Actor(Party::of(to)));
        }
        if !sight.is_mail() {
            return;
        }
        if sight.is_in_window() {
            origin = Origin::Unknown;
        }
        let line = inside.describe(&sight, origin);
        inside.seen.push_back(line);
        if inside.seen.len() > SEEN_MAX {
            inside.seen.pop_front();
        }
        inside.was_found |= inside.wanted.as_ref().is_some_and(|wanted| wanted(&sight, origin));
    }
}

impl Inside {
    fn describe(&self, sight: &Sight<'_>, origin: Origin) -> String {
        let somebody = || "somebody".to_owned();
        let from = match origin {
            Origin::Actor(party) => {
                self.names.get(&party).map_or_else(somebody, ActorId::to_string)
            }
            Origin::Outside => "outside".to_owned(),
            Origin::Unknown => somebody(),
        };
        format!("{} from {from} to {}", short(sight.name()), sight.receiver().actor_id())
    }
}

/// The name of a type without its path.
pub(super) fn short(name: &str) -> &str {
    let path = name.split('<').next().unwrap_or(name);
    path.rsplit("::").next().unwrap_or(path)
}

impl World {
    /// Notes what lanes have got: since the last time, it was `origin` who sent.
    pub(super) fn survey(&self, origin: Origin) {
        let Some(spectator) = &self.spectator else { return };
        for life in self.nodes.iter().filter_map(|node| node.life.as_ref()) {
            life.look_into_lanes(|header, queued| spectator.note(header, queued, origin));
        }
    }

    /// As [`World::survey`], after the turn of an actor of a node.
    pub(super) fn survey_after(&self, life: &Incarnation, number: u64) {
        let party = Party(life.core_address(), number);
        self.survey(Origin::Actor(party));
    }
}
