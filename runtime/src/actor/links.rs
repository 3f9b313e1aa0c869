//! Links: actors that share their fate.
//!
//! Both ends note the link, each under the number that its maker drew. An incarnation that ends breaks
//! its links and tells the other ends, which then fail, unless they trap.

use super::address::Ref;
use super::body::control;
use super::context::Context;
use super::control::{self as orders, Order};
use super::extras::Down;
use super::life;
use super::local::LocalCall;
use super::phase::has_incarnation;
use super::traits::{Behavior, Protocol};
use crate::event::ExitReason;
use crate::sync::planted;
use crate::task::cell::CellRef;
use crate::task::held::Held;
use std::collections::BTreeSet;
use std::fmt;

/// A link as one of its ends knows it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Link {
    /// Unique within the maker's system.
    id: u64,
    /// Whether this end made it: numbers of two systems may be the same.
    is_ours: bool,
    /// The other end.
    peer: CellRef,
}

impl Link {
    /// The same link as the other end knows it.
    fn seen_by_peer(&self, me: CellRef) -> Self {
        Self { id: self.id, is_ours: !self.is_ours, peer: me }
    }
}

/// The links of one incarnation.
#[derive(Default)]
pub(super) struct Links {
    links: Vec<Link>,
    /// What is called instead of failing.
    trap: Option<Box<dyn Fn(Down) + Send>>,
}

impl Links {
    pub(super) fn is_empty(&self) -> bool {
        self.links.is_empty() && self.trap.is_none()
    }

    /// Removes the link; `false` if it was not there, or no longer.
    fn forget(&mut self, link: &Link) -> bool {
        let place = self.links.iter().position(|known| known == link);
        place.map(|place| self.links.swap_remove(place)).is_some()
    }
}

impl fmt::Debug for Links {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.links).finish()
    }
}

impl<A: Behavior> Context<A> {
    /// Shares the fate of `other`: when an incarnation of one of the two fails or is killed, the other one
    /// fails with [`ExitReason::Linked`], and its restart policy or supervisor decides what follows. An
    /// end that [is normal](ExitReason::is_normal) only ends the link.
    ///
    /// The link to an actor of another node works one way: that one does not fail with this one.
    ///
    /// Linking to an actor that has ended fails this one. A second link to the same actor changes nothing.
    pub fn link<P: Protocol>(&mut self, other: &Ref<P>) {
        let peer = other.cell().clone();
        let mut held = self.held();
        let me = held.reference();
        let links = &mut control(&mut held).extras().links.links;
        if peer == me || links.iter().any(|link| link.peer == peer) {
            return;
        }
        let link = Link { id: me.core.next_id(), is_ours: true, peer };
        links.push(link.clone());
        let asked = link.peer.clone();
        orders::send(&link.peer, Order::Link { link: link.seen_by_peer(me), asked });
    }

    /// Ends the link to `other`, whichever of the two made it.
    pub fn unlink<P: Protocol>(&mut self, other: &Ref<P>) {
        let mut held = self.held();
        let me = held.reference();
        let Some(extras) = &mut control(&mut held).extras else { return };
        let is_to_other = |link: &mut Link| link.peer == *other.cell();
        for link in extras.links.links.extract_if(.., is_to_other) {
            orders::send(&link.peer, Order::Unlink(link.seen_by_peer(me.clone())));
        }
    }

    /// From now on the end of a linked actor calls `method` with a [`Down`], whatever the reason, instead
    /// of failing this one; until this incarnation ends.
    pub fn trap<Shape: 'static>(&mut self, method: impl LocalCall<A, Down, Shape>) {
        let call_later = self.caller(method);
        control(&mut self.held()).extras().links.trap = Some(Box::new(call_later));
    }
}

/// A control: somebody shares the actor's fate.
pub(super) fn linked(held: &mut Held, link: Link) {
    control(held).extras().links.links.push(link);
}

/// A control: and no longer.
pub(super) fn unlinked(held: &mut Held, link: &Link) {
    if let Some(extras) = &mut control(held).extras {
        extras.links.forget(link);
    }
}

/// A control: the other end has ended.
pub(super) fn ended(held: &mut Held, link: &Link, reason: ExitReason) {
    let Some(extras) = &mut control(held).extras else { return };
    if !extras.links.forget(link) {
        return;
    }
    if planted!("link-told-twice": link.peer.inbox.is_closed() => false) {
        // For good: a link that never got there has no other news.
        extras.links.links.retain(|known| known.peer != link.peer);
    }
    let actor = link.peer.actor_id();
    if let Some(trap) = &extras.links.trap {
        trap(Down { actor, reason });
        return;
    }
    // What stands for an actor of another node shares nobody's fate.
    let shares = !held.cell().vtable.distant;
    let fails = shares && planted!("link-normal-kills": !reason.is_normal() => true);
    // Between two there is none that could fail.
    if fails && planted!("link-fails-none": has_incarnation(held) => true) {
        life::fail_with(held, ExitReason::Linked { actor, reason: Box::new(reason) }, true);
    }
}

/// `asked` has ended, and was asked for a link: tells who made it.
pub(super) fn refuse(link: &Link, asked: CellRef) {
    let told = link.seen_by_peer(asked);
    orders::send(&link.peer, Order::LinkEnded { link: told, reason: ExitReason::NoActor });
}

/// Ends all links, and tells the other ends the `reason`, which is asked for if there are any.
pub(super) fn break_all(held: &mut Held, reason: impl FnOnce(&mut Held) -> ExitReason) {
    let links = take_all(held);
    if !links.is_empty() {
        let (me, reason) = (held.reference(), reason(held));
        tell_all(links, &me, &reason);
    }
}

/// Ends all links; the other ends are still to be told.
pub(super) fn take_all(held: &mut Held) -> Vec<Link> {
    let extras = &mut control(held).extras;
    extras.as_mut().map_or_else(Vec::new, |extras| std::mem::take(&mut extras.links).links)
}

/// Tells the other ends of the links of `me` that it has ended: once, where both made a link at the same time.
pub(super) fn tell_all(links: Vec<Link>, me: &CellRef, reason: &ExitReason) {
    let mut told = BTreeSet::new();
    for link in links {
        let is_news = planted!("link-told-twice": told.insert(link.peer.as_ptr()) => true);
        let seen = link.seen_by_peer(me.clone());
        let order = match is_news {
            true => Order::LinkEnded { link: seen, reason: reason.clone() },
            false => Order::Unlink(seen),
        };
        orders::send(&link.peer, order);
    }
}
