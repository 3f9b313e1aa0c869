//! Queue pairs that are connected while everything else goes on.

use super::*;
use std::task::Waker;

const SECOND: Duration = Duration::from_secs(1);

/// Where nobody is.
fn nowhere(end: &Connected<SimDevice>, id: ConnectionId) -> Endpoint {
    Endpoint { gid: [9; 16], ..end.endpoint(id).expect("it is open") }
}

fn polled(end: &mut Connected<SimDevice>) -> Poll<(ConnectionId, Result<(), ConnectionError>)> {
    end.poll_connected(&mut Context::from_waker(Waker::noop()))
}

/// Two workers whose network searches for a second.
fn two() -> (Fabric, [Connected<SimDevice>; 2]) {
    let fabric = Fabric::new(1, Weather { search: SECOND, ..Weather::fair() });
    let ends = [(); 2].map(|()| World::node(&fabric).connected);
    (fabric, ends)
}

// [RDMA-51]
#[test]
fn who_connects_apart_goes_on_meanwhile() {
    let (fabric, [mut left, mut right]) = two();
    let began = fabric.now();
    let slow = left.open(1).expect("room for it");
    let peer = nowhere(&left, slow);
    assert!(matches!(left.connect_apart(slow, &peer, 3), Err(ConnectionError::Receives(3))));
    left.connect_apart(slow, &peer, 8).expect("it is open");
    assert!(matches!(left.connect_apart(slow, &peer, 8), Err(ConnectionError::State)), "once");
    assert!(matches!(left.connect(slow, &peer, 8), Err(ConnectionError::State)));
    assert_eq!((left.has_room(slow), left.endpoint(slow)), (false, None));
    assert!(polled(&mut left).is_pending());

    let ids = [left.open(2).expect("room for it"), right.open(3).expect("room for it")];
    let far = right.endpoint(ids[1]).expect("it is open");
    let near = left.endpoint(ids[0]).expect("it is open");
    left.connect_apart(ids[0], &far, 8).expect("it is open");
    right.connect_apart(ids[1], &near, 8).expect("it is open");
    assert!(matches!(polled(&mut left), Poll::Ready((id, Ok(()))) if id == ids[0]));
    assert!(matches!(polled(&mut right), Poll::Ready((id, Ok(()))) if id == ids[1]));
    left.send(ids[0], |slot| put(slot, b"now")).expect("room");
    left.flush();
    assert_eq!(fabric.now(), began, "nobody stood still");
    fabric.advance(began + SECOND / 2);
    assert_eq!(right.poll(|_, packet| assert_eq!(**packet, *b"now")), 1);

    fabric.advance(began + SECOND);
    let made = polled(&mut left);
    let Poll::Ready((id, Err(ConnectionError::Connect(_)))) = made else { panic!("{made:?}") };
    assert_eq!(id, slow);
    assert!(polled(&mut left).is_pending(), "once");
    assert_eq!(left.poll_ended(), None, "it was said");
    assert_eq!(left.send(slow, |_| 1), Err(SendError::Ended));
}

/// Its place is nobody's until its queue pair is back, and nobody is told of it a second time.
// [RDMA-51]
#[test]
fn what_ends_while_it_is_connected_gives_back_what_it_had() {
    let (fabric, [mut left, _]) = two();
    let ids: Vec<_> = (0..4).map(|psn| left.open(psn).expect("room for four")).collect();
    let (posted, free) = (left.receives_posted(), left.shared.pool.free());
    for &id in &ids {
        let peer = nowhere(&left, id);
        left.connect_apart(id, &peer, 8).expect("it is open");
        left.end(id);
        left.end(id);
    }
    assert!(matches!(left.open(9), Err(ConnectionError::TooMany(4))));
    assert!(polled(&mut left).is_pending());
    assert_eq!(left.shared.pool.free(), free, "what they had is theirs until then");
    fabric.advance(fabric.now() + SECOND);
    for _ in &ids {
        let made = polled(&mut left);
        let Poll::Ready((id, Err(ConnectionError::Connect(_)))) = made else { panic!("{made:?}") };
        assert!(ids.contains(&id));
    }
    assert_eq!(left.poll_ended(), None);
    assert_eq!(left.shared.pool.free() as usize, posted);
    let new: Vec<_> = (0..4).map(|psn| left.open(psn).expect("room for four")).collect();
    assert!(new.iter().all(|id| !ids.contains(id)));
    assert_eq!(left.receives_posted(), posted);
}

// [RDMA-15] [RDMA-51]
#[test]
fn a_device_that_goes_away_takes_along_what_is_being_connected() {
    let (fabric, [mut left, _]) = two();
    let id = left.open(1).expect("room for it");
    let peer = nowhere(&left, id);
    left.connect_apart(id, &peer, 8).expect("it is open");
    fabric.pull(0);
    assert_eq!(left.poll(|_, _| panic!("nothing comes")), 0);
    assert_eq!(left.poll_ended(), Some((id, Ended::Device(DeviceError::Gone))));
    assert_eq!(left.poll_ended(), None, "once");
    fabric.advance(fabric.now() + SECOND);
    assert!(matches!(polled(&mut left), Poll::Ready((_, Err(ConnectionError::Connect(_))))));
    assert!(polled(&mut left).is_pending());
}

/// A queue pair that was not connected is gone before anybody hears of it, and the system gives its number to the next one.
#[test]
fn a_number_that_was_given_again_is_the_new_ones() {
    let (fabric, [mut left, _]) = two();
    let (old, new) = (left.open(1).expect("room for it"), left.open(2).expect("room for it"));
    let (peer, number) = (nowhere(&left, old), left.endpoint(old).expect("it is open").qpn);
    left.connect_apart(old, &peer, 8).expect("it is open");
    left.routes.insert(number, new.index);
    fabric.advance(fabric.now() + SECOND);
    assert!(polled(&mut left).is_ready());
    assert_eq!(left.routes.get(&number), Some(&new.index));
}

/// Peers that offer and are gone before they, or the system, have answered: nothing of it is left, and whoever is there is
/// connected.
// [RDMA-17] [RDMA-51]
#[test]
fn ten_thousand_attempts_that_come_to_nothing_leave_nothing() {
    let (fabric, [mut left, mut right]) = two();
    let (mut dice, mut open) = (Random::new(5), Vec::new());
    let (mut begun, mut most) = (0, 0);
    while begun < 10_000 {
        match dice.below(4) {
            0 | 1 => {
                if let Ok(id) = left.open(dice.next() as u32) {
                    begun += 1;
                    open.push(id);
                    let peer = nowhere(&left, id);
                    if dice.below(4) > 0 {
                        left.connect_apart(id, &peer, 8).expect("it is open");
                    }
                }
            }
            2 if !open.is_empty() => {
                left.end(open.swap_remove(dice.below(open.len() as u64) as usize));
            }
            _ => fabric.advance(fabric.now() + SECOND / 4),
        }
        while let Poll::Ready((id, made)) = polled(&mut left) {
            assert!(made.is_err());
            open.retain(|it| *it != id);
        }
        left.poll(|_, _| panic!("nobody says anything"));
        most = most.max(left.receives_posted());
    }
    open.into_iter().for_each(|id| left.end(id));
    fabric.advance(fabric.now() + SECOND);
    while polled(&mut left).is_ready() {}
    assert_eq!(left.poll_ended(), None);
    assert!(most <= shared::SLAB * 2, "{most} receives");
    assert_eq!(left.shared.pool.free() as usize, left.receives_posted(), "all are free");
    let ids = [left.open(1).expect("room for it"), right.open(2).expect("room for it")];
    let ends = [left.endpoint(ids[0]), right.endpoint(ids[1])].map(|it| it.expect("it is open"));
    left.connect_apart(ids[0], &ends[1], 8).expect("it is open");
    right.connect_apart(ids[1], &ends[0], 8).expect("it is open");
    assert!(polled(&mut left).is_ready() && polled(&mut right).is_ready());
    right.send(ids[1], |slot| put(slot, b"at last")).expect("room");
    right.flush();
    fabric.advance(fabric.now() + Duration::from_millis(1));
    assert_eq!(left.poll(|_, packet| assert_eq!(**packet, *b"at last")), 1);
}
