//! What other nodes reach of this one, and what this one has of theirs, by number: so that a reference is sent
//! as numbers, and found again by them.

use super::export::Exported;
use super::identity::Identity;
use crate::event::ActorId;
use crate::sync::{Arc, Mutex};
use crate::system::System;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// Where an actor lives, and the number by which its node knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Home {
    pub(super) identity: Identity,
    pub(super) actor: u64,
}

/// See the [module](self).
pub(super) struct Reach {
    own: Mutex<Own>,
    /// Homes of the actors that proxies stand in for, by the numbers of the proxies.
    abroad: Mutex<BTreeMap<u64, Home>>,
}

#[derive(Default)]
struct Own {
    by_number: BTreeMap<u64, Arc<Box<dyn Exported>>>,
    /// Numbers by actor and protocol: what speaks two protocols is reached by two numbers.
    numbers: BTreeMap<(u64, &'static str), u64>,
}

impl Reach {
    pub(super) fn new() -> Self {
        Self { own: Mutex::new(Own::default()), abroad: Mutex::new(BTreeMap::new()) }
    }

    /// The number of an actor that speaks a protocol, if it is reached by one.
    pub(super) fn known(&self, actor: ActorId, protocol: &'static str) -> Option<u64> {
        self.own.lock().numbers.get(&(actor.number(), protocol)).copied()
    }

    /// The number by which an actor is to be reached.
    pub(super) fn number(&self, system: &System, exported: &dyn Exported) -> u64 {
        let mut own = self.own.lock();
        let actor = exported.id().number();
        let is_taken = own.by_number.contains_key(&actor);
        let new = || if is_taken { system.core().next_id() } else { actor };
        *own.numbers.entry((actor, exported.protocol())).or_insert_with(new)
    }

    /// Lets an actor be reached by a number; `false` if one is already.
    pub(super) fn admit(&self, number: u64, exported: Arc<Box<dyn Exported>>) -> bool {
        match self.own.lock().by_number.entry(number) {
            Entry::Vacant(entry) => {
                entry.insert(exported);
                true
            }
            Entry::Occupied(_) => false,
        }
    }

    /// Puts the actor, with what it understands now, in the place of what is reached by its number.
    pub(super) fn update(&self, number: u64, exported: Arc<Box<dyn Exported>>) {
        let mut own = self.own.lock();
        let before = own.by_number.get_mut(&number).map(|place| std::mem::replace(place, exported));
        // Dropped when the lock is free: it may be the last reference.
        drop(own);
        drop(before);
    }

    /// Who is reached by a number.
    pub(super) fn of(&self, number: u64) -> Option<Arc<Box<dyn Exported>>> {
        self.own.lock().by_number.get(&number).cloned()
    }

    /// Lets nobody be reached by a number.
    pub(super) fn forget(&self, number: u64) {
        let mut own = self.own.lock();
        let Some(exported) = own.by_number.remove(&number) else { return };
        own.numbers.remove(&(exported.id().number(), exported.protocol()));
        // Dropped when the lock is free: it may be the last reference.
        drop(own);
        drop(exported);
    }

    /// Notes what a proxy stands in for.
    pub(super) fn settle(&self, proxy: ActorId, home: Home) {
        self.abroad.lock().insert(proxy.number(), home);
    }

    /// Forgets a proxy.
    pub(super) fn unsettle(&self, proxy: ActorId) {
        self.abroad.lock().remove(&proxy.number());
    }

    /// What a proxy stands in for, as long as that lasts.
    pub(super) fn abroad(&self, proxy: ActorId) -> Option<Home> {
        self.abroad.lock().get(&proxy.number()).copied()
    }
}
