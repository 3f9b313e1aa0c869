//! Which device a node uses, and whom it trusts.

use super::carrier::Turn;
use super::connected::CONNECTIONS_MAX;
use crate::secure::key::PublicKey;
use crate::station::Station;
use std::num::{NonZeroU8, NonZeroU16};

/// That a node sends by RDMA where it can, for [`Settings::rdma`](crate::udp::Settings::rdma).
///
/// Its links begin over UDP. Where both nodes have a device they move to a queue pair, and back to UDP whenever that
/// fails; nothing is lost, doubled or put out of order by that, and [`Udp::carriers`](crate::udp::Udp::carriers) says
/// why it was. Packets are sealed as over UDP.
///
/// ```
/// use greenroom_transports::rdma::Rdma;
/// use greenroom_transports::secure::identity::Identity;
/// use greenroom_transports::secure::key::Key;
/// use greenroom_transports::udp::Settings;
///
/// let settings = Settings::new(Identity::new(Key::new([1; 32]))).rdma(Rdma::auto());
/// # let _ = settings;
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rdma {
    pub(super) device: Option<String>,
    pub(super) port: Option<NonZeroU8>,
    pub(super) gid: Option<u8>,
    pub(super) connections_max: Option<NonZeroU16>,
    trusted: Vec<PublicKey>,
}

impl Rdma {
    /// No node has more [connections](Self::connections_max) by one device.
    pub const CONNECTIONS_MAX: u16 = CONNECTIONS_MAX;

    /// The first device with a port that is up, of those that can serve.
    #[must_use]
    pub fn auto() -> Self {
        Self::default()
    }

    /// The device of that name: `rxe0`, `mlx5_0`.
    #[must_use]
    pub fn device(name: impl Into<String>) -> Self {
        Self { device: Some(name.into()), ..Self::default() }
    }

    /// That port of the device, and not the first that is up.
    #[must_use]
    pub fn port(mut self, port: NonZeroU8) -> Self {
        self.port = Some(port);
        self
    }

    /// Is reached by the address with that place in its port's table, as under `gids` in `/sys/class/infiniband`, and not by
    /// the best one: for a port with addresses in several networks.
    #[must_use]
    pub fn gid(mut self, index: u8) -> Self {
        self.gid = Some(index);
        self
    }

    /// Connections at a time, 256 unless it is said; 32,511 at most, and no more than the device has room for. Links beyond stay
    /// with UDP. With it goes the most memory that may be
    /// locked: for each, 1 MiB to receive into and 512 KiB to send from, when all are busy at once. Beside these there are 3 MiB for
    /// long messages that actors keep as they came.
    #[must_use]
    pub fn connections_max(mut self, connections: NonZeroU16) -> Self {
        self.connections_max = Some(connections);
        self
    }

    /// Trusts that node, and everybody on the network to it: packets to it by RDMA are not sealed if it trusts this
    /// node likewise. Whoever is on the way can then read and forge them.
    #[must_use]
    pub fn trust(mut self, peer: PublicKey) -> Self {
        self.trusted.push(peer);
        self
    }

    /// What a node's own task does with it, for that station.
    pub(crate) fn turn(mut self, station: &mut Station) -> Box<dyn Turn + Send> {
        station.use_pairs(std::mem::take(&mut self.trusted));
        turn(self)
    }
}

#[cfg(all(feature = "rdma", target_os = "linux", target_pointer_width = "64"))]
use with_devices::turn;

#[cfg(all(feature = "rdma", target_os = "linux", target_pointer_width = "64"))]
mod with_devices {
    use super::super::carrier::{CONNECTIONS_MAX, QueuePairs, Turn};
    use super::super::ib::{IbVerbs, best_gid};
    use super::super::pick::open_first;
    use super::Rdma;
    use std::num::{NonZeroU8, NonZeroU16, NonZeroUsize};
    use std::thread::available_parallelism;
    use std::time::Duration;

    /// For how long a device is polled after something came or left: some round trips of one. [RDMA-16]
    const SPIN: Duration = Duration::from_micros(50);

    pub(super) fn turn(rdma: Rdma) -> Box<dyn Turn + Send> {
        let Rdma { device, port, gid, connections_max, .. } = rdma;
        // Whoever polls on the only processor keeps the other end from answering.
        let is_alone = available_parallelism().map_or(1, NonZeroUsize::get) == 1;
        let spin = if is_alone { Duration::ZERO } else { SPIN };
        let best = |device: &str, port| best_gid(device, port).map_or(0, |gid| gid.index);
        let index = move |device: &str, port| gid.unwrap_or_else(|| best(device, port));
        let port = port.map(NonZeroU8::get);
        let open = move || open_first(&IbVerbs, device.as_deref(), port, index);
        let connections_max = connections_max.map_or(CONNECTIONS_MAX, NonZeroU16::get);
        Box::new(QueuePairs::new(open, spin).with_connections_max(connections_max))
    }
}

#[cfg(not(all(feature = "rdma", target_os = "linux", target_pointer_width = "64")))]
use without_devices::turn;

#[cfg(not(all(feature = "rdma", target_os = "linux", target_pointer_width = "64")))]
mod without_devices {
    use super::super::carrier::{Failure, Turn};
    use crate::link::Time;
    use crate::station::{Station, Why};
    use parking_lot::Mutex;
    use std::task::Context;

    /// A program that opens no devices, and why.
    struct Without(Failure);

    pub(super) fn turn(_: super::Rdma) -> Box<dyn Turn + Send> {
        let failure = Failure::default();
        let text = "this program was built without the feature `rdma`, or not for Linux on 64 bits";
        failure.set(Some(text.to_owned()));
        Box::new(Without(failure))
    }

    impl Turn for Without {
        fn receive(&mut self, _: &Mutex<Station>, _: &mut Context<'_>, _: Time) {}

        fn send(&mut self, station: &Mutex<Station>, _: &mut Context<'_>, now: Time) {
            let mut station = station.lock();
            while let Some((association, want)) = station.poll_want() {
                if let Some(attempt) = want.attempt() {
                    station.made(now, association, attempt, Err(Why::NoDevice));
                }
            }
        }

        fn send_last(&mut self, _: &Mutex<Station>, _: Time) {}

        fn failure(&self) -> Failure {
            self.0.clone()
        }
    }
}
