//! Workers that get no more memory.

use super::many::Hub;
use super::*;

const LONG: usize = 100;

/// Sends so many to each peer as there is room, and takes what peers send meanwhile, until all came.
fn exchange(hub: &mut Hub, count: u64) {
    let (mut sent, mut heard, mut said, mut came) = ([0; 6], [0; 6], [0; 6], 0);
    for turn in 0.. {
        assert!(turn < 10_000, "somebody waits for ever: {sent:?} {heard:?} {said:?} {came}");
        for (at, (port, here, there)) in hub.peers.iter_mut().enumerate() {
            for (end, id, sent) in
                [(&mut hub.server, *there, &mut sent[at]), (port, *here, &mut said[at])]
            {
                while *sent < count && end.has_room(id) {
                    assert_eq!(end.send(id, |slot| put(slot, &[1; LONG])), Ok(LONG));
                    *sent += 1;
                }
                end.flush();
            }
        }
        hub.fabric.advance(hub.fabric.now() + Duration::from_micros(2));
        hub.server.poll(|_, _| came += 1);
        hub.server.flush();
        for (at, (port, ..)) in hub.peers.iter_mut().enumerate() {
            port.poll(|_, _| heard[at] += 1);
            port.flush();
        }
        if heard == [count; 6] && came == 6 * count {
            return;
        }
    }
}

// [RDMA-5] [RDMA-12]
#[test]
fn who_has_no_more_memory_goes_on_with_what_there_is() {
    let mut hub = Hub::new(8, 6, 64, Weather::fair());
    (0..7).for_each(|host| hub.fabric.limit_memory(host, 0));
    let posted = hub.server.receives_posted();
    exchange(&mut hub, 300);
    assert_eq!(hub.server.receives_posted(), posted);
    hub.no_end();
}

// [RDMA-10]
#[test]
fn nobody_is_let_in_without_memory_to_answer() {
    let fabric = Fabric::new(9, Weather::fair());
    let mut node = World::node(&fabric);
    let slot = SMALL.slot_bytes as u64;
    fabric.limit_memory(0, 31 * slot);
    assert!(matches!(node.connected.open(1), Err(ConnectionError::Register(_))));
    fabric.limit_memory(0, 32 * slot);
    let id = node.connected.open(1).expect("room for it");
    assert_eq!(node.connected.receives_posted(), 28);
    node.connected.end(id);
}

// [RDMA-17]
#[test]
fn memory_that_is_not_to_be_had_is_asked_for_ever_more_seldom() {
    let fabric = Fabric::new(10, Weather::fair());
    let device = fabric.host().open("sim0", 1, 0).expect("a device");
    let mut memory = Memory::new(SMALL.slot_bytes);
    let mut shared = Shared::new(&device, 64, 4).expect("room for it");
    fabric.limit_memory(0, 0);
    for _ in 0..10_000 {
        assert!(shared.ensure(&device, &mut memory, 1).is_err());
    }
    let refused = fabric.memory_refused(0);
    assert!((10..20).contains(&refused), "asked for {refused} times");
    fabric.limit_memory(0, u64::MAX);
    let ensured = (0..10_000).position(|_| shared.ensure(&device, &mut memory, 1).is_ok());
    assert!(ensured.is_some_and(|asked| asked > 0), "it is asked for again, but not at once");
    assert_eq!(shared.pool.free(), 28);
}
