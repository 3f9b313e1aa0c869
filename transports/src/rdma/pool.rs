//! How much of the receives that connections share is whose.

/// Receives that are posted, and how many of them connections have claimed, each for packets that may come.
///
/// What is claimed never grows beyond what is posted. [RDMA-17]
#[derive(Debug, Default)]
pub(super) struct Pool {
    posted: u32,
    claimed: u32,
}

impl Pool {
    /// So many are posted now, for certain.
    pub(super) const fn set_posted(&mut self, posted: u32) {
        self.posted = posted;
    }

    pub(super) const fn free(&self) -> u32 {
        self.posted.saturating_sub(self.claimed)
    }

    /// How many are missing of those that are claimed.
    pub(super) const fn missing(&self) -> u32 {
        self.claimed.saturating_sub(self.posted)
    }

    /// Claims as many as there are, up to `wanted`; says how many.
    pub(super) fn claim(&mut self, wanted: u32) -> u32 {
        let count = wanted.min(self.free());
        self.claimed += crate::planted!("rdma-shared-twice": count => 0);
        count
    }

    /// So many are for others again.
    pub(super) fn release(&mut self, count: u32) {
        let count = crate::planted!("rdma-shared-leaks": count => count / 2);
        self.claimed = self.claimed.saturating_sub(count);
    }
}
