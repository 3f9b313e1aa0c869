//! How one direction between two nodes treats packets.

use super::fabric::nanos;
use super::mark::{Ecn, Marks};
use std::time::Duration;

const SECOND: u128 = 1_000_000_000;

/// How one direction between two nodes treats packets. By default: at once, all of them, unharmed.
///
/// Chances are in thousandths.
///
/// ```
/// use greenroom::sim::Link;
/// use std::time::Duration;
///
/// let poor = Link::default().latency(Duration::from_millis(40)).jitter(Duration::from_millis(5)).loss(20);
/// assert_eq!(poor.loss, 20);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Link {
    /// How long a packet takes at least.
    pub latency: Duration,
    /// How much longer at most; packets overtake each other within it.
    pub jitter: Duration,
    /// Of a thousand packets, so many are lost.
    pub loss: u16,
    /// At so many of a thousand packets, a time begins in which all are lost.
    pub burst_begins: u16,
    /// At so many of a thousand packets, such a time ends.
    pub burst_ends: u16,
    /// Of a thousand packets, so many arrive twice.
    pub duplication: u16,
    /// Of a thousand packets, so many arrive with up to eight bits in a row flipped, or cut short.
    pub corruption: u16,
    /// Of a thousand packets, so many find no room in the sender's socket, which has none then for up to 20 ms.
    pub full: u16,
    /// What the link carries at most; as much as is sent, if `None`.
    pub bytes_per_second: Option<u64>,
    /// What waits at most for a link of limited bandwidth.
    pub queue_bytes: u64,
    /// What it does to marks of congestion.
    pub marks: Marks,
    /// The longest packet that gets through.
    pub bytes_max: usize,
    /// For now, none longer than this gets through either.
    pub narrowed: Option<usize>,
    /// Whether nothing gets through.
    pub cut: bool,
}

impl Default for Link {
    fn default() -> Self {
        Self {
            latency: Duration::ZERO,
            jitter: Duration::ZERO,
            loss: 0,
            burst_begins: 0,
            burst_ends: 1000,
            duplication: 0,
            corruption: 0,
            full: 0,
            bytes_per_second: None,
            queue_bytes: 256 << 10,
            marks: Marks::Keeps,
            bytes_max: 65_507,
            narrowed: None,
            cut: false,
        }
    }
}

macro_rules! settings {
    ($($(#[doc = $doc:literal])+ $name:ident: $kind:ty),+ $(,)?) => {
        impl Link {
            $($(#[doc = $doc])+
            #[must_use]
            pub const fn $name(mut self, $name: $kind) -> Self {
                self.$name = $name;
                self
            })+
        }
    };
}

settings! {
    /// Sets how long a packet takes at least.
    latency: Duration,
    /// Sets how much longer it takes at most.
    jitter: Duration,
    /// Sets how many of a thousand packets are lost.
    loss: u16,
    /// Sets how many of a thousand packets arrive twice.
    duplication: u16,
    /// Sets how many of a thousand packets are damaged.
    corruption: u16,
    /// Sets how many of a thousand packets find no room in the sender's socket.
    full: u16,
    /// Sets what the link carries at most.
    bytes_per_second: Option<u64>,
    /// Sets what waits at most for a link of limited bandwidth.
    queue_bytes: u64,
    /// Sets what it does to marks of congestion.
    marks: Marks,
    /// Sets the longest packet that gets through.
    bytes_max: usize,
}

impl Link {
    /// Lets packets be lost in bursts: at `begins` of a thousand packets a burst begins, at `ends` of a
    /// thousand it is over. So a burst is `1000 / ends` packets long on average.
    #[must_use]
    pub const fn bursts(mut self, begins: u16, ends: u16) -> Self {
        self.burst_begins = begins;
        self.burst_ends = ends;
        self
    }

    /// As slow and as narrow, but nothing goes wrong.
    pub(crate) const fn healed(self) -> Self {
        let (narrowed, cut) = (None, false);
        let (loss, burst_begins, duplication, corruption, full) = (0, 0, 0, 0, 0);
        Self { loss, burst_begins, duplication, corruption, full, narrowed, cut, ..self }
    }

    /// The longest packet that gets through for now.
    pub(crate) fn bytes_max_now(&self) -> usize {
        self.narrowed.map_or(self.bytes_max, |bytes| bytes.min(self.bytes_max))
    }

    /// When a packet of `len` bytes has left, if the link is `busy` until then; `None` if too much waits.
    pub(crate) fn sent_at(&self, now: u64, busy: u64, len: usize) -> Option<u64> {
        let Some(rate) = self.bytes_per_second else { return Some(now) };
        if self.waiting(now, busy) + len as u128 > u128::from(self.queue_bytes) {
            return None;
        }
        let takes = (len as u128 * SECOND).div_ceil(u128::from(rate.max(1)));
        Some(busy.saturating_add(u64::try_from(takes).unwrap_or(nanos(Duration::MAX))))
    }

    /// What a packet is marked with behind it that came to it with `ecn`, if the link is `busy` until then.
    pub(crate) fn mark(&self, now: u64, busy: u64, ecn: Ecn) -> Ecn {
        match self.marks {
            Marks::Clears => Ecn::NotCapable,
            Marks::Makes if ecn != Ecn::NotCapable && self.is_half_full(now, busy) => {
                Ecn::Congested
            }
            Marks::Keeps | Marks::Makes => ecn,
        }
    }

    fn is_half_full(&self, now: u64, busy: u64) -> bool {
        2 * self.waiting(now, busy) > u128::from(self.queue_bytes)
    }

    /// The bytes that wait, if it is `busy` until then.
    fn waiting(&self, now: u64, busy: u64) -> u128 {
        let rate = self.bytes_per_second.map_or(0, |rate| rate.max(1));
        u128::from(busy - now) * u128::from(rate) / SECOND
    }
}
