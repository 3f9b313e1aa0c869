//! What is due: handshakes sent again, keys renewed and dropped, paths asked again.

use super::Endpoint;
use super::event::Ended;
use super::path::Control;
use crate::link::Time;

impl Endpoint {
    /// Does what is due. Call it when [`poll_timeout`](Self::poll_timeout) says so; earlier does no harm.
    pub fn handle_timeout(&mut self, now: Time) {
        if self.deadline.is_none_or(|deadline| now < deadline) {
            return;
        }
        self.deadline = None;
        self.peers.places().for_each(|place| {
            self.attempt_due(place, now);
            self.gave_way_due(place, now);
        });
        let places: Vec<_> = self.associations.iter().map(|it| it.id.place).collect();
        places.into_iter().for_each(|place| self.association_due(place, now));
        self.contacts_due(now);
        let attempts = self.peers.places().flat_map(|place| {
            let peer = self.peers.at(place);
            let again_at = peer.gave_way.as_ref().map(|left| left.again_at);
            peer.attempt.as_ref().map(|attempt| attempt.retry_at).into_iter().chain(again_at)
        });
        let associations = self.associations.iter().filter_map(|it| it.deadline(&self.config));
        let next = attempts.chain(associations).chain(self.contacts.deadline()).min();
        next.into_iter().for_each(|at| self.arm(at));
    }

    fn attempt_due(&mut self, place: u32, now: Time) {
        let due = self.peers.at(place).attempt.as_ref().filter(|attempt| attempt.retry_at <= now);
        let Some(attempt) = due else { return };
        let (to, began) = (attempt.to, attempt.began);
        if now.since(began) < self.config.give_up_after {
            let peer = self.peers.at(place);
            let next = peer.place_after(to);
            // Each address is asked once before any is given more time, so that many of them are all asked.
            let is_round_over = peer.places.first().is_none_or(|first| *first == next);
            let longer = if is_round_over || next == to { 2 } else { 1 };
            let retry_in = (attempt.retry_in * longer).min(self.config.retry_max);
            self.ask_again(place, now, next, began, retry_in);
            return;
        }
        self.give_up_reaching(place);
    }

    /// A peer has not confirmed the handshake that this node had given up its own for. [UDP-25]
    fn gave_way_due(&mut self, place: u32, now: Time) {
        let peer = self.peers.at_mut(place);
        let left = peer.gave_way.take_if(|left| left.again_at <= now);
        let Some(left) = crate::planted!("crossed-forgotten": left => None) else { return };
        if now.since(left.began) >= self.config.give_up_after {
            self.give_up_reaching(place);
            return;
        }
        // Longer than before, or what is asked over a long way is crossed each time before it is confirmed.
        let retry_in = (left.retry_in * 2).min(self.config.retry_max);
        self.ask_again(place, now, left.to, left.began, retry_in);
    }

    fn association_due(&mut self, place: u32, now: Time) {
        let Some(association) = self.associations.at_mut(place) else { return };
        // [UDP-44] What is dropped is wiped.
        let previous = association.previous.take_if(|(_, until)| *until <= now);
        let next = association.next.take_if(|(_, until)| *until <= now);
        let gone = [previous, next].into_iter().flatten().map(|(epoch, _)| epoch.index);
        let gone: Vec<_> = gone.collect();
        let is_newborn = association.current.is_none() && association.next.is_none();
        let is_expired = association
            .current
            .as_ref()
            .is_some_and(|epoch| now.since(epoch.since) >= self.config.reject_after);
        gone.into_iter().for_each(|index| self.indices.remove(index));
        if is_newborn || is_expired {
            self.end(place, now, Ended::Expired);
            return;
        }
        self.rekey_due(place, now);
        self.confirm_due(place, now);
        let Some(association) = self.associations.at_mut(place) else { return };
        if association.candidate.as_ref().is_some_and(|candidate| candidate.due <= now) {
            self.challenge(place, now);
        }
    }

    /// Asks for other keys. [UDP-40]
    fn rekey_due(&mut self, place: u32, now: Time) {
        let Some(association) = self.associations.at_mut(place) else { return };
        if association.renews_at().is_none_or(|at| now < at) {
            return;
        }
        // The peer may have asked since that was set.
        association.want_keys(&self.config, now);
        if association.rekey_at.is_some_and(|at| now < at) {
            return;
        }
        association.rekey_at = None;
        let (peer, to) = (association.peer, association.address);
        if self.peers.at(peer).attempt.is_none() {
            self.ask_again(peer, now, to, now, self.config.retry_first);
        }
    }

    /// Says again that the keys work, until the other side has used them too.
    fn confirm_due(&mut self, place: u32, now: Time) {
        let Some(association) = self.associations.at_mut(place) else { return };
        if association.is_heard() {
            association.confirm = None;
        }
        let Some((_, pause)) = association.confirm.take_if(|(at, _)| *at <= now) else { return };
        let pause = (pause * 2).min(self.config.retry_max);
        association.confirm = Some((now + pause, pause));
        let to = association.address;
        self.control(place, now, to, Control::Confirm);
    }
}
