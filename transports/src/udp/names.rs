//! Where those are who are to be connected: addresses of names, and of those the ones that the socket reaches.

use super::transport::{Driver, Shared};
use crate::secure::key::PublicKey;
use crate::station::{Attempt, By};
use greenroom::net::{Address, ConnectError, Identity};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::task::{Context, Poll};
use tokio::sync::oneshot;

/// Somebody who wants to be connected, before the address is looked up.
pub(super) struct Request {
    pub(super) address: Address,
    pub(super) host: String,
    pub(super) key: Option<PublicKey>,
    pub(super) by: By,
    pub(super) done: oneshot::Sender<Result<Identity, ConnectError>>,
}

impl Driver {
    /// Looks up the addresses of those who are to be connected.
    pub(super) fn look_up(&mut self, shared: &Shared, cx: &mut Context<'_>) {
        let requests = shared.requests.lock().as_mut().map(std::mem::take).unwrap_or_default();
        for request in requests {
            if let Ok(at) = request.host.parse() {
                connect(shared, request, Ok(vec![at]));
            } else {
                self.lookups.spawn(async move {
                    let found = tokio::net::lookup_host(&request.host).await.map(Iterator::collect);
                    (request, found)
                });
            }
        }
        while let Poll::Ready(Some(done)) = self.lookups.poll_join_next(cx) {
            if let Ok((request, found)) = done {
                connect(shared, request, found);
            }
        }
    }
}

/// Those of the addresses that a socket at `ours` reaches, the ones of its own family first.
fn reachable(mut found: Vec<SocketAddr>, ours: SocketAddr) -> io::Result<Vec<SocketAddr>> {
    found.sort_by_key(|at| at.is_ipv4() != ours.is_ipv4());
    let found: Vec<_> = found.into_iter().filter_map(|at| written(at, ours)).collect();
    if found.is_empty() {
        return Err(io::Error::other("there is no address of the socket's family"));
    }
    Ok(found)
}

/// An address as a socket at `ours` writes it, if it reaches it. One for IPv6 writes addresses of IPv4 as its own, and
/// reaches them if it is bound to all addresses, or to one of those; then it reaches no others.
fn written(at: SocketAddr, ours: SocketAddr) -> Option<SocketAddr> {
    let (here, there) = (ours.ip().to_canonical(), at.ip().to_canonical());
    let reaches = here.is_ipv4() == there.is_ipv4()
        || ours.is_ipv6() && ours.ip().is_unspecified() && there.is_ipv4();
    let written = match there {
        IpAddr::V4(v4) if ours.is_ipv6() => (v4.to_ipv6_mapped(), at.port()).into(),
        IpAddr::V4(v4) => (v4, at.port()).into(),
        // With its scope.
        IpAddr::V6(_) => at,
    };
    reaches.then_some(written)
}

/// Has the node reached at whichever of its addresses it answers. [UDP-73]
fn connect(shared: &Shared, request: Request, found: io::Result<Vec<SocketAddr>>) {
    let Request { address, key, by, done, .. } = request;
    // Without a cluster's key, a node that is named is one that knows this one.
    let is_known = key.is_some_and(|key| !shared.has_cluster || shared.knows(&key));
    match found.and_then(|found| reachable(found, shared.address)) {
        Ok(at) => {
            let attempt = Attempt { address, at, key, is_known, by, done };
            shared.with(|station| station.connect(attempt));
        }
        Err(error) => {
            let text = error.to_string();
            // An error means that nobody waits any more.
            let _ = done.send(Err(ConnectError::Unreachable { address, text }));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_reaches_what_it_is_bound_for() {
        let v6 = "[fe80::1%3]:7";
        for (ours, v4, to_v6) in [
            ("127.0.0.1:1", Some("192.0.2.1:7"), None),
            ("0.0.0.0:1", Some("192.0.2.1:7"), None),
            ("[::]:1", Some("[::ffff:192.0.2.1]:7"), Some(v6)),
            ("[::1]:1", None, Some(v6)),
            ("[::ffff:127.0.0.1]:1", Some("[::ffff:192.0.2.1]:7"), None),
        ] {
            let parse = |at: &str| at.parse::<SocketAddr>().expect("an address");
            let from = |at| written(parse(at), parse(ours));
            assert_eq!(from("192.0.2.1:7"), v4.map(parse), "{ours}");
            assert_eq!(from("[::ffff:192.0.2.1]:7"), v4.map(parse), "{ours}");
            assert_eq!(from(v6), to_v6.map(parse), "{ours}");
        }
    }
}
