//! What the simulated devices do that real ones do, and what misuse gives.

use super::*;
use crate::rdma::verbs::{
    Completion, CompletionQueue, ConnectError, CreateError, Device, DeviceError, DeviceEvent,
    Direction, Endpoint, OpenError, Outcome, PostError, QueuePair, QueuePairConfig, QueuePairState,
    Receives, RegisterError, Timing, Verbs, Via, WorkId, beginning,
};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::{Context, Poll, Waker};

const CONFIG: QueuePairConfig =
    QueuePairConfig { sends_max: 8, receives_max: 8, inline_bytes: 64, owner: 5, psn: 77 };

/// One queue pair with its machine's device and completions.
struct End {
    host: usize,
    device: SimDevice,
    completions: SimCompletionQueue,
    pair: SimQueuePair,
}

impl End {
    fn new(fabric: &Fabric, qkey: Option<u32>) -> Self {
        let verbs = fabric.host();
        let device = verbs.open("sim0", 1, 0).unwrap();
        let completions = device.completion_queue(16).unwrap();
        let pair = match qkey {
            Some(qkey) => device.datagram(&completions, &CONFIG, qkey).unwrap(),
            None => device.connected(&completions, None, &CONFIG).unwrap(),
        };
        Self { host: verbs.host(), device, completions, pair }
    }

    fn slot(&self, text: &[u8]) -> SimSlot {
        let mut slot = self.device.register(1, 128).unwrap().pop().unwrap();
        slot.as_mut()[..text.len()].copy_from_slice(text);
        slot
    }

    fn post_receives(&mut self, count: usize) {
        for _ in 0..count {
            let slot = self.slot(b"");
            self.pair.push_receive(slot).unwrap();
        }
        self.pair.ring_receives().unwrap();
    }

    fn send(&mut self, text: &[u8], signalled: bool) {
        let slot = self.slot(text);
        self.pair.push_send(slot, 0..text.len(), Via::Connection, signalled).unwrap();
        self.pair.ring_sends().unwrap();
    }

    fn polled(&mut self) -> Vec<Completion> {
        let mut batch = [Completion::default(); 32];
        let count = self.completions.poll(&mut batch).unwrap();
        batch[..count].to_vec()
    }

    fn outcomes(&mut self) -> Vec<Outcome> {
        self.polled().iter().map(|it| it.outcome).collect()
    }

    /// The texts that came.
    fn texts(&mut self) -> Vec<Vec<u8>> {
        let polled = self.polled();
        let received = polled.iter().filter_map(|it| {
            let slot = self.pair.received(it)?;
            Some(slot.as_ref()[..it.bytes as usize].to_vec())
        });
        received.collect()
    }
}

fn connected(weather: Weather) -> (Fabric, End, End) {
    let fabric = Fabric::new(1, weather);
    let (mut left, mut right) = (End::new(&fabric, None), End::new(&fabric, None));
    let timing = Timing { retries: 1, not_ready_retries: 2, ..Timing::default() };
    left.pair.connect(&right.pair.endpoint(), &timing).unwrap();
    right.pair.connect(&left.pair.endpoint(), &timing).unwrap();
    (fabric, left, right)
}

fn later(fabric: &Fabric, micros: u64) {
    fabric.advance(fabric.now() + Duration::from_micros(micros));
}

const LONG: u64 = 60_000_000;

// [RDMA-7]
#[test]
fn a_device_that_refuses_so_much_inline_is_asked_for_less() {
    for (takes, inline_bytes) in [(220, 220), (219, 96), (95, 64), (1, 0)] {
        let fabric = Fabric::new(1, Weather::fair());
        let verbs = fabric.host();
        let device = verbs.open("sim0", 1, 0).unwrap();
        let completions = device.completion_queue(16).unwrap();
        fabric.limit_inline(verbs.host(), takes);
        let config = QueuePairConfig { inline_bytes: 220, ..CONFIG };
        let connected = device.connected(&completions, None, &config).unwrap();
        // It was found out, and other queue pairs are not refused at first.
        fabric.limit_inline(verbs.host(), 220);
        let datagrams = device.datagram(&completions, &config, 7).unwrap();
        let taken = [connected.inline_bytes_max(), datagrams.inline_bytes_max()];
        assert_eq!(taken, [inline_bytes; 2], "of {takes}");
    }
}

#[test]
fn messages_arrive_in_order_and_only_what_is_signalled_completes() {
    let weather = Weather { jitter: Duration::from_micros(50), ..Weather::fair() };
    let (fabric, mut left, mut right) = connected(weather);
    right.post_receives(4);
    for (text, signalled) in [(b"one", false), (b"two", false), (b"tre", true)] {
        left.send(text, signalled);
    }
    left.pair.push_inline(b"four", Via::Connection, false).unwrap();
    left.pair.ring_sends().unwrap();
    later(&fabric, 500);
    assert_eq!(right.texts(), [&b"one"[..], b"two", b"tre", b"four"]);
    let polled = left.polled();
    assert_eq!(polled.len(), 1);
    let mut back = Vec::new();
    left.pair.sent(&polled[0], |slot| back.push(slot.as_ref()[0]));
    assert_eq!(back, *b"ott", "its own slot and those before it");
    assert_eq!(left.pair.sends_posted(), 1, "the inline send is not known to be done");
}

#[test]
fn a_peer_that_is_not_ready_is_waited_for_and_then_given_up() {
    let (fabric, mut left, mut right) = connected(Weather::fair());
    left.send(b"wait", true);
    later(&fabric, 100);
    assert_eq!(left.outcomes(), []);
    right.post_receives(1);
    later(&fabric, 1000);
    assert_eq!((right.texts(), left.outcomes()), (vec![b"wait".to_vec()], vec![Outcome::Done]));

    left.send(b"lost", false);
    left.send(b"lost", false);
    later(&fabric, LONG);
    assert_eq!(left.outcomes(), [Outcome::ReceiverNotReady, Outcome::Flushed]);
    assert_eq!(left.pair.state(), Ok(QueuePairState::Failed));
    let slot = left.slot(b"");
    assert!(matches!(
        left.pair.push_send(slot, 0..0, Via::Connection, true),
        Err(PostError::State(_))
    ));
}

#[test]
fn who_is_not_there_or_counts_otherwise_does_not_answer() {
    let (fabric, mut left, right) = connected(Weather::fair());
    drop(right);
    left.send(b"hello", false);
    later(&fabric, LONG);
    assert_eq!(left.outcomes(), [Outcome::Unanswered]);

    let fabric = Fabric::new(1, Weather::fair());
    let (mut left, mut right) = (End::new(&fabric, None), End::new(&fabric, None));
    let wrong = Endpoint { psn: 78, ..left.pair.endpoint() };
    right.pair.connect(&wrong, &Timing::default()).unwrap();
    left.pair.connect(&right.pair.endpoint(), &Timing::default()).unwrap();
    right.post_receives(1);
    left.send(b"hello", false);
    later(&fabric, LONG);
    assert_eq!((left.outcomes(), right.texts().len()), (vec![Outcome::Unanswered], 0));
}

#[test]
fn a_port_that_comes_up_in_time_loses_nothing() {
    let (fabric, mut left, mut right) = connected(Weather::fair());
    right.post_receives(1);
    fabric.set_port(right.host, false);
    left.send(b"late", true);
    later(&fabric, 1000);
    fabric.set_port(right.host, true);
    later(&fabric, LONG);
    assert_eq!((right.texts(), left.outcomes()), (vec![b"late".to_vec()], vec![Outcome::Done]));
    let mut context = Context::from_waker(Waker::noop());
    let mut news = || right.device.poll_event(&mut context);
    assert_eq!(news(), Poll::Ready(Ok(DeviceEvent::PortDown)));
    assert_eq!(news(), Poll::Ready(Ok(DeviceEvent::PortUp)));
    assert_eq!(news(), Poll::Pending);
}

#[test]
fn what_does_not_fit_fails_both_ends() {
    let (fabric, mut left, mut right) = connected(Weather::fair());
    let short = right.device.register(1, 4).unwrap().pop().unwrap();
    right.pair.push_receive(short).unwrap();
    right.pair.ring_receives().unwrap();
    right.post_receives(1);
    left.send(b"too long", false);
    later(&fabric, LONG);
    assert_eq!(left.outcomes(), [Outcome::Refused]);
    assert_eq!(right.outcomes(), [Outcome::TooLong, Outcome::Flushed]);
}

#[test]
fn a_failure_may_come_after_the_message_arrived() {
    let weather = Weather { failures_ppm: 1_000_000, ..Weather::fair() };
    let arrived = (0..20).map(|seed| {
        let (fabric, mut left, mut right) = connected(weather.clone());
        fabric.state.borrow_mut().random = crate::link::Random::new(seed);
        right.post_receives(1);
        left.send(b"maybe", false);
        later(&fabric, 100);
        assert_eq!(left.outcomes(), [Outcome::Unanswered]);
        right.texts().len()
    });
    let arrived: usize = arrived.sum();
    assert!((1..20).contains(&arrived), "{arrived} of 20");
}

fn datagrams(weather: Weather) -> (Fabric, End, End) {
    let fabric = Fabric::new(1, weather);
    let (left, right) = (End::new(&fabric, Some(7)), End::new(&fabric, Some(9)));
    (fabric, left, right)
}

fn send_datagram(left: &mut End, right: &End, bytes: usize, qkey: u32) {
    let to = right.pair.endpoint();
    let address = left.device.address(&to).unwrap();
    let via = Via::Datagram { address: &address, qpn: to.qpn, qkey };
    let slot = left.device.register(1, bytes.max(1)).unwrap().pop().unwrap();
    left.pair.push_send(slot, 0..bytes, via, true).unwrap();
    left.pair.ring_sends().unwrap();
}

#[test]
fn a_datagram_lies_behind_its_route_or_vanishes() {
    let weather = Weather { path_mtu_bytes: 64, ..Weather::fair() };
    let (fabric, mut left, mut right) = datagrams(weather);
    // Nothing is posted; then another key; then too long for the path.
    send_datagram(&mut left, &right, 5, 9);
    later(&fabric, 10);
    right.post_receives(1);
    send_datagram(&mut left, &right, 5, 8);
    send_datagram(&mut left, &right, 65, 9);
    later(&fabric, 10);
    assert_eq!(right.outcomes(), []);
    assert_eq!(left.outcomes(), [Outcome::Done; 3], "all of them were sent");

    send_datagram(&mut left, &right, 64, 9);
    later(&fabric, 10);
    let completion = right.polled()[0];
    assert_eq!((completion.bytes, completion.from), (104, left.pair.endpoint().qpn));
    assert!(completion.has_grh);
    let slot = right.pair.received(&completion).unwrap();
    assert_eq!(slot.as_ref()[32..36], left.pair.endpoint().gid[12..]);
    assert_eq!(slot.as_ref()[36..40], right.pair.endpoint().gid[12..]);
}

#[test]
fn datagrams_are_lost_and_overtake() {
    let jitter = Duration::from_micros(100);
    let weather = Weather { datagram_loss_permille: 300, jitter, ..Weather::fair() };
    let (fabric, mut left, mut right) = datagrams(weather);
    let mut lengths = Vec::new();
    for round in 0..20 {
        right.post_receives(8 - right.pair.receives_posted());
        for length in 0..4 {
            send_datagram(&mut left, &right, round * 4 + length, 9);
        }
        later(&fabric, 200);
        let came = right.texts();
        lengths.extend(came.iter().map(|text| text.len() - 40));
        for completion in left.polled() {
            left.pair.sent(&completion, drop);
        }
    }
    assert!((30..80).contains(&lengths.len()), "{} of 80", lengths.len());
    assert!(!lengths.is_sorted());
}

#[test]
fn completions_that_nobody_takes_end_everything() {
    let (fabric, mut left, right) = datagrams(Weather::fair());
    for sequence in 0..17 {
        send_datagram(&mut left, &right, 1, 9);
        later(&fabric, 10);
        // The queue pair is told that it is done, and the completion stays where it is.
        let queue = fabric::identity(left.pair.pair);
        let work = WorkId::new(Direction::Send, CONFIG.owner, beginning(queue) + sequence);
        left.pair.sent(&Completion { work, queue, ..Completion::default() }, drop);
    }
    let mut batch = [Completion::default(); 4];
    assert_eq!(left.completions.poll(&mut batch), Err(DeviceError::Overflow));
    assert_eq!(left.pair.state(), Ok(QueuePairState::Failed));
}

#[test]
fn a_device_that_is_pulled_away_says_so_everywhere() {
    let (fabric, mut left, mut right) = connected(Weather::fair());
    left.send(b"gone", false);
    fabric.pull(left.host);
    later(&fabric, LONG);
    let mut batch = [Completion::default(); 4];
    assert_eq!(left.completions.poll(&mut batch), Err(DeviceError::Gone));
    assert_eq!(left.completions.arm(), Err(DeviceError::Gone));
    assert_eq!(left.pair.ring_sends(), Err(DeviceError::Gone));
    assert_eq!(left.pair.state(), Err(DeviceError::Gone));
    assert!(left.device.completion_queue(1).is_err());
    let mut context = Context::from_waker(Waker::noop());
    assert_eq!(left.device.poll_event(&mut context), Poll::Ready(Ok(DeviceEvent::Gone)));
    assert_eq!(left.device.poll_event(&mut context), Poll::Ready(Err(DeviceError::Gone)));
    let mut back = 0;
    left.pair.end(|_| back += 1);
    assert_eq!(back, 1, "its memory comes back");
    right.send(b"anyone?", false);
    later(&fabric, LONG);
    assert_eq!(right.outcomes(), [Outcome::Unanswered]);
}

#[test]
fn an_event_comes_only_for_what_completes_after_arming() {
    let (fabric, mut left, mut right) = connected(Weather::fair());
    right.post_receives(2);
    left.send(b"early", false);
    later(&fabric, 10);
    let mut context = Context::from_waker(Waker::noop());
    right.completions.arm().unwrap();
    assert_eq!(right.completions.poll_event(&mut context), Poll::Pending);
    assert_eq!(right.texts().len(), 1, "which is why one polls once more");
    left.send(b"late", false);
    later(&fabric, 10);
    assert_eq!(right.completions.poll_event(&mut context), Poll::Ready(Ok(())));
    assert_eq!(right.completions.poll_event(&mut context), Poll::Pending);
}

#[test]
fn shared_receives_serve_several_and_outlive_them() {
    let fabric = Fabric::new(1, Weather::fair());
    let mut clients = [End::new(&fabric, None), End::new(&fabric, None)];
    let device = fabric.host().open("sim0", 1, 0).unwrap();
    let mut completions = device.completion_queue(16).unwrap();
    let mut shared = device.shared_receives(4, 9).unwrap();
    for slot in device.register(4, 64).unwrap() {
        shared.push_receive(slot).unwrap();
    }
    shared.ring_receives().unwrap();
    let mut pairs = Vec::new();
    for client in &mut clients {
        let mut pair = device.connected(&completions, Some(&shared), &CONFIG).unwrap();
        pair.connect(&client.pair.endpoint(), &Timing::default()).unwrap();
        client.pair.connect(&pair.endpoint(), &Timing::default()).unwrap();
        let slot = device.register(1, 8).unwrap().pop().unwrap();
        assert!(matches!(pair.push_receive(slot), Err(PostError::State(_))));
        client.send(b"hi", false);
        pairs.push(pair);
    }
    later(&fabric, 10);
    let mut batch = [Completion::default(); 8];
    assert_eq!(completions.poll(&mut batch), Ok(2));
    for (completion, pair) in batch.iter().zip(&pairs) {
        assert_eq!((completion.qpn, completion.work.owner()), (pair.endpoint().qpn, 9));
        assert!(shared.received(completion).is_some());
    }
    pairs.into_iter().for_each(|pair| pair.end(|_| panic!("it held nothing")));
    assert_eq!(shared.receives_posted(), 2);
}

#[test]
fn misuse_is_refused_and_the_slot_comes_back() {
    let (fabric, mut left, right) = connected(Weather::fair());
    let foreign = right.slot(b"");
    assert!(matches!(
        left.pair.push_send(foreign, 0..1, Via::Connection, true),
        Err(PostError::Foreign(_))
    ));
    let foreign = right.slot(b"");
    assert!(matches!(left.pair.push_receive(foreign), Err(PostError::Foreign(_))));
    let slot = left.slot(b"");
    let Err(PostError::TooLong(slot)) = left.pair.push_send(slot, 0..129, Via::Connection, true)
    else {
        panic!("more than the slot has");
    };
    let address = left.device.address(&right.pair.endpoint()).unwrap();
    let datagram = Via::Datagram { address: &address, qpn: 1, qkey: 1 };
    assert!(matches!(left.pair.push_send(slot, 0..1, datagram, true), Err(PostError::State(_))));
    assert_eq!(left.pair.push_inline(&[0; 65], Via::Connection, true), Err(PostError::TooLong(())));
    for _ in 0..8 {
        left.send(b"fill", false);
    }
    let slot = left.slot(b"mine");
    let Err(PostError::Full(slot)) = left.pair.push_send(slot, 0..4, Via::Connection, true) else {
        panic!("eight are there");
    };
    assert_eq!(slot.as_ref()[..4], *b"mine");
    assert_eq!(left.pair.push_inline(b"", Via::Connection, true), Err(PostError::Full(())));
    assert_eq!(left.pair.received(&Completion::default()).map(drop), None);
    let again = left.pair.connect(&right.pair.endpoint(), &Timing::default());
    assert!(matches!(again, Err(ConnectError::State)));

    let verbs = fabric.host();
    let device = verbs.open("sim0", 1, 0).unwrap();
    assert!(matches!(verbs.open("mlx5_0", 1, 0), Err(OpenError::NoDevice(_))));
    assert!(matches!(verbs.open("sim0", 2, 0), Err(OpenError::NoPort(2))));
    assert!(matches!(verbs.open("sim0", 1, 3), Err(OpenError::NoGid(3))));
    fabric.set_port(verbs.host(), false);
    assert!(matches!(verbs.open("sim0", 1, 0), Err(OpenError::PortDown(1))));
    assert!(matches!(device.register(0, 64), Err(RegisterError::Nothing)));
    assert!(matches!(device.register(usize::MAX, 64), Err(RegisterError::TooLong { .. })));
    let completions = device.completion_queue(4).unwrap();
    let refused =
        |config: &QueuePairConfig, qkey| device.datagram(&completions, config, qkey).err();
    assert!(matches!(refused(&CONFIG, 1 << 31), Some(CreateError::Range(_))));
    let config = QueuePairConfig { owner: 1 << 15, ..CONFIG };
    assert!(matches!(refused(&config, 1), Some(CreateError::Range(_))));
    let config = QueuePairConfig { sends_max: 1 << 20, ..CONFIG };
    assert!(matches!(refused(&config, 1), Some(CreateError::LimitReached { .. })));
    assert!(matches!(left.device.datagram(&completions, &CONFIG, 1), Err(CreateError::Foreign)));
    let mut pair = device.connected(&completions, None, &CONFIG).unwrap();
    let far = Endpoint { qpn: 1 << 24, ..Endpoint::default() };
    assert!(matches!(pair.connect(&far, &Timing::default()), Err(ConnectError::Range(_))));
    assert!(matches!(pair.push_inline(b"", Via::Connection, true), Err(PostError::State(())),));
}

#[test]
fn completions_of_two_queue_pairs_change_places() {
    let changed = (0..20).filter(|&seed| {
        let weather = Weather { completion_jitter: Duration::from_micros(9), ..Weather::fair() };
        let fabric = Fabric::new(seed, weather);
        let (mut left, right) = (End::new(&fabric, Some(7)), End::new(&fabric, Some(9)));
        let config = QueuePairConfig { owner: 6, ..CONFIG };
        let second = left.device.datagram(&left.completions, &config, 7).unwrap();
        send_datagram(&mut left, &right, 1, 9);
        let first = std::mem::replace(&mut left.pair, second);
        send_datagram(&mut left, &right, 1, 9);
        later(&fabric, 50);
        let owners: Vec<_> = left.polled().iter().map(|it| it.work.owner()).collect();
        assert_eq!(owners.len(), 2);
        drop(first);
        owners == [6, 5]
    });
    assert!((1..20).contains(&changed.count()));
}

/// As with the system's: nobody waits for it, and it keeps its device open.
// [RDMA-9]
#[test]
fn what_is_dropped_while_it_is_connected_goes_when_the_system_is_done() {
    let search = Duration::from_secs(1);
    let fabric = Fabric::new(1, Weather { search, ..Weather::fair() });
    let End { host, device, completions, pair } = End::new(&fabric, None);
    let (began, nowhere) = (fabric.now(), Endpoint { gid: [9; 16], ..pair.endpoint() });
    let apart = device.connect_apart(pair, &nowhere, &Timing::default());
    drop((device, completions, apart));
    assert_eq!(fabric.now(), began, "it stood still");
    fabric.advance(began + search / 2);
    assert!(fabric.is_open(host));
    fabric.advance(began + search);
    assert!(!fabric.is_open(host));
}

/// A test that fails leaves queues behind: to be told of their end would end all other tests.
#[test]
fn calls_are_told_of_unless_a_test_has_failed() {
    let fabric = Fabric::new(1, Weather::fair());
    let device = fabric.host().open("sim0", 1, 0).unwrap();
    let told = Rc::new(Cell::new(0));
    let count = Rc::clone(&told);
    calls::watch(move || count.set(count.get() + 1));
    let queues = (device.completion_queue(4).unwrap(), device.shared_receives(4, 9).unwrap());
    assert_eq!(told.get(), 2, "each is made by a call");
    drop(queues);
    assert_eq!(told.get(), 4, "and destroyed by one");
    let mut end = End::new(&fabric, None);
    calls::watch(|| panic!("a call"));
    assert!(catch_unwind(AssertUnwindSafe(move || end.send(b"told", true))).is_err());
    calls::watch(|| {});
}
