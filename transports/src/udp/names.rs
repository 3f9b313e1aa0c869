//! Where those are who are to be connected: addresses of names, and of those the ones that the socket reaches.

use super::transport::{Driver, Shared};
use crate::secure::key::PublicKey;
use crate::station::Attempt;
use greenroom::net::{Address, ConnectError, Identity};
use std::io;
use std::net::SocketAddr;
use std::task::{Context, Poll};
use tokio::sync::oneshot;

/// Somebody who wants to be connected, before the address is looked up.
pub(super) struct Request {
    pub(super) address: Address,
    pub(super) host: String,
    pub(super) key: Option<PublicKey>,
    pub(super) done: oneshot::Sender<Result<Identity, ConnectError>>,
}

impl Driver {
    /// Looks up the addresses of those who are to be connected.
    pub(super) fn look_up(&mut self, shared: &Shared, cx: &mut Context<'_>) {
        let requests = shared.requests.lock().as_mut().map(std::mem::take).unwrap_or_default();
        for request in requests {
            if let Ok(at) = request.host.parse() {
                connect(shared, request, Ok(mapped(at, shared.address)));
            } else {
                let ours = shared.address;
                self.lookups.spawn(async move {
                    let at = look_up(&request.host, ours).await;
                    (request, at)
                });
            }
        }
        while let Poll::Ready(Some(done)) = self.lookups.poll_join_next(cx) {
            if let Ok((request, at)) = done {
                connect(shared, request, at);
            }
        }
    }
}

/// The address of a name, of those that a socket at `ours` reaches.
async fn look_up(host: &str, ours: SocketAddr) -> io::Result<SocketAddr> {
    let mut all: Vec<_> = tokio::net::lookup_host(host).await?.collect();
    all.sort_by_key(|at| at.is_ipv4() != ours.is_ipv4());
    let at = all.first().map(|at| mapped(*at, ours)).filter(|at| at.is_ipv4() == ours.is_ipv4());
    at.ok_or_else(|| io::Error::other("the name has no address of the socket's family"))
}

/// As a socket at `ours` writes it: one for IPv6 writes addresses of IPv4 as its own.
fn mapped(at: SocketAddr, ours: SocketAddr) -> SocketAddr {
    match at {
        SocketAddr::V4(v4) if ours.is_ipv6() => (v4.ip().to_ipv6_mapped(), v4.port()).into(),
        at => at,
    }
}

fn connect(shared: &Shared, request: Request, at: io::Result<SocketAddr>) {
    let Request { address, key, done, .. } = request;
    // Without a cluster's key, a node that is named is one that knows this one.
    let is_known = key.is_some_and(|key| !shared.has_cluster || shared.knows(&key));
    match at {
        Ok(at) => {
            let attempt = Attempt { address, at, key, is_known, done };
            shared.with(|station| station.connect(attempt));
        }
        Err(error) => {
            let text = error.to_string();
            // An error means that nobody waits any more.
            let _ = done.send(Err(ConnectError::Unreachable { address, text }));
        }
    }
}
