//! Endpoints talking over a wire that the tests hold in their hands.

mod contacts;
mod crossing;
mod floods;
mod hostile;
mod lifecycle;
mod places;
mod renewals;
mod roaming;
mod secrets;
mod seeking;
mod simulated;
mod world;

use super::harness::*;
use super::*;
use crate::secure::identity::Token;
use crate::secure::packet::watch;
use crate::secure::wire::OVERHEAD_BYTES;

/// What a text that came says.
pub(super) fn text(received: &Received, datagram: &[u8]) -> Option<Vec<u8>> {
    match received {
        Received::Text { text, .. } => Some(datagram[text.clone()].to_vec()),
        _ => None,
    }
}

impl Seeded {
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    pub(super) fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

impl Pair {
    /// Carries what is queued until nothing is; returns how many datagrams that were.
    pub(super) fn settle(&mut self) -> usize {
        let mut carried = 0;
        loop {
            let before = carried;
            while let Some(mut sent) = self.a.poll_transmit() {
                carried += 1;
                self.b.handle(self.now, address(1), &mut sent.packet);
            }
            while let Some(mut sent) = self.b.poll_transmit() {
                carried += 1;
                self.a.handle(self.now, address(2), &mut sent.packet);
            }
            if carried == before {
                return carried;
            }
        }
    }

    /// Connects `a` to `b`, and returns what each calls the association.
    pub(super) fn connect(&mut self) -> (AssociationId, AssociationId) {
        self.a.connect(self.now, &self.b.public(), address(2)).expect("b is allowed");
        self.settle();
        (up(&mut self.a).expect("a is up"), up(&mut self.b).expect("b is up"))
    }

    /// Lets time pass with timers served, and nothing lost.
    pub(super) fn pass(&mut self, until: Time) {
        while self.now < until {
            let due = [&self.a, &self.b].into_iter().filter_map(Endpoint::poll_timeout).min();
            self.now = due.unwrap_or(until).clamp(self.now, until);
            self.a.handle_timeout(self.now);
            self.b.handle_timeout(self.now);
            self.settle();
            if due.is_none_or(|due| due > until) {
                self.now = until;
            }
        }
    }
}
