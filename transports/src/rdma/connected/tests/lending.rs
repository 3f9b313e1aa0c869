//! Packets that are kept where they lie.

use super::super::lending::{LENT_MAX, RESERVE};
use super::*;

/// What the right end of a pair was lent.
struct Lent {
    fabric: Fabric,
    ends: [Connected<SimDevice>; 2],
    ids: [ConnectionId; 2],
    /// Packets have numbers.
    sent: u32,
    packets: Vec<(u32, Bytes)>,
}

impl Lent {
    /// A pair that has all the memory that it may want.
    fn new() -> Self {
        let mut lent = Self::short();
        assert_eq!(lent.send(3 * LENT_MAX as u32), LENT_MAX, "and no more, though all are kept");
        lent.let_go();
        lent
    }

    /// One that has what it needs at first.
    fn short() -> Self {
        let (fabric, ends, ids) = pair();
        Self { fabric, ends, ids, sent: 0, packets: Vec::new() }
    }

    /// So many packets more come; says how many were lent.
    fn send(&mut self, count: u32) -> usize {
        let Self { fabric, ends: [left, right], ids: [id, _], sent, packets } = self;
        let (before, until) = (packets.len(), *sent + count);
        let mut came = *sent;
        for turn in 0.. {
            assert!(turn < 10_000, "somebody waits for ever: {came} of {until}");
            while *sent < until && left.has_room(*id) {
                assert_eq!(left.send(*id, |slot| put(slot, &sent.to_le_bytes())), Ok(4));
                *sent += 1;
            }
            left.flush();
            fabric.advance(fabric.now() + Duration::from_micros(20));
            right.poll(|_, packet| {
                assert_eq!(**packet, came.to_le_bytes());
                if let Some(lent) = packet.lend() {
                    packets.push((came, lent));
                    assert!(packet.is_empty(), "it is somebody else's now");
                    assert_eq!(packet.lend(), None);
                }
                came += 1;
            });
            right.flush();
            left.poll(|_, _| panic!("nobody answers"));
            if came == until {
                break;
            }
        }
        packets.len() - before
    }

    /// Another connection takes the place of this one, and with it other memory.
    fn reconnect(&mut self) {
        let Self { fabric, ends, ids, .. } = self;
        for (end, id) in ends.iter_mut().zip(&*ids) {
            end.end(*id);
        }
        while !ends.iter().all(Connected::is_unused) {
            fabric.advance(fabric.now() + Duration::from_millis(1));
            ends.iter_mut().for_each(|end| _ = end.poll(|_, _| panic!("nobody says anything")));
        }
        *ids = [0, 1].map(|at: usize| ends[at].open(at as u32).expect("room for it"));
        let [left, right] = [0, 1].map(|at: usize| ends[at].endpoint(ids[at]).expect("it is open"));
        ends[0].connect(ids[0], &right, SMALL.receives).expect("they fit");
        ends[1].connect(ids[1], &left, SMALL.receives).expect("they fit");
    }

    /// Nobody keeps any, and all were as they were sent.
    fn let_go(&mut self) {
        for (number, packet) in self.packets.drain(..) {
            assert_eq!(*packet, number.to_le_bytes());
        }
    }
}

// [RDMA-54]
#[test]
fn no_more_is_lent_than_may_be_and_nobody_waits_for_it() {
    let mut lent = Lent::new();
    let posted = lent.ends[1].receives_posted();
    assert_eq!(lent.send(3 * LENT_MAX as u32), LENT_MAX);
    assert_eq!(lent.send(100), 0);
    lent.packets.truncate(LENT_MAX - 20);
    assert_eq!(lent.send(100), 20, "as many as came back");
    assert_eq!(lent.ends[1].receives_posted(), posted, "there is another one for each");
    lent.let_go();
    for _ in 0..10 {
        assert_eq!(lent.send(50), 50);
        lent.let_go();
    }
    assert_eq!(lent.ends[1].receives_posted(), posted);
}

// [RDMA-54]
#[test]
fn where_memory_is_short_some_stays_for_those_who_send() {
    let mut lent = Lent::short();
    lent.send(20);
    lent.let_go();
    lent.fabric.limit_memory(1, 0);
    let few = lent.send(300);
    assert!((1..LENT_MAX).contains(&few), "{few} are lent");
    assert_eq!(lent.ends[1].memory.spare.len(), RESERVE);
    assert_eq!(lent.send(100), 0);
    lent.let_go();
    assert_eq!(lent.send(few as u32), few);
}

/// What was registered with it is held as well, for nobody.
// [RDMA-54]
#[test]
fn who_keeps_some_of_each_connection_is_lent_fewer() {
    let mut lent = Lent::new();
    let (mut kept, mut before) = (Vec::new(), LENT_MAX + 1);
    for _ in 0..4 {
        let now = lent.send(3 * LENT_MAX as u32);
        assert!(now < before, "{now} are lent, and {before} before");
        before = now;
        kept.extend(lent.packets.pop());
        lent.let_go();
        lent.reconnect();
    }
    assert_eq!(lent.send(200), 0);
    kept.clear();
    assert!(lent.send(3 * LENT_MAX as u32) == LENT_MAX, "all have come back");
}

// [RDMA-54]
#[test]
fn what_is_lent_outlives_its_queue_pairs() {
    let mut lent = Lent::new();
    assert_eq!(lent.send(50), 50);
    let Lent { ends, mut packets, .. } = lent;
    drop(ends);
    for (number, packet) in packets.drain(..25) {
        assert_eq!(*packet, number.to_le_bytes());
    }
    // As actors do, which have threads of their own.
    std::thread::spawn(move || drop(packets)).join().expect("nobody is there to take them back");
}

// [RDMA-54]
#[test]
fn what_is_lent_comes_back_from_other_threads() {
    let mut lent = Lent::new();
    for _ in 0..5 {
        assert_eq!(lent.send(LENT_MAX as u32), LENT_MAX);
        let packets = std::mem::take(&mut lent.packets);
        let middle = packets.len() / 2;
        let halves = [packets[..middle].to_vec(), packets[middle..].to_vec()];
        drop(packets);
        let threads = halves.map(|half| std::thread::spawn(move || drop(half)));
        threads.into_iter().for_each(|it| it.join().expect("it only lets go"));
    }
}

/// Whoever panics with a packet takes its slot along, and no other.
// [RDMA-54]
#[test]
fn a_panic_with_what_is_lent_loses_no_more_than_that() {
    let mut lent = Lent::new();
    let Lent { fabric, ends: [left, right], ids: [id, _], .. } = &mut lent;
    let posted = right.receives_posted();
    assert_eq!(left.send(*id, |slot| put(slot, b"more")), Ok(4));
    left.flush();
    fabric.advance(fabric.now() + Duration::from_micros(20));
    let panics = || {
        right.poll(|_, packet| {
            let _lent = packet.lend().expect("there are others");
            std::panic::panic_any("with what is lent");
        })
    };
    assert!(std::panic::catch_unwind(AssertUnwindSafe(panics)).is_err());
    assert_eq!(right.receives_posted(), posted - 1);
    assert_eq!(right.lent(), 0, "it has come back");
    lent.sent = 0;
    assert_eq!(lent.send(LENT_MAX as u32), LENT_MAX);
}
