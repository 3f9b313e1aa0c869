//! Datagrams between queue pairs that lose them, and what is not sent because it would be lost.

use super::*;
use crate::link::Random;
use crate::rdma::sim::{Fabric, SimDevice, SimVerbs, Weather};
use crate::rdma::verbs::Verbs;
use std::collections::BTreeSet;
use std::time::Duration;

const SMALL: Config = Config { peers_max: 3, sends: 16, receives: 16, inline_bytes: 64 };

fn node(fabric: &Fabric, qkey: u32) -> (SimVerbs, Datagrams<SimDevice>) {
    let verbs = fabric.host();
    let device = verbs.open("sim0", 1, 0).expect("a device");
    (verbs, Datagrams::new(device, &SMALL, 5, qkey).expect("room for it"))
}

fn later(fabric: &Fabric) {
    fabric.advance(fabric.now() + Duration::from_micros(50));
}

// [RDMA-20] [RDMA-21] [RDMA-22] [RDMA-23]
#[test]
fn what_comes_was_sent_and_nothing_is_held_up_by_what_does_not() {
    crate::rdma::connected::tests::each_seed(|seed| {
        let mut dice = Random::new(seed);
        let weather = Weather {
            jitter: Duration::from_micros(dice.below(40)),
            completion_jitter: Duration::from_micros(dice.below(40)),
            datagram_loss_permille: [0, 100, 500][dice.below(3) as usize],
            ..Weather::fair()
        };
        let lossless = weather.datagram_loss_permille == 0;
        let fabric = Fabric::new(seed, weather);
        let mut nodes: Vec<_> = (0..3).map(|at| node(&fabric, at + 100).1).collect();
        let endpoints: Vec<_> = nodes.iter().map(Datagrams::endpoint).collect();
        let mut peers = vec![Vec::new(); 3];
        for (at, node) in nodes.iter_mut().enumerate() {
            peers[at].extend(endpoints.iter().map(|to| node.add(to).expect("room for three")));
        }
        let (mut sent, mut came) = (BTreeSet::new(), BTreeSet::new());
        for number in 0..200_u64 {
            let (from, to) = (dice.below(3) as usize, dice.below(3) as usize);
            let len = 8 + dice.below(200) as usize;
            let written = nodes[from].send(peers[from][to], |slot| {
                slot[..8].copy_from_slice(&number.to_le_bytes());
                slot[8..len].fill(number as u8);
                len
            });
            if written.is_ok() {
                sent.insert((from, to, number));
            }
            nodes[from].flush();
            if number % 8 == 7 {
                later(&fabric);
                for (at, node) in nodes.iter_mut().enumerate() {
                    node.poll(|from, datagram| {
                        let from = peers[at].iter().position(|it| Some(*it) == from.peer());
                        let from = from.expect("all know each other");
                        let (number, rest) = datagram.split_first_chunk().expect("eight bytes");
                        let number = u64::from_le_bytes(*number);
                        assert!(rest.iter().all(|&byte| byte == number as u8));
                        assert!(came.insert((from, at, number)), "twice");
                    });
                }
            }
        }
        later(&fabric);
        assert!(came.is_subset(&sent));
        assert!(sent.len() > 150, "sends complete, whatever becomes of the datagrams");
        assert!(nodes.iter().all(|node| node.ended().is_none()));
        if lossless {
            assert!(came.len() + 8 >= sent.len(), "{} of {}", came.len(), sent.len());
        }
    });
}

/// Sends something, and says whom it is from where it comes.
fn heard(
    fabric: &Fabric,
    (from, to): (&mut Datagrams<SimDevice>, PeerId),
    at: &mut Datagrams<SimDevice>,
) -> Option<PeerId> {
    assert_eq!(from.send(to, |_| 8), Ok(8));
    from.flush();
    later(fabric);
    let mut said = None;
    assert_eq!(at.poll(|from, _| said = from.peer()), 1);
    said
}

/// Numbers of queue pairs are of one device: those of several hosts have the same.
// [RDMA-23]
#[test]
fn hosts_are_told_apart_though_their_queue_pairs_have_one_number() {
    let fabric = Fabric::new(1, Weather::fair());
    let (_, mut hub) = node(&fabric, 1);
    let [(moving, mut left), (_, mut right)] = [node(&fabric, 2), node(&fabric, 3)];
    assert_eq!(
        (left.endpoint().qpn, right.endpoint().qpn),
        (hub.endpoint().qpn, hub.endpoint().qpn)
    );
    let [to, to_as_well] = [&mut left, &mut right].map(|it| it.add(&hub.endpoint()).expect("room"));
    assert_eq!(heard(&fabric, (&mut left, to), &mut hub), None, "nobody is known yet");
    let one = hub.add(&left.endpoint()).expect("room");
    assert_eq!(heard(&fabric, (&mut left, to), &mut hub), Some(one));
    assert_eq!(heard(&fabric, (&mut right, to_as_well), &mut hub), None, "it has the same number");
    let other = hub.add(&right.endpoint()).expect("room");
    assert_eq!(heard(&fabric, (&mut left, to), &mut hub), Some(one));
    assert_eq!(heard(&fabric, (&mut right, to_as_well), &mut hub), Some(other));

    let again = hub.add(&left.endpoint()).expect("room");
    assert_eq!(heard(&fabric, (&mut left, to), &mut hub), Some(again), "the last one counts");
    hub.remove(again);
    assert_eq!(heard(&fabric, (&mut left, to), &mut hub), Some(one));
    let again = hub.add(&left.endpoint()).expect("room");
    hub.remove(one);
    assert_eq!(heard(&fabric, (&mut left, to), &mut hub), Some(again));
    hub.remove(again);
    assert_eq!(heard(&fabric, (&mut left, to), &mut hub), None);

    hub.add(&left.endpoint()).expect("room");
    drop(left);
    fabric.readdress(moving.host());
    let mut left = Datagrams::new(moving.open("sim0", 1, 0).expect("a device"), &SMALL, 5, 2);
    let left = left.as_mut().expect("room for it");
    let to = left.add(&hub.endpoint()).expect("room");
    assert_eq!(heard(&fabric, (left, to), &mut hub), None, "by that address nobody is known");
    assert_eq!(heard(&fabric, (&mut right, to_as_well), &mut hub), Some(other));
}

/// A LID is of one port at a time: a peer that is added may have that of one which is known by an address, too.
// [RDMA-23]
#[test]
fn a_lid_that_a_later_peer_had_is_the_earlier_ones_again() {
    let fabric = Fabric::new(1, Weather::fair());
    let (_, mut hub) = node(&fabric, 1);
    let own = hub.endpoint();
    let at = |host| {
        let mut peer = Endpoint { lid: 5, ..own };
        peer.gid[15] = host;
        peer
    };
    let [earlier, later, apart] = [at(70), at(71), Endpoint { qpn: 99, ..at(72) }];
    let route = [0; GRH_BYTES];
    let by_lid = |hub: &Datagrams<SimDevice>, qpn| {
        let completion = Completion { from: qpn, from_lid: 5, ..Completion::default() };
        Sender::new(&hub.senders, &completion, &route).peer()
    };
    let qpn = earlier.qpn;
    let [first, second, third] = [earlier, later, apart].map(|it| hub.add(&it).expect("room"));
    assert_eq!(by_lid(&hub, qpn), Some(second), "the last one counts");
    hub.remove(second);
    assert_eq!(by_lid(&hub, qpn), Some(first));
    let second = hub.add(&later).expect("room");
    hub.remove(first);
    assert_eq!(by_lid(&hub, qpn), Some(second), "what is another one's stays so");
    assert_eq!(by_lid(&hub, 99), Some(third));
}

// [RDMA-20]
#[test]
fn nothing_longer_than_either_port_takes_can_be_written() {
    let fabric = Fabric::new(1, Weather::fair());
    let (_, mut left) = node(&fabric, 1);
    let (_, mut right) = node(&fabric, 2);
    let narrow = Endpoint { mtu_bytes: 1024, ..right.endpoint() };
    let peer = left.add(&narrow).expect("room");
    assert_eq!(left.bytes_max(peer), Some(1024));
    assert_eq!(left.send(peer, |slot| slot.len() + 1), Ok(1024));
    left.flush();
    later(&fabric);
    let mut lens = Vec::new();
    right.poll(|_, datagram| lens.push(datagram.len()));
    assert_eq!(lens, [1024]);
}

#[test]
fn peers_come_and_go_and_a_device_goes() {
    let fabric = Fabric::new(1, Weather::fair());
    let (verbs, mut left) = node(&fabric, 1);
    let own = left.endpoint();
    let peers: Vec<_> = (0..3).map(|_| left.add(&own).expect("room for three")).collect();
    assert!(matches!(left.add(&own), Err(DatagramError::TooMany(3))));
    left.remove(peers[1]);
    let new = left.add(&own).expect("room for one");
    assert_ne!(new, peers[1]);
    assert_eq!(left.send(peers[1], |_| 1), Err(SendError::Ended));
    left.remove(peers[1]);
    assert_eq!(left.send(new, |_| 8), Ok(8), "an id that is old removes nothing");
    assert_eq!(left.bytes_max(peers[1]), None);
    left.flush();
    left.arm();
    let mut context = Context::from_waker(std::task::Waker::noop());
    assert_eq!(left.poll_event(&mut context), Poll::Pending);
    later(&fabric);
    assert_eq!(left.poll_event(&mut context), Poll::Ready(()));
    assert_eq!(left.poll(|from, _| assert_eq!(from.peer(), Some(new))), 1);
    fabric.pull(verbs.host());
    assert_eq!(left.poll(|_, _| {}), 0);
    assert_eq!(left.ended(), Some(Ended::Device(DeviceError::Gone)));
    assert_eq!(left.send(new, |_| 8), Err(SendError::Ended));
    assert!(!left.has_room());
    assert_eq!(left.poll_event(&mut context), Poll::Ready(()));
}

/// Who waits for room is not left waiting where a poll after [`Datagrams::arm`] takes nothing but what was sent: no event
/// tells of that.
// [RDMA-16]
#[test]
fn room_that_is_polled_is_told_of() {
    let fabric = Fabric::new(1, Weather::fair());
    let (_, mut left) = node(&fabric, 1);
    let (_, right) = node(&fabric, 2);
    let peer = left.add(&right.endpoint()).expect("room");
    while left.has_room() {
        assert_eq!(left.send(peer, |_| 8), Ok(8));
    }
    left.flush();
    later(&fabric);
    left.arm();
    assert_eq!(left.poll(|_, _| panic!("nothing was sent here")), 0);
    let mut context = Context::from_waker(std::task::Waker::noop());
    assert_eq!(left.poll_event(&mut context), Poll::Pending);
    assert!(left.has_room() && left.has_taken());
    left.poll(|_, _| {});
    assert!(!left.has_taken());
}

/// A peer need not keep to what it was told, and its port may take more than this end's.
// [RDMA-22]
#[test]
fn a_datagram_that_is_longer_than_the_port_takes_ends_nothing() {
    let fabric = Fabric::new(7, Weather::fair());
    let verbs = fabric.host();
    fabric.limit_mtu(verbs.host(), 1024);
    let device = verbs.open("sim0", 1, 0).expect("a device");
    let mut near = Datagrams::new(device, &SMALL, 5, 100).expect("room for it");
    let (_, mut far) = node(&fabric, 101);
    assert_eq!(near.endpoint().mtu_bytes, 1024);
    let to = far.add(&Endpoint { mtu_bytes: 4096, ..near.endpoint() }).expect("room for one");
    for len in [4096, 1025, 8] {
        assert_eq!(far.send(to, |_| len), Ok(len));
        far.flush();
        later(&fabric);
        let mut came = 0;
        near.poll(|_, datagram| came = datagram.len());
        assert_eq!((came, near.ended()), (len, None));
    }
}
