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

/// Whoever misspells a name would go by UDP, and be told that all is well.
#[test]
fn what_a_node_is_told_to_use_is_looked_at() {
    let devices = ["rxe0", "mlx5_0"].map(|name| DeviceInfo { name: name.to_owned(), guid: 1 });
    let names = |wanted: &Rdma| {
        let chosen = chosen(&devices, wanted)?;
        Ok::<_, Finding>(chosen.map(|device| device.name.clone()).collect::<Vec<_>>())
    };
    assert_eq!(names(&Rdma::auto()), Ok(vec!["rxe0".to_owned(), "mlx5_0".to_owned()]));
    assert_eq!(names(&Rdma::device("mlx5_0")), Ok(vec!["mlx5_0".to_owned()]));
    let finding = names(&Rdma::device("mlx5_1")).unwrap_err();
    assert_eq!((finding.state, finding.what), (State::Bad, "RDMA devices"));
    assert_eq!(finding.seen, "there is no mlx5_1, but rxe0, mlx5_0");
    let two = NonZeroU16::new(2).unwrap();
    assert_eq!(config(&Rdma::auto().connections_max(two)).connections_max, 2);
    assert_eq!(config(&Rdma::auto()).connections_max, CONFIG.connections_max);
}

/// A limit that serves some connections is met when all are busy.
#[test]
fn a_limit_below_what_all_connections_take_is_slow() {
    let fabric = Fabric::new(1, Weather::fair());
    let host = fabric.host();
    let device = host.open("sim0", 1, 0).unwrap();
    let limit = 64 << 20;
    fabric.limit_memory(host.host(), limit);
    let slow = memory(&device, &CONFIG, Some(limit), "sim0, port 1");
    assert_eq!((slow.state, &*slow.mend), (State::Slow, LOCK_MORE));
    assert!(
        slow.seen
            .ends_with("256 connections that are all busy, and what actors may keep, take 389 MiB"),
        "{}",
        slow.seen
    );
    assert!(slow.seen.contains("67108864 bytes"), "{}", slow.seen);
    let few = Config { connections_max: 40, ..CONFIG };
    assert_eq!(memory(&device, &few, Some(limit), "sim0, port 1").state, State::Good);
    // Whether a limit binds is not found out where it is beyond what is tried.
    let many = Config { connections_max: 2000, ..CONFIG };
    assert_eq!(memory(&device, &many, Some(2 << 30), "sim0, port 1").state, State::Slow);
    // The limit does not bind whoever may lock without one.
    fabric.limit_memory(host.host(), u64::MAX);
    assert_eq!(memory(&device, &CONFIG, Some(limit), "sim0, port 1").state, State::Good);
}
