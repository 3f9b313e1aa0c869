//! What was sent and what was delivered, and the rules that must hold between the two.

use greenroom_transports::link::{Address, Envelope, Fate};
use std::collections::BTreeMap;

type Sent = (Envelope, Vec<u8>);

/// All messages of a run, by the end they were sent from, and by pair.
#[derive(Debug, Default)]
pub(crate) struct History {
    sent: [BTreeMap<(Address, Address), Vec<Sent>>; 2],
    /// How many of each pair's messages were delivered at the other end.
    delivered: [BTreeMap<(Address, Address), usize>; 2],
    accepted: [u64; 2],
}

impl History {
    pub(crate) fn on_sent(&mut self, from: usize, envelope: &Envelope, payload: &[u8]) {
        let pair = (envelope.from, envelope.to);
        self.sent[from].entry(pair).or_default().push((*envelope, payload.to_vec()));
        self.accepted[from] += 1;
    }

    /// A message is delivered at the end `to`: it has to be the next one of its pair, as it was
    /// sent. So none is delivered twice (G1), out of order (G2) or after a hole (G3).
    pub(crate) fn on_delivered(&mut self, to: usize, envelope: &Envelope, payload: &[u8]) {
        let pair = (envelope.from, envelope.to);
        let count = self.delivered[1 - to].entry(pair).or_default();
        let sent = self.sent[1 - to].get(&pair).and_then(|sent| sent.get(*count));
        let Some((head, bytes)) = sent else {
            panic!("G1: {envelope:?} was delivered, but only {count} were sent");
        };
        assert_eq!(head, envelope, "G2: message {count} of its pair has another envelope");
        assert!(bytes == payload, "G2, G3: message {count} of {pair:?} is another one");
        *count += 1;
    }

    /// Everything that was taken from an end has arrived at the other.
    pub(crate) fn check_all_delivered(&self, from: usize) {
        for (pair, sent) in &self.sent[from] {
            let delivered = self.delivered[from].get(pair).copied().unwrap_or(0);
            assert_eq!(delivered, sent.len(), "messages of {pair:?}");
        }
    }

    /// At a break: what is not reported was delivered, and what was delivered of what is reported
    /// was reported as unsure (G7).
    pub(crate) fn check_reported(&self, from: usize, reported: &[(Envelope, Vec<u8>, Fate)]) {
        let mut by_pair: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for (envelope, payload, fate) in reported {
            let pair = (envelope.from, envelope.to);
            by_pair.entry(pair).or_default().push((*envelope, payload, *fate));
        }
        for (pair, sent) in &self.sent[from] {
            let delivered = self.delivered[from].get(pair).copied().unwrap_or(0);
            let reported = by_pair.remove(pair).unwrap_or_default();
            for (index, (envelope, payload)) in sent.iter().enumerate() {
                let found =
                    reported.iter().find(|(head, bytes, _)| (head, *bytes) == (envelope, payload));
                match found {
                    None => assert!(index < delivered, "G3: {index} of {pair:?} is gone"),
                    Some((.., Fate::Unsent)) => {
                        assert!(index >= delivered, "G7: {index} of {pair:?} was delivered unsent");
                    }
                    Some((.., Fate::MaybeDelivered)) => {}
                }
            }
        }
        assert!(by_pair.is_empty(), "reported, but never taken: {by_pair:?}");
    }

    /// How many messages an end's lane has taken.
    pub(crate) fn accepted(&self, from: usize) -> u64 {
        self.accepted[from]
    }

    /// How many messages from an end were delivered.
    pub(crate) fn delivered(&self, from: usize) -> u64 {
        self.delivered[from].values().map(|count| *count as u64).sum()
    }
}
