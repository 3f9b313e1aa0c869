//! How the end of an actor of this node is told behind what the actor had sent, which proxies may still have.
//!
//! Ends go in *rounds*. When one begins, a mark goes through each proxy that may have mail, behind that, and in any case through
//! one, so that the round lasts until that had a turn. When all marks are out, its ends are told, in the order in which they
//! came. Those that come meanwhile are the next round: however many actors end at about the same time, the proxies are gone
//! through twice, and few of them have a turn for it. One that waits for credit, which its actor may never give, holds up
//! no round: the peer is told that the actor is *held*, and then the ends, of which that actor alone is to hear later. [ENV-25]
//!
//! ```text
//!           a round begins                the mark is out
//!     Open ----------------> Marked ---------------------------> Open
//!       \                       | no credit
//!        \ the same, no credit  v        the mark is out
//!         '------ HELD -------> Held ------- RELEASED ---------> Open; Held if a round has begun meanwhile
//! ```
//!
//! Invariants:
//! 1. In the mailbox of a proxy there is one mark, unless its gate is open, and its route lasts until that is out. An end is kept
//!    once. So what they take is bounded, however many actors end and however many proxies there are.
//! 2. HELD and RELEASED are said under the lock under which a gate changes. So HELD comes before each end that did not wait
//!    there, and never twice.
//! 3. A mark is behind what the actors had sent whose ends it is for. Where a round begins with an end, and so where its actor
//!    ends, it goes in behind its mail; where that is somewhere else, as for each later round, behind all mail, wherever that
//!    is on its way.
//! 4. A round begins when the ends of the one before have been told. So of the ends that were told when the first round begins
//!    behind a mark, each came before the mark: what their actors had sent has left when that is out.

use super::routes::Route;
use super::saying::Said;
use super::{Outlet, State};
use crate::net::endings::ConnectionEnd;
use crate::net::frame::{ALL_ENDS, Frame};
use crate::net::remote::{Fence, Proxy};
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

impl Sent {
    /// Whether some of it may be in that proxy, or on its way there.
    fn may_be_in(self, proxy: &dyn Proxy) -> bool {
        let may_be = proxy.may_have_mail(self == Self::FromAnywhere);
        planted!("net-mark-left-out": may_be => false)
    }
}

/// What there is in one proxy.
#[derive(Default)]
pub(super) enum Gate {
    /// No mark.
    #[default]
    Open,
    /// The mark that the round waits for.
    Marked,
    /// A mark that nobody waits for: the peer was told that the actor is held, until it is out.
    Held {
        /// How many ends were told when the first round began behind the mark, if one did.
        before: Option<u64>,
    },
}

/// What follows when a mark is out.
struct Passed {
    /// Whether the round waited for it.
    counts: bool,
    /// What the peer is told: how many ends the actor may hear of now.
    released: Option<u64>,
}

/// The ends that are told next.
#[derive(Default)]
pub(super) struct Round {
    /// Whether there is one.
    is_under_way: bool,
    /// How many marks are to come out; one more while they are put in, so that it does not end before.
    marks: usize,
    ends: Vec<Fence>,
    /// Those that came when it had begun.
    next: Vec<Fence>,
}

/// A round that begins: what is left to do about it when the lock is free.
struct Begun {
    marks: Vec<(u64, Arc<Box<dyn Proxy>>)>,
    /// Of whom it was said that they are held.
    said: Vec<Said>,
}

/// A round that does not wait for a proxy any more, because its actor is held, which was said.
pub(super) struct Freed {
    said: Said,
    /// Its ends, if it waits for nothing else.
    ends: Option<Vec<Fence>>,
}

impl Gate {
    pub(super) const fn is_open(&self) -> bool {
        matches!(self, Self::Open)
    }

    /// A round begins when so many ends were told. The gate was open if it is `true`.
    fn come(&mut self, is_short: bool, told: u64) -> bool {
        match self {
            Self::Open => {
                *self = if is_short { Self::Held { before: None } } else { Self::Marked };
                return true;
            }
            // The round before waits for it, and would have to be over.
            Self::Marked => {}
            Self::Held { before } => {
                before.get_or_insert(told);
            }
        }
        false
    }

    /// The mark is out. If the gate is not open now, there is to be another one.
    fn pass(&mut self, has_proxy: bool) -> Passed {
        match std::mem::take(self) {
            Self::Open => Passed { counts: false, released: None },
            Self::Marked => Passed { counts: true, released: None },
            Self::Held { before: Some(ends) } if has_proxy => {
                *self = Self::Held { before: None };
                Passed { counts: false, released: Some(ends) }
            }
            Self::Held { .. } => Passed { counts: false, released: Some(ALL_ENDS) },
        }
    }
}

impl Round {
    /// A mark is out that it waited for: returns its ends if that was the last one.
    fn mark_out(&mut self) -> Option<Vec<Fence>> {
        // The connection may have ended, and all rounds with it.
        self.marks = self.marks.checked_sub(1)?;
        (self.marks == 0).then(|| std::mem::take(&mut self.ends))
    }
}

impl Route {
    /// Whether mail to the actor waits for its credit.
    fn is_short(&self) -> bool {
        planted!("net-end-waits-for-credit": self.waiting.is_some() => false)
    }

    /// Whether the round waits for such mail.
    pub(super) fn holds_ends_up(&self) -> bool {
        self.is_short() && matches!(self.gate, Gate::Marked)
    }
}

impl Outlet {
    /// Lets `end`, of an actor of this node, go when everything has been sent that proxies had accepted before, but for what
    /// waits for credit: the actors that it is for are held.
    pub(in crate::net) fn end_behind_mail(this: &Arc<Self>, end: Fence, sent: Sent) {
        let mut guard = this.state.lock();
        let state = &mut *guard;
        if state.closed {
            // With the lock free: it says so of itself.
            drop(guard);
            return drop(end);
        }
        // Nobody else has it, so that it is told where its round tells it.
        state.round.next.push(end);
        if std::mem::replace(&mut state.round.is_under_way, true) {
            return;
        }
        let begun = this.begin_round(state, sent);
        drop(guard);
        if let Some(ends) = Self::put_marks(this, begun, sent) {
            Self::end_round(this, ends);
        }
    }

    fn begin_round(&self, state: &mut State, sent: Sent) -> Begun {
        state.round.ends = std::mem::take(&mut state.round.next);
        state.round.marks = 1;
        let (mut marks, mut held) = (Vec::new(), Vec::new());
        for (actor, route) in &mut state.routes {
            let is_short = route.is_short();
            if let Some(proxy) = &route.proxy
                && (state.round.marks == 1 || sent.may_be_in(&***proxy))
                && route.gate.come(is_short, state.told)
            {
                marks.push((*actor, proxy.clone()));
                if is_short {
                    held.push(*actor);
                } else {
                    state.round.marks += 1;
                }
            }
        }
        let said = held.into_iter().map(|actor| self.say_last(state, &Frame::Held { actor }));
        Begun { marks, said: said.collect() }
    }

    /// Returns the ends of the round if it is over with that.
    fn put_marks(this: &Arc<Self>, begun: Begun, sent: Sent) -> Option<Vec<Fence>> {
        Self::finish_held(begun.said);
        for (actor, proxy) in begun.marks {
            let mark = Self::mark(this, actor);
            match sent {
                Sent::FromHere => proxy.drop_behind(mark),
                Sent::FromAnywhere => proxy.drop_behind_all(mark),
            }
        }
        this.state.lock().round.mark_out()
    }

    /// Tells the ends of a round that is over, with the lock free, and goes on to the next one.
    fn end_round(this: &Arc<Self>, mut ends: Vec<Fence>) {
        loop {
            drop(ends);
            let mut state = this.state.lock();
            if state.round.next.is_empty() {
                state.round.is_under_way = false;
                return;
            }
            // The actors that have ended meanwhile may have had other workers, between which their last messages are.
            let sent = planted!("net-mark-overtakes": Sent::FromAnywhere => Sent::FromHere);
            let begun = this.begin_round(&mut state, sent);
            drop(state);
            let Some(next) = Self::put_marks(this, begun, sent) else { return };
            ends = next;
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
        state.routes.get_mut(&actor)?.gate = Gate::Held { before: None };
        let said = self.say_last(state, &Frame::Held { actor });
        Some(Freed { said, ends: state.round.mark_out() })
    }

    /// Goes on with that round, with the lock free.
    pub(super) fn let_go(this: &Arc<Self>, Freed { said, ends }: Freed) {
        Self::finish_held([said]);
        if let Some(ends) = ends {
            Self::end_round(this, ends);
        }
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
        let Passed { counts, released } = route.gate.pass(proxy.is_some());
        let proxy = proxy.filter(|_| !route.gate.is_open());
        let is_over = route.is_over();
        let said = released.map(|ends| this.say_last(state, &Frame::Released { actor, ends }));
        let ends = if counts { state.round.mark_out() } else { None };
        drop(guard);
        this.finish_all(said);
        if is_over {
            this.forget(actor, |_| {});
        }
        if let Some(proxy) = proxy {
            // As for a round that is not the first.
            proxy.drop_behind_all(Self::mark(this, actor));
        }
        if let Some(ends) = ends {
            Self::end_round(this, ends);
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
            self.cut_off(ConnectionEnd::Behind);
        }
    }
}
