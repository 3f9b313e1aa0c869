//! Marks of congestion (ECN): whether a socket here sets them, and sees them when they come.

use super::Finding;
use greenroom_transports::link::Ecn;
use greenroom_transports::udp::socket::{Batch, Options, Socket};
use std::future::poll_fn;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::num::NonZeroUsize;
use std::time::Duration;

/// What nodes send, and what a router makes of it.
const MARKS: [Ecn; 2] = [Ecn::Capable0, Ecn::Congested];

/// How long a datagram takes to this machine itself at most.
const WAIT: Duration = Duration::from_secs(1);

/// Sends marked datagrams from this machine to itself.
pub(super) async fn look() -> Finding {
    let families: [(&str, IpAddr); 2] =
        [("IPv4", Ipv4Addr::LOCALHOST.into()), ("IPv6", Ipv6Addr::LOCALHOST.into())];
    let (mut kept, mut lost) = (Vec::new(), Vec::new());
    for (name, host) in families {
        // That there are no such sockets is said elsewhere.
        let Ok(socket) = Socket::bind((host, 0).into(), &Options::default()) else { continue };
        match tokio::time::timeout(WAIT, keeps(socket)).await {
            Ok(Ok(true)) => kept.push(name.to_owned()),
            Ok(Ok(false)) => lost.push(format!("by {name} they are gone when they come")),
            Ok(Err(error)) => lost.push(format!("by {name}: {error}")),
            Err(_) => lost.push(format!("by {name} nothing came")),
        }
    }
    if lost.is_empty() && !kept.is_empty() {
        let seen = format!("marks are set, and seen when they come, by {}", kept.join(" and "));
        return Finding::good("ECN", seen);
    }
    let seen =
        if lost.is_empty() { "no socket to try it with".to_owned() } else { lost.join(", ") };
    Finding::slow(
        "ECN",
        seen,
        "congestion is noticed by losses alone; let no rule of the firewall take the marks off",
    )
}

/// Whether all marks come as they were sent, to the socket itself.
async fn keeps(mut socket: Socket) -> io::Result<bool> {
    let (to, one) = (socket.address(), NonZeroUsize::MIN);
    for mark in MARKS {
        let sent = socket.send_from(None, to, mark, &[0], one);
        sent.map_err(|(_, error)| io::Error::other(error))?;
    }
    let (mut batch, mut came) = (Batch::new(), Vec::new());
    while came.len() < MARKS.len() {
        poll_fn(|context| socket.poll_readable(context)).await?;
        match socket.receive(&mut batch) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            received => received?,
        }
        came.extend(batch.datagrams().map(|(arrival, _)| arrival.ecn));
    }
    Ok(came == MARKS)
}
