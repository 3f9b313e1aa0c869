//! Who watches an actor of the peer, and has messages of the peer here that wait for room, hears of its end behind those.
//!
//! ```text
//! ENDED -> proxy ends -> a watcher here that is held -> news -> parked behind its messages -> Down
//!                     -> any other watcher -------------------------------------------------> Down
//! ```
//!
//! The others are told at once: what one actor has no time for is no matter of theirs.

use super::Session;
use crate::actor::Detour;
use crate::event::{ActorId, ExitReason};
use crate::net::outlet::Outlet;
use crate::net::remote::Fence;
use crate::sync::{Arc, Mutex, planted};
use std::task::Waker;

/// See the [module](self).
pub(super) struct News {
    /// What is told to whom when it is dropped; `None` when the session has ended, which has parted with all messages.
    untold: Mutex<Option<Vec<(ActorId, Fence)>>>,
    /// That of the session.
    waker: Waker,
}

impl News {
    pub(super) fn new(waker: &Waker) -> Arc<Self> {
        Arc::new(Self { untold: Mutex::new(Some(Vec::new())), waker: waker.clone() })
    }

    fn bring(&self, to: ActorId, fence: Fence) {
        let late = match &mut *self.untold.lock() {
            Some(untold) => {
                untold.push((to, fence));
                None
            }
            None => Some(fence),
        };
        self.waker.wake_by_ref();
        // With the lock free: it is told here.
        drop(late);
    }

    pub(super) fn close(&self) {
        let untold = self.untold.lock().take();
        // As above.
        drop(untold);
    }
}

impl Session {
    /// An actor of the peer has ended; `false` if the peer must not say so.
    pub(super) fn ended(&self, actor: u64, reason: ExitReason) -> bool {
        let nobody_is_held = planted!("net-end-passes-parked": self.held.is_empty() => true);
        let detour = (!nobody_is_held).then(|| {
            let news = self.news.clone();
            Detour::new(move |to, tell| news.bring(to, Fence::new(tell)))
        });
        Outlet::actor_ended(&self.outlet, actor, reason, detour)
    }

    /// Parks what has come for those who have messages that wait, and tells the others.
    pub(super) fn take_news(&mut self) {
        let untold = self.news.untold.lock().as_mut().map(std::mem::take);
        for (to, fence) in untold.into_iter().flatten() {
            for number in &self.held {
                let inlet = self.inlets.get_mut(number).filter(|inlet| inlet.actor.id() == to);
                // It may be held under two numbers, for two protocols, and hears of it behind both.
                inlet.into_iter().for_each(|inlet| inlet.parked.put(fence.clone()));
            }
        }
    }
}
