use super::*;
use crate::link::envelope::{Address, Class, Kind};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

fn envelope(pair: u32) -> Envelope {
    let (to, from) = (Address { slot: pair, generation: 0 }, Address::default());
    Envelope { to, from, kind: Kind::Tell, manifest: 0, correlation: 0 }
}

/// An inbox with what goes with it.
struct End {
    inbox: Inbox,
    grants: [Grant; 2],
    pool: Pool,
}

impl End {
    fn new(config: &Config) -> Self {
        let grants = [Grant::new(config), Grant::new(config)];
        Self { inbox: Inbox::new(config), grants, pool: Pool::default() }
    }

    fn whole(&mut self, sequence: u32, head: Head, payload: &[u8]) -> Result<Taken, CloseReason> {
        let message = Message { sequence, head, payload };
        let payloads = &mut Payloads { pool: &mut self.pool, lent: None };
        self.inbox.on_message(&message, &mut self.grants, payloads)
    }

    fn piece(
        &mut self,
        sequence: u32,
        head: Head,
        payload: &[u8],
        at: (usize, usize),
    ) -> Result<Taken, CloseReason> {
        let fragment = Fragment {
            sequence,
            class: Class::Mail,
            total: payload.len() as u64,
            offset: at.0 as u64,
            head: (at.0 == 0).then_some(head),
            payload: &payload[at.0..at.1],
        };
        self.inbox.on_fragment(&fragment, &mut self.grants, &mut self.pool)
    }
}

fn head(pair: u32, predecessor: u16) -> Head {
    Head { envelope: envelope(pair), predecessor }
}

/// Messages of some pairs, each with its pair, its length and how far back its pair's last one is.
fn chains(pairs: &[(u32, usize)]) -> Vec<(u32, usize, u16)> {
    let mut last = BTreeMap::new();
    let chained = pairs.iter().enumerate().map(|(index, (pair, len))| {
        let back = last.insert(*pair, index).map_or(0, |before| index - before);
        (*pair, *len, back as u16)
    });
    chained.collect()
}

proptest! {
    /// Against the plain rule: a message is delivered once all of its pair before it have come; each
    /// once, unchanged, whatever comes twice, in which order and in how many pieces.
    // [LINK-50] [LINK-52] [LINK-60]
    #[test]
    fn a_pair_waits_for_its_own_alone(
        pairs in prop::collection::vec((0..4_u32, 1..60_usize), 1..40),
        order in prop::collection::vec((any::<prop::sample::Index>(), 1..4_usize), 0..120),
    ) {
        let messages = chains(&pairs);
        let mut end = End::new(&Config::default());
        let mut missing: Vec<BTreeSet<usize>> =
            messages.iter().map(|(_, len, _)| (0..*len).collect()).collect();
        let mut delivered = BTreeSet::new();
        // At random at first, then whatever is still missing.
        let random = order.iter().map(|(index, parts)| (index.index(messages.len()), *parts));
        for (at, parts) in random.chain((0..messages.len()).map(|at| (at, 1))) {
            let (pair, len, back) = messages[at];
            let payload = vec![at as u8; len];
            let sequence = at as u32 + 1;
            if parts == 1 {
                end.whole(sequence, head(pair, back), &payload).expect("well formed");
                missing[at].clear();
            } else {
                let middle = (len / parts, (len / parts + len / 2 + 1).min(len));
                end.piece(sequence, head(pair, back), &payload, middle).expect("well formed");
                missing[at].retain(|byte| !(middle.0..middle.1).contains(byte));
            }
            while let Some((_, envelope, bytes)) = end.inbox.pop() {
                let index = bytes[0] as usize;
                prop_assert_eq!(&bytes[..], &vec![index as u8; messages[index].1]);
                prop_assert_eq!(envelope.to.slot, messages[index].0);
                prop_assert!(delivered.insert(index), "{index} is delivered twice");
            }
            for (index, (pair, ..)) in messages.iter().enumerate() {
                let whole = |other: &usize| missing[*other].is_empty();
                let before = (0..=index).filter(|other| messages[*other].0 == *pair);
                let due = before.clone().all(|other| whole(&other));
                prop_assert_eq!(delivered.contains(&index), due, "message {} of {}", index, pair);
            }
        }
        prop_assert_eq!(delivered.len(), messages.len());
        prop_assert!(end.inbox.slots.is_empty());
        prop_assert_eq!(end.inbox.partials, 0);
    }
}

// [LINK-53] [LINK-54] [LINK-61] [LINK-62]
#[test]
fn what_no_honest_peer_sends_has_its_reason() {
    let config = Config { window_messages: 8, reassemblies_max: 2, ..Config::default() };
    let fresh = || End::new(&config);
    let whole = |sequence, back| fresh().whole(sequence, head(1, back), b"x").unwrap_err();
    assert_eq!(whole(9, 0), CloseReason::WindowExceeded);
    assert_eq!(whole(3, 3), CloseReason::BadOrder, "a predecessor that cannot be");

    let mut forked = fresh();
    assert_eq!(forked.whole(3, head(1, 2), b"x"), Ok(Taken::New));
    assert_eq!(forked.whole(2, head(1, 1), b"x"), Err(CloseReason::BadOrder), "two successors");

    let mut pieces = fresh();
    let long = [7; 4000];
    assert_eq!(pieces.piece(1, head(1, 0), &long, (0, 100)), Ok(Taken::New));
    let other = [7; 4001];
    let contradicts = pieces.piece(1, head(1, 0), &other, (100, 200));
    assert_eq!(contradicts, Err(CloseReason::BadFragment));
    assert_eq!(pieces.whole(1, head(1, 0), b"x"), Err(CloseReason::BadFragment));
    let other = pieces.piece(1, head(2, 0), &long, (0, 100));
    assert_eq!(other, Err(CloseReason::BadFragment), "another envelope");
    assert_eq!(pieces.piece(2, head(1, 0), &long, (9, 10)), Ok(Taken::New));
    let third = pieces.piece(3, head(1, 0), &long, (9, 10));
    assert_eq!(third, Err(CloseReason::ReassemblyExceeded));

    for is_backwards in [false, true] {
        let (mut holes, long) = (fresh(), vec![7; 1 << 19]);
        let places: Vec<_> = (0..1 << 18).map(|at| 2 * at).collect();
        let places: Vec<_> = if is_backwards { places.into_iter().rev().collect() } else { places };
        let broken = places.iter().enumerate().find_map(|(count, at)| {
            Some((count, holes.piece(1, head(1, 0), &long, (*at, at + 1)).err()?))
        });
        assert_eq!(broken, Some((64, CloseReason::BadFragment)), "more holes than pieces leave");
    }

    let small = Config { message_len_max: 10, window_bytes_start: 200, ..Config::default() };
    let mut small = End::new(&small);
    assert_eq!(small.whole(1, head(1, 0), &[0; 11]), Err(CloseReason::MessageTooBig));
    assert_eq!(small.piece(1, head(1, 0), &[0; 11], (0, 1)), Err(CloseReason::MessageTooBig));
    let mut sent = (1..9).map(|sequence| small.whole(sequence, head(1, 0), b"x"));
    assert_eq!(sent.find_map(Result::err), Some(CloseReason::CreditExceeded));
}

#[test]
fn numbers_go_on_after_four_thousand_million() {
    let mut end = End::new(&Config::default());
    end.inbox.floor = u64::from(u32::MAX) - 2;
    for step in 0..6_u32 {
        let sequence = (u32::MAX - 1).wrapping_add(step);
        end.whole(sequence, head(1, u16::from(step > 0)), &[step as u8]).expect("in order");
        assert_eq!(end.inbox.pop().expect("delivered").2[..], [step as u8]);
        assert_eq!(end.whole(sequence, head(1, 0), b"again"), Ok(Taken::Duplicate));
    }
}
