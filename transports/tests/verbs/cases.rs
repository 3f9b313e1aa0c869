//! The cases.

use crate::ends::{Bench, CONFIG, Done, End, HASTY, connect, connected, done, received};
use greenroom_transports::rdma::verbs::{
    Completion, CompletionQueue, ConnectError, CreateError, Device, Direction, GRH_BYTES, Outcome,
    PostError, QueuePair, QueuePairState, Receives, RegisterError, Timing, Via,
};
use std::future::poll_fn;
use std::task::Poll;

const QKEY: u32 = 0x1234_5678;

/// Bytes that differ with their number.
pub(crate) fn text(number: usize, length: usize) -> Vec<u8> {
    (0..length).map(|at| (at * 31 + number * 7) as u8).collect()
}

/// Over a connection: whole, in order, of any length; and the slots of those that were not signalled come back.
pub(crate) async fn messages_come_in_order<B: Bench>(bench: &B, lengths: &[usize], count: usize) {
    let longest = lengths.iter().max().expect("a length");
    let (mut left, mut right) = connected(bench, *longest, &Timing::default());
    right.receive(CONFIG.receives_max as usize);
    let (mut sent, mut came) = (0, 0);
    while came < count {
        while sent < count
            && sent - came < CONFIG.receives_max as usize
            && left.pair.sends_posted() < CONFIG.sends_max as usize
        {
            let length = lengths[sent % lengths.len()];
            left.send(&text(sent, length), sent % 5 == 4 || sent + 1 == count);
            sent += 1;
        }
        assert!(left.done().iter().all(|done| *done == Done::Sent(Outcome::Done)));
        for it in right.done() {
            assert_eq!(it, received(&text(came, lengths[came % lengths.len()])), "message {came}");
            came += 1;
            right.receive(1);
        }
        bench.pass().await;
    }
    while left.pair.sends_posted() > 0 {
        left.done();
        bench.pass().await;
    }
    assert_eq!(left.free.len(), 48, "each slot came back");
}

/// What goes inline is copied when it is pushed, not when the doorbell rings.
pub(crate) async fn inline_bytes_are_copied<B: Bench>(bench: &B) {
    let (mut left, mut right) = connected(bench, 256, &Timing::default());
    right.receive(8);
    let max = left.pair.inline_bytes_max();
    assert!(max >= 64, "{max} bytes go inline");
    let mut bytes = vec![0; max + 1];
    let refused = left.pair.push_inline(&bytes, Via::Connection, true);
    assert_eq!(refused, Err(PostError::TooLong(())));
    for number in 0..8_u8 {
        bytes.fill(number);
        let length = usize::from(number) * max / 8;
        left.pair
            .push_inline(&bytes[..length], Via::Connection, number == 7)
            .expect("there is room");
    }
    bytes.fill(0xff);
    left.pair.ring_sends().expect("the device takes it");
    let expected: Vec<_> =
        (0..8).map(|number| received(&vec![number; usize::from(number) * max / 8])).collect();
    assert_eq!(done(bench, &mut right, 8).await, expected);
    assert_eq!(done(bench, &mut left, 1).await, [Done::Sent(Outcome::Done)]);
    assert_eq!((left.pair.sends_posted(), left.free.len()), (0, 48));
}

/// Datagrams come behind 40 bytes, say who sent them, and need the right key.
pub(crate) async fn datagrams_come_with_their_sender<B: Bench>(bench: &B) {
    let mut left = End::new(bench.device(), 4096 + GRH_BYTES, Some(QKEY));
    let mut right = End::new(bench.device(), 4096 + GRH_BYTES, Some(QKEY + 1));
    let mtu = usize::from(left.pair.endpoint().mtu_bytes);
    right.receive(8);
    let to = right.pair.endpoint();
    let address = left.device.address(&to).expect("an address");
    let via = |qkey| Via::Datagram { address: &address, qpn: to.qpn, qkey };
    for length in [1, 64, mtu] {
        let slot = left.slot(&text(length, length));
        left.pair.push_send(slot, 0..length, via(to.qkey), true).expect("there is room");
        left.pair.ring_sends().expect("the device takes it");
        let Done::Received(Outcome::Done, came) = done(bench, &mut right, 1).await.remove(0) else {
            panic!("it is not received: {:?}", right.last);
        };
        assert_eq!(came[GRH_BYTES..], text(length, length));
        assert_eq!(right.last.from, left.pair.endpoint().qpn);
    }
    let slot = left.slot(b"");
    let refused = left.pair.push_send(slot, 0..mtu + 1, via(to.qkey), true);
    let Err(PostError::TooLong(slot)) = refused else { panic!("too long for the path") };
    left.free.push(slot);
    assert!(matches!(
        left.pair.push_inline(b"x", Via::Connection, true),
        Err(PostError::State(()))
    ));
    // The sender is not told of a wrong key.
    left.pair.push_inline(b"wrong", via(to.qkey ^ 1), true).expect("there is room");
    left.pair.push_inline(b"right", via(to.qkey), true).expect("there is room");
    left.pair.ring_sends().expect("the device takes it");
    let came = done(bench, &mut right, 1).await;
    assert!(matches!(&came[..], [Done::Received(_, text)] if text[GRH_BYTES..] == *b"right"));
    assert_eq!(done(bench, &mut left, 5).await, vec![Done::Sent(Outcome::Done); 5]);
}

/// Two connections take from the same receives.
pub(crate) async fn receives_are_shared<B: Bench>(bench: &B) {
    let device = bench.device();
    let mut completions = device.completion_queue(64).expect("a completion queue");
    let mut shared = device.shared_receives(16, 9).expect("shared receives");
    let mut slots = device.register(16, 64).expect("memory");
    for slot in slots.drain(..) {
        shared.push_receive(slot).expect("there is room");
    }
    shared.ring_receives().expect("the device takes them");
    let mut pairs = Vec::new();
    let mut ends = Vec::new();
    for _ in 0..2 {
        let mut end = End::new(bench.device(), 64, None);
        let mut pair =
            device.connected(&completions, Some(&shared), &CONFIG).expect("a queue pair");
        connect(&mut pair, &end.pair.endpoint(), &Timing::default());
        connect(&mut end.pair, &pair.endpoint(), &Timing::default());
        let slot = end.free.pop().expect("a slot");
        // A slot of the same device, where it is the same.
        assert!(matches!(
            pair.push_receive(slot),
            Err(PostError::State(_) | PostError::Foreign(_))
        ));
        pairs.push(pair);
        ends.push(end);
    }
    for (number, end) in ends.iter_mut().enumerate() {
        (0..4).for_each(|_| end.send(&[number as u8; 8], true));
    }
    let mut counts = [0, 0];
    let mut batch = [Completion::default(); 8];
    while counts != [4, 4] {
        bench.pass().await;
        let count = completions.poll(&mut batch).expect("the device is there");
        for completion in &batch[..count] {
            assert_eq!((completion.outcome, completion.work().owner()), (Outcome::Done, 9));
            assert_eq!(completion.work().direction(), Direction::Receive);
            let slot = shared.received(completion).expect("each comes back once");
            let number = usize::from(slot.as_ref()[0]);
            assert_eq!(completion.qpn(), pairs[number].endpoint().qpn);
            counts[number] += 1;
            shared.push_receive(slot).expect("there is room");
        }
        shared.ring_receives().expect("the device takes them");
    }
    assert_eq!(shared.receives_posted(), 16);
}

/// A queue pair that is drained says so last, after all that came into what is shared; the receives are the others'.
pub(crate) async fn who_is_drained_says_so_last<B: Bench>(bench: &B) {
    let device = bench.device();
    let mut completions = device.completion_queue(64).expect("a completion queue");
    let mut shared = device.shared_receives(16, 9).expect("shared receives");
    for slot in device.register(16, 64).expect("memory") {
        shared.push_receive(slot).expect("there is room");
    }
    shared.ring_receives().expect("the device takes them");
    let mut ends = [(); 2].map(|()| End::new(bench.device(), 64, None));
    let mut pairs = ends.each_mut().map(|end| {
        let pair = device.connected(&completions, Some(&shared), &CONFIG);
        let mut pair = pair.expect("a queue pair");
        connect(&mut pair, &end.pair.endpoint(), &Timing::default());
        connect(&mut end.pair, &pair.endpoint(), &Timing::default());
        pair
    });
    for end in &mut ends {
        (0..4).for_each(|_| end.send(&[7; 8], true));
        assert_eq!(done(bench, end, 4).await, vec![Done::Sent(Outcome::Done); 4]);
    }
    pairs[0].drain().expect("the device is there");
    assert_eq!(pairs[0].state().expect("the device is there"), QueuePairState::Failed);
    let mut batch = [Completion::default(); 8];
    let mut came = [0, 0];
    while pairs[0].sends_posted() > 0 || came != [4, 4] {
        bench.pass().await;
        let count = completions.poll(&mut batch).expect("the device is there");
        for completion in &batch[..count] {
            let at = usize::from(completion.qpn() == pairs[1].endpoint().qpn);
            if completion.work().direction() == Direction::Send {
                assert_eq!((at, came[0], completion.outcome), (0, 4, Outcome::Flushed));
                pairs[0].sent(completion, |_| panic!("it has no slot"));
                continue;
            }
            assert_eq!(completion.outcome, Outcome::Done);
            let slot = shared.received(completion).expect("each comes back once");
            shared.push_receive(slot).expect("there is room");
            came[at] += 1;
        }
        shared.ring_receives().expect("the device takes them");
    }
    let [gone, kept] = pairs;
    gone.end(|_| panic!("it held nothing"));
    assert_eq!(shared.receives_posted(), 16);
    // Each of the receives still serves.
    for _ in 0..16 {
        ends[1].send(&[9; 8], true);
        let mut count = 0;
        while count == 0 {
            bench.pass().await;
            count = completions.poll(&mut batch).expect("the device is there");
        }
        assert_eq!((count, batch[0].outcome), (1, Outcome::Done));
        assert_eq!(batch[0].qpn(), kept.endpoint().qpn);
        drop(shared.received(&batch[0]).expect("it comes back"));
        done(bench, &mut ends[1], 1).await;
    }
    assert_eq!((shared.receives_posted(), shared.receives_overtaken()), (0, 0));
}

/// Who waits is woken by the next completion, and by nothing else.
pub(crate) async fn waiting_ends_with_a_completion<B: Bench>(bench: &B) {
    let (mut left, mut right) = connected(bench, 64, &Timing::default());
    right.receive(4);
    for round in 0..4_u8 {
        right.completions.arm().expect("the device is there");
        assert_eq!(right.done(), [], "polled once more, nothing came");
        let early = poll_fn(|context| Poll::Ready(right.completions.poll_event(context))).await;
        assert!(early.is_pending(), "round {round}: {early:?}");
        left.send(&[round], true);
        let mut waits = true;
        while waits {
            let event = poll_fn(|context| Poll::Ready(right.completions.poll_event(context))).await;
            if let Poll::Ready(event) = event {
                event.expect("the device is there");
                waits = false;
            }
            bench.pass().await;
        }
        assert_eq!(done(bench, &mut right, 1).await, [received(&[round])]);
        done(bench, &mut left, 1).await;
    }
}

/// A completion gives back the slot that it is about, and none of another queue, whose owner may be the same.
pub(crate) async fn completions_are_of_one_queue<B: Bench>(bench: &B) {
    let device = bench.device();
    let mut completions = device.completion_queue(64).expect("a completion queue");
    let mut slots = device.register(2, 64).expect("memory");
    let mut shared = [(); 2].map(|()| {
        let mut shared = device.shared_receives(4, 9).expect("shared receives");
        shared.push_receive(slots.pop().expect("a slot")).expect("there is room");
        shared.ring_receives().expect("the device takes it");
        shared
    });
    let mut end = End::new(bench.device(), 64, None);
    let mut pair = device.connected(&completions, Some(&shared[0]), &CONFIG).expect("a pair");
    connect(&mut pair, &end.pair.endpoint(), &Timing::default());
    connect(&mut end.pair, &pair.endpoint(), &Timing::default());
    let mut other = End::new(bench.device(), 64, None);
    other.receive(1);
    end.send(b"one", true);
    let mut one = [Completion::default()];
    while completions.poll(&mut one).expect("the device is there") == 0 {
        bench.pass().await;
    }
    let [of_first, of_second] = &mut shared;
    assert!(of_second.received(&one[0]).is_none());
    assert!(other.pair.received(&one[0]).is_none());
    assert!(of_first.received(&one[0]).is_some());
    let counts = [of_first, of_second].map(|it| it.receives_posted());
    assert_eq!((counts, other.pair.receives_posted()), ([0, 1], 1));
    while end.done().is_empty() {
        bench.pass().await;
    }
    other.pair.sent(&end.last, |_| panic!("it has sent nothing"));
}

/// Nobody gets a right to this node's memory. Only a device can tell: a simulated one has no such rights.
// [RDMA-2]
pub(crate) async fn nobody_may_reach_in<B: Bench>(bench: &B) {
    let (left, right) = connected(bench, 64, &Timing::default());
    let datagram = End::new(bench.device(), 64, Some(QKEY));
    for pair in [&left.pair, &right.pair, &datagram.pair] {
        assert_eq!(pair.access().expect("the device is there"), 0);
    }
}

/// A queue pair that is made to fail gives everything back, and its peer is not answered.
pub(crate) async fn failing_gives_everything_back<B: Bench>(bench: &B) {
    let (mut left, mut right) = connected(bench, 64, &HASTY);
    right.receive(6);
    assert_eq!(right.pair.state().expect("the device is there"), QueuePairState::Ready);
    right.pair.fail().expect("the device is there");
    assert_eq!(done(bench, &mut right, 6).await, vec![Done::Received(Outcome::Flushed, vec![]); 6]);
    assert_eq!((right.pair.receives_posted(), right.free.len()), (0, 48));
    assert_eq!(right.pair.state().expect("the device is there"), QueuePairState::Failed);
    let slot = right.slot(b"");
    assert!(matches!(
        right.pair.push_send(slot, 0..1, Via::Connection, true),
        Err(PostError::State(_))
    ));
    left.receive(3);
    left.send(b"unsignalled", false);
    left.send(b"signalled", true);
    let told = done(bench, &mut left, 5).await;
    assert_eq!(told[0], Done::Sent(Outcome::Unanswered), "{told:?}");
    assert!(told.contains(&Done::Sent(Outcome::Flushed)), "{told:?}");
    assert_eq!(
        (left.pair.sends_posted(), left.pair.receives_posted(), left.free.len()),
        (0, 0, 48)
    );
    assert_eq!(left.pair.state().expect("the device is there"), QueuePairState::Failed);
}

/// Who sends to a peer that has nothing posted is told so.
pub(crate) async fn a_peer_that_is_not_ready_is_told<B: Bench>(bench: &B) {
    let (mut left, _right) = connected(bench, 64, &HASTY);
    left.send(b"nobody takes it", true);
    assert_eq!(done(bench, &mut left, 1).await, [Done::Sent(Outcome::ReceiverNotReady)]);
}

/// A message that is longer than the slot fails both ends.
pub(crate) async fn what_is_too_long_fails_both_ends<B: Bench>(bench: &B) {
    let mut left = End::new(bench.device(), 4096, None);
    let mut right = End::new(bench.device(), 64, None);
    connect(&mut left.pair, &right.pair.endpoint(), &HASTY);
    connect(&mut right.pair, &left.pair.endpoint(), &HASTY);
    right.receive(1);
    left.send(&[1; 65], true);
    let told = done(bench, &mut right, 1).await;
    // Soft-RoCE has another number for it: a receive that is malformed.
    let is_told =
        |it: &Done| matches!(it, Done::Received(Outcome::TooLong | Outcome::Failed(_), _));
    assert!(told.iter().all(is_told), "{told:?}");
    assert_eq!(done(bench, &mut left, 1).await, [Done::Sent(Outcome::Refused)]);
}

/// Whatever is dropped first: slots stay, and a queue pair that ends gives back what it has.
pub(crate) async fn parts_end_in_any_order<B: Bench>(bench: &B) {
    let (mut left, mut right) = connected(bench, 64, &Timing::default());
    right.receive(5);
    let End { device, completions, pair, mut free, .. } = right;
    drop((device, completions));
    pair.end(|slot| free.push(slot));
    assert_eq!(free.len(), 48);
    free.iter_mut().for_each(|slot| slot.as_mut().fill(7));
    left.receive(2);
    let mut kept = left.slot(b"kept");
    drop(left);
    kept.as_mut()[0] = b'K';
    assert_eq!(kept.as_ref()[..4], *b"Kept");

    let device = bench.device();
    let completions = device.completion_queue(8).expect("a completion queue");
    let mut shared = device.shared_receives(4, 1).expect("shared receives");
    let slot = device.register(1, 64).expect("memory").remove(0);
    shared.push_receive(slot).expect("there is room");
    shared.ring_receives().expect("the device takes it");
    let pair = device.connected(&completions, Some(&shared), &CONFIG).expect("a queue pair");
    drop(shared);
    drop((device, completions));
    drop(pair);
}

/// Somebody else connects a queue pair, and gives it back or, where nobody waits for it any more, destroys it.
// [RDMA-51]
pub(crate) async fn queue_pairs_are_connected_apart<B: Bench>(bench: &B) {
    let [mut left, mut right] = [(); 2].map(|()| End::new(bench.device(), 64, None));
    let (here, there) = (left.pair.endpoint(), right.pair.endpoint());
    let apart = left.device.connect_apart(left.pair, &there, &Timing::default());
    connect(&mut right.pair, &here, &Timing::default());
    left.pair = apart.await.expect("the ends fit");
    assert_eq!(left.pair.state(), Ok(QueuePairState::Ready));
    right.receive(1);
    left.send(b"apart", true);
    assert_eq!(done(bench, &mut right, 1).await, [received(b"apart")]);
    assert_eq!(done(bench, &mut left, 1).await, [Done::Sent(Outcome::Done)]);
    let again = left.device.connect_apart(left.pair, &there, &Timing::default()).await;
    assert!(matches!(again, Err(ConnectError::State)), "{again:?}");

    // It and what it was made of may go in any order.
    let End { device, completions, pair, free, .. } = End::new(bench.device(), 64, None);
    let apart = device.connect_apart(pair, &there, &Timing::default());
    drop((device, completions, free));
    drop(apart);
}

/// What is asked for wrongly is refused, with a reason.
pub(crate) async fn misuse_is_refused<B: Bench>(bench: &B) {
    let (mut left, right) = connected(bench, 64, &Timing::default());
    let again = left.pair.connect(&right.pair.endpoint(), &Timing::default());
    assert!(matches!(again, Err(ConnectError::State)), "{again:?}");
    let device = bench.device();
    assert!(matches!(device.register(0, 64), Err(RegisterError::Nothing)));
    assert!(matches!(device.register(usize::MAX, 64), Err(RegisterError::TooLong { .. })));
    let top = device.datagram(&left.completions, &CONFIG, 1 << 31);
    assert!(matches!(top, Err(CreateError::Range(_))));
    let depth = device.completion_queue(u32::MAX);
    assert!(matches!(depth, Err(CreateError::LimitReached { .. })));
    let mut new = End::new(bench.device(), 64, None);
    let slot = new.slot(b"");
    let early = new.pair.push_send(slot, 0..1, Via::Connection, true);
    assert!(matches!(early, Err(PostError::State(_))));
    for wrong in [1 << 24, u32::MAX] {
        let peer = right.pair.endpoint();
        let odd = greenroom_transports::rdma::verbs::Endpoint { qpn: wrong, ..peer };
        let refused = new.pair.connect(&odd, &Timing::default());
        assert!(matches!(refused, Err(ConnectError::Range(_))), "{refused:?}");
    }
    for _ in 0..CONFIG.receives_max {
        let slot = new.slot(b"");
        new.pair.push_receive(slot).expect("there is room");
    }
    let slot = new.slot(b"");
    assert!(matches!(new.pair.push_receive(slot), Err(PostError::Full(_))));
}
