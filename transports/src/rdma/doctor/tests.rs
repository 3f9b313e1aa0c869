use super::super::sim::{Fabric, Weather};
use super::*;

#[test]
fn a_device_that_cannot_hold_what_a_node_makes_is_bad() {
    let fabric = Fabric::new(1, Weather::fair());
    let hosts = [(); 3].map(|()| fabric.host());
    fabric.limit_memory(hosts[1].host(), 0);
    fabric.limit_queues(hosts[2].host(), Some(0));
    let [well, short, shorter] = hosts.map(|it| it.open("sim0", 1, 0).unwrap());
    assert_eq!(serves(well, "sim0, port 1").state, State::Good);
    for device in [short, shorter] {
        let ill = serves(device, "sim0, port 1");
        assert_eq!((ill.state, ill.what), (State::Bad, "RDMA queues"));
        assert_eq!(ill.mend, LOCK_MORE);
    }
}
