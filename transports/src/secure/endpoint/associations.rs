//! The associations by place; a place is used again under another generation.

use super::association::{Association, AssociationId};
use super::config::Config;
use super::epoch::Epoch;
use crate::link::Time;
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

#[derive(Debug, Default)]
pub(super) struct Associations {
    places: Vec<Option<Association>>,
    generations: Vec<u32>,
    free: Vec<u32>,
    /// Those whose peers have proved to be at these addresses.
    by_address: BTreeMap<SocketAddr, u32>,
    /// Under which indices their peers have the current keys. Peers choose them, so several may choose one.
    by_peer_index: BTreeSet<(u32, u32)>,
}

impl Associations {
    /// Where the next one will be.
    pub(super) fn reserve(&mut self) -> AssociationId {
        let place = self.free.pop().unwrap_or_else(|| {
            self.places.push(None);
            self.generations.push(0);
            u32::try_from(self.places.len() - 1).unwrap_or(u32::MAX)
        });
        AssociationId { place, generation: self.generations[place as usize] }
    }

    /// Puts one where it was reserved.
    pub(super) fn fill(&mut self, association: Association) {
        let place = association.id.place as usize;
        self.places[place] = Some(association);
    }

    pub(super) fn remove(&mut self, place: u32) -> Option<Association> {
        let removed = self.places.get_mut(place as usize)?.take()?;
        self.forget_address(place, removed.address);
        if let Some(current) = &removed.current {
            self.by_peer_index.remove(&(current.peer_index, place));
        }
        self.release(place);
        Some(removed)
    }

    /// Renews the keys of an association, as [`Association::renew`].
    pub(super) fn renew(
        &mut self,
        place: u32,
        config: &Config,
        epoch: Epoch,
        now: Time,
    ) -> Option<u32> {
        let association = self.places.get_mut(place as usize)?.as_mut()?;
        if let Some(current) = &association.current {
            self.by_peer_index.remove(&(current.peer_index, place));
        }
        self.by_peer_index.insert((epoch.peer_index, place));
        association.renew(config, epoch, now)
    }

    /// Those whose peers have the current keys under that index.
    pub(super) fn named(&self, peer_index: u32) -> impl Iterator<Item = &Association> {
        let named = self.by_peer_index.range((peer_index, 0)..=(peer_index, u32::MAX));
        named.filter_map(|(_, place)| self.at(*place))
    }

    /// The peer of an association has proved to be where that says, and is no more where it was. Where the peer of another
    /// one is stays that one's: it may be written on a first packet by who is elsewhere.
    pub(super) fn settle(&mut self, place: u32, left: Option<SocketAddr>) {
        left.into_iter().for_each(|left| self.forget_address(place, left));
        if let Some(address) = self.at(place).map(|association| association.address) {
            let first = *self.by_address.entry(address).or_insert(place);
            debug_assert!(self.at(first).is_some(), "whoever is removed is forgotten");
        }
    }

    fn forget_address(&mut self, place: u32, address: SocketAddr) {
        if self.by_address.get(&address) == Some(&place) {
            self.by_address.remove(&address);
        }
    }

    /// The association whose peer has proved to be at an address.
    pub(super) fn settled_at(&self, address: SocketAddr) -> Option<&Association> {
        let place = *self.by_address.get(&address)?;
        crate::planted!("renewals-share": self.at(place) => None)
    }

    /// Gives a reserved place back.
    pub(super) fn release(&mut self, place: u32) {
        self.generations[place as usize] = self.generations[place as usize].wrapping_add(1);
        self.free.push(place);
    }

    pub(super) fn at(&self, place: u32) -> Option<&Association> {
        self.places.get(place as usize)?.as_ref()
    }

    pub(super) fn at_mut(&mut self, place: u32) -> Option<&mut Association> {
        self.places.get_mut(place as usize)?.as_mut()
    }

    pub(super) fn get(&self, id: AssociationId) -> Option<&Association> {
        self.places.get(id.place as usize)?.as_ref().filter(|it| it.id == id)
    }

    pub(super) fn get_mut(&mut self, id: AssociationId) -> Option<&mut Association> {
        self.at_mut(id.place).filter(|it| it.id == id)
    }

    pub(super) fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Association> {
        self.places.iter().flatten()
    }

    #[cfg(any(test, fuzzing))]
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Association> {
        self.places.iter_mut().flatten()
    }
}
