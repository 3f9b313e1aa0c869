//! Every limit of this layer, with its default and its unit.

use crate::secure::entropy::NoEntropy;
use crate::secure::limit::Rate;
use crate::secure::wire::Suite;
use std::time::Duration;

/// The limits. The defaults are WireGuard's where it has one.
#[derive(Clone, Debug)]
pub struct Config {
    /// The handshake this node begins, unless [`require_hybrid`](Self::require_hybrid) says more.
    pub suite: Suite,
    /// Whether a handshake without ML-KEM is neither begun nor accepted.
    pub require_hybrid: bool,
    /// How many lanes this node has, at most 255.
    pub lanes: u8,
    /// The longest datagram this node takes, in bytes.
    pub datagram_bytes_max: u16,
    /// How many bytes may be under way to this node in each lane. [`Udp::bind`](crate::udp::Udp::bind) says a quarter of what
    /// its socket may hold.
    pub window_bytes: u64,
    /// How many associations there may be, those not yet confirmed included. Nodes that were met by the cluster key have at
    /// most half of them.
    pub associations_max: usize,
    /// How many first contacts may wait for their third message, and how many of ours for an answer. When half of the former
    /// are there, a cookie is asked for.
    pub contacts_max: usize,
    /// How many nodes may be allowed because they were met by the cluster key. One more takes the place of one that nothing
    /// was under way with for [`reject_after`](Self::reject_after). Those that the owner allows always fit.
    pub met_max: usize,
    /// How many datagrams of handshakes may wait to be sent; of more, the oldest are dropped. Of what anybody may call forth
    /// without end, half as many.
    pub transmits_max: usize,
    /// How many handshakes and first contacts one /32 or /64 may ask for before it is asked for a cookie;
    /// how many with one; and how many resets it may call forth.
    pub source_rate: Rate,
    /// How many of them the peer of an association may ask for from where it is: so many without a cookie and so many with
    /// one. Renewals are due every two minutes, and are asked for again after [`retry_first`](Self::retry_first) and ever
    /// longer pauses. Low, as all peers may be behind one address.
    pub renewal_rate: Rate,
    /// From how many handshakes of all sources on cookies are asked for.
    pub load_rate: Rate,
    /// For how long cookies are then asked for.
    pub load_hold: Duration,
    /// How many sets of four prefixes each table of sources has.
    pub source_sets: usize,
    /// How many entries the audit ring has.
    pub audit_entries: usize,
    /// At which age the one that began renews the keys.
    pub rekey_after: Duration,
    /// After how many packets of one lane.
    pub rekey_packets: u64,
    /// After how many bytes of one lane.
    pub rekey_bytes: u64,
    /// At which age nothing is sealed or opened under keys any more.
    pub reject_after: Duration,
    /// For how long packets under the last keys are still opened, once one under the new ones has come.
    pub linger: Duration,
    /// For how long an answered handshake waits for the first packet under its keys, unless it renews others, which are
    /// good for as long as they are.
    pub confirm_within: Duration,
    /// After which time a first handshake message is sent again; doubled each time.
    pub retry_first: Duration,
    /// The longest time until it is sent again.
    pub retry_max: Duration,
    /// After which time a handshake is given up.
    pub give_up_after: Duration,
}

/// An endpoint is not made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// There is no randomness for keys.
    #[error(transparent)]
    NoEntropy(#[from] NoEntropy),
    /// ML-KEM is asked for and not built in: that is the feature `pq`.
    #[error("handshakes with ML-KEM are not built in")]
    NoHybrid,
    /// A limit under which nothing would work, or for which there is no memory.
    #[error("the limit {0} is out of range")]
    Limit(&'static str),
    /// Keys would be refused before they are renewed.
    #[error("rekey_after must be shorter than reject_after")]
    Rekey,
}

/// Sets of sources at most: 64 MiB in each of three tables.
const SOURCE_SETS_MAX: usize = 1 << 20;
/// Entries of the audit ring at most.
const AUDIT_ENTRIES_MAX: usize = 1 << 20;

impl Config {
    /// The handshake that this node begins. [UDP-23]
    pub(super) fn suite(&self) -> Suite {
        if self.require_hybrid { Suite::Hybrid } else { self.suite }
    }

    /// How many associations there may be with nodes that were met by the cluster key alone. [UDP-75]
    pub(super) fn met_associations_max(&self) -> usize {
        self.associations_max.div_ceil(2)
    }

    pub(super) fn check(&self) -> Result<(), StartError> {
        if !cfg!(feature = "pq") && self.suite() == Suite::Hybrid {
            return Err(StartError::NoHybrid);
        }
        if self.rekey_after >= self.reject_after {
            return Err(StartError::Rekey);
        }
        let limits = [
            ("lanes", self.lanes > 0),
            ("associations_max", self.associations_max > 0),
            ("rekey_packets", self.rekey_packets > 0),
            ("rekey_bytes", self.rekey_bytes > 0),
            ("source_sets", (1..=SOURCE_SETS_MAX).contains(&self.source_sets)),
            ("audit_entries", self.audit_entries <= AUDIT_ENTRIES_MAX),
        ];
        let wrong = limits.iter().find(|(_, is_right)| !is_right);
        wrong.map_or(Ok(()), |(name, _)| Err(StartError::Limit(name)))
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            suite: if cfg!(feature = "pq") { Suite::Hybrid } else { Suite::Classic },
            require_hybrid: false,
            lanes: 1,
            datagram_bytes_max: 1452,
            window_bytes: 1 << 20,
            associations_max: 4096,
            contacts_max: 64,
            met_max: 4096,
            transmits_max: 1024,
            source_rate: Rate::per_second(20, 5),
            renewal_rate: Rate::per_second(1, 5),
            load_rate: Rate::per_second(500, 200),
            load_hold: Duration::from_secs(1),
            source_sets: 1024,
            audit_entries: 1024,
            rekey_after: Duration::from_secs(120),
            rekey_packets: 1 << 40,
            rekey_bytes: 64 << 30,
            reject_after: Duration::from_secs(180),
            linger: Duration::from_secs(5),
            confirm_within: Duration::from_secs(10),
            retry_first: Duration::from_millis(250),
            retry_max: Duration::from_secs(5),
            give_up_after: Duration::from_secs(90),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_under_which_nothing_works_are_refused() {
        assert_eq!(Config::default().check(), Ok(()));
        let bad = |change: fn(&mut Config)| {
            let mut config = Config::default();
            change(&mut config);
            config.check().unwrap_err()
        };
        assert_eq!(bad(|it| it.lanes = 0), StartError::Limit("lanes"));
        assert_eq!(bad(|it| it.associations_max = 0), StartError::Limit("associations_max"));
        assert_eq!(bad(|it| it.rekey_packets = 0), StartError::Limit("rekey_packets"));
        assert_eq!(bad(|it| it.rekey_bytes = 0), StartError::Limit("rekey_bytes"));
        assert_eq!(bad(|it| it.source_sets = 0), StartError::Limit("source_sets"));
        assert_eq!(bad(|it| it.source_sets = usize::MAX), StartError::Limit("source_sets"));
        assert_eq!(bad(|it| it.audit_entries = usize::MAX), StartError::Limit("audit_entries"));
        assert_eq!(bad(|it| it.reject_after = it.rekey_after), StartError::Rekey);
    }
}
