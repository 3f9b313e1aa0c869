//! What is said of nodes that are not reached, and of those that this one refuses: seldom, and only what is new.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use greenroom_transports::secure::reject::Reject;
use greenroom_transports::udp::Udp;

use super::say;

/// How long a node is not reached before it is said: not all start at once.
const PATIENCE: Duration = Duration::from_secs(10);
/// Between two lines about one thing at least.
const PAUSE: Duration = Duration::from_secs(60);

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

/// Says once in a while how many datagrams of other nodes were refused, and why.
pub(super) async fn watch(udp: Udp) {
    let mut said = [0; REFUSALS.len()];
    loop {
        tokio::time::sleep(PATIENCE).await;
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
