//! Receives that may be lost with connections which nobody answered.

use super::many::Hub;
use super::*;

/// One connection to a machine that never answers.
fn attempt(fabric: &Fabric, port: &mut Connected<SimDevice>) -> Result<(), ConnectionError> {
    let id = port.open(7)?;
    let nobody = Endpoint { qpn: 0xffff, ..port.endpoint(id).expect("it is open") };
    port.connect(id, &nobody, 8)?;
    port.end(id);
    fabric.advance(fabric.now() + Duration::from_millis(1));
    port.poll(|_, _| panic!("nobody says anything"));
    Ok(())
}

// [RDMA-19]
#[test]
fn who_tries_in_vain_for_ever_needs_no_more_for_it() {
    let (fabric, [mut left, mut right], ids) = pair();
    for (port, id) in [(&mut left, ids[0]), (&mut right, ids[1])] {
        port.end(id);
        port.poll(|_, _| panic!("nobody says anything"));
    }
    attempt(&fabric, &mut left).expect("room for it");
    let posted = left.receives_posted();
    for _ in 0..2000 {
        attempt(&fabric, &mut left).expect("room for it");
        assert_eq!(left.receives_posted(), posted);
    }
    let ids = [left.open(1).expect("room for it"), right.open(2).expect("room for it")];
    let ends = [left.endpoint(ids[0]).unwrap(), right.endpoint(ids[1]).unwrap()];
    left.connect(ids[0], &ends[1], left.receives()).expect("they fit");
    right.connect(ids[1], &ends[0], right.receives()).expect("they fit");
    right.send(ids[1], |slot| put(slot, b"at last")).expect("room");
    right.flush();
    fabric.advance(fabric.now() + Duration::from_millis(1));
    assert_eq!(left.poll(|_, packet| assert_eq!(**packet, *b"at last")), 1);
}

// [RDMA-19]
#[test]
fn attempts_beside_a_connection_that_says_nothing_end_it_before_memory_is_out() {
    let mut hub = Hub::new(5, 1, 64, Weather::fair());
    hub.burst(0, 100);
    let before = hub.server.receives_posted();
    let mut attempts = 0;
    while attempt(&hub.fabric, &mut hub.server).is_ok() {
        assert!(hub.server.receives_posted() < before + 64 + 2 * shared::SLAB);
        attempts += 1;
    }
    assert_eq!(attempts, 65);
    assert!(hub.server.has_failed());
    let (.., there) = hub.peers[0];
    assert_eq!(hub.server.poll_ended(), Some((there, Ended::Lost)));
    assert!(matches!(hub.server.open(1), Err(ConnectionError::Failed)));
}

// [RDMA-18]
#[test]
fn attempts_beside_a_connection_in_use_cost_nothing() {
    let mut hub = Hub::new(6, 1, 64, Weather::fair());
    for _ in 0..300 {
        hub.burst(0, 60);
        attempt(&hub.fabric, &mut hub.server).expect("room for it");
    }
    assert!(hub.server.receives_posted() <= 4 * shared::SLAB);
    hub.no_end();
}

// [RDMA-19]
#[test]
fn receives_that_fail_end_all_connections() {
    let mut hub = Hub::new(7, 2, 64, Weather::fair());
    hub.fabric.fail_receives(0);
    for (port, here, _) in &mut hub.peers {
        port.send(*here, |slot| put(slot, b"in vain")).expect("room");
    }
    assert!(!hub.server.has_failed());
    hub.server.end(hub.peers[0].2);
    hub.server.open(1).expect("there is enough");
    while hub.server.open(1).is_ok() {}
    assert!(hub.server.has_failed(), "it needed more");
}
