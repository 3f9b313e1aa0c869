//! Sockets, and the way to each peer.

use super::{Finding, marks};
use greenroom_transports::config::{NodeConfig, Peer};
use greenroom_transports::udp::socket::{Options, Socket};
use rustix::net::sockopt;
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs, UdpSocket};

/// Below this, a burst of one peer overruns the socket.
const BUFFER_BYTES_MIN: usize = 1 << 20;
/// What every network takes that carries IPv6 (RFC 8200), and the transport relies on.
const MTU_MIN: u32 = 1280;
/// What an Ethernet takes.
const MTU_USUAL: u32 = 1500;

pub(crate) async fn look(config: Option<&NodeConfig>) -> Vec<Finding> {
    let any = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
    let mut findings = match Socket::bind(any, &Options::default()) {
        Ok(socket) => vec![buffers(&socket), segments(&socket), joins(&socket)],
        Err(error) => vec![Finding::bad("socket", error.to_string(), "allow UDP sockets")],
    };
    findings.push(marks::look().await);
    findings.push(ipv6());
    if let Some(config) = config {
        findings.push(listens(config.listen));
        findings.extend(config.peers.iter().filter_map(to_peer));
        let seeds = config.seeds.iter().map(|seed| seed.place());
        // Who is there may be said behind it.
        let seeds = seeds.map(|place| place.split_once('#').map_or(place, |(at, _)| at));
        findings.extend(seeds.map(|place| path(place, place)));
        findings.extend(config.dns.iter().map(|name| members(name)));
    }
    findings
}

/// What the kernel grants, and the limits that it goes by.
fn buffers(socket: &Socket) -> Finding {
    let limit = |name: &str| {
        let text = fs::read_to_string(format!("/proc/sys/net/core/{name}")).unwrap_or_default();
        text.trim().parse::<usize>().map_or_else(|_| "unknown".to_owned(), size)
    };
    let (send, receive) = match socket.buffer_bytes() {
        Ok(granted) => granted,
        Err(error) => return Finding::bad("buffers", error.to_string(), "allow socket options"),
    };
    let seen = format!(
        "{} to send of at most wmem_max {}, {} to receive of at most rmem_max {}",
        size(send),
        limit("wmem_max"),
        size(receive),
        limit("rmem_max")
    );
    if send.min(receive) >= BUFFER_BYTES_MIN {
        return Finding::good("buffers", seen);
    }
    let wanted = Options::default().buffer_bytes;
    let mend = format!("sysctl -w net.core.rmem_max={wanted} net.core.wmem_max={wanted}");
    let seen = format!("{seen}: each peer may have {} under way", size(receive / 4));
    Finding::slow("buffers", seen, mend)
}

fn segments(socket: &Socket) -> Finding {
    match socket.segments_max() {
        1 => Finding::slow(
            "segmentation",
            "one datagram for each call of the kernel",
            "take a kernel from 4.18 on, whose UDP has GSO",
        ),
        most => Finding::good("segmentation", format!("GSO, {most} datagrams with one call")),
    }
}

fn joins(socket: &Socket) -> Finding {
    match socket.joins_max() {
        1 => Finding::slow(
            "coalescing",
            "one datagram in each buffer of the kernel",
            "take a kernel from 5.0 on, whose UDP has GRO",
        ),
        most => Finding::good("coalescing", format!("GRO, up to {most} datagrams in one buffer")),
    }
}

fn ipv6() -> Finding {
    match UdpSocket::bind((Ipv6Addr::LOCALHOST, 0)) {
        Ok(_) => Finding::good("IPv6", "there"),
        Err(error) => Finding::slow(
            "IPv6",
            format!("not there: {error}"),
            "nodes are reached by IPv4 alone; sysctl -w net.ipv6.conf.all.disable_ipv6=0",
        ),
    }
}

/// Whether the node could listen where its file says.
fn listens(at: SocketAddr) -> Finding {
    match UdpSocket::bind(at) {
        Ok(_) => Finding::good("listen", format!("{at} is free")),
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => Finding::unclear(
            "listen",
            format!("{at} is taken"),
            format!(
                "by this node if it runs; otherwise end the other: ss -ulnp sport = :{}",
                at.port()
            ),
        ),
        Err(error) => Finding::bad(
            "listen",
            format!("{at}: {error}"),
            "listen on an address that this machine has, and a port that may be used",
        ),
    }
}

fn to_peer(peer: &Peer) -> Option<Finding> {
    let place = peer.address.as_ref()?;
    let shown = peer.name.as_ref().map_or_else(|| place.clone(), |name| format!("{name}, {place}"));
    Some(path(place, &shown))
}

/// What a name says of members: their number changes, and there may be none beside this node yet, where some DNS servers know
/// no such name.
fn members(name: &str) -> Finding {
    match name.to_socket_addrs() {
        Ok(places) => {
            let places: BTreeSet<_> = places.collect();
            Finding::good("members", format!("{name}: {} addresses", places.len()))
        }
        Err(error) => Finding::unclear(
            "members",
            format!("{name}: {error}"),
            "unless no node runs yet, mend the name, or the DNS's record",
        ),
    }
}

/// How long the packets to a place may be, as far as the kernel knows.
fn path(place: &str, shown: &str) -> Finding {
    match mtu(place) {
        Ok(mtu) if mtu < MTU_MIN => Finding::bad(
            "path",
            format!("{shown}: packets of {mtu} bytes"),
            format!("let the network carry packets of {MTU_MIN} bytes"),
        ),
        Ok(mtu) if mtu < MTU_USUAL => Finding::slow(
            "path",
            format!("{shown}: packets of {mtu} bytes"),
            "a tunnel on the way makes packets shorter",
        ),
        Ok(mtu) => Finding::good("path", format!("{shown}: packets of {mtu} bytes")),
        Err(error) => {
            Finding::bad("path", format!("{shown}: {error}"), "mend the name, or the route to it")
        }
    }
}

/// By the route to the address; nothing is sent.
fn mtu(place: &str) -> io::Result<u32> {
    let none = || io::Error::other("the name has no address");
    let to = place.to_socket_addrs()?.next().ok_or_else(none)?;
    let from: SocketAddr = match to {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    };
    let socket = UdpSocket::bind(from)?;
    socket.connect(to)?;
    Ok(match to {
        SocketAddr::V4(_) => sockopt::ip_mtu(&socket)?,
        SocketAddr::V6(_) => sockopt::ipv6_mtu(&socket)?,
    })
}

fn size(bytes: usize) -> String {
    format!("{} KiB", bytes / 1024)
}
