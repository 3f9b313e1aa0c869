//! The ends of actors that the peer has found, of which it is told.
//!
//! An actor may outlive any number of connections that it was found on. What it keeps for one of them leads there only
//! until the session ends, also where the actor is too busy to be told to forget it.

use crate::actor::WatchId;
use crate::event::ExitReason;
use crate::net::export::Exported;
use crate::net::frame::Frame;
use crate::net::outlet::Outlet;
use crate::net::reason;
use crate::net::remote::Fence;
use crate::net::transport::Order;
use crate::sync::{Arc, Mutex, planted};

/// See the [module](self).
pub(super) struct Ends {
    /// `None` when the session has ended.
    outlet: Mutex<Option<Arc<Outlet>>>,
}

impl Ends {
    pub(super) fn new(outlet: Arc<Outlet>) -> Arc<Self> {
        Arc::new(Self { outlet: Mutex::new(Some(outlet)) })
    }

    /// Tells the peer when an actor has ended that it knows by that number.
    pub(super) fn watch(this: &Arc<Self>, number: u64, actor: &dyn Exported) -> WatchId {
        let ends = this.clone();
        actor.when_ended(Box::new(move |down| ends.tell(number, down.reason)))
    }

    fn tell(&self, actor: u64, reason: ExitReason) {
        let Some(outlet) = self.outlet.lock().clone() else { return };
        // Behind all that the actor has sent to that node, which proxies may still have. [ENV-12]
        let speaker = outlet.clone();
        let fence = Fence::new(move || {
            let (how, text) = reason::written(&reason);
            let frame = Frame::Ended { actor, how, text: &text };
            speaker.say(Order::BehindAll, &frame);
        });
        if planted!("net-ended-overtakes": true => false) {
            outlet.fence(&fence);
        }
    }

    /// The session ends: nobody is told any more.
    pub(super) fn close(&self) {
        let outlet = self.outlet.lock().take();
        // Dropped when the lock is free.
        drop(outlet);
    }
}
