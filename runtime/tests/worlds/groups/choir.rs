//! A group and a topic with their singers, and a list of who is in, kept beside them.

use super::PUBLISHERS;
use crate::support::Violations;
use greenroom::{Actor, ActorId, Context, Group, Published, Ref, Topic, handlers};
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// By whom, and the number of it.
pub(super) type Note = (usize, u64);

/// What one note was told to.
struct Told {
    members: BTreeSet<ActorId>,
    told: usize,
    full: usize,
}

#[derive(Default)]
struct Books {
    /// In the group, and on the topic: who came, in that order, and did not leave.
    lists: [Vec<Ref<Singer>>; 2],
    /// Who was asked to end, or to leave once at least.
    asked: BTreeSet<ActorId>,
    left: BTreeSet<ActorId>,
    told: BTreeMap<Note, Told>,
    heard: BTreeMap<ActorId, Vec<Note>>,
    /// Other messages that were accepted, and those of them that were handled.
    accepted: u64,
    handled: u64,
}

/// What was seen of all notes.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// Messages without a good end.
    pub(super) missing: u64,
    pub(super) full: u64,
    /// Notes that were heard by one who had left before.
    pub(super) returns: u64,
}

/// The list of the group, and of the topic.
#[derive(Clone, Copy)]
pub(super) enum List {
    Group,
    Topic,
}

pub(super) struct Choir {
    pub(super) group: Group<Singer>,
    pub(super) topic: Topic<Note>,
    books: Mutex<Books>,
    violations: Violations,
}

/// Each call is over before anybody else has a turn, so that the list changes with what it is a list of.
impl Choir {
    pub(super) fn new(violations: Violations) -> Self {
        let (group, topic, books) = Default::default();
        Self { group, topic, books, violations }
    }

    pub(super) fn join(&self, list: List, singer: &Ref<Singer>) {
        let is_closed = singer.is_closed();
        let is_in = match list {
            List::Group => self.group.join(singer),
            List::Topic => self.topic.subscribe(singer, |singer, note| singer.hear(note)),
        };
        let members = &mut self.books.lock().lists[list as usize];
        let is_right = is_in == (!is_closed && !members.contains(singer));
        self.violations.check(is_right, "who is not in and not ending is let in");
        if is_in {
            members.push(singer.clone());
        }
    }

    pub(super) fn leave(&self, list: List, singer: &Ref<Singer>) {
        let is_closed = singer.is_closed();
        let has_left = match list {
            List::Group => self.group.leave(singer),
            List::Topic => self.topic.unsubscribe(singer),
        };
        let mut books = self.books.lock();
        let members = &mut books.lists[list as usize];
        let is_right = is_closed || has_left == members.contains(singer);
        self.violations.check(is_right, "who is in is let go");
        members.retain(|member| member != singer);
        books.left.insert(singer.id());
    }

    /// A singer was just asked to end.
    pub(super) fn ask_to_end(&self, singer: &Ref<Singer>) {
        self.books.lock().asked.insert(singer.id());
    }

    /// Who is on a list, by what is written here.
    fn members(&self, list: List) -> Vec<Ref<Singer>> {
        let books = self.books.lock();
        let is_in =
            |member: &&Ref<Singer>| !member.is_closed() && !books.asked.contains(&member.id());
        books.lists[list as usize].iter().filter(is_in).cloned().collect()
    }

    pub(super) fn check_members(&self) -> Result<(), String> {
        let (here, there) = (self.members(List::Group), self.group.members());
        let (listed, subscribed) = (self.members(List::Topic).len(), self.topic.subscribers());
        if here == there && listed == subscribed {
            return Ok(());
        }
        Err(format!("{there:?} where {here:?} came, and {subscribed} of {listed} on the topic"))
    }

    /// A note was just told to all on a list.
    pub(super) fn tell(&self, list: List, note: Note, published: Published) {
        let members: BTreeSet<_> = self.members(list).iter().map(Ref::id).collect();
        let Published { told, full, .. } = published;
        let wrong = format_args!("{told} and {full} of {} are told", members.len());
        self.violations.check(told + full == members.len(), wrong);
        self.books.lock().told.insert(note, Told { members, told, full });
    }

    /// A note is about to be told to all on the topic, one after the other.
    pub(super) fn begin_to_tell(&self, note: Note) {
        let members = self.members(List::Topic).iter().map(Ref::id).collect();
        self.books.lock().told.insert(note, Told { members, told: usize::MAX, full: 0 });
    }

    /// It is told to so many.
    pub(super) fn has_told(&self, note: Note, told: usize) {
        if let Some(of_it) = self.books.lock().told.get_mut(&note) {
            of_it.told = told;
        }
    }

    /// Another message was sent, and accepted or not.
    pub(super) fn sent(&self, is_accepted: bool) {
        self.books.lock().accepted += u64::from(is_accepted);
    }

    /// Who is on a list and accepts mail.
    pub(super) fn survivors(&self) -> BTreeSet<ActorId> {
        let both = [List::Group, List::Topic].map(|list| self.members(list));
        both.iter().flatten().map(Ref::id).collect()
    }

    /// Checks that those who are still there have heard all that they were told.
    pub(super) fn settle(&self, survivors: &BTreeSet<ActorId>) -> Seen {
        let books = self.books.lock();
        let mut seen = Seen { missing: books.accepted - books.handled, ..Seen::default() };
        for (note, Told { members, told, full }) in &books.told {
            let has_heard = |member: &&ActorId| {
                books.heard.get(*member).is_some_and(|notes| notes.contains(note))
            };
            let heard: BTreeSet<_> = members.iter().filter(has_heard).copied().collect();
            assert!(heard.len() <= *told && *told <= members.len(), "{note:?}");
            seen.missing += (told - heard.len()) as u64;
            seen.full += *full as u64;
            seen.returns += heard.intersection(&books.left).count() as u64;
            let deaf = members.iter().filter(|id| survivors.contains(id) && !heard.contains(id));
            let deaf = deaf.count();
            assert!(deaf <= *full, "{note:?} was told to {deaf} who did not hear it");
        }
        seen
    }
}

/// Listens.
#[derive(Actor)]
#[actor(mailbox = bounded(3), restart = transient(2 in "1h"))]
pub(super) struct Singer {
    choir: Arc<Choir>,
}

#[handlers]
impl Singer {
    #[start]
    async fn start(choir: Arc<Choir>) -> Self {
        tokio::task::yield_now().await;
        Self { choir }
    }
    #[tell]
    async fn hear(&mut self, note: Note, cx: &mut Context<Self>) {
        if note.1 % 3 == 1 {
            tokio::task::yield_now().await;
        }
        let (me, violations) = (cx.id(), &self.choir.violations);
        let mut books = self.choir.books.lock();
        let is_member = books.told.get(&note).is_some_and(|told| told.members.contains(&me));
        violations.check(is_member, format_args!("{note:?} is for those who were in"));
        let notes = books.heard.entry(me).or_default();
        let last = notes.iter().rev().find(|other| other.0 == note.0);
        let in_order = last.is_none_or(|last| last.1 < note.1);
        violations.check(in_order, format_args!("{note:?} comes after {last:?}, and once"));
        notes.push(note);
    }
    #[tell]
    fn fall(&mut self) {
        panic!("as told");
    }
    /// Ends by itself.
    #[tell]
    fn go(&mut self, cx: &mut Context<Self>) {
        self.choir.books.lock().handled += 1;
        cx.stop();
    }
    /// Joins or leaves by itself.
    #[tell]
    fn change(&mut self, comes: bool, cx: &mut Context<Self>) {
        self.choir.books.lock().handled += 1;
        if comes {
            self.choir.join(List::Group, &cx.me());
        } else {
            self.choir.leave(List::Group, &cx.me());
        }
    }
}

const _: () = assert!(PUBLISHERS > 1, "the topic has publishers of its own");
