//! The addresses by which a machine reaches itself.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

/// Returns that of IPv4, with any port, and behind it that of IPv6 if the machine has any. Where the project's checks run
/// it has to.
pub(crate) fn loopbacks() -> Vec<SocketAddr> {
    let v6 = SocketAddr::from((Ipv6Addr::LOCALHOST, 0));
    let bound = UdpSocket::bind(v6);
    let may_lack = std::env::var_os("CI").is_none();
    assert!(bound.is_ok() || may_lack, "this machine has no IPv6: {bound:?}");
    let v4 = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    [Some(v4), bound.is_ok().then_some(v6)].into_iter().flatten().collect()
}
