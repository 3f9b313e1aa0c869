//! The ends of actors that the peer has found, of which it is told, and what is kept of them after that.
//!
//! Messages of the peer may be on their way to an actor when it ends, so what is known of it is kept until the peer has
//! heard of its end, and has said so.
//!
//! An actor may outlive any number of connections that it was found on. What it keeps for one of them leads there only
//! until the session ends, also where the actor is too busy to be told to forget it.

use super::Session;
use crate::actor::WatchId;
use crate::event::ExitReason;
use crate::net::export::Exported;
use crate::net::frame::Frame;
use crate::net::outlet::{Outlet, Sent};
use crate::net::reason;
use crate::net::remote::Fence;
use crate::net::transport::Order;
use crate::sync::{Arc, Mutex, planted};

/// Actors at most that have ended and of which the peer has not heard; the first of them are forgotten before the peer
/// has said so, which then must not have anything on its way to them. [ENV-12]
const ENDED_MAX: usize = 65_536;

/// See the [module](self).
pub(super) struct Ends(Mutex<State>);

struct State {
    /// `None` when the session has ended.
    outlet: Option<Arc<Outlet>>,
    /// Of whose end the peer was told.
    ended: Vec<u64>,
}

impl Ends {
    pub(super) fn new(outlet: Arc<Outlet>) -> Arc<Self> {
        Arc::new(Self(Mutex::new(State { outlet: Some(outlet), ended: Vec::new() })))
    }

    /// Tells the peer when an actor has ended that it knows by that number.
    pub(super) fn watch(this: &Arc<Self>, number: u64, actor: &dyn Exported) -> WatchId {
        let ends = this.clone();
        actor.when_ended(Box::new(move |down| Self::tell(&ends, number, down.reason)))
    }

    fn tell(this: &Arc<Self>, actor: u64, reason: ExitReason) {
        let Some(outlet) = this.0.lock().outlet.clone() else { return };
        // Who had ended before it was watched is told of where that is found out, and not where it had lived.
        let had_ended = reason == ExitReason::NoActor;
        let sent = if had_ended { Sent::FromAnywhere } else { Sent::FromHere };
        // Behind all that the actor has sent to that node, which proxies may still have. [ENV-12]
        let (ends, speaker) = (this.clone(), outlet.clone());
        let fence = Fence::new(move || {
            let (how, text) = reason::written(&reason);
            let frame = Frame::Ended { actor, how, text: &text };
            // Before the peer can answer.
            ends.0.lock().ended.push(actor);
            speaker.say_ended(&frame);
        });
        if planted!("net-ended-overtakes": true => false) {
            let sent = planted!("net-late-end-overtakes": sent => Sent::FromHere);
            Outlet::end_behind_mail(&outlet, fence, sent);
        }
    }

    /// The session ends: nobody is told any more.
    pub(super) fn close(&self) {
        let outlet = self.0.lock().outlet.take();
        // Dropped when the lock is free.
        drop(outlet);
    }
}

impl Session {
    /// Notes who has ended since. Those of whom the peer does not say that it has heard are forgotten one day.
    pub(super) fn note_ends(&mut self) {
        let ended = std::mem::take(&mut self.ends.0.lock().ended);
        for actor in ended {
            if let Some(inlet) = self.inlets.get_mut(&actor) {
                inlet.has_ended = true;
                self.ended.push_back(actor);
            }
        }
        while let Some(first) = self.ended.front() {
            let inlet = self.inlets.get(first);
            let is_over = inlet.is_none_or(|inlet| self.ended.len() > ENDED_MAX && inlet.is_idle());
            if !is_over {
                break;
            }
            if let Some(first) = self.ended.pop_front() {
                self.forget(first);
            }
        }
    }

    /// The peer has heard of the end of an actor, and says nothing more to it; `false` if it cannot have heard. [ENV-12]
    pub(super) fn part(&mut self, correlation: u64, actor: u64) -> bool {
        self.note_ends();
        match self.inlets.get_mut(&actor) {
            Some(inlet) if !inlet.has_ended || inlet.parting.is_some() => false,
            Some(inlet) => {
                inlet.parting = Some(correlation);
                self.forget_if_over(actor)
            }
            None => self.parted(correlation),
        }
    }

    /// Forgets an actor if the peer has heard of its end and all that it said to it is settled.
    pub(super) fn forget_if_over(&mut self, actor: u64) -> bool {
        let inlet = self.inlets.get(&actor).filter(|inlet| inlet.is_idle());
        let Some(correlation) = inlet.and_then(|inlet| inlet.parting) else { return true };
        self.forget(actor);
        self.parted(correlation)
    }

    fn forget(&mut self, actor: u64) {
        self.inlets.remove(&actor);
        self.behind.forget(actor);
        // One that was found before its start was told is told of still.
        if self.children.get(&actor).is_some_and(|child| child.told.is_some()) {
            self.children.remove(&actor);
        }
    }

    /// Behind all that was said of the actor: the peer forgets it, too.
    fn parted(&self, correlation: u64) -> bool {
        self.outlet.say(Order::BehindAll, &Frame::NotFound { correlation, speaks: "" })
    }
}
