//! The ways to the actors of the other node: how they are found, opened and lost, and what stands in for them.

use super::gates::Gate;
use super::{Finding, Letter, NotFound, Outlet, State};
use crate::actor::Detour;
use crate::event::{DeadLetterReason, ExitReason, Undelivered};
use crate::net::frame::Frame;
use crate::net::reach::Home;
use crate::net::remote::{self, Fence, Proxy};
use crate::net::transport::Order;
use crate::sync::{Arc, planted};
use std::task::Waker;

/// Actors at most that a connection reaches because messages named them.
const OPENED_MAX: usize = 16_384;

/// Actors at most that have ended and of which the peer may still say something; one that leaves more is cut off. As many
/// as frames may wait: who ends that many at a time says so in as many.
const ENDED_MAX: usize = 65_536;

/// Marks the number of a search for an actor that is to be started, so that an answer says what to do with it when nobody
/// waits for it any more.
const START: u64 = 1 << 63;

/// What somebody searches for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::net) enum Wanted {
    /// An actor that there is.
    Present,
    /// One that is to be started.
    New,
}

/// A search that somebody waits for, until this is dropped: then nothing is kept of it.
#[must_use]
pub(in crate::net) struct Searching<'a> {
    outlet: &'a Outlet,
    number: u64,
}

impl Drop for Searching<'_> {
    fn drop(&mut self) {
        self.outlet.give_up_search(self.number);
    }
}

/// Somebody waits for word of an actor.
pub(super) struct Search {
    /// Which one, if it is known.
    pub(super) actor: Option<u64>,
    pub(super) finding: Finding,
}

/// What is known of an actor at the other end.
#[derive(Default)]
pub(super) struct Route {
    pub(super) sent: u64,
    /// How many of them were told and refused.
    refused: u64,
    /// How many messages may have been sent altogether.
    pub(super) granted: u64,
    /// Its proxy, if that waits for credit.
    pub(super) waiting: Option<Waker>,
    /// For ends that are to be told behind its mail.
    pub(super) gate: Gate,
    /// How many frames were submitted when the last message to it was.
    pub(super) served: u64,
    pub(super) proxy: Option<Arc<Box<dyn Proxy>>>,
    /// For reports on its mail: that of the proxy, which is gone when the actor has ended.
    pub(super) letter: Option<Letter>,
    /// Whether a message named it, and counts it.
    pub(super) is_opened: bool,
    /// Whether it was started for this node.
    pub(super) is_child: bool,
    pub(super) ended: Option<ExitReason>,
    /// Whether the peer says nothing more of it.
    pub(super) is_parted: bool,
}

impl Route {
    /// Whether nothing is left of an actor that has ended: the peer says nothing more of it, nothing stands in for it any more,
    /// and what did has let its mark go.
    pub(super) fn is_over(&self) -> bool {
        self.is_parted && self.proxy.is_none() && self.gate.is_open()
    }
}

impl State {
    /// Whether an answer may come to that search, for which nobody waits: to as many as were given up. Actors that are found
    /// so are known until they end, and may not be more.
    fn takes_late(&mut self, number: u64) -> bool {
        let takes = self.given_up > 0 && number & !START <= self.correlation;
        self.given_up -= u64::from(takes);
        takes
    }
}

impl Outlet {
    /// The peer refused a message that was told; `false` if its actor was never found, or fewer were sent to it.
    pub(in crate::net) fn refused(&self, actor: u64, why: Undelivered) -> bool {
        let mut state = self.state.lock();
        let Some(route) = state.routes.get_mut(&actor) else { return false };
        route.refused += 1;
        let was_sent = planted!("net-refused-unsent": route.refused <= route.sent => true);
        let Some(letter) = route.letter.filter(|_| was_sent) else { return false };
        drop(state);
        self.report(letter, DeadLetterReason::Undelivered(why));
        true
    }

    /// Asks the other node for an actor by the frame that `ask` makes for the number of the search.
    pub(in crate::net) fn search<'a>(
        &self,
        wanted: Wanted,
        ask: impl FnOnce(u64) -> Frame<'a>,
        finding: Finding,
    ) -> Searching<'_> {
        let mut state = self.state.lock();
        if state.closed {
            drop(state);
            finding(Err(NotFound::NodeDown));
            return Searching { outlet: self, number: 0 };
        }
        state.correlation += 1;
        let mark = if wanted == Wanted::New { START } else { 0 };
        let number = state.correlation | mark;
        state.finds.insert(number, Search { actor: None, finding });
        drop(state);
        self.say_or_end(Order::Free, &ask(number));
        Searching { outlet: self, number }
    }

    /// Nobody waits for the outcome of a search any more, if it has none yet.
    fn give_up_search(&self, number: u64) {
        let mut state = self.state.lock();
        let search = state.finds.remove(&number);
        state.given_up += u64::from(search.is_some());
        // What it holds is dropped when the lock is free.
        drop(state);
        drop(search);
    }

    /// Notes that an actor was started for this node, which may stop it.
    pub(in crate::net) fn adopt(&self, actor: u64) {
        if let Some(route) = self.state.lock().routes.get_mut(&actor) {
            route.is_child = true;
        }
    }

    /// Stops an actor that was started for this node; `false` if it was not, or has ended.
    pub(in crate::net) fn stop(&self, actor: u64) -> bool {
        let state = self.state.lock();
        let route = state.routes.get(&actor);
        let is_child = route.is_some_and(|route| route.is_child && route.ended.is_none());
        drop(state);
        if is_child {
            self.say_or_end(Order::Free, &Frame::Stop { actor });
        }
        is_child
    }

    /// Makes a way to an actor that a message has named, and asks its node to let this one use it; `false` if
    /// there are too many. [ENV-13]
    pub(in crate::net) fn open(this: &Arc<Self>, protocol: &str, actor: u64) -> bool {
        let mut state = this.state.lock();
        if state.closed || state.routes.contains_key(&actor) {
            return true;
        }
        if state.opened >= OPENED_MAX {
            return false;
        }
        state.opened += 1;
        state.routes.insert(actor, Route { is_opened: true, ..Route::default() });
        state.correlation += 1;
        let (correlation, outlet) = (state.correlation, this.clone());
        let finding = Box::new(move |outcome: Result<u64, NotFound>| {
            if matches!(outcome, Err(NotFound::NoSuchName | NotFound::Speaks(_))) {
                Self::not_there(&outlet, actor);
            }
        });
        state.finds.insert(correlation, Search { actor: Some(actor), finding });
        // There are fewer such frames than the backlog holds. Whoever sees the way may say more of it, behind this.
        let frame = Frame::Open { correlation, actor, protocol };
        let said = this.say_now(&mut state, Order::Free, &frame);
        drop(state);
        said.finish()
    }

    /// Ends a search; `false` if there was none. [ENV-10]
    pub(in crate::net) fn found(&self, number: u64, outcome: Result<(u64, u32), NotFound>) -> bool {
        let mut state = self.state.lock();
        let search = state.finds.remove(&number);
        if search.is_none() && !state.takes_late(number) {
            return false;
        }
        let is_unwanted = search.is_none() && number & START != 0;
        let mut waiting = None;
        let outcome = outcome.map(|(actor, window)| {
            let route = state.routes.entry(actor).or_default();
            route.granted = route.granted.max(window.into());
            route.is_child |= is_unwanted;
            waiting = route.waiting.take();
            actor
        });
        drop(state);
        waiting.into_iter().for_each(Waker::wake);
        let Some(Search { actor: wanted, finding }) = search else {
            if let (true, Ok(actor)) = (is_unwanted, outcome) {
                self.stop(actor);
            }
            return true;
        };
        let is_other = outcome.as_ref().is_ok_and(|actor| wanted.is_some_and(|it| it != *actor));
        finding(outcome);
        !is_other
    }

    /// Grants messages to an actor, altogether; `false` if it was never found.
    pub(in crate::net) fn grant(&self, actor: u64, messages: u64) -> bool {
        let mut state = self.state.lock();
        let Some(route) = state.routes.get_mut(&actor) else { return false };
        route.granted = route.granted.max(messages);
        let waiting = route.waiting.take();
        drop(state);
        waiting.into_iter().for_each(Waker::wake);
        true
    }

    /// The peer says that an actor has ended; `false` if it was never found, or has ended before, or if too many have. Who
    /// watches it is told by way of `detour`, if there is one.
    pub(in crate::net) fn actor_ended(
        this: &Arc<Self>,
        actor: u64,
        reason: ExitReason,
        detour: Option<Detour>,
    ) -> bool {
        Self::end(this, actor, reason, detour) && Self::part(this, actor)
    }

    /// The peer says that an actor which a message has named is not there.
    fn not_there(this: &Arc<Self>, actor: u64) {
        // One that was found, too, has ended since: the peer says so, and nothing more after that.
        let is_found = this.state.lock().routes.get(&actor).is_some_and(|route| route.granted > 0);
        if !is_found && Self::end(this, actor, ExitReason::NoActor, None) {
            this.forget(actor, |route| route.is_parted = true);
        }
    }

    fn end(this: &Arc<Self>, actor: u64, reason: ExitReason, detour: Option<Detour>) -> bool {
        let mut state = this.state.lock();
        let Some(route) = state.routes.get_mut(&actor).filter(|route| route.ended.is_none()) else {
            return false;
        };
        route.ended = Some(reason.clone());
        let (waiting, proxy) = (route.waiting.take(), route.proxy.clone());
        state.ended += 1;
        let fits = state.ended <= ENDED_MAX;
        drop(state);
        if let Some(proxy) = proxy {
            Self::part_with(this, actor, &proxy, reason, detour);
        }
        waiting.into_iter().for_each(Waker::wake);
        fits
    }

    /// Says that nothing more is said to an actor that has ended: with the answer, nothing more comes of it. [ENV-12]
    fn part(this: &Arc<Self>, actor: u64) -> bool {
        let mut state = this.state.lock();
        state.correlation += 1;
        let (correlation, outlet) = (state.correlation, this.clone());
        let finding = Box::new(move |_: Result<u64, NotFound>| {
            outlet.forget(actor, |route| route.is_parted = true);
        });
        state.finds.insert(correlation, Search { actor: Some(actor), finding });
        drop(state);
        this.say(Order::Within(actor), &Frame::Open { correlation, actor, protocol: "" })
    }

    /// Notes something of an actor that has ended, and forgets it if nothing is left of it.
    pub(super) fn forget(&self, actor: u64, note: impl FnOnce(&mut Route)) {
        let mut state = self.state.lock();
        let Some(route) = state.routes.get_mut(&actor) else { return };
        note(route);
        let is_over = route.is_over();
        if planted!("net-ended-kept": !is_over => true) {
            return;
        }
        state.opened -= usize::from(route.is_opened);
        state.ended -= 1;
        state.routes.remove(&actor);
    }

    /// Ends what stands in for an actor that has ended, and forgets it when nothing is left of it.
    fn part_with(
        this: &Arc<Self>,
        actor: u64,
        proxy: &Arc<Box<dyn Proxy>>,
        reason: ExitReason,
        detour: Option<Detour>,
    ) {
        remote::end(&this.node, &***proxy, reason, detour);
        let outlet = this.clone();
        proxy.when_ended(Box::new(move || {
            let mut proxy = None;
            outlet.forget(actor, |route| proxy = route.proxy.take());
            // Dropped when the lock is free.
            drop(proxy);
        }));
    }

    /// Waits until nothing is left of the proxies, after [`close`](Self::close).
    pub(in crate::net) async fn proxies_ended(&self) {
        let parting = std::mem::take(&mut self.state.lock().parting);
        for proxy in planted!("net-proxies-outlive": parting => Vec::new()) {
            proxy.ended().await;
        }
    }

    /// What stands in for an actor: the proxy that there is, or the one that is made now.
    pub(in crate::net) fn proxy<T: 'static>(
        &self,
        actor: u64,
        make: impl FnOnce() -> Option<Arc<Box<dyn Proxy>>>,
        read: impl FnOnce(&dyn Proxy) -> Option<T>,
    ) -> Option<T> {
        let mut state = self.state.lock();
        if state.closed {
            return None;
        }
        let route = state.routes.get_mut(&actor);
        let Some(route) = route.filter(|route| route.ended.is_none()) else {
            // It has ended, and is perhaps forgotten.
            let proxy = make()?;
            remote::end(&self.node, &**proxy, ExitReason::NoActor, None);
            return read(&**proxy);
        };
        if route.proxy.is_none() {
            let proxy = make()?;
            let letter = proxy.letter();
            route.letter = Some(letter);
            self.node.reach().settle(letter.0, Home { identity: self.link.peer(), actor });
            route.proxy = Some(proxy);
        }
        read(&***route.proxy.as_ref()?)
    }

    /// Lets `fence` go when everything has been sent that proxies had accepted before, from whomever.
    pub(in crate::net) fn fence(&self, fence: &Fence) {
        let state = self.state.lock();
        let proxies: Vec<_> =
            state.routes.values().filter_map(|route| route.proxy.clone()).collect();
        drop(state);
        // With the lock free: one that has ended drops it at once, and what it still had with it.
        for proxy in proxies {
            proxy.drop_behind_all(fence.clone());
        }
    }
}
