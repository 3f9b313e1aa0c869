//! Credit for packets between two connected queue pairs, so that a receiver is always ready.
//!
//! Each end counts the receives that it has posted since the beginning, and says so in every packet. The
//! other never sends more packets than that. Invariants, for each direction:
//! 1. `sent <= limit <= posted at the peer`, so a packet always finds a receive. [RDMA-11]
//! 2. The last credit is for a packet that only tells: so two ends that both sent all they could can still
//!    tell each other. Such a packet goes when half of the receives are posted anew and nobody was told;
//!    until then the peer has the other half. [RDMA-12]
//! 3. Counts wrap; differences do not, for there are fewer than 2^16 receives.

/// What a peer may never leave its sender with: the credit to tell.
const RESERVE: u32 = 1;

/// The peer told something that cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the peer's count of receives cannot be")]
pub struct BadCredit;

/// The credit of one connection, both ways.
#[derive(Debug)]
pub(super) struct Credit {
    /// Packets that the peer has receives for, in all.
    limit: u32,
    /// Packets sent, in all.
    sent: u32,
    /// Receives that the peer has at a time.
    peer_depth: u32,
    /// Receives posted here, in all.
    posted: u32,
    /// What the peer was told last.
    told: u32,
    depth: u32,
}

impl Credit {
    /// Both ends have posted all their receives, and know how many the other has.
    pub(super) const fn new(depth: u32, peer_depth: u32) -> Self {
        Self { limit: peer_depth, sent: 0, peer_depth, posted: depth, told: depth, depth }
    }

    const fn left(&self) -> u32 {
        self.limit.wrapping_sub(self.sent)
    }

    /// Whether a packet may be sent.
    pub(super) const fn may_send(&self) -> bool {
        // [RDMA-11] [RDMA-12]
        crate::planted!("rdma-credit-ignored": self.left() > RESERVE => true)
    }

    /// Whether the peer has to be told, and can be.
    pub(super) const fn must_tell(&self) -> bool {
        self.posted.wrapping_sub(self.told) >= self.depth / 2 && self.left() > 0
    }

    /// A packet leaves: what it has to tell.
    pub(super) const fn on_sent(&mut self) -> u32 {
        self.sent = self.sent.wrapping_add(1);
        self.told = self.posted;
        self.told
    }

    /// So many receives were posted again.
    pub(super) const fn on_posted(&mut self, count: u32) {
        let count = crate::planted!("rdma-credit-leaks": count => count.saturating_sub(1));
        self.posted = self.posted.wrapping_add(count);
    }

    /// A packet tells how many receives the peer has posted.
    ///
    /// # Errors
    /// It is less than it told before, or more than it has.
    pub(super) const fn on_told(&mut self, limit: u32) -> Result<(), BadCredit> {
        let is_back = limit.wrapping_sub(self.limit) > self.peer_depth;
        if is_back || limit.wrapping_sub(self.sent) > self.peer_depth {
            return Err(BadCredit);
        }
        self.limit = limit;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    // [RDMA-13]
    #[test]
    fn what_cannot_be_is_refused() {
        let mut credit = Credit::new(8, 8);
        assert_eq!(credit.on_told(9), Err(BadCredit), "more than it has");
        credit.on_sent();
        assert_eq!(credit.on_told(9), Ok(()));
        assert_eq!(credit.on_told(8), Err(BadCredit), "less than before");
        assert_eq!(credit.on_told(u32::MAX), Err(BadCredit));
    }

    /// One end: its credit, and the packets on their way to it.
    struct End {
        credit: Credit,
        incoming: VecDeque<(u32, bool)>,
        receives: u32,
        taken: u32,
    }

    proptest! {
        // [RDMA-11] [RDMA-12]
        #[test]
        fn nobody_finds_no_receive_and_nobody_waits_for_ever(
            depths in (4..20_u32, 4..20_u32),
            start in any::<u32>(),
            steps in prop::collection::vec((0..2_usize, 0..4_u8, 1..9_u32), 1..400),
        ) {
            let end = |own: u32, peer: u32| {
                let mut credit = Credit::new(own, peer);
                // Counts may be about to wrap.
                for count in [&mut credit.limit, &mut credit.sent, &mut credit.posted, &mut credit.told] {
                    *count = count.wrapping_add(start);
                }
                End { credit, incoming: VecDeque::new(), receives: own, taken: 0 }
            };
            let mut ends = [end(depths.0, depths.1), end(depths.1, depths.0)];
            let mut sent = [0, 0];
            let mut step = |ends: &mut [End; 2], at: usize, what: u8, count: u32| {
                match what {
                    0 | 1 => for _ in 0..count {
                        if ends[at].credit.may_send() {
                            sent[at] += 1;
                            let told = ends[at].credit.on_sent();
                            ends[1 - at].incoming.push_back((told, true));
                        }
                    },
                    _ => {
                        let end = &mut ends[at];
                        let mut taken = 0;
                        while taken < count && let Some((told, is_mail)) = end.incoming.pop_front() {
                            assert!(end.receives > 0, "a packet finds no receive");
                            end.receives -= 1;
                            end.credit.on_told(told).expect("an honest peer");
                            end.taken += u32::from(is_mail);
                            taken += 1;
                        }
                        end.receives += taken;
                        end.credit.on_posted(taken);
                        if end.credit.must_tell() {
                            let told = end.credit.on_sent();
                            ends[1 - at].incoming.push_back((told, false));
                        }
                    }
                }
                sent
            };
            for (at, what, count) in steps {
                step(&mut ends, at, what, count);
            }
            // From any such state both go on: each takes what came, and can send again.
            for _ in 0..10 {
                let before = step(&mut ends, 0, 2, 0);
                for at in [0, 1, 0, 1] {
                    step(&mut ends, at, 2, u32::MAX);
                }
                for at in [0, 1] {
                    step(&mut ends, at, 0, 30);
                }
                let after = step(&mut ends, 0, 2, 0);
                prop_assert!(after[0] > before[0] && after[1] > before[1], "somebody waits for ever");
            }
        }
    }
}
