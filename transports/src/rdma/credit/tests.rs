//! Ends that share receives against the simplest thing there is: slots that are counted, one by one.

use super::*;
use proptest::prelude::*;
use std::collections::VecDeque;

const ROOM: u32 = 8;

fn pool(posted: u32) -> Pool {
    let mut pool = Pool::default();
    pool.set_posted(posted);
    pool
}

const fn told(granted: u32, back: u16) -> Told {
    Told { granted, back, asks: false, is_last: false }
}

// [RDMA-13]
#[test]
fn what_cannot_be_is_refused() {
    let mut pool = pool(8);
    pool.claim(8);
    let mut credit = Credit::new(8, 8, 8);
    let mut take = |credit: &mut Credit, it| credit.on_told(it, &mut pool);
    assert_eq!(take(&mut credit, told(9 + RECEIVES_MAX, 0)), Err(BadCredit), "more than there are");
    assert_eq!(take(&mut credit, told(9, 0)), Ok(()));
    assert_eq!(take(&mut credit, told(8, 0)), Err(BadCredit), "less than before");
    assert_eq!(take(&mut credit, told(u32::MAX, 0)), Err(BadCredit));
    assert_eq!(take(&mut credit, told(9, 7)), Err(BadCredit), "it gives back what it has not");
    assert_eq!(take(&mut credit, told(9, 6)), Ok(()));
    assert_eq!(take(&mut credit, told(9, 0)), Err(BadCredit), "it sends more than may come");
}

// [RDMA-13]
#[test]
fn bytes_that_nobody_says_are_refused() {
    let it = Told { granted: 0x0403_0201, back: 0x0605, asks: true, is_last: false };
    assert_eq!(it.to_bytes(), [1, 2, 3, 4, 5, 6, 1, 0]);
    let last = Told { asks: false, is_last: true, ..it };
    assert_eq!(last.to_bytes()[6..], [2, 0]);
    for it in [it, last] {
        assert_eq!(Told::from_bytes(it.to_bytes()), Ok(it));
    }
    for bytes in [[0, 0, 0, 0, 0, 0, 4, 0], [0, 0, 0, 0, 0, 0, 0, 1]] {
        assert_eq!(Told::from_bytes(bytes), Err(BadCredit));
    }
}

// [RDMA-17]
#[test]
fn who_sends_much_may_send_more_and_who_is_asked_gives_it_back() {
    let (mut pool, mut other) = (pool(64), pool(8));
    pool.claim(8);
    let mut here = Credit::new(8, 32, 8);
    let mut there = Credit::new(8, 8, 8);
    let mut most = 0;
    for _ in 0..10 {
        let mut sent = 0;
        while there.may_send() {
            here.on_told(there.on_sent(), &mut pool).expect("it keeps the rules");
            sent += 1;
        }
        here.on_posted();
        assert!(here.grant(&mut pool));
        if here.must_tell() {
            there.on_told(here.on_tell(), &mut other).expect("it keeps the rules");
            there.on_posted();
        }
        if there.must_tell() {
            here.on_told(there.on_tell(), &mut pool).expect("it keeps the rules");
            here.on_posted();
            here.grant(&mut pool);
        }
        most = most.max(sent);
    }
    assert_eq!((most, pool.free()), (31, 32), "all but one, which tells");
    assert!(here.ask() && !here.ask(), "once");
    assert!(here.must_tell());
    there.on_told(here.on_tell(), &mut other).expect("it keeps the rules");
    assert!(there.must_tell());
    here.on_told(there.on_tell(), &mut pool).expect("it keeps the rules");
    assert_eq!((pool.free(), here.held()), (56, 8));
    assert!(!here.ask(), "it has no more than its start");
    there.on_told(here.on_sent(), &mut other).expect("it keeps the rules");
    assert!(there.may_send());
}

/// A connection: both ends, and what is under way.
struct Both {
    here: Credit,
    there: Credit,
    /// What the peer has to receive into, which is its own.
    their_pool: Pool,
    to_here: VecDeque<Told>,
    to_there: VecDeque<Told>,
    waits: bool,
}

/// An end with connections to many peers.
struct Hub {
    /// Receives that nothing has come into.
    slots: u32,
    posted: u32,
    pool: Pool,
    connections: Vec<Option<Both>>,
}

impl Hub {
    fn open(&mut self, at: usize, start: u32, most: u32, wrap: u32) {
        if self.pool.free() < start {
            return;
        }
        self.pool.claim(start);
        let mut their_pool = pool(ROOM);
        their_pool.claim(ROOM);
        let mut here = Credit::new(start, most, ROOM);
        let mut there = Credit::new(ROOM, ROOM, start);
        // Counts may be about to wrap.
        for it in [&mut here, &mut there] {
            let counts = [&mut it.limit, &mut it.sent, &mut it.granted, &mut it.told, &mut it.came];
            counts.into_iter().for_each(|count| *count = count.wrapping_add(wrap));
        }
        let (to_here, to_there) = (VecDeque::new(), VecDeque::new());
        self.connections[at] =
            Some(Both { here, there, their_pool, to_here, to_there, waits: false });
    }

    /// The connection ends; what came of it is posted again.
    fn end(&mut self, at: usize) {
        if let Some(it) = self.connections[at].take() {
            self.slots += it.to_here.len() as u32;
            self.pool.release(it.here.claimed());
        }
    }

    /// A packet of the peer's arrives at the device.
    fn arrive(slots: &mut u32, it: &mut Both, what: Told) {
        assert!(*slots > 0, "a packet finds no receive");
        *slots -= 1;
        it.to_here.push_back(what);
    }

    fn peer_sends(&mut self, at: usize, count: u32) -> u32 {
        let Some(it) = &mut self.connections[at] else { return 0 };
        let mut sent = 0;
        while sent < count && it.there.may_send() {
            let what = it.there.on_sent();
            Self::arrive(&mut self.slots, it, what);
            sent += 1;
        }
        sent
    }

    /// The peer takes what came and says what it has to.
    fn peer_turns(&mut self, at: usize) {
        let Some(it) = &mut self.connections[at] else { return };
        while let Some(what) = it.to_there.pop_front() {
            it.there.on_told(what, &mut it.their_pool).expect("it keeps the rules");
        }
        it.there.on_posted();
        if it.there.must_tell() {
            let what = it.there.on_tell();
            Self::arrive(&mut self.slots, it, what);
        } else {
            it.there.on_flushed();
        }
    }

    /// The hub takes up to so many, posts them again, and says what it has to.
    fn takes(&mut self, at: usize, count: u32) {
        let Some(it) = &mut self.connections[at] else { return };
        let mut taken = 0;
        while taken < count
            && let Some(what) = it.to_here.pop_front()
        {
            it.here.on_told(what, &mut self.pool).expect("it keeps the rules");
            taken += 1;
        }
        self.slots += taken;
        if taken > 0 {
            it.here.on_posted();
            it.waits = true;
        }
        if it.waits {
            it.waits = !it.here.grant(&mut self.pool);
        }
    }

    fn tells(&mut self, at: usize) {
        let Some(it) = &mut self.connections[at] else { return };
        if it.here.must_tell() {
            it.to_there.push_back(it.here.on_tell());
        } else {
            it.here.on_flushed();
        }
    }

    fn ask(&mut self) {
        self.connections.iter_mut().flatten().for_each(|it| {
            it.here.ask();
        });
    }

    /// What is claimed is what may come, and was posted.
    fn check(&self, start: u32) {
        let all = self.connections.iter().flatten();
        let may_come: u32 = all
            .map(|it| {
                let told = it.to_there.iter().map(|told| told.granted).next_back();
                let limit = told.unwrap_or(it.there.limit);
                let news = it.here.granted.wrapping_sub(limit);
                let may_send = limit.wrapping_sub(it.there.sent);
                let back: u32 = it.to_here.iter().map(|told| u32::from(told.back)).sum();
                (news + may_send + it.to_here.len() as u32 + back).max(start)
            })
            .sum();
        assert!(may_come <= self.posted, "{may_come} may come");
        assert_eq!(may_come, self.posted - self.pool.free());
    }

    fn all_turn(&mut self) {
        for at in 0..self.connections.len() {
            self.peer_turns(at);
            self.takes(at, u32::MAX);
            self.tells(at);
        }
    }
}

proptest! {
    // [RDMA-11] [RDMA-12] [RDMA-17]
    #[test]
    fn of_what_is_shared_no_more_is_promised_than_there_is(
        (start, most, posted) in (4..9_u32, 9..40_u32, 30..90_u32),
        wrap in any::<u32>(),
        steps in prop::collection::vec((0..12_u8, 0..5_usize, 1..30_u32), 1..300),
    ) {
        let connections = (0..5).map(|_| None).collect();
        let mut hub = Hub { slots: posted, posted, pool: pool(posted), connections };
        (0..5).for_each(|at| hub.open(at, start, most, wrap));
        for (what, at, count) in steps {
            match what {
                0..=3 => { hub.peer_sends(at, count); }
                4 | 5 => hub.peer_turns(at),
                6..=8 => hub.takes(at, count),
                9 => hub.tells(at),
                10 => hub.ask(),
                _ => {
                    hub.end(at);
                    hub.open(at, start, most, wrap);
                }
            }
            hub.check(start);
        }
        // Whoever is there goes on, whatever the others have.
        for _ in 0..4 {
            hub.all_turn();
        }
        for at in 0..5 {
            let is_there = hub.connections[at].is_some();
            prop_assert_eq!(hub.peer_sends(at, 1), u32::from(is_there), "somebody waits for ever");
        }
        // And who is idle is left with what it began with.
        for _ in 0..8 {
            hub.ask();
            hub.all_turn();
            hub.all_turn();
        }
        let there = hub.connections.iter().flatten().count() as u32;
        prop_assert_eq!(hub.pool.free(), posted - there * start);
        (0..5).for_each(|at| hub.end(at));
        prop_assert_eq!((hub.pool.free(), hub.slots), (posted, posted), "some leaked");
    }
}

/// One end, which has its receives to itself.
struct End {
    credit: Credit,
    pool: Pool,
    incoming: VecDeque<(Told, bool)>,
    receives: u32,
}

proptest! {
    // [RDMA-11] [RDMA-12]
    #[test]
    fn nobody_finds_no_receive_and_nobody_waits_for_ever(
        depths in (4..20_u32, 4..20_u32),
        steps in prop::collection::vec((0..2_usize, 0..4_u8, 1..9_u32), 1..400),
    ) {
        let end = |own: u32, peer: u32| {
            let mut pool = pool(own);
            pool.claim(own.min(ROOM));
            let credit = Credit::new(own.min(ROOM), own, peer.min(ROOM));
            End { credit, pool, incoming: VecDeque::new(), receives: own }
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
                    while taken < count && let Some((told, _)) = end.incoming.pop_front() {
                        assert!(end.receives > 0, "a packet finds no receive");
                        end.receives -= 1;
                        end.credit.on_told(told, &mut end.pool).expect("an honest peer");
                        taken += 1;
                    }
                    end.receives += taken;
                    if taken > 0 {
                        end.credit.on_posted();
                        end.credit.grant(&mut end.pool);
                    }
                    if end.credit.must_tell() {
                        let told = end.credit.on_tell();
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
