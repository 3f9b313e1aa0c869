//! What is said of nodes that are not reached, and of those that this one refuses: seldom, and only what is new.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::{Duration, Instant};

use greenroom_transports::config::Peer;
use greenroom_transports::secure::audit::{Entry, What};
use greenroom_transports::secure::key::PublicKey;
use greenroom_transports::secure::reject::Reject;
use greenroom_transports::udp::Udp;

use super::say;

/// How long a node is not reached before it is said: not all start at once.
const PATIENCE: Duration = Duration::from_secs(10);
/// Between two lines about one thing at least.
const PAUSE: Duration = Duration::from_secs(60);

/// How often a node comes or goes within that time at most before it is no longer said.
const CHANGES_MAX: u32 = 10;

/// What wrong keys and other versions look like to the node that refuses them; other reasons are of the network's making.
const REFUSALS: [Reject; 5] =
    [Reject::Version, Reject::Suite, Reject::Mac1, Reject::Handshake, Reject::Peer];

/// A node that is not reached.
#[derive(Debug)]
pub(super) struct Unreached {
    /// When something may be said.
    due: Instant,
    said: String,
}

impl Unreached {
    pub(super) fn new(now: Instant) -> Self {
        Self { due: now + PATIENCE, said: String::new() }
    }

    /// Notes why an attempt failed; `true` if that is to be said.
    pub(super) fn note(&mut self, now: Instant, why: &str) -> bool {
        let is_news = now >= self.due && why != self.said;
        if is_news {
            self.due = now + PAUSE;
            why.clone_into(&mut self.said);
        }
        is_news
    }
}

/// What nodes are called, by their keys.
#[derive(Debug)]
pub(super) struct Names(BTreeMap<PublicKey, String>);

impl Names {
    pub(super) fn of(peers: &[Peer]) -> Self {
        let name = |peer: &Peer| peer.name.clone().unwrap_or_else(|| peer.key.to_string());
        Self(peers.iter().map(|peer| (peer.key, name(peer))).collect())
    }

    /// What is to be said of keys that two programs have; of each once.
    fn shared_keys<'a>(&mut self, entries: impl Iterator<Item = &'a Entry>) -> Vec<String> {
        let shared = entries.filter_map(|entry| {
            let What::SharedKey { peer, other } = entry.what else { return None };
            let name = self.0.remove(&peer)?;
            let one = entry.address.map_or_else(String::new, |one| format!(" at {one} and"));
            Some(format!(
                "the key of node {name} is in use{one} at {other}, by two programs: make another for one of \
                 them, by greenroom keygen"
            ))
        });
        shared.collect()
    }
}

/// A node that comes and goes: of that nothing more is said when it was often lately, but how it is in the end.
#[derive(Debug)]
pub(super) struct Changes {
    since: Instant,
    count: u32,
    /// What was not said of it.
    unsaid: Option<&'static str>,
}

impl Changes {
    pub(super) const fn new(now: Instant) -> Self {
        Self { since: now, count: 0, unsaid: None }
    }

    /// The node has come or gone; what is to be said of it.
    pub(super) fn note(&mut self, now: Instant, what: &'static str) -> Option<&'static str> {
        if now >= self.end() {
            *self = Self::new(now);
        }
        self.count += 1;
        self.unsaid = (self.count >= CHANGES_MAX).then_some(what);
        match self.count {
            ..CHANGES_MAX => Some(what),
            CHANGES_MAX => Some("comes and goes; no more is said of that for a while"),
            _ => None,
        }
    }

    /// When something is to be said, unless the node comes or goes once more.
    pub(super) fn due(&self) -> Option<Instant> {
        self.unsaid.map(|_| self.end())
    }

    /// What is to be said of it by now, although it has neither come nor gone.
    pub(super) fn after_all(&mut self, now: Instant) -> Option<&'static str> {
        let what = self.unsaid.filter(|_| now >= self.end())?;
        *self = Self::new(now);
        Some(what)
    }

    fn end(&self) -> Instant {
        self.since + PAUSE
    }
}

/// Says once in a while how many datagrams of other nodes were refused, and why; and of which node the key is in two
/// places.
pub(super) async fn watch(udp: Udp, mut names: Names) {
    let mut said = [0; REFUSALS.len()];
    loop {
        tokio::time::sleep(PATIENCE).await;
        for text in udp.audit(|audit| names.shared_keys(audit.entries())) {
            say(format_args!("{text}"));
        }
        let counts = udp.audit(|audit| REFUSALS.map(|reason| audit.rejected(reason)));
        if let Some(news) = news(&said, &counts) {
            say(format_args!("refused {news}; greenroom doctor shows the keys of a node's file"));
            said = counts;
            tokio::time::sleep(PAUSE - PATIENCE).await;
        }
    }
}

/// By how many the counts have grown, with the reasons.
fn news(before: &[u64; REFUSALS.len()], now: &[u64; REFUSALS.len()]) -> Option<String> {
    let mut text = String::new();
    for ((reason, before), now) in REFUSALS.iter().zip(before).zip(now) {
        if now > before {
            let comma = if text.is_empty() { "" } else { ", " };
            // A `String` takes everything.
            let _ = write!(text, "{comma}{} ({reason})", now - before);
        }
    }
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use greenroom_transports::link::Time;
    use std::collections::BTreeSet;

    #[test]
    fn that_a_node_comes_and_goes_is_not_said_for_ever() {
        let start = Instant::now();
        let mut changes = Changes::new(start);
        let mut note = |seconds| changes.note(start + Duration::from_secs(seconds), "is up");
        let said: Vec<_> = (0..40).filter_map(&mut note).collect();
        assert_eq!(said.len(), 10);
        assert!(said[..9].iter().all(|said| *said == "is up"), "{said:?}");
        assert!(said[9].starts_with("comes and goes"));
        assert_eq!(note(60), Some("is up"));
    }

    #[test]
    fn how_a_node_is_in_the_end_is_said_once() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut changes = Changes::new(start);
        for second in 0..10 {
            assert_eq!((changes.due(), changes.after_all(at(second))), (None, None));
            changes.note(at(second), "is up");
        }
        changes.note(at(10), "is down");
        assert_eq!(changes.due(), Some(at(60)));
        assert_eq!(changes.after_all(at(59)), None);
        assert_eq!(changes.after_all(at(60)), Some("is down"));
        assert_eq!((changes.due(), changes.after_all(at(200))), (None, None));
        assert_eq!(changes.note(at(201), "is up"), Some("is up"));
    }

    #[test]
    fn a_key_in_two_places_is_said_once() {
        let key = PublicKey([7; 32]);
        let name = Some("two".to_owned());
        let peer = Peer { name, key, address: None, roles: BTreeSet::new() };
        let mut names = Names::of(&[peer]);
        let what = What::SharedKey { peer: key, other: "192.0.2.2:7".parse().unwrap() };
        let address = Some("192.0.2.1:7".parse().unwrap());
        let entries = [Entry { at: Time::default(), address, what }; 3];
        let said = names.shared_keys(entries.iter());
        let expected = "the key of node two is in use at 192.0.2.1:7 and at 192.0.2.2:7, by two programs: make another \
                        for one of them, by greenroom keygen";
        assert_eq!(said, [expected]);
        assert_eq!(names.shared_keys(entries.iter()), Vec::<String>::new());
    }

    #[test]
    fn what_is_wrong_is_said_once_and_again_when_it_changes() {
        let start = Instant::now();
        let mut node = Unreached::new(start);
        let mut note = |seconds, why| node.note(start + Duration::from_secs(seconds), why);
        assert!(!note(9, "no such name"));
        assert!(note(10, "no such name"));
        assert!(!note(200, "no such name"));
        assert!(note(201, "no answer"));
        assert!(!note(202, "no such name"), "it may change with each attempt");
        assert!(note(261, "no such name"));
    }

    #[test]
    fn refusals_are_told_by_reason() {
        assert_eq!(news(&[4, 0, 0, 0, 0], &[4, 0, 0, 0, 0]), None);
        let told = news(&[4, 0, 1, 0, 0], &[4, 0, 13, 0, 2]);
        assert_eq!(told.as_deref(), Some("12 (not meant for this node), 2 (unknown node)"));
    }
}
