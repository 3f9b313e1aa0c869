//! Kernels' networks: full buffers, a path that shrinks, a network that goes away and comes back.

use super::{Home, Process, free, told_of_the_end, way};
use crate::{LONG, soon};
use greenroom::Ref;
use greenroom::net::ConnectError;
use greenroom_transports::udp::socket::Options;
use std::net::SocketAddr;
use std::process::Command;
use std::time::Duration;

/// Long messages there and back.
async fn echoes(log: &Ref<super::Log>, lengths: &[usize]) {
    for length in lengths {
        let bytes: Vec<u8> = (0..*length).map(|at| (at % 251) as u8).collect();
        let back = log.echo(bytes.clone()).within(LONG).await.unwrap();
        assert!(back == bytes, "{length} bytes come back as others");
    }
}

/// Buffers of the kernel's with room for hardly a packet: everything arrives, only later.
#[test]
fn full_socket_buffers_hold_up_and_lose_nothing() {
    for offload in [true, false] {
        let socket = Options { offload, buffer_bytes: 2_048 };
        let address = free();
        let command = Command::new(std::env::current_exe().unwrap());
        let process = Process::start_by(command, 2, address, socket);
        soon(async {
            let mut home = Home::new("127.0.0.1:0", socket);
            let (_, logs) = home.reach(&way(address, 2)).await;
            home.tell(&logs, 300).await;
            echoes(&logs[0], &[0, 1_400, 400_000]).await;
            assert_eq!(logs[0].count().await.unwrap(), 300);
        });
        process.kill();
    }
}

/// Two network namespaces joined by a cable. `.ci/run hostile` makes them and says where: the name of the other
/// namespace, the device here and there, and for IPv4 and IPv6 the address here and there.
#[test]
fn a_cable_shrinks_and_is_pulled() {
    let Ok(told) = std::env::var("GREENROOM_CABLE") else { return };
    let told: Vec<_> = told.split(' ').collect();
    let [there, device, far_device, v4, far_v4, v6, far_v6] = told[..] else { panic!("{told:?}") };
    let cable = Cable { there, device, far_device };
    for (here, far, offload) in [(v4, far_v4, true), (v6, far_v6, false)] {
        let socket = Options { offload, ..Options::default() };
        let far: SocketAddr = far.parse().unwrap();
        let start = || {
            let mut command = Command::new("ip");
            command.args(["netns", "exec", there]).arg(std::env::current_exe().unwrap());
            Process::start_by(command, 2, far, socket)
        };
        soon(cable.story(here, far, socket, &start));
    }
}

struct Cable<'a> {
    there: &'a str,
    device: &'a str,
    far_device: &'a str,
}

impl Cable<'_> {
    fn ip(arguments: &[&str]) {
        let status = Command::new("ip").args(arguments).status().expect("`ip` is there");
        assert!(status.success(), "ip {arguments:?}");
    }

    fn mtu(&self, bytes: &str) {
        Self::ip(&["link", "set", self.device, "mtu", bytes]);
        Self::ip(&["-n", self.there, "link", "set", self.far_device, "mtu", bytes]);
    }

    fn plug(&self, how: &str) {
        Self::ip(&["link", "set", self.device, how]);
    }

    async fn story(
        &self,
        here: &str,
        far: SocketAddr,
        socket: Options,
        start: &impl Fn() -> Process,
    ) {
        let pause = Duration::from_millis(700);
        let process = start();
        self.mtu("1500");
        let mut home = Home::new(here, socket);
        let (_, logs) = home.reach(&way(far, 2)).await;
        home.tell(&logs, 100).await;
        echoes(&logs[0], &[1_400, 300_000]).await;
        self.mtu("1280");
        echoes(&logs[0], &[1_400, 300_000]).await;
        // A network that is missing for a while is waited for.
        self.plug("down");
        let (_, ()) = tokio::join!(home.tell(&logs, 20), async {
            tokio::time::sleep(pause).await;
            self.plug("up");
        });
        assert_eq!(logs[0].count().within(LONG).await.unwrap(), 120);
        // One that stays away is an end, and an error of its own to whoever wants to connect.
        let witness = home.witness(&logs).await;
        self.plug("down");
        told_of_the_end(&witness).await;
        let refused = home.node.connect(&way(far, 2)).await.map(|_| ());
        assert!(matches!(refused, Err(ConnectError::Unreachable { .. })), "{refused:?}");
        // Who was given up is over for good; its next life is found when the network is there again.
        process.kill();
        // The path is shorter than the first message of a hybrid handshake.
        self.plug("up");
        let process = start();
        let (_, logs) = home.reach(&way(far, 2)).await;
        home.tell(&logs, 10).await;
        assert_eq!(logs[0].count().within(LONG).await.unwrap(), 10);
        process.kill();
    }
}
