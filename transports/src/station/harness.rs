//! Stations and the datagrams between them, which tests and fuzzers hold in their hands.

use super::{Attempt, By, Outgoing, Station, Wakes};
use crate::link::{self, Time};
use crate::secure::endpoint::harness::{Seeded, address, cluster, identity, ms, small_config};
use crate::secure::endpoint::{AssociationId, Config, Endpoint};
use crate::secure::key::PublicKey;
use crate::secure::wire::Suite;
use greenroom::net::{ConnectError, FrameBuf, Identity, LinkEnd, Order};
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio::sync::oneshot::{self, Receiver};

/// How many datagrams leave with one call.
const SEGMENTS: usize = 4;

/// The longest frame.
pub(super) const FRAME_BYTES_MAX: usize = 4 << 10;

/// A station, and what its owner holds.
pub(super) struct Host {
    pub(super) station: Station,
    /// Where it is.
    pub(super) at: SocketAddr,
    /// Its lines, the newest last.
    pub(super) lines: Vec<(AssociationId, Identity)>,
    out: Outgoing,
}

/// A datagram under way: to and from where, and what.
pub(super) type Datagram = (SocketAddr, SocketAddr, Vec<u8>);

/// Hosts, the time, and what is under way.
pub(super) struct Net {
    pub(super) now: Time,
    pub(super) hosts: Vec<Host>,
    pub(super) wire: VecDeque<Datagram>,
    pub(super) config: Config,
}

pub(super) fn public(host: u8) -> PublicKey {
    identity(host).public()
}

impl Net {
    /// So many hosts, which share a cluster's key; if `is_known`, they know each other, too.
    pub(super) fn new(count: u8, is_known: bool) -> Self {
        // The same seeds give the same keys, so each net is a world of its own.
        #[cfg(test)]
        crate::secure::packet::watch::forget();
        let config = small_config(Suite::Classic);
        let mut net = Self { now: ms(1), hosts: Vec::new(), wire: VecDeque::new(), config };
        for host in 1..=count {
            let mut made = net.host(host, 0);
            (1..=count).filter(|other| is_known && *other != host).for_each(|other| {
                made.station.allow(public(other));
            });
            net.hosts.push(made);
        }
        net
    }

    /// A host at the beginning of a life.
    pub(super) fn host(&self, host: u8, life: u64) -> Host {
        let entropy = Box::new(Seeded(u64::from(host) << 32 | life));
        let since = Duration::from_secs(1_700_000_000 + 1_000 * life);
        let endpoint =
            Endpoint::new(self.config.clone(), identity(host), Some(cluster()), since, entropy);
        // Small, so that credit is used up soon.
        let link = link::Config {
            message_len_max: FRAME_BYTES_MAX,
            window_bytes_start: 8 << 10,
            window_bytes_max: 16 << 10,
            ..link::Config::default()
        };
        let mut station = Station::new(endpoint.expect("there is randomness"), link);
        station.set_now(self.now);
        Host { station, at: address(host), lines: Vec::new(), out: Outgoing::new() }
    }

    /// Begins to connect to an address, where a node with that key is to be.
    pub(super) fn connect(
        &mut self,
        from: usize,
        at: SocketAddr,
        key: Option<PublicKey>,
        is_known: bool,
    ) -> Receiver<Result<Identity, ConnectError>> {
        self.connect_among(from, vec![at], key, is_known)
    }

    /// As [`Net::connect`], to a node that may be at any of the addresses.
    pub(super) fn connect_among(
        &mut self,
        from: usize,
        at: Vec<SocketAddr>,
        key: Option<PublicKey>,
        is_known: bool,
    ) -> Receiver<Result<Identity, ConnectError>> {
        self.connect_by(By::Owner, from, at, key, is_known)
    }

    /// As [`Net::connect_among`], where somebody else has said where the node is.
    pub(super) fn connect_by(
        &mut self,
        by: By,
        from: usize,
        at: Vec<SocketAddr>,
        key: Option<PublicKey>,
        is_known: bool,
    ) -> Receiver<Result<Identity, ConnectError>> {
        let (done, outcome) = oneshot::channel();
        let address = "udp:name:7000".parse().expect("an address");
        let station = &mut self.hosts[from].station;
        station.set_now(self.now);
        station.connect(Attempt { address, at, key, is_known, by, done });
        outcome
    }

    /// What each has to send is under way, its lines are taken, and who waits is told.
    pub(super) fn collect(&mut self) {
        (0..self.hosts.len()).for_each(|host| self.collect_from(host));
    }

    fn collect_from(&mut self, host: usize) {
        let Host { station, at, lines, out } = &mut self.hosts[host];
        station.handle_timeout(self.now);
        while station.poll_transmit(self.now, SEGMENTS, out) {
            let sent = out.datagrams().chunks(out.segment().get());
            self.wire.extend(sent.map(|datagram| (out.to(), *at, datagram.to_vec())));
        }
        let mut cx = Context::from_waker(Waker::noop());
        while let Poll::Ready(Some(line)) = station.poll_line(&mut cx) {
            lines.push(line);
        }
        let mut wakes = Wakes::default();
        station.take_wakes(&mut wakes);
        wakes.wake();
    }

    /// Hands a datagram to the host at its address, if one is there.
    pub(super) fn deliver(&mut self, datagram: Datagram) {
        self.hand_over(datagram);
    }

    /// The same; returns which host that is.
    fn hand_over(&mut self, (to, from, mut bytes): Datagram) -> Option<usize> {
        let host = self.hosts.iter().position(|host| host.at == to)?;
        self.hosts[host].station.handle(self.now, from, &mut bytes);
        Some(host)
    }

    /// Carries datagrams until there are none.
    pub(super) fn settle(&mut self) {
        self.collect();
        self.carry();
    }

    /// The same where all that hosts have to send is under way: who gets nothing has nothing more.
    fn carry(&mut self) {
        while let Some(datagram) = self.wire.pop_front() {
            let host = self.hand_over(datagram);
            host.into_iter().for_each(|host| self.collect_from(host));
        }
    }

    /// Lets time pass, and loses nothing.
    pub(super) fn pass(&mut self, span: Duration) {
        let until = self.now + span;
        self.settle();
        while let Some(due) = self.due().filter(|due| *due <= until) {
            self.now = due.max(self.now);
            for host in 0..self.hosts.len() {
                if self.hosts[host].station.timeout().is_some_and(|due| due <= self.now) {
                    self.collect_from(host);
                }
            }
            self.carry();
        }
        self.now = until;
        self.settle();
    }

    /// When something is due.
    pub(super) fn due(&self) -> Option<Time> {
        self.hosts.iter().filter_map(|host| host.station.timeout()).min()
    }

    /// Connects the first host that knows the second, and gives the line of each.
    #[cfg(test)]
    pub(super) fn join(&mut self, one: usize, other: usize) -> [AssociationId; 2] {
        let (at, key) = (self.hosts[other].at, self.hosts[other].station.endpoint.public());
        let mut outcome = self.connect(one, at, Some(key), true);
        self.settle();
        assert!(matches!(outcome.try_recv(), Ok(Ok(_))), "they are connected");
        [one, other].map(|host| self.hosts[host].lines.last().expect("a line").0)
    }

    /// Submits a frame to a line.
    pub(super) fn submit(
        &mut self,
        host: usize,
        line: AssociationId,
        order: Order,
        frame: &[u8],
    ) -> bool {
        let station = &mut self.hosts[host].station;
        station.set_now(self.now);
        station.submit(line, order, frame).is_ok()
    }

    /// The next frame of a line, or its end; `None` if there is neither by now.
    pub(super) fn receive(
        &mut self,
        host: usize,
        line: AssociationId,
    ) -> Option<Result<Vec<u8>, LinkEnd>> {
        let (mut cx, mut frame) = (Context::from_waker(Waker::noop()), FrameBuf::default());
        let station = &mut self.hosts[host].station;
        station.set_now(self.now);
        match station.poll_receive(line, &mut cx, &mut frame) {
            Poll::Ready(received) => Some(received.map(|()| frame.to_vec())),
            Poll::Pending => None,
        }
    }
}
