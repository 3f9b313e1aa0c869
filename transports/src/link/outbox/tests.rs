use super::*;
use crate::link::envelope::Kind;
use crate::link::ranges::tests::SEARCHES;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

const PACKET: usize = 200;

fn push(outbox: &mut Outbox, envelope: Envelope, payload: &[u8]) {
    let in_pieces = Message::frame_len(envelope.kind, payload.len()) > PACKET;
    outbox.push(envelope, payload, 0, in_pieces);
}

fn envelope(from: u32, to: u32) -> Envelope {
    let address = |slot| Address { slot, generation: 0 };
    let kind = if from.is_multiple_of(2) { Kind::Tell } else { Kind::Reply };
    Envelope { to: address(to), from: address(from), kind, manifest: 0, correlation: 0 }
}

/// One whole message.
fn whole(sequence: u64) -> Item {
    Item::Messages { first: sequence, count: 1 }
}

/// Sends everything that may be sent; says what went into each packet.
fn send_all(outbox: &mut Outbox) -> Vec<Item> {
    let mut items = Vec::new();
    loop {
        if let Some(next) = outbox.next_whole(PACKET) {
            outbox.sent_whole(next);
            items.push(whole(next.sequence));
        } else if let Some((sequence, missing)) = outbox.next_piece() {
            let bytes = missing.start..missing.end.min(missing.start + 150);
            let (start, end) = (bytes.start as u32, bytes.end as u32);
            items.push(Item::Fragment { sequence, start, end });
            outbox.sent_piece(sequence, bytes);
        } else {
            return items;
        }
    }
}

// [LINK-56]
#[test]
fn what_keeps_no_order_follows_nothing() {
    let mut outbox = Outbox::new(1 << 10, u64::MAX, 2, 0);
    let nobody = Envelope { from: Address::NOBODY, ..envelope(1, 2) };
    for sent in [nobody, envelope(1, 2), nobody, envelope(1, 2)] {
        push(&mut outbox, sent, &[]);
    }
    let back = [1, 2, 3, 4].map(|at| outbox.get(at).map(|it| it.head.predecessor));
    assert_eq!(back, [0, 0, 0, 2].map(Some));
}

proptest! {
    /// Each packet is lost, acknowledged or acknowledged after it counted as lost: in the end all
    /// is settled; what a message names as its predecessor is right at that moment.
    // [LINK-51] [LINK-55] [LINK-63]
    #[test]
    fn everything_arrives_and_the_floor_is_cumulative(
        messages in prop::collection::vec((0..3_u32, 0..3_u32, prop_oneof![4 => 0..100_usize, 1 => 0..900_usize]), 1..40),
        fates in prop::collection::vec(0..4_u8, 0..200),
    ) {
        let mut outbox = Outbox::new(1 << 10, u64::MAX, 2, 0);
        let mut fates = fates.into_iter();
        // What the receiver surely has: messages all of whose bytes were acknowledged.
        let mut arrived: BTreeMap<u64, BTreeSet<usize>> = BTreeMap::new();
        let mut lens = BTreeMap::new();
        let mut last: BTreeMap<(u32, u32), u64> = BTreeMap::new();
        let mut late = Vec::new();
        for (index, (from, to, len)) in messages.iter().enumerate() {
            let sequence = index as u64 + 1;
            push(&mut outbox, envelope(*from, *to), &vec![0; *len]);
            lens.insert(sequence, *len);
            let is_whole = |at: &u64| arrived.get(at).is_some_and(|have| have.len() > lens[at]);
            let floor = (1..sequence).take_while(|at| is_whole(at)).last().unwrap_or(0);
            let before = last.insert((*from, *to), sequence).filter(|before| *before > floor);
            let back = before.map_or(0, |before| sequence - before);
            let head = outbox.get(sequence).expect("it was just pushed").head;
            prop_assert_eq!(u64::from(head.predecessor), back, "of message {}", sequence);
            for item in send_all(&mut outbox) {
                let fate = fates.next().unwrap_or(1);
                if fate == 0 || fate == 3 {
                    outbox.on_lost(item);
                }
                if fate == 3 {
                    late.push(item);
                }
                if fate == 1 {
                    arrive(&mut outbox, item, &lens, &mut arrived);
                }
            }
        }
        for item in late {
            arrive(&mut outbox, item, &lens, &mut arrived);
        }
        // What was neither lost nor acknowledged so far, is lost.
        for sequence in 1..=messages.len() as u64 {
            let len = lens[&sequence] as u32;
            outbox.on_lost(whole(sequence));
            outbox.on_lost(Item::Fragment { sequence, start: 0, end: len });
        }
        while !outbox.is_empty() {
            let items = send_all(&mut outbox);
            prop_assert!(!items.is_empty(), "something is never sent again");
            for item in items {
                arrive(&mut outbox, item, &lens, &mut arrived);
            }
        }
        prop_assert_eq!(outbox.floor, messages.len() as u64);
        prop_assert_eq!(outbox.turns.in_pieces(), 0);
        let has_work = outbox.has_whole() || outbox.has_pieces();
        prop_assert!(!has_work || send_all(&mut outbox).is_empty());
        prop_assert!(Class::ALL.iter().all(|class| !outbox.unsent.has_before(*class, 0)));
    }
}

fn arrive(
    outbox: &mut Outbox,
    item: Item,
    lens: &BTreeMap<u64, usize>,
    arrived: &mut BTreeMap<u64, BTreeSet<usize>>,
) {
    outbox.on_acked(item);
    let (sequence, bytes) = match item {
        Item::Messages { first, count: 1 } => (first, 0..lens[&first]),
        Item::Fragment { sequence, start, end } => (sequence, start as usize..end as usize),
        other => panic!("{other:?} is no message"),
    };
    let have = arrived.entry(sequence).or_default();
    have.extend(bytes);
    // One more than there are bytes says that all have come, an empty message's too.
    if have.len() >= lens[&sequence] {
        have.insert(usize::MAX);
    }
}

// [LINK-60]
#[test]
fn of_four_pieces_one_is_of_a_longer_message() {
    let mut outbox = Outbox::new(1 << 10, u64::MAX, 8, 0);
    for len in [20_000, 20_000, 3000, 3000] {
        push(&mut outbox, envelope(1, 1), &vec![0; len]);
    }
    let turns: Vec<_> = send_all(&mut outbox)
        .into_iter()
        .map(|item| match item {
            Item::Fragment { sequence, .. } => sequence,
            other => panic!("{other:?} is no piece"),
        })
        .collect();
    assert_eq!(turns[..12], [3, 1, 4, 3, 4, 2, 3, 4, 3, 1, 4, 3]);
    assert_eq!(turns[turns.len() - 4..], [1, 2, 1, 2], "and in turn when nothing is shorter");
}

/// What a loss costs does not grow with how many gaps a peer has left in a message.
// [LINK-55]
#[test]
fn a_lost_piece_is_compared_with_what_arrived_of_it_alone() {
    let searches_for_each = |len| {
        let mut outbox = Outbox::new(1 << 10, u64::MAX, 2, 0);
        push(&mut outbox, envelope(1, 1), &vec![0; len]);
        let items = send_all(&mut outbox);
        items.iter().step_by(2).for_each(|item| _ = outbox.on_acked(*item));
        let (before, lost) = (SEARCHES.get(), items.iter().skip(1).step_by(2));
        lost.clone().for_each(|item| outbox.on_lost(*item));
        let searches = SEARCHES.get() - before;
        assert_eq!(send_all(&mut outbox), lost.copied().collect::<Vec<_>>());
        searches / (items.len() as u64 / 2)
    };
    assert_eq!(searches_for_each(1500), searches_for_each(150_000));
}

// [LINK-51]
#[test]
fn a_message_that_is_held_back_still_counts() {
    let mut outbox = Outbox::new(1 << 10, u64::MAX, 2, 0);
    for _ in 0..2 {
        push(&mut outbox, envelope(1, 1), &[]);
    }
    send_all(&mut outbox);
    // The first is lost; the second came, and is held back at the receiver.
    outbox.on_acked(whole(2));
    push(&mut outbox, envelope(1, 1), &[]);
    assert_eq!(outbox.get(3).expect("pushed").head.predecessor, 1, "or it would overtake it");
    outbox.on_acked(whole(1));
    outbox.on_acked(whole(3));
    push(&mut outbox, envelope(1, 1), &[]);
    assert_eq!(outbox.get(4).expect("pushed").head.predecessor, 0);
}

// [LINK-74]
#[test]
fn at_a_break_each_open_message_has_its_fate() {
    let mut outbox = Outbox::new(1 << 10, u64::MAX, 2, 0);
    for payload in [1, 2, 3, 4] {
        push(&mut outbox, envelope(1, 1), &[payload]);
    }
    push(&mut outbox, envelope(1, 1), &[5; 1000]);
    for _ in 0..3 {
        let next = outbox.next_whole(PACKET).expect("some are left");
        outbox.sent_whole(next);
    }
    outbox.on_acked(whole(1));
    outbox.on_acked(whole(3));
    let left: Vec<_> = std::iter::from_fn(|| outbox.pop_undelivered()).collect();
    let left: Vec<_> = left.iter().map(|(_, payload, fate)| (payload[0], *fate)).collect();
    // The third came, but the receiver may hold it back for the second, of the same pair.
    let unsure = Fate::MaybeDelivered;
    assert_eq!(left, [(2, unsure), (3, unsure), (4, Fate::Unsent), (5, Fate::Unsent)]);
}

#[test]
fn pairs_below_the_floor_are_forgotten() {
    let mut outbox = Outbox::new(1 << 10, u64::MAX, 2, 0);
    for pair in 0..10_000 {
        push(&mut outbox, envelope(pair, pair), &[]);
        send_all(&mut outbox);
        outbox.on_acked(whole(u64::from(pair) + 1));
    }
    assert!(outbox.last.len() <= LAST_MIN, "{} pairs are remembered", outbox.last.len());
}
