//! Whether the kernel may cut datagrams up. An error leaves them whole.

use std::net::{SocketAddr, UdpSocket};

#[cfg(target_os = "linux")]
pub(super) fn set(io: &UdpSocket, to: SocketAddr, may: bool) {
    use nix::sys::socket::setsockopt;
    use nix::sys::socket::sockopt::Ipv6DontFrag;
    use rustix::net::sockopt::{
        Ipv4PathMtuDiscovery, Ipv6PathMtuDiscovery, set_ip_mtu_discover, set_ipv6_mtu_discover,
    };
    let v4 = if may { Ipv4PathMtuDiscovery::DONT } else { Ipv4PathMtuDiscovery::PROBE };
    let v6 = if may { Ipv6PathMtuDiscovery::DONT } else { Ipv6PathMtuDiscovery::PROBE };
    // A socket for IPv6 may send by IPv4, too.
    let _ = set_ip_mtu_discover(io, v4);
    if to.is_ipv6() {
        let _ = set_ipv6_mtu_discover(io, v6);
        let _ = setsockopt(io, Ipv6DontFrag, &!may);
    }
}

#[cfg(not(target_os = "linux"))]
pub(super) fn set(_: &UdpSocket, _: SocketAddr, _: bool) {}
