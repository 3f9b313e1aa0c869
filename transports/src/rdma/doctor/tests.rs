use super::super::sim::{Fabric, Weather};
use super::*;

#[test]
fn a_device_that_cannot_hold_what_a_node_makes_is_bad() {
    let fabric = Fabric::new(1, Weather::fair());
    let (well, short) = (fabric.host(), fabric.host());
    fabric.limit_memory(short.host(), 0);
    let [well, short] = [well, short].map(|it| it.open("sim0", 1, 0).unwrap());
    assert_eq!(serves(well, "sim0, port 1").state, State::Good);
    let ill = serves(short, "sim0, port 1");
    assert_eq!((ill.state, ill.what), (State::Bad, "RDMA queues"));
    assert_eq!(ill.mend, LOCK_MORE);
}
