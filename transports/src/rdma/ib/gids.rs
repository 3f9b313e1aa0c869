//! The addresses of a port, as the kernel shows them under `/sys/class/infiniband`.

use std::fs;
use std::net::Ipv6Addr;

/// One address of a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gid {
    /// Its place in the port's table, to [open](crate::rdma::verbs::Verbs::open) the port by.
    pub index: u8,
    /// The address; an IPv4 address is mapped into IPv6.
    pub address: Ipv6Addr,
    /// Its kind in the kernel's words: `IB/RoCE v1` or `RoCE v2`; empty where it does not say.
    pub kind: String,
}

impl Gid {
    /// Whether its packets are UDP, which routers take.
    #[must_use]
    pub fn is_routable(&self) -> bool {
        self.kind == "RoCE v2"
    }

    /// How well it serves to be reached by; more is better.
    fn rank(&self) -> u8 {
        let is_v4 = self.address.to_ipv4_mapped().is_some();
        let is_of_link = self.address.is_unicast_link_local();
        u8::from(self.is_routable()) * 4 + u8::from(is_v4) * 2 + u8::from(!is_of_link)
    }
}

/// The addresses that a port has, by index. None if the kernel shows no such port.
#[must_use]
pub fn gids(device: &str, port: u8) -> Vec<Gid> {
    let folder = format!("/sys/class/infiniband/{device}/ports/{port}");
    let read = |name: String| fs::read_to_string(format!("{folder}/{name}")).unwrap_or_default();
    // The table has no end that is marked, and empty places.
    let found = (0..=u8::MAX).filter_map(|index| {
        let address = read(format!("gids/{index}")).trim().parse().ok()?;
        let kind = read(format!("gid_attrs/types/{index}")).trim().to_owned();
        (address != Ipv6Addr::UNSPECIFIED).then_some(Gid { index, address, kind })
    });
    found.collect()
}

/// The address to be reached by: of RoCE v2 rather than v1, of IPv4 rather than IPv6, of the network rather
/// than of the link; the first of those that are as good.
#[must_use]
pub fn best_gid(device: &str, port: u8) -> Option<Gid> {
    gids(device, port).into_iter().rev().max_by_key(Gid::rank)
}
