use super::super::sim::{Fabric, Weather};
use super::*;

#[test]
fn a_device_that_cannot_hold_what_a_node_makes_is_bad() {
    let fabric = Fabric::new(1, Weather::fair());
    let hosts = [(); 3].map(|()| fabric.host());
    fabric.limit_memory(hosts[1].host(), 0);
    fabric.limit_queues(hosts[2].host(), Some(0));
    let [well, short, shorter] = hosts.map(|it| it.open("sim0", 1, 0).unwrap());
    assert_eq!(serves(well, CONFIG, "sim0, port 1").state, State::Good);
    for device in [short, shorter] {
        let ill = serves(device, CONFIG, "sim0, port 1");
        assert_eq!((ill.state, ill.what), (State::Bad, "RDMA queues"));
        assert_eq!(ill.mend, LOCK_MORE);
    }
}

// [RDMA-6]
#[test]
fn a_device_that_serves_fewer_connections_than_it_is_to_is_slow() {
    let device = Fabric::new(1, Weather::fair()).host().open("sim0", 1, 0).unwrap();
    let slow = serves(device, Config { connections_max: 2000, ..CONFIG }, "sim0, port 1");
    assert_eq!((slow.state, slow.what), (State::Slow, "RDMA queues"));
    assert!(slow.seen.ends_with(" connections of 2000"), "{}", slow.seen);
    assert!(slow.mend.contains("stay with UDP"), "{}", slow.mend);
}
