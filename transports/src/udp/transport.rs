//! The transport that a node is given: a station, a socket, and what the node's own task does with both.
//!
//! The lock is held while datagrams are opened and sealed, never during a call of the kernel, and nobody is woken
//! under it.

use super::datagrams::{Datagrams, Kernel};
use super::link::UdpLink;
use super::lookups::Lookups;
use super::names::{Request, let_go};
use super::settings::Settings;
use super::socket::SendError;
use crate::link::{self, Time};
use crate::rdma::carrier::{Failure, Turn};
use crate::secure::audit::Audit;
use crate::secure::endpoint::{Endpoint, StartError};
use crate::secure::entropy::{Entropy, System};
use crate::secure::key::{NotAKey, PublicKey};
use crate::station::{By, Outgoing, Station, Wakes};
use greenroom::net::{Address, ConnectError, Connecting, Drive, Identity, Link, NodeId, Transport};
use parking_lot::Mutex;
use std::fmt;
use std::future::ready;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, SystemTime};
use tokio::sync::oneshot;

/// A socket's memory, over what one node may have under way to it: packets take more there than their bytes.
const FLIGHT_SHARE: u64 = 4;

/// Calls that receive, until others have their turn.
const RECEIVES_PER_TURN: u32 = 8;

/// A node is not started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BindError {
    /// The address cannot be used; the kernel says why.
    #[error("{address} cannot be used: {why}")]
    Socket {
        /// The address.
        address: SocketAddr,
        /// Why.
        #[source]
        why: io::Error,
    },
    /// The endpoint of handshakes is not made.
    #[error(transparent)]
    Endpoint(#[from] StartError),
    /// The limits of links do not fit together.
    #[error("the limits of links do not fit together: {0}")]
    Link(#[from] link::ConfigError),
}

/// Encrypted UDP: the transport for nodes on a network. Cloning gives another handle.
///
/// Addresses are `udp:HOST:PORT#KEY`, where `KEY` is the node's public key in 64 hexadecimal digits. It may be left
/// out for a [peer](Settings::peer) with that address, and with a [cluster key](Settings::cluster_key), which lets
/// nodes that do not know each other say who they are. `HOST` is a name or an address, an IPv6 one in brackets. A name is
/// looked up for each attempt, and those of its addresses that the socket reaches are tried, the first 16.
#[derive(Clone)]
pub struct Udp {
    pub(super) shared: Arc<Shared>,
}

pub(super) struct Shared {
    identity: Identity,
    public: PublicKey,
    pub(super) address: SocketAddr,
    peers: Vec<(PublicKey, Option<SocketAddr>)>,
    pub(super) has_cluster: bool,
    pub(super) station: Mutex<Station>,
    pub(super) driver: Mutex<Driver>,
    /// What is wrong with queue pairs, if they are used.
    pub(super) rdma_failure: Option<Failure>,
    /// `None` when nobody looks at them any more.
    pub(super) requests: Mutex<Option<Vec<Request>>>,
    /// Why the socket is of no use any more.
    failure: Mutex<Option<String>>,
}

pub(super) struct Driver {
    datagrams: Box<dyn Datagrams>,
    /// By what links go as well, where they can.
    pub(super) pairs: Option<Box<dyn Turn + Send>>,
    out: Outgoing,
    /// Whether what is in `out` has not left yet.
    is_waiting: bool,
    /// When the station's clock began.
    start: Option<Duration>,
    wakes: Wakes,
    pub(super) lookups: Lookups,
    pub(super) told_lookups: Lookups,
    is_broken: bool,
}

impl Udp {
    /// Binds a socket to an address; with port 0 to a port that the kernel chooses. What comes is looked at from when
    /// a [`Node`](greenroom::net::Node) is started with it.
    ///
    /// # Errors
    /// [`BindError`].
    pub fn bind(mut settings: Settings, address: SocketAddr) -> Result<Self, BindError> {
        let bound = Kernel::bind(address, settings.socket);
        let (kernel, address) = bound.map_err(|why| BindError::Socket { address, why })?;
        if let Some(bytes) = kernel.receive_bytes() {
            settings.secure.window_bytes = bytes / FLIGHT_SHARE;
        }
        // A clock before 1970 is as good as one that starts there: peers say which time they have to be later than.
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Self::over(settings, kernel, address, Box::new(System), now)
    }

    /// The transport over datagrams of the caller's, which come and go at `address`, such as those of a simulated
    /// world. `entropy` draws keys, and `since_epoch` is the time since 1970: a handshake is refused unless it is later
    /// than the last one of its node, which then says what it was. [RDMA](Settings::rdma) is by devices of this machine, which no simulated world has.
    ///
    /// # Errors
    /// [`BindError`], but not for the socket.
    pub fn over(
        settings: Settings,
        datagrams: impl Datagrams,
        address: SocketAddr,
        entropy: Box<dyn Entropy>,
        since_epoch: Duration,
    ) -> Result<Self, BindError> {
        settings.link.check()?;
        crate::station::local(&settings.link).check()?;
        let Settings { identity, cluster, peers, secure, link, rdma, .. } = settings;
        let has_cluster = cluster.is_some();
        let mut endpoint = Endpoint::new(secure, identity, cluster, since_epoch, entropy)?;
        peers.iter().for_each(|(key, _)| endpoint.allow(*key));
        let public = endpoint.public();
        let mut station = Station::new(endpoint, link);
        let pairs = rdma.map(|rdma| rdma.turn(&mut station));
        let rdma_failure = pairs.as_ref().map(|pairs| pairs.failure());
        let driver = Driver {
            datagrams: Box::new(datagrams),
            pairs,
            out: Outgoing::new(),
            is_waiting: false,
            start: None,
            wakes: Wakes::default(),
            lookups: Lookups::new(),
            told_lookups: Lookups::new(),
            is_broken: false,
        };
        let shared = Shared {
            identity: station.identity(),
            public,
            address,
            peers,
            has_cluster,
            station: Mutex::new(station),
            driver: Mutex::new(driver),
            rdma_failure,
            requests: Mutex::new(Some(Vec::new())),
            failure: Mutex::new(None),
        };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// Where the socket is.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.shared.address
    }

    /// The public key by which others know this node.
    #[must_use]
    pub fn public(&self) -> PublicKey {
        self.shared.public
    }

    /// How others on the same machine or network reach this node, if the socket is bound to one address of it.
    ///
    /// # Panics
    /// Never: what it writes is an address.
    #[must_use]
    pub fn node_address(&self) -> Address {
        let text = format!("udp:{}#{}", self.shared.address, self.shared.public);
        text.parse().expect("an address")
    }

    /// Lets a node connect, and be connected to.
    pub fn allow(&self, peer: PublicKey) {
        self.shared.station.lock().allow(peer);
    }

    /// Ends what there is with a node, and allows nothing more.
    pub fn forbid(&self, peer: &PublicKey) {
        self.shared.with(|station| station.forbid(peer));
    }

    /// Renews the keys of the association with a node, by a fresh exchange: whoever had learned the old ones learns
    /// nothing of the new ones. `false` if there is none.
    #[must_use]
    pub fn rekey(&self, peer: &PublicKey) -> bool {
        self.shared.with(|station| station.rekey(peer))
    }

    /// Why the socket is of no use any more, so that all links are lost; `None` as long as it is.
    #[must_use]
    pub fn failure(&self) -> Option<String> {
        self.shared.failure.lock().clone()
    }

    /// How long the way to a node and back takes, smoothed, while there is a connection with it on which that was measured.
    #[must_use]
    pub fn round_trip(&self, node: NodeId) -> Option<Duration> {
        self.shared.station.lock().round_trip(node)
    }

    fn request(&self, to: &Address, by: By) -> Connecting {
        let (host, key) = match self.shared.resolve(to) {
            Ok(found) => found,
            Err(error) => return Box::pin(ready(Err(error))),
        };
        let (done, outcome) = oneshot::channel();
        if let Some(requests) = self.shared.requests.lock().as_mut() {
            requests.push(Request { address: to.clone(), host, key, by, done });
        }
        self.shared.with(Station::tell_driver);
        Box::pin(async { outcome.await.unwrap_or(Err(ConnectError::Closed)) })
    }

    /// Looks at what happened that bears on security.
    pub fn audit<R>(&self, look: impl FnOnce(&Audit) -> R) -> R {
        look(self.shared.station.lock().audit())
    }
}

impl fmt::Debug for Udp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Udp({} at {})", self.shared.identity, self.shared.address)
    }
}

impl Shared {
    /// Does something with the station, and wakes those who are concerned.
    pub(super) fn with<R>(&self, act: impl FnOnce(&mut Station) -> R) -> R {
        let mut station = self.station.lock();
        let done = act(&mut station);
        while let Some(wakes) = station.take_few_wakes() {
            drop(station);
            wakes.wake();
            station = self.station.lock();
        }
        drop(station);
        done
    }

    /// Whether a node was named beforehand, which then knows this one.
    pub(super) fn knows(&self, key: &PublicKey) -> bool {
        self.peers.iter().any(|(known, _)| known == key)
    }

    /// The host, and the key of the node there if it is known.
    fn resolve(&self, to: &Address) -> Result<(String, Option<PublicKey>), ConnectError> {
        let wrong =
            |text: &str| ConnectError::Unreachable { address: to.clone(), text: text.to_owned() };
        if to.scheme() != "udp" {
            return Err(ConnectError::OtherScheme(to.clone()));
        }
        let (host, key) = match to.place().split_once('#') {
            Some((host, key)) => {
                let key = key.parse().map_err(|error: NotAKey| wrong(&error.to_string()))?;
                (host, Some(key))
            }
            None => (to.place(), None),
        };
        let known = || {
            let at = host.parse().ok();
            self.peers.iter().find(|(_, known)| known.is_some() && *known == at).map(|it| it.0)
        };
        Ok((host.to_owned(), key.or_else(known)))
    }
}

impl Transport for Udp {
    fn identity(&self) -> Identity {
        self.shared.identity
    }

    fn connect(&self, to: &Address) -> Connecting {
        self.request(to, By::Owner)
    }

    fn connect_told(&self, to: &Address) -> Connecting {
        self.request(to, By::Others)
    }

    fn drive(&self, cx: &mut Context<'_>, now: Duration) -> Drive {
        self.shared.driver.lock().turn(&self.shared, cx, now)
    }

    fn poll_link(&self, cx: &mut Context<'_>) -> Poll<Option<Box<dyn Link>>> {
        self.shared.station.lock().poll_line(cx).map(|line| {
            line.map(|(id, peer)| {
                Box::new(UdpLink { shared: Arc::clone(&self.shared), id, peer }) as Box<dyn Link>
            })
        })
    }

    fn close(&self) {
        self.shared.with(Station::close);
        self.shared.refuse_requests();
    }

    fn depart(&self) {
        let mut driver = self.shared.driver.lock();
        driver.send_last(&self.shared);
        driver.send_last_paired(&self.shared);
        self.shared.with(Station::depart);
        driver.send_last(&self.shared);
        driver.end_pairs();
        // Nobody else wakes those who are left.
        self.shared.with(|_| ());
    }
}

impl Driver {
    /// Everything that can be done without waiting.
    fn turn(&mut self, shared: &Shared, cx: &mut Context<'_>, now: Duration) -> Drive {
        let start = *self.start.get_or_insert(now);
        let nanos = now.saturating_sub(start).as_nanos();
        let now = Time::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX));
        shared.station.lock().begin_turn(now);
        self.look_up(shared, cx);
        if let Some(pairs) = &mut self.pairs {
            pairs.receive(&shared.station, cx, now);
        }
        if !self.is_broken {
            let done = self.receive(shared, cx, now).and_then(|()| self.send(shared, cx, now));
            if let Err(error) = done {
                self.is_broken = true;
                *shared.failure.lock() = Some(error.to_string());
                shared.station.lock().fail();
            }
        }
        if let Some(pairs) = &mut self.pairs {
            pairs.send(&shared.station, cx, now);
        }
        let mut station = shared.station.lock();
        // A full socket is waited for, and no datagram leaves before.
        let until = if self.is_waiting { station.deadline() } else { station.timeout() };
        if self.is_waiting {
            station.set_driver_while_full(cx.waker());
        } else {
            station.set_driver(cx.waker());
        }
        station.take_wakes(&mut self.wakes);
        let is_over = station.is_over();
        drop(station);
        self.wakes.wake();
        if is_over || self.is_broken {
            shared.refuse_requests();
            let_go(self.lookups.end().chain(self.told_lookups.end()));
            self.end_pairs();
            return Drive::Ended;
        }
        Drive::Until(until.map(|until| start + Duration::from_nanos(until.as_nanos())))
    }

    /// Sends what there is, as far as the socket takes it at once.
    fn send_last(&mut self, shared: &Shared) {
        let now = shared.station.lock().now();
        // Whatever becomes of it, nothing more can be done.
        let _ = self.send(shared, &mut Context::from_waker(Waker::noop()), now);
    }

    fn receive(&mut self, shared: &Shared, cx: &mut Context<'_>, now: Time) -> io::Result<()> {
        for _ in 0..RECEIVES_PER_TURN {
            let mut station = None;
            let received = self.datagrams.poll_receive(cx, &mut |arrival, datagram| {
                let station = station.get_or_insert_with(|| shared.station.lock());
                station.handle(now, arrival, datagram);
            });
            let Poll::Ready(received) = received else { return Ok(()) };
            received?;
        }
        // There may be more, after others had their turn.
        cx.waker().wake_by_ref();
        Ok(())
    }

    fn send(&mut self, shared: &Shared, cx: &mut Context<'_>, now: Time) -> io::Result<()> {
        let mut station = shared.station.lock();
        station.handle_timeout(now);
        station.take_wakes(&mut self.wakes);
        drop(station);
        // Whoever receives may go on while what leaves is sealed.
        self.wakes.wake();
        let segments = self.datagrams.segments_max();
        while self.is_waiting || shared.station.lock().poll_transmit(now, segments, &mut self.out) {
            self.is_waiting = false;
            let out = &self.out;
            let sent = if out.may_be_cut() {
                let sent = self.datagrams.send_cut(out.source(), out.to(), out.datagrams());
                sent.map_err(|error| (0, error))
            } else {
                let (datagrams, segment) = (out.datagrams(), out.segment());
                self.datagrams.send(out.source(), out.to(), out.ecn(), datagrams, segment)
            };
            match sent {
                Ok(()) => {}
                Err((sent, SendError::Full)) => {
                    self.out.sent(sent);
                    self.is_waiting = true;
                    if let Poll::Ready(ready) = self.datagrams.poll_writable(cx) {
                        ready?;
                        continue;
                    }
                    return Ok(());
                }
                // It is lost, as any datagram may be: too long for the path, or there is no path for now.
                Err((_, error)) => {
                    shared.station.lock().fail_to_send(now, self.out.to(), error.failure());
                }
            }
        }
        Ok(())
    }
}
