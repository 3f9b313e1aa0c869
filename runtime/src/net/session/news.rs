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
use crate::event::ExitReason;
use crate::net::outlet::Outlet;
use crate::net::remote::Fence;
use crate::sync::{Arc, Mutex, planted};
use crate::task::cell::CellRef;
use std::collections::BTreeMap;
use std::task::Waker;

/// See the [module](self).
pub(super) struct News {
    /// What is told to whom when it is dropped; `None` when the session has ended, which has parted with all messages.
    untold: Mutex<Option<Vec<(CellRef, Fence)>>>,
    /// That of the session.
    waker: Waker,
}

impl News {
    pub(super) fn new(waker: &Waker) -> Arc<Self> {
        Arc::new(Self { untold: Mutex::new(Some(Vec::new())), waker: waker.clone() })
    }

    fn bring(&self, to: CellRef, fence: Fence) {
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
        let is_held = planted!("net-end-passes-parked": !self.held.is_empty() => false);
        let detour = is_held.then(|| {
            let news = self.news.clone();
            Detour::new(move |to, tell| news.bring(to, Fence::new(tell)))
        });
        Outlet::actor_ended(&self.outlet, actor, reason, detour)
    }

    /// Parks what has come for those who have messages that wait, and tells the others.
    pub(in crate::net) fn take_news(&mut self) {
        let untold = self.news.untold.lock().as_mut().map(std::mem::take).unwrap_or_default();
        if untold.is_empty() {
            return;
        }
        // One may be held under two numbers, for two protocols, and hears of it behind both.
        let mut held = BTreeMap::<_, Vec<_>>::new();
        for number in self.held.iter() {
            let address = self.inlets.get(&number).map(|inlet| address(inlet.actor.cell()));
            held.entry(address).or_default().push(number);
        }
        for (to, fence) in untold {
            for number in held.get(&Some(address(&to))).into_iter().flatten() {
                let inlet = self.inlets.get_mut(number);
                inlet.into_iter().for_each(|inlet| inlet.parked.put(fence.clone()));
            }
        }
    }
}

/// Which actor it is, among all that there are.
fn address(cell: &CellRef) -> usize {
    cell.as_ptr().addr().get()
}
