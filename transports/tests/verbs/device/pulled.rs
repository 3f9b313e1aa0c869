//! The interface that a device is of is taken away while nodes go by it, and another one comes.

use super::carrier::{assert_whole, kept};
use super::nodes::Pair;
use super::{LIMIT, is_guest, on_the_device};
use greenroom_transports::station::{Carrier, Change, Why};
use std::process::Command;
use std::time::Instant;

/// How the guest makes its device.
const AGAIN: [&str; 5] = [
    "ip link add roce0 type dummy",
    "ip link set roce0 mtu 9000",
    "ip address add 10.9.0.1/24 dev roce0",
    "ip link set roce0 up",
    "rdma link add rxe0 type rxe netdev roce0",
];

/// Messages that an actor keeps from each device.
const KEPT: usize = 150;

fn run(command: &str) {
    let (program, words) = command.split_once(' ').expect("a program and words");
    let status = Command::new(program).args(words.split(' ')).status().expect("it is there");
    assert!(status.success(), "{command}");
}

async fn story() {
    let pair = Pair::new(false).await;
    let is_by =
        |wanted: fn(Carrier) -> bool| pair.carriers().into_iter().all(|it| it.is_some_and(wanted));
    let by_device = || is_by(|it| it == Carrier::Rdma);
    let (mut told, mut kept) = (0, 0);
    for _ in 0..2 {
        pair.ask(&mut told, |_| by_device()).await;
        // More than may lie where the device has put them, and some that do.
        for _ in 0..KEPT {
            let bytes = vec![kept as u8; 4000];
            pair.echo.keep(bytes.into()).await.expect("it is kept");
            kept += 1;
        }
        // The kernel waits until nobody has the device open any more.
        let pulled = std::thread::spawn(|| run("ip link delete roce0"));
        pair.ask(&mut told, |_| is_by(|it| matches!(it, Carrier::Udp(_)))).await;
        let began = Instant::now();
        pair.ask(&mut told, |_| pulled.is_finished() || began.elapsed() > LIMIT).await;
        assert!(pulled.is_finished(), "who goes by UDP lets the device go");
        pulled.join().expect("it is gone");
        AGAIN.into_iter().for_each(run);
    }
    pair.ask(&mut told, |_| by_device()).await;
    assert_eq!(pair.echo.kept().await.expect("it answers"), kept);
    for (name, changes) in pair.changes() {
        // Which of these comes first is for the kernel, the other node, or the queue pair itself to say.
        let of_the_device = |change: &&Change| {
            let Carrier::Udp(why) = change.to else { return false };
            matches!(
                why,
                Why::DeviceGone | Why::NoDevice | Why::PortDown | Why::PeerEnded | Why::Ended(_)
            )
        };
        let count = changes.iter().filter(of_the_device).count();
        assert!(count >= 2, "{name} says so each time: {changes:?}");
    }
    pair.close().await;
}

/// The kernel waits for whoever has the device open.
// [RDMA-54]
#[test]
#[ignore = "needs an RDMA device"]
fn who_keeps_packets_of_a_device_does_not_hold_it_open() {
    if is_guest() {
        on_the_device(async |real| {
            let packets = kept(real).await;
            run("ip link delete roce0");
            assert_whole(&packets);
            AGAIN.into_iter().for_each(run);
        });
    }
}

// [RDMA-45] [RDMA-46]
#[test]
#[ignore = "needs an RDMA device"]
fn a_device_that_is_pulled_is_let_go_and_another_one_is_found() {
    // Nobody takes away what others use.
    if is_guest() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime").block_on(story());
    }
}
