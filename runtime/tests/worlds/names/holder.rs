//! Actors with names, and what is written down of them.

use super::NAMES;
use crate::support::Violations;
use greenroom::{Actor, ActorId, Context, Ref, SpawnError, StartError, handlers};
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

#[derive(Default)]
struct Books {
    /// Whose incarnation is there, by name.
    there: [Option<ActorId>; NAMES.len()],
    /// Which ticket each actor was started with.
    started_with: BTreeMap<ActorId, u64>,
    /// Whose start failed.
    failed: BTreeSet<ActorId>,
    tickets: u64,
    /// What came of each call, by its ticket.
    outcomes: BTreeMap<u64, Result<ActorId, SpawnError>>,
    early: usize,
    waits: usize,
}

/// What was seen of all.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) actors: usize,
    pub(super) failures: usize,
    /// Calls that found one before its start hook had begun.
    pub(super) early: usize,
    /// Calls that found one that was ending.
    pub(super) waits: usize,
}

/// What outlasts the actors.
pub(super) struct Office {
    books: Mutex<Books>,
    pub(super) violations: Violations,
}

impl Office {
    pub(super) fn new(violations: Violations) -> Self {
        Self { books: Mutex::default(), violations }
    }

    /// Whose incarnation is there.
    pub(super) fn there(&self, name: usize) -> Option<ActorId> {
        self.books.lock().there[name]
    }

    /// What one is started with that is wanted now.
    pub(super) fn ticket(self: &Arc<Self>, name: usize, is_good: bool) -> Ticket {
        let mut books = self.books.lock();
        books.tickets += 1;
        Ticket { number: books.tickets, name, is_good, office: Arc::clone(self) }
    }

    /// A call is about to find who has the name, or whoever comes after it.
    pub(super) fn call(&self, found: Option<&Ref<Holder>>) {
        let mut books = self.books.lock();
        let is_early = found.is_some_and(|holder| !books.started_with.contains_key(&holder.id()));
        books.early += usize::from(is_early);
        books.waits += usize::from(found.is_some_and(Ref::is_closed));
    }

    /// What came of it.
    pub(super) fn called(&self, ticket: u64, outcome: Result<ActorId, SpawnError>) {
        self.books.lock().outcomes.insert(ticket, outcome);
    }

    /// Checks that whoever started an actor got that one, and that all the others got one that somebody started.
    pub(super) fn settle(&self) -> Seen {
        let books = self.books.lock();
        let tickets: BTreeSet<_> = books.started_with.values().collect();
        assert_eq!(tickets.len(), books.started_with.len(), "a ticket is for one actor");
        for (actor, ticket) in &books.started_with {
            match &books.outcomes[ticket] {
                Ok(got) => assert_eq!(got, actor, "who starts one gets that one"),
                Err(SpawnError::StartFailed(text)) if text == "as drawn" => {
                    assert!(books.failed.contains(actor), "{actor:?} did start");
                }
                Err(SpawnError::StartFailed(_)) => {}
                Err(error) => panic!("{error} for who started {actor:?}"),
            }
        }
        let is_failure = |outcome: &&Result<_, _>| outcome.is_err();
        let failures = books.outcomes.values().filter(is_failure).count();
        let Books { early, waits, .. } = *books;
        Seen { actors: books.started_with.len(), failures, early, waits }
    }
}

/// What an actor is started with.
#[derive(Clone)]
pub(super) struct Ticket {
    pub(super) number: u64,
    name: usize,
    /// Whether the start succeeds.
    is_good: bool,
    office: Arc<Office>,
}

/// That an incarnation is there.
struct Presence {
    me: ActorId,
    ticket: Ticket,
}

impl Presence {
    fn new(me: ActorId, ticket: Ticket) -> Self {
        let mut books = ticket.office.books.lock();
        let other = books.there[ticket.name].replace(me);
        let first = *books.started_with.entry(me).or_insert(ticket.number);
        drop(books);
        let violations = &ticket.office.violations;
        violations.check(other.is_none(), format_args!("{me:?} starts while {other:?} is there"));
        violations.check(first == ticket.number, "it starts again with what it was started with");
        Self { me, ticket }
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        let there = self.ticket.office.books.lock().there[self.ticket.name].take();
        self.ticket.office.violations.check(there == Some(self.me), "nobody else is there");
    }
}

#[derive(Actor)]
#[actor(restart = transient(1000 in "1h"))]
pub(super) struct Holder {
    presence: Presence,
}

#[handlers]
impl Holder {
    #[start]
    async fn start(ticket: Ticket, cx: &mut Context<Self>) -> Result<Self, StartError> {
        let presence = Presence::new(cx.id(), ticket);
        tokio::task::yield_now().await;
        if presence.ticket.is_good {
            return Ok(Self { presence });
        }
        presence.ticket.office.books.lock().failed.insert(presence.me);
        Err(StartError::new("as drawn"))
    }
    #[stop]
    async fn stop(&mut self) {
        // It has its name still.
        tokio::task::yield_now().await;
    }
    #[ask]
    fn who(&self) -> ActorId {
        self.presence.me
    }
    #[tell]
    fn fall(&mut self) {
        panic!("as told");
    }
    #[tell]
    fn go(&mut self, cx: &mut Context<Self>) {
        cx.stop();
    }
}
