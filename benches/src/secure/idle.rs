//! What associations cost that have nothing to say: in simulated time, by counting, and in memory.

use crate::table::{Table, verdict};
use greenroom_transports::link::{self, Time};
use greenroom_transports::secure::endpoint::{Config, Endpoint};
use greenroom_transports::secure::entropy::System;
use greenroom_transports::secure::identity::Identity;
use greenroom_transports::secure::key::Key;
use greenroom_transports::station::{Attempt, By, Outgoing, Station, Wakes};
use std::collections::{BTreeMap, VecDeque};
use std::fs;
use std::net::SocketAddr;
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio::sync::oneshot;

/// Clients of one server.
const CLIENTS: u16 = 1_000;
/// How long they say nothing.
const SPAN: Duration = Duration::from_secs(600);

/// What an association may send in a second, and each of its ends keep.
const PACKETS_MAX: f64 = 2.0;
const KIB_MAX: f64 = 16.0;

/// A server and its clients, and what they have sent.
struct Net {
    hosts: BTreeMap<SocketAddr, Station>,
    out: Outgoing,
    now: Time,
    packets: u64,
    bytes: u64,
}

/// The server has number 0.
fn address(number: u16) -> SocketAddr {
    SocketAddr::from(([192, 0, 2, 1], 7_000 + number))
}

fn identity(number: u16) -> Identity {
    let mut key = [1; 32];
    // X25519 ignores some bits of the first byte and of the last.
    key[8..10].copy_from_slice(&number.to_le_bytes());
    Identity::new(Key::new(key))
}

fn host(number: u16, peers: impl Iterator<Item = u16>) -> Result<Station, String> {
    let since = Duration::from_secs(1_700_000_000);
    // All of them are behind one address, which is let in as often as it likes.
    let rate = greenroom_transports::secure::limit::Rate::per_second(1_000_000, 1_000_000);
    let config = Config { source_rate: rate, load_rate: rate, source_sets: 1, ..Config::default() };
    let endpoint = Endpoint::new(config, identity(number), None, since, Box::new(System));
    let endpoint = endpoint.map_err(|error| error.to_string())?;
    let mut station = Station::new(endpoint, link::Config::default());
    peers.for_each(|peer| station.allow(identity(peer).public()));
    Ok(station)
}

impl Net {
    fn new(clients: u16) -> Result<Self, String> {
        let server = host(0, 1..=clients)?;
        let mut hosts = BTreeMap::from([(address(0), server)]);
        for number in 1..=clients {
            hosts.insert(address(number), host(number, std::iter::once(0))?);
        }
        let out = Outgoing::new();
        Ok(Self { hosts, out, now: Time::from_nanos(1), packets: 0, bytes: 0 })
    }

    /// Lets a host do what is due; what it sends goes onto the wire.
    fn turn(&mut self, at: SocketAddr, wire: &mut VecDeque<(SocketAddr, SocketAddr, Vec<u8>)>) {
        let Some(station) = self.hosts.get_mut(&at) else { return };
        let out = &mut self.out;
        station.handle_timeout(self.now);
        while station.poll_transmit(self.now, 1, out) {
            let datagram = out.datagrams().to_vec();
            self.packets += 1;
            self.bytes += datagram.len() as u64;
            wire.push_back((out.to(), at, datagram));
        }
        while let Poll::Ready(Some(_)) = station.poll_line(&mut Context::from_waker(Waker::noop()))
        {
        }
        let mut wakes = Wakes::default();
        station.take_wakes(&mut wakes);
        wakes.wake();
    }

    /// Carries everything that is sent from these on, until nobody says more.
    fn settle(&mut self, from: impl IntoIterator<Item = SocketAddr>) {
        let mut wire = VecDeque::new();
        from.into_iter().for_each(|at| self.turn(at, &mut wire));
        while let Some((to, from, mut datagram)) = wire.pop_front() {
            if let Some(station) = self.hosts.get_mut(&to) {
                station.handle(self.now, from, &mut datagram);
            }
            self.turn(to, &mut wire);
        }
    }

    fn connect(&mut self, number: u16) -> Result<(), String> {
        let (done, mut outcome) = oneshot::channel();
        let at = vec![address(0)];
        let named = format!("udp:{}", address(0)).parse().map_err(|_| "it is no address")?;
        let key = Some(identity(0).public());
        let station = self.hosts.get_mut(&address(number)).ok_or("there is no such host")?;
        station.set_now(self.now);
        station.connect(Attempt { address: named, at, key, is_known: true, by: By::Owner, done });
        self.settle([address(number)]);
        let outcome = outcome.try_recv().map_err(|error| error.to_string())?;
        outcome.map(|_| ()).map_err(|error| error.to_string())
    }

    /// Lets time pass, in which nobody has anything to say.
    fn pass(&mut self, span: Duration) {
        let until = self.now + span;
        loop {
            let due = self.hosts.iter().filter_map(|(at, host)| Some((host.deadline()?, *at)));
            let Some((due, _)) = due.min().filter(|(due, _)| *due <= until) else { break };
            self.now = due.max(self.now);
            let all = self
                .hosts
                .iter()
                .filter(|(_, host)| host.deadline().is_some_and(|its| its <= self.now));
            let all: Vec<_> = all.map(|(at, _)| *at).collect();
            self.settle(all);
        }
        self.now = until;
    }
}

/// Memory of this process that is in use, in bytes.
fn resident() -> Result<u64, String> {
    let text = fs::read_to_string("/proc/self/status").map_err(|error| error.to_string())?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    Ok(kib.ok_or("the kernel does not say how much memory is in use")? * 1024)
}

/// Measures them.
///
/// # Errors
/// When a client does not find the server.
pub(super) fn table() -> Result<Table, String> {
    table_of(CLIENTS)
}

/// The same with so many clients.
#[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
pub(super) fn table_of(clients: u16) -> Result<Table, String> {
    eprintln!("secure: {clients} associations");
    let mut net = Net::new(clients)?;
    let before = resident()?;
    for number in 1..=clients {
        net.connect(number)?;
    }
    // Two ends of each.
    let ends = 2 * u64::from(clients);
    let memory = resident()?.saturating_sub(before) as f64 / ends as f64;
    // What follows a handshake is no idleness.
    net.pass(Duration::from_secs(10));
    (net.packets, net.bytes) = (0, 0);
    net.pass(SPAN);
    let (packets, bytes) = (net.packets as f64, net.bytes as f64);
    let each = f64::from(clients) * SPAN.as_secs_f64();
    let mut table = Table::new(&["which", "measured", "goal"]);
    let (rate, kib) = (packets / each, memory / 1024.0);
    table.row([
        "packets of an association a second, both ways",
        &format!("{rate:.2}"),
        &format!("at most {PACKETS_MAX}: {}", verdict(rate, PACKETS_MAX)),
    ]);
    table.row(["bytes of an association a second, both ways", &format!("{:.0}", bytes / each), ""]);
    table.row([
        &format!("memory of each end of an association, of {ends}"),
        &format!("{kib:.1} KiB"),
        &format!("at most {KIB_MAX} KiB: {}", verdict(kib, KIB_MAX)),
    ]);
    Ok(table)
}
