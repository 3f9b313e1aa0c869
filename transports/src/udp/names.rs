//! Where those are who are to be connected: addresses of names, and of those the ones that the socket reaches.

use super::lookups::Found;
use super::transport::{Driver, Shared};
use crate::secure::key::PublicKey;
use crate::station::{Attempt, By, PLACES_MAX};
use crate::wake::quietly;
use greenroom::net::{Address, ConnectError, Identity};
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
    /// Looks up the addresses of those who are to be connected. [UDP-79]
    pub(super) fn look_up(&mut self, shared: &Shared, cx: &mut Context<'_>) {
        let requests = shared.requests.lock().as_mut().map(std::mem::take).unwrap_or_default();
        for request in requests {
            if let Ok(at) = request.host.parse() {
                connect(shared, request, Ok(vec![at]));
                continue;
            }
            let lookups = match request.by {
                By::Owner => &mut self.lookups,
                By::Others => &mut self.told_lookups,
            };
            if let Err(request) = lookups.add(request) {
                connect(shared, request, Err("too many names wait to be looked up".to_owned()));
            }
        }
        for lookups in [&mut self.lookups, &mut self.told_lookups] {
            while let Poll::Ready((requests, found)) = lookups.poll_found(cx) {
                requests.into_iter().for_each(|request| connect(shared, request, found.clone()));
            }
        }
    }
}

impl Shared {
    /// Connects nobody any more. Those who have asked hear it by what they wait for, and with the lock free: they may ask
    /// at once again.
    pub(super) fn refuse_requests(&self) {
        let left = self.requests.lock().take();
        let_go(left.into_iter().flatten());
    }
}

/// Lets go of those who wait, each of whom hears that.
pub(super) fn let_go(requests: impl IntoIterator<Item = Request>) {
    requests.into_iter().for_each(|request| quietly(|| drop(request)));
}

/// Those of the addresses that a socket at `ours` reaches, the ones of its own family first, and not too many.
fn reachable(mut found: Vec<SocketAddr>, ours: SocketAddr) -> Found {
    found.sort_by_key(|at| at.is_ipv4() != ours.is_ipv4());
    let found = found.into_iter().filter_map(|at| written(at, ours));
    let found: Vec<_> = found.take(PLACES_MAX).collect();
    if found.is_empty() {
        return Err("there is no address of the socket's family".to_owned());
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
fn connect(shared: &Shared, request: Request, found: Found) {
    let Request { address, key, by, done, .. } = request;
    // Without a cluster's key, a node that is named is one that knows this one.
    let is_known = key.is_some_and(|key| !shared.has_cluster || shared.knows(&key));
    match found.and_then(|found| reachable(found, shared.address)) {
        Ok(at) => {
            let attempt = Attempt { address, at, key, is_known, by, done };
            shared.with(|station| station.connect(attempt));
        }
        Err(text) => {
            // An error means that nobody waits any more.
            quietly(|| _ = done.send(Err(ConnectError::Unreachable { address, text })));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // [UDP-73]
    #[test]
    fn of_a_name_with_thousands_of_addresses_a_few_are_tried() {
        let ours = "127.0.0.1:1".parse().unwrap();
        let many = (1..=4_000_u16).flat_map(|port| {
            [SocketAddr::from(([0; 8], port)), SocketAddr::from(([192, 0, 2, 1], port))]
        });
        let found = reachable(many.collect(), ours).unwrap();
        let ports: Vec<_> = found.iter().map(SocketAddr::port).collect();
        assert_eq!(ports, (1..=16).collect::<Vec<_>>());
    }

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
