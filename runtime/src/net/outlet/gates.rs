//! How the end of an actor of this node is told behind what the actor had sent, which proxies may still have.
//!
//! A mark goes through each proxy behind its mail, and the end is told when all of them are out. A proxy that waits for credit,
//! which its actor may never give, holds up no end: the peer is told that the actor is *held*, and then the end, of which
//! that actor alone is to hear later. [ENV-25]
//!
//! ```text
//!             an end comes                    the mark is out
//!     Open ------------------> Marked -----------------------------> Open; Marked if more ends have come
//!       \                        | no credit
//!        \ an end, no credit     v                the mark is out
//!         '---------- HELD ---> Held ------------ RELEASED --------> Open; Held if more ends have come
//! ```
//!
//! Invariants:
//! 1. In the mailbox of a proxy there is one mark, unless its gate is open. So what they take is bounded, however many actors end.
//! 2. HELD and RELEASED are said under the lock under which a gate changes. So HELD comes before each end that did not wait
//!    there, and never twice.
//! 3. A mark is behind what the actors had sent whose ends it is for. The first one goes in where its actor ends, behind its
//!    mail; where that is somewhere else, as each later one, behind all mail, wherever that is on its way.
//! 4. Of the ends that were told when the first one comes behind a mark, each came before the mark: what their actors had sent
//!    has left when that is out.

use super::routes::Route;
use super::saying::Said;
use super::{Outlet, State};
use crate::net::frame::{ALL_ENDS, Frame};
use crate::net::remote::Fence;
use crate::net::transport::Order;
use crate::sync::{Arc, planted};

/// Where what an actor had sent may be when its end is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::net) enum Sent {
    /// In proxies, or on its way there from the calling worker.
    FromHere,
    /// On its way from any worker.
    FromAnywhere,
}

/// What ends wait for at one proxy.
#[derive(Default)]
pub(super) enum Gate {
    /// Nothing.
    #[default]
    Open,
    /// The mark.
    Marked {
        /// Ends that came before it.
        ahead: Vec<Fence>,
        /// Those that came behind it, and wait for the next one.
        behind: Vec<Fence>,
    },
    /// Nothing: the peer was told that the actor is held, until the mark is out.
    Held {
        /// How many ends were told when the first one came behind the mark, if any did.
        before: Option<u64>,
    },
}

/// What follows when a mark is out.
struct Passed {
    ends: Vec<Fence>,
    /// What the peer is told: how many ends the actor may hear of now.
    released: Option<u64>,
}

/// Ends that do not wait for a proxy any more, because its actor is held, which was said.
pub(super) struct Freed {
    ends: Vec<Fence>,
    said: Said,
}

impl Gate {
    const fn is_open(&self) -> bool {
        matches!(self, Self::Open)
    }

    /// An end comes when so many were told. The gate was open if it is `true`.
    fn come(&mut self, end: &Fence, is_short: bool, told: u64) -> bool {
        match self {
            Self::Open => {
                *self = if is_short {
                    Self::Held { before: None }
                } else {
                    Self::Marked { ahead: vec![end.clone()], behind: Vec::new() }
                };
                return true;
            }
            Self::Marked { behind, .. } => behind.push(end.clone()),
            Self::Held { before } => {
                before.get_or_insert(told);
            }
        }
        false
    }

    /// The proxy waits for credit when so many ends were told: returns those that waited for it.
    fn hold(&mut self, told: u64) -> Vec<Fence> {
        let Self::Marked { ahead, behind } = self else { return Vec::new() };
        let before = (!behind.is_empty()).then_some(told);
        let mut ends = std::mem::take(ahead);
        ends.append(behind);
        *self = Self::Held { before };
        ends
    }

    /// The mark is out. If the gate is not open now, there is to be another one.
    fn pass(&mut self, has_proxy: bool) -> Passed {
        match std::mem::take(self) {
            Self::Open => Passed { ends: Vec::new(), released: None },
            Self::Marked { ahead, behind } if behind.is_empty() => {
                Passed { ends: ahead, released: None }
            }
            Self::Marked { ahead, behind } if has_proxy => {
                *self = Self::Marked { ahead: behind, behind: Vec::new() };
                Passed { ends: ahead, released: None }
            }
            Self::Marked { mut ahead, mut behind } => {
                ahead.append(&mut behind);
                Passed { ends: ahead, released: None }
            }
            Self::Held { before: Some(ends) } if has_proxy => {
                *self = Self::Held { before: None };
                Passed { ends: Vec::new(), released: Some(ends) }
            }
            Self::Held { .. } => Passed { ends: Vec::new(), released: Some(ALL_ENDS) },
        }
    }
}

impl Route {
    /// Whether mail to the actor waits for its credit.
    fn is_short(&self) -> bool {
        planted!("net-end-waits-for-credit": self.waiting.is_some() => false)
    }

    /// Whether ends wait for such mail.
    pub(super) fn holds_ends_up(&self) -> bool {
        self.is_short() && matches!(self.gate, Gate::Marked { .. })
    }
}

impl Outlet {
    /// Lets `end`, of an actor of this node, go when everything has been sent that proxies had accepted before, but for what
    /// waits for credit: the actors that it is for are held.
    pub(in crate::net) fn end_behind_mail(this: &Arc<Self>, end: &Fence, sent: Sent) {
        let mut guard = this.state.lock();
        let state = &mut *guard;
        let mut marks = Vec::new();
        for (actor, route) in &mut state.routes {
            let is_short = route.is_short();
            if let Some(proxy) = &route.proxy
                && route.gate.come(end, is_short, state.told)
            {
                marks.push((*actor, proxy.clone(), is_short));
            }
        }
        let held = marks.iter().filter(|(.., is_short)| *is_short);
        let said: Vec<_> =
            held.map(|(actor, ..)| this.say_last(state, &Frame::Held { actor: *actor })).collect();
        drop(guard);
        Self::finish_held(said);
        for (actor, proxy, _) in marks {
            let mark = Self::mark(this, actor);
            match sent {
                Sent::FromHere => proxy.drop_behind(mark),
                Sent::FromAnywhere => proxy.drop_behind_all(mark),
            }
        }
    }

    /// Says that an actor of this node has ended, behind all that was said before.
    pub(in crate::net) fn say_ended(&self, frame: &Frame<'_>) {
        let mut state = self.state.lock();
        state.told += 1;
        let said = self.say_last(&mut state, frame);
        drop(state);
        self.finish_all([said]);
    }

    /// A proxy waits for credit: from now on no end does.
    pub(super) fn hold(&self, state: &mut State, actor: u64) -> Option<Freed> {
        let ends = state.routes.get_mut(&actor)?.gate.hold(state.told);
        Some(Freed { ends, said: self.say_last(state, &Frame::Held { actor }) })
    }

    /// Tells those ends if they wait for nobody else, with the lock free.
    pub(super) fn let_go(Freed { ends, said }: Freed) {
        Self::finish_held([said]);
        drop(ends);
    }

    /// A mark for a proxy, to be put in with the lock free: one that has ended drops it at once.
    fn mark(this: &Arc<Self>, actor: u64) -> Fence {
        let outlet = this.clone();
        Fence::new(move || Self::passed(&outlet, actor))
    }

    /// The mark is out of a proxy, which has sent all that was in front of it, or has ended.
    fn passed(this: &Arc<Self>, actor: u64) {
        let mut guard = this.state.lock();
        let state = &mut *guard;
        // Or the connection has ended.
        let Some(route) = state.routes.get_mut(&actor) else { return };
        let proxy = route.proxy.clone();
        let Passed { ends, released } = route.gate.pass(proxy.is_some());
        let proxy = proxy.filter(|_| !route.gate.is_open());
        let said = released.map(|ends| this.say_last(state, &Frame::Released { actor, ends }));
        drop(guard);
        this.finish_all(said);
        drop(ends);
        if let Some(proxy) = proxy {
            let mark = Self::mark(this, actor);
            // The actors that have ended meanwhile may have had other workers, between which their last messages are.
            planted!("net-mark-overtakes": proxy.drop_behind_all(mark) => proxy.drop_behind(mark));
        }
    }

    /// Says it behind all that was said before.
    fn say_last(&self, state: &mut State, frame: &Frame<'_>) -> Said {
        self.say_now(state, Order::BehindAll, frame)
    }

    /// One end may cause many of these, of which the peer has caused none. Those that wait are bounded: before there is another
    /// one for an actor it is released, which counts.
    fn finish_held(said: impl IntoIterator<Item = Said>) {
        for said in said {
            // However many frames wait: by these no connection ends.
            let _ = said.finish();
        }
    }

    /// Ends the connection if too much waits, as [`say_or_end`](Self::say_or_end).
    fn finish_all(&self, said: impl IntoIterator<Item = Said>) {
        let unfit = said.into_iter().map(Said::finish).filter(|fits| !fits).count();
        if unfit > 0 {
            self.hang_up();
        }
    }
}
